// The contract of parallel_reduce and map_reduce, a test a sentence.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

using namespace tauto;
using detail::at;
using detail::usize;

namespace {

const std::vector<schedule> every_schedule = {adaptive{}, static_{}, static_chunk{3},
                                              dynamic{1}, guided{2}, weighted{}};

std::vector<double> uneven_numbers(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> exponent(-30, 30);
    std::uniform_real_distribution<double> mantissa(-1, 1);
    std::vector<double> values(n);
    for (double& value : values) value = std::ldexp(mantissa(random), static_cast<int>(exponent(random)));
    return values;
}

// The tree as the header describes it, written another way: by recursion from the root.
template <class T, class Leaf, class Combine>
T complete_tree(index first, int level, const Leaf& leaf, const Combine& combine) {
    if (level == 0) return leaf(first);
    const index half = index{1} << (level - 1);
    T left = complete_tree<T>(first, level - 1, leaf, combine);
    return combine(std::move(left), complete_tree<T>(first + half, level - 1, leaf, combine));
}
template <class T, class Leaf, class Combine>
T tree(index first, index blocks, const Leaf& leaf, const Combine& combine) {
    const int level = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(blocks))) - 1;
    T left = complete_tree<T>(first, level, leaf, combine);
    const index complete = index{1} << level;
    if (complete == blocks) return left;
    return combine(std::move(left), tree<T>(first + complete, blocks - complete, leaf, combine));
}

std::string bracketed(const std::string& a, const std::string& b) {
    return "(" + a + b + ")";
}

void burn(int nanoseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

team_options shared_by(int members) {
    std::vector<int> cpus = select_cpus(read_machine(), "all");
    return {.cpus = cpus, .size = members};
}

}  // namespace

TEST_CASE("the tree depends on n and the grain alone, whatever the runs were") {
    // "(ab)" shows every combination, so one string is the whole tree.
    std::mt19937 random(1);
    auto leaf = [](index b) { return std::to_string(b % 10); };
    auto merge = [](std::string& left, std::string&& right) { left = bracketed(left, right); };
    for (index blocks = 1; blocks <= 70; ++blocks) {
        const std::string wanted = tree<std::string>(0, blocks, leaf, bracketed);
        for (int trial = 0; trial < 20; ++trial) {
            // Random runs, dealt out to three members in random order.
            std::vector<range> runs;
            for (index begin = 0; begin < blocks;) {
                const index end = std::min<index>(blocks, begin + 1 + static_cast<index>(random() % 9));
                runs.push_back({begin, end});
                begin = end;
            }
            std::shuffle(runs.begin(), runs.end(), random);
            std::vector<detail::partials<std::string>> members(3);
            for (const range& run : runs) members[random() % 3].add(run, leaf, merge);
            REQUIRE(detail::join_partials<std::string>(members, merge) == wanted);
        }
    }
}

TEST_CASE("a member keeps at most two values a level") {
    auto leaf = [](index) { return 1.0; };
    auto merge = [](double& left, double&& right) { left += right; };
    for (index begin = 0; begin < 300; begin += 7) {
        detail::partials<double> one;
        // In pieces that follow each other: they are one run.
        for (index from = begin; from < 4000; from += 11)
            one.add({from, std::min<index>(4000, from + 11)}, leaf, merge);
        CHECK(one.nodes().size() <= 2 * 12);
    }
}

TEST_CASE("the same bits for every team size, schedule and run, with random delays") {
    constexpr index n = 300;
    const std::vector<double> values = uneven_numbers(n, 7);
    std::set<std::uint64_t> seen;
    std::set<std::uint64_t> seen_in_lanes;
    std::atomic<unsigned> ticket{0};
    int runs = 0;
    // 2,016 runs.
    for (int members = 1; members <= 8; ++members) {
        team some(shared_by(members));
        for (const schedule& chosen : every_schedule) {
            for (int repeat = 0; repeat < 42; ++repeat, ++runs) {
                const auto map = [&](index i) {
                    const unsigned turn = ticket.fetch_add(1, std::memory_order_relaxed) * 2654435761U;
                    if (turn % 128 == 0) burn(static_cast<int>(turn % 5000));
                    if (turn % 4096 == 1) std::this_thread::yield();
                    return at(values, i);
                };
                const double sum =
                    parallel_reduce(some, n, 0.0, map, [](double a, double b) { return a + b; },
                                    {.schedule = chosen, .grain = 1});
                seen.insert(std::bit_cast<std::uint64_t>(sum));
                const double lanes = parallel_reduce(some, n, 0.0, map, std::plus<>{}, {.schedule = chosen});
                seen_in_lanes.insert(std::bit_cast<std::uint64_t>(lanes));
            }
        }
    }
    CHECK(runs >= 2000);
    CHECK(seen.size() == 1);
    CHECK(seen_in_lanes.size() == 1);
}

TEST_CASE("fuzzed sizes and grains: the result is the tree's, and every index is mapped once") {
    std::mt19937 random(3);
    team some(shared_by(3));
    for (int trial = 0; trial < 300; ++trial) {
        const index n = static_cast<index>(random() % (trial % 10 == 0 ? 20'000 : 400));
        const index grain = static_cast<index>(random() % 40);
        const schedule chosen = every_schedule[random() % every_schedule.size()];
        std::vector<std::atomic<int>> count(usize(n));
        const auto map = [&](index i) {
            at(count, i).fetch_add(1);
            return std::to_string(i % 7);
        };
        const std::string found =
            parallel_reduce(some, n, std::string("<"), map, bracketed, {.schedule = chosen, .grain = grain});
        for (const auto& one : count) REQUIRE(one.load() == 1);
        if (n == 0) {
            REQUIRE(found == "<");
            continue;
        }
        const index size =
            std::min(n, grain > 0 ? grain : detail::default_grain(n, detail::map_kind::in_order));
        const detail::block_plan plan{n, size};
        const auto leaf = [&](index b) {
            const range r = plan.block(b);
            std::string value = std::to_string(r.begin % 7);
            for (index i = r.begin + 1; i < r.end; ++i) value = bracketed(value, std::to_string(i % 7));
            return value;
        };
        REQUIRE(found == bracketed("<", tree<std::string>(0, plan.blocks(), leaf, bracketed)));
    }
}

TEST_CASE("combine need not commute") {
    team some;
    const std::string text = parallel_reduce(
        some, 200, std::string(), [](index i) { return std::to_string(i) + ","; }, std::plus<>{});
    std::string wanted;
    for (int i = 0; i < 200; ++i) wanted += std::to_string(i) + ",";
    CHECK(text == wanted);
}

TEST_CASE("map may take a range, and combine may change its first argument") {
    team some(shared_by(4));
    std::atomic<index> covered{0};
    const index sum = parallel_reduce(
        some, 100'000, index{0},
        [&](range r) {
            covered += r.size();
            index part = 0;
            for (index i = r.begin; i < r.end; ++i) part += i;
            return part;
        },
        [](index& left, index right) { left += right; });
    CHECK(sum == index{100'000} * 99'999 / 2);
    CHECK(covered.load() == 100'000);
}

TEST_CASE("sums in lanes are as good as any: every length, against exact arithmetic") {
    team some(shared_by(2));
    for (index n : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 100, 991, 992, 1000, 16'384, 16'385, 100'003}) {
        const index sum = parallel_reduce(
            some, n, index{0}, [](index i) { return i * i; }, std::plus<>{});
        CHECK(sum == (n - 1) * n * (2 * n - 1) / 6);
        const unsigned bits = parallel_reduce(
            some, n, 0U, [](index i) { return static_cast<unsigned>(i); }, std::bit_xor<>{});
        unsigned wanted = 0;
        for (index i = 0; i < n; ++i) wanted ^= static_cast<unsigned>(i);
        CHECK(bits == wanted);
    }
}

TEST_CASE("n = 0 gives the identity, which otherwise counts once") {
    team some;
    const auto one = [](index) { return 1; };
    CHECK(parallel_reduce(some, 0, 5, one, std::plus<>{}) == 5);
    CHECK(parallel_reduce(some, 10, 5, one, std::plus<>{}) == 15);
    CHECK(parallel_reduce(some, 10, 5, one, std::plus<>{}, {.unordered = true}) == 15);
    CHECK(map_reduce(
              some, std::vector<int>{}, [](int i) { return i; }, std::plus<>{}) == 0);
}

TEST_CASE("bad sizes have clear errors") {
    team some;
    const auto sum = [&](index n, index grain) {
        return parallel_reduce(some, n, 0.0, [](index) { return 1.0; }, std::plus<>{}, {.grain = grain});
    };
    CHECK_THROWS_WITH_AS(sum(-1, 0), "a reduction over n = -1 indices; n must be from 0 to 2^56", error);
    CHECK_THROWS_WITH_AS(
        sum(10, -2),
        "a reduction with blocks of -2 indices; the grain must be at least 1, or 0 for a default", error);
}

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

TEST_CASE("a requested stop throws stopped") {
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

TEST_CASE("a reduction inside a body runs inline and has the same bits") {
    team some(shared_by(2));
    const std::vector<double> values = uneven_numbers(500, 9);
    const auto sum = [&] {
        return parallel_reduce(
            some, std::ssize(values), 0.0, [&](index i) { return at(values, i); }, std::plus<>{});
    };
    const double outside = sum();
    std::array<double, 64> inside{};
    parallel_for(some, std::ssize(inside), [&](index i) { at(inside, i) = sum(); }, {.schedule = dynamic{1}});
    for (const double one : inside)
        CHECK(std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(outside));
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
    for (const bool unordered : {false, true}) {
        const auto all = std::make_unique<histogram>(
            parallel_reduce(some, 300, histogram{}, one, add, {.grain = 1, .unordered = unordered}));
        CHECK(total(*all) == 300);
    }
    std::vector<index> items(300);
    std::iota(items.begin(), items.end(), index{0});
    CHECK(total(*std::make_unique<histogram>(map_reduce(some, items, one, add))) == 300);
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

TEST_CASE("default grains: a power of two, which depends on the kind of map and on n alone") {
    using detail::default_grain, detail::map_kind;
    for (const map_kind kind : {map_kind::of_ranges, map_kind::in_lanes, map_kind::in_order}) {
        for (index n = 1; n < index{1} << 40; n = n * 3 + 1) {
            CHECK(std::has_single_bit(static_cast<std::uint64_t>(default_grain(n, kind))));
            if (n > 1 << 22) CHECK(n / default_grain(n, kind) >= 500);
        }
    }
    // Few single indices may each be long; a loop over a range is thought short.
    CHECK(default_grain(255, map_kind::in_lanes) == 1);
    CHECK(default_grain(256, map_kind::in_lanes) == 32);
    CHECK(default_grain(8191, map_kind::in_order) == 1);
    CHECK(default_grain(8192, map_kind::in_order) == 8);
    CHECK(default_grain(1, map_kind::of_ranges) == 512);
}

// Every leaf is a product: where a compiler may fuse it into the sum that follows, it does so here and not
// there unless it is kept from it. The files' flags decide: the same test is built with FMA, too.
TEST_CASE("products have the same bits for every run, also where the compiler fuses operations") {
    const std::vector<double> a = uneven_numbers(2'000, 11);
    const std::vector<double> b = uneven_numbers(2'000, 12);
    const auto product = [&](index i) { return at(a, i) * at(b, i); };
    const auto add = [](double x, double y) { return x + y; };
    for (const index n : {5, 37, 100, 255, 256, 700, 2'000}) {
        std::set<std::uint64_t> in_order;
        std::set<std::uint64_t> in_lanes;
        std::set<std::uint64_t> tasks;
        for (int members = 1; members <= 3; ++members) {
            team some(shared_by(members));
            for (const schedule& chosen : every_schedule) {
                const reduce_options options{.schedule = chosen};
                in_order.insert(
                    std::bit_cast<std::uint64_t>(parallel_reduce(some, n, 0.0, product, add, options)));
                in_lanes.insert(std::bit_cast<std::uint64_t>(
                    parallel_reduce(some, n, 0.0, product, std::plus<>{}, options)));
                std::vector<index> items(usize(n));
                std::iota(items.begin(), items.end(), index{0});
                tasks.insert(std::bit_cast<std::uint64_t>(map_reduce(some, items, product, add, options)));
            }
        }
        CHECK(in_order.size() == 1);
        CHECK(in_lanes.size() == 1);
        CHECK(tasks.size() == 1);
    }
}
