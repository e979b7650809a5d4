// What the runners of all studies share: timing by a virtual clock, lists of CPUs, pinning, and the account
// of the workers.

#include <doctest/doctest.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runners/shared/cpus.hpp"
#include "runners/shared/missing_workers.hpp"
#include "runners/shared/timing.hpp"
#include "runners/shared/work_account.hpp"
#include "tests/cpp/runner_testing.hpp"

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

std::optional<std::string> missing_of(const options& asked, const std::vector<worker_share>& workers,
                                      std::size_t pieces = 300) {
    return missing_workers(asked, pieces, "computed rows", workers);
}

std::vector<int> cpus_now() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) cpus.push_back(cpu);
    return cpus;
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

TEST_CASE("runs_that_take_longer_to_prepare_than_to_do_end_in_time") {
    const timing_limits limits{.warmup_seconds = 0.0, .min_seconds = 0.01, .max_iterations = {}};
    const auto runs = [&](const timing_limits& asked, double preparing, double timed) {
        timing seen;
        double gone = 0.0;
        do {
            gone += preparing + timed;
            seen.timed_seconds += timed;
            ++seen.iterations;
        } while (!is_enough(seen, asked, gone));
        return seen.iterations;
    };
    CHECK(runs(limits, 1e-3, 2e-7) == doctest::Approx(100).epsilon(0.02));
    CHECK(runs(limits, 1e-3, 1e-3) == doctest::Approx(10).epsilon(0.11));
    CHECK(runs(limits, 60.0, 1e-3) == 1);
    auto few = limits;
    few.max_iterations = 5;
    CHECK(runs(few, 1e-6, 1e-6) == 5);
}

TEST_CASE("the_start_of_the_timed_part_is_told_between_warm_up_and_first_batch") {
    std::int64_t done = 0;
    std::int64_t done_at_start = -1;
    const timing result = time_batches(
        {.warmup_seconds = 0.0, .min_seconds = 100.0, .max_iterations = 5},
        [&](std::int64_t count) { done += count; }, [&] { return static_cast<double>(done); },
        [&] { done_at_start = done; });
    CHECK(done_at_start == result.warmup_iterations);
    CHECK(done == result.warmup_iterations + 5);
}

TEST_CASE("pinning_for_now_gives_the_old_mask_back") {
    const std::vector<int> before = cpus_now();
    {
        const pinned_for_now pinned{std::span{before}.first(1)};
        CHECK(cpus_now() == std::vector<int>{before.front()});
    }
    CHECK(cpus_now() == before);
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
    CHECK(mentions(message_of([] { parse_cpus("3-1"); }), "runs backwards"));
    CHECK(mentions(message_of([] { parse_cpus("1,0-2"); }), "CPU 1 is listed twice"));
}

TEST_CASE("workers_on_the_cpus_asked_for_are_complete") {
    CHECK_FALSE(missing_of(asking<options>({0, 1}, 2), {{0, 0, 150}, {1, 1, 150}}));
    CHECK_FALSE(missing_of(asking<options>({5}, 1), {{0, 5, 300}}));
    // More threads than CPUs: which of them got work is the runtime's affair, each CPU must have been used.
    CHECK_FALSE(missing_of(asking<options>({0, 1}, 4), {{0, 0, 150}, {1, 1, 150}}));
}

TEST_CASE("missing_workers_are_named") {
    const auto one = missing_of(asking<options>({0, 1}, 2), {{0, 0, 300}});
    REQUIRE(one);
    CHECK(*one == "2 workers on CPUs 0,1 were asked for, but 1 thread computed rows, on CPU 0");
    // Two threads on one CPU, one thread that wandered over two, and a worker elsewhere.
    CHECK(missing_of(asking<options>({0, 1}, 2), {{0, 0, 150}, {1, 0, 150}}));
    CHECK(missing_of(asking<options>({0, 1}, 2), {{0, 0, 150}, {0, 1, 150}}));
    CHECK(missing_of(asking<options>({0, 1}, 2), {{0, 0, 150}, {1, 1, 100}, {1, 2, 50}}));
    CHECK(missing_of(asking<options>({0, 1}, 4), {{0, 0, 150}, {1, 0, 150}}));
    CHECK(missing_of(asking<options>({0, 1}, 2), {}));
}

TEST_CASE("work_in_fewer_pieces_than_workers_needs_one_worker_a_piece") {
    options asked = asking<options>({0, 1}, 2);
    asked.chunk = 16;
    CHECK(asked.pieces_of(10) == 1);
    CHECK_FALSE(missing_of(asked, {{0, 1, 10}}, 1));
    asked.chunk = 5;
    CHECK(asked.pieces_of(10) == 2);
    CHECK(asked.pieces_of(11) == 3);
    CHECK(missing_of(asked, {{0, 1, 10}}, 2));
}

TEST_CASE("a_roll_call_finds_the_worker_that_comes_late") {
    const options asked = asking<options>({0, 1}, 2);
    // The first worker would take both pieces if it were not held; the second starts only then.
    const auto two_threads = [](work_account& roll) {
        std::atomic<int> pieces{2};
        const auto work = [&](int number) {
            become_worker(number);
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(usize(number), &one);
            sched_setaffinity(0, sizeof one, &one);
            while (pieces.fetch_sub(1) > 0) roll.add(1);
        };
        std::thread first{work, 0};
        while (pieces.load() == 2) std::this_thread::yield();
        std::thread second{work, 1};
        first.join();
        second.join();
    };
    std::vector<worker_share> seen;
    call_roll(asked, 2, seen, two_threads);
    CHECK_FALSE(missing_of(asked, seen, 2));
    CHECK(seen.front().amount == 0);
    int calls = 0;
    const auto alone = [&calls](work_account& roll) {
        ++calls;
        std::thread{[&roll] {
            become_worker(0);
            roll.add(1);
            roll.add(1);
        }}.join();
    };
    seen.clear();
    call_roll(asked, 2, seen, alone);
    CHECK(missing_of(asked, seen, 2));
    CHECK(calls == 1);  // which lasted as long as the patience
    seen = {{0, 0, 1}};
    call_roll(asking<options>({0}, 1), 1, seen, alone);
    CHECK(calls == 1);  // nobody was missing
}

TEST_CASE("work_and_its_ticks_are_counted_by_thread_and_cpu") {
    work_account account;
    CHECK(account.workers().empty());
    account.add(3, 20);
    account.add(4, 30);
    std::int64_t amount = 0;
    std::int64_t ticks = 0;
    for (const auto& worker : account.workers()) {
        CHECK(worker.thread == this_worker());
        amount += worker.amount;
        ticks += worker.ticks;
    }
    CHECK(amount == 7);
    CHECK(ticks == 50);
}

TEST_CASE("threads_made_anew_keep_the_number_that_they_are_given") {
    work_account account;
    const auto work_as = [&](int number) {
        std::thread{[&account, number] {
            become_worker(number);
            account.add(1);
        }}.join();
    };
    for (const int number : {7, 5, 7}) work_as(number);
    CHECK(threads_of(account.workers()) == std::set<int>{5, 7});
}

TEST_CASE("a_worker_whose_number_is_too_large_is_not_counted") {
    work_account account;
    std::thread{[&account] {
        become_worker(max_workers);
        account.add(1);
    }}.join();
    CHECK(account.workers().empty());
}
