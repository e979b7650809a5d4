#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "balance/recording.hpp"
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
    perf_event_attr what =
        software_event(PERF_COUNT_SW_DUMMY, PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
    what.context_switch = 1;
    what.task = 1;
    what.sample_id_all = 1;
    return what;
}

class switches : public watch {
  public:
    switches(std::unique_ptr<recording> from, pid_t thread)
        : from_(std::move(from)), thread_(thread), seen_{timer::now(), doing::sleeps, -1} {}

    void read(news& into) override {
        from_->read(
            [&](const perf_event_header& header, const std::byte* record) { take(record, header, into); });
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

    std::unique_ptr<recording> from_;
    pid_t thread_;
    change seen_;  // the last; its CPU is -1 before the first
    change told_{0, doing::sleeps, -1};
    nanoseconds ran_ = 0;  // since then
};

}  // namespace

std::unique_ptr<watch> watch_switches(pid_t thread) {
    auto from = recording::begin(asked(), thread, pages_to_try);
    return from ? std::make_unique<switches>(std::move(from), thread) : nullptr;
}

}  // namespace tauto::balance
