#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "balance/promptness.hpp"
#include "balance/watch.hpp"

namespace tauto::balance {

namespace {

// 32 bytes a switch: a thread that `tauto emulate` interrupts 20,000 times a second fills 16 pages in 50 ms.
// The system may lock less memory for a user.
constexpr std::array<std::size_t, 3> pages_to_try{16, 4, 1};

constexpr std::size_t longest_record = 64;  // of those that are read

struct record_of_switch {
    std::uint32_t process, thread;  // what sample_id_all adds to each record
    std::uint64_t time;
    std::uint32_t cpu, reserved;
};

struct record_of_birth {
    std::uint32_t process, parent_process, thread, parent_thread;
};

perf_event_attr asked() {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = PERF_TYPE_SOFTWARE;
    what.config = PERF_COUNT_SW_DUMMY;
    what.exclude_kernel = 1;  // without it more rights are needed
    what.exclude_hv = 1;
    what.context_switch = 1;
    what.task = 1;
    what.sample_id_all = 1;
    what.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    what.use_clockid = 1;
    what.clockid = CLOCK_MONOTONIC;
    what.watermark = 1;  // wakes nobody: we look by ourselves
    what.wakeup_watermark = ~0U;
    return what;
}

class switches : public watch {
  public:
    switches(int file, void* pages, std::size_t bytes, pid_t thread)
        : file_(file),
          pages_(pages),
          bytes_(bytes),
          thread_(thread),
          seen_{timer::now(), doing::sleeps, -1} {}
    ~switches() override {
        const patience while_asking;
        munmap(pages_, bytes_);
        close(file_);
    }
    switches(const switches&) = delete;
    switches& operator=(const switches&) = delete;

    void read(news& into) override {
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
                const std::size_t all = std::min<std::size_t>(header.size, longest_record);
                std::memcpy(whole.data(), data + at, std::min(first, all));
                if (all > first) std::memcpy(whole.data() + first, data, all - first);
                record = whole.data();
            }
            take(record + sizeof header, header, into);
            tail += header.size;
        }
        std::atomic_ref(page.data_tail).store(tail, std::memory_order_release);
        if (seen_.at != told_.at && seen_.cpu >= 0) tell(into);
    }

  private:
    void note(const change& what, news& into) {
        const bool first = seen_.cpu < 0;
        if (first ? what.now != doing::runs : seen_.now == doing::runs) ran_ += what.at - seen_.at;
        seen_ = what;
        const bool is_interruption =
            what.now != doing::sleeps && told_.now != doing::sleeps && what.cpu == told_.cpu;
        if (!is_interruption) tell(into);
    }

    void tell(news& into) {
        told_ = seen_;
        told_.ran = std::exchange(ran_, 0);
        into.changes.push_back(told_);
    }

    // `record`: behind its header.
    void take(const std::byte* record, const perf_event_header& header, news& into) {
        if (header.type == PERF_RECORD_SWITCH) {
            record_of_switch found{};
            std::memcpy(&found, record, sizeof found);
            doing now = doing::runs;
            if (header.misc & PERF_RECORD_MISC_SWITCH_OUT)
                now = header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? doing::waits : doing::sleeps;
            note({static_cast<nanoseconds>(found.time), now, static_cast<int>(found.cpu)}, into);
        } else if (header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT) {
            record_of_birth found{};
            std::memcpy(&found, record, sizeof found);
            if (header.type == PERF_RECORD_FORK)
                into.born.push_back(static_cast<pid_t>(found.thread));
            else if (static_cast<pid_t>(found.thread) == thread_)
                into.ended = true;
        } else if (header.type == PERF_RECORD_LOST) {
            into.lost = true;
        }
    }

    int file_;
    void* pages_;
    std::size_t bytes_;
    pid_t thread_;
    change seen_;  // the last; its CPU is -1 before the first
    change told_{0, doing::sleeps, -1};
    nanoseconds ran_ = 0;  // since then
};

}  // namespace

std::unique_ptr<watch> watch_switches(pid_t thread) {
    perf_event_attr what = asked();
    const patience while_asking;
    const long file = syscall(SYS_perf_event_open, &what, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0) return nullptr;
    for (const std::size_t data : pages_to_try) {
        const std::size_t bytes = (1 + data) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* const pages =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
        if (pages != MAP_FAILED)
            return std::make_unique<switches>(static_cast<int>(file), pages, bytes, thread);
    }
    close(static_cast<int>(file));
    return nullptr;
}

}  // namespace tauto::balance
