// What the loop runners share: timing by a virtual clock, lists of CPUs, memory, and the two checks of a run.

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/matvec.hpp"
#include "runners/common/check.hpp"
#include "runners/common/cpus.hpp"
#include "runners/common/error.hpp"
#include "runners/common/memory.hpp"
#include "runners/common/timing.hpp"

namespace {

using namespace tauto::runner;

// A program whose iterations take a known time by a clock of its own.
struct virtual_program {
    double seconds_now = 0.0;
    double iteration_seconds;
    double first_seconds = 0.0;  // once, before the first iteration
    std::int64_t iterations = 0;
    int clock_readings = 0;

    timing timed(const timing_limits& limits) {
        const auto iterate = [this](std::int64_t count) {
            if (iterations == 0) seconds_now += first_seconds;
            iterations += count;
            seconds_now += static_cast<double>(count) * iteration_seconds;
        };
        return time_batches(limits, iterate, [this] {
            ++clock_readings;
            return seconds_now;
        });
    }
};

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const input_error& error) {
        return error.what();
    }
    return "";
}

options asking(std::vector<int> cpus, int threads, std::int64_t size = 300) {
    options asked;
    asked.size = size;
    asked.cpus = std::move(cpus);
    asked.threads = threads;
    return asked;
}

}  // namespace

TEST_CASE("short_iterations_are_timed_in_batches_of_two_milliseconds") {
    virtual_program program{.iteration_seconds = 5e-6};
    const timing result = program.timed({.warmup_seconds = 0.05, .min_seconds = 0.1, .max_iterations = {}});
    CHECK(result.batch_iterations == doctest::Approx(400).epsilon(0.01));
    CHECK(result.timed_seconds >= 0.1);
    CHECK(result.timed_seconds < 0.1 + 0.003);
    CHECK(static_cast<double>(result.warmup_iterations) * 5e-6 >= 0.05);
    CHECK(median(result.batch_seconds) == doctest::Approx(5e-6));
    CHECK(result.warmup_iterations + result.iterations == program.iterations);
    CHECK(program.clock_readings < 200);
}

TEST_CASE("long_iterations_are_timed_one_by_one_and_at_least_three") {
    virtual_program program{.iteration_seconds = 0.5};
    const timing result = program.timed({.warmup_seconds = 0.05, .min_seconds = 0.1, .max_iterations = {}});
    CHECK(result.batch_iterations == 1);
    CHECK(result.iterations == 3);
    CHECK(result.warmup_iterations == 2);
}

TEST_CASE("start_of_the_runtime_is_not_taken_for_the_length_of_an_iteration") {
    virtual_program program{.iteration_seconds = 1e-5, .first_seconds = 0.2};
    const timing result = program.timed({.warmup_seconds = 0.05, .min_seconds = 0.1, .max_iterations = {}});
    CHECK(median(result.batch_seconds) == doctest::Approx(1e-5));
    CHECK(result.batch_seconds.front() == doctest::Approx(1e-5));
}

TEST_CASE("max_iterations_ends_the_timed_part_and_shortens_the_last_batch") {
    virtual_program program{.iteration_seconds = 1e-4};
    const timing result = program.timed({.warmup_seconds = 0.0, .min_seconds = 100.0, .max_iterations = 50});
    CHECK(result.iterations == 50);
    CHECK(median(result.batch_seconds) == doctest::Approx(1e-4));
}

TEST_CASE("median_of_even_and_odd_counts") {
    CHECK(median({3.0, 1.0, 2.0}) == 2.0);
    CHECK(median({4.0, 1.0, 2.0, 3.0}) == 2.5);
    CHECK(median({7.0}) == 7.0);
}

TEST_CASE("many_batches_are_condensed_to_means_of_neighbours") {
    std::vector<double> values;
    for (int i = 0; i < 130; ++i) values.push_back(i);
    const auto means = condensed(values, 64);
    CHECK(means.size() == 64);
    CHECK(means.front() == 0.5);
    CHECK(means.back() == doctest::Approx(128.0));
    CHECK(condensed(std::vector<double>{1.0, 2.0}, 64) == std::vector<double>{1.0, 2.0});
}

TEST_CASE("cpu_lists_are_read_in_their_order") {
    CHECK(parse_cpus("3") == std::vector<int>{3});
    CHECK(parse_cpus("4,0-2") == std::vector<int>{4, 0, 1, 2});
    CHECK(cpus_text(std::vector<int>{4, 0, 1}) == "4,0,1");
    for (const char* text : {"", ",", "1,", "a", "1-", "-1", "1-2-3", "0x1", " 1", "99999"})
        CHECK_THROWS_AS(parse_cpus(text), input_error);
    CHECK(message_of([] { parse_cpus("3-1"); }).find("runs backwards") != std::string::npos);
    CHECK(message_of([] { parse_cpus("1,0-2"); }).find("CPU 1 is listed twice") != std::string::npos);
}

TEST_CASE("too_large_a_system_is_refused_with_what_is_asked_and_what_is_there") {
    const std::string message = message_of([] { require_memory_for(1e9); });
    CHECK(message.find("takes 4 EB of memory") != std::string::npos);
    CHECK(message.find("use --size up to about") != std::string::npos);
    CHECK(message_of([] { require_memory_for(100.0); }).empty());
}

TEST_CASE("workers_on_the_cpus_asked_for_are_complete") {
    CHECK_FALSE(missing_workers(asking({0, 1}, 2), {{0, 0, 150}, {1, 1, 150}}));
    CHECK_FALSE(missing_workers(asking({5}, 1), {{0, 5, 300}}));
    // More threads than CPUs: which of them got work is the runtime's affair, each CPU must have been used.
    CHECK_FALSE(missing_workers(asking({0, 1}, 4), {{0, 0, 150}, {1, 1, 150}}));
}

TEST_CASE("missing_workers_are_named") {
    const auto one = missing_workers(asking({0, 1}, 2), {{0, 0, 300}});
    REQUIRE(one);
    CHECK(*one == "2 workers on CPUs 0,1 were asked for, but 1 thread computed rows, on CPU 0");
    // Two threads on one CPU, one thread that wandered over two, and a worker elsewhere.
    CHECK(missing_workers(asking({0, 1}, 2), {{0, 0, 150}, {1, 0, 150}}));
    CHECK(missing_workers(asking({0, 1}, 2), {{0, 0, 150}, {0, 1, 150}}));
    CHECK(missing_workers(asking({0, 1}, 2), {{0, 0, 150}, {1, 1, 100}, {1, 2, 50}}));
    CHECK(missing_workers(asking({0, 1}, 4), {{0, 0, 150}, {1, 0, 150}}));
    CHECK(missing_workers(asking({0, 1}, 2), {}));
}

TEST_CASE("a_loop_with_one_chunk_needs_one_worker") {
    options asked = asking({0, 1}, 2, 10);
    asked.chunk = 16;
    CHECK_FALSE(missing_workers(asked, {{0, 1, 10}}));
    asked.chunk = 5;
    CHECK(missing_workers(asked, {{0, 1, 10}}));
}

TEST_CASE("work_is_counted_by_thread_and_cpu") {
    work_account account;
    CHECK(account.workers().empty());
    account.add(3);
    account.add(4);
    std::int64_t rows = 0;
    for (const auto& worker : account.workers()) {
        CHECK(worker.thread == 0);
        rows += worker.rows;
    }
    CHECK(rows == 7);
}

TEST_CASE("right_and_wrong_answers_are_told_apart") {
    const tauto::toeplitz_system system{200};
    const auto product = [&](const tauto::aligned_floats& x, tauto::aligned_floats& y) {
        tauto::matvec_rows(system.a, x, y, 0, 200);
    };
    const auto wrong_product = [&](const tauto::aligned_floats& x, tauto::aligned_floats& y) {
        tauto::matvec_rows(system.a, x, y, 0, 199);
    };
    options asked = asking({0}, 1, 200);
    CHECK(check_answer(asked, system, cg_solve(system.b, product, limits_of(asked))).passed);
    CHECK_FALSE(check_answer(asked, system, cg_solve(system.b, wrong_product, limits_of(asked))).passed);
    asked.solution_iterations = 3;
    const auto early = check_answer(asked, system, cg_solve(system.b, product, limits_of(asked)));
    CHECK(early.iterations == 3);
    CHECK(early.passed);
    CHECK_FALSE(check_answer(asked, system, cg_solve(system.b, wrong_product, limits_of(asked))).passed);
}

TEST_CASE("an_answer_that_is_not_a_number_does_not_pass") {
    const tauto::toeplitz_system system{50};
    const auto product = [](const tauto::aligned_floats&, tauto::aligned_floats& y) {
        for (float& value : y.values()) value = std::numeric_limits<float>::quiet_NaN();
    };
    const options asked = asking({0}, 1, 50);
    CHECK_FALSE(check_answer(asked, system, cg_solve(system.b, product, limits_of(asked))).passed);
}
