// The contract of parallel_for, a test a sentence.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "asleep.hpp"
#include "reducing.hpp"
#include "runtime/recorder.hpp"
#include "sanitized.hpp"

namespace tauto {
using detail::at;
using detail::usize;
using testing::burn;
using testing::sanitized;
using namespace std::chrono_literals;

namespace {

const std::vector<schedule> every_schedule = {adaptive{}, static_{}, static_chunk{3},
                                              dynamic{2}, guided{2}, weighted{}};

// Two members wherever there are two CPUs, else two that share one.
team_options pair() {
    std::vector<int> cpus = select_cpus(read_machine(), "all");
    if (cpus.size() > 2) cpus.resize(2);
    return {.cpus = cpus, .size = 2};
}

// How often parallel_for ran each index.
std::vector<int> counts(team& members, index n, const loop_options& options) {
    std::vector<std::atomic<int>> count(usize(n));
    const bool all = parallel_for(
        members, n,
        [&](range r) {
            for (index i = r.begin; i < r.end; ++i) at(count, i).fetch_add(1);
        },
        options);
    CHECK(all);
    std::vector<int> plain(count.size());
    for (std::size_t i = 0; i < count.size(); ++i) plain[i] = count[i].load();
    return plain;
}

// Calls `condition` until it is true: times decide what is learned, and other programs spoil some of them.
template <class Condition>
void until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) REQUIRE(std::chrono::steady_clock::now() < end);
}

bool each_once(const std::vector<int>& count) {
    return std::all_of(count.begin(), count.end(), [](int c) { return c == 1; });
}

}  // namespace

TEST_CASE("every index runs exactly once, for every schedule, size of loop and size of team" *
          doctest::description("runtime.md, promise 1")) {
    for (int size = 1; size <= 5; ++size) {
        team members{team_options{.size = size}};
        CHECK(members.size() == size);
        for (const schedule& chosen : every_schedule) {
            for (const index n : {0, 1, 2, 3, 4, 5, 7, 64, 1000, 4097}) {
                for (int again = 0; again < 3; ++again) {
                    INFO(name_of(chosen), " n=", n, " members=", size);
                    CHECK(each_once(counts(members, n, {.schedule = chosen})));
                }
            }
        }
    }
}

TEST_CASE("what a body writes is seen by the caller after the call, and by the next loop's members" *
          doctest::description("runtime.md, promise 2")) {
    team members{pair()};
    std::vector<double> x(5000);
    for (int round = 1; round <= 200; ++round) {
        parallel_for(members, 5000, [&](range r) {
            for (index i = r.begin; i < r.end; ++i) at(x, i) = static_cast<double>(i * round);
        });
        parallel_for(members, 5000,
                     [&](range r) {
                         for (index i = r.begin; i < r.end; ++i) at(x, 4999 - i) += 1;
                     },
                     {.schedule = static_{}});
        REQUIRE(std::accumulate(x.begin(), x.end(), 0.0) == 4999.0 * 2500.0 * round + 5000.0);
    }
}

TEST_CASE("bodies may take a range, a range and a rank, or an index") {
    team members{pair()};
    std::atomic<index> sum{0};
    parallel_for(members, 100, [&](index i) { sum += i; });
    CHECK(sum == 4950);
    std::atomic<int> ranks{0};
    parallel_for(members, 2,
                 [&](range r, int rank) { ranks |= 1 << (rank + static_cast<int>(r.size()) - 1); },
                 {.schedule = static_{}});
    CHECK(ranks == 3);
}

namespace {

std::atomic<int> seen_by_functions{0};
void a_range(range r) {
    seen_by_functions += static_cast<int>(r.size());
}
void a_member(member&) {
    ++seen_by_functions;
}
double half(index i) {
    return 0.5 * static_cast<double>(i);
}

}  // namespace

TEST_CASE("bodies may be plain functions, and objects that hide their address") {
    struct hidden {
        void operator()(index) const { ++seen_by_functions; }
        const hidden* operator&() const = delete;
    };
    team members{pair()};
    seen_by_functions = 0;
    CHECK(parallel_for(members, 100, a_range));
    CHECK(parallel_for(members, 100, hidden{}, {.schedule = static_{}}));
    members.run(a_member);
    CHECK(seen_by_functions == 202);
    CHECK(parallel_reduce(members, 101, 0.0, half, std::plus<>{}) == 2525.0);
}

TEST_CASE("a body may be move-only and is never copied" * doctest::description("runtime.md, promise 15")) {
    team members{pair()};
    auto owned = std::make_unique<std::atomic<int>>(0);
    auto body = [counter = std::move(owned)](range r) { counter->fetch_add(static_cast<int>(r.size())); };
    static_assert(!std::is_copy_constructible_v<decltype(body)>);
    parallel_for(members, 1000, body);
    parallel_for(members, 1000, std::move(body));
    parallel_for(members, 10, [counter = std::make_unique<int>(3)](range) { CHECK(*counter == 3); });
}

TEST_CASE("the first exception is rethrown at the call, the rest is skipped, the team stays usable" *
          doctest::description("runtime.md, promise 3")) {
    constexpr index n = 20'000;
    for (int size : {1, 2, 4}) {
        team members{team_options{.size = size}};
        for (const schedule& chosen : every_schedule) {
            for (int round = 0; round < (sanitized ? 6 : 30); ++round) {
                std::vector<std::atomic<int>> count(n);
                const auto faulty = [&](range r) {
                    // The rest of dynamic's chunks would take 12 s: no other program delays the throw for so
                    // long.
                    if (r.begin > 37 && r.size() <= 2) std::this_thread::sleep_for(5ms);
                    for (index i = r.begin; i < r.end; ++i) {
                        at(count, i).fetch_add(1);
                        if (i == 37) throw std::runtime_error("at 37");
                    }
                };
                CHECK_THROWS_WITH_AS(parallel_for(members, n, faulty, {.schedule = chosen}), "at 37",
                                     std::runtime_error);
                const auto ran = std::count(count.begin(), count.end(), 1);
                const auto skipped = std::count(count.begin(), count.end(), 0);
                INFO(name_of(chosen), " members=", size);
                CHECK(ran + skipped == n);  // no index twice
                if (size == 1) CHECK(ran == 38);
                if (std::holds_alternative<dynamic>(chosen)) CHECK(skipped > 0);
                CHECK(each_once(counts(members, 100, {.schedule = chosen})));
            }
        }
    }
}

TEST_CASE("of exceptions from all members at once, the one of the lowest index is rethrown" *
          doctest::description("runtime.md, promise 3")) {
    team members{team_options{.size = 4}};
    const auto faulty = [](index i) { throw std::out_of_range(std::to_string(i)); };
    for (const schedule& chosen : every_schedule) {
        INFO(name_of(chosen));
        for (int round = 0; round < 100; ++round) {
            CHECK_THROWS_WITH_AS(parallel_for(members, 4 + 10 * round, faulty, {.schedule = chosen}), "0",
                                 std::out_of_range);
        }
    }
    CHECK(each_once(counts(members, 64, {})));
}

TEST_CASE("loops that hand out their chunks in order throw what a serial loop would" *
          doctest::description("runtime.md, promise 3")) {
    team members{team_options{.size = 4}};
    for (const schedule& chosen :
         {schedule{dynamic{2}}, schedule{guided{1}}, schedule{static_chunk{2}}, schedule{static_chunk{9}}}) {
        INFO(name_of(chosen));
        for (const index first_bad : {0, 1, 7, 100, 377, 399}) {
            for (int round = 0; round < 20; ++round) {
                // Members of lower indices are late.
                const auto faulty = [&](index i) {
                    if (i < first_bad) return std::this_thread::yield();
                    if (i == first_bad || i % 3 == 0) throw std::out_of_range(std::to_string(i));
                };
                CHECK_THROWS_WITH_AS(parallel_for(members, 400, faulty, {.schedule = chosen}),
                                     std::to_string(first_bad).c_str(), std::out_of_range);
            }
        }
    }
}

TEST_CASE("a member hears a failure and a stop within its share, whatever the schedule" *
          doctest::description("runtime.md, promises 3 and 6")) {
    team members{pair()};
    std::vector<schedule> chosen = {static_{}, static_chunk{1}, static_chunk{2}};
    if (!members.oversubscribed()) chosen.emplace_back(weighted{});
    for (const schedule& one : chosen) {
        for (const int thrower : {0, 1}) {
            for (const bool stops : {false, true}) {
                CAPTURE(name_of(one));
                CAPTURE(thrower);
                CAPTURE(stops);
                std::stop_source source;
                std::atomic<int> begun{0};
                std::atomic<int> ran{0};
                // The thrower fails once the other has begun, which goes on once the thrower sleeps.
                const auto body = [&](range r, int rank) {
                    if (rank == thrower) {
                        while (begun == 0) std::this_thread::yield();
                        if (stops) source.request_stop();
                        throw std::runtime_error("bad cell");
                    }
                    if (begun++ == 0) CHECK(testing::others_fall_asleep());
                    ran += static_cast<int>(r.size());
                };
                site fresh;
                loop_options options{.schedule = one, .site = &fresh};
                if (stops) options.stop = source.get_token();
                CHECK_THROWS_WITH(parallel_for(members, 400, body, options), "bad cell");
                CHECK(ran <= 50);
                CHECK(each_once(counts(members, 400, {.schedule = one})));
            }
        }
    }
}

TEST_CASE("a stop is heard within a share that its own member stops" *
          doctest::description("runtime.md, promise 6")) {
    team members{team_options{.size = 1}};
    for (const schedule& one : {schedule{static_{}}, schedule{weighted{}}}) {
        for (const index n : {2, 16, 1000, 1'000'000}) {
            std::stop_source source;
            index ran = 0;
            CHECK_FALSE(parallel_for(members, n,
                                     [&](range r) {
                                         ran += r.size();
                                         source.request_stop();
                                     },
                                     {.schedule = one, .stop = source.get_token()}));
            CHECK(ran <= std::max<index>(1, n / 3));
        }
    }
}

TEST_CASE("a nested call runs inline on the member that makes it" *
          doctest::description("runtime.md, promise 4")) {
    team members{pair()};
    team other{pair()};
    for (const schedule& chosen : every_schedule) {
        std::atomic<int> inner{0};
        std::atomic<bool> moved{false};
        parallel_for(members, 8,
                     [&](range r) {
                         for (index i = r.begin; i < r.end; ++i) {
                             const auto me = std::this_thread::get_id();
                             const auto body = [&](range q) {
                                 inner.fetch_add(static_cast<int>(q.size()));
                                 if (std::this_thread::get_id() != me) moved = true;
                             };
                             parallel_for(members, 1000, body, {.schedule = chosen});
                             parallel_for(other, 1000, body, {.schedule = chosen});
                         }
                     },
                     {.schedule = dynamic{1}});
        CHECK(inner == 16'000);
        CHECK_FALSE(moved);
    }
}

TEST_CASE("a nested loop has the rank of the member that runs it, on its own team" *
          doctest::description("runtime.md, promise 4")) {
    team members{pair()};
    team other{pair()};
    for (const schedule& chosen : every_schedule) {
        std::vector<int> wrong(2, 0);
        parallel_for(members, 16,
                     [&](range, int rank) {
                         const auto asked = [&](range, int inner) { at(wrong, rank) += inner != rank; };
                         const auto elsewhere = [&](range, int inner) { at(wrong, rank) += inner != 0; };
                         parallel_for(members, 100, asked, {.schedule = chosen});
                         parallel_for(other, 100, elsewhere, {.schedule = chosen});
                         parallel_for(members, 100, asked);
                     },
                     {.schedule = dynamic{1}});
        CHECK(wrong == std::vector<int>{0, 0});
    }
}

TEST_CASE("a loop in the body of a loop that was learned to be too short to fork stays where it is" *
          doctest::description("runtime.md, promise 4")) {
    team members{pair()};
    std::atomic<int> elsewhere{0};
    std::atomic<int> several{0};
    bool nested = false;
    const auto body = [&](index) {
        if (!nested) return;
        const auto here = std::this_thread::get_id();
        parallel_for(members, 1000, [&](index) { elsewhere += std::this_thread::get_id() != here; },
                     {.schedule = dynamic{1}});
        members.run([&](member& me) { several += me.size() != 1; });
    };
    for (int call = 0; call < 500; ++call) parallel_for(members, 2, body);
    nested = true;
    for (int call = 0; call < 20; ++call) parallel_for(members, 2, body);
    CHECK(elsewhere == 0);
    CHECK(several == 0);
}

TEST_CASE("a body may wait for another thread that uses the team" *
          doctest::description("runtime.md, promise 5")) {
    team members{pair()};
    team other{pair()};
    const auto sum_of = [](team& some, const schedule& chosen) {
        std::atomic<index> sum{0};
        parallel_for(some, 1000, [&](index i) { sum += i; }, {.schedule = chosen});
        some.run([&](member& me) { sum += me.size() - me.size(); });
        (void)some.barrier_shape();
        static site here;
        parallel_for(some, 10, [](index) {}, {.site = &here});
        (void)some.explain(here);
        return sum + parallel_reduce(
                         some, 1000, index{0}, [](index i) { return i; }, std::plus<>{});
    };
    for (const schedule& chosen : every_schedule) {
        std::atomic<int> right{0};
        parallel_for(members, 2, [&](index) {
            right += std::async(std::launch::async, sum_of, std::ref(members), chosen).get() == 999'000;
        });
        CHECK(right == 2);
    }
    // Two loops that wait for each other's team.
    std::atomic<int> inside{0};
    std::atomic<int> right{0};
    const auto cross = [&](team& own, team& theirs) {
        parallel_for(own, 1,
                     [&](index) {
                         ++inside;
                         while (inside < 2) std::this_thread::yield();
                         right +=
                             std::async(std::launch::async, sum_of, std::ref(theirs), schedule{}).get() ==
                             999'000;
                     },
                     {.schedule = static_{}});
    };
    std::thread one([&] { cross(members, other); });
    cross(other, members);
    one.join();
    CHECK(right == 2);
}

TEST_CASE("threads that use one team take turns" * doctest::description("runtime.md, promise 5")) {
    team members{pair()};
    std::atomic<int> inside{0};
    std::atomic<bool> overlapped{false};
    std::atomic<index> sum{0};
    const auto exclusive = [&] {
        for (int round = 0; round < 300; ++round) {
            std::atomic<int> left{2};
            parallel_for(members, 2,
                         [&](range r) {
                             inside.fetch_add(1);
                             if (inside.load() > 2) overlapped = true;
                             sum += r.size();
                             left.fetch_sub(1);
                             while (left.load() > 0) std::this_thread::yield();
                             inside.fetch_sub(1);
                         },
                         {.schedule = static_{}});
        }
    };
    std::thread second(exclusive);
    std::thread third(exclusive);
    exclusive();
    second.join();
    third.join();
    CHECK(sum == 3 * 300 * 2);
    CHECK_FALSE(overlapped);
}

TEST_CASE("calls of normal priority come first" * doctest::description("runtime.md, promise 22")) {
    team members{pair()};
    std::atomic<bool> begun{false};
    std::atomic<bool> goes_on{false};
    std::vector<std::string> order;
    const auto hold = [&] {
        parallel_for(members, 2,
                     [&](index) {
                         begun = true;
                         while (!goes_on.load()) std::this_thread::yield();
                     },
                     {.schedule = static_{}});
    };
    const auto note = [&](const char* who, priority of) {
        // Of no schedule that may pause: the turn is asked for once.
        parallel_for(members, 1, [&](index) { order.emplace_back(who); },
                     {.schedule = static_{}, .priority = of});
    };
    std::thread holder(hold);
    while (!begun.load()) std::this_thread::yield();
    // Each is in the queue before the next one comes: there it sleeps again and again, for ten milliseconds.
    std::vector<std::thread> threads;
    const auto add = [&](const char* who, priority of) {
        std::atomic<pid_t> number{0};
        threads.emplace_back([&, who, of] {
            number = static_cast<pid_t>(syscall(SYS_gettid));
            note(who, of);
        });
        while (number == 0 || testing::sleeps_of(number) < 3) std::this_thread::sleep_for(1ms);
    };
    add("low", priority::low);
    add("second low", priority::low);
    add("normal", priority::normal);
    add("second normal", priority::normal);
    goes_on = true;
    holder.join();
    for (std::thread& one : threads) one.join();
    CHECK(order == std::vector<std::string>{"normal", "second normal", "low", "second low"});
}

TEST_CASE("a long loop of low priority lets others in" * doctest::description("runtime.md, promise 22")) {
    for (const schedule& chosen : std::vector<schedule>{adaptive{}, dynamic{1}, guided{1}}) {
        team members{pair()};
        std::atomic<index> begun{0};
        std::atomic<bool> goes_on{true};
        std::atomic<int> calls{0};
        loop_report report;
        std::vector<std::atomic<int>> times(3000);
        std::thread low([&] {
            const auto body = [&](index i) {
                ++at(times, i);
                ++begun;
                burn(100'000);
            };
            CHECK(parallel_for(members, std::ssize(times), body,
                               {.schedule = chosen, .report = &report, .priority = priority::low}));
            goes_on = false;
        });
        while (begun.load() == 0) std::this_thread::yield();
        index most = 0;
        while (goes_on) {
            const index before = begun;
            parallel_for(members, 2, [](index) {}, {.schedule = static_{}});
            if (goes_on) {
                most = std::max(most, begun - before);
                ++calls;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        low.join();
        CHECK(std::all_of(times.begin(), times.end(), [](const auto& one) { return one == 1; }));
        // An adaptive piece may have run on its thread alone, and is then in no member's count.
        if (!std::holds_alternative<adaptive>(chosen))
            CHECK(std::accumulate(report.iterations.begin(), report.iterations.end(), index{0}) == 3000);
        CHECK(calls > 3);
        // A piece takes a millisecond, of 20 iterations. Other programs may hold up the caller for longer,
        // but not for most of the loop.
        CHECK(most < 2000);
    }
}

TEST_CASE("a team ends after the loops of low priority that pause" *
          doctest::description("runtime.md, promise 22")) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        auto members = std::make_unique<team>(pair());
        std::atomic<bool> begun{false};
        std::atomic<index> ran{0};
        std::thread low([&] {
            const auto body = [&](index) {
                begun = true;
                burn(20'000);
                ++ran;
            };
            parallel_for(*members, 1000, body, {.priority = priority::low});
        });
        while (!begun.load()) std::this_thread::yield();
        members.reset();
        CHECK(ran == 1000);
        low.join();
    }
}

TEST_CASE("what a loop of low priority throws, and its stop" *
          doctest::description("runtime.md, promise 22")) {
    team members{pair()};
    const auto fails = [](index i) {
        if (i >= 700) throw std::runtime_error(std::to_string(i));
    };
    try {
        parallel_for(members, 1000, fails, {.schedule = dynamic{1}, .priority = priority::low});
        CHECK(false);
    } catch (const std::runtime_error& error) {
        CHECK(std::string(error.what()) == "700");
    }
    std::stop_source source;
    std::atomic<index> ran{0};
    const auto stops = [&](index) {
        if (++ran == 50) source.request_stop();
    };
    CHECK_FALSE(
        parallel_for(members, 100'000, stops, {.stop = source.get_token(), .priority = priority::low}));
    CHECK(ran < 100'000);
    // The answers are those of any other call.
    const auto value = [](index i) { return 1.0 / static_cast<double>(i + 1); };
    const double sum = parallel_reduce(members, 100'000, 0.0, value, std::plus<>{});
    CHECK(sum == parallel_reduce(members, 100'000, 0.0, value, std::plus<>{}, {.priority = priority::low}));
}

TEST_CASE("a thread that waits for its turn is not overtaken again and again" *
          doctest::description("runtime.md, promise 5")) {
    team members{pair()};
    std::atomic<int> begun[2] = {};
    std::atomic<bool> enough{false};
    std::vector<int> overtaken;
    const auto loop = [&](int user) {
        const auto work = [&](index i) {
            if (i == 0) ++begun[user];
            volatile int spin = 0;
            while (spin < 20'000) spin = spin + 1;
        };
        parallel_for(members, 8, work, {.schedule = dynamic{1}});
    };
    std::thread other([&] {
        while (!enough) loop(1);
    });
    while (begun[1] == 0) std::this_thread::yield();
    for (int call = 0; call < 41; ++call) {
        const int before = begun[1];
        loop(0);
        overtaken.push_back(begun[1] - before);
    }
    enough = true;
    other.join();
    // The other's loop that had the turn, perhaps not begun, and the one that follows this one.
    std::sort(overtaken.begin(), overtaken.end());
    CHECK(overtaken[20] <= 3);
}

TEST_CASE("threads that use one team with adaptive loops of many sites and sizes get right answers") {
    team members{pair()};
    const auto user = [&](index n) {
        std::vector<int> x(usize(n), 0);
        for (int round = 0; round < 500; ++round) {
            parallel_for(members, n, [&](range r) {
                for (index i = r.begin; i < r.end; ++i) ++at(x, i);
            });
        }
        return std::all_of(x.begin(), x.end(), [](int c) { return c == 500; });
    };
    std::atomic<bool> second_right{false};
    std::thread second([&] { second_right = user(300); });
    CHECK(user(5000));
    second.join();
    CHECK(second_right);
}

TEST_CASE("a stop request ends the loop early and parallel_for says so" *
          doctest::description("runtime.md, promise 6")) {
    for (const schedule& chosen : {schedule{adaptive{}}, schedule{dynamic{1}}, schedule{guided{1}}}) {
        team members{pair()};
        std::stop_source source;
        std::atomic<index> ran{0};
        const bool all = parallel_for(members, 1'000'000,
                                      [&](range r) {
                                          ran += r.size();
                                          source.request_stop();
                                      },
                                      {.schedule = chosen, .stop = source.get_token()});
        CHECK_FALSE(all);
        CHECK(ran < 1'000'000);
        CHECK(ran > 0);
        SUBCASE("a token that is stopped already runs nothing") {
            ran = 0;
            CHECK_FALSE(
                parallel_for(members, 10, [&](range r) { ran += r.size(); }, {.stop = source.get_token()}));
            CHECK(ran == 0);
        }
        SUBCASE("the team is usable afterwards and an unused token changes nothing") {
            std::stop_source quiet;
            CHECK(each_once(counts(members, 1000, {.schedule = chosen, .stop = quiet.get_token()})));
        }
    }
}

TEST_CASE("a stop in a site's first loop is heard" * doctest::description("runtime.md, promise 6")) {
    team members{pair()};
    for (const bool stops : {true, false}) {
        for (int repeat = 0; repeat < 20; ++repeat) {
            site fresh;
            std::stop_source source;
            std::atomic<int> done{0};
            loop_report report;
            const auto body = [&](index i) {
                if (stops && i == 3100) source.request_stop();
                ++done;
            };
            const bool all = parallel_for(members, 4000, body,
                                          {.stop = source.get_token(), .site = &fresh, .report = &report});
            CHECK(all == (done == 4000));
            if (!stops && report.width > 1) {
                CHECK(std::accumulate(report.iterations.begin(), report.iterations.end(), index{0}) == 4000);
            }
        }
    }
}

TEST_CASE("a loop of unequal iterations runs each once, whatever was learned of their costs" *
          doctest::description("runtime.md, promise 1")) {
    team members{team_options{.size = 3, .pin = false}};
    for (const index n : {2, 5, 31, 64, 128, 129, 1000}) {
        CAPTURE(n);
        site here;
        std::vector<int> runs(detail::usize(n));
        double sum = 0;
        const auto body = [&](range r) {
            for (index i = r.begin; i < r.end; ++i) {
                volatile double value = 1;
                for (index k = 0; k < 40'000 * (i + 1) / n / n; ++k) value = value * 0.999 + 0.1;
                ++runs[detail::usize(i)];
            }
        };
        for (int call = 1; call <= 300; ++call) {
            parallel_for(members, n, body, {.site = &here});
            sum += static_cast<double>(std::count(runs.begin(), runs.end(), call));
            // A throw leaves parts that nobody has taken; the next call begins afresh.
            if (call % 50 == 0) {
                CHECK_THROWS_AS(parallel_for(members, n, [](range) { throw std::runtime_error("stop"); },
                                             {.site = &here}),
                                std::runtime_error);
            }
        }
        CHECK(sum == doctest::Approx(300.0 * static_cast<double>(n)));
    }
}

TEST_CASE("a loop that stops on its last chunk has run every iteration" *
          doctest::description("runtime.md, promise 6")) {
    team members{team_options{.size = 1}};
    std::stop_source source;
    CHECK(parallel_for(members, 1, [&](range) { source.request_stop(); }, {.stop = source.get_token()}));
}

TEST_CASE("n may exceed 2^32" * doctest::description("runtime.md, promise 1")) {
    team members{pair()};
    const index n = (index{1} << 33) + 7;
    for (const schedule& chosen :
         {schedule{adaptive{}}, schedule{static_{}}, schedule{dynamic{1 << 24}}, schedule{weighted{}}}) {
        std::atomic<index> sum{0};
        std::atomic<bool> last{false};
        CHECK(parallel_for(members, n,
                           [&](range r) {
                               sum += r.size();
                               if (r.end == n) last = true;
                           },
                           {.schedule = chosen}));
        CHECK(sum == n);
        CHECK(last);
    }
}

TEST_CASE("a size that cannot be is refused with what was asked and what is possible" *
          doctest::description("runtime.md, promise 1")) {
    team members{team_options{.size = 1}};
    CHECK_THROWS_WITH_AS(parallel_for(members, -1, [](range) {}), doctest::Contains("n = -1"), error);
    CHECK_THROWS_AS(parallel_for(members, max_iterations + 1, [](range) {}), error);
    CHECK_THROWS_WITH_AS(team(team_options{.size = -2}), doctest::Contains("-2 members"), error);
    CHECK_THROWS_WITH_AS(team(team_options{.cpus = {100'000}}), doctest::Contains("CPU 100000"), error);
    CHECK_THROWS_WITH_AS(wait_policy_from("lazy"), doctest::Contains("active, balanced or passive"), error);
}

TEST_CASE("the report says who ran what") {
    team members{pair()};
    loop_report report;
    parallel_for(members, 1000, [](range) {}, {.schedule = static_{}, .report = &report});
    CHECK(report.width == 2);
    CHECK(report.iterations == std::vector<index>{500, 500});
    parallel_for(members, 1, [](range) {}, {.schedule = static_{}, .report = &report});
    CHECK(report.width == 1);
}

TEST_CASE("a loop too short to fork is not forked once that is learned") {
    team members{pair()};
    static site here;
    const auto body = [](range) {};
    until([&] {
        parallel_for(members, 64, body, {.site = &here});
        return members.take_inline_call(here, 64);
    });
}

TEST_CASE("a loop of one iteration soon takes the short way") {
    team members{pair()};
    static site here;
    const auto body = [](range) {};
    until([&] {
        parallel_for(members, 1, body, {.site = &here});
        return members.take_inline_call(here, 1);
    });
}

TEST_CASE("a team explains what it learned of a site, and when it looks again") {
    team members{pair()};
    static site here;
    CHECK(members.explain(here) == "no adaptive loop has run here");
    std::atomic<double> sink{0};
    const auto body = [&](range r) {
        double x = 1;
        for (index i = 0; i < r.size() * 2000; ++i) x = x * 1.0000001 + 1e-9;
        sink = x;
    };
    until([&] {
        parallel_for(members, 50, body, {.site = &here});
        parallel_for(members, 1, body, {.site = &here});
        const std::string text = members.explain(here);
        const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
        return says("n = 1: 1 member: ") && says("n = 32 to 63: ") && says(" a loop") &&
               says("speeds, by rank: ") && says("1 member: ") && says("2 members");
    });
    parallel_for(members, 50, body);
    CHECK(explain(members, body).find("n = 32 to 63: ") == 0);
    std::string inside;
    parallel_for(members, 1, [&](index) { inside = members.explain(here); });
    CHECK(inside == "a loop is running");
}

TEST_CASE("sites keep what they learn apart") {
    // One body type for two loops: without sites the long one would be run as the short one taught.
    team members{pair()};
    static site short_loop;
    static site long_loop;
    std::atomic<double> sink{0};
    int turns = 1;
    const auto body = [&](range r) {
        double x = 1;
        for (index i = 0; i < r.size() * turns; ++i) x = x * 1.0000001 + 1e-9;
        sink = x;
    };
    const auto run_short = [&] {
        turns = 1;
        parallel_for(members, 50, body, {.site = &short_loop});
        return members.take_inline_call(short_loop, 50);
    };
    until(run_short);
    CHECK_FALSE(members.take_inline_call(long_loop, 50));
    for (int call = 0; call < 80; ++call) {
        turns = sanitized ? 10'000 : 50'000;
        parallel_for(members, 50, body, {.site = &long_loop});
        // So many turns are never so short that they may go untimed.
        REQUIRE_FALSE(members.take_inline_call(long_loop, 50));
    }
    until(run_short);
}

TEST_CASE("more sites than a team has records for share them") {
    team members{pair()};
    index sum = 0;
    for (int call = 0; call < 2 * team::max_sites; ++call) {
        site fresh;
        parallel_for(members, 1, [&](index) { ++sum; }, {.site = &fresh});
    }
    CHECK(sum == 2 * team::max_sites);
    for (const unsigned many : {(1U << 31) - 1, 1U << 31, ~0U}) {
        std::atomic<unsigned> given{many};
        for (int site = 0; site < 3; ++site) {
            const int number = detail::next_site_number(given);
            CHECK(number >= 0);
            CHECK(number < team::max_sites);
        }
    }
}

TEST_CASE("teams come and go, and one thread may hold several") {
    for (int round = 0; round < 20; ++round) {
        team first{team_options{.size = 3}};
        team second{team_options{.size = 2}};
        CHECK(each_once(counts(first, 100, {})));
        CHECK(each_once(counts(second, 100, {})));
    }
    team defaults;
    CHECK(defaults.pinned());
    const std::vector<int> allowed = allowed_cpus();
    CHECK(defaults.size() >= 1);
    {
        team nested;
        CHECK(nested.size() == defaults.size());
    }
    CHECK(allowed.size() == 1);  // this thread is member 0 of `defaults`
}

TEST_CASE("the constructing thread gets its CPUs back") {
    const std::vector<int> before = allowed_cpus();
    {
        team members;
        team inner;
    }
    CHECK(allowed_cpus() == before);
    {
        team unpinned{team_options{.size = 2, .pin = false}};
        CHECK(allowed_cpus() == before);
        CHECK(each_once(counts(unpinned, 1000, {})));
    }
}

TEST_CASE("waiting policies all give the same answers, through sleeping and waking") {
    for (const wait_policy policy : {wait_policy::active, wait_policy::balanced, wait_policy::passive}) {
        team_options options = pair();
        options.wait = policy;
        team members{options};
        CHECK(members.wait() == policy);
        for (int round = 0; round < 40; ++round) {
            CHECK(each_once(counts(
                members, 200, {.schedule = round % 2 == 0 ? schedule{static_{}} : schedule{dynamic{4}}})));
            // Longer than a passive member spins; asserts nothing about time.
            if (round % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
    }
}

TEST_CASE("a limit of members holds under each schedule, and changes no answer" *
          doctest::description("runtime.md, promise 21")) {
    std::vector<int> cpus = select_cpus(read_machine(), "all");
    team members{team_options{.cpus = cpus, .size = 4}};
    std::vector<double> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0 / static_cast<double>(i + 1);
    const auto value = [&](index i) { return at(values, i); };
    const double sum = parallel_reduce(members, 5000, 0.0, value, std::plus<>{});
    for (const schedule& one : every_schedule) {
        for (const int limit : {0, 1, 2, 3, 4, 5, 100}) {
            for (int call = 0; call < 3; ++call) {
                loop_report report;
                std::atomic<int> highest{0};
                std::atomic<index> done{0};
                const auto body = [&](range r, int rank) {
                    done += r.size();
                    int seen = highest;
                    while (seen < rank && !highest.compare_exchange_weak(seen, rank)) {
                    }
                };
                const loop_options options{.schedule = one, .report = &report, .members = limit};
                REQUIRE(parallel_for(members, 1000, body, options));
                REQUIRE(done == 1000);
                if (limit != 0) REQUIRE(highest < limit);
                if (limit != 0) REQUIRE(report.width <= limit);
            }
            CHECK(parallel_reduce(members, 5000, 0.0, value, std::plus<>{},
                                  {.schedule = one, .members = limit}) == sum);
        }
    }
    std::vector<double> sorted = values;
    parallel_sort(members, sorted, std::less<>{}, {.members = 2});
    CHECK(std::is_sorted(sorted.begin(), sorted.end()));
    CHECK_THROWS_WITH_AS(
        parallel_for(members, 10, [](index) {}, {.members = -1}),
        "a loop of at most -1 members was asked for; use 0 for all of the team, or a limit from 1", error);
}

TEST_CASE("a loop of one member waits for no other loop" * doctest::description("runtime.md, promise 5")) {
    team members{pair()};
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
    std::thread other([&] {
        while (!begun) std::this_thread::yield();
        index sum = 0;
        parallel_for(members, 10, [&](index i) { sum += i; }, {.members = 1});
        CHECK(sum == 45);
        over = true;
    });
    // It does not sleep while it waits.
    parallel_for(members, 2,
                 [&](index) {
                     begun = true;
                     while (!over) std::this_thread::yield();
                 },
                 {.schedule = static_{}});
    other.join();
}

TEST_CASE("a loop that its thread runs alone leaves the members to other threads" *
          doctest::description("runtime.md, promise 5")) {
    team members{pair()};
    static site here;
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
    loop_report report;
    std::thread other([&] {
        while (!begun) std::this_thread::yield();
        parallel_for(members, 2, [](index) {}, {.schedule = static_{}, .report = &report});
        over = true;
    });
    // It does not sleep while it waits.
    parallel_for(members, 1,
                 [&](range) {
                     begun = true;
                     while (!over) std::this_thread::yield();
                 },
                 {.site = &here});
    other.join();
    CHECK(report.width == 2);
}

TEST_CASE("a team ends after the loop that another thread runs alone") {
    for (int turn = 0; turn < 20; ++turn) {
        auto members = std::make_unique<team>(pair());
        parallel_for(*members, 2, [](index) {}, {.schedule = static_{}});
        site here;
        std::atomic<bool> begun{false};
        std::atomic<bool> ending{false};
        std::atomic<bool> done{false};
        std::thread other([&] {
            const auto body = [&](range) {
                begun = true;
                while (!ending) std::this_thread::yield();
                for (int k = 0; k < 50; ++k) std::this_thread::yield();
                done = true;
            };
            parallel_for(*members, 1, body, {.site = &here});
        });
        while (!begun) std::this_thread::yield();
        ending = true;
        members.reset();
        CHECK(done);
        other.join();
    }
}

TEST_CASE("what is learned under a limit is of members below it, and apart") {
    const detail::loop_model_options all{.widths = {{1, 0}, {2, 300}, {4, 500}, {8, 900}},
                                         .microsecond = 1000};
    const auto widths_of = [&](int limit) {
        std::string text;
        for (const auto& one : detail::limited(all, limit).widths)
            text += std::to_string(one.width) + ":" + std::to_string(static_cast<int>(one.fork_ticks)) + " ";
        return text;
    };
    CHECK(widths_of(0) == "1:0 2:300 4:500 8:900 ");
    CHECK(widths_of(2) == "1:0 2:300 ");
    CHECK(widths_of(3) == "1:0 2:300 3:500 ");
    CHECK(widths_of(7) == "1:0 2:300 4:500 7:900 ");
    CHECK(widths_of(8) == widths_of(0));
    CHECK(widths_of(100) == widths_of(0));
    const detail::loop_model model(detail::limited(all, 3));
    CHECK(model.order().size() == 3);

    team members{pair()};
    static site here;
    for (int call = 0; call < 5; ++call) {
        parallel_for(members, 64, [](range) {}, {.site = &here});
        parallel_for(members, 64, [](range) {}, {.site = &here, .members = 2});
    }
    const std::string text = members.explain(here);
    CHECK(text.find("n = 64 to 127: ") == 0);
    CHECK(text.find("\nat most 2 members, n = 64 to 127: ") != std::string::npos);
}

}  // namespace tauto
