#pragma once
// Storage of the kernels: floats on their own cache lines, zeros behind the last one, huge pages when large.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace tauto {

/// Floats of one cache line, and of one AVX-512 register. Every length is padded to a multiple of it with
/// zeros, so that a kernel never handles a remainder.
inline constexpr std::size_t line_floats = 16;

constexpr std::size_t padded_length(std::size_t length) noexcept {
    return (length + line_floats - 1) / line_floats * line_floats;
}

/// A vector of single-precision numbers, zero at the start, 64-byte aligned. The floats from size() to
/// padded_length(size()) exist, may be read by kernels, and must stay zero.
class aligned_floats {
  public:
    /// Throws std::bad_alloc when the system gives no memory.
    explicit aligned_floats(std::size_t length)
        : length_{length},
          bytes_{allocation_bytes(length)},
          values_{is_huge(bytes_) ? map(bytes_) : allocate(bytes_), release{bytes_}} {}

    std::size_t size() const noexcept { return length_; }
    float* data() noexcept { return values_.get(); }
    const float* data() const noexcept { return values_.get(); }
    float& operator[](std::size_t i) noexcept { return values_[i]; }
    float operator[](std::size_t i) const noexcept { return values_[i]; }
    std::span<float> values() noexcept { return {values_.get(), length_}; }
    std::span<const float> values() const noexcept { return {values_.get(), length_}; }
    /// Whole allocation, padding included; starts on a page when it is large enough for huge pages.
    std::span<float> storage() noexcept { return {values_.get(), bytes_ / sizeof(float)}; }

  private:
    static constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;
    // A 500 x 500 matrix is 1 MB: in 4-kB pages it alone is 250 entries, more than a first-level TLB has.
    static constexpr std::size_t huge_from_bytes = std::size_t{1} << 19U;

    static constexpr bool is_huge(std::size_t bytes) noexcept { return bytes >= huge_from_bytes; }

    struct release {
        std::size_t bytes;
        void operator()(float* values) const noexcept {
            if (is_huge(bytes)) {
                ::munmap(values, bytes);
            } else {
                std::free(values);
            }
        }
    };

    static constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
        return (bytes + unit - 1) / unit * unit;
    }
    static constexpr std::size_t allocation_bytes(std::size_t length) {
        const std::size_t bytes = padded_length(length == 0 ? 1 : length) * sizeof(float);
        return is_huge(bytes) ? round_up(bytes, huge_page_bytes) : bytes;
    }
    static float* allocate(std::size_t bytes) {
        void* memory = std::aligned_alloc(64, bytes);
        if (memory == nullptr) throw std::bad_alloc{};
        return std::fill_n(static_cast<float*>(memory), bytes / sizeof(float), 0.0F) - bytes / sizeof(float);
    }
    // Fresh pages come as zeros, so the thread that writes a page first is the first to touch it. One huge
    // page more than needed is requested, and what lies outside of whole huge pages is given back.
    static float* map(std::size_t bytes) {
        const std::size_t asked = bytes + huge_page_bytes;
        void* memory = ::mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc{};
        auto* const first = static_cast<std::byte*>(memory);
        const std::size_t place = reinterpret_cast<std::uintptr_t>(memory) % huge_page_bytes;
        const std::size_t before = (huge_page_bytes - place) % huge_page_bytes;
        if (before > 0) ::munmap(first, before);
        ::munmap(first + before + bytes, huge_page_bytes - before);
        // Advice only: where transparent huge pages are off, everything works on small ones.
        static_cast<void>(::madvise(first + before, bytes, MADV_HUGEPAGE));
        return reinterpret_cast<float*>(first + before);
    }

    std::size_t length_;
    std::size_t bytes_;
    std::unique_ptr<float[], release> values_;
};

}  // namespace tauto
