// The promises at the head of tauto/parlay.hpp.

#include <tauto/parlay.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "reducing.hpp"

#if __has_include(<parlay/primitives.h>)
#include <parlay/primitives.h>
#endif

namespace {

constexpr std::size_t workers = 4;

// Before the first call makes the team.
const bool asked = setenv("PARLAY_NUM_THREADS", "4", 1) == 0;

using thread_ids = std::set<std::thread::id>;

class noted_threads {
  public:
    void note() {
        const std::lock_guard lock(mutex_);
        all_.insert(std::this_thread::get_id());
    }
    [[nodiscard]] const thread_ids& all() const { return all_; }

  private:
    std::mutex mutex_;
    thread_ids all_;
};

// Returns once so many threads are in it at the same time.
class meeting {
  public:
    explicit meeting(int threads) : left_(threads) {}
    void wait() {
        --left_;
        while (left_ > 0) std::this_thread::yield();
    }

  private:
    std::atomic<int> left_;
};

long fibonacci(int n) {
    if (n < 2) return n;
    long left = 0;
    long right = 0;
    parlay::par_do([&] { left = fibonacci(n - 1); }, [&] { right = fibonacci(n - 2); });
    return left + right;
}

TEST_CASE("every iteration and function once, on as many members as are asked for" *
          doctest::description("parlay.hpp, promise 1")) {
    REQUIRE(asked);
    CHECK(parlay::num_workers() == workers);
    for (const std::size_t n : {0, 1, 2, 1000, 100'000}) {
        for (const long granularity : {0, 1, 64}) {
            std::vector<int> calls(n + 5);
            parlay::parallel_for(
                5, n + 5, [&](std::size_t i) { ++calls[i]; }, granularity);
            CHECK(std::count(calls.begin(), calls.begin() + 5, 0) == 5);
            CHECK(std::count(calls.begin() + 5, calls.end(), 1) == static_cast<std::ptrdiff_t>(n));
        }
    }
    parlay::parallel_for(7, 3, [](std::size_t) { FAIL("a loop that ends before it begins"); });
    CHECK(fibonacci(18) == 2584);
    std::vector<std::vector<int>> deep(20, std::vector<int>(5000));
    parlay::parallel_for(0, deep.size(), [&](std::size_t i) {
        parlay::par_do([&] { parlay::parallel_for(0, 2500, [&](std::size_t k) { ++deep[i][k]; }); },
                       [&] {
                           parlay::parallel_for(
                               2500, 5000, [&](std::size_t k) { ++deep[i][k]; }, 0, true);
                       });
    });
    CHECK(deep == std::vector(20, std::vector<int>(5000, 1)));

    setenv("PARLAY_NUM_THREADS", "four", 1);
    CHECK_THROWS_WITH(tauto::parlay_scheduler::asked_members(),
                      "PARLAY_NUM_THREADS is \"four\"; set it to a number from 1");
    setenv("PARLAY_NUM_THREADS", "4", 1);
}

TEST_CASE("members have different numbers" * doctest::description("parlay.hpp, promise 2")) {
    CHECK(parlay::worker_id() == 0);
    std::vector<std::atomic<int>> there(workers);
    std::atomic<bool> right{true};
    const auto enter = [&](std::size_t) {
        const std::size_t id = parlay::worker_id();
        if (id >= workers || there[id].fetch_add(1) != 0) right = false;
        tauto::testing::burn(2000);
        if (id < workers) --there[id];
    };
    for (int repeat = 0; repeat < 20; ++repeat) {
        parlay::parallel_for(0, 100, enter);
        parlay::par_do([&] { parlay::parallel_for(0, 100, enter); },
                       [&] { parlay::parallel_for(0, 100, enter, 1); });
    }
    CHECK(right);
}

TEST_CASE("a loop inside of a par_do is run by the members that have nothing to do" *
          doctest::description("parlay.hpp, promise 3")) {
    for (int repeat = 0; repeat < 10; ++repeat) {
        meeting all(static_cast<int>(workers));
        noted_threads threads;
        const auto meet = [&](std::size_t) {
            threads.note();
            all.wait();
        };
        parlay::par_do([&] { parlay::parallel_for(0, workers, meet, 1); }, [] {});
        CHECK(threads.all().size() == workers);
    }
}

TEST_CASE("a loop inside of a loop too, from the second call of the outer one" *
          doctest::description("parlay.hpp, promise 4")) {
    meeting all(4);
    noted_threads threads;
    const auto outer = [&](bool first) {
        parlay::parallel_for(
            0, 2,
            [&](std::size_t) {
                parlay::parallel_for(
                    0, 2,
                    [&](std::size_t) {
                        if (first) {
                            tauto::testing::burn(100'000);
                        } else {
                            threads.note();
                            all.wait();
                        }
                    },
                    1);
            },
            1);
    };
    outer(true);
    outer(false);
    CHECK(threads.all().size() == 4);
}

TEST_CASE("a granularity is as many iterations as run in turn" *
          doctest::description("parlay.hpp, promise 5")) {
    const std::thread::id here = std::this_thread::get_id();
    std::vector<std::size_t> order;
    noted_threads threads;
    parlay::parallel_for(
        0, 100,
        [&](std::size_t i) {
            order.push_back(i);
            threads.note();
        },
        100);
    CHECK(threads.all() == thread_ids{here});
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(order.size() == 100);
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<std::thread::id> by(64);
        const auto note = [&](std::size_t i) {
            by[i] = std::this_thread::get_id();
            tauto::testing::burn(1000);
        };
        parlay::par_do([&] { parlay::parallel_for(0, 64, note, 16); }, [] {});
        for (std::size_t i = 0; i < 64; ++i) CHECK(by[i] == by[i / 16 * 16]);
    }
}

TEST_CASE("who waits in a conservative call runs nothing else" *
          doctest::description("parlay.hpp, promise 6")) {
    for (int repeat = 0; repeat < 40; ++repeat) {
        std::atomic<bool> begun{false};
        std::thread::id waits;
        noted_threads threads;
        const auto left = [&] {
            while (!begun) std::this_thread::yield();
            waits = std::this_thread::get_id();
        };
        const auto right = [&] {
            begun = true;
            parlay::parallel_for(
                0, 200,
                [&](std::size_t) {
                    tauto::testing::burn(5000);
                    threads.note();
                },
                1);
        };
        if (repeat % 2 == 0) {
            parlay::par_do(left, right, true);
        } else {
            // Who waits for the second iteration takes no part in what is outside of the loop.
            std::atomic<bool> second_begun{false};
            std::atomic<bool> over{false};
            const auto iteration = [&](std::size_t i) {
                if (i == 0) return left();
                second_begun = true;
                while (!over) std::this_thread::yield();
            };
            parlay::par_do([&] { parlay::parallel_for(0, 2, iteration, 1, true); },
                           [&] {
                               while (!second_begun) std::this_thread::yield();
                               right();
                               over = true;
                           });
        }
        CHECK(threads.all().count(waits) == 0);
    }
}

TEST_CASE("the exception of the lowest index, and of the left function" *
          doctest::description("parlay.hpp, promise 7")) {
    const auto fail = [](std::size_t i) {
        if (i == 31 || i == 32 || i == 900) throw std::runtime_error("index " + std::to_string(i));
    };
    for (int repeat = 0; repeat < 20; ++repeat) {
        CHECK_THROWS_WITH(parlay::parallel_for(0, 1000, fail), "index 31");
        CHECK_THROWS_WITH(parlay::par_do([&] { parlay::parallel_for(0, 1000, fail, 8); }, [&] { fail(900); }),
                          "index 31");
        CHECK_THROWS_WITH(parlay::par_do([] {}, [&] { parlay::parallel_for(0, 1000, fail); }), "index 31");
    }
    CHECK(fibonacci(10) == 55);
}

TEST_CASE("a scheduler of its own for a function" * doctest::description("parlay.hpp, promise 8")) {
    parlay::execute_with_scheduler(2, [] {
        CHECK(parlay::num_workers() == 2);
        meeting both(2);
        std::atomic<int> right{0};
        const auto meet = [&] {
            if (parlay::num_workers() == 2 && parlay::worker_id() < 2) ++right;
            both.wait();
        };
        parlay::par_do(meet, meet);
        CHECK(right == 2);
        CHECK(fibonacci(15) == 610);
        parlay::par_do([] { parlay::execute_with_scheduler(3, [] { CHECK(parlay::num_workers() == 2); }); },
                       [] {});
    });
    CHECK(parlay::num_workers() == workers);
}

#if __has_include(<parlay/primitives.h>)
TEST_CASE("ParlayLib's own algorithms") {
    const auto numbers = parlay::tabulate(1'000'000, [&](std::size_t i) { return parlay::hash64(i); });
    std::vector<std::uint64_t> expected(numbers.begin(), numbers.end());
    std::sort(expected.begin(), expected.end());
    const auto sorted = parlay::sort(numbers);
    CHECK(std::equal(expected.begin(), expected.end(), sorted.begin(), sorted.end()));
    CHECK(parlay::reduce(numbers) == std::accumulate(expected.begin(), expected.end(), std::uint64_t{0}));
}
#endif

}  // namespace
