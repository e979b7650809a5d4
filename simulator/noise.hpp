#pragma once
// What the operating system takes of each hardware thread: at every tick of its timer an interruption, whose
// length is drawn from a distribution. The ticks of all threads come at the same times, as Linux has them
// (kernel parameter skew_tick=0); each thread has lengths of its own.

#include <cstdint>
#include <vector>

#include "event_queue.hpp"

namespace tauto::sim {

// A number from 0 to 1 for each pair, the same on every machine.
[[nodiscard]] double chance(std::uint64_t who, std::uint64_t when);

struct noise {
    nanoseconds period = 0;  // between two ticks; 0: none
    std::vector<nanoseconds> lengths;
    std::vector<double> shares;  // of all ticks, of each length

    // The time at which `work` nanoseconds of the thread's own time are done if it begins at `at`.
    [[nodiscard]] nanoseconds finish(int thread, nanoseconds at, nanoseconds work) const;
    // The thread's own time from one moment to a later one.
    [[nodiscard]] nanoseconds served(int thread, nanoseconds from, nanoseconds to) const;

  private:
    [[nodiscard]] nanoseconds length(int thread, nanoseconds tick) const;
};

}  // namespace tauto::sim
