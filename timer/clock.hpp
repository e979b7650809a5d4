#pragma once
// Times on the monotonic clock, and CPU times, in nanoseconds.

#include <time.h>

#include <cstdint>
#include <limits>

namespace tauto::timer {

using nanoseconds = std::int64_t;

constexpr nanoseconds never = std::numeric_limits<nanoseconds>::max();
constexpr nanoseconds millisecond = 1'000'000;

inline nanoseconds read_clock(clockid_t clock) {
    timespec read{};
    clock_gettime(clock, &read);
    return nanoseconds{read.tv_sec} * 1'000'000'000 + read.tv_nsec;
}

inline nanoseconds now() {
    return read_clock(CLOCK_MONOTONIC);
}

// Of the calling thread.
inline nanoseconds processor_time() {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

inline double to_seconds(nanoseconds span) {
    return static_cast<double>(span) / 1e9;
}

// What is longer than thirty years is never.
inline nanoseconds to_nanoseconds(double seconds) {
    return seconds < 1e9 ? static_cast<nanoseconds>(seconds * 1e9) : never;
}

// No later than never.
inline nanoseconds after(nanoseconds moment, nanoseconds span) {
    return span < never - moment ? moment + span : never;
}

}  // namespace tauto::timer
