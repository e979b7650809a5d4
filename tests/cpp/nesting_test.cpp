// Loops in the bodies of loops and tasks: who takes part, and what holds whoever does.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tauto/tauto.hpp>

#include "asleep.hpp"
#include "child.hpp"
#include "reducing.hpp"

namespace tauto {
using detail::at;
using detail::usize;
using testing::burn;
using testing::cpu_seconds;
using testing::shared_by;

namespace {

using namespace std::chrono_literals;

// Until ready(), or false after a long time.
template <class Ready>
bool comes_true(Ready&& ready) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!ready()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

// In nanoseconds: mostly little.
int random_cost(index i, unsigned seed) {
    return (i * 7919 + seed) % 50 == 0 ? 100'000 : 500;
}

// Whether the team says so of this loop.
bool nests(const team& some, const site& where) {
    return some.explain(where).find("loops in its bodies") != std::string::npos;
}

// Teaches the outer loop that the loops in its bodies are long.
template <class Outer>
void learn(Outer&& outer) {
    for (int call = 0; call < 3; ++call) outer();
}

}  // namespace

TEST_CASE("members with nothing to do take parts of a loop in a body" *
          doctest::description("runtime.md, promise 4")) {
    for (const index outer : {1, 2, 5}) {
        team some(shared_by(3));
        std::atomic<bool> meets{false};
        std::atomic<bool> met{true};
        const auto loops = [&] {
            parallel_for(some, outer, [&](index i) {
                std::atomic<int> here{0};
                parallel_for(some, 3, [&](index) {
                    burn(20'000);
                    ++here;
                    // Only while another member is in it too.
                    if (meets && i == outer - 1 && !comes_true([&] { return here.load() >= 2; })) met = false;
                });
            });
        };
        learn(loops);
        meets = true;
        loops();
        CAPTURE(outer);
        CHECK(met);
    }
    // In a task as well, and the loop of a reduction.
    team some(shared_by(2));
    std::atomic<int> here{0};
    std::atomic<bool> met{true};
    const auto meet = [&](index) {
        ++here;
        if (!comes_true([&] { return here.load() >= 2; })) met = false;
    };
    parallel_invoke(
        some, [&] { parallel_for(some, 2, meet); }, [] {});
    here = 0;
    parallel_invoke(
        some,
        [&] {
            const auto one = [&](index i) {
                meet(i);
                return i;
            };
            CHECK(parallel_reduce(some, 2, index{0}, one, std::plus<>{}, {.grain = 1}) == 1);
        },
        [] {});
    CHECK(met);
}

TEST_CASE("the first call of a loop shares what is in its bodies" *
          doctest::description("runtime.md, promise 4")) {
    team some(shared_by(2));
    std::atomic<int> here{0};
    bool met = true;
    // Comes to its end where another member is in it, too.
    const auto meet = [&] {
        burn(100'000);
        ++here;
        if (!comes_true([&] { return here.load() >= 2; })) met = false;
    };
    const auto in_first = [&](index n, auto&& inside) {
        here = 0;
        parallel_for(some, n, [&](index i) {
            if (i == 0) inside();
        });
        return met;
    };
    for (const index n : {1, 2}) {
        CAPTURE(n);
        CHECK(in_first(n, [&] { parallel_for(some, 2, [&](index) { meet(); }); }));
        CHECK(in_first(n, [&] { parallel_invoke(some, meet, [&] { meet(); }); }));
        CHECK(in_first(n, [&] {
            task_group::run_all(some, [&](task_group& group) {
                group.run([&] { meet(); });
                meet();
            });
        }));
        CHECK(in_first(n, [&] {
            const int sum = parallel_reduce(
                some, 2, 0,
                [&](range r) {
                    meet();
                    return static_cast<int>(r.size());
                },
                [](int a, int b) { return a + b; }, {.grain = 1});
            if (sum != 2) met = false;
        }));
    }
    // Also where it was called for fewer before, and these had nothing long to do.
    const auto outer = [&](index n, auto&& inside) {
        static site where;
        parallel_for(some, n,
                     [&](index i) {
                         if (i == 0) parallel_for(some, 2, [&](index) { inside(); });
                     },
                     {.site = &where});
    };
    for (int call = 0; call < 5; ++call) outer(2, [] {});
    here = 0;
    outer(20, meet);
    CHECK(met);
}

TEST_CASE("members with nothing to do take functions in a loop's body" *
          doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(2));
    for (const bool in_group : {false, true}) {
        std::atomic<bool> meets{false};
        std::atomic<bool> met{true};
        const auto loop = [&] {
            parallel_for(some, 1, [&](index) {
                std::atomic<int> here{0};
                const auto part = [&] {
                    burn(20'000);
                    ++here;
                    if (meets && !comes_true([&] { return here.load() == 2; })) met = false;
                };
                if (in_group) {
                    task_group::run_all(some, [&](task_group& group) {
                        group.run(part);
                        group.run(part);
                    });
                } else {
                    parallel_invoke(some, part, part);
                }
            });
        };
        learn(loop);
        meets = true;
        loop();
        CAPTURE(in_group);
        CHECK(met);
    }
}

TEST_CASE("the caller takes functions in the bodies that it waits for" *
          doctest::description("runtime.md, promise 4")) {
    team some(shared_by(2));
    for (const bool in_loop : {false, true}) {
        std::atomic<bool> meets{false};
        std::atomic<bool> met{true};
        const auto loop = [&] {
            std::atomic<bool> begun{false};
            parallel_for(some, 2, [&](range, int rank) {
                // The caller's body ends once the worker has the other one.
                if (meets && rank == 0) {
                    if (!comes_true([&] { return begun.load(); })) met = false;
                    return;
                }
                begun = true;
                std::atomic<int> here{0};
                const auto part = [&] {
                    burn(20'000);
                    ++here;
                    if (meets && !comes_true([&] { return here.load() == 2; })) met = false;
                };
                const auto parts = [&] { parallel_for(some, 2, [&](index) { part(); }); };
                if (in_loop) {
                    // Of a loop in a function, too.
                    parallel_invoke(some, parts, [] {});
                } else {
                    parallel_invoke(some, part, part);
                }
            });
        };
        learn(loop);
        meets = true;
        for (int call = 0; call < 5; ++call) loop();
        CAPTURE(in_loop);
        CHECK(met);
    }
}

TEST_CASE("who waits in a body takes functions of what it waits for" *
          doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(2));
    enum class inside { function, loop, isolated };
    for (const inside where : {inside::function, inside::loop, inside::isolated}) {
        std::atomic<bool> meets{false};
        std::atomic<bool> met{true};
        const auto until = [&](auto&& ready) {
            if (meets && !comes_true(ready)) met = false;
        };
        const auto loop = [&] {
            std::atomic<bool> begun{false};
            std::atomic<bool> taken{false};
            parallel_for(some, 2, [&](range, int rank) {
                if (meets && rank == 0) return until([&] { return begun.load(); });
                begun = true;
                std::atomic<int> here{0};
                const auto part = [&] {
                    burn(20'000);
                    ++here;
                    until([&] { return here.load() == 2; });
                };
                const auto body = [&] {
                    parallel_invoke(
                        some, [&] { until([&] { return taken.load(); }); },
                        [&] {
                            taken = true;
                            if (where == inside::loop) {
                                parallel_for(some, 2, [&](index) { part(); });
                            } else {
                                parallel_invoke(some, part, part);
                            }
                        });
                };
                if (where == inside::isolated) {
                    isolate(body);
                } else {
                    body();
                }
            });
        };
        learn(loop);
        meets = true;
        for (int call = 0; call < 5; ++call) loop();
        CAPTURE(static_cast<int>(where));
        CHECK(met);
    }
}

TEST_CASE("members with nothing to do take parts of an algorithm in a task" *
          doctest::description("runtime.md, promise 4; algorithms.md, promise 3")) {
    team some(shared_by(2));
    std::atomic<bool> met{true};
    std::atomic<int> call{0};
    std::atomic<int> here{0};
    // Each thread waits once a call, until another one is in it too.
    const auto meet = [&] {
        static thread_local int last = 0;
        if (std::exchange(last, call.load()) == call.load()) return;
        ++here;
        if (!comes_true([&] { return here.load() >= 2; })) met = false;
    };
    std::vector<index> values(20'000);
    std::iota(values.begin(), values.end(), 0);
    std::vector<index> found(values.size());
    const auto in_task = [&](auto&& algorithm) {
        here = 0;
        ++call;
        parallel_invoke(
            some, [&] { algorithm(); }, [] {});
        CHECK(met);
    };
    in_task([&] {
        const auto at = parallel_find_if(some, values.begin(), values.end(), [&](index value) {
            meet();
            return value == 19'999;
        });
        CHECK(at - values.begin() == 19'999);
    });
    in_task([&] {
        const auto end =
            parallel_copy_if(some, values.begin(), values.end(), found.begin(), [&](index value) {
                meet();
                return value % 2 == 1;
            });
        CHECK(end - found.begin() == 10'000);
        CHECK(found[9'999] == 19'999);
    });
    in_task([&] {
        const auto middle = parallel_stable_partition(some, values.begin(), values.end(), [&](index value) {
            meet();
            return value % 2 == 1;
        });
        CHECK(middle - values.begin() == 10'000);
        CHECK(values[10'000] == 0);
    });
    in_task([&] {
        const auto counts = parallel_histogram(some, values, 4, [&](index value) {
            meet();
            return value % 4;
        });
        CHECK(counts == std::vector<std::uint64_t>(4, 5'000));
    });
}

TEST_CASE("every iteration of loops in loops runs once, by the rank that it is told" *
          doctest::description("runtime.md, promise 4")) {
    for (const int members : {1, 2, 3, 7, 16}) {
        team some(shared_by(members));
        std::mt19937 random(static_cast<unsigned>(members));
        std::vector<std::atomic<int>> times(6 * 5 * 4 * 3 * 3);
        std::atomic<int> wrong{0};
        // As deep as loops are shared, and one more.
        const auto nest = [&](const auto& self, std::vector<int> sizes, index place,
                              int nanoseconds) -> void {
            const int n = sizes.back();
            sizes.pop_back();
            parallel_for(some, n, [&, sizes](range r, int rank) {
                wrong += rank != detail::running_as.rank || rank >= members;
                for (index i = r.begin; i < r.end; ++i) {
                    if (!sizes.empty()) {
                        self(self, sizes, place * n + i, nanoseconds);
                    } else {
                        burn(nanoseconds);
                        ++at(times, place * n + i);
                    }
                }
            });
        };
        for (int call = 0; call < 6; ++call) {
            for (auto& one : times) one = 0;
            nest(nest, {3, 3, 4, 5, 6}, 0, call % 2 == 0 ? 2000 : 0);
            CHECK(std::all_of(times.begin(), times.end(), [](const auto& one) { return one == 1; }));
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("a member that waits for its loop begins no body but of loops in it" *
          doctest::description("runtime.md, promise 4")) {
    team some(shared_by(4));
    std::vector<std::atomic<int>> busy(4);
    std::atomic<bool> entered_twice{false};
    std::atomic<index> sum{0};
    const auto loops = [&] {
        parallel_for(some, 9, [&](range r, int rank) {
            for (index i = r.begin; i < r.end; ++i) {
                if (++at(busy, rank) != 1) entered_twice = true;
                parallel_for(some, 30, [&](index k) {
                    burn(k == 29 ? 200'000 : 2000);
                    sum += k;
                });
                --at(busy, rank);
            }
        });
    };
    for (int call = 0; call < 20; ++call) loops();
    CHECK(sum == 20 * 9 * 435);
    CHECK_FALSE(entered_twice);
}

TEST_CASE("no function of another body begins in the middle of one" *
          doctest::description("runtime.md, promise 4")) {
    team some(shared_by(4));
    static thread_local index in_outer = -1;
    static thread_local index in_inner = -1;
    std::atomic<int> wrong{0};
    std::atomic<int> ran{0};
    // A recursion of functions in the bodies (outer, inner); inner is -1 in the outer one alone.
    const auto functions = [&](const auto& self, index outer, index inner, int deep) -> void {
        wrong += in_outer != -1 && in_outer != outer;
        wrong += in_inner != -1 && in_inner != inner;
        if (deep == 0) {
            burn(3000);
            ++ran;
            return;
        }
        parallel_invoke(
            some, [&] { self(self, outer, inner, deep - 1); }, [&] { self(self, outer, inner, deep - 1); });
    };
    const auto loops = [&] {
        parallel_for(some, 5, [&](index outer) {
            wrong += in_outer != -1;
            in_outer = outer;
            parallel_invoke(
                some, [&] { functions(functions, outer, -1, outer == 0 ? 5 : 2); },
                [&] {
                    parallel_for(some, 4, [&](index inner) {
                        const index id = 10 * outer + inner;
                        const index around = std::exchange(in_inner, id);
                        wrong += around != -1;
                        functions(functions, outer, id, 2);
                        in_inner = around;
                    });
                });
            in_outer = -1;
        });
    };
    for (int call = 0; call < 30; ++call) loops();
    CHECK(wrong == 0);
    CHECK(ran == 30 * (32 + 4 * 4 + 5 * 4 * 4));
}

TEST_CASE("which scopes are within others" * doctest::description("runtime.md, promise 4")) {
    using namespace detail;
    scopes all(3);
    const scope outer = all.enter(1, no_scope);
    const scope inner = all.enter(2, outer);
    const scope innermost = all.enter(1, inner);
    const scope other = all.enter(0, no_scope);
    for (const scope one : {no_scope, outer, inner, innermost, other, empty_scope}) {
        CHECK(all.is_within(one, no_scope));
        CHECK_FALSE(all.is_within(one, empty_scope));
        CHECK(all.is_within(one, outer) == (one == outer || one == inner || one == innermost));
        CHECK(all.is_within(one, inner) == (one == inner || one == innermost));
        CHECK(all.is_within(one, other) == (one == other));
    }
    all.leave(1, innermost);
    CHECK(all.enter(1, other) == innermost);
    CHECK_FALSE(all.is_within(innermost, outer));
    // A member in many is in no more; it comes out again.
    std::vector<scope> many;
    while (many.empty() || many.back() != empty_scope)
        many.push_back(all.enter(0, many.empty() ? other : many.back()));
    CHECK(many.size() > 10);
    CHECK(all.is_within(many[many.size() - 2], other));
    const scope in_empty = all.enter(2, empty_scope);
    CHECK_FALSE(all.is_within(in_empty, other));
    for (; !many.empty(); many.pop_back()) all.leave(0, many.back());
    all.leave(0, other);
    CHECK(all.enter(0, no_scope) == other);
}

TEST_CASE("what bodies of loops in loops throw; and the team stays usable" *
          doctest::description("runtime.md, promise 3")) {
    team some(shared_by(3));
    bool throws = false;
    const auto loops = [&] {
        parallel_for(some, 3, [&](index i) {
            parallel_for(some, 40, [&](index k) {
                burn(2000);
                if (throws && k >= 20) throw std::runtime_error(std::to_string(i) + " " + std::to_string(k));
            });
        });
    };
    learn(loops);
    throws = true;
    for (int call = 0; call < 20; ++call) CHECK_THROWS_AS(loops(), std::runtime_error);
    throws = false;
    CHECK_NOTHROW(loops());
    // Of one loop, what its lowest iteration that threw has thrown.
    std::string told;
    parallel_invoke(
        some,
        [&] {
            try {
                parallel_for(some, 2, [&](index k) {
                    static std::atomic<int> here;
                    ++here;
                    CHECK(comes_true([] { return here.load() >= 2; }));
                    throw std::runtime_error(std::to_string(k));
                });
            } catch (const std::runtime_error& error) {
                told = error.what();
            }
        },
        [] {});
    CHECK(told == "0");
}

TEST_CASE("a loop in a loop hears a stop" * doctest::description("runtime.md, promise 6")) {
    team some(shared_by(3));
    std::stop_source source;
    std::atomic<int> stopped{0};
    std::atomic<index> ran{0};
    bool stops = false;
    const auto loops = [&] {
        parallel_for(some, 3, [&](index) {
            const bool all = parallel_for(some, 1000,
                                          [&](index) {
                                              burn(1000);
                                              ++ran;
                                              if (stops) source.request_stop();
                                          },
                                          {.stop = source.get_token()});
            stopped += all ? 0 : 1;
        });
    };
    learn(loops);
    CHECK(stopped == 0);
    CHECK(ran == 9000);
    stops = true;
    ran = 0;
    loops();
    CHECK(stopped == 3);
    CHECK(ran < 1500);
}

TEST_CASE("which loops in bodies stay on their member" * doctest::description("runtime.md, promise 4")) {
    team some(shared_by(3));
    team smaller(shared_by(2));
    std::atomic<int> moved{0};
    const auto stay = [&](team& where, const loop_options& options) {
        const auto here = std::this_thread::get_id();
        parallel_for(
            where, 50,
            [&](index) {
                burn(2000);
                moved += std::this_thread::get_id() != here;
            },
            options);
    };
    for (int call = 0; call < 5; ++call) {
        // With a limit, with another schedule, of a smaller team, and in a loop that has a schedule or a
        // limit.
        parallel_for(some, 3, [&](index) { stay(some, {.members = 1}); });
        parallel_for(some, 3, [&](index) { stay(some, {.schedule = dynamic{1}}); });
        parallel_for(some, 3, [&](index) { stay(smaller, {}); });
        parallel_for(some, 3, [&](index) { stay(some, {}); }, {.schedule = dynamic{1}});
        parallel_for(some, 3, [&](index) { stay(some, {}); }, {.members = 2});
        some.run([&](member&) { stay(some, {}); });
    }
    CHECK(moved == 0);
}

TEST_CASE("algorithms of other teams in bodies answer as outside of all" *
          doctest::description("runtime.md, promise 4; algorithms.md, promise 3")) {
    std::mt19937_64 random(24);
    std::vector<index> values(30'000);
    for (index& one : values) one = static_cast<index>(random() % 1000);
    std::vector<double> numbers(values.begin(), values.end());
    team one(shared_by(1));
    struct answers {
        std::vector<index> sorted, odd;
        std::vector<double> scanned;
        std::vector<std::uint64_t> counts;
        index least = 0;
        index first = 0;
        bool operator==(const answers&) const = default;
    };
    const auto ask = [&](team& members) {
        answers all{values, std::vector<index>(values.size()), numbers, {}, 0, 0};
        parallel_stable_sort(members, all.sorted.begin(), all.sorted.end(),
                             [](index a, index b) { return a % 100 < b % 100; });
        all.odd.erase(parallel_copy_if(members, values.begin(), values.end(), all.odd.begin(),
                                       [](index value) { return value % 2 == 1; }),
                      all.odd.end());
        parallel_inclusive_scan(members, numbers.begin(), numbers.end(), all.scanned.begin());
        all.counts = parallel_histogram(members, values, 1000);
        all.least = parallel_min_element(members, values.begin(), values.end()) - values.begin();
        all.first = parallel_find(members, values.begin(), values.end(), 999) - values.begin();
        return all;
    };
    const answers alone = ask(one);
    for (const int size : {2, 3}) {
        team around(shared_by(size));
        for (const int other : {1, 2, 3, 5}) {
            team library(shared_by(other));
            std::atomic<int> wrong{0};
            for (int call = 0; call < 4; ++call) {
                parallel_for(around, 3, [&](index) { wrong += ask(library) != alone; });
                parallel_for(around, 1, [&](index) { wrong += ask(library) != alone; });
                parallel_invoke(
                    around, [&] { wrong += ask(library) != alone; }, [&] { wrong += ask(library) != alone; });
            }
            CAPTURE(size);
            CAPTURE(other);
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("the bits of a reduction are the same in a loop" * doctest::description("runtime.md, promise 16")) {
    const std::vector<double> x = testing::numbers(20'000, 7);
    const auto value = [&](index i) {
        burn(10);
        return at(x, i);
    };
    team one(shared_by(1));
    const double alone = parallel_reduce(one, std::ssize(x), 0.0, value, std::plus<>{});
    team some(shared_by(3));
    std::atomic<int> others{0};
    for (int call = 0; call < 6; ++call) {
        parallel_for(some, 3, [&](index) {
            others += parallel_reduce(some, std::ssize(x), 0.0, value, std::plus<>{}) != alone;
        });
    }
    CHECK(others == 0);
}

TEST_CASE("what a loop in a task reports" * doctest::description("runtime.md, promise 4")) {
    team some(shared_by(2));
    loop_report report;
    parallel_invoke(
        some,
        [&] {
            std::atomic<int> here{0};
            parallel_for(some, 2,
                         [&](index) {
                             ++here;
                             CHECK(comes_true([&] { return here.load() >= 2; }));
                         },
                         {.report = &report});
        },
        [] {});
    CHECK(report.width == 2);
    CHECK(report.steals == 1);
    CHECK(report.iterations == std::vector<index>{1, 1});
}

TEST_CASE("a loop that nests says so, until its loops are short" *
          doctest::description("runtime.md, promise 4")) {
    team some(shared_by(2));
    static site where;
    int nanoseconds = 2000;
    const auto loops = [&] {
        parallel_for(some, 3,
                     [&](index) {
                         parallel_for(some, 50, [&](index) {
                             if (nanoseconds > 0) burn(nanoseconds);
                         });
                     },
                     {.site = &where});
    };
    learn(loops);
    CHECK(nests(some, where));
    for (int call = 0; call < 10; ++call) {
        loops();
        CHECK(nests(some, where));
    }
    nanoseconds = 0;
    for (int call = 0; call < 2000 && nests(some, where); ++call) loops();
    CHECK_FALSE(nests(some, where));
}

TEST_CASE("of calls that take turns each is timed" * doctest::description("runtime.md, promise 4")) {
    std::thread([] {  // of which no call was timed yet
        for (int calls = 1; calls <= 64; ++calls) {
            std::vector<int> timed(detail::usize(calls));
            for (int turn = 0; turn < 64 * 30; ++turn)
                for (int& one : timed) one += detail::calls_in_bodies::is_next_timed() ? 1 : 0;
            CAPTURE(calls);
            CHECK(*std::min_element(timed.begin(), timed.end()) >= 15);
            CHECK(*std::max_element(timed.begin(), timed.end()) <= 60);
        }
        detail::calls_in_bodies::time_after(10 << 14);
        int timed = 0;
        for (int call = 0; call < 10; ++call) timed += detail::calls_in_bodies::is_next_timed() ? 1 : 0;
        CHECK(timed == 10);
    })
        .join();
}

TEST_CASE("a loop whose bodies become long is shared soon" * doctest::description("runtime.md, promise 4")) {
    team some(shared_by(2));
    static site where;
    int nanoseconds = 0;
    const auto loop = [&] {
        parallel_for(some, 2,
                     [&](index) {
                         parallel_for(some, 8, [&](index) {
                             if (nanoseconds > 0) burn(nanoseconds);
                         });
                     },
                     {.site = &where});
    };
    for (int call = 0; call < 2000 && (call < 3 || nests(some, where)); ++call) loop();
    REQUIRE_FALSE(nests(some, where));
    nanoseconds = 100'000;
    int calls = 0;
    for (; calls < 40 && !nests(some, where); ++calls) loop();
    // 8 where the loop is run inline without a look at the clock, and those that learn and say so.
    CHECK(calls <= 12);
}

TEST_CASE("what a body calls with another team is shared by those around" *
          doctest::description("runtime.md, promise 4")) {
    team some(shared_by(2));
    team library(shared_by(3));
    const std::vector<double> x = testing::numbers(3'000, 7);
    const auto value = [&](index i) {
        burn(1000);
        return at(x, i);
    };
    const double alone = parallel_reduce(library, std::ssize(x), 0.0, value, std::plus<>{});
    std::atomic<int> wrong{0};
    for (const index outer : {1, 2}) {
        std::atomic<bool> meets{false};
        std::atomic<int> in_vain{0};
        const auto both_come = [&](std::atomic<int>& here) {
            burn(20'000);
            ++here;
            if (meets && !comes_true([&] { return here.load() >= 2; })) ++in_vain;
        };
        const auto bodies = [&] {
            parallel_for(some, outer, [&](index i) {
                if (i != 0) return;
                std::atomic<int> in_loop{0};
                loop_report report;
                parallel_for(library, 2,
                             [&](range r, int rank) {
                                 wrong += rank < 0 || rank >= library.size();
                                 for (index k = r.begin; k < r.end; ++k) both_come(in_loop);
                             },
                             {.report = &report});
                wrong += meets && report.iterations != std::vector<index>{1, 1, 0} &&
                         report.iterations != std::vector<index>{1, 0, 1} &&
                         report.iterations != std::vector<index>{0, 1, 1};
                std::atomic<int> in_tasks{0};
                parallel_invoke(
                    library, [&] { both_come(in_tasks); }, [&] { both_come(in_tasks); });
                wrong += parallel_reduce(library, std::ssize(x), 0.0, value, std::plus<>{}) != alone;
            });
        };
        learn(bodies);
        meets = true;
        bodies();
        CAPTURE(outer);
        CHECK(in_vain == 0);
    }
    CHECK(wrong == 0);
}

TEST_CASE("a loop whose bodies have tasks says so too" * doctest::description("runtime.md, promise 4")) {
    team some(shared_by(2));
    static site where;
    const auto part = [] { burn(50'000); };
    const auto loop = [&] {
        parallel_for(some, 2, [&](index) { parallel_invoke(some, part, part); }, {.site = &where});
    };
    learn(loop);
    for (int call = 0; call < 10; ++call) {
        loop();
        CHECK(nests(some, where));
    }
}

TEST_CASE("a loop begins while another thread has the members" *
          doctest::description("runtime.md, promise 5")) {
    for (const int members : {1, 2}) {  // no more than there are threads
        team some(shared_by(members));
        for (int call = 0; call < 3; ++call) {
            std::atomic<bool> holds{false};
            std::atomic<int> ran{0};
            std::atomic<bool> ended{false};
            std::atomic<bool> in_time{true};
            std::thread other([&] {
                while (!holds) std::this_thread::yield();
                parallel_for(some, 1000, [&](range r) { ran += static_cast<int>(r.size()); });
                ended = true;
            });
            // It does not sleep, so nobody may guess that it waits for the other one.
            parallel_for(some, 2, [&](index) {
                holds = true;
                if (!comes_true([&] { return ended.load(); })) in_time = false;
            });
            other.join();
            CAPTURE(members);
            CHECK(in_time);
            CHECK(ran == 1000);
        }
    }
}

TEST_CASE("loops of several threads run each iteration once, throw the first and hear a stop" *
          doctest::description("runtime.md, promises 1, 3, 5 and 6")) {
    team some(shared_by(3));
    std::atomic<int> wrong{0};
    const auto use = [&](unsigned seed) {
        std::mt19937 random(seed);
        for (int call = 0; call < 60; ++call) {
            const index n = 1 + static_cast<index>(random() % 300);
            const index throws_at = random() % 4 == 0 ? static_cast<index>(random() % usize(n)) : n;
            std::vector<std::atomic<int>> ran(usize(n));
            std::stop_source stop;
            const bool stops = random() % 5 == 0;
            index thrown = n;
            bool all = true;
            try {
                all = parallel_for(some, n,
                                   [&](index i) {
                                       burn(random_cost(i, seed));
                                       ++at(ran, i);
                                       if (stops && i == n / 2) stop.request_stop();
                                       if (i == throws_at) throw i;
                                   },
                                   {.stop = stop.get_token()});
            } catch (index i) {
                thrown = i;
            }
            index once = 0;
            for (const auto& one : ran) {
                wrong += one > 1;
                once += one == 1;
            }
            wrong += thrown != throws_at && !(stops && thrown == n);
            wrong += all && thrown == n && once != n;
            wrong += !all && !stops;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned k = 1; k <= 4; ++k) threads.emplace_back(use, k);
    for (std::thread& one : threads) one.join();
    CHECK(wrong == 0);
}

TEST_CASE("a body of a loop in a loop may wait for another thread that uses the team" *
          doctest::description("runtime.md, promise 5")) {
    team some(shared_by(3));
    bool waits = false;
    std::atomic<int> right{0};
    const auto loops = [&] {
        parallel_for(some, 2, [&](index) {
            parallel_for(some, 20, [&](index k) {
                burn(3000);
                if (!waits || k != 0) return;
                const auto sum_of = [&] {
                    std::atomic<index> sum{0};
                    parallel_for(some, 1000, [&](index i) { sum += i; });
                    return sum.load();
                };
                right += std::async(std::launch::async, sum_of).get() == 499'500;
            });
        });
    };
    learn(loops);
    waits = true;
    loops();
    CHECK(right == 2);
}

TEST_CASE("members with nothing to do sleep" * doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(2));
    std::atomic<int> ran{0};
    parallel_invoke(
        some, [&] { ++ran; }, [&] { ++ran; });
    const double before = cpu_seconds();
    parallel_invoke(
        some, [&] { std::this_thread::sleep_for(500ms); }, [&] { ++ran; });
    CHECK(cpu_seconds() - before < 0.25);
    // And they wake for what is added later.
    std::atomic<bool> met{false};
    task_group::run_all(some, [&](task_group& group) {
        std::this_thread::sleep_for(50ms);
        std::atomic<bool> there{false};
        group.run([&] { there = true; });
        met = comes_true([&] { return there.load(); });
    });
    CHECK(met);
    CHECK(ran == 3);
}

TEST_CASE("a child that a body of a loop in a loop forked does not go on" *
          doctest::description("runtime.md, promise 8")) {
    CHECK(testing::in_child([] {
              team some(shared_by(2));
              bool forks = false;
              const auto loops = [&] {
                  parallel_for(some, 2, [&](index) {
                      parallel_for(some, 40, [&](index k) {
                          burn(20'000);
                          if (!forks || k != 5) return;
                          const pid_t child = fork();
                          if (child == 0) return;  // what it must not do
                          int status = 0;
                          waitpid(child, &status, 0);
                          if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                              throw std::logic_error("went on");
                      });
                  });
              };
              learn(loops);
              forks = true;
              const pid_t self = getpid();
              try {
                  loops();
              } catch (const error&) {
                  if (getpid() != self) _exit(7);  // on the caller the loop throws
                  throw;
              }
              return getpid() == self;
          }) == 0);
}

}  // namespace tauto
