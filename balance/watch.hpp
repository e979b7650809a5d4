#pragma once
// What the kernel shows of one thread: when it ran, waited for a CPU and slept.

#include <sys/types.h>

#include <memory>
#include <optional>
#include <vector>

#include "timer/clock.hpp"

namespace tauto::balance {

using timer::nanoseconds;

enum class doing { sleeps, waits, runs };  // waits: for a CPU

struct change {
    nanoseconds at;
    doing now;
    int cpu;
    nanoseconds ran =
        -1;  // since the last change that was told of it; negative where only its state is known
};

struct news {
    std::vector<change> changes;  // in the order of time
    std::vector<pid_t> born;      // threads and processes that the thread started
    bool ended = false;
    bool lost = false;  // there was more than could be kept
};

class watch {
  public:
    virtual ~watch() = default;
    // Adds what has happened since the last call.
    virtual void read(news& into) = 0;
};

// Switches, as the kernel records them (perf_event_open). Interruptions, after which the thread goes on where
// it was, are told together. Null where the system refuses that.
std::unique_ptr<watch> watch_switches(pid_t thread);

// The same from /proc, read at each look: what is shorter than the time between two is not seen.
std::unique_ptr<watch> watch_files(pid_t process, pid_t thread);

// What it does at this moment; empty if it has ended.
std::optional<change> state_of(pid_t process, pid_t thread);

}  // namespace tauto::balance
