// What the maps of parallel_reduce and map_reduce may return and throw, and how long they may take.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "reducing.hpp"

namespace tauto {
using detail::usize;
using testing::burn;
using testing::every_schedule;
using testing::sanitized;
using testing::shared_by;

TEST_CASE("the first exception is rethrown, values are not leaked, and the team stays usable") {
    team some(shared_by(4));
    for (const schedule& chosen : every_schedule) {
        std::atomic<int> alive{0};
        struct counted {
            std::shared_ptr<int> value;
        };
        const auto map = [&](index i) -> counted {
            if (i == 77) throw std::runtime_error("bad task");
            ++alive;
            return {std::shared_ptr<int>(new int(1), [&](const int* p) {
                --alive;
                delete p;
            })};
        };
        const auto combine = [](counted a, const counted&) { return a; };
        CHECK_THROWS_WITH_AS(
            parallel_reduce(some, 100, counted{}, map, combine, {.schedule = chosen}).value.get(), "bad task",
            std::runtime_error);
        CHECK(alive.load() == 0);
        CHECK(parallel_reduce(some, 100, 0, [](index) { return 1; }, std::plus<>{}, {.schedule = chosen}) ==
              100);
    }
}

TEST_CASE("a requested stop throws stopped" * doctest::description("runtime.md, promise 16")) {
    team some(shared_by(2));
    std::stop_source source;
    const auto map = [&](index i) {
        if (i == 100) source.request_stop();
        return 1;
    };
    CHECK_THROWS_AS(
        static_cast<void>(parallel_reduce(some, 100'000, 0, map, std::plus<>{},
                                          {.schedule = dynamic{4}, .stop = source.get_token(), .grain = 1})),
        stopped);
    CHECK(parallel_reduce(
              some, 10, 0, [](index) { return 1; }, std::plus<>{}) == 10);
}

TEST_CASE("results may be move-only") {
    team some(shared_by(3));
    for (const bool unordered : {false, true}) {
        const auto total = parallel_reduce(
            some, 500, std::make_unique<index>(0), [](index i) { return std::make_unique<index>(i); },
            [](std::unique_ptr<index> a, std::unique_ptr<index> b) {
                *a += *b;
                return a;
            },
            {.unordered = unordered});
        CHECK(*total == 500 * 499 / 2);
    }
}

TEST_CASE("large results: few are alive at a time") {
    struct large {
        std::vector<std::uint8_t> bytes;
        std::atomic<int>* alive = nullptr;
        explicit large(std::atomic<int>* count) : bytes(1 << 20, 1), alive(count) { ++*alive; }
        large(large&& other) noexcept
            : bytes(std::move(other.bytes)), alive(std::exchange(other.alive, nullptr)) {}
        large& operator=(large&& other) noexcept {
            if (alive != nullptr) --*alive;
            bytes = std::move(other.bytes);
            alive = std::exchange(other.alive, nullptr);
            return *this;
        }
        ~large() {
            if (alive != nullptr) --*alive;
        }
    };
    std::atomic<int> alive{0};
    std::atomic<int> most{0};
    team some(shared_by(2));
    const large all = parallel_reduce(
        some, 256, large(&alive),
        [&](index) {
            large one(&alive);
            int seen = most.load();
            while (alive.load() > seen && !most.compare_exchange_weak(seen, alive.load())) {
            }
            return one;
        },
        [](large& left, const large& right) {
            for (std::size_t i = 0; i < left.bytes.size(); i += 4096)
                left.bytes[i] = static_cast<std::uint8_t>(left.bytes[i] + right.bytes[i]);
        });
    CHECK(all.bytes[0] == static_cast<std::uint8_t>(257));
    CHECK(alive.load() == 1);
    CHECK(most.load() < 64);
}

// With AddressSanitizer a frame needs more: no two temporaries share a place.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t most_bins = 1 << 16;
#else
constexpr std::size_t most_bins = 1 << 17;
#endif

TEST_CASE("values of a megabyte fit the stacks of caller and members") {
    using histogram = std::array<std::uint64_t, most_bins>;
    const auto one = [](index i) {
        histogram bins{};
        ++bins[usize(i * 997) % bins.size()];
        return bins;
    };
    const auto add = [](histogram& left, const histogram& right) {
        for (std::size_t bin = 0; bin < left.size(); ++bin) left[bin] += right[bin];
    };
    const auto total = [](const histogram& bins) { return std::accumulate(bins.begin(), bins.end(), 0ULL); };
    team some(shared_by(3));
    constexpr index many = sanitized ? 70 : 300;
    for (const bool unordered : {false, true}) {
        const auto all = std::make_unique<histogram>(
            parallel_reduce(some, many, histogram{}, one, add, {.grain = 1, .unordered = unordered}));
        CHECK(total(*all) == many);
    }
    std::vector<index> items(usize(many));
    std::iota(items.begin(), items.end(), index{0});
    CHECK(total(*std::make_unique<histogram>(map_reduce(some, items, one, add))) == many);
}

TEST_CASE("map_reduce has the shape of blockingMappedReduced") {
    team some(shared_by(2));
    const std::vector<std::string> words = {"to", "make", "every", "core",  "finish",
                                            "at", "the",  "same",  "moment"};
    // Qt's shape: the reduce function changes its first argument.
    const auto length = [](const std::string& word) { return word.size(); };
    const auto add = [](std::size_t& result, const std::size_t& value) { result += value; };
    CHECK(map_reduce(some, words, length, add) == 36);
    // The shape of std::reduce.
    CHECK(map_reduce(some, words, length, std::plus<>{}) == 36);
    CHECK(map_reduce(some, std::deque<std::string>(words.begin(), words.end()), length, std::plus<>{}) == 36);
    CHECK(map_reduce(some, words, length, add, {.unordered = true}) == 36);
    CHECK(map_reduce(some, words, length, add, {.grain = 4}) == 36);
    // A result of another type than the values.
    struct longest {
        std::size_t length = 0;
    };
    struct keep_longest {
        void operator()(longest& result, std::size_t value) const {
            result.length = std::max(result.length, value);
        }
        void operator()(longest& result, const longest& other) const { (*this)(result, other.length); }
    };
    CHECK(map_reduce<longest>(some, words, length, keep_longest{}).length == 6);
    // Items that map changes.
    std::vector<int> numbers(100, 1);
    CHECK(map_reduce(
              some, numbers, [](int& number) { return ++number; }, std::plus<>{}) == 200);
    CHECK(numbers[99] == 2);
}

TEST_CASE("tasks of very unequal length are balanced") {
    // 10,000 tasks of 3 us. The one in the middle goes on until 7,000 of them are done, or the time is up.
    // Its member has 5,000 of them, so the other one must take over most of those.
    using namespace std::chrono_literals;
    team some(shared_by(2));
    constexpr int shorts = 10'000;
    constexpr int the_long_one = shorts / 2 + 200;
    static site never_run;  // a first call's shares are equal, whatever the load
    const auto taken_over = [&](const schedule& chosen, std::chrono::steady_clock::duration limit) {
        std::atomic<int> done{0};
        std::atomic<bool> enough{false};
        const auto task = [&](int number) {
            if (number != the_long_one) {
                burn(3'000);
                done.fetch_add(1, std::memory_order_relaxed);
                return 1;
            }
            const auto end = std::chrono::steady_clock::now() + limit;
            while (!enough && std::chrono::steady_clock::now() < end) {
                enough = done.load(std::memory_order_relaxed) >= 7'000;
                std::this_thread::yield();
            }
            return 1;
        };
        std::vector<int> numbers(shorts + 1);
        std::iota(numbers.begin(), numbers.end(), 0);
        CHECK(map_reduce(some, numbers, task, std::plus<>{}, {.schedule = chosen, .site = &never_run}) ==
              shorts + 1);
        return enough.load();
    };
    CHECK(taken_over(dynamic{1}, 60s));
    CHECK(taken_over(adaptive{}, 60s));
    CHECK_FALSE(taken_over(static_{}, 100ms));
}

TEST_CASE("unordered reductions count everything once") {
    team some(shared_by(4));
    for (const schedule& chosen : every_schedule) {
        for (index n : {1, 5, 100, 10'000}) {
            CHECK(parallel_reduce(some, n, index{0}, [](index i) { return i; }, std::plus<>{},
                                  {.schedule = chosen, .unordered = true}) == n * (n - 1) / 2);
        }
    }
}

}  // namespace tauto
