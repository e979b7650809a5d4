// The contract of the scans and of parallel_transform_reduce.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "reducing.hpp"

namespace tauto {
using detail::at;
using detail::usize;
using testing::burn;
using testing::fewer_schedules;
using testing::fewer_team_sizes;
using testing::numbers;
using testing::one_to_64;
using testing::shared_by;

namespace {

const std::vector<std::size_t> sizes = {0, 1, 2, 16, 17, 100, 1000, 2048, 2049, 8192, 8193, 40'001, 100'000};

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
    std::vector<std::uint64_t> bits(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) bits[i] = std::bit_cast<std::uint64_t>(values[i]);
    return bits;
}

}  // namespace

TEST_CASE("integers: what std's scans give, for every length, team and schedule" *
          doctest::description("algorithms.md, promise 5")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t size : sizes) {
            std::vector<std::int64_t> values(size);
            for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<std::int64_t>(i * i % 1009) - 500;
            std::vector<std::int64_t> wanted(size + 1, -7);
            std::vector<std::int64_t> found(size + 1, -7);
            for (const schedule& chosen : fewer_schedules) {
                const algorithm_options options{.schedule = chosen};
                std::inclusive_scan(values.begin(), values.end(), wanted.begin());
                CHECK(parallel_inclusive_scan(some, values.begin(), values.end(), found.begin(),
                                              std::plus<>{}, options) == found.end() - 1);
                CHECK(found == wanted);
                std::inclusive_scan(values.begin(), values.end(), wanted.begin(), std::plus<>{},
                                    std::int64_t{40});
                CHECK(parallel_inclusive_scan(some, values, found.begin(), std::plus<>{}, std::int64_t{40},
                                              options) == found.end() - 1);
                CHECK(found == wanted);
                std::exclusive_scan(values.begin(), values.end(), wanted.begin(), std::int64_t{3});
                CHECK(parallel_exclusive_scan(some, values.begin(), values.end(), found.begin(),
                                              std::int64_t{3}, std::plus<>{}, options) == found.end() - 1);
                CHECK(found == wanted);
                const auto larger = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
                std::exclusive_scan(values.begin(), values.end(), wanted.begin(), std::int64_t{-100}, larger);
                parallel_exclusive_scan(some, values, found.begin(), std::int64_t{-100}, larger, options);
                CHECK(found == wanted);
            }
        }
    }
}

TEST_CASE_TEMPLATE("integers of any type, of which a few add up to more than the type holds", T, std::int8_t,
                   std::uint16_t, int, std::int64_t, std::uint64_t) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t size : sizes) {
            // Sums go up and down between the type's ends, and no sum from the first element on leaves them.
            std::vector<T> values(size);
            constexpr T most = std::numeric_limits<T>::max();
            for (std::size_t i = 0; i < size; ++i)
                values[i] = static_cast<T>(i % 4 < 2 ? most / 2 : T{0} - most / 2);
            std::vector<T> inclusive(size);
            std::vector<T> exclusive(size);
            std::inclusive_scan(values.begin(), values.end(), inclusive.begin());
            std::exclusive_scan(values.begin(), values.end(), exclusive.begin(), T{0});
            std::vector<T> found(size);
            parallel_inclusive_scan(some, values, found.begin());
            CHECK(found == inclusive);
            parallel_exclusive_scan(some, values, found.begin(), T{0});
            CHECK(found == exclusive);
            parallel_inclusive_scan(some, values, values.begin());
            CHECK(values == inclusive);
        }
    }
}

TEST_CASE("doubles: the same bits for every team of 1 to 64, schedule and run, with random delays" *
          doctest::description("algorithms.md, promise 6")) {
    for (const std::size_t size : {17, 1000, 2049, 40'001, 100'000}) {
        const std::vector<double> values = numbers(size, 3);
        std::set<std::vector<std::uint64_t>> in_lanes;
        std::set<std::vector<std::uint64_t>> by_function;
        std::set<std::vector<std::uint64_t>> exclusive;
        std::vector<double> found(size);
        for (const int members : one_to_64) {
            team some(shared_by(members));
            for (const schedule& chosen : fewer_schedules) {
                const algorithm_options options{.schedule = chosen};
                parallel_inclusive_scan(some, values, found.begin(), std::plus<>{}, options);
                in_lanes.insert(bits_of(found));
                std::atomic<unsigned> turn{0};
                const auto add = [&](double a, double b) {
                    if (turn.fetch_add(1, std::memory_order_relaxed) * 2654435761U % 65'536 == 0) burn(5000);
                    return a + b;
                };
                parallel_inclusive_scan(some, values, found.begin(), add, 0.5, options);
                by_function.insert(bits_of(found));
                parallel_exclusive_scan(some, values, found.begin(), 0.5, std::plus<>{}, options);
                exclusive.insert(bits_of(found));
            }
        }
        CHECK(in_lanes.size() == 1);
        CHECK(by_function.size() == 1);
        CHECK(exclusive.size() == 1);
    }
}

TEST_CASE("doubles: close to exact sums") {
    team some(shared_by(2));
    const std::vector<double> values = numbers(100'000, 4);
    std::vector<double> found(values.size());
    parallel_inclusive_scan(some, values, found.begin());
    long double sum = 0;
    long double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        sum += static_cast<long double>(values[i]);
        largest = std::max(largest, std::abs(sum - static_cast<long double>(found[i])));
    }
    long double absolute = 0;
    for (const double one : values) absolute += std::abs(static_cast<long double>(one));
    CHECK(largest < 3000 * 1.2e-16L * absolute);
}

// Each product would be fused into the sum where the compiler may: the same in every block.
TEST_CASE("products have the same bits for every run, also where the compiler fuses operations" *
          doctest::description("algorithms.md, promise 6")) {
    struct affine {
        double a;
        double b;
    };
    std::vector<affine> values;
    for (const double one : numbers(30'000, 5)) values.push_back({1 - 1e-4 * one, one});
    const auto compose = [](affine f, affine g) { return affine{f.a * g.a, f.b * g.a + g.b}; };
    std::set<std::vector<std::uint64_t>> seen;
    for (int members = 1; members <= 3; ++members) {
        team some(shared_by(members));
        for (const schedule& chosen : fewer_schedules) {
            std::vector<affine> found(values.size());
            parallel_inclusive_scan(some, values, found.begin(), compose,
                                    algorithm_options{.schedule = chosen});
            std::vector<double> b;
            for (const affine& one : found) b.push_back(one.b);
            seen.insert(bits_of(b));
        }
    }
    CHECK(seen.size() == 1);
}

TEST_CASE(
    "the operation need not commute; elements and sums may be strings; any sequence with random access" *
    doctest::description("algorithms.md, promise 5")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const schedule& chosen : fewer_schedules) {
            std::deque<std::string> letters;
            for (int i = 0; i < 700; ++i) letters.emplace_back(1, static_cast<char>('a' + i % 26));
            std::vector<std::string> wanted(letters.size());
            std::exclusive_scan(letters.begin(), letters.end(), wanted.begin(), std::string("<"));
            std::deque<std::string> found = letters;
            parallel_exclusive_scan(some, found, found.begin(), std::string("<"), std::plus<>{},
                                    {.schedule = chosen});
            CHECK(std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()));
        }
        std::deque<bool> flags(5000);  // bits of one word would be shared
        flags[1234] = true;
        parallel_inclusive_scan(some, flags, flags.begin(), std::logical_or<>{}, false);
        CHECK(std::count(flags.begin(), flags.end(), true) == 5000 - 1234);
        std::vector<char> narrow(3000, 1);
        std::vector<long> wide(narrow.size());
        parallel_inclusive_scan(some, narrow, wide.begin(), std::plus<>{}, 0L);
        CHECK(wide.back() == 3000);
    }
}

TEST_CASE_TEMPLATE("integers one by one, and many at once where the processor can", T, std::int8_t,
                   std::uint16_t, int, unsigned, std::int64_t, std::uint64_t) {
    std::mt19937_64 random(7);
    for (index n = 0; n < 100; ++n) {
        std::vector<T> values(usize(n));
        for (T& value : values) value = static_cast<T>(random());  // all bits: sums go round
        const auto first = static_cast<T>(random());
        std::vector<T> inclusive(usize(n)), exclusive(usize(n)), found(usize(n));
        std::make_unsigned_t<T> sum = detail::bits_of(first);
        for (std::size_t i = 0; i < values.size(); ++i) {
            exclusive[i] = static_cast<T>(sum);
            sum = static_cast<std::make_unsigned_t<T>>(sum + detail::bits_of(values[i]));
            inclusive[i] = static_cast<T>(sum);
        }
        const T* in = values.data();
        CHECK(detail::scan_integers<true>(in, found.data(), n, first) == static_cast<T>(sum));
        CHECK(found == inclusive);
        CHECK(detail::scan_integers<false>(in, found.begin(), n, first) == static_cast<T>(sum));
        CHECK(found == exclusive);
        CHECK(detail::scan_one_by_one<true>(in, found.data(), n, detail::bits_of(first)) == sum);
        CHECK(found == inclusive);
        CHECK(detail::scan_one_by_one<false>(in, found.data(), n, detail::bits_of(first)) == sum);
        CHECK(found == exclusive);
        sum = static_cast<std::make_unsigned_t<T>>(sum - detail::bits_of(first));
        CHECK(detail::sum_of_integers(in, n) == static_cast<T>(sum));
        CHECK(detail::sum_one_by_one(in, n) == sum);
        detail::scan_integers<false>(in, values.data(), n, first);
        CHECK(values == exclusive);
    }
}

TEST_CASE("in place" * doctest::description("algorithms.md, promise 5")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t size : sizes) {
            std::vector<int> values(size, 1);
            parallel_inclusive_scan(some, values, values.begin());
            for (std::size_t i = 0; i < size; ++i) REQUIRE(values[i] == static_cast<int>(i) + 1);
            parallel_exclusive_scan(some, values, values.begin(), 0,
                                    [](int a, int b) { return std::max(a, b); });
            for (std::size_t i = 0; i < size; ++i) REQUIRE(values[i] == static_cast<int>(i));
        }
    }
}

TEST_CASE("sums of another type than the elements, which become one by name only") {
    struct total {
        long value = 0;
        explicit total(int one) : value(one) {}
    };
    struct adding {
        total operator()(total left, const total& right) const { return left.value += right.value, left; }
        total operator()(total left, int right) const { return left.value += right, left; }
    };
    team some(shared_by(3));
    const std::vector<int> ones(40'000, 1);
    std::vector<total> found(ones.size(), total{0});
    parallel_inclusive_scan(some, ones, found.begin(), adding{}, total{5});
    for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i].value == 6 + static_cast<long>(i));
}

TEST_CASE("a scan that throws or is stopped leaves the team usable" *
          doctest::description("algorithms.md, promise 2")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const schedule& chosen : fewer_schedules) {
            std::vector<int> values(20'000, 1);
            std::vector<int> found(values.size());
            std::atomic<int> calls{0};
            const auto failing = [&](int a, int b) {
                if (++calls == 9000) throw std::runtime_error("bad sum");
                return a + b;
            };
            CHECK_THROWS_WITH(parallel_inclusive_scan(some, values, found.begin(), failing,
                                                      algorithm_options{.schedule = chosen}),
                              "bad sum");
            std::stop_source source;
            const auto stopping = [&](int a, int b) {
                source.request_stop();
                return a + b;
            };
            // All tiles may have begun before the stop; then it comes too late, and the scan is whole.
            try {
                parallel_exclusive_scan(some, values, found.begin(), 0, stopping,
                                        {.schedule = chosen, .stop = source.get_token()});
                CHECK(found.back() == 19'999);
            } catch (const stopped&) {
            }
            CHECK_THROWS_AS(parallel_exclusive_scan(some, values, found.begin(), 0, std::plus<>{},
                                                    {.schedule = chosen, .stop = source.get_token()}),
                            stopped);
            parallel_inclusive_scan(some, values, found.begin());
            CHECK(found.back() == 20'000);
        }
    }
}

TEST_CASE("a scan inside a body, with a move-only operation" *
          doctest::description("algorithms.md, promise 3")) {
    team some(shared_by(3));
    std::atomic<int> right{0};
    parallel_for(some, 8,
                 [&](index) {
                     std::vector<int> values(10'000, 1);
                     auto add = [own = std::make_unique<int>(0)](int a, int b) { return a + b + *own; };
                     parallel_inclusive_scan(some, values, values.begin(), std::move(add));
                     right += values.back() == 10'000 ? 1 : 0;
                 },
                 {.schedule = dynamic{1}});
    CHECK(right.load() == 8);
}

TEST_CASE("a block has 1088 elements, or 8 to 1088 where the operation is unknown") {
    for (index n = 1; n <= max_iterations; n *= 2) {
        CHECK(detail::scan_plan::of(n, true).block == 1088);
        const index block = detail::scan_plan::of(n, false).block;
        CHECK(block >= 8);
        CHECK(block <= 1088);
        if (n >= index{1} << 17) CHECK(block == 1088);
    }
}

TEST_CASE("a sequence that ends before it begins is refused") {
    team some(shared_by(1));
    std::vector<int> values(10 * usize(some.size()));  // a length that the compiler does not know
    CHECK_THROWS_WITH_AS(
        parallel_inclusive_scan(some, values.end(), values.begin(), values.begin()),
        "parallel_inclusive_scan of -10 elements; there may be 0 to 2^56: is `last` before `first`?", error);
}

TEST_CASE("a tile that does not know what is before it does not wait: a slow member holds nobody up") {
    // The first tile's sum is not known until all the others' are.
    team some(shared_by(2));
    std::atomic<int> others{0};
    constexpr index tiles = 50;
    const auto reduce = [&](index t) -> index {
        if (t == 0) {
            while (others.load() < tiles - 1) std::this_thread::yield();  // for ever where they wait for it
        } else {
            ++others;
        }
        return 1;
    };
    std::vector<index> before(usize(tiles), -1);
    detail::wavefront wave(
        tiles, index{0}, reduce, [](index a, index b) { return a + b; },
        [&](index t, index sum, index) { at(before, t) = sum; });
    CHECK(wave.run(some, {.schedule = dynamic{1}}) == tiles);
    CHECK(others.load() == tiles - 1);
    for (index t = 0; t < tiles; ++t) CHECK(at(before, t) == t);
}

TEST_CASE("the front of a scan is done at once, and who has it holds nobody up") {
    team some(shared_by(2));
    constexpr index tiles = 50;
    for (const bool front_waits : {false, true}) {
        std::atomic<int> others{0};
        std::atomic<index> at_once{0};
        std::vector<index> before(usize(tiles), -1);
        detail::scan_front front(
            tiles, index{1000}, [&](index t) { return ++others, t; }, std::plus<index>{},
            [&](index t, index sum) { at(before, t) = sum; },
            [&](index t, index sum) {
                // For ever where somebody waits for the front.
                while (front_waits && t == 0 && others.load() == 0) std::this_thread::yield();
                ++at_once;
                at(before, t) = sum;
                return t;
            });
        front.run(some, {.schedule = static_{}});
        for (index t = 0; t < tiles; ++t) CHECK(at(before, t) == 1000 + t * (t - 1) / 2);
        CHECK(at_once >= 1);
        CHECK(at_once + others == tiles);
    }
    // One member does all of it at once.
    index summed = 0;
    std::vector<index> before(usize(tiles), -1);
    detail::scan_front alone(
        tiles, index{0}, [&](index t) { return ++summed, t; }, std::plus<index>{}, [](index, index) {},
        [&](index t, index sum) {
            at(before, t) = sum;
            return t;
        });
    alone.run(some, {.members = 1});
    CHECK(summed == 0);
    CHECK(before.back() == (tiles - 1) * (tiles - 2) / 2);
}

TEST_CASE("transform_reduce: std's shapes, and the same bits for every team and schedule" *
          doctest::description("algorithms.md, promise 6")) {
    const std::vector<double> x = numbers(30'000, 7);
    const std::vector<double> y = numbers(30'000, 8);
    std::set<std::uint64_t> products;
    std::set<std::uint64_t> squares;
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const schedule& chosen : fewer_schedules) {
            const reduce_options options{.schedule = chosen};
            products.insert(std::bit_cast<std::uint64_t>(parallel_transform_reduce(
                some, x.begin(), x.end(), y.begin(), 0.0, std::plus<>{}, std::multiplies<>{}, options)));
            const auto square = [](double one) { return one * one; };
            squares.insert(std::bit_cast<std::uint64_t>(parallel_transform_reduce(
                some, x, 1.0, [](double a, double b) { return a + b; }, square, options)));
        }
        CHECK(parallel_transform_reduce(some, x.begin(), x.begin(), y.begin(), 4.0) == 4.0);
        const std::vector<int> few = {1, 2, 3};
        CHECK(parallel_transform_reduce(some, few.begin(), few.end(), few.begin(), 10) == 24);
        const std::deque<std::string> words = {"a", "bb", "ccc"};
        CHECK(parallel_transform_reduce(some, words, std::size_t{0}, std::plus<>{}, &std::string::size) == 6);
        auto owner = [own = std::make_unique<int>(2)](int one) { return one * *own; };
        CHECK(parallel_transform_reduce(some, few.begin(), few.end(), 0, std::plus<>{}, std::move(owner)) ==
              12);
    }
    CHECK(products.size() == 1);
    CHECK(squares.size() == 1);
}

}  // namespace tauto
