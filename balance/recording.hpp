#pragma once
// What the kernel records of one thread (perf_event_open), as a ring of records that it fills and we empty.

#include <linux/perf_event.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace tauto::balance {

class recording {
  public:
    static constexpr std::size_t longest_record = 64;  // of those that are read

    // Null where the system refuses it. The ring has the first of these sizes that may be locked.
    static std::unique_ptr<recording> begin(perf_event_attr what, pid_t thread,
                                            std::span<const std::size_t> pages_to_try);
    ~recording();
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    // Hands each record since the last call to `take`: its header and what is behind that.
    template <class Take>
    void read(const Take& take) {
        auto& page = *static_cast<perf_event_mmap_page*>(pages_);
        const std::uint64_t head = std::atomic_ref(page.data_head).load(std::memory_order_acquire);
        const auto* const data = static_cast<const std::byte*>(pages_) + page.data_offset;
        const std::uint64_t size = page.data_size;
        std::uint64_t tail = page.data_tail;
        std::array<std::byte, longest_record> whole;
        while (tail < head) {
            // The data is a ring. Records start at multiples of eight bytes, so none has its header at both
            // ends.
            const std::uint64_t at = tail % size;
            perf_event_header header;
            std::memcpy(&header, data + at, sizeof header);
            if (header.size == 0) break;
            const std::byte* record = data + at;
            if (at + header.size > size) {
                const std::size_t first = size - at;
                const std::size_t all = header.size < longest_record ? header.size : longest_record;
                std::memcpy(whole.data(), data + at, all < first ? all : first);
                if (all > first) std::memcpy(whole.data() + first, data, all - first);
                record = whole.data();
            }
            take(header, record + sizeof header);
            tail += header.size;
        }
        std::atomic_ref(page.data_tail).store(tail, std::memory_order_release);
    }

  private:
    recording(int file, void* pages, std::size_t bytes) : file_(file), pages_(pages), bytes_(bytes) {}

    int file_;
    void* pages_;
    std::size_t bytes_;
};

// What all records ask for: no rights of their own, and nobody is woken, for we look by ourselves.
perf_event_attr software_event(std::uint64_t which, std::uint64_t fields);

}  // namespace tauto::balance
