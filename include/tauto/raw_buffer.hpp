#pragma once
// Memory for elements that are on their way to another place.

#include <sys/mman.h>

#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <tauto/signed.hpp>

namespace tauto::detail {

// Memory for n elements, which are not there yet. Much of it is asked for in large pages: the system would
// take longer to give it in small ones than a partition takes.
template <class T>
class raw_buffer {
  public:
    explicit raw_buffer(index n) : bytes_(bytes_of(n)), data_(allocated(bytes_)) {}
    raw_buffer(const raw_buffer&) = delete;
    raw_buffer& operator=(const raw_buffer&) = delete;
    ~raw_buffer() { ::operator delete(data_, alignment_of(bytes_)); }
    [[nodiscard]] T* data() const noexcept { return data_; }

  private:
    static constexpr std::size_t large_page = std::size_t{1} << 21;

    static std::size_t bytes_of(index n) {
        if (usize(n) > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T))
            throw std::bad_array_new_length();
        const std::size_t bytes = usize(n) * sizeof(T);
        return bytes < large_page ? bytes : (bytes + large_page - 1) / large_page * large_page;
    }
    static std::align_val_t alignment_of(std::size_t bytes) noexcept {
        return std::align_val_t{bytes >= large_page ? large_page : alignof(T) > 64 ? alignof(T) : 64};
    }
    static T* allocated(std::size_t bytes) {
        void* const memory = ::operator new(bytes, alignment_of(bytes));
#if defined(MADV_HUGEPAGE)
        // Refused or not: the memory is there.
        if (bytes >= large_page) static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
#endif
        return static_cast<T*>(memory);
    }

    std::size_t bytes_;
    T* data_;
};

// Elements that are moved to a buffer and back: a move that threw would lose one.
template <class T>
concept movable_for_good = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>;

// Elements whose copies are copies of their bytes. Others that are trivially copyable may only be moved.
template <class T>
concept copied_as_bytes = std::is_trivially_copyable_v<T> && std::copyable<T>;

// Moves an element to where there is none, and ends it where it was.
template <class T>
[[gnu::always_inline]] inline void relocate(T& from, T* to) noexcept {
    std::construct_at(to, std::move(from));
    std::destroy_at(std::addressof(from));
}

}  // namespace tauto::detail
