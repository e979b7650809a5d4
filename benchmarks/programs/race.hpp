#pragma once
// A cell of the race: one loop that was drawn at random, the same for every runtime. A runtime is an adapter:
// loop(n, body) calls body(begin, end) for parts of [0, n); sum(n, part) and tasks(n, one) add up
// part(begin, end) or one(i).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/programs/program.hpp"
#include "benchmarks/programs/works.hpp"

namespace tauto::bench {

struct race_cell {
    std::string kernel = "even";
    std::int64_t iterations = 1000;
    double nanoseconds = 100;            ///< of an iteration, in the mean
    std::int64_t gap_microseconds = 0;   ///< before each timed loop
    std::int64_t idle_microseconds = 0;  ///< from the runtime's start to its first loop
    bool other = false;                  ///< another loop runs between two timed ones
    int learn = 60;                      ///< calls before the timed ones
    std::string schedule = "default";
    std::int64_t chunk = 1;
};

void add_cell(arguments& app, race_cell& cell, std::vector<std::string> schedules);

/// The loop's data and its code, which is compiled once for all runtimes.
class race_work {
  public:
    explicit race_work(const race_cell& cell);

    /// Iterations [begin, end); each writes a value of its own, from the cell alone.
    void run(std::ptrdiff_t begin, std::ptrdiff_t end) noexcept;
    /// The sum over [begin, end) of a dot product, or of tasks.
    [[nodiscard]] double sum(std::ptrdiff_t begin, std::ptrdiff_t end) const noexcept;
    [[nodiscard]] bool sums() const noexcept { return kernel_ == kernel::dot || kernel_ == kernel::tasks; }
    [[nodiscard]] bool has_tasks() const noexcept { return kernel_ == kernel::tasks; }
    [[nodiscard]] std::ptrdiff_t iterations() const noexcept { return std::ssize(out_); }

    void clear() noexcept;
    /// Throws std::runtime_error where the values, or a sum, are not those of the plain loop.
    void check(double sum);

  private:
    enum class kernel { chain, axpy, rows, mandelbrot, dot, tasks };

    [[nodiscard]] double value(std::ptrdiff_t i) const noexcept;

    kernel kernel_ = kernel::chain;
    std::vector<std::int32_t> steps_;  // of each iteration
    std::vector<double> x_;
    std::vector<double> y_;
    std::vector<double> out_;
};

/// The sum over a part of the tasks: for a runtime that adds up parts, such as ranges.
template <class One>
auto part_of_tasks(One& one) {
    return [&one](std::ptrdiff_t begin, std::ptrdiff_t end) {
        double sum = 0;
        for (std::ptrdiff_t i = begin; i < end; ++i) sum += one(i);
        return sum;
    };
}

/// The row of a cell on `runtime`; `beside` runs the other loop, of which `runtime` must not learn.
/// `first_seconds` is the first call's, `seconds` the median of the learned
/// ones.
template <class Runtime>
json timed_cell(const options& asked, const race_cell& cell, Runtime runtime, Runtime beside) {
    race_work work(cell);
    race_cell small;
    small.iterations = 256;
    small.nanoseconds = 20;
    race_work between(small);
    double total = 0;
    const auto call = [&] {
        if (work.has_tasks()) {
            total = runtime.tasks(work.iterations(), [&](std::ptrdiff_t i) { return work.sum(i, i + 1); });
        } else if (work.sums()) {
            total = runtime.sum(work.iterations(), [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                return work.sum(begin, end);
            });
        } else {
            runtime.loop(work.iterations(),
                         [&](std::ptrdiff_t begin, std::ptrdiff_t end) { work.run(begin, end); });
        }
    };
    const auto other = [&] {
        beside.loop(between.iterations(),
                    [&](std::ptrdiff_t begin, std::ptrdiff_t end) { between.run(begin, end); });
    };
    pause_for(cell.idle_microseconds);
    const auto timed_call = [&] {
        if (cell.other) other();
        if (cell.gap_microseconds > 0) pause_for(cell.gap_microseconds);
        const double begin = seconds_now();
        call();
        return seconds_now() - begin;
    };
    const double first = timed_call();
    double shortest = first;
    for (int i = 0; i < cell.learn; ++i) shortest = std::min(shortest, timed_call());
    std::vector<double> seconds;
    if (cell.other || cell.gap_microseconds > 0) {
        const double start = seconds_now();
        while (seconds_now() - start < asked.min_seconds || seconds.size() < 9)
            seconds.push_back(timed_call());
    } else {
        seconds = batch_seconds(asked, shortest < 1e-4 ? static_cast<int>(1e-4 / shortest) + 1 : 1, call);
    }
    work.clear();
    call();
    work.check(total);
    json row = timed(seconds);
    row["first_seconds"] = first;
    row["cpus"] = asked.cpus;
    return row;
}

}  // namespace tauto::bench
