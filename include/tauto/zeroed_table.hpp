#pragma once
// Memory of a member's own that begins with zeros.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <tauto/raw_buffer.hpp>

namespace tauto::detail {

// Tables of up to 128 MiB in all stay for the next call. To get one anew, the system clears its pages, and
// holds locks of the process meanwhile: members wait for each other there, for long where the one that has
// the lock is slow. And who adds a table up has each of its lines in a cache: to set it to zero there costs
// less than to fill the table before the next call.
//
// Invariant: a table in a slot is all zeros, and belongs to the slot or to whoever has exchanged it out of
// it. Both exchanges acquire and release, so that the next owner comes after all that the last one did.
class zeroed_table {
  public:
    static constexpr std::size_t most_kept = std::size_t{1} << 27;  // bytes

    zeroed_table(std::size_t bytes, int rank)
        : slot_(&slots[static_cast<unsigned>(rank) % slots.size()]),
          table_(slot_->exchange(nullptr, std::memory_order_acq_rel)) {
        if (table_) kept_bytes.fetch_sub(table_->bytes, std::memory_order_relaxed);
        if (!table_ || table_->bytes < bytes) table_ = std::make_unique<table>(bytes);
    }
    zeroed_table(const zeroed_table&) = delete;
    zeroed_table& operator=(const zeroed_table&) = delete;
    ~zeroed_table() {
#if !defined(__SANITIZE_ADDRESS__)  // which is to see who goes on using it
        if (is_zero_) keep(std::move(table_));
#endif
    }
    [[nodiscard]] void* data() const noexcept {
        return table_->data;
    }

    // All that was written has been set to zero again: the table may stay.
    void note_zeros() noexcept {
        is_zero_ = true;
    }

  private:
    struct table {
        explicit table(std::size_t size)
            : bytes(size < large_page ? size : (size + large_page - 1) / large_page * large_page),
              data(::operator new(bytes, alignment())) {
#if defined(MADV_HUGEPAGE)
            if (bytes >= large_page) static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));  // if it can
#endif
            std::fill_n(static_cast<std::byte*>(data), bytes, std::byte{0});
        }
        table(const table&) = delete;
        table& operator=(const table&) = delete;
        ~table() {
            ::operator delete(data, alignment());
        }
        [[nodiscard]] std::align_val_t alignment() const noexcept {
            return std::align_val_t{bytes < large_page ? 64 : large_page};
        }
        std::size_t bytes;
        void* data;
    };
    inline static std::array<std::atomic<table*>, 64> slots{};  // by rank
    inline static std::atomic<std::size_t> kept_bytes{0};

    void keep(std::unique_ptr<table> one) noexcept {
        const std::size_t bytes = one->bytes;
        if (kept_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes > most_kept) {
            kept_bytes.fetch_sub(bytes, std::memory_order_relaxed);
            return;
        }
        const std::unique_ptr<table> other(slot_->exchange(one.release(), std::memory_order_acq_rel));
        if (other) kept_bytes.fetch_sub(other->bytes, std::memory_order_relaxed);
    }

    std::atomic<table*>* slot_;
    std::unique_ptr<table> table_;
    bool is_zero_ = false;
};

}  // namespace tauto::detail
