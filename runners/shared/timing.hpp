#pragma once
// Timing of iterations in batches: the clock is read once a batch.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

struct timing {
    std::vector<double> batch_seconds;  ///< seconds of one iteration, by batch
    double timed_seconds = 0.0;         ///< wall time of all batches together
    std::int64_t iterations = 0;
    std::int64_t batch_iterations = 0;
    std::int64_t warmup_iterations = 0;
};

struct timing_limits {
    double warmup_seconds = 0.05;
    double min_seconds = 0.1;
    std::optional<std::int64_t> max_iterations;
};

inline double monotonic_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A batch lasts at least this long: a reading of the clock costs 20 to 30 ns, its share is then 1e-5.
inline constexpr double least_batch_seconds = 2e-3;
/// At least this many batches, however long an iteration takes: a median needs three values.
inline constexpr std::int64_t least_batches = 3;

/// Runs iterations untimed and returns how many of them make a batch, chosen from the last step.
template <class Iterate, class Now>
std::int64_t warm_up(timing& result, double warmup_seconds, Iterate&& iterate, Now&& now) {
    double step_seconds = 0.0;
    std::int64_t step = 1;
    // Two steps at least: the first iteration of all may start the runtime's threads.
    for (double spent = 0.0; result.warmup_iterations < 2 || spent < warmup_seconds; spent += step_seconds) {
        const double start = now();
        iterate(step);
        step_seconds = now() - start;
        result.warmup_iterations += step;
        const double one = step_seconds / as_double(step);
        const double wanted = std::ceil(least_batch_seconds / std::max(one, 1e-9));
        step = std::clamp(static_cast<std::int64_t>(wanted), std::int64_t{1}, 16 * step);
    }
    return step;
}

/// Warms up, calls start(), then times batches. iterate(count) runs `count` iterations; now() gives seconds
/// that never go back.
template <class Iterate, class Now, class Start>
timing time_batches(const timing_limits& limits, Iterate&& iterate, Now&& now, Start&& start) {
    timing result;
    result.batch_iterations = warm_up(result, limits.warmup_seconds, iterate, now);
    start();
    const std::int64_t most = limits.max_iterations.value_or(std::numeric_limits<std::int64_t>::max());
    while (result.iterations < most &&
           (result.timed_seconds < limits.min_seconds || std::ssize(result.batch_seconds) < least_batches)) {
        const std::int64_t count = std::min(result.batch_iterations, most - result.iterations);
        const double begin = now();
        iterate(count);
        const double seconds = now() - begin;
        result.timed_seconds += seconds;
        result.iterations += count;
        result.batch_seconds.push_back(seconds / as_double(count));
    }
    return result;
}

template <class Iterate, class Now>
timing time_batches(const timing_limits& limits, Iterate&& iterate, Now&& now) {
    return time_batches(limits, iterate, now, [] {});
}

/// Of work that is prepared anew each time, for so many seconds in all by now: was it timed for long enough,
/// or is what is timed so short beside its preparation that little more can be had?
inline bool is_enough(const timing& timed, const timing_limits& limits, double seconds_gone) {
    constexpr double most_parts_prepared = 10.0;
    return timed.timed_seconds >= limits.min_seconds ||
           seconds_gone >= most_parts_prepared * limits.min_seconds ||
           (limits.max_iterations && timed.iterations >= *limits.max_iterations);
}

/// Of at least one value.
inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2.0;
}

/// At most `most` values: means of neighbouring groups of nearly equal size, in order.
inline std::vector<double> condensed(std::span<const double> values, std::size_t most) {
    const std::size_t groups = std::min(most, values.size());
    std::vector<double> means;
    for (std::size_t group = 0; group < groups; ++group) {
        const auto part =
            values.subspan(group * values.size() / groups,
                           (group + 1) * values.size() / groups - group * values.size() / groups);
        means.push_back(std::accumulate(part.begin(), part.end(), 0.0) / as_double(part.size()));
    }
    return means;
}

}  // namespace tauto::runner
