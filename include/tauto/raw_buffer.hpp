#pragma once
// Memory for elements that are on their way to another place.

#include <sys/mman.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <tauto/signed.hpp>

namespace tauto::detail {

inline constexpr std::size_t large_page = std::size_t{1} << 21;

// Memory in large pages. The system takes 0.2 ms for each when it is first written to, and as long on every
// member that writes there meanwhile; so the last buffer of up to 128 MiB stays for the next one. The system
// may take its pages back where it runs short of memory.
//
// Invariant: a block belongs to the slot or to whoever has exchanged it out of it, and only its owner reads
// `bytes`. Both exchanges acquire and release, so that the next owner comes after all that the last one did.
class large_memory {
  public:
    static constexpr std::size_t most_kept = std::size_t{1} << 27;

    explicit large_memory(std::size_t bytes) : bytes_(bytes) {
        if (block* const kept = slot.exchange(nullptr, std::memory_order_acq_rel)) {
            if (kept->bytes >= bytes) {
                bytes_ = kept->bytes;
                data_ = kept;
                return;
            }
            keep(kept);
        }
        is_new_ = true;
        data_ = ::operator new (bytes, std::align_val_t{large_page});
#if defined(MADV_HUGEPAGE)
        static_cast<void>(madvise(data_, bytes, MADV_HUGEPAGE));  // refused or not: the memory is there
#endif
    }
    large_memory(const large_memory&) = delete;
    large_memory& operator=(const large_memory&) = delete;
    ~large_memory() {
#if defined(__SANITIZE_ADDRESS__)
        free(data_);  // which then sees who goes on using it
#else
        if (bytes_ > most_kept) {
            free(data_);
        } else {
#if defined(MADV_FREE)
            static_cast<void>(madvise(data_, bytes_, MADV_FREE));
#endif
            keep(::new (data_) block{bytes_});
        }
#endif
    }
    [[nodiscard]] void* data() const noexcept {
        return data_;
    }
    [[nodiscard]] bool is_new() const noexcept {
        return is_new_;
    }

  private:
    struct block {
        std::size_t bytes;
    };
    inline static std::atomic<block*> slot{nullptr};

    static void keep(block* one) noexcept {
        if (block* const other = slot.exchange(one, std::memory_order_acq_rel)) free(other);
    }
    static void free(void* memory) noexcept {
        ::operator delete (memory, std::align_val_t{large_page});
    }

    std::size_t bytes_;
    void* data_ = nullptr;
    bool is_new_ = false;
};

// Memory for n elements, which are not there yet. One at once: members with one each would pass the slot to
// and fro between them.
template <class T>
class raw_buffer {
  public:
    explicit raw_buffer(index n) : bytes_(bytes_of(n)) {
        if (bytes_ >= large_page) {
            data_ = static_cast<T*>(large_.emplace(bytes_).data());
        } else {
            data_ = static_cast<T*>(::operator new(bytes_, alignment));
        }
    }
    raw_buffer(const raw_buffer&) = delete;
    raw_buffer& operator=(const raw_buffer&) = delete;
    ~raw_buffer() {
        if (!large_) ::operator delete(data_, alignment);
    }
    [[nodiscard]] T* data() const noexcept { return data_; }

    // Large pages that nobody has written to.
    [[nodiscard]] index new_pages() const noexcept {
        return large_ && large_->is_new() ? static_cast<index>(bytes_ / large_page) : 0;
    }
    // Has the system give one of them; before there are elements.
    void touch(index page) const noexcept {
        static_cast<std::byte*>(large_->data())[usize(page) * large_page] = std::byte{0};
    }

  private:
    static constexpr auto alignment = std::align_val_t{alignof(T) > 64 ? alignof(T) : 64};

    static std::size_t bytes_of(index n) {
        if (usize(n) > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T))
            throw std::bad_array_new_length();
        const std::size_t bytes = usize(n) * sizeof(T);
        return bytes < large_page ? bytes : (bytes + large_page - 1) / large_page * large_page;
    }

    std::size_t bytes_;
    std::optional<large_memory> large_;
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
