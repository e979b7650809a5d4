#pragma once
// What else happens on the machine around a request.

#include <optional>

namespace tauto::timer {

// The mean number of threads that wanted to run in the last minute.
std::optional<double> load();

// CPU seconds of the whole machine since it started.
struct machine_times {
    double busy;
    double stolen;  // by other guests of the host
};

// Nothing where /proc does not tell.
std::optional<machine_times> read_machine_times();

// CPU seconds of this process.
double own_cpu_seconds();

constexpr const char* bridge_name = "400000 steps of a linear congruence";

// Seconds for a fixed piece of work: two sittings are told apart from two programs by it.
double bridge();

}  // namespace tauto::timer
