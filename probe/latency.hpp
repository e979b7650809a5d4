#pragma once
// The costs of communication between CPUs: by a cache line, by the kernel, by a barrier.

#include <optional>
#include <vector>

#include "probe/measured.hpp"

namespace tauto::probe {

// Seconds for a line to go from one CPU to the other and an answer to come back on a second line: median of
// batches, spinning with or without PAUSE, whichever is faster.
double round_trip_seconds(int first, int second, double seconds);

// FUTEX_WAKE between two CPUs, the sleeper asleep for at least 0.1 ms: medians.
futex_measurement measure_futex_wake(int waker, int sleeper, int wakes);

// A barrier of one counter and one flag among these CPUs, all spinning: median seconds.
double barrier_seconds(const std::vector<int>& cpus, double seconds);

}  // namespace tauto::probe
