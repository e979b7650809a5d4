#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "balance/promptness.hpp"
#include "balance/watch.hpp"

namespace tauto::balance {

namespace {

// 32 bytes a switch: a thread that `tauto emulate` interrupts 20,000 times a second fills 16 pages in 50 ms.
// The system may lock less memory for a user.
constexpr std::array<std::size_t, 3> pages_to_try{16, 4, 1};

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
        : file_(file), pages_(pages), bytes_(bytes), thread_(thread) {}
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
        std::uint64_t tail = page.data_tail;
        while (tail < head) {
            perf_event_header header{};
            copy(page, tail, &header, sizeof header);
            if (header.size == 0) break;
            take(page, tail + sizeof header, header, into);
            tail += header.size;
        }
        std::atomic_ref(page.data_tail).store(tail, std::memory_order_release);
    }

  private:
    // The data is a ring.
    void copy(const perf_event_mmap_page& page, std::uint64_t from, void* to, std::size_t count) const {
        const auto* const data = static_cast<const std::byte*>(pages_) + page.data_offset;
        const std::uint64_t at = from % page.data_size;
        const std::size_t first = std::min<std::size_t>(count, page.data_size - at);
        std::memcpy(to, data + at, first);
        std::memcpy(static_cast<std::byte*>(to) + first, data, count - first);
    }

    void take(const perf_event_mmap_page& page, std::uint64_t at, const perf_event_header& header,
              news& into) const {
        if (header.type == PERF_RECORD_SWITCH) {
            record_of_switch found{};
            copy(page, at, &found, sizeof found);
            doing now = doing::runs;
            if (header.misc & PERF_RECORD_MISC_SWITCH_OUT)
                now = header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? doing::waits : doing::sleeps;
            into.changes.push_back({static_cast<nanoseconds>(found.time), now, static_cast<int>(found.cpu)});
        } else if (header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT) {
            record_of_birth found{};
            copy(page, at, &found, sizeof found);
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
