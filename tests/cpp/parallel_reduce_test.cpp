// The contract of parallel_reduce and map_reduce, a test a sentence.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "reducing.hpp"

namespace tauto {
using detail::at;
using detail::usize;
using testing::burn;
using testing::every_schedule;
using testing::numbers;
using testing::sanitized;
using testing::shared_by;

namespace {

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

TEST_CASE("the same bits for every team size, schedule and run, with random delays" *
          doctest::description("runtime.md, promise 16")) {
    constexpr index n = 300;
    const std::vector<double> values = numbers(n, 7);
    std::set<std::uint64_t> seen;
    std::set<std::uint64_t> seen_in_lanes;
    std::atomic<unsigned> ticket{0};
    int runs = 0;
    for (int members = 1; members <= 8; ++members) {
        team some(shared_by(members));
        for (const schedule& chosen : every_schedule) {
            for (int repeat = 0; repeat < (sanitized ? 6 : 42); ++repeat, ++runs) {
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
    CHECK(runs == (sanitized ? 288 : 2016));
    CHECK(seen.size() == 1);
    CHECK(seen_in_lanes.size() == 1);
}

TEST_CASE("fuzzed sizes and grains: the result is the tree's, and every index is mapped once") {
    std::mt19937 random(3);
    team some(shared_by(3));
    for (int trial = 0; trial < (sanitized ? 60 : 300); ++trial) {
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

TEST_CASE("combine need not commute" * doctest::description("runtime.md, promise 16")) {
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

TEST_CASE("sums in lanes have the same bits for each grain that is a power of two") {
    team some(shared_by(2));
    const std::vector<double> values = numbers(70'000, 5);
    const auto value = [&](index i) { return at(values, i); };
    for (const index n : {3, 16, 31, 33, 97, 128, 161, 1'000, 4'097, 70'000}) {
        std::set<std::uint64_t> bits;
        for (index grain = 1; grain <= 8192; grain *= 2) {
            for (const schedule& chosen : {schedule{adaptive{}}, schedule{dynamic{3}}}) {
                const double sum =
                    parallel_reduce(some, n, 0.0, value, std::plus<>{}, {.schedule = chosen, .grain = grain});
                bits.insert(std::bit_cast<std::uint64_t>(sum));
            }
        }
        CHECK(bits.size() == 1);
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

TEST_CASE("a reduction inside a body runs inline and has the same bits") {
    team some(shared_by(2));
    const std::vector<double> values = numbers(500, 9);
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

TEST_CASE(
    "default grains depend on the kind of map and on n alone: a power of two, or blocks of equal size") {
    using detail::default_grain, detail::map_kind;
    // A loop over a range may be long, however few its indices are.
    for (index n = 1; n < 8192; ++n) {
        const index grain = default_grain(n, map_kind::of_ranges);
        const index blocks = (n + grain - 1) / grain;
        CHECK(blocks >= std::min(n, index{9}));
        CHECK(blocks <= 16);
    }
    for (const map_kind kind : {map_kind::of_ranges, map_kind::in_lanes, map_kind::in_order}) {
        for (index n = 1; n < index{1} << 40; n = n * 3 + 1) {
            if (n >= 8192 || kind != map_kind::of_ranges)
                CHECK(std::has_single_bit(static_cast<std::uint64_t>(default_grain(n, kind))));
            if (n > 1 << 22) CHECK(n / default_grain(n, kind) >= 500);
        }
    }
    // Few single indices may each be long.
    CHECK(default_grain(255, map_kind::in_lanes) == 1);
    CHECK(default_grain(256, map_kind::in_lanes) == 32);
    CHECK(default_grain(1023, map_kind::in_order) == 1);
    CHECK(default_grain(8192, map_kind::in_order) == 16);
    CHECK(default_grain(0, map_kind::of_ranges) == 1);
}

// Every leaf is a product: where a compiler may fuse it into the sum that follows, it does so here and not
// there unless it is kept from it. The files' flags decide: the same test is built with FMA, too.
TEST_CASE("products have the same bits for every run, also where the compiler fuses operations") {
    const std::vector<double> a = numbers(2'000, 11);
    const std::vector<double> b = numbers(2'000, 12);
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

}  // namespace tauto
