#include <doctest/doctest.h>
#include <sched.h>

#include <cmath>
#include <string>
#include <system_error>
#include <tauto/error.hpp>
#include <utility>

#include "emulator/calibration.hpp"
#include "emulator/request.hpp"
#include "emulator/thief.hpp"
#include "emulator/watch.hpp"
#include "emulator/witness.hpp"
#include "tests/cpp/refusals.hpp"

using namespace tauto::emulate;
using tauto::testing::mentions;

namespace {

// Empty: it was accepted.
std::string refusal_of(const std::string& text) {
    return tauto::testing::message_of<tauto::error>([&] { parse_slow(text); });
}

// A second of a thief that keeps to factor 4 in turns of 50 µs, with 11 500 ns lost in each.
thief_tally one_second() {
    thief_tally tally;
    tally.turns = 20'000;
    tally.wall = 1'000'000'000;
    tally.gaps = 20'000 * 24'000;
    tally.processor = 20'000 * 26'000;
    return tally;
}

calibration calibrated() {
    calibration start;
    start.factor = 4.0;
    start.overhead_nanoseconds = 11'500.0;
    start.turn_nanoseconds = 50'000.0;
    start.period = 50'000;
    start.met = true;
    return start;
}

}  // namespace

TEST_CASE("slow_text_gives_cpus_factors_and_windows_in_order") {
    const auto asked = parse_slow("1:4,3:2.5@8-9.5@3-6");
    REQUIRE(asked.size() == 2);
    CHECK(asked[0].cpu == 1);
    CHECK(asked[0].factor == 4.0);
    CHECK(asked[0].windows.empty());
    CHECK(asked[1].cpu == 3);
    CHECK(asked[1].factor == 2.5);
    REQUIRE(asked[1].windows.size() == 2);
    CHECK(asked[1].windows[0].on_seconds == 3.0);
    CHECK(asked[1].windows[1].off_seconds == 9.5);
}

TEST_CASE("slow_text_is_refused_with_what_was_found") {
    CHECK(mentions(refusal_of("1:0"), "factor 0"));
    CHECK(mentions(refusal_of("1:0.99"), "only be made slower"));
    CHECK(mentions(refusal_of("1:-2"), "only be made slower"));
    CHECK(mentions(refusal_of("1:33"), "limit is 32"));
    CHECK(mentions(refusal_of("1:nan"), "not a number"));
    CHECK(mentions(refusal_of("1:inf"), "not a number"));
    CHECK(mentions(refusal_of("1:4x"), "not a number"));
    CHECK(mentions(refusal_of("1:4,1:2"), "listed twice"));
    CHECK(mentions(refusal_of("1:4@3"), "time window"));
    CHECK(mentions(refusal_of("1:4@6-3"), "time window"));
    CHECK(mentions(refusal_of("1:4@1-3@2-5"), "overlap"));
    for (const char* text : {"", "1", "1:4,", "-1:4"}) CHECK(mentions(refusal_of(text), "cannot read"));
    for (const char* text : {"1:", ":4", "a:4", "1:2:3", "1 :4", "99999999999:2"}) {
        CAPTURE(text);
        CHECK_FALSE(refusal_of(text).empty());
    }
    CHECK(refusal_of("1:1,2:32").empty());
}

TEST_CASE("cpus_that_are_missing_or_not_allowed_are_refused_by_name") {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    for (const unsigned cpu : {0U, 1U, 2U, 5U}) CPU_SET(cpu, &allowed);
    CHECK(cpu_list(allowed) == "0-2,5");
    CHECK_NOTHROW(check_cpus(parse_slow("5:2"), allowed, 8));
    CHECK_THROWS_WITH_AS(check_cpus(parse_slow("8:2"), allowed, 8),
                         "CPU 8 does not exist; this machine has 8 CPUs, choose from 0-2,5", tauto::error);
    CHECK_THROWS_AS(check_cpus(parse_slow("3:2"), allowed, 8), tauto::error);
    CHECK_THROWS_AS(check_cpus(parse_slow("100000:2"), allowed, 200000), tauto::error);
}

TEST_CASE("variable_names_every_slow_cpu_and_refuses_one_that_is_slow_already") {
    CHECK(emulated_variable(parse_slow("1:4,3:2.5@1-2"), "") == "1:4,3:2.5");
    CHECK(emulated_variable(parse_slow("1:4"), "11:2") == "11:2,1:4");
    CHECK_THROWS_AS(emulated_variable(parse_slow("1:4"), "0:2,1:2"), tauto::error);
}

TEST_CASE("probe_and_books_give_the_overhead_of_a_turn") {
    // In a second the probe did 1/4 of its work, so 250 of 480 ms of gaps came through: 11.5 µs lost a turn.
    const sample seen = judge(one_second(), 1e6, 0.25e6);
    CHECK(seen.factor == doctest::Approx(4.0));
    CHECK(seen.overhead_nanoseconds == doctest::Approx(11'500.0));
    CHECK(seen.turn_nanoseconds == doctest::Approx(50'000.0));
    CHECK(seen.busy_fraction == doctest::Approx(0.52));
}

TEST_CASE("large_factors_get_longer_turns_and_none_is_longer_than_100_microseconds") {
    CHECK(periods_to_try(2.0, 0).front() == 50'000);
    CHECK(periods_to_try(4.0, 0).front() == 50'000);
    CHECK(periods_to_try(8.0, 0).front() == 100'000);
    for (const double factor : {1.5, 4.0, 6.0, 32.0}) CHECK(periods_to_try(factor, 0).back() == 100'000);
    CHECK(periods_to_try(8.0, 64'000) == std::vector<nanoseconds>{64'000});
}

TEST_CASE("watch_believes_the_calibration_while_nobody_looked") {
    factor_watch watch(calibrated(), 4.0);
    CHECK_FALSE(watch.measured());
    watch.count(one_second());
    CHECK(watch.factor() == doctest::Approx(4.0));
    CHECK(watch.busy_fraction() == doctest::Approx(0.52));
}

TEST_CASE("watch_keeps_the_overhead_while_others_get_their_share") {
    factor_watch watch(calibrated(), 4.0);
    CHECK(watch.look(0.25) == doctest::Approx(11'500.0));
    watch.count(one_second());
    CHECK(watch.factor() == doctest::Approx(4.0));
}

TEST_CASE("watch_gives_half_of_what_a_turn_has_become_dearer_at_each_look") {
    factor_watch watch(calibrated(), 4.0);
    double overhead = watch.look(0.21);  // 2 µs less of a turn
    CHECK(overhead == doctest::Approx(12'500.0));
    watch.count(one_second());
    CHECK(watch.factor() == doctest::Approx(50'000.0 / (24'000.0 - 13'500.0)));
    for (int look = 0; look < 20; ++look) overhead = watch.look(0.25 - (13'500.0 - overhead) / 50'000.0);
    CHECK(overhead == doctest::Approx(13'500.0));
    for (int look = 0; look < 100; ++look)
        overhead = watch.look(1.0);  // nothing is taken: as cheap as can be
    CHECK(overhead == doctest::Approx(0.0).epsilon(1e-9));
}

TEST_CASE("watch_takes_off_what_a_witness_gets_more_than_a_program") {
    calibration start = calibrated();
    start.witness_excess = 500.0;
    factor_watch watch(start, 4.0);
    CHECK(watch.look(0.26) == doctest::Approx(11'500.0));
}

TEST_CASE("watch_adds_up_over_restarts_of_the_thief") {
    factor_watch watch(calibrated(), 4.0);
    watch.count(one_second());
    thief_tally again = one_second();
    again.gaps = 20'000 * 36'500;  // factor 2 in the second half
    watch.restart();
    watch.count(again);
    CHECK(watch.factor() == doctest::Approx(2.0 / (0.25 + 0.5)));
}

TEST_CASE("witness_sees_the_share_that_a_thief_leaves") {
    // Turns of 50 µs with 12.5 µs free, read every 25 ns, and a timer of 4 µs within one.
    nanoseconds now = 7'000;
    bool ticked = false;
    const auto clock = [&] {
        now += 25;
        if (now > 155'000 && !std::exchange(ticked, true)) now += 4'000;
        if (now % 50'000 >= 12'500) now += 50'000 - now % 50'000;
        return now;
    };
    const auto share = share_left({50'000, 0.25, 10}, clock);
    REQUIRE(share);
    CHECK(*share == doctest::Approx(0.25 - 4.0 / 500.0).epsilon(0.01));
    CHECK(now % 50'000 == 0);  // whole turns
}

TEST_CASE("witness_believes_no_turns_of_which_the_host_took_some") {
    nanoseconds now = 7'000;
    bool taken = false;
    CHECK_FALSE(share_left({50'000, 0.25, 10}, [&] {
        now += 25;
        if (now > 155'000 && !std::exchange(taken, true)) now += 200'000;
        if (now % 50'000 >= 12'500) now += 50'000 - now % 50'000;
        return now;
    }));
}

TEST_CASE("witness_waits_no_longer_than_twice_its_turns_for_a_thief") {
    nanoseconds now = 0;
    CHECK_FALSE(share_left({50'000, 0.25, 10}, [&] { return now += 25; }));
    CHECK(now < 1'500'000);
}

TEST_CASE("books_without_a_turn_give_no_factor") {
    CHECK(std::isnan(thief_tally{}.factor(0.0)));
    CHECK(thief_tally{}.busy_fraction() == 0.0);
}

TEST_CASE("thief_works_only_between_start_and_stop_and_says_when") {
    cpu_set_t allowed;
    REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int cpu = CPU_SETSIZE - 1;
    while (!CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) --cpu;
    try {
        thief worker(cpu);
        worker.configure({50'000, 2.0, 10'000.0});
        for (const std::int64_t turns : {1024, 1024, 20 * 1024}) {
            const nanoseconds before = monotonic_now();
            worker.start();
            while (worker.tally().turns < turns) sched_yield();
            worker.stop();
            const thief_tally tally = worker.tally();
            CHECK(tally.started >= before);
            CHECK(tally.stopped > tally.started);
            CHECK(tally.stopped <= monotonic_now());
            // The last turn has its time in the books, but not yet the gap that it earned: a host that takes
            // the CPU away then makes the factor larger, by nothing worth naming after a second.
            CHECK(tally.factor(10'000.0) > 1.9);
            if (turns > 1024) CHECK(tally.factor(10'000.0) < 2.1);
        }
    } catch (const std::system_error& refused) {
        CHECK(refused.code().value() == EPERM);
        MESSAGE("SCHED_FIFO is not permitted here: only the refusal was tested");
    }
}

TEST_CASE("thief_on_a_cpu_that_is_not_there_is_refused") {
    CHECK_THROWS_AS(thief(CPU_SETSIZE - 1), std::system_error);
}
