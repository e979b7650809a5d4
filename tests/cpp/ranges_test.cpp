// The contract of parallel_for over strides and tiles, and of parallel_for_each.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include <tauto/tauto.hpp>

#include "reducing.hpp"

namespace tauto {
using detail::at;
using detail::usize;
using testing::every_schedule;
using testing::shared_by;
using testing::team_sizes;

namespace {

std::atomic<int> function_calls{0};
void count_call(index) {
    ++function_calls;
}

using counts = std::vector<std::atomic<int>>;

// What bodies find wrong: a check of doctest's in each would take longer than all they do.
std::atomic<int> wrong{0};

bool all_once(const counts& of) {
    return wrong.load() == 0 && std::ranges::all_of(of, [](const auto& one) { return one.load() == 1; });
}

}  // namespace

TEST_CASE("first and last: every index once, on any team" *
          doctest::description("algorithms.md, promise 1")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        for (const schedule& chosen : every_schedule) {
            for (const index size : {0, 1, 2, 63, 1000}) {
                counts seen(usize(size));
                CHECK(parallel_for(some, -7, size - 7, [&](index i) { ++at(seen, i + 7); },
                                   {.schedule = chosen}));
                CHECK(all_once(seen));
                counts in_ranges(usize(size));
                CHECK(parallel_for(some, 100, 100 + size,
                                   [&](range r, int rank) {
                                       wrong += rank < members ? 0 : 1;
                                       for (index i = r.begin; i < r.end; ++i) ++at(in_ranges, i - 100);
                                   },
                                   {.schedule = chosen}));
                CHECK(all_once(in_ranges));
            }
        }
    }
}

TEST_CASE("strides: the indices of the serial loop, up and down" *
          doctest::description("algorithms.md, promise 1")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        for (const index stride : {1, 2, 3, 7, 100, 5000, -1, -2, -9, -5000}) {
            for (const auto& [first, last] :
                 {std::pair<index, index>{0, 1000}, {-500, 499}, {1000, 0}, {5, 5}}) {
                counts seen(2001);
                CHECK(parallel_for(some, first, last, stride, [&](index i) { ++at(seen, i + 500); }));
                counts wanted(2001);
                for (index i = first; stride > 0 ? i < last : i > last; i += stride) ++at(wanted, i + 500);
                for (index i = 0; i < 2001; ++i) REQUIRE(at(seen, i).load() == at(wanted, i).load());
            }
        }
    }
}

TEST_CASE("strides at the ends of the indices, and strides that are refused") {
    team some(shared_by(2));
    constexpr index least = std::numeric_limits<index>::min();
    constexpr index most = std::numeric_limits<index>::max();
    std::atomic<index> sum{0};
    CHECK(parallel_for(some, least, most, most, [&](index i) { sum += i / 2; }));
    CHECK(sum.load() == least / 2 + (least + most) / 2 + (most - 1) / 2);
    std::atomic<int> calls{0};
    CHECK(parallel_for(some, most, least, least, [&](index i) { calls += i == most || i == -1 ? 1 : 100; }));
    CHECK(calls.load() == 2);
    const auto nothing = [](index) {};
    CHECK_THROWS_WITH_AS(parallel_for(some, 1, 5, 0, nothing),
                         "parallel_for from 1 to 5 with the stride 0 never ends; the stride must not be 0",
                         error);
    CHECK_THROWS_AS(parallel_for(some, least, most, nothing), error);
    CHECK_THROWS_AS(parallel_for(some, 0, most, 2, nothing), error);
}

TEST_CASE("strides: the exception of the iteration that comes first in a serial loop, and a stop" *
          doctest::description("algorithms.md, promise 2")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        const auto failing = [](index i) {
            if (i <= 700) throw std::runtime_error(std::to_string(i));
        };
        CHECK_THROWS_WITH(parallel_for(some, 1000, 0, -10, failing, {.schedule = dynamic{1}}), "700");
        std::stop_source source;
        const auto stopping = [&](index) { source.request_stop(); };
        CHECK_FALSE(parallel_for(some, 0, 100'000, 2, stopping,
                                 {.schedule = dynamic{1}, .stop = source.get_token()}));
    }
}

TEST_CASE("parallel_for_each: every element once, of iterators and of ranges" *
          doctest::description("algorithms.md, promise 1")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        for (const schedule& chosen : every_schedule) {
            for (const std::size_t size : {0, 1, 2, 1000}) {
                std::vector<int> values(size, 1);
                CHECK(parallel_for_each(some, values.begin(), values.end(), [](int& one) { ++one; },
                                        {.schedule = chosen}));
                CHECK(parallel_for_each(some, values, [](int& one, int) { one *= 5; }, {.schedule = chosen}));
                CHECK(values == std::vector<int>(size, 10));
            }
        }
        std::array<std::unique_ptr<int>, 50> owners;
        CHECK(parallel_for_each(some, owners,
                                [](std::unique_ptr<int>& one) { one = std::make_unique<int>(3); }));
        for (const auto& one : owners) CHECK(*one == 3);
#if !defined(__clang__) || __clang_major__ >= 16  // older ones cannot compile libstdc++'s views
        std::atomic<int> sum{0};
        CHECK(parallel_for_each(some, std::views::iota(1, 101), [&](int i) { sum += i; }));
        CHECK(parallel_for_each(some,
                                std::views::iota(0, 100) | std::views::reverse |
                                    std::views::transform([](int i) { return 2 * i; }),
                                [&](int i) { sum += i; }));
        CHECK(sum.load() == 5050 + 9900);
#endif
        const std::vector<bool> bits(77, true);
        std::atomic<int> set{0};
        CHECK(parallel_for_each(some, bits, [&](bool bit) { set += bit ? 1 : 0; }));
        CHECK(set.load() == 77);
    }
}

TEST_CASE("bodies: functions, function objects, move-only lambdas, members; none is copied" *
          doctest::description("algorithms.md, promise 3")) {
    team some(shared_by(3));
    function_calls = 0;
    CHECK(parallel_for(some, 0, 100, 3, count_call));
    CHECK(parallel_for_each(some, std::vector<index>(20), count_call));
    CHECK(function_calls.load() == 54);
    std::atomic<int> calls{0};
    auto body = [&calls, own = std::make_unique<int>(2)](index) { calls += *own; };
    CHECK(parallel_for(some, 0, 10, body));
    CHECK(parallel_for(some, 0, 10, 2, body));
    CHECK(parallel_for_each(some, std::vector<index>(10), body));
    CHECK(parallel_for(some, range2{{0, 5}, {0, 2}}, [mine = std::move(body)](index i, index) { mine(i); }));
    CHECK(calls.load() == 2 * (10 + 5 + 10 + 10));
    struct value {
        int x = 0;
        void add() { ++x; }
    };
    std::vector<value> values(30);
    CHECK(parallel_for_each(some, values, &value::add));
    for (const value& one : values) CHECK(one.x == 1);
}

TEST_CASE("parallel_for_each: the exception of the lowest element, and a stop" *
          doctest::description("algorithms.md, promise 2")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        std::vector<int> values(300);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
        const auto failing = [](int i) {
            if (i >= 40) throw std::runtime_error(std::to_string(i));
        };
        CHECK_THROWS_WITH(parallel_for_each(some, values, failing, {.schedule = dynamic{1}}), "40");
        std::stop_source source;
        source.request_stop();
        CHECK_FALSE(parallel_for_each(some, values, [](int) {}, {.stop = source.get_token()}));
    }
}

TEST_CASE("explain knows the body of a strided loop by its own type") {
    team some(shared_by(2));
    const auto body = [](index) {};
    for (int call = 0; call < 50; ++call) parallel_for(some, 10, 1000, 3, body);
    CHECK(explain(some, body).find("n = ") == 0);
}

TEST_CASE("tiles: every cell once, in two and three dimensions, on any team and schedule" *
          doctest::description("algorithms.md, promise 1")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        for (const schedule& chosen : every_schedule) {
            for (const auto& [r, c] :
                 {std::pair<index, index>{0, 5}, {5, 0}, {1, 1}, {1, 777}, {777, 1}, {30, 40}, {300, 3}}) {
                const index rows = r;
                const index columns = c;
                counts seen(usize(rows * columns));
                counts by_cell(usize(rows * columns));
                const range2 cells{{-3, rows - 3}, {10, columns + 10}};
                CHECK(parallel_for(some, cells,
                                   [&](range2 tile, int rank) {
                                       wrong += rank < members ? 0 : 1;
                                       wrong += tile.empty() ? 1 : 0;
                                       for (index i = tile.rows.begin; i < tile.rows.end; ++i)
                                           for (index j = tile.columns.begin; j < tile.columns.end; ++j)
                                               ++at(seen, (i + 3) * columns + j - 10);
                                   },
                                   {.schedule = chosen}));
                CHECK(parallel_for(some, cells,
                                   [&](index i, index j) { ++at(by_cell, (i + 3) * columns + j - 10); },
                                   {.schedule = chosen, .cell_bytes = 1'000'000}));
                CHECK(all_once(seen));
                CHECK(all_once(by_cell));
            }
            for (const auto& [p, r, c] :
                 {std::array<index, 3>{1, 1, 1}, {0, 2, 2}, {3, 40, 50}, {1, 1, 500}, {70, 2, 3}}) {
                const index planes = p;
                const index rows = r;
                const index columns = c;
                counts seen(usize(planes * rows * columns));
                const range3 cells{{5, planes + 5}, {-1, rows - 1}, {0, columns}};
                CHECK(parallel_for(
                    some, cells,
                    [&](index k, index i, index j) { ++at(seen, ((k - 5) * rows + i + 1) * columns + j); },
                    {.schedule = chosen}));
                CHECK(all_once(seen));
            }
        }
    }
}

TEST_CASE("tiles fit the cache, and there are enough of them" *
          doctest::description("algorithms.md, promise 4")) {
    using detail::tile_plan;
    constexpr index cache = index{1} << 20;
    for (const auto& [planes, rows, columns] : {std::array<index, 3>{4096, 1, 4096},
                                                {512, 512, 512},
                                                {10, 1, 10'000'000},
                                                {1, 1, 1'000'000},
                                                {100, 20'000, 9},
                                                {3, 3, 3},
                                                {1, 1, 1}}) {
        for (const index bytes : {1, 16, 1000}) {
            const tile_plan plan = tile_plan::of(planes, rows, columns, bytes, cache).to_share();
            const index part = plan.rows.largest() * plan.columns.largest();
            CHECK((part <= 64 || part * 4 * bytes <= cache));
            CHECK(plan.lines() >= std::min(planes * rows * columns, tile_plan::enough_lines));
        }
    }
    // A row that fits is not cut where there are enough.
    CHECK(tile_plan::of(4096, 1, 4096, 16, cache).to_share().columns.count == 1);
    CHECK(tile_plan::of(4096, 1, 100'000, 16, cache).to_share().columns.count == 7);
}

TEST_CASE("cells that nobody shares are cut for the cache alone" *
          doctest::description("algorithms.md, promise 4")) {
    team alone(shared_by(1));
    std::vector<range2> tiles;
    const range2 cells{{1, 11}, {-5, 5}};
    const auto note = [&](range2 tile) { tiles.push_back(tile); };
    CHECK(parallel_for(alone, cells, note));
    CHECK(tiles == std::vector<range2>{cells});
    tiles.clear();
    CHECK(parallel_for(alone, cells, note, {.cell_bytes = 1'000'000'000}));  // 64 cells fit anyway
    CHECK(tiles == std::vector<range2>{cells});
    tiles.clear();
    CHECK(parallel_for(alone, range2{{0, 2}, {0, 130}}, note, {.cell_bytes = 1'000'000'000}));
    CHECK(tiles.size() == 3);
}

TEST_CASE("tiles: exceptions, stop, a team after them, and sizes that are refused" *
          doctest::description("algorithms.md, promise 2")) {
    for (const int members : team_sizes) {
        team some(shared_by(members));
        const range2 cells{{0, 400}, {0, 10}};
        const auto failing = [](index i, index) {
            if (i >= 17) throw std::runtime_error(std::to_string(i));
        };
        CHECK_THROWS_WITH(parallel_for(some, cells, failing, {.schedule = dynamic{1}}), "17");
        std::stop_source source;
        const auto stopping = [&](range2) { source.request_stop(); };
        CHECK_FALSE(
            parallel_for(some, cells, stopping, {.schedule = dynamic{1}, .stop = source.get_token()}));
        CHECK(parallel_for(some, cells, [](range2) {}));
    }
    team some(shared_by(2));
    constexpr index huge = index{1} << 40;
    const auto nothing = [](range2) {};
    CHECK_THROWS_AS(parallel_for(some, range2{{0, huge}, {0, huge}}, nothing), error);
    CHECK_THROWS_AS(parallel_for(some, range2{{-(index{1} << 62), index{1} << 62}, {0, 1}}, nothing), error);
    CHECK_THROWS_WITH_AS(parallel_for(some, range2{{0, 1}, {0, 1}}, nothing, {.cell_bytes = 0}),
                         "tiles of cells of 0 bytes; cell_bytes must be at least 1", error);
}

}  // namespace tauto
