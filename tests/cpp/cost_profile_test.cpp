// What iterations cost, and the order in which an uneven loop's parts are handed out.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include <tauto/cost_profile.hpp>
#include <tauto/schedule.hpp>

namespace tauto {
using detail::as_double;
using detail::cost_order;
using detail::cost_profile;
using detail::usize;

namespace {

// A profile that was told what each of n iterations takes, in chunks of `step`.
cost_profile profile_of(const std::vector<double>& costs, index step = 1) {
    cost_profile profile;
    const index n = std::ssize(costs);
    for (index begin = 0; begin < n; begin += step) {
        const range chunk{begin, std::min(n, begin + step)};
        double time = 0;
        for (index i = chunk.begin; i < chunk.end; ++i) time += costs[usize(i)];
        profile.note(n, chunk, time);
    }
    profile.end_call();
    return profile;
}

std::vector<double> triangle(index n) {
    std::vector<double> costs;
    for (index i = 0; i < n; ++i) costs.push_back(as_double(i + 1));
    return costs;
}

}  // namespace

TEST_CASE("a profile knows what it was told, for loops with as many blocks") {
    const cost_profile profile = profile_of(triangle(10));
    CHECK(profile.known(10));
    CHECK_FALSE(profile.known(11));
    CHECK(profile.cost(10, {0, 10}) == doctest::Approx(55));
    CHECK(profile.cost(10, {9, 10}) == doctest::Approx(10));
    CHECK(profile.cost(10, {3, 3}) == 0);
    CHECK(profile.largest() == doctest::Approx(10.0 / 55));

    const cost_profile blocks = profile_of(triangle(1000), 4);
    CHECK(blocks.known(2000));
    CHECK_FALSE(blocks.known(127));
    CHECK(blocks.cost(1000, {0, 500}) == doctest::Approx(500 * 501 / 2).epsilon(0.01));
    CHECK(blocks.cost(2000, {0, 2000}) == doctest::Approx(2 * 500'500).epsilon(0.01));
}

TEST_CASE("a cost that changes is followed, and a disturbance is forgotten") {
    cost_profile profile = profile_of({1, 1, 1, 1});
    for (int call = 0; call < 40; ++call) {
        for (index i = 0; i < 4; ++i) profile.note(4, {i, i + 1}, i == 2 ? 9 : 1);
        profile.end_call();
    }
    CHECK(profile.cost(4, {2, 3}) == doctest::Approx(9).epsilon(0.01));
    profile.note(4, {0, 1}, 1e9);
    profile.end_call();
    CHECK(profile.cost(4, {0, 1}) < 2);
    // Blocks that were not timed keep their cost.
    CHECK(profile.cost(4, {2, 3}) == doctest::Approx(9).epsilon(0.01));
}

TEST_CASE("the order has every iteration once, the most expensive part first") {
    for (const index n :
         {index{1}, index{5}, index{64}, index{127}, index{128}, index{1000}, index{1} << 56}) {
        CAPTURE(n);
        cost_profile profile;
        const index blocks = cost_profile::blocks_of(n);
        const auto block = [&](index number) { return n / blocks * number + n % blocks * number / blocks; };
        for (index b = 0; b < blocks; ++b)
            profile.note(n, {block(b), block(b + 1)}, as_double(1 + b * 37 % 11));
        profile.end_call();
        for (const double least : {0.0, 20.0, 1e9}) {
            cost_order order;
            profile.sort(n, least, order);
            std::vector<range> parts;
            double before = std::numeric_limits<double>::infinity();
            for (std::uint32_t place = 0; place < static_cast<std::uint32_t>(order.parts); ++place) {
                parts.push_back(order.iterations(n, place));
                CHECK(order.time(place, place + 1) <= before);
                before = order.time(place, place + 1);
            }
            std::sort(parts.begin(), parts.end(), [](range a, range b) { return a.begin < b.begin; });
            index next = 0;
            for (const range& part : parts) {
                CHECK(part.begin == next);
                CHECK_FALSE(part.empty());
                next = part.end;
            }
            CHECK(next == n);
            if (least > 1e8) CHECK(order.parts == 1);
        }
    }
}

TEST_CASE("members that take parts from both ends get each one once" *
          doctest::description("runtime.md, promise 1")) {
    const index n = 100;
    const cost_profile profile = profile_of(triangle(n));
    cost_order order;
    profile.sort(n, 0, order);
    const std::vector<double> speeds = {1.0, 0.25, 1.0, 0.25};
    order.total_speed = 2.5;
    order.fastest = 1.0;
    adaptive_plan plan;
    plan.n = n;
    plan.members = 4;
    plan.speeds = speeds.data();
    plan.order = &order;
    for (int round = 0; round < 200; ++round) {
        std::atomic<std::uint64_t> share{detail::pack_share(0, plan.units())};
        std::vector<std::atomic<int>> taken(usize(n));
        std::atomic<bool> fast_left{false};
        const auto work = [&](int rank) {
            for (;;) {
                bool left_early = false;
                const range part = take_in_order(plan, share, rank, left_early);
                if (left_early && speeds[usize(rank)] == 1.0) fast_left = true;
                if (part.empty()) return;
                for (index i = part.begin; i < part.end; ++i) ++taken[usize(i)];
            }
        };
        std::vector<std::thread> members;
        for (int rank = 0; rank < 4; ++rank) members.emplace_back(work, rank);
        for (std::thread& member : members) member.join();
        CHECK_FALSE(fast_left);
        for (const std::atomic<int>& count : taken) REQUIRE(count == 1);
    }
}

TEST_CASE("a slow member leaves when the others would end sooner than its next part") {
    const cost_profile profile = profile_of({1, 1, 1, 1});
    cost_order order;
    profile.sort(4, 0, order);
    const std::vector<double> speeds = {1.0, 0.1};
    order.total_speed = 1.1;
    order.fastest = 1.0;
    adaptive_plan plan;
    plan.n = 4;
    plan.members = 2;
    plan.speeds = speeds.data();
    plan.order = &order;
    std::atomic<std::uint64_t> share{detail::pack_share(0, 4)};
    bool left_early = false;
    CHECK(take_in_order(plan, share, 1, left_early).empty());
    CHECK(left_early);
    int left = 0;
    for_each_left(plan, share.load(), [&](range) { return ++left < 3; });
    CHECK(left == 3);
}

}  // namespace tauto
