#pragma once
// The members of a loop's team: where each runs, how fast, and what it is doing.

#include <span>
#include <string>
#include <vector>

#include <tauto/range.hpp>

#include "machine.hpp"

namespace tauto::sim {

// A member on its hardware thread. Waiting members spin, so all cores of the team stay awake, and the clock
// is the turbo clock for that number of cores.
struct loop_member {
    hardware_thread where;
    const core_kind* kind = nullptr;
    int sharers = 0;  // members on its core
    double hertz = 0;
    const noise* ticks = nullptr;
    int number = 0;  // of its hardware thread

    // An emulated slow core runs at full speed in windows; a thief has the rest of each turn. On others the
    // system takes its ticks. Returns the time at which `work` nanoseconds of the member's own time are done
    // if it begins at `at`.
    [[nodiscard]] nanoseconds finish(nanoseconds at, nanoseconds work) const;
    // The member's own time from one moment to a later one.
    [[nodiscard]] nanoseconds served(nanoseconds from, nanoseconds to) const;

    [[nodiscard]] std::int64_t working_milliwatts() const { return kind->active_milliwatts(hertz) / sharers; }
    [[nodiscard]] std::int64_t spinning_milliwatts() const {
        return kind->spinning_milliwatts(hertz) / sharers;
    }

  private:
    [[nodiscard]] nanoseconds window() const;
};

// The members of a placement, core by core; `alone`: only the first. They point into the machine.
std::vector<loop_member> place_members(const machine& on, const std::string& placement, bool alone);

// A member's progress in the current loop, or in the last loop that it took part in.
struct loop_progress {
    enum class phase : std::uint8_t { absent, away, asking, fetching, working, done };
    phase now = phase::absent;
    int position = 0;  // among those that take part; the caller's is 0
    range chunk;       // in hand, or done last
    double left = 0;   // bytes of it
    nanoseconds since = 0;
    std::int64_t rows = 0;
    nanoseconds began = 0;
    nanoseconds ended = 0;
};

}  // namespace tauto::sim
