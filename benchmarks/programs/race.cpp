#include "benchmarks/programs/race.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

namespace tauto::bench {
namespace {

constexpr double step_nanoseconds = 1.1;  // of the chain below, about

std::size_t at(std::ptrdiff_t i) {
    return static_cast<std::size_t>(i);
}

/// The cost of each iteration; their mean is 1.
std::vector<double> profile(const race_cell& cell) {
    const auto n = static_cast<std::size_t>(cell.iterations);
    std::vector<double> costs(n, 1.0);
    std::mt19937 random(static_cast<unsigned>(cell.iterations));
    std::lognormal_distribution<double> heavy(0.0, 1.3);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
        if (cell.kernel == "triangle") costs[i] = place;
        if (cell.kernel == "head") costs[i] = place < 0.1 ? 10 : 1;
        if (cell.kernel == "random" || cell.kernel == "rows") costs[i] = heavy(random);
        sum += costs[i];
    }
    for (double& cost : costs) cost *= static_cast<double>(n) / sum;
    return costs;
}

double chain(double start, std::int32_t steps) noexcept {
    double value = start;
    for (std::int32_t k = 0; k < steps; ++k) {
        value = value * 0.999999 + 1e-9;
        asm volatile("" : "+x"(value));
    }
    return value;
}

// Points of a row of the set, as long as asked: the middle rows take many times as long as the outer ones.
double mandelbrot_row(std::ptrdiff_t row, std::ptrdiff_t rows, std::int32_t points) noexcept {
    double sum = 0;
    for (std::int32_t column = 0; column < points; ++column) {
        const double real = -2 + 3.0 * column / points;
        const double imaginary = -1.2 + 2.4 * static_cast<double>(row) / static_cast<double>(rows);
        double x = 0;
        double y = 0;
        int steps = 0;
        for (; steps < 64 && x * x + y * y < 4; ++steps) {
            const double next = x * x - y * y + real;
            y = 2 * x * y + imaginary;
            x = next;
        }
        sum += steps;
    }
    return sum;
}

}  // namespace

void add_cell(arguments& app, race_cell& cell, std::vector<std::string> schedules) {
    app.word("--kernel", cell.kernel, "race: what an iteration does",
             {"even", "triangle", "head", "random", "axpy", "rows", "mandelbrot", "dot", "tasks"});
    app.number("--iterations", cell.iterations, "race: iterations of the loop");
    app.number("--nanoseconds", cell.nanoseconds, "race: length of an iteration, in the mean");
    app.number("--gap", cell.gap_microseconds, "race: microseconds before each loop", std::int64_t{0});
    app.number("--idle", cell.idle_microseconds, "race: microseconds before the first loop", std::int64_t{0});
    app.flag("--other", cell.other, "race: another loop between two of them");
    app.number("--learn", cell.learn, "race: calls before the timed ones");
    app.word("--schedule", cell.schedule, "race: how the loop is shared", std::move(schedules));
    app.number("--chunk", cell.chunk, "race: iterations of a part");
}

race_work::race_work(const race_cell& cell)
    : x_(at(cell.iterations)), y_(at(cell.iterations)), out_(at(cell.iterations)) {
    if (cell.kernel == "axpy") kernel_ = kernel::axpy;
    if (cell.kernel == "rows") kernel_ = kernel::rows;
    if (cell.kernel == "mandelbrot") kernel_ = kernel::mandelbrot;
    if (cell.kernel == "dot") kernel_ = kernel::dot;
    if (cell.kernel == "tasks") kernel_ = kernel::tasks;
    for (const double cost : profile(cell))
        steps_.push_back(
            static_cast<std::int32_t>(std::max(1.0, cost * cell.nanoseconds / step_nanoseconds)));
    for (std::size_t i = 0; i < x_.size(); ++i) {
        // Small multiples of 1/4: sums of products are exact in every order.
        x_[i] = static_cast<double>(i * 7 % 61) / 4;
        y_[i] = static_cast<double>(i * 5 % 31) / 4;
    }
}

double race_work::value(std::ptrdiff_t i) const noexcept {
    const std::int32_t steps = steps_[at(i)];
    if (kernel_ == kernel::mandelbrot) return mandelbrot_row(i, iterations(), steps / 48 + 1);
    if (kernel_ != kernel::rows) return chain(x_[at(i)], steps);
    double sum = 0;  // a row of a sparse matrix: entries that are far apart
    auto column = static_cast<std::size_t>(i);
    for (std::int32_t k = 0; k < steps; ++k) {
        column += x_.size() / 3 + 1;
        if (column >= x_.size()) column -= x_.size();
        sum += x_[column];
    }
    return sum;
}

void race_work::run(std::ptrdiff_t begin, std::ptrdiff_t end) noexcept {
    if (kernel_ == kernel::axpy) {
        const double* const x = x_.data();
        const double* const y = y_.data();
        double* const out = out_.data();
#pragma omp simd
        for (std::ptrdiff_t i = begin; i < end; ++i) out[i] = 3.0 * x[i] + y[i];
        return;
    }
    for (std::ptrdiff_t i = begin; i < end; ++i) out_[at(i)] = value(i);
}

double race_work::sum(std::ptrdiff_t begin, std::ptrdiff_t end) const noexcept {
    double sum = 0;
    if (kernel_ == kernel::tasks) {
        // A task's length is the chain's, its value is exact.
        for (std::ptrdiff_t i = begin; i < end; ++i) sum += chain(0.0, steps_[at(i)]) < 1 ? y_[at(i)] : 0.0;
        return sum;
    }
    const double* const x = x_.data();
    const double* const y = y_.data();
#pragma omp simd reduction(+ : sum)
    for (std::ptrdiff_t i = begin; i < end; ++i) sum += x[i] * y[i];
    return sum;
}

void race_work::clear() noexcept {
    std::fill(out_.begin(), out_.end(), -1.0);
}

void race_work::check(double total) {
    if (sums()) {
        if (total != sum(0, iterations())) throw std::runtime_error("the sum is wrong");
        return;
    }
    const std::vector<double> found = std::exchange(out_, std::vector<double>(out_.size()));
    run(0, iterations());
    if (found != out_) throw std::runtime_error("the loop's values are wrong");
}

}  // namespace tauto::bench
