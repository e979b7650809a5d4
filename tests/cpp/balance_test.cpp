#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "balance/answer.hpp"
#include "balance/code.hpp"
#include "balance/effect.hpp"
#include "balance/holding.hpp"
#include "balance/moves.hpp"
#include "balance/paces.hpp"
#include "balance/page.hpp"
#include "balance/placing.hpp"
#include "balance/preload.hpp"
#include "balance/samples.hpp"
#include "balance/speeds.hpp"
#include "balance/spins.hpp"
#include "balance/team.hpp"
#include "balance/threads.hpp"
#include "balance/unseen.hpp"
#include "balance/watch.hpp"
#include "timer/offspring.hpp"

using namespace tauto::balance;
using places = std::vector<std::size_t>;

namespace {

const std::vector<double> fast_and_slow{1.0, 0.25};

window on_fast_and_slow() {
    window seen;
    seen.seconds = 0.1;
    seen.reachable = 0.125;
    seen.of_fastest = 0.1;
    seen.equal = false;
    seen.possible = {way::moves};
    return seen;
}

// Whether a program ends up balanced, if its windows have these rates and some noise.
effect after_windows(double alone, double balanced, double noise, unsigned seed, int windows) {
    effect judged(seed);
    std::mt19937 chance(seed);
    std::normal_distribution<double> spread(0.0, noise);
    for (int i = 0; i < windows && judged.now() != effect::phase::rests; ++i) {
        window seen = on_fast_and_slow();
        seen.done = judged.next();
        seen.work = 0.1 * (seen.done == way::alone ? alone : balanced) * std::exp(spread(chance));
        judged.add(seen);
    }
    return judged;
}

class child {
  public:
    // A program, and not a fork of this one, in which a sanitizer may start a thread of its own. It ends with
    // what it has started: who left a program behind would keep the test's output open.
    explicit child(const char* line = "exec sleep infinity") {
        std::array<char*, 4> words{const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>(line),
                                   nullptr};
        posix_spawnattr_t own_group;
        posix_spawnattr_init(&own_group);
        posix_spawnattr_setflags(&own_group, POSIX_SPAWN_SETPGROUP);
        const int failed = posix_spawnp(&pid_, words[0], nullptr, &own_group, words.data(), environ);
        posix_spawnattr_destroy(&own_group);
        REQUIRE(failed == 0);
    }
    ~child() {
        kill(-pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = 0;
};

cpu_set_t mask_of(pid_t thread) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    REQUIRE(sched_getaffinity(thread, sizeof mask, &mask) == 0);
    return mask;
}

int first_cpu_of(const cpu_set_t& mask) {
    int cpu = 0;
    while (!CPU_ISSET(static_cast<unsigned>(cpu), &mask)) ++cpu;
    return cpu;
}

cpu_set_t only_first_of(const cpu_set_t& mask) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<unsigned>(first_cpu_of(mask)), &only);
    return only;
}

// Of a mask with two or more.
std::array<cpu_set_t, 2> first_two_of(const cpu_set_t& mask) {
    cpu_set_t rest = mask;
    CPU_CLR(static_cast<unsigned>(first_cpu_of(mask)), &rest);
    return {only_first_of(mask), only_first_of(rest)};
}

}  // namespace

TEST_CASE("one_thread_gets_the_fastest_cpu") {
    CHECK(place(std::vector<worker>{{5.0, 1}}, fast_and_slow, 1e-3) == places{0});
    CHECK(place(std::vector<worker>{{5.0, 0}}, fast_and_slow, 1e-3) == places{0});
}

TEST_CASE("who_has_done_least_gets_the_fastest_cpu_once_the_difference_matters") {
    CHECK(place(std::vector<worker>{{1.0, 0}, {0.9, 1}}, fast_and_slow, 0.2) == places{0, 1});
    CHECK(place(std::vector<worker>{{1.0, 0}, {0.7, 1}}, fast_and_slow, 0.2) == places{1, 0});
    CHECK(place(std::vector<worker>{{0.7, 0}, {1.0, 1}}, fast_and_slow, 0.2) == places{0, 1});
}

TEST_CASE("two_threads_on_one_cpu_are_taken_apart_and_the_one_behind_stays_on_the_faster") {
    CHECK(place(std::vector<worker>{{1.0, 0}, {0.5, 0}}, fast_and_slow, 0.2) == places{1, 0});
    CHECK(place(std::vector<worker>{{1.0, 1}, {0.5, 1}}, fast_and_slow, 0.2) == places{1, 0});
}

TEST_CASE("more_threads_than_cpus_sit_where_each_gets_most") {
    const std::vector<worker> workers{{0.4, 0}, {0.3, 0}, {0.2, 1}, {0.1, 1}};
    const places found = place(workers, fast_and_slow, 10.0);
    CHECK(std::ranges::count(found, 0U) == 3);
    CHECK(std::ranges::count(found, 1U) == 1);
}

TEST_CASE("equal_cpus_are_not_exchanged_and_pinned_threads_stay") {
    const std::vector<double> equal{1.0, 0.97};
    CHECK(place(std::vector<worker>{{9.0, 0}, {0.0, 1}}, equal, 1e-3) == places{0, 1});
    CHECK(place(std::vector<worker>{{9.0, 0, true}, {0.0, 1}}, fast_and_slow, 1e-3) == places{0, 1});
}

// A simulation of the rule: threads of equal shares must arrive together.
TEST_CASE("threads_of_equal_shares_arrive_within_a_twentieth_of_the_bound") {
    for (const double slow : {0.125, 0.25, 0.5, 0.67}) {
        const std::vector<double> speeds{1.0, slow};
        constexpr double share = 0.012;
        constexpr double step = 1e-4;
        std::vector<worker> workers{{0.0, 0}, {0.0, 1}};
        double time = 0;
        while (std::ranges::any_of(workers, [](const worker& one) { return one.done < share; })) {
            std::vector<worker> left;
            for (const worker& one : workers)
                if (one.done < share) left.push_back(one);
            const places found = place(left, speeds, tolerance_for(share, 1.0, slow));
            std::size_t next = 0;
            for (worker& one : workers)
                if (one.done < share) {
                    one.cpu = found[next++];
                    one.done += step * speeds[one.cpu];
                }
            time += step;
        }
        CAPTURE(slow);
        CHECK(time < 1.05 * 2 * share / (1.0 + slow));
    }
}

TEST_CASE("evidence_for_a_fair_coin_seldom_grows") {
    std::mt19937 chance(7);
    int wrong = 0;
    for (int program = 0; program < 2000; ++program) {
        evidence found;
        bool once = false;
        for (int i = 0; i < 200; ++i) {
            found.add((chance() & 1U) != 0);
            once = once || found.value() >= 20;
        }
        wrong += once ? 1 : 0;
    }
    CHECK(wrong <= 2000 / 20);
}

TEST_CASE("balancing_is_kept_where_it_helps") {
    int outside = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
        const effect judged = after_windows(0.7, 1.0, 0.05, seed, 200);
        CHECK(judged.now() == effect::phase::keeps);
        CHECK(judged.ever_kept());
        outside += judged.ratio().low > 0.7 || judged.ratio().high < 0.7 ? 1 : 0;
        CHECK(judged.pairs() >= 6);
    }
    CHECK(outside <= 4);  // an interval of 95 %
}

TEST_CASE("balancing_is_let_go_where_it_does_not_help") {
    int kept = 0;
    for (unsigned seed = 0; seed < 200; ++seed)
        kept += after_windows(0.9, 0.9, 0.05, seed, 400).ever_kept() ? 1 : 0;
    CHECK(kept <= 10);  // 1 in 20
    for (unsigned seed = 0; seed < 20; ++seed)
        CHECK(after_windows(0.9, 0.8, 0.02, seed, 400).now() == effect::phase::rests);
}

TEST_CASE("what_cannot_gain_is_not_even_tried") {
    effect judged(1);
    window seen = on_fast_and_slow();
    seen.work = 0.124;
    judged.add(seen);
    CHECK(judged.now() == effect::phase::rests);
    CHECK(judged.pairs() == 0);
    CHECK(judged.reason().find("by themselves") != std::string::npos);
    for (const bool counted : {true, false}) {  // what CPU time shows is believed from 15 % on
        effect nearly(1);
        seen.counted = counted;
        seen.work = 0.11;
        nearly.add(seen);
        CHECK((nearly.now() == effect::phase::looks) == counted);
    }
    effect less(1);
    seen.work = 0.1;
    less.add(seen);
    CHECK(less.now() == effect::phase::looks);
    effect equal(1);
    seen.work = 0.01;
    seen.equal = true;
    equal.add(seen);
    CHECK(equal.now() == effect::phase::rests);
}

TEST_CASE("what_seemed_to_help_at_first_and_does_not_is_let_go") {
    int kept = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
        effect judged(seed);
        std::mt19937 chance(seed);
        std::normal_distribution<double> spread(0.0, 0.05);
        for (int i = 0; i < 2000 && judged.now() != effect::phase::rests; ++i) {
            window seen = on_fast_and_slow();
            seen.done = judged.next();
            seen.work = i == 0 ? 0.05 : 0.09 * std::exp(spread(chance));
            judged.add(seen);
        }
        CHECK((judged.now() == effect::phase::rests || judged.ever_kept()));
        kept += judged.ever_kept() ? 1 : 0;
    }
    CHECK(kept <= 3);  // 1 in 20: more than that comes with a chance of 1.6 %
}

// What is done in the next window if those before had these rates.
way after(effect& judged, std::initializer_list<double> rates, bool counted = false,
          const std::vector<way>& possible = {way::seats, way::moves, way::fastest}) {
    for (const double rate : rates) {
        window seen = on_fast_and_slow();
        seen.possible = possible;
        seen.counted = counted;
        seen.done = judged.next();
        seen.work = rate * seen.seconds;
        judged.add(seen);
    }
    return judged.next();
}

TEST_CASE("a_small_gain_goes_on_at_once_only_where_work_is_counted") {
    for (const bool counted : {false, true}) {
        effect judged(1);
        after(judged, {0.5, 0.53, 0.53, 0.53}, counted);
        CHECK(judged.now() == (counted ? effect::phase::keeps : effect::phase::tries));
    }
}

TEST_CASE("what_is_estimated_is_believed_from_a_smaller_gain_on_where_waits_say_the_same") {
    for (const bool agreed : {false, true}) {
        effect judged(1);
        for (int windows = 0; windows < 60; ++windows) {
            window seen = on_fast_and_slow();
            seen.counted = false;
            seen.agreed = agreed;
            seen.possible = {way::seats};
            seen.done = judged.next();
            seen.work = (seen.done == way::alone ? 0.5 : 0.55) * seen.reachable;
            judged.add(seen);
        }
        CAPTURE(agreed);
        CHECK(judged.ever_kept() == agreed);
        CHECK(judged.is_estimated());
        CHECK((judged.now() == effect::phase::keeps) == agreed);
    }
}

TEST_CASE("a_clear_gain_goes_on_at_once") {
    effect judged(1);
    CHECK(after(judged, {0.5, 1.23}) == way::seats);
    CHECK(judged.now() == effect::phase::keeps);
    CHECK_FALSE(judged.ever_kept());
}

TEST_CASE("the_best_way_is_taken_and_what_promises_less_is_not_looked_at") {
    effect good(1);
    CHECK(after(good, {0.5, 0.6, 1.1}) == way::moves);
    CHECK(good.now() == effect::phase::keeps);
    effect poor(1);
    CHECK(after(poor, {0.5, 0.6, 0.7}) == way::fastest);
    CHECK(poor.now() == effect::phase::looks);
    CHECK(after(poor, {0.99}) == way::fastest);
    CHECK(poor.now() == effect::phase::keeps);
}

TEST_CASE("a_way_that_makes_it_worse_is_left_after_one_window_where_nothing_is_learned") {
    for (const bool counted : {false, true}) {
        effect judged(1);
        const way next = after(judged, {0.5, 0.4}, counted, {way::seats, way::seats, way::moves});
        CHECK(next == (counted ? way::seats : way::moves));
    }
}

TEST_CASE("a_rival_costs_one_window_or_none_where_it_is_clearly_worse") {
    for (const double moved : {0.9, 1.05}) {  // the fastest CPUs alone do 1 at most
        effect judged(1);
        int windows = 0;
        for (int k = 0; k < 400; ++k) {
            const way now = judged.next();
            const way next =
                after(judged, {now == way::moves ? moved : 0.5}, false, {way::moves, way::fastest});
            if (now != way::fastest) continue;
            if (k > 3) ++windows;
            CHECK(next != way::fastest);
        }
        CAPTURE(moved);
        CHECK(judged.now() == effect::phase::keeps);
        CHECK(windows == 0);
    }
    effect judged(1);
    int windows = 0;
    for (int k = 0; k < 400; ++k) {
        const way now = judged.next();
        const double seated = k > 3 ? 0.6 : 0.95;  // it promised something at first
        const double rate = now == way::moves ? 1.1 : now == way::seats ? seated : 0.5;
        after(judged, {rate}, false, {way::seats, way::moves});
        if (k > 3 && now == way::seats) ++windows;
    }
    CHECK(judged.now() == effect::phase::keeps);
    CHECK(windows == 1);
}

TEST_CASE("another_way_is_looked_for_when_the_rate_falls") {
    effect judged(1);
    CHECK(after(judged, {0.5, 1.23}) == way::seats);
    for (int k = 0; k < 200 && judged.now() == effect::phase::keeps; ++k)
        after(judged, {judged.next() == way::alone ? 0.5 : 0.7});
    CHECK(judged.now() == effect::phase::looks);
    CHECK(judged.next() == way::moves);
}

TEST_CASE("windows_left_alone_cost_a_small_part_of_the_time") {
    for (const double alone : {0.3, 0.6, 0.9}) {
        effect judged(1);
        double left_alone = 0;
        double all = 0;
        after(judged, {alone, 1.23});
        while (all < 60) {
            const bool is_alone = judged.next() == way::alone;
            after(judged, {is_alone ? alone : 1.23});
            left_alone += is_alone ? on_fast_and_slow().seconds : 0;
            all += on_fast_and_slow().seconds;
        }
        CAPTURE(alone);
        CHECK(judged.now() == effect::phase::keeps);
        CHECK(left_alone > 0);
        CHECK(left_alone * (1 - alone / 1.23) < 0.02 * all);
    }
}

TEST_CASE("who_begins_seated_is_compared_with_linux_and_looks_for_better_ways") {
    effect judged(1, true);
    CHECK(judged.next() == way::seats);
    int windows = 0;
    while (judged.now() == effect::phase::keeps && ++windows < 10)
        after(judged, {judged.next() == way::alone ? 0.5 : 0.8});
    CHECK(judged.pairs() == 1);
    CHECK(judged.next() == way::moves);
    CHECK(after(judged, {0.7}) == way::fastest);
    CHECK(after(judged, {0.6}) == way::seats);
    CHECK(judged.now() == effect::phase::keeps);
}

TEST_CASE("what_is_kept_is_left_and_looked_for_anew_when_cpus_have_changed") {
    effect judged(1);
    while (judged.now() != effect::phase::keeps) after(judged, {judged.next() == way::alone ? 0.5 : 0.8});
    judged.start_over();
    CHECK(judged.now() == effect::phase::watches);
    CHECK(judged.next() == way::alone);
    const way first = after(judged, {0.5});
    CHECK(first != way::alone);  // none of the rates of before counts
    CHECK(judged.now() == effect::phase::looks);
    while (judged.now() == effect::phase::looks) after(judged, {0.4});
    CHECK(judged.now() != effect::phase::keeps);
}

TEST_CASE("a_way_that_becomes_possible_later_is_looked_at") {
    for (const double moved : {0.52, 1.0}) {  // compared with Linux, and kept
        effect judged(1);
        const auto next = [&](double rate, std::vector<way> possible) {
            window seen = on_fast_and_slow();
            seen.possible = std::move(possible);
            seen.done = judged.next();
            seen.work = rate * seen.seconds;
            judged.add(seen);
        };
        next(0.5, {way::moves});
        CHECK(judged.next() == way::moves);
        next(moved, {way::moves});
        CHECK(judged.now() == (moved < 1 ? effect::phase::tries : effect::phase::keeps));
        next(judged.next() == way::alone ? 0.5 : moved, {way::seats, way::moves});
        CAPTURE(moved);
        CHECK(judged.now() == effect::phase::looks);
        CHECK(judged.next() == way::seats);
        next(1.2, {way::seats, way::moves});
        CHECK(judged.next() == way::seats);
        CHECK(judged.now() == effect::phase::keeps);
    }
}

TEST_CASE("waits_that_nobody_tells_of_are_believed_only_where_a_way_has_threads_wait_less") {
    for (const double still : {0.3, 0.9}) {
        effect judged(1);
        int moved = 0;
        for (int windows = 0; windows < 200; ++windows) {
            window seen = on_fast_and_slow();
            seen.possible = {way::moves};
            seen.done = judged.next();
            const bool alone = seen.done == way::alone;
            moved += alone ? 0 : 1;
            seen.work = (alone ? 0.4 : 0.8) * seen.reachable;
            seen.spun = (alone ? 1 : still) * 0.4;
            judged.add(seen);
        }
        CAPTURE(still);
        CHECK(judged.ever_kept() == (still < 0.5));
        if (still < 0.5)
            CHECK(moved > 180);
        else
            CHECK(moved < 100);
        CHECK(judged.spun_alone() == doctest::Approx(0.4));
    }
}

namespace {

// So many samples of each CPU at this address and, shared by ten others, elsewhere.
void see(spins& waits, std::uint64_t at, std::array<int, 2> here, std::array<int, 2> elsewhere) {
    for (const std::size_t cpu : {0U, 1U}) {
        for (int k = 0; k < here[cpu]; ++k) waits.add({1, 2, at}, cpu);
        for (int k = 0; k < elsewhere[cpu]; ++k) waits.add({1, 2, 900U + static_cast<unsigned>(k % 10)}, cpu);
    }
}

}  // namespace

TEST_CASE("code_where_threads_are_on_fast_cpus_alone_and_less_when_they_are_moved_is_a_wait") {
    spins waits;
    see(waits, 0x4010, {300, 0}, {200, 120});
    CHECK(waits.suspect(fast_and_slow));
    CHECK_FALSE(waits.any_known());
    see(waits, 0x4010, {30, 10}, {270, 50});
    CHECK(waits.confirm() == std::vector<double>{300.0 / 620});
    CHECK(waits.are_at({1, 2, 0x4010}));
    CHECK_FALSE(waits.are_at({1, 2, 0x4011}));
    CHECK_FALSE(waits.are_at({1, 2, 900}));
    CHECK_FALSE(waits.are_at({2, 2, 0x4010}));  // another program
    CHECK_FALSE(waits.are_at({1, 3, 0x4010}));  // another library
    waits.forget();
    CHECK_FALSE(waits.any_known());
}

TEST_CASE("a_part_that_only_one_thread_has_is_no_wait") {
    spins waits;
    see(waits, 0x4010, {300, 0}, {0, 120});
    CHECK(waits.suspect(fast_and_slow));
    see(waits, 0x4010, {150, 40}, {100, 40});
    CHECK(waits.confirm().empty());
    CHECK_FALSE(waits.any_known());
    CHECK(waits.confirm().empty());
}

TEST_CASE("code_where_threads_are_on_all_cpus_is_work") {
    spins waits;
    see(waits, 0x4010, {300, 75}, {200, 50});
    CHECK(waits.is_clear(fast_and_slow));
    CHECK_FALSE(waits.suspect(fast_and_slow));
    CHECK(waits.could_tell());
    see(waits, 0x4010, {60, 0}, {440, 200});  // too seldom to matter
    CHECK_FALSE(waits.suspect(fast_and_slow));
    see(waits, 0x4010, {300, 0}, {200, 120});  // neither is slow
    CHECK_FALSE(waits.suspect(std::array<double, 2>{1.0, 1.0}));
    CHECK_FALSE(waits.suspect({}));
}

TEST_CASE("samples_are_gathered_until_they_tell") {
    spins waits;
    see(waits, 0x4010, {300, 0}, {200, 60});
    CHECK_FALSE(waits.is_clear(fast_and_slow));
    CHECK_FALSE(waits.suspect(fast_and_slow));
    CHECK_FALSE(waits.could_tell());
    see(waits, 0x4010, {300, 0}, {200, 60});
    CHECK_FALSE(waits.is_clear(fast_and_slow));
    CHECK(waits.suspect(fast_and_slow));
    CHECK(waits.could_tell());
    see(waits, 0x4010, {3, 0}, {20, 3});
    CHECK(waits.confirm().empty());  // too few
}

TEST_CASE("ways_are_looked_at_when_others_are_on_a_cpu_for_two_windows") {
    effect all(1);
    window seen = on_fast_and_slow();
    seen.by_itself = false;
    all.add(seen);
    CHECK(all.now() == effect::phase::watches);
    seen.equal = true;
    all.add(seen);
    CHECK(all.now() == effect::phase::rests);
    all.add({});
    seen.equal = false;
    all.add(seen);
    CHECK(all.now() == effect::phase::watches);
    all.add(seen);
    CHECK(all.now() == effect::phase::looks);
}

TEST_CASE("samples_of_a_time_when_all_were_on_the_fast_cpus_are_not_counted") {
    spins waits;
    see(waits, 0x4010, {2, 0}, {1000, 2});
    CHECK_FALSE(waits.is_clear(fast_and_slow));
    CHECK_FALSE(waits.suspect(fast_and_slow));
    CHECK_FALSE(waits.could_tell());
    see(waits, 0x4010, {300, 0}, {200, 120});
    CHECK(waits.suspect(fast_and_slow));
}

TEST_CASE("an_address_is_told_by_its_file_and_the_place_in_it") {
    const auto here = code::parts(
        "5560-5580 r--p 00000000 08:01 77  /usr/bin/solver\n"
        "5580-6580 r-xp 00000200 08:01 77  /usr/bin/solver\n"
        "7000-8000 r-xp 00000000 08:01 78  /lib/lib of mine.so\n"
        "9000-9800 r-xp 00000000 00:00 0  [vdso]\n");
    REQUIRE(here.size() == 2);
    CHECK(here[0].begin == 0x5580);
    CHECK(here[0].end == 0x6580);
    CHECK(here[0].offset == 0x200);
    CHECK(here[0].file != here[1].file);
    const auto there = code::parts("aa580-ab580 r-xp 00000200 08:01 77 /usr/bin/solver");
    REQUIRE(there.size() == 1);
    CHECK(there[0].file == here[0].file);
    CHECK(code::parts("").empty());
    CHECK(code::parts("\n\nno such line\n").empty());

    code known;
    const auto address = reinterpret_cast<std::uint64_t>(&place);
    const code_place own = known.of(getpid(), address);
    CHECK(own == known.of(getpid(), address));
    CHECK(own.file != known.of(getpid(), reinterpret_cast<std::uint64_t>(&::getpid)).file);
    CHECK(known.of(getpid(), 64).program == own.program);
    CHECK(known.of(-1, address) != own);
}

TEST_CASE("a_sampled_thread_is_seen_where_it_runs") {
    std::atomic<bool> ends{false};
    std::atomic<pid_t> thread{0};
    std::thread busy([&] {
        thread = gettid();
        while (!ends.load(std::memory_order_relaxed))
            for (int k = 0; k < 10'000'000; ++k) asm volatile("");
    });
    while (thread == 0) std::this_thread::yield();
    const auto watched = sample_thread(thread, tauto::timer::millisecond);
    if (watched == nullptr) {
        MESSAGE("perf_event_open is not allowed here");
    } else {
        std::vector<sample> seen;
        while (seen.size() < 20) {
            watched->read(seen);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        std::map<std::uint64_t, int> pages;
        for (const sample& one : seen) ++pages[one.address / 4096];
        CHECK(pages.size() <= 2);
        CHECK(std::ranges::is_sorted(seen, {}, &sample::at));
        CHECK(seen.back().cpu >= 0);
    }
    ends = true;
    busy.join();
}

namespace {

std::atomic<int> waits_of_four{0};  // of four turns of the first thread, so many spin
std::atomic<bool> they_end{false};

// Two loops far apart in memory. Each turns for about half a millisecond.
[[gnu::noinline, gnu::aligned(4096)]] void work_for_a_while() {
    for (int k = 0; k < 1'000'000; ++k) asm volatile("");
}
[[gnu::noinline, gnu::aligned(4096)]] void spin_for_a_while() {
    for (int k = 0; k < 1'000'000; ++k) asm volatile("" ::: "memory");
}

void work_and_spin(bool spins, std::atomic<pid_t>& thread) {
    thread = gettid();
    for (int turn = 0; !they_end; ++turn)
        if (spins && turn % 4 < waits_of_four)
            spin_for_a_while();
        else
            work_for_a_while();
}

}  // namespace

TEST_CASE("a_thread_that_spins_on_a_fast_cpu_is_found_by_its_code_and_its_spinning_is_no_work") {
    cpu_set_t given;
    sched_getaffinity(0, sizeof given, &given);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &given)) cpus.push_back(cpu);
    if (cpus.size() < 2) return;
    // What is said of the CPUs: how fast they really are does not matter.
    const speeds unequal({{cpus[0], 1.0, 1.0}, {cpus[1], 0.25, 1.0}});
    unseen_waits unseen(unequal);
    waits_of_four = 3;
    they_end = false;
    std::array<std::atomic<pid_t>, 2> threads{};
    std::vector<std::thread> running;
    for (const std::size_t k : {0U, 1U}) {
        running.emplace_back([&threads, k] { work_and_spin(k == 0, threads[k]); });
        while (threads[k] == 0) std::this_thread::yield();
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(cpus[k], &own);
        sched_setaffinity(threads[k], sizeof own, &own);
    }
    unseen.watch(true);
    for (const auto& thread : threads) unseen.add(thread);
    const auto read_until = [&](auto&& is_enough) {
        unseen_waits::waits last;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            last = unseen.read(getpid(), threads[0]);
            static_cast<void>(unseen.read(getpid(), threads[1]));
        } while (!is_enough(last) && std::chrono::steady_clock::now() < end);
        return last;
    };
    if (unseen.was_refused()) {
        MESSAGE("perf_event_open is not allowed here");
    } else {
        read_until([&](const auto&) { return unseen.suspects(); });
        CHECK_FALSE(unseen.any_known());
        waits_of_four = 0;  // as if they were moved in time
        int looks = 0;
        read_until([&](const auto&) { return ++looks > 20; });
        const unseen_waits::waits before = unseen.confirm(tauto::timer::millisecond);
        CHECK(before.time > 0);
        CHECK(before.time < tauto::timer::millisecond);
        CHECK(before.work > 0);
        CHECK(unseen.any_known());
        waits_of_four = 4;
        const unseen_waits::waits now = read_until([](const auto& seen) { return seen.goes_on; });
        CHECK(now.goes_on);
        CHECK(now.time > 0);
        waits_of_four = 0;
        read_until([](const auto& seen) { return seen.time == 0; });
        CHECK(unseen.read(getpid(), threads[1]).time == 0);
    }
    they_end = true;
    for (std::thread& one : running) one.join();
}

TEST_CASE("a_way_that_was_not_chosen_is_tried_again_now_and_then") {
    for (const bool other_is_better : {true, false}) {
        effect judged(1);
        CHECK(after(judged, {0.5, 0.9, 0.8, 0.7}) == way::seats);
        int seated = 0;
        int windows = 0;
        for (; windows < 3000; ++windows) {
            const way now = judged.next();
            seated += now == way::seats ? 1 : 0;
            // By now threads wait for each other where the CPUs are shared.
            const double moved = other_is_better ? 1.1 : 0.8;
            after(judged, {now == way::alone ? 0.5 : now == way::moves ? moved : 0.9});
        }
        CAPTURE(other_is_better);
        CHECK(judged.now() == effect::phase::keeps);
        if (other_is_better)
            CHECK(seated < windows / 2);
        else
            CHECK(seated > 9 * windows / 10);
    }
}

TEST_CASE("what_does_as_much_as_linux_goes_on_only_until_that_is_sure") {
    effect judged(1);
    std::mt19937 chance(1);
    std::normal_distribution<double> spread(0.0, 0.03);
    int windows = 0;
    for (; windows < 5000 && judged.now() != effect::phase::rests; ++windows) {
        window seen = on_fast_and_slow();
        seen.possible = {way::seats};
        seen.done = judged.next();
        seen.counted = true;
        seen.work = 0.1 * 0.8 * std::exp(spread(chance));
        judged.add(seen);
        if (windows == 1) CHECK(judged.now() != effect::phase::rests);
    }
    CHECK(judged.now() == effect::phase::rests);
    CHECK(judged.pairs() >= 4);
}

TEST_CASE("who_begins_near_the_bound_is_compared_late_and_nothing_else_is_looked_at") {
    effect judged(1, true);
    double until_pair = 0;
    double alone = 0;
    double all = 0;
    while (all < 60) {
        window seen = on_fast_and_slow();
        seen.possible = {way::seats, way::moves, way::fastest};
        seen.done = judged.next();
        const bool is_alone = seen.done == way::alone;
        seen.round = 0.03;
        seen.counted = true;
        seen.busy = is_alone ? 0.8 : 0.97;
        seen.work = (is_alone ? 1.0 : 1.21) * seen.seconds;
        judged.add(seen);
        all += seen.seconds;
        alone += is_alone ? seen.seconds : 0;
        if (alone == 0) until_pair += seen.seconds;
        CHECK((seen.done == way::seats || is_alone));
        CHECK(judged.now() == effect::phase::keeps);
    }
    CHECK(until_pair > 1.0);
    CHECK(until_pair < 5.0);
    CHECK(judged.pairs() > 3);
    CHECK(alone < 0.05 * all);
}

TEST_CASE("threads_for_unequal_cpus_are_so_many_that_all_cpus_are_done_at_once") {
    const std::array<double, 2> factor_4{1.0, 0.25};
    CHECK(time_of(2, factor_4) == doctest::Approx(1.0));
    CHECK(time_of(5, factor_4) == doctest::Approx(0.8));
    CHECK(time_of(10, factor_4) == doctest::Approx(0.8));
    const std::array<double, 4> two_kinds{1.0, 1.0, 0.5, 0.5};
    CHECK(time_of(6, two_kinds) == doctest::Approx(1.0 / 3));
    for (const double slow : {0.6, 0.5, 0.4, 0.25, 0.125}) {
        const std::array<double, 2> speeds{1.0, slow};
        const std::size_t threads = threads_for(speeds);
        CAPTURE(slow);
        CHECK(threads > 2);
        CHECK(threads <= 10);
        CHECK(time_of(threads, speeds) < 1.13 / (1 + slow));
    }
    CHECK(threads_for(factor_4) == 6);
    CHECK(threads_for(std::array<double, 2>{1.0, 1.0}) == 2);
    CHECK(threads_for(std::array<double, 2>{1.0, 0.02}) == 2);
    CHECK(threads_for(std::array<double, 1>{1.0}) == 1);
}

TEST_CASE("no_number_of_threads_is_set_for_a_program_without_gccs_openmp") {
    const speeds unequal({{0, 1.0, 1.0}, {1, 0.25, 1.0}});
    unsetenv("OMP_NUM_THREADS");
    CHECK(set_threads("/bin/true", unequal).empty());
    CHECK(set_threads("/no/such/program", unequal).empty());
    CHECK(std::getenv("OMP_NUM_THREADS") == nullptr);
    CHECK(needs_library("/bin/true", "libc.so"));
    CHECK_FALSE(needs_library("/bin/true", "libgomp.so"));
}

TEST_CASE("slow_cpus_are_left_out_where_threads_of_equal_shares_spin_and_that_is_surely_better") {
    CHECK(spinning_threads_for(std::array<double, 2>{1.0, 0.25}) == 1);
    CHECK(spinning_threads_for(std::array<double, 2>{0.4, 1.0}) == 1);
    CHECK(spinning_threads_for(std::array<double, 2>{1.0, 0.45}) == 2);  // not sure
    CHECK(spinning_threads_for(std::array<double, 2>{1.0, 1.0}) == 2);
    CHECK(spinning_threads_for(std::array<double, 4>{1.0, 0.3, 1.0, 0.3}) == 2);
    CHECK(spinning_threads_for(std::array<double, 4>{1.0, 0.6, 1.0, 0.6}) == 4);
    CHECK(spinning_threads_for(std::array<double, 3>{1.0, 0.9, 0.1}) == 2);
    CHECK(spinning_threads_for(std::array<double, 1>{1.0}) == 1);
    CHECK(spinning_threads_for({}) == 0);
}

TEST_CASE("openblas_gets_a_number_of_threads_where_a_cpu_is_slow_by_itself_and_nobody_chose_one") {
    const char* const read_by_it[] = {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"};
    for (const char* name : read_by_it) unsetenv(name);
    const speeds slow({{0, 1.0, 1.0}, {1, 0.25, 1.0}});
    for (const char* name : read_by_it) {
        setenv(name, "2", 1);
        CHECK(set_openblas_threads(slow).empty());
        CHECK(std::getenv(name) == std::string("2"));
        unsetenv(name);
    }
    CHECK(set_openblas_threads(speeds({{0, 1.0, 1.0}, {1, 1.0, 0.25}})).empty());  // a neighbour
    CHECK(set_openblas_threads(speeds({{0, 1.0, 1.0}, {1, 1.0, 1.0}})).empty());
    CHECK(std::getenv("OPENBLAS_NUM_THREADS") == nullptr);
    CHECK(set_openblas_threads(slow) == std::vector<std::string>{"OPENBLAS_NUM_THREADS=1"});
    CHECK(std::getenv("OPENBLAS_NUM_THREADS") == std::string("1"));
    unsetenv("OPENBLAS_NUM_THREADS");
}

TEST_CASE("speeds_follow_what_threads_get_and_forget_it") {
    speeds cpus({{0, 1.0, 1.0}, {1, 1.0, 1.0}});
    CHECK(cpus.all_equal());
    constexpr nanoseconds look = 1'000'000;
    for (int i = 0; i < 300; ++i) cpus.note(1, look, look, look / 4);
    CHECK(cpus.per_second()[1] == doctest::Approx(0.25).epsilon(0.05));
    CHECK(cpus.of_the_fastest(2) == doctest::Approx(1.25).epsilon(0.05));
    CHECK_FALSE(cpus.all_equal());
    for (int i = 0; i < 80'000; ++i) cpus.note(1, look, 0, 0);
    CHECK(cpus.per_second()[1] > 0.95);
}

TEST_CASE("a_cpu_that_became_slow_does_not_seem_fast_because_it_waits_for_a_part_of_each_round") {
    speeds cpus({{0, 1.0, 1.0}, {1, 1.0, 1.0}});
    constexpr nanoseconds look = 1'000'000;
    for (int round = 0; round < 2'000; ++round)
        for (int part = 0; part < 8; ++part) {
            const nanoseconds wanted = part == 0 ? look : 0;
            cpus.note(1, look, wanted, wanted / 4);
        }
    CHECK(cpus.per_second()[1] > 0.24);
    CHECK(cpus.per_second()[1] < 0.29);
    for (int i = 0; i < 100; ++i) cpus.note(1, look, look, look);  // it is fast again, and used
    CHECK(cpus.per_second()[1] > 0.9);
}

TEST_CASE("moved_threads_have_their_own_mask_again") {
    const child sleeper;
    const cpu_set_t before = mask_of(sleeper.pid());
    moves mover;
    std::vector<moves::order> orders{{sleeper.pid(), sleeper.pid(), first_cpu_of(before)}};
    mover.make(orders, before, false);
    CHECK(orders[0].result == moves::outcome::moved);
    const cpu_set_t after = mask_of(sleeper.pid());
    CHECK(CPU_EQUAL(&before, &after));
}

// It moves who starts others all the time, until some were started while its mask was narrow.
TEST_CASE("who_is_started_by_a_thread_that_is_moved_has_the_programs_mask_again") {
    const cpu_set_t given = mask_of(0);
    if (CPU_COUNT(&given) < 2) return;
    const auto has_given = [&](pid_t process) {
        cpu_set_t now;
        return sched_getaffinity(process, sizeof now, &now) != 0 || CPU_EQUAL(&now, &given) != 0;
    };
    for (const bool we_are_killed : {false, true}) {
        const child starter("while :; do sleep 60 & sleep 0.001; done");
        moves mover;
        std::size_t narrow = 0;
        std::vector<pid_t> all;
        for (int rounds = 0; narrow == 0 && rounds < 200; ++rounds) {
            for (int k = 0; k < 20; ++k, usleep(100)) {
                std::vector<moves::order> orders{{starter.pid(), starter.pid(), first_cpu_of(given)}};
                mover.make(orders, given, false);
            }
            all = tauto::timer::family_of(starter.pid());
            narrow = all.size() - static_cast<std::size_t>(std::ranges::count_if(all, has_given));
        }
        REQUIRE(narrow > 0);
        kill(starter.pid(), SIGSTOP);
        usleep(moves::longest_birth / 1000);
        if (we_are_killed)
            mover.put_back_all();
        else
            mover.widen_the_born(tauto::timer::now());
        CHECK(std::ranges::all_of(tauto::timer::family_of(starter.pid()), has_given));
        kill(starter.pid(), SIGCONT);
    }
}

TEST_CASE("a_thread_with_a_slot_is_moved_by_its_word_and_not_while_it_starts_others") {
    const child sleeper;
    const cpu_set_t given = mask_of(sleeper.pid());
    int descriptor = -1;
    page* const shared = make_page(descriptor);
    REQUIRE(shared != nullptr);
    slot* const own = claim_slot(*shared, sleeper.pid());
    moves mover;
    const auto move_it = [&](const cpu_set_t& own_mask) {
        std::vector<moves::order> orders{{sleeper.pid(), sleeper.pid(), first_cpu_of(given), own}};
        mover.make(orders, own_mask, true);
        const cpu_set_t after = mask_of(sleeper.pid());
        CHECK(CPU_EQUAL(&given, &after));
        return orders[0].result;
    };
    CHECK(move_it(given) == moves::outcome::moved);
    CHECK(own->held.read().state == is_own);
    CHECK(mover.put_back_all() == 0);  // nobody can have been born
    CHECK(refuse_hold(own->held, [] {}) == refusal::was_own);
    CHECK(move_it(given) == moves::outcome::gone);
    CHECK(own->held.read().state == stays_own);
    allow_hold(own->held);
    cpu_set_t other = given;
    CPU_SET(CPU_SETSIZE - 1, &other);
    CHECK(move_it(other) == moves::outcome::moved);  // it was pinned: without its word
    CHECK(own->held.read().state == is_own);
    CHECK(mover.put_back_all() > 0);
    munmap(shared, sizeof(page));
    close(descriptor);
}

TEST_CASE("a_held_thread_has_its_own_mask_again_when_it_is_released_or_we_end") {
    const child sleeper;
    const cpu_set_t before = mask_of(sleeper.pid());
    const cpu_set_t only = only_first_of(before);
    moves mover;
    for (const bool released : {true, false}) {
        CHECK(mover.hold(sleeper.pid(), only, before) == moves::outcome::moved);
        CHECK(mover.hold(sleeper.pid(), only, before) == moves::outcome::moved);
        const cpu_set_t held = mask_of(sleeper.pid());
        CHECK(CPU_EQUAL(&held, &only));
        if (released)
            mover.release(sleeper.pid());
        else
            mover.put_back_all();
        const cpu_set_t after = mask_of(sleeper.pid());
        CHECK(CPU_EQUAL(&before, &after));
    }
}

TEST_CASE("gathered_threads_follow_when_other_cpus_have_been_the_fastest_for_some_looks") {
    const cpu_set_t given = mask_of(0);
    if (CPU_COUNT(&given) < 2) return;
    const auto [first, second] = first_two_of(given);
    speeds cpus({{first_cpu_of(first), 1.0, 1.0}, {first_cpu_of(second), 1.0, 0.25}});
    const std::array<child, 2> sleepers;
    int descriptor = -1;
    page* const shared = make_page(descriptor);
    REQUIRE(shared != nullptr);
    std::array<member, 2> threads;
    std::vector<member*> members;
    for (std::size_t i = 0; i < threads.size(); ++i) {
        threads[i].process = threads[i].thread = sleepers[i].pid();
        threads[i].cpu = first_cpu_of(first);
        threads[i].marks = claim_slot(*shared, sleepers[i].pid());
        members.push_back(&threads[i]);
    }
    const auto all_are_on = [&](const cpu_set_t& cpu) {
        return std::ranges::all_of(members, [&](const member* one) {
            const cpu_set_t now = mask_of(one->thread);
            return CPU_EQUAL(&now, &cpu) != 0;
        });
    };
    moves mover;
    holding holds(given, mover, shared);
    CHECK(holds.gather(members, cpus) == 2);
    CHECK(all_are_on(first));
    constexpr nanoseconds look = 1'000'000;
    for (int i = 0; i < 300; ++i) {
        cpus.note(0, look, look, look / 8);
        cpus.note(1, look, look, look);
    }
    int looks = 0;
    for (; looks < 20 && all_are_on(first); ++looks) holds.gather(members, cpus);
    CHECK(looks > 3);
    CHECK(all_are_on(second));
    holds.end();
    CHECK(all_are_on(given));
    munmap(shared, sizeof(page));
    close(descriptor);
}

TEST_CASE("who_takes_parts_of_others_regions_sits_on_the_cpu_that_it_names_and_counts_for_none") {
    const cpu_set_t given = mask_of(0);
    if (CPU_COUNT(&given) < 2) return;
    const auto [first, second] = first_two_of(given);
    speeds cpus({{first_cpu_of(first), 1.0, 1.0}, {first_cpu_of(second), 1.0, 0.25}});
    const child workers("sleep 60 & exec sleep 60");
    int descriptor = -1;
    page* const shared = make_page(descriptor);
    REQUIRE(shared != nullptr);
    std::vector<pid_t> family;
    for (int tries = 0; family.size() < 2 && tries < 5'000; ++tries, usleep(1'000))
        family = tauto::timer::family_of(workers.pid());
    REQUIRE(family.size() == 2);
    const pid_t helping = family[0] == workers.pid() ? family[1] : family[0];
    for (const pid_t one : family) claim_slot(*shared, one)->passed = 2;
    const auto tell = [&](std::uint32_t named) {
        for (std::uint32_t k = 0; k < 2; ++k)
            if (shared->slots[k].thread() == helping) shared->helps_on[k] = named;
    };
    const auto is_on = [](pid_t thread, const cpu_set_t& cpu) {
        const cpu_set_t now = mask_of(thread);
        return CPU_EQUAL(&now, &cpu) != 0;
    };
    team all(workers.pid(), cpus, true, shared);
    all.search();
    all.look();
    CHECK(all.to_seat(true).size() == 2);
    moves mover;
    holding holds(given, mover, shared);
    for (const cpu_set_t& named : {second, first, second}) {
        tell(static_cast<std::uint32_t>(first_cpu_of(named)) + 1);
        all.look();
        const std::vector<team::helper> helpers = all.helpers();
        REQUIRE(helpers.size() == 1);
        CHECK(helpers[0].who->thread == helping);
        const std::vector<member*> seated = all.to_seat(true);
        REQUIRE(seated.size() == 1);
        holds.seat(seated, helpers, cpus);
        CHECK(is_on(helping, named));
        CHECK(is_on(workers.pid(), first));
    }
    tell(100'000);  // no CPU of ours: it is one of the others
    CHECK(all.helpers().empty());
    holds.end();
    for (const pid_t one : family) CHECK(is_on(one, given));
    munmap(shared, sizeof(page));
    close(descriptor);
}

TEST_CASE("a_mask_that_the_program_set_while_it_was_held_stays") {
    const child sleeper;
    const cpu_set_t before = mask_of(sleeper.pid());
    if (CPU_COUNT(&before) < 2) return;
    moves mover;
    REQUIRE(mover.hold(sleeper.pid(), only_first_of(before), before) == moves::outcome::moved);
    cpu_set_t own = before;
    CPU_CLR(static_cast<unsigned>(first_cpu_of(before)), &own);
    REQUIRE(sched_setaffinity(sleeper.pid(), sizeof own, &own) == 0);
    CHECK(mover.hold(sleeper.pid(), only_first_of(before), before) == moves::outcome::pinned);
    mover.release(sleeper.pid());
    const cpu_set_t after = mask_of(sleeper.pid());
    CHECK(CPU_EQUAL(&own, &after));
}

TEST_CASE("a_thread_that_is_on_anothers_cpu_has_its_own_mask_again_when_it_is_released_or_we_end") {
    const child sleeper;
    const cpu_set_t before = mask_of(sleeper.pid());
    if (CPU_COUNT(&before) < 2) return;
    const cpu_set_t first = only_first_of(before);
    cpu_set_t rest = before;
    CPU_CLR(static_cast<unsigned>(first_cpu_of(before)), &rest);
    const cpu_set_t second = only_first_of(rest);
    const auto number = [](const cpu_set_t& of) { return static_cast<std::uint16_t>(first_cpu_of(of) + 1); };
    for (const bool killed : {false, true})        // in the middle of the move
        for (const bool we_end : {false, true}) {  // so that the guard does it
            slot marks{};
            marks.owner = static_cast<std::uint32_t>(sleeper.pid());
            REQUIRE(begin_hold(marks.held));
            moves mover;
            REQUIRE(mover.hold(sleeper.pid(), first, before, &marks, number(first)) == moves::outcome::moved);
            REQUIRE(end_hold(marks.held));
            const auto moving = begin_move(marks.held, marks.held.read(), number(second), 1,
                                           [](std::uint16_t) { return false; });
            REQUIRE(moving);
            REQUIRE(sched_setaffinity(sleeper.pid(), sizeof second, &second) == 0);
            if (!killed) REQUIRE(end_move(marks.held, *moving, is_guest));
            if (we_end)
                CHECK(mover.put_back_all() > 1);
            else
                mover.release(sleeper.pid());
            const cpu_set_t after = mask_of(sleeper.pid());
            CHECK(CPU_EQUAL(&before, &after));
            CHECK(marks.held.read().state == is_own);
        }
}

TEST_CASE("a_guard_looks_again_only_where_it_finds_a_narrow_mask") {
    const child sleeper;
    const cpu_set_t before = mask_of(sleeper.pid());
    moves mover;
    CHECK(mover.put_back_all() == 0);
    REQUIRE(mover.hold(sleeper.pid(), only_first_of(before), before) == moves::outcome::moved);
    CHECK(mover.put_back_all() > 1);
}

TEST_CASE("threads_that_the_program_pinned_are_left_alone") {
    const child sleeper;
    const cpu_set_t given = mask_of(0);
    if (CPU_COUNT(&given) < 2) return;
    const cpu_set_t only = only_first_of(given);
    REQUIRE(sched_setaffinity(sleeper.pid(), sizeof only, &only) == 0);
    moves mover;
    std::vector<moves::order> orders{{sleeper.pid(), sleeper.pid(), first_cpu_of(given)}};
    mover.make(orders, given, false);
    CHECK(orders[0].result == moves::outcome::pinned);
    const cpu_set_t after = mask_of(sleeper.pid());
    CHECK(CPU_EQUAL(&only, &after));
}

TEST_CASE("a_thread_that_has_ended_is_gone") {
    pid_t gone = 0;
    {
        const child sleeper;
        gone = sleeper.pid();
    }
    moves mover;
    std::vector<moves::order> orders{{gone, gone, 0}};
    mover.make(orders, mask_of(0), false);
    CHECK(orders[0].result == moves::outcome::gone);
    CHECK_FALSE(state_of(gone, gone).has_value());
}

TEST_CASE("a_search_frees_the_slots_of_threads_that_ended_with_their_process") {
    pid_t gone = 0;
    {
        const child sleeper;
        gone = sleeper.pid();
    }
    const child sleeper;
    int descriptor = -1;
    page* const marks = make_page(descriptor);
    REQUIRE(marks != nullptr);
    const slot* const left = claim_slot(*marks, gone);
    const slot* const of_another = claim_slot(*marks, sleeper.pid());
    const slot* const own = claim_slot(*marks, gettid());
    speeds cpus({{0, 1.0, 1.0}, {1, 1.0, 1.0}});
    team watched(sleeper.pid(), cpus, true, marks);
    watched.search();
    CHECK(left->thread() == 0);
    CHECK(of_another->thread() == sleeper.pid());
    CHECK(own->thread() == gettid());
    munmap(marks, sizeof(page));
    close(descriptor);
}

TEST_CASE("a_thread_counts_once_also_where_it_was_left_alone_meanwhile") {
    const child sleeper;
    speeds cpus({{0, 1.0, 1.0}, {1, 1.0, 1.0}});
    team watched(sleeper.pid(), cpus, true, nullptr);
    for (int rest = 0; rest < 2; ++rest) {
        watched.search();
        REQUIRE(watched.members().size() == 1);
        CHECK(watched.threads_seen() == 1);
        watched.forget();
    }
}

TEST_CASE("a_thread_that_was_pinned_for_a_moment_is_tried_again") {
    const child sleeper;
    speeds cpus({{0, 1.0, 1.0}, {1, 1.0, 1.0}});
    team watched(sleeper.pid(), cpus, true, nullptr);
    watched.search();
    watched.look();
    for (const auto& [thread, one] : watched.members()) const_cast<member&>(one).pinned = true;
    watched.search();
    for (const auto& [thread, one] : watched.members()) CHECK_FALSE(one.pinned);
}

namespace {

// A thread that works all the time, and whose waits the test marks for it.
struct marked_spinner {
    child spinner{"while :; do :; done"};
    int descriptor = -1;
    page* marks = make_page(descriptor);
    slot* own = nullptr;
    speeds cpus{allowed()};
    std::optional<team> watched;

    marked_spinner() {
        REQUIRE(marks != nullptr);
        own = claim_slot(*marks, spinner.pid());
        watched.emplace(spinner.pid(), cpus, true, marks);
        watched->search();
    }
    ~marked_spinner() {
        munmap(marks, sizeof(page));
        close(descriptor);
    }
    marked_spinner(const marked_spinner&) = delete;
    marked_spinner& operator=(const marked_spinner&) = delete;

    static std::vector<cpu_speed> allowed() {
        const cpu_set_t given = mask_of(0);
        std::vector<cpu_speed> all;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(static_cast<unsigned>(cpu), &given)) all.push_back({cpu, 1.0, 1.0});
        return all;
    }
};

}  // namespace

TEST_CASE("what_a_thread_runs_while_it_waits_is_no_work") {
    marked_spinner one;
    team& watched = *one.watched;
    slot* const own = one.own;
    clockid_t clock{};
    REQUIRE(clock_getcpuclockid(one.spinner.pid(), &clock) == 0);
    const auto has_run = [clock] {
        timespec now{};
        REQUIRE(clock_gettime(clock, &now) == 0);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    const auto now = [] { return static_cast<std::uint64_t>(tauto::timer::now()); };
    for (const bool says_so : {false, true}) {
        watched.look();
        watched.take_tally();
        const double ran = has_run();
        const std::uint64_t began = now();
        for (int k = 0; k < 20; ++k) {
            if (says_so) begin_timed_wait(*own, now());
            usleep(5'000);
            watched.look();
            if (says_so) end_timed_wait(*own, now());
            usleep(5'000);
            watched.look();
        }
        const double worked = watched.take_tally().estimated;
        const double alone = 1e-9 * static_cast<double>(now() - began - own->waited_until(now()));
        CAPTURE(says_so);
        CHECK(worked < alone + 1e-3);
        if (!says_so) CHECK(worked > 0.8 * (has_run() - ran));
    }
}

TEST_CASE("where_threads_wait_once_for_so_much_work_the_less_of_both_is_believed") {
    marked_spinner one;
    team& watched = *one.watched;
    slot* const own = one.own;
    // Waits `often` in each 5 ms of work, and tells what a window showed.
    const auto see = [&](int often, bool alone) {
        for (int k = 0; k < 12; ++k) {
            const double before = watched.so_far().estimated;
            do {
                usleep(1'000);
                watched.look();
            } while (watched.so_far().estimated < before + 5e-3);
            for (int wait = 0; wait < often; ++wait) {
                begin_wait(*own);
                end_wait(*own);
            }
        }
        watched.look();
        const team::tally found = watched.take_tally(alone);
        watched.begin_window();
        return found;
    };
    CHECK_FALSE(see(2, true).agreed);  // who is of note is not known before
    CHECK_FALSE(see(2, false).agreed);
    for (int windows = 0; windows < 6; ++windows) see(2, true);
    CHECK(watched.waits_tell());
    const team::tally fewer = see(1, false);
    CHECK(fewer.agreed);
    CHECK(fewer.work < 0.8 * fewer.estimated);
    const team::tally more = see(4, false);
    CHECK(more.agreed);
    CHECK(more.work == more.estimated);
    for (int windows = 0; windows < 8; ++windows) see(windows % 2 == 0 ? 1 : 12, true);
    CHECK_FALSE(watched.waits_tell());
    CHECK_FALSE(see(2, false).agreed);
}

TEST_CASE("a pace has changed when two samples in a row say so") {
    speeds cpus({{0, 1.0, 1.0, 0.4}, {1, 1.0, 0.5, 0.4}});
    CHECK_FALSE(cpus.note_pace(1, 0.1));
    CHECK(cpus[1].pace == 1.0);
    CHECK_FALSE(cpus.note_pace(1, 0.4));  // an interruption
    CHECK_FALSE(cpus.note_pace(1, 0.1));
    CHECK(cpus[1].pace == 1.0);
    CHECK_FALSE(cpus.note_pace(1, 0.8));  // and another thing
    CHECK_FALSE(cpus.note_pace(1, 0.2));
    CHECK(cpus.note_pace(1, 0.2));
    CHECK(cpus[1].pace == doctest::Approx(0.5));
    CHECK(cpus.per_second()[1] == doctest::Approx(0.25));
    CHECK(cpus.per_second()[0] == 1.0);
    for (int k = 0; k < 100; ++k) CHECK_FALSE(cpus.note_pace(1, 0.23));  // slowly
    CHECK(cpus[1].pace == doctest::Approx(0.575).epsilon(0.01));
    for (int k = 0; k < 2; ++k) CHECK_FALSE(cpus.note_pace(1, 0.3));  // at once, but not much
    CHECK(cpus[1].pace == doctest::Approx(0.75).epsilon(0.01));
    for (int k = 0; k < 2; ++k) CHECK_FALSE(cpus.note_pace(1, 0.23));
    CHECK_FALSE(cpus.note_pace(0, 0.2));
    CHECK(cpus.note_pace(0, 0.2));
    CHECK(cpus[0].pace == doctest::Approx(0.2 / 0.23).epsilon(0.01));
    CHECK(cpus[1].pace == 1.0);
}

TEST_CASE("a pace that is not known stays as it is") {
    speeds cpus({{0, 1.0, 1.0}, {1, 0.5, 1.0}});
    for (int k = 0; k < 3; ++k) CHECK_FALSE(cpus.note_pace(1, 0.2));
    CHECK(cpus[1].pace == 0.5);
}

TEST_CASE("a CPU that threads had all the time is theirs whenever the kernel adds their time") {
    constexpr nanoseconds look = 10 * millisecond;
    cpu_use use;
    speeds cpus({{0, 1.0, 1.0, 1.0}, {1, 1.0, 1.0, 1.0}});
    use.had = 14 * millisecond;
    for (int i = 0; i < 100; ++i) {
        use.most_wanted = look;
        const cpu_use::seen seen = use.take(look);
        CHECK(seen.is_clear);
        cpus.note(0, look, seen.wanted, seen.had);
        use.had += (i % 2 == 0 ? 6 : 14) * millisecond;
    }
    CHECK(cpus[0].share == doctest::Approx(1.0));
    // Others had it for a quarter of the time.
    use = {};
    for (int i = 0; i < 100; ++i) {
        use.had += (i % 2 == 0 ? 4 : 11) * millisecond;
        use.most_wanted = look;
        const cpu_use::seen seen = use.take(look);
        cpus.note(1, look, seen.wanted, seen.had);
    }
    CHECK(cpus[1].share == doctest::Approx(0.75).epsilon(0.07));
    use.unclear = true;
    CHECK_FALSE(use.take(look).is_clear);
    CHECK_FALSE(use.unclear);
}

TEST_CASE("who is born since is told by the newest number") {
    const pid_t before = tauto::timer::last_born();
    REQUIRE(before > 0);
    std::thread([] {}).join();
    CHECK(tauto::timer::last_born() != before);
}

TEST_CASE("parts of a probe agree where neither the CPU nor what it leaves to us has changed") {
    const probed one{1000, 2e6, 2.5e6};
    const auto agree = [&](const probed& last) { return all_agree(std::array{one, one, one, last}, 1.15); };
    CHECK(agree(one));
    CHECK(agree({1100, 2.1e6, 2.5e6}));
    CHECK_FALSE(agree({1300, 2e6, 2.5e6}));   // its clock has risen
    CHECK_FALSE(agree({750, 1.5e6, 2.5e6}));  // somebody else had it for some of the time
    probed both = one;
    both.add({500, 1e6, 1e6});
    CHECK(both.pace() == doctest::Approx(1500 / 3e6));
    CHECK(both.wall == 3.5e6);
}

TEST_CASE("paces of all CPUs are sampled at once where that is asked for") {
    const int cpu = first_cpu_of(mask_of(0));
    constexpr std::size_t count = 8;
    paces all(std::vector<int>(count, cpu));
    const nanoseconds began = tauto::timer::now();
    all.hurry();
    std::vector<bool> sampled(count);
    while (std::ranges::count(sampled, true) < static_cast<std::ptrdiff_t>(count)) {
        for (const paces::sample& one : all.take()) sampled[one.index] = true;
        REQUIRE(tauto::timer::now() - began < 3'000'000'000);  // half a second each otherwise
        usleep(1000);
    }
}

TEST_CASE("paces are sampled one CPU after the other, and what that costs is known") {
    const int cpu = first_cpu_of(mask_of(0));
    std::set<std::size_t> seen;
    double spent = 0;
    {
        paces all({cpu, cpu});
        for (int k = 0; k < 500 && seen.size() < 2; ++k) {
            usleep(20'000);
            for (const paces::sample& one : all.take()) {
                seen.insert(one.index);
                CHECK(one.pace > 0);
            }
        }
        spent = static_cast<double>(all.spent());
    }
    CHECK(seen.size() == 2);
    CHECK(spent > 0.9e6);
    CHECK(spent < 20e6);
}

TEST_CASE("files_tell_whether_a_thread_works_or_sleeps") {
    const child sleeper;
    while (state_of(sleeper.pid(), sleeper.pid())->now != doing::sleeps) sched_yield();
    const auto eyes = watch_files(sleeper.pid(), sleeper.pid());
    news found;
    eyes->read(found);
    CHECK_FALSE(found.ended);
    REQUIRE(found.changes.size() == 1);
    CHECK(found.changes[0].now == doing::sleeps);
    const auto own = state_of(getpid(), gettid());
    REQUIRE(own.has_value());
    CHECK(own->now == doing::runs);
}

TEST_CASE("switches_of_a_thread_are_seen_where_the_system_allows_it") {
    const auto eyes = watch_switches(gettid());
    if (!eyes) return;
    constexpr int naps = 5;
    for (int i = 0; i < naps; ++i) usleep(1000);
    news found;
    eyes->read(found);
    CHECK(std::ranges::count(found.changes, doing::sleeps, &change::now) == naps);
    CHECK(std::ranges::is_sorted(found.changes, {}, &change::at));
    CHECK_FALSE(found.lost);
}

TEST_CASE("the_answer_says_what_was_done_and_why_it_was_left_alone") {
    answer found;
    found.name = "./loop";
    found.what.moves = 310;
    found.what.threads_seen = found.what.threads_moved = 2;
    found.ratio.ratio = 0.79;
    found.ratio.low = 0.76;
    found.ratio.high = 0.82;
    found.ratio.rounds = 9;
    found.what.seconds_of = {1.0, 2.0, 3.0, 0.0};
    CHECK(in_words(found) ==
          "2 of 2 threads of ./loop moved 310 times, mostly on a CPU each, with loops shared out by speed; "
          "21 % less time than Linux alone (18 to 24 %, 9 pairs of windows); preloaded libtauto-waits.so");
    found.estimated = true;
    CHECK(in_words(found).find("; by CPU time 27 % more work than with Linux alone (22 to 32 %, 9 pairs of "
                               "windows), which need not be progress;") != std::string::npos);
    found.estimated = false;
    found.spun = 0.52;
    CHECK(in_words(found).find("; spinning was 52 % of their CPU time with Linux alone; 21 % less") !=
          std::string::npos);
    found.spun = 0;
    found.in_a_row = 12;
    CHECK(in_words(found).find("by speed; in 12 short regions a thread of a CPU ran several parts, one after "
                               "the other; 21 % less") != std::string::npos);
    found.in_a_row = 0;
    found.ratio.rounds = 1;
    found.ratio.low = 0;
    found.ratio.high = std::numeric_limits<double>::infinity();
    CHECK(in_words(found).find("; what that brought is not known: 1 pair of windows with Linux alone cannot "
                               "tell;") != std::string::npos);
    answer alone;
    alone.reason = "it ended before anything could be measured";
    alone.not_preloaded = "it runs already";
    CHECK(in_words(alone) ==
          "left alone: it ended before anything could be measured; nothing preloaded: it runs already");
    alone.what.code_was_hidden = true;
    CHECK(in_words(alone).find("perf_event_open is refused") != std::string::npos);
    found.name = "\xff";
    CHECK(to_json(found).find("\"moves\":310") != std::string::npos);
}
