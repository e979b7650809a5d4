// The learner in virtual time: a made-up machine answers how long a loop takes with each width.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <tauto/loop_model.hpp>

namespace tauto {
using detail::adaptive_loop;
using detail::loop_model;
using detail::loop_model_options;

namespace {

constexpr double microsecond = 1000;  // a tick is a nanosecond
constexpr auto no_time = [] { return std::int64_t{0}; };

// speed[rank] iterations a tick; a fork of all costs fork ticks.
struct made_up_machine {
    std::vector<double> speeds;
    double fork = 500;
    double noise = 0.0;
    std::mt19937 random{3};
    double now = 0;
    // Extra ticks for a call with this width (other programs, shared memory …).
    std::function<double(int width, double now)> extra = [](int, double) { return 0.0; };
    // What a call with this width leaves to another loop, in ticks.
    std::function<double(int width)> left_over = [](int) { return 0.0; };

    double run(loop_model& model, index n) {
        if (model.take_inline_call([&] { return static_cast<std::int64_t>(now); })) {
            const double alone = static_cast<double>(n) / speeds[0];
            now += alone;
            return alone;
        }
        const int width = model.width();
        double sum = 0;
        for (int i = 0; i < width; ++i)
            sum += speeds[static_cast<std::size_t>(model.order()[static_cast<std::size_t>(i)])];
        std::normal_distribution<double> spread(1.0, noise);
        double time = static_cast<double>(n) / sum * (noise > 0 ? std::max(0.5, spread(random)) : 1.0);
        if (width > 1) time += fork;
        time += extra(width, now);
        for (int i = 0; i < width && width > 1; ++i) {
            const int rank = model.order()[static_cast<std::size_t>(i)];
            const double part = speeds[static_cast<std::size_t>(rank)] / sum;
            model.record_member(rank, static_cast<index>(static_cast<double>(n) * part + 0.5),
                                static_cast<std::int64_t>(time));
        }
        model.record(n, static_cast<std::int64_t>(time) + 1);
        const double rest = left_over(width);
        if (rest > 0) model.charge(static_cast<std::int64_t>(rest));
        now += time + rest;
        return time + rest;
    }

    // Mean ticks of the last `kept` of `calls`.
    double mean(loop_model& model, index n, int calls, int kept) {
        double sum = 0;
        for (int call = 0; call < calls; ++call) {
            const double time = run(model, n);
            if (call >= calls - kept) sum += time;
        }
        return sum / kept;
    }
};

loop_model_options widths(std::initializer_list<int> list, double fork) {
    loop_model_options options;
    options.microsecond = microsecond;
    for (const int width : list) {
        options.widths.push_back(
            {width, fork * static_cast<double>(width - 1) / static_cast<double>(*(list.end() - 1) - 1)});
    }
    return options;
}

}  // namespace

TEST_CASE("a loop far too short to fork ends inline within a few calls and stays there") {
    made_up_machine machine{.speeds = {4.0, 4.0}};
    loop_model model(widths({1, 2}, 500));
    for (int call = 0; call < 20; ++call) machine.run(model, 64);
    CHECK(model.width() == 1);
    int timed = 0;
    for (int call = 0; call < 100'000; ++call) {
        if (!model.take_inline_call(no_time)) {
            ++timed;
            CHECK(model.width() == 1);
            model.record(64, 16);
        }
    }
    CHECK(timed < 1000);
}

TEST_CASE("a long loop keeps all members and never runs inline for a trial that cannot win") {
    made_up_machine machine{.speeds = {1.0, 1.0, 1.0, 1.0}};
    loop_model model(widths({1, 2, 4}, 500));
    for (int call = 0; call < 200; ++call) {
        CHECK(model.width() == 4);
        machine.run(model, 5'000'000);  // 1.25 ms with all
    }
}

TEST_CASE("a slow member is dropped where it leaves more to another loop than it does") {
    // A scan: what the slow member has begun is finished at the end.
    made_up_machine machine{.speeds = {1.0, 0.25}};
    loop_model model(widths({1, 2}, 500));
    machine.left_over = [](int width) { return width == 2 ? 120'000.0 : 0.0; };
    CHECK(machine.mean(model, 300'000, 400, 200) == doctest::Approx(300'000).epsilon(0.03));
    CHECK(model.width() == 1);
    // Of a short loop only one call in four is recorded, and stands for all.
    loop_model often(widths({1, 2}, 100));
    machine.speeds = {1.0, 1.0};
    machine.left_over = [](int width) { return width == 2 ? 2'000.0 : 0.0; };
    int waited = 0;
    for (int call = 0; call < 4000; ++call) {
        if (often.width() == 2 && often.skip_recording()) {
            often.charge(2'000);
            ++waited;
        } else {
            machine.run(often, 10'000);
        }
    }
    CHECK(waited > 1000);
    CHECK(often.width() == 2);
    CHECK(often.explanation().starts_with("2 members: 7"));
}

TEST_CASE("speeds are learned from what the members did") {
    made_up_machine machine{.speeds = {1.0, 0.25}};
    loop_model model(widths({1, 2}, 500));
    for (int call = 0; call < 20; ++call) machine.run(model, 1'000'000);
    REQUIRE(model.speeds_known());
    CHECK(model.speeds()[0] / model.speeds()[1] == doctest::Approx(4.0).epsilon(0.02));
    CHECK(model.share_speeds()[0] / model.share_speeds()[1] == doctest::Approx(4.0).epsilon(0.04));
}

TEST_CASE("a change of speed is taken over within a few loops") {
    made_up_machine machine{.speeds = {1.0, 1.0}};
    loop_model model(widths({1, 2}, 500));
    for (int call = 0; call < 100; ++call) machine.run(model, 1'000'000);
    CHECK(model.share_speeds()[0] == model.share_speeds()[1]);
    machine.speeds[1] = 0.25;
    for (int call = 0; call < 5; ++call) machine.run(model, 1'000'000);
    CHECK(model.share_speeds()[0] / model.share_speeds()[1] == doctest::Approx(4.0).epsilon(0.1));
    machine.speeds[1] = 1.0;
    for (int call = 0; call < 5; ++call) machine.run(model, 1'000'000);
    CHECK(model.share_speeds()[0] / model.share_speeds()[1] == doctest::Approx(1.0).epsilon(0.1));
}

TEST_CASE("noise of two per cent leaves equal shares exactly equal") {
    made_up_machine machine{.speeds = {1.0, 1.0}, .noise = 0.02};
    loop_model model(widths({1, 2}, 500));
    std::mt19937 random(5);
    std::normal_distribution<double> spread(1.0, 0.01);
    int moved = 0;
    for (int call = 0; call < 500; ++call) {
        machine.speeds[1] = spread(random);
        machine.run(model, 1'000'000);
        if (call > 10 && model.share_speeds()[0] != model.share_speeds()[1]) ++moved;
    }
    CHECK(moved < 50);
}

TEST_CASE("a slow member that holds short loops up is dropped, and taken back when it is fast again") {
    // 10 us alone; with both, a member that another program interrupts makes the loop wait 30 us on average.
    bool held_up = true;
    made_up_machine machine{.speeds = {1.0, 1.0}, .noise = 0.02};
    machine.extra = [&](int width, double) { return width > 1 && held_up ? 30.0 * microsecond : 0.0; };
    loop_model model(widths({1, 2}, 500));
    const double slowed = machine.mean(model, 10'000, 20'000, 10'000);
    CHECK(model.width() == 1);
    CHECK(slowed <= 10.0 * microsecond * 1.03);
    held_up = false;
    const double freed = machine.mean(model, 10'000, 400'000, 10'000);
    CHECK(freed <= 5.5 * microsecond * 1.05);
}

TEST_CASE("trials of a width that keeps losing cost less than two per cent") {
    made_up_machine machine{.speeds = {1.0, 1.0}};
    machine.extra = [](int width, double) { return width > 1 ? 20.0 * microsecond : 0.0; };
    loop_model model(widths({1, 2}, 500));
    machine.mean(model, 10'000, 3000, 1);
    const double mean = machine.mean(model, 10'000, 100'000, 100'000);
    CHECK(mean <= 10.0 * microsecond * 1.02);
}

TEST_CASE("the width that pays most wins where a shared resource stops scaling") {
    // Eight equal members, but more than four only add waiting.
    made_up_machine machine{.speeds = std::vector<double>(8, 1.0)};
    machine.extra = [](int width, double) { return width > 4 ? 8.0 * microsecond : 0.0; };
    loop_model model(widths({1, 2, 4, 8}, 500));
    const double mean = machine.mean(model, 20'000, 20'000, 5000);
    CHECK(model.width() == 4);
    CHECK(mean <= 5.6 * microsecond * 1.03);
}

TEST_CASE("slow members are put last, so that a smaller width is made of the fast ones") {
    made_up_machine machine{.speeds = {1.0, 0.2, 1.0, 0.2}};
    loop_model model(widths({1, 2, 4}, 500));
    for (int call = 0; call < 30; ++call) machine.run(model, 1'000'000);
    CHECK(model.order()[0] == 0);
    CHECK(model.order()[1] == 2);
}

TEST_CASE("the caller stays first even when it is the slowest") {
    made_up_machine machine{.speeds = {0.2, 1.0, 1.0, 1.0}};
    loop_model model(widths({1, 2, 4}, 500));
    for (int call = 0; call < 30; ++call) machine.run(model, 1'000'000);
    CHECK(model.order()[0] == 0);
    CHECK(model.width() == 4);
}

TEST_CASE("a member that was held up for a while gets its share back without stealing") {
    // Shares alone decide, as in the weighted schedule: a member's time is a launch of 300 ticks plus its own
    // iterations, and what it shows comes from the share that it was given.
    loop_model model(widths({1, 2}, 500));
    double share = 0.5;
    for (int call = 0; call < 2000; ++call) {
        const double total = model.share_speeds()[0] + model.share_speeds()[1];
        share = model.share_speeds()[1] / total;
        const bool held_up = call >= 100 && call < 110;
        const auto mine = static_cast<index>(5000 * share + 0.5);
        const double late = held_up ? 5e6 : 300 + static_cast<double>(mine);
        model.record_member(0, 5000 - mine, 5000 - mine);
        model.record_member(1, mine, static_cast<std::int64_t>(late));
        model.record_speeds(static_cast<std::int64_t>(std::max(late, 5000.0 - static_cast<double>(mine))));
    }
    CHECK(share > 0.4);
    CHECK(share < 0.5);
}

TEST_CASE("a loop that was too short to fork and turns long is seen within ten calls") {
    loop_model model(widths({1, 2}, 500));
    std::int64_t now = 0;
    const auto call = [&](std::int64_t length) {
        const bool untimed = model.take_inline_call([&] { return now; });
        now += length;
        if (!untimed) model.record(64, length);
        return untimed;
    };
    for (int i = 0; i < 10'000; ++i) static_cast<void>(call(16));
    int unseen = 0;
    while (call(20'000'000)) REQUIRE(++unseen < 10);
    CHECK(call(20'000'000) == false);
}

TEST_CASE("a loop that ended before it was worth a fork begins inline and is fresh no more") {
    loop_model model(widths({1, 2, 8}, 200'000));
    CHECK(model.fresh());
    model.begin_inline(2000, 200);
    CHECK_FALSE(model.fresh());
    CHECK(model.width() == 1);
    int timed = 0;
    for (int call = 0; call < 10'000; ++call) {
        if (model.take_inline_call(no_time)) continue;
        ++timed;
        CHECK(model.width() == 1);
        model.record(2000, 200);
    }
    CHECK(timed < 200);
}

namespace {

// Loops of two members of which the second ends `late` ticks after the first, when chance says so.
double margin_after(double speed, double late_probability, double late, int calls) {
    loop_model model(widths({1, 2}, 500));
    std::mt19937 random(7);
    std::bernoulli_distribution is_late(late_probability);
    constexpr index n = 1'000'000;
    const double time = static_cast<double>(n) / (1 + speed);
    for (int call = 0; call < calls; ++call) {
        // The margin works: a member that leaves this early is not late.
        const bool caught = model.margin_ticks()[1] < late && is_late(random);
        const double end = time + (caught ? late : 0);
        model.record_member(0, static_cast<index>(time), static_cast<std::int64_t>(time));
        model.record_member(1, static_cast<index>(time * speed), static_cast<std::int64_t>(end));
        model.record(n, static_cast<std::int64_t>(end));
    }
    CHECK(model.margin_ticks()[0] == 0);
    return model.margin_ticks()[1];
}

}  // namespace

TEST_CASE("a slow member that ends late more often than its part of the work leaves early") {
    const double late = 100 * microsecond;
    // Its part is one ninth: it settles where it is late that often.
    const double margin = margin_after(0.125, 0.5, late, 2000);
    CHECK(margin > 0.6 * late);
    CHECK(margin < 1.4 * late);
    CHECK(margin_after(0.125, 0.02, late, 2000) < 10 * microsecond);
    // It does not take long.
    CHECK(margin_after(0.125, 0.5, late, 20) > 0.4 * late);
}

TEST_CASE("members of about the same speed never leave early, however late one is") {
    CHECK(margin_after(1.0, 0.7, 100 * microsecond, 500) == 0);
}

namespace {

// A model of two members that has seen `calls` loops of n iterations, a tick each for the caller alone.
struct learned_model {
    loop_model model{widths({1, 2}, 500)};

    learned_model(index n, double speed, int calls) {
        const double time = static_cast<double>(n) / (1 + speed);
        for (int call = 0; call < calls; ++call) {
            model.record_member(0, static_cast<index>(time), static_cast<std::int64_t>(time));
            model.record_member(1, static_cast<index>(time * speed), static_cast<std::int64_t>(time));
            model.record(n, static_cast<std::int64_t>(time));
        }
    }
};

}  // namespace

TEST_CASE("a plan cuts the loop by speed, into chunks no smaller than what a steal costs") {
    constexpr index n = 1'000'000;
    const learned_model learned(n, 0.25, 40);
    adaptive_loop loop;
    loop.make(learned.model, n);
    REQUIRE(loop.plan().members == 2);
    CHECK(loop.bounds()[0] == 0);
    CHECK(loop.bounds()[2] == n);
    CHECK(static_cast<double>(loop.bounds()[1]) == doctest::Approx(0.8 * n).epsilon(0.02));
    CHECK(loop.plan().divisor == 2);  // the speeds are known
    CHECK(static_cast<double>(loop.plan().grain) == doctest::Approx(500).epsilon(0.05));
    CHECK(loop.rights(0).steal);
    CHECK(loop.rights(1).steal);
    // The caller is the fastest: nobody could take its rest sooner.
    CHECK(!loop.rights(0).leave);
    CHECK(loop.rights(1).leave);
}

TEST_CASE("before a loop was ever timed its chunks are small parts of the shares, which are equal") {
    const loop_model model(widths({1, 2, 4}, 500));
    adaptive_loop loop;
    loop.make(model, 64'000);
    CHECK(loop.plan().divisor == 4);
    CHECK(loop.plan().grain == 250);
    CHECK(loop.bounds()[1] == 16'000);
    CHECK(loop.rights(3).steal);
    CHECK(!loop.rights(3).leave);
}

TEST_CASE("fewer iterations than the width are shared by as many members as there are iterations") {
    const loop_model model(widths({1, 2, 4}, 500));
    adaptive_loop loop;
    loop.reserve(4);
    loop.make(model, 3);
    CHECK(model.width() == 4);
    CHECK(loop.plan().members == 3);
    CHECK(loop.bounds().back() == 3);
}

TEST_CASE("of a short loop that nothing is tried on one call in four is recorded, and stands for all") {
    made_up_machine machine{{1.0, 1.0}};
    loop_model model(widths({1, 2}, 500));
    CHECK_FALSE(model.skip_recording());
    machine.mean(model, 10'000, 400, 1);
    REQUIRE(model.width() == 2);
    int recorded = 0;
    for (int call = 0; call < 400; ++call) {
        if (model.skip_recording()) continue;
        machine.run(model, 10'000);
        ++recorded;
    }
    CHECK(recorded >= 100);
    CHECK(recorded <= 150);  // all calls of a trial are
    loop_model of_long_loops(widths({1, 2}, 500));
    machine.mean(of_long_loops, 100'000, 400, 1);
    CHECK_FALSE(of_long_loops.skip_recording());
}

TEST_CASE("a loop that turns slower is seen long before a millisecond of it") {
    made_up_machine machine{{1.0, 1.0}};
    loop_model model(widths({1, 2}, 500));
    machine.mean(model, 2'000, 800, 1);
    REQUIRE(model.width() == 2);
    machine.fork = 3'000;  // more than the whole loop takes one member
    CHECK(machine.mean(model, 2'000, 100, 10) <= 2'100);
}

TEST_CASE("in a loop of a few microseconds only the caller looks for more, and nobody leaves early") {
    constexpr index n = 10'000;
    const learned_model learned(n, 0.25, 1);
    adaptive_loop loop;
    loop.make(learned.model, n);
    REQUIRE(loop.plan().members == 2);
    CHECK(loop.plan().divisor == 1);  // a share is taken whole
    CHECK(loop.rights(0).steal);
    CHECK(!loop.rights(1).steal);
    CHECK(!loop.rights(1).leave);
}

TEST_CASE("a member's margin is a time in ticks for the model and in iterations of the caller for the plan") {
    constexpr index n = 1'000'000;
    loop_model model(widths({1, 2}, 500));
    const double time = static_cast<double>(n) / 1.125;
    for (int call = 0; call < 20; ++call) {
        model.record_member(0, static_cast<index>(time), static_cast<std::int64_t>(time));
        model.record_member(1, static_cast<index>(time / 8), static_cast<std::int64_t>(1.1 * time));
        model.record(n, static_cast<std::int64_t>(1.1 * time));
    }
    adaptive_loop loop;
    loop.make(model, n);
    REQUIRE(loop.plan().members == 2);
    REQUIRE(model.margin_ticks()[1] > 0);
    const double ticks_of_one = model.ticks_per_iteration() * loop.speeds()[0];
    CHECK(loop.plan().margins[1] * ticks_of_one == doctest::Approx(model.margin_ticks()[1]));
    CHECK(loop.plan().margins[0] == 0);
}

TEST_CASE("a difference in speed is believed as far as it is no noise") {
    using detail::speed_noise;
    const auto after = [](const std::vector<double>& ratios) {
        speed_noise noise;
        for (const double one : ratios) noise.note(one);
        return noise.trust();
    };
    CHECK(after({}) == 1);
    CHECK(after({0.4}) == 1);
    CHECK(after({0.4, 0.4, 0.4}) == 1);
    CHECK(after({0.41, 0.39, 0.4, 0.42, 0.38}) > 0.97);
    CHECK(after({0.3, 1.6, 1.1, 0.5, 2.0, 0.9}) == 0);
    // Of equal members that drew their costs, in most cases nothing.
    std::mt19937 random{3};
    std::exponential_distribution<double> cost(1);
    speed_noise drawn;
    double believed = 0;
    for (int fold = 0; fold < 1000; ++fold) {
        const double own = cost(random) + 0.1;
        const double other = cost(random) + 0.1;
        drawn.note(2 * other / (own + other));
        believed += drawn.trust() / 1000;
    }
    CHECK(believed < 0.1);
    // A change of the machine is believed at once, and one value that is far off changes little.
    CHECK(after({1, 1.01, 0.99, 1, 0.4, 0.41}) > 0.9);
    CHECK(after({0.4, 0.41, 0.4, 0.39, 1.2, 0.4, 0.41, 0.4}) > 0.5);
}

}  // namespace tauto
