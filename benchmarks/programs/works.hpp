#pragma once
// What the runtimes are timed at, the same code for each of them; a program hands in how its runtime does it.
// launch: an empty loop over all members. barrier: a barrier of all members. sum: doubles, hot.
// gaps: loops with pauses between them, and what the waiting costs in CPU time.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/programs/program.hpp"

namespace tauto::bench {

/// How much of it: doubles to add up, floats of a loop, loops and the pauses between them.
struct amounts {
    std::int64_t values = 1000;
    std::int64_t floats = 200'000;
    int loops = 60;
    std::int64_t gap_microseconds = 10'000;
};

inline void add_amounts(arguments& app, amounts& wanted) {
    app.number("--values", wanted.values, "Doubles to add up", std::int64_t{1}, std::int64_t{100'000'000});
    app.number("--floats", wanted.floats, "Floats that a loop works on", std::int64_t{1},
               std::int64_t{100'000'000});
    app.number("--loops", wanted.loops, "Timed loops", 3, 1'000'000);
    app.number("--gap-microseconds", wanted.gap_microseconds, "Pause before each loop; 0: none",
               std::int64_t{0}, std::int64_t{10'000'000});
}

/// ran_on: the CPU of each member. `seen` ends the message: what the library knows of the CPUs.
inline void require_every_cpu(const options& asked, const std::vector<int>& ran_on,
                              const std::string& seen = "") {
    if (std::set<int>(ran_on.begin(), ran_on.end()) != std::set<int>(asked.cpus.begin(), asked.cpus.end()))
        throw missing_worker("not every CPU of " + asked.cpus_text + " took part" + seen);
}

/// The row of `launch()`, which starts an empty loop on all members and waits for its end.
template <class Launch>
json timed_launches(const options& asked, const std::vector<int>& ran_on, Launch&& launch) {
    constexpr int launches_a_batch = 100;
    json row = timed(batch_seconds(asked, launches_a_batch, launch));
    row["wait"] = asked.wait;
    row["cpus"] = ran_on;
    return row;
}

/// Seconds of one barrier, batch by batch; complete on rank 0. `me` has barrier and broadcast.
template <class Member>
std::vector<double> barrier_seconds(Member& me, const options& asked) {
    constexpr int barriers = 200;
    std::vector<double> batches;
    double start = seconds_now();
    bool warm = asked.warmup_seconds > 0;
    for (double more = 1; more != 0;) {
        const double begin = seconds_now();
        for (int i = 0; i < barriers; ++i) me.barrier();
        const double end = seconds_now();
        if (warm && end - start >= asked.warmup_seconds) {
            start = end;
            warm = false;
        } else if (!warm) {
            batches.push_back((end - begin) / barriers);
        }
        more = warm || end - start < asked.min_seconds || batches.size() < 9 ? 1 : 0;
        me.broadcast(std::span<double>(&more, 1));
    }
    return batches;
}

/// The row of `sum(values)`, which is timed and held against the exact sum of small fractions.
template <class Sum>
json timed_sum(const options& asked, const amounts& wanted, Sum&& sum) {
    const auto n = static_cast<std::size_t>(wanted.values);
    std::vector<double> values(n);
    // Multiples of 1/4 below 16: every sum of them is exact in every order.
    double right = 0;
    for (std::size_t i = 0; i < n; ++i) right += values[i] = static_cast<double>(i * 7 % 61) / 4;
    double found = 0;
    // A batch is about 50 microseconds: the clock's share is then a thousandth.
    const int calls = wanted.values < 50'000 ? static_cast<int>(50'000 / wanted.values) + 1 : 1;
    json row = timed(batch_seconds(asked, calls, [&] {
        found = sum(values);
        // The compiler must not keep a sum whose values have not changed.
        asm volatile("" : : "r"(values.data()) : "memory");
    }));
    if (found != right) {
        throw std::runtime_error("wrong sum: " + std::to_string(found) + " where " + std::to_string(right) +
                                 " is right");
    }
    row["values"] = wanted.values;
    row["wait"] = asked.wait;
    row["cpus"] = asked.cpus;
    return row;
}

inline double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// The caller sleeps through long pauses, as a program does that waits for its input, and works through short
/// ones.
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
json timed_gaps(const options& asked, const amounts& wanted, Scale&& scale) {
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
    // A quarter as many to get used to the pauses; runtimes that learn do it here.
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
