#pragma once
// B14: loops with a pause between them: how long the next loop takes, and what the waiting costs in CPU time.

#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/program.hpp"

namespace tauto::bench {

struct gap_options {
    std::int64_t gap_microseconds = 10'000;
    std::int64_t floats = 200'000;
    int loops = 60;
};

inline void add_gap_options(arguments& app, gap_options& wanted) {
    app.number("--gap-microseconds", wanted.gap_microseconds, "Pause before each loop; 0: none",
               std::int64_t{0}, std::int64_t{10'000'000});
    app.number("--floats", wanted.floats, "Floats that a loop works on", std::int64_t{1},
               std::int64_t{100'000'000});
    app.number("--loops", wanted.loops, "Timed loops", 3, 1'000'000);
}

inline double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// The pause: the caller sleeps through long ones, as a program that waits for its input does, and works
/// through short ones.
inline void pause_for(std::int64_t microseconds) {
    if (microseconds >= 1000) {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        return;
    }
    const double end = seconds_now() + 1e-6 * static_cast<double>(microseconds);
    while (seconds_now() < end) {
    }
}

/// The row of `scale(values)`, which multiplies every float. `seconds` is the median loop after a pause, and
/// cpu_seconds_per_loop what all threads used for one loop and one pause.
template <class Scale>
json timed_gaps(const options& asked, const gap_options& wanted, Scale&& scale) {
    std::vector<float> values(static_cast<std::size_t>(wanted.floats), 1.0F);
    std::vector<double> seconds;
    seconds.reserve(static_cast<std::size_t>(wanted.loops));
    const auto run = [&](int loops) {
        seconds.clear();
        for (int loop = 0; loop < loops; ++loop) {
            pause_for(wanted.gap_microseconds);
            const double begin = seconds_now();
            scale(values);
            seconds.push_back(seconds_now() - begin);
        }
    };
    // A quarter as many to get used to the gaps; runtimes that learn do it here.
    run(std::max(3, wanted.loops / 4));
    const double cpu = cpu_seconds();
    const double begin = seconds_now();
    run(wanted.loops);
    const double wall = seconds_now() - begin;
    json row = timed(seconds);
    row["cpu_seconds_per_loop"] = (cpu_seconds() - cpu) / wanted.loops;
    row["wall_seconds_per_loop"] = wall / wanted.loops;
    row["gap_microseconds"] = wanted.gap_microseconds;
    row["floats"] = wanted.floats;
    row["wait"] = asked.wait;
    row["cpus"] = asked.cpus;
    return row;
}

}  // namespace tauto::bench
