// The contract of parallel_invoke and task_group.

#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
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
using testing::shared_by;
using testing::team_sizes;

namespace {

long fibonacci(team& some, int n) {
    if (n < 2) return n;
    long left = 0;
    long right = 0;
    parallel_invoke(
        some, [&] { left = fibonacci(some, n - 1); }, [&] { right = fibonacci(some, n - 2); });
    return left + right;
}

void quicksort(team& some, int* first, int* last) {
    if (last - first < 2) return;
    const int pivot = first[(last - first) / 2];
    int* const less = std::partition(first, last, [&](int one) { return one < pivot; });
    int* const more = std::partition(less, last, [&](int one) { return one == pivot; });
    parallel_invoke(
        some, [&] { quicksort(some, first, less); }, [&] { quicksort(some, more, last); });
}

// Depth-first, as long as a task adds tasks.
void search(task_group& group, std::atomic<int>& nodes, unsigned seed, int depth) {
    ++nodes;
    if (depth == 0) return;
    const unsigned children = seed % 4;
    for (unsigned k = 0; k < children; ++k) {
        group.run([&group, &nodes, next = seed * 1664525U + 1013904223U + k * 97, depth] {
            search(group, nodes, next >> 3, depth - 1);
        });
    }
}

int count_nodes(unsigned seed, int depth) {
    int nodes = 1;
    if (depth == 0) return nodes;
    for (unsigned k = 0; k < seed % 4; ++k)
        nodes += count_nodes((seed * 1664525U + 1013904223U + k * 97) >> 3, depth - 1);
    return nodes;
}

}  // namespace

TEST_CASE("recursion: every function once, on any team" * doctest::description("algorithms.md, promise 14")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        CHECK(fibonacci(some, 18) == 2584);
        std::mt19937 random(1);
        std::vector<int> values(20'000);
        for (int& one : values) one = static_cast<int>(random() % 5000);
        quicksort(some, values.data(), values.data() + values.size());
        CHECK(std::is_sorted(values.begin(), values.end()));
        std::vector<int> calls(5);
        parallel_invoke(
            some, [&] { ++calls[0]; }, [&] { ++calls[1]; }, [&] { ++calls[2]; }, [&] { ++calls[3]; },
            [&, own = std::make_unique<int>(1)] { calls[4] += *own; });
        CHECK(calls == std::vector<int>(5, 1));
        parallel_invoke(some);
    }
}

TEST_CASE("a chain that is deeper than the deque" * doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(2));
    std::atomic<int> count{0};
    const auto chain = [&](const auto& self, int depth) -> void {
        if (depth > 0)
            parallel_invoke(
                some, [&] { self(self, depth - 1); }, [&] { ++count; });
    };
    chain(chain, 3000);
    CHECK(count.load() == 3000);
}

TEST_CASE("a member makes no more tasks than there are to steal" *
          doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(2));
    std::atomic<bool> is_there{false};
    std::atomic<bool> over{false};
    std::int64_t most = 0;
    const auto chain = [&](const auto& self, int depth) -> void {
        most = std::max(most, detail::running_tasks.region->deque(0).size());
        if (depth > 0)
            parallel_invoke(
                some, [&] { self(self, depth - 1); }, [] {});
    };
    parallel_invoke(
        some,
        [&] {
            while (!is_there.load()) std::this_thread::yield();
            chain(chain, 100);
            over = true;
        },
        // The other member can take nothing of the chain.
        [&] {
            is_there = true;
            while (!over.load()) std::this_thread::yield();
        });
    CHECK(most == detail::enough_to_steal);
}

TEST_CASE("both run at the same time where two members are free" *
          doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(2));
    std::atomic<int> here{0};
    const auto meet = [&] {
        ++here;
        while (here.load() < 2) std::this_thread::yield();
    };
    parallel_invoke(some, meet, meet);
    CHECK(here.load() == 2);
}

TEST_CASE("the exception of the first function that throws, through a tree; the team stays usable" *
          doctest::description("algorithms.md, promise 15")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        const auto tree = [&](const auto& self, int from, int to) -> void {
            if (to - from == 1) {
                if (from >= 37) throw std::runtime_error(std::to_string(from));
                return;
            }
            const int middle = (from + to) / 2;
            parallel_invoke(
                some, [&] { self(self, from, middle); }, [&] { self(self, middle, to); });
        };
        for (int repeat = 0; repeat < 20; ++repeat) CHECK_THROWS_WITH(tree(tree, 0, 128), "37");
        CHECK(fibonacci(some, 10) == 55);
    }
}

TEST_CASE("groups: tasks that add tasks, waits in between, move-only functions" *
          doctest::description("algorithms.md, promise 14")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        for (unsigned seed = 1; seed < 20; ++seed) {
            std::atomic<int> nodes{0};
            task_group::run_all(some, [&](task_group& group) { search(group, nodes, seed, 9); });
            CHECK(nodes.load() == count_nodes(seed, 9));
        }
        std::atomic<int> sum{0};
        task_group::run_all(some, [&](task_group& group) {
            for (int i = 0; i < 1000; ++i) group.run([&sum, own = std::make_unique<int>(i)] { sum += *own; });
            group.wait();
            CHECK(sum.load() == 999 * 500);
            // Groups and recursion in each other.
            group.run([&] {
                task_group::run_all(some, [&](task_group& inner) {
                    for (int i = 0; i < 10; ++i)
                        inner.run([&] { sum += static_cast<int>(fibonacci(some, 10)); });
                });
            });
            parallel_invoke(
                some, [&] { group.run([&] { ++sum; }); }, [&] { group.run([&] { ++sum; }); });
        });
        CHECK(sum.load() == 999 * 500 + 550 + 2);
    }
}

TEST_CASE("groups: what a function holds has ended when the wait has" *
          doctest::description("algorithms.md, promise 14")) {
    struct slow_to_end {
        std::atomic<int>* ended;
        explicit slow_to_end(std::atomic<int>& count) : ended(&count) {}
        slow_to_end(slow_to_end&& other) noexcept : ended(std::exchange(other.ended, nullptr)) {}
        ~slow_to_end() {
            if (ended == nullptr) return;
            testing::burn(20'000);
            ++*ended;
        }
        void operator()() const {}
    };
    for (const int members : team_sizes) {
        team some(shared_by(members));
        for (int repeat = 0; repeat < 20; ++repeat) {
            std::atomic<int> ended{0};
            int seen = 0;
            task_group::run_all(some, [&](task_group& group) {
                for (int i = 0; i < 20; ++i) group.run(slow_to_end(ended));
                group.wait();
                seen = ended.load();
            });
            CHECK(seen == 20);
        }
    }
}

TEST_CASE("groups: what a task throws comes out of run_all, and the rest is left out" *
          doctest::description("algorithms.md, promise 15")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        std::atomic<int> run{0};
        const auto failing = [&](task_group& group) {
            group.run([] { throw std::runtime_error("bad task"); });
            group.wait();
            for (int i = 0; i < 100; ++i) group.run([&] { ++run; });
        };
        CHECK_THROWS_WITH(task_group::run_all(some, failing), "bad task");
        CHECK(run.load() == 0);
        CHECK_THROWS_WITH(
            task_group::run_all(some, [](task_group&) { throw std::runtime_error("bad body"); }), "bad body");
    }
}

TEST_CASE("a wait for a group in the middle of other functions runs each of them once" *
          doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(2));
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::atomic<bool> busy{false};
        std::atomic<bool> over{false};
        std::atomic<int> outer{0};
        std::atomic<int> inner{0};
        std::atomic<int> added{0};
        task_group::run_all(some, [&](task_group& all) {
            // Nobody else has time.
            all.run([&] {
                busy = true;
                while (!over) std::this_thread::yield();
            });
            while (!busy) std::this_thread::yield();
            parallel_invoke(
                some,
                [&] {
                    task_group::run_all(some, [&](task_group& group) {
                        for (int k = 0; k < 3; ++k) group.run([&] { ++added; });
                        parallel_invoke(
                            some,
                            [&] {
                                group.wait();
                                if (repeat % 2 == 0) group.run([&] { ++added; });
                            },
                            [&] { ++inner; });
                    });
                },
                [&] { ++outer; });
            over = true;
        });
        CHECK(outer == 1);
        CHECK(inner == 1);
        CHECK(added == (repeat % 2 == 0 ? 4 : 3));
    }
}

TEST_CASE("a function of a body may wait for a group that was made outside, whoever has its tasks" *
          doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(2));
    for (int repeat = 0; repeat < 10; ++repeat) {
        std::atomic<int> ran{0};
        task_group::run_all(some, [&](task_group& all) {
            parallel_for(some, 2, [&](index) {
                std::atomic<bool> begun{false};
                for (int k = 0; k < 3; ++k) all.run([&] { ++ran; });
                parallel_invoke(
                    some,
                    [&] {
                        // Until another member has the second one, for a while.
                        for (int k = 0; k < 2000 && !begun; ++k) std::this_thread::yield();
                    },
                    [&] {
                        begun = true;
                        all.wait();
                    });
            });
        });
        CHECK(ran == 6);
    }
}

TEST_CASE("who is isolated runs nothing else while it waits" *
          doctest::description("algorithms.md, promise 16")) {
    using namespace std::chrono_literals;
    for (const bool isolated : {true, false}) {
        team some(shared_by(3));
        std::atomic<bool> is_there{false};
        std::atomic<bool> second_began{false};
        std::atomic<bool> over{false};
        std::atomic<int> ran_inside{0};
        static thread_local bool inside = false;
        task_group::run_all(some, [&](task_group& group) {
            // On the second member: once the third is at work, only the first could run what this adds.
            group.run([&] {
                is_there = true;
                while (!second_began.load()) std::this_thread::yield();
                for (int k = 0; k < 10; ++k) group.run([&] { ran_inside += inside ? 1 : 0; });
                while (!over.load()) std::this_thread::sleep_for(1ms);
            });
            while (!is_there.load()) std::this_thread::yield();
            const auto pair = [&] {
                inside = true;
                parallel_invoke(
                    some,
                    [&] {
                        while (!second_began.load()) std::this_thread::yield();
                    },
                    [&] {
                        second_began = true;
                        if (isolated) std::this_thread::sleep_for(20ms);
                        while (!isolated && ran_inside.load() == 0) std::this_thread::yield();
                    });
                inside = false;
                return 7;
            };
            CHECK((isolated ? isolate(pair) : pair()) == 7);
            over = true;
        });
        CAPTURE(isolated);
        CHECK((ran_inside.load() == 0) == isolated);
        // It helps again.
        CHECK(fibonacci(some, 15) == 610);
    }
}

TEST_CASE("recursions, loops and runs after each other, on members that may be late" *
          doctest::description("algorithms.md, promise 14")) {
    for (const int size : team_sizes) {
        for (int round = 0; round < 20; ++round) {
            team some({.size = size});  // each round begins without members, and ends them after a recursion
            std::vector<std::atomic<int>> done(100);
            int runs = 0;
            for (int i = 0; i < 20; ++i) {
                REQUIRE(fibonacci(some, 7) == 13);
                if (i % 3 == 0) parallel_for(some, 100, [&](index k) { ++at(done, k); });
                if (i % 4 == 1) {
                    std::atomic<int> inside = 0;
                    some.run([&](member& me) {
                        ++inside;
                        me.barrier();
                    });
                    REQUIRE(inside == size);
                    ++runs;
                }
                REQUIRE(fibonacci(some, 3) == 2);
            }
            for (const std::atomic<int>& one : done) REQUIRE(one == 7);
            CHECK(runs == 5);
        }
    }
}

namespace {

std::atomic<bool> held = false;
std::atomic<bool> may_go_on = false;

}  // namespace

TEST_CASE("who has no task is not waited for" * doctest::description("algorithms.md, promise 17")) {
    std::vector<pthread_t> threads(2);
    team some({.size = 2, .on_start = [&](int rank) { at(threads, rank) = pthread_self(); }});
    REQUIRE(fibonacci(some, 10) == 55);
    // A signal that members handle holds it up, where it is.
    struct sigaction hold {};
    struct sigaction before {};
    hold.sa_handler = [](int) {
        held = true;
        while (!may_go_on) {
        }
    };
    REQUIRE(sigaction(SIGPROF, &hold, &before) == 0);
    REQUIRE(pthread_kill(at(threads, 1), SIGPROF) == 0);
    while (!held) std::this_thread::yield();
    // It would have to come, and to leave.
    for (int i = 0; i < 100; ++i) CHECK(fibonacci(some, 12) == 144);
    may_go_on = true;
    int ran = 0;
    parallel_for(some, 2, [&](index) { ++ran; }, {.schedule = static_{}, .members = 1});
    CHECK(ran == 2);
    std::atomic<int> members = 0;
    some.run([&](member&) { ++members; });
    CHECK(members == 2);
    CHECK(fibonacci(some, 12) == 144);
    sigaction(SIGPROF, &before, nullptr);
}

TEST_CASE("a member that short calls left asleep comes to a long one" *
          doctest::description("algorithms.md, promise 18")) {
    pid_t member = 0;
    team some({.size = 2, .on_start = [&](int) { member = static_cast<pid_t>(syscall(SYS_gettid)); }});
    const auto call = [&](const std::function<void()>& first, const std::function<void()>& second) {
        parallel_invoke(some, first, second);
    };
    const auto short_task = [] { testing::burn(20); };
    for (int repeat = 0; repeat < 10; ++repeat) {
        for (int i = 0; i < 3000; ++i) call(short_task, short_task);
        REQUIRE(testing::others_fall_asleep());
        std::atomic<bool> came = false;
        bool met = false;
        call(
            [&] {
                const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                while (!came && std::chrono::steady_clock::now() < end) std::this_thread::yield();
                met = came;
            },
            [&] { came = true; });
        REQUIRE(met);
    }
    // Where no more calls come it sleeps for good.
    long before = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    do {
        REQUIRE(std::chrono::steady_clock::now() < end);
        before = testing::sleeps_of(member);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    } while (testing::sleeps_of(member) != before);
}

TEST_CASE("a recursion that forks and goes on in the child throws there" *
          doctest::description("runtime.md, promise 8")) {
    CHECK(testing::in_child([] {
              team some({.size = 2});
              pid_t child = -1;
              try {
                  task_group::run_all(some,
                                      [&](task_group&) { child = fork(); });  // no task that others have
                  if (child == 0) _exit(1);
              } catch (const error&) {
                  _exit(child == 0 ? 7 : 2);
              }
              int status = 0;
              waitpid(child, &status, 0);
              return WIFEXITED(status) && WEXITSTATUS(status) == 7 && fibonacci(some, 10) == 55;
          }) == 0);
}

TEST_CASE("inside a loop's body all of it stays on the member; and loops inside tasks" *
          doctest::description("algorithms.md, promise 14")) {
    team some(shared_by(3));
    std::atomic<int> right{0};
    parallel_for(some, 10,
                 [&](index) {
                     const auto here = std::this_thread::get_id();
                     bool same = true;
                     parallel_invoke(
                         some, [&] { same &= std::this_thread::get_id() == here; },
                         [&] { same &= std::this_thread::get_id() == here; });
                     task_group::run_all(some, [&](task_group& group) {
                         group.run([&] { same &= std::this_thread::get_id() == here; });
                     });
                     right += same ? 1 : 0;
                 },
                 {.schedule = dynamic{1}});
    CHECK(right.load() == 10);
    std::atomic<int> iterations{0};
    const auto loop = [&] { parallel_for(some, 100, [&](index) { ++iterations; }); };
    parallel_invoke(some, loop, loop, loop);
    CHECK(iterations.load() == 300);
}

}  // namespace tauto
