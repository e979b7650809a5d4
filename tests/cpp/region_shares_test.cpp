// The shares that a parallel region learns from its runs.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "balance/waits/region_shares.hpp"

namespace tauto::balance {

namespace {

struct cpu {
    double speed = 1;        // work a ns
    double late = 0;         // ns from the fork until it begins
    double scatter = 0;      // of that
    double own_work = 0;     // besides the loop
    double interrupted = 0;  // ns, once
};

// Members that share a region out as it says, and tell it how that went.
struct region {
    std::vector<cpu> cpus;
    double work;  // ns on a CPU of speed 1
    std::unique_ptr<region_shares> shares = std::make_unique<region_shares>();
    std::mt19937 chance{1};

    region(std::vector<cpu> on, double all) : cpus(std::move(on)), work(all) {
        std::vector<std::uint32_t> weights;
        for (const cpu& one : cpus) weights.push_back(static_cast<std::uint32_t>(1'000'000 * one.speed));
        shares->begin(weights);
    }
    // What it took.
    double run() {
        std::vector<seen_part> seen;
        double longest = 0;
        for (std::size_t k = 0; k < cpus.size(); ++k) {
            cpu& one = cpus[k];
            const double begun = one.late + one.scatter * std::uniform_real_distribution(-1.0, 1.0)(chance);
            const double took = (one.own_work + shares->share(k) * work) / one.speed;
            seen.push_back({begun, begun + took + std::exchange(one.interrupted, 0), 0, false});
            longest = std::max(longest, seen.back().ended);
        }
        shares->learn(seen);
        return longest;
    }
    double mean_of(int runs) {
        double sum = 0;
        for (int k = 0; k < runs; ++k) sum += run();
        return sum / runs;
    }
};

TEST_CASE("shares begin by weight, and all of the region is in them") {
    region one({{1.0}, {0.25}, {0.75}}, 1e6);
    CHECK(one.shares->members() == 3U);
    CHECK(std::abs(one.shares->share(0) - (0.5)) < 1e-4);
    CHECK(std::abs(one.shares->share(1) - (0.125)) < 1e-4);
    CHECK(one.shares->before(0) == 0U);
    CHECK(one.shares->before(3) == whole);
}

// 300 us of work; the slow member is woken up after 60 us: 252 us is the least, 288 by the speeds alone.
TEST_CASE("the time that it takes to wake a member up counts") {
    region one({{1.0, 5e3}, {0.25, 60e3}}, 300e3);
    CHECK(one.run() > 295e3);
    one.mean_of(20);
    CHECK(std::abs(one.mean_of(20) - ((300e3 + 5e3 + 15e3) / 1.25)) < 2e3);
}

TEST_CASE("who ends at different times gets less") {
    region sure({{1.0}, {0.25, 60e3}}, 300e3);
    region late_at_times({{1.0}, {0.25, 60e3, 50e3}}, 300e3);
    sure.mean_of(50);
    late_at_times.mean_of(50);
    CHECK(late_at_times.shares->share(1) < 0.95 * sure.shares->share(1));
    CHECK(late_at_times.mean_of(500) < 275e3);  // shares by the mean times alone: 283
}

TEST_CASE("a short region is left to who is there, until the others are woken sooner") {
    region one({{1.0}, {0.5, 50e3}}, 30e3);
    one.mean_of(50);
    CHECK(one.shares->share(1) == 0.0);
    CHECK(std::abs(one.run() - (50e3)) < 1.0);  // it begins, and has nothing to do
    one.cpus[1].late = 2e3;
    one.mean_of(100);
    CHECK(std::abs(one.run() - (31e3 / 1.5)) < 0.5e3);
}

TEST_CASE("shares follow a CPU that becomes slow, and fast again") {
    region one({{1.0}, {1.0 - 1e-6}}, 10e6);
    one.mean_of(20);
    one.cpus[1].speed = 0.25;
    one.mean_of(40);
    CHECK(std::abs(one.run() - (8e6)) < 0.3e6);
    one.cpus[1].speed = 1;
    one.mean_of(40);
    CHECK(std::abs(one.run() - (5e6)) < 0.3e6);
}

TEST_CASE("one interruption changes little") {
    region one({{1.0}, {0.5}}, 300e3);
    one.mean_of(30);
    const double before = one.run();
    one.cpus[1].interrupted = 20e6;
    one.run();
    CHECK(one.run() < 1.15 * before);
    one.mean_of(40);
    CHECK(one.run() < 1.02 * before);
}

TEST_CASE("work besides the loop is made up for") {
    region one({{1.0, 0, 0, 100e3}, {0.5, 0, 0, 100e3}}, 900e3);
    one.mean_of(60);
    CHECK(std::abs(one.run() - (1100e3 / 1.5)) < 5e3);
}

// All members leave a barrier at the same time, so their parts take equally long whatever their shares are.
TEST_CASE("time at a barrier in between is no work") {
    const std::array<std::uint32_t, 2> weights{1, 1};
    region_shares one;
    one.begin(weights);
    for (int k = 0; k < 40; ++k) {
        const double first = one.share(0) * 1e6;
        const double second = one.share(1) * 1e6 / 0.25;
        const double both = std::max(first, second);
        const std::array<seen_part, 2> seen{
            {{0, both, both - first, false}, {0, both, both - second, false}}};
        one.learn(seen);
    }
    CHECK(std::abs(one.share(0) - (0.8)) < 0.01);
}

// Iteration i costs i: what a member has to do grows with the square of where its share ends.
TEST_CASE("iterations that cost more and more are shared out by what they cost") {
    const std::array<std::uint32_t, 3> weights{4, 1, 2};
    const std::array<double, 3> speeds{1.0, 0.25, 0.5};
    region_shares one;
    one.begin(weights);
    double longest = 0;
    for (int k = 0; k < 80; ++k) {
        std::array<seen_part, 3> seen;
        longest = 0;
        for (std::size_t member = 0; member < 3; ++member) {
            const double from = one.before(member) / double{whole};
            const double to = one.before(member + 1) / double{whole};
            const double took = 1e6 * (to * to - from * from) / speeds[member];
            seen[member] = {1e3, 1e3 + took, 0, false};
            longest = std::max(longest, took);
        }
        one.learn(seen);
    }
    CHECK(std::abs(longest - 1e6 / 1.75) < 5e3);
}

TEST_CASE("who was moved to a faster CPU is not taken for fast") {
    const std::array<std::uint32_t, 2> weights{4, 1};
    region_shares one;
    one.begin(weights);
    for (int k = 0; k < 20; ++k) {
        const std::array<seen_part, 2> seen{
            {{0, one.share(0) * 1e6, 0, false}, {0, one.share(1) * 4e6, 0, false}}};
        one.learn(seen);
    }
    for (int k = 0; k < 20; ++k) {
        const std::array<seen_part, 2> seen{
            {{0, one.share(0) * 1e6, 0, false}, {0, one.share(1) * 1e6, 0, true}}};
        one.learn(seen);
    }
    CHECK(one.share(1) <= 0.2 + 1e-3);
}

TEST_CASE("whatever is told, each iteration is in one share") {
    std::mt19937 chance(7);
    const std::array<double, 8> times{0, 1, -1, 1e3, 1e6, 1e18, -1e18, 3.5};
    for (int trial = 0; trial < 200; ++trial) {
        region_shares one;
        std::vector<std::uint32_t> weights(2 + chance() % 20);
        for (std::uint32_t& weight : weights)
            weight = chance() % 4 == 0 ? 0 : static_cast<std::uint32_t>(chance() % 1'000'000);
        weights[0] = static_cast<std::uint32_t>(1 + chance() % 1000);
        one.begin(weights);
        for (int run = 0; run < 30; ++run) {
            std::vector<seen_part> seen(weights.size());
            for (seen_part& part : seen)
                part = {times[chance() % 8], times[chance() % 8], times[chance() % 8], chance() % 2 == 0};
            one.learn(seen);
            REQUIRE(one.before(0) == 0U);
            REQUIRE(one.before(weights.size()) == whole);
            for (std::size_t k = 0; k < weights.size(); ++k) REQUIRE(one.before(k) <= one.before(k + 1));
        }
    }
}

}  // namespace

}  // namespace tauto::balance
