#pragma once
// B11 and B12: the sum of doubles, hot. Each program of the suite says how its runtime adds them up.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/program.hpp"

namespace tauto::bench {

struct sum_options {
    std::int64_t values = 1000;
};

inline void add_sum_options(arguments& app, sum_options& wanted) {
    app.number("--values", wanted.values, "Doubles to add up", std::int64_t{1}, std::int64_t{100'000'000});
}

/// The row of `sum(values)`, which is timed and held against the exact sum of small fractions.
template <class Sum>
json timed_sum(const options& asked, const sum_options& wanted, Sum&& sum) {
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

}  // namespace tauto::bench
