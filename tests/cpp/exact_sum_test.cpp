// Sums that are rounded once.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <tauto/tauto.hpp>

namespace tauto {

namespace {

__extension__ using wide = __int128;

std::uint64_t bits_of(double value) {
    return std::bit_cast<std::uint64_t>(value);
}

double exact(const std::vector<double>& values) {
    exact_accumulator sum;
    for (const double value : values) sum.add(value);
    return sum.value();
}

}  // namespace

TEST_CASE("sums whose exact value is known") {
    const double huge = std::numeric_limits<double>::max();
    const double tiny = std::numeric_limits<double>::denorm_min();
    CHECK(exact({}) == 0.0);
    CHECK(exact({1e100, 1.0, -1e100}) == 1.0);
    CHECK(exact({huge, huge, -huge, -huge, tiny}) == tiny);
    CHECK(exact({tiny, tiny, tiny}) == 3 * tiny);
    CHECK(exact({-huge, tiny, huge}) == tiny);
    CHECK(exact({huge, huge}) == std::numeric_limits<double>::infinity());
    CHECK(exact({-huge, -huge}) == -std::numeric_limits<double>::infinity());
    CHECK(exact({0.1, 0.2, 0.3}) == 0.6);
    CHECK(exact({-1.0, -2.5}) == -3.5);
}

TEST_CASE("a sum is rounded to nearest, ties to even") {
    const double half_ulp = std::ldexp(1.0, -53);
    const double tiny = std::numeric_limits<double>::denorm_min();
    CHECK(exact({1.0, half_ulp}) == 1.0);
    CHECK(exact({1.0, half_ulp, tiny}) == 1.0 + 2 * half_ulp);
    CHECK(exact({1.0, half_ulp, -tiny}) == 1.0);
    CHECK(exact({1.0 + 2 * half_ulp, half_ulp}) == 1.0 + 4 * half_ulp);
    CHECK(exact({-1.0, -half_ulp, -tiny}) == -1.0 - 2 * half_ulp);
    // All ones, rounded up into the next power of two.
    CHECK(exact({2.0 - std::ldexp(1.0, -52), half_ulp}) == 2.0);
}

TEST_CASE("infinities and NaN behave as in any sum") {
    const double inf = std::numeric_limits<double>::infinity();
    CHECK(exact({1.0, inf}) == inf);
    CHECK(exact({-inf, 1e300}) == -inf);
    CHECK(std::isnan(exact({inf, -inf})));
    CHECK(std::isnan(exact({1.0, std::numeric_limits<double>::quiet_NaN()})));
}

TEST_CASE("sums of integers of 100 bits agree with integer arithmetic") {
    std::mt19937_64 random(11);
    for (int trial = 0; trial < 200; ++trial) {
        wide wanted = 0;
        exact_accumulator sum;
        for (int i = 0; i < 3000; ++i) {
            const auto mantissa = static_cast<std::int64_t>(random()) >> 12;
            const int shift = static_cast<int>(random() % 40);
            wanted += static_cast<wide>(mantissa) << shift;
            sum.add(std::ldexp(static_cast<double>(mantissa), shift));
        }
        // The conversion of __int128 rounds to nearest, ties to even, too.
        REQUIRE(bits_of(sum.value()) == bits_of(static_cast<double>(wanted)));
    }
}

TEST_CASE("the same bits for every order, grouping, team and schedule" *
          doctest::description("runtime.md, promise 16")) {
    std::mt19937_64 random(5);
    std::vector<double> values(20'000);
    for (double& value : values)
        value = std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 400) - 200);
    const double wanted = exact(values);
    for (int members = 1; members <= 4; ++members) {
        std::shuffle(values.begin(), values.end(), random);
        team some({.size = members});
        for (const schedule chosen : {schedule{adaptive{}}, schedule{dynamic{3}}, schedule{static_{}}}) {
            CHECK(bits_of(exact_sum(some, values, {.schedule = chosen})) == bits_of(wanted));
        }
    }
    CHECK(exact_sum(*std::make_unique<team>(), 0, [](index) { return 1.0; }) == 0.0);
}

}  // namespace tauto
