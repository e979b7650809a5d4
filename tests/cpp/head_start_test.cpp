// Which way of a recursion is taken, from what calls took.

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <random>

#include <tauto/clock.hpp>
#include <tauto/signed.hpp>

#include "runtime/head_start.hpp"

namespace tauto::detail {
namespace {

struct counts {
    int alone = 0;
    int calls = 0;
    [[nodiscard]] double share() const { return as_double(alone) / as_double(calls); }
};

// Calls whose caller is alone at first take `by_alone` times as long as others. `length`: of the others, in
// ticks.
template <class Length>
counts call(head_start& known, int calls, double by_alone, Length length) {
    counts all;
    for (; all.calls < calls; ++all.calls) {
        const bool alone = known.next().alone > 0;
        all.alone += alone ? 1 : 0;
        known.note(static_cast<std::int64_t>(length() * (alone ? by_alone : 1)));
    }
    return all;
}

// Log-normal: about two thirds are within a factor.
auto lengths(double median, double factor, unsigned seed) {
    return
        [draw = std::mt19937(seed),
         of = std::lognormal_distribution(std::log(median), std::log(factor))]() mutable { return of(draw); };
}

}  // namespace

TEST_CASE("the caller is alone for 100 us, or not at all") {
    head_start known;
    const std::int64_t whole = to_ticks(std::chrono::microseconds(100));
    int alone = 0;
    for (int i = 0; i < 100; ++i) {
        const std::int64_t ticks = known.next().alone;
        CHECK((ticks == 0 || ticks == whole));
        alone += ticks > 0 ? 1 : 0;
        known.note(1000);
    }
    CHECK(alone > 20);
    CHECK(alone < 80);
}

TEST_CASE("the faster way is taken, whatever the lengths are") {
    for (const double factor : {1.02, 1.3, 3.0, 10.0}) {
        for (unsigned seed = 0; seed < 5; ++seed) {
            CAPTURE(factor);
            CAPTURE(seed);
            head_start faster_alone;
            head_start faster_shared;
            // Some hundred calls may go by before it is known, where lengths differ much.
            call(faster_alone, 1000, 0.4, lengths(30'000, factor, seed));
            call(faster_shared, 1000, 2.5, lengths(30'000, factor, seed));
            CHECK(call(faster_alone, 4000, 0.4, lengths(30'000, factor, 100 + seed)).share() > 0.9);
            CHECK(call(faster_shared, 4000, 2.5, lengths(30'000, factor, 100 + seed)).share() < 0.1);
        }
    }
}

TEST_CASE("where calls become longer, both ways are tried at once") {
    head_start known;
    call(known, 5000, 0.5, lengths(30'000, 1.1, 1));
    CHECK(call(known, 500, 0.5, lengths(30'000, 1.1, 2)).share() > 0.9);
    call(known, 60, 1.8, lengths(3e6, 1.1, 3));
    CHECK(call(known, 500, 1.8, lengths(3e6, 1.1, 4)).share() < 0.1);
}

TEST_CASE("members are left asleep where the caller is alone and calls are short") {
    const auto count = [](head_start& known, int calls, double took) {
        int asleep = 0;
        for (int i = 0; i < calls; ++i) {
            const head_start::way way = known.next();
            CHECK((way.wakes || way.alone > 0));
            asleep += way.wakes ? 0 : 1;
            known.note(static_cast<std::int64_t>(took * (way.alone > 0 ? 1 : 2)));
        }
        return asleep;
    };
    const double whole = as_double(to_ticks(std::chrono::microseconds(100)));
    head_start known;
    CHECK(count(known, 500, whole / 4) > 300);
    count(known, 1, 10 * whole);
    CHECK(count(known, 400, whole / 4) == 0);
    count(known, 1000, whole / 4);
    CHECK(count(known, 500, whole / 4) > 300);
    head_start shared;
    for (int i = 0; i < 500; ++i) {
        const bool alone = shared.next().alone > 0;
        shared.note(static_cast<std::int64_t>(whole * (alone ? 2 : 1)));
    }
    int asleep = 0;
    for (int i = 0; i < 200; ++i) asleep += shared.next().wakes ? 0 : 1;
    CHECK(asleep == 0);
}

TEST_CASE("a time that is no time does no harm") {
    head_start known;
    for (const std::int64_t took : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1} << 62}) {
        for (int i = 0; i < 300; ++i) {
            static_cast<void>(known.next());
            known.note(took);
        }
    }
    call(known, 1000, 0.5, lengths(30'000, 1.1, 1));
    CHECK(call(known, 1000, 0.5, lengths(30'000, 1.1, 2)).share() > 0.9);
}

}  // namespace tauto::detail
