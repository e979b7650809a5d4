#pragma once
// Storage of the kernels: floats on their own cache lines, zeros behind the last one, huge pages when large.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
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
        : length_{length}, bytes_{allocation_bytes(length)}, values_{allocate(bytes_)} {
        // The kernel's pages come as zeros only the first time, and malloc may hand out used ones.
        std::fill_n(values_.get(), bytes_ / sizeof(float), 0.0F);
    }

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

    struct release {
        void operator()(float* values) const noexcept { std::free(values); }
    };

    static constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
        return (bytes + unit - 1) / unit * unit;
    }
    static constexpr std::size_t allocation_bytes(std::size_t length) {
        const std::size_t bytes = padded_length(length == 0 ? 1 : length) * sizeof(float);
        return bytes < huge_from_bytes ? bytes : round_up(bytes, huge_page_bytes);
    }
    static float* allocate(std::size_t bytes) {
        const bool huge = bytes >= huge_from_bytes;
        void* memory = std::aligned_alloc(huge ? huge_page_bytes : 64, bytes);
        if (memory == nullptr) throw std::bad_alloc{};
        // Advice only: where transparent huge pages are off, everything works on small ones.
        if (huge) static_cast<void>(::madvise(memory, bytes, MADV_HUGEPAGE));
        return static_cast<float*>(memory);
    }

    std::size_t length_;
    std::size_t bytes_;
    std::unique_ptr<float[], release> values_;
};

}  // namespace tauto
