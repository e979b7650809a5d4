// The shared N-body step: every scheme on every number of members gives the trajectory that it promises.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <tauto/tauto.hpp>

#include "kernels/nbody/invariants.hpp"
#include "runners/nbody/member.hpp"
#include "runners/nbody/request.hpp"
#include "runners/nbody/row.hpp"
#include "tests/cpp/runner_testing.hpp"

namespace {

using namespace tauto::runner;
using tauto::kernels::nbody::hermite;
using tauto::kernels::nbody::hermite_options;
using tauto::kernels::nbody::particles;
using tauto::kernels::nbody::plummer;

std::uint64_t full_hash(const hermite& system) {
    std::uint64_t hash = 0;
    for (std::size_t column = 0; column < tauto::kernels::nbody::fields; ++column)
        for (const double value : system.bodies().state()[column])
            hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3U;
    return hash;
}

struct outcome {
    std::uint64_t hash = 0;
    double energy_error = 0.0;
    std::vector<block_record> blocks;
};

constexpr double softening = 1.0 / 32.0;

hermite_options options_of(int order) {
    return {.order = order, .softening = softening};
}

// Time passes where work is spent, for each pair so much, and for nothing else.
class paced_clock {
  public:
    static constexpr bool is_exact = true;

    explicit paced_clock(double pace) : pace_{pace} {}

    std::int64_t ticks() const { return std::llround(1000.0 * spent_); }
    double tick_seconds() const { return 1e-12; }
    void spend(const block_work& done) { spent_ += pace_ * done.pairs; }
    void begin_blocks() {}
    void end_blocks() {}

  private:
    double pace_;
    double spent_ = 0.0;
};

// Time passes by what is counted, so that all members choose alike in each run.
struct counting_clock {
    static constexpr bool is_exact = false;

    double pairs = 0.0;

    std::int64_t ticks() const { return std::llround(1000.0 * pairs); }
    double tick_seconds() const { return 1e-12; }
    void spend(const block_work& done) { pairs += done.pairs; }
    void begin_blocks() {}
    void end_blocks() {}
};

// So many blocks on one member with its own copy of the particles, after choose(stepper).
template <class Member, class Clock, class Choose>
outcome run_as(Member& me, const particles& bodies, int order, int blocks, Clock clock, Choose&& choose) {
    hermite system{bodies, options_of(order)};
    block_stepper<Member, Clock> stepper{me, system, clock};
    stepper.start();
    choose(stepper);
    outcome seen;
    for (int k = 0; k < blocks; ++k) seen.blocks.push_back(stepper.step());
    seen.hash = full_hash(system);
    seen.energy_error =
        tauto::kernels::nbody::energy_error(tauto::kernels::nbody::invariants_of(bodies, softening),
                                            tauto::kernels::nbody::invariants_at(system, system.time()));
    return seen;
}

// run(member) on so many members. Their outcomes, which must be one.
template <class Run>
outcome run_on_all(int members, Run&& run) {
    tauto::team team{{.size = members, .pin = false}};
    std::vector<outcome> seen(static_cast<std::size_t>(members));
    team.run([&](tauto::member& me) { seen[static_cast<std::size_t>(me.rank())] = run(me); });
    for (const auto& one : seen) {
        CHECK(one.hash == seen[0].hash);
        CHECK(std::ranges::equal(one.blocks, seen[0].blocks, {}, &block_record::how, &block_record::how));
    }
    return seen[0];
}

template <class Choose>
outcome run_with(int members, const particles& bodies, int order, int blocks, Choose&& choose) {
    return run_on_all(members, [&](tauto::member& me) {
        return run_as(me, bodies, order, blocks, machine_clock{}, choose);
    });
}

// Nothing: auto.
outcome run_on(int members, const particles& bodies, int order, const std::optional<scheme>& how,
               int blocks) {
    return run_with(members, bodies, order, blocks, [&](auto& stepper) {
        if (how)
            stepper.use(*how);
        else
            stepper.use_cheapest();
    });
}

constexpr int some_blocks = 60;

// auto on members of which each takes so long for a pair.
outcome run_at_paces(const std::vector<double>& paces, const particles& bodies, int order) {
    return run_on_all(static_cast<int>(paces.size()), [&](tauto::member& me) {
        return run_as(me, bodies, order, some_blocks, paced_clock{paces[static_cast<std::size_t>(me.rank())]},
                      [](auto& stepper) { stepper.use_cheapest(); });
    });
}

outcome run_alone(const particles& bodies, int order, int blocks) {
    tauto::solo me;
    return run_as(me, bodies, order, blocks, machine_clock{}, [](auto&) {});
}

}  // namespace

TEST_CASE("solo_gives_the_bits_of_the_serial_integrator") {
    for (const int order : {4, 6}) {
        const particles bodies = plummer(67, 3);
        hermite system{bodies, options_of(order)};
        tauto::kernels::nbody::serial_integrator run{system};
        run.start();
        for (int k = 0; k < some_blocks; ++k) run.step();
        CHECK(run_alone(bodies, order, some_blocks).hash == full_hash(system));
    }
}

TEST_CASE("by_targets_and_serial_have_the_bits_of_the_serial_run_on_any_number_of_members") {
    for (const int order : {4, 6}) {
        const particles bodies = plummer(67, 3);
        const auto right = run_alone(bodies, order, some_blocks);
        for (int members = 1; members <= 4; ++members) {
            CAPTURE(members);
            CHECK(run_on(members, bodies, order, scheme{}, some_blocks).hash == right.hash);
            const scheme by_targets{sharing::targets, members, 1};
            CHECK(run_on(members, bodies, order, by_targets, some_blocks).hash == right.hash);
        }
    }
}

TEST_CASE("by_sources_and_grids_have_the_same_bits_for_the_same_slices") {
    for (const int order : {4, 6}) {
        const particles bodies = plummer(67, 3);
        const auto two = run_on(2, bodies, order, scheme{sharing::sources, 1, 2}, some_blocks);
        CHECK(run_on(2, bodies, order, scheme{sharing::sources, 1, 2}, some_blocks).hash == two.hash);
        CHECK(run_on(4, bodies, order, scheme{sharing::grid, 2, 2}, some_blocks).hash == two.hash);
        const auto three = run_on(3, bodies, order, scheme{sharing::sources, 1, 3}, some_blocks);
        CHECK(run_on(6, bodies, order, scheme{sharing::grid, 2, 3}, some_blocks).hash == three.hash);
        const auto one = run_on(1, bodies, order, scheme{sharing::sources, 1, 1}, some_blocks);
        CHECK(one.hash == run_alone(bodies, order, some_blocks).hash);
    }
}

TEST_CASE("a_scheme_has_the_bits_of_its_width_whoever_looks_on") {
    for (const int order : {4, 6}) {
        const particles bodies = plummer(67, 3);
        const auto right = run_alone(bodies, order, some_blocks);
        for (int width = 1; width <= 4; ++width) {
            CAPTURE(width);
            const scheme by_targets{sharing::targets, width, 1};
            CHECK(run_on(5, bodies, order, by_targets, some_blocks).hash == right.hash);
            const scheme by_sources{sharing::sources, 1, width};
            CHECK(run_on(5, bodies, order, by_sources, some_blocks).hash ==
                  run_on(width, bodies, order, by_sources, some_blocks).hash);
        }
        const scheme square{sharing::grid, 2, 2};
        CHECK(run_on(7, bodies, order, square, some_blocks).hash ==
              run_on(4, bodies, order, square, some_blocks).hash);
    }
}

TEST_CASE("by_sources_differs_from_the_serial_run_by_rounding_only") {
    const particles bodies = plummer(67, 3);
    for (const int order : {4, 6}) {
        const auto right = run_alone(bodies, order, some_blocks);
        for (int members = 2; members <= 4; ++members) {
            const auto seen =
                run_on(members, bodies, order, scheme{sharing::sources, 1, members}, some_blocks);
            CHECK(std::fabs(seen.energy_error - right.energy_error) < 1e-12);
            REQUIRE(seen.blocks.size() == right.blocks.size());
            for (std::size_t k = 0; k < 10; ++k) CHECK(seen.blocks[k].active == right.blocks[k].active);
        }
    }
}

TEST_CASE("fewer_targets_or_sources_than_members_are_shared_all_the_same") {
    for (const std::size_t count : {1U, 2U, 3U, 9U}) {
        const particles bodies = plummer(count, 1);
        const auto right = run_alone(bodies, 4, 20);
        for (const scheme& how : schemes_for(4)) {
            const auto seen = run_on(4, bodies, 4, how, 20);
            CAPTURE(name_of(how));
            CHECK(std::fabs(seen.energy_error - right.energy_error) < 1e-12);
        }
    }
}

TEST_CASE("auto_predicts_every_block_and_chooses_alike_on_all_members") {
    const auto seen = run_on(3, plummer(96, 5), 4, std::nullopt, 100);
    for (const auto& block : seen.blocks) CHECK(block.predicted_seconds > 0.0);
    CHECK(seen.energy_error < 1e-4);
}

TEST_CASE("auto_leaves_out_members_that_are_slow_and_ends_with_the_bits_of_those_that_are_not") {
    for (const int order : {4, 6}) {
        const particles bodies = plummer(67, 3);
        // Ten times slower from rank 2 on; only pairs take time.
        const auto slow_from_two = run_at_paces({1.0, 1.0, 10.0, 10.0, 10.0}, bodies, order);
        for (const auto& block : slow_from_two.blocks) CHECK(block.how.width() == 2);
        // A first member that is much faster than all others does everything.
        const auto slow_from_one = run_at_paces({1.0, 10.0, 10.0, 10.0}, bodies, order);
        for (const auto& block : slow_from_one.blocks) CHECK(block.how == scheme{sharing::targets, 1, 1});
        CHECK(slow_from_one.hash == run_alone(bodies, order, some_blocks).hash);
        // Twice as slow, but seven of them: nobody is left out.
        const auto many = run_at_paces({1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0}, bodies, order);
        for (const auto& block : many.blocks)
            if (block.active >= 16) CHECK(block.how.width() == 8);
    }
}

TEST_CASE("auto_by_a_given_model_has_the_bits_of_the_scheme_that_it_must_choose") {
    const particles bodies = plummer(67, 3);
    cost_model model;
    model.particles = 67.0;
    model.members = 5;
    model.pair = 1e-6;
    model.paces = {0.1, 0.1, 0.1, 1.0, 1.0};
    model.gather.add(1.0, 1.0);
    const auto seen =
        run_with(5, bodies, 4, some_blocks, [&](auto& stepper) { stepper.use_cheapest(model); });
    for (const auto& block : seen.blocks) CHECK(block.how == scheme{sharing::sources, 1, 3});
    CHECK(seen.hash == run_on(3, bodies, 4, scheme{sharing::sources, 1, 3}, some_blocks).hash);
}

TEST_CASE("a_run_with_the_model_of_another_fits_none_and_ends_with_its_bits") {
    for (const std::string scheme : {"auto", "i"}) {
        auto asked = asking<nbody_request>({0}, 3);
        asked.schedule = scheme;
        asked.blocks = some_blocks;
        nbody_start start{.bodies = plummer(67, 3), .time = 0.0};
        work_account ignored;
        tauto::team team{{.size = 3, .pin = false}};
        // The pass, and how many pairs its first member summed.
        const auto run = [&] {
            nbody_pass pass;
            double pairs = 0.0;
            team.run([&](tauto::member& me) {
                counting_clock clock;
                nbody_pass mine = member_pass(me, start, asked, ignored, clock);
                REQUIRE(mine.model.has_value());
                if (me.rank() != 0) return;
                pass = std::move(mine);
                pairs = clock.pairs;
            });
            return std::pair{pass, pairs};
        };
        const auto [first, all_pairs] = run();
        start.model = first.model;
        const auto [second, fewer_pairs] = run();
        CHECK(second.state_hash == first.state_hash);
        CHECK(std::ranges::equal(second.blocks, first.blocks, {}, &block_sample::scheme,
                                 &block_sample::scheme));
        CHECK(fewer_pairs < all_pairs);
    }
}

TEST_CASE("blocks_that_one_member_runs_alone_leave_all_with_the_serial_bits") {
    for (const int order : {4, 6}) {
        const particles bodies = plummer(67, 3);
        const auto right = run_alone(bodies, order, some_blocks);
        tauto::team team{{.size = 3, .pin = false}};
        std::vector<std::uint64_t> hashes(3);
        std::size_t seen_by_first = 0;
        team.run([&](tauto::member& me) {
            hermite system{bodies, options_of(order)};
            machine_clock clock;
            block_stepper<tauto::member> stepper{me, system, clock};
            stepper.start();
            stepper.use({sharing::targets, 3, 1});
            std::vector<block_record> records;
            const auto is_over = [](double, std::int64_t blocks) { return blocks >= some_blocks; };
            for (int k = 0; k < 5; ++k) records.push_back(stepper.step());
            stepper.run_alone(records, 20, is_over);
            for (int k = 0; k < 5; ++k) records.push_back(stepper.step());
            // More than are left.
            stepper.run_alone(records, 1000, is_over);
            CHECK(stepper.blocks() == some_blocks);
            hashes[static_cast<std::size_t>(me.rank())] = full_hash(system);
            if (me.rank() == 0) seen_by_first = records.size();
        });
        CHECK(seen_by_first == some_blocks);
        for (const auto hash : hashes) CHECK(hash == right.hash);
    }
}

TEST_CASE("sharing_that_does_not_pay_is_left_for_longer_and_longer_and_tried_again") {
    sharing_watch watch;
    // Blocks until the watch says something, and what: all blocks alike.
    const auto judged = [&](double seconds, int most_blocks) {
        for (int block = 1; block <= most_blocks; ++block) {
            watch.add(seconds, 1.0);
            if (!watch.due()) continue;
            if (const std::int64_t alone = watch.judge(watch.ratio()); alone > 0)
                return std::pair{block, alone};
        }
        return std::pair{most_blocks, std::int64_t{0}};
    };
    CHECK(judged(0.5, 320) == std::pair{320, std::int64_t{0}});
    // A slice of the scheduler's time in each block is seen at once.
    CHECK(judged(30.0, 100) == std::pair{4, std::int64_t{20 * 29 * 4}});
    CHECK(judged(30.0, 100) == std::pair{4, std::int64_t{2 * 20 * 29 * 4}});
    CHECK(judged(0.5, 32) == std::pair{32, std::int64_t{0}});
    // Whatever does not pay takes longer to tell.
    CHECK(judged(1.25, 100) == std::pair{32, std::int64_t{20 * 8}});
    CHECK(judged(0.5, 28).second == 0);
    // One interruption among good blocks is no reason.
    CHECK(judged(4.0, 4).second == 0);
    CHECK(judged(0.5, 320).second == 0);
    for (const double seconds : {30.0, 1e9, std::numeric_limits<double>::infinity()})
        for (int k = 0; k < 20; ++k) CHECK(judged(seconds, 100).second <= 65536);
    CHECK(judged(1.0, 320).second == 0);
    CHECK(judged(std::numeric_limits<double>::quiet_NaN(), 320).second == 0);
}

TEST_CASE("a_force_that_is_not_finite_ends_the_run_on_all_members_with_the_reason") {
    particles bodies = plummer(40, 1);
    bodies.set(tauto::kernels::nbody::position, 30, bodies.vector(tauto::kernels::nbody::position, 2));
    tauto::team team{{.size = 3, .pin = false}};
    std::string reason;
    try {
        team.run([&](tauto::member& me) {
            hermite system{bodies, {}};
            machine_clock clock;
            block_stepper<tauto::member> stepper{me, system, clock};
            stepper.start();
        });
    } catch (const std::exception& refused) {
        reason = refused.what();
    }
    CHECK(reason.find("particles 2 and 30 coincide") != std::string::npos);
}

TEST_CASE("shares_and_slices_cover_all_once_and_slices_start_on_cache_lines") {
    for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 64U, 1000U})
        for (int parts = 1; parts <= 17; ++parts) {
            tauto::index share_end = 0, slice_end = 0;
            for (int part = 0; part < parts; ++part) {
                REQUIRE(share_of(count, parts, part).begin == share_end);
                share_end = share_of(count, parts, part).end;
                const auto slice = slice_of(count, parts, part);
                REQUIRE(slice.begin == slice_end);
                REQUIRE((slice.begin % 8 == 0 || slice.empty()));
                slice_end = slice.end;
            }
            REQUIRE(share_end == static_cast<tauto::index>(count));
            REQUIRE(slice_end == static_cast<tauto::index>(count));
        }
}

namespace {

// Of so many equal members, for which all collectives of a length take the same time.
cost_model equal_members(int members, double collective_seconds) {
    cost_model model;
    model.particles = 1000.0;
    model.members = members;
    model.pair = 1e-9;
    model.target = 1e-8;
    model.source = 1e-9;
    model.gather.add(1.0, collective_seconds);
    model.reduce.add(1.0, collective_seconds);
    return model;
}

scheme chosen_by(const cost_model& model, std::size_t targets) {
    return scheme_table{model, schemes_for(model.members, model.paces)}.of(targets).which;
}

}  // namespace

TEST_CASE("the_cheapest_scheme_follows_the_model") {
    auto model = equal_members(2, 1.0);
    model.gather = model.reduce = length_curve{};
    model.gather.add(1.0, 2e-6);
    model.gather.add(10'000.0, 20e-6);
    model.reduce.add(1.0, 1e-6);
    model.reduce.add(10'000.0, 100e-6);
    const auto candidates = schemes_for(2);
    REQUIRE(candidates.size() == 3);
    const scheme_table table{model, candidates};
    // One target: a collective costs more than half of a microsecond's work.
    CHECK(table.of(1).which == scheme{});
    // Few: half of the prediction counts, and a short all_reduce is the cheaper one here.
    CHECK(table.of(16).which.how == sharing::sources);
    // Many: a long one is dearer.
    CHECK(table.of(1000).which.how == sharing::targets);
    for (const std::size_t n : {1U, 16U, 1000U})
        for (const auto& one : candidates)
            CHECK(table.of(n).predicted_seconds <= model.predicted(one, static_cast<double>(n)));
}

TEST_CASE("equal_members_share_among_all") {
    for (const int members : {2, 3, 8, 13, 16}) {
        CAPTURE(members);
        for (const std::size_t targets : {3U, 9U, 100U, 1000U})
            CHECK(chosen_by(equal_members(members, 1e-7), targets).width() == members);
    }
}

TEST_CASE("where_parts_are_dear_few_members_bring_them") {
    auto model = equal_members(16, 16e-6);
    model.gather_one.add(1.0, 1e-6);  // each further part another microsecond, as much as a target
    model.reduce = length_curve{};
    model.reduce.add(1.0, 1.0);
    model.source = 0.0;
    CHECK(chosen_by(model, 1) == scheme{});
    CHECK(chosen_by(model, 6) == scheme{sharing::targets, 2, 1});
    CHECK(chosen_by(model, 12) == scheme{sharing::targets, 4, 1});
    CHECK(chosen_by(model, 64) == scheme{sharing::targets, 8, 1});
    CHECK(chosen_by(model, 1000) == scheme{sharing::targets, 16, 1});
    // Where one part is the dearest way all bring theirs.
    model.gather_one = length_curve{};
    model.gather_one.add(1.0, 256e-6);
    CHECK(chosen_by(model, 64) == scheme{sharing::targets, 16, 1});
    // Eight owners send twice what sixteen do.
    CHECK(model.predicted({sharing::targets, 8, 1}, 64.0) -
              model.predicted({sharing::targets, 16, 1}, 64.0) ==
          doctest::Approx(16e-6 + 4 * 1.01e-6));
}

TEST_CASE("slow_members_are_left_out_where_the_others_are_faster_by_a_tenth_without_them") {
    auto model = equal_members(8, 1e-7);
    model.source = model.target = 0.0;
    const auto width_beside = [&](double slowness) {
        model.paces.assign(5, 1.0 / slowness);
        model.paces.resize(8, 1.0);
        return chosen_by(model, 1000).width();
    };
    // A fifth of the targets on each of five, or an eighth on eight that wait for the slow ones.
    CHECK(width_beside(1.2) == 8);
    CHECK(width_beside(1.5) == 8);
    CHECK(width_beside(1.7) == 8);
    CHECK(width_beside(1.8) == 5);
    CHECK(width_beside(100.0) == 5);
}

TEST_CASE("few_widths_are_looked_at_however_many_members_there_are") {
    CHECK(widths_for(1).empty());
    CHECK(widths_for(2) == std::vector{2});
    CHECK(widths_for(13) == std::vector{2, 4, 8, 13});
    CHECK(widths_for(16) == std::vector{2, 4, 8, 16});
    CHECK(widths_for(6, std::vector{0.5, 0.5, 0.5, 1.0, 1.0, 1.0}) == std::vector{2, 3, 4, 6});
    CHECK(widths_for(3, std::vector{0.5, 1.0, 1.0}) == std::vector{1, 2, 3});
    std::vector<double> ever_slower(1024);
    for (std::size_t k = 0; k < ever_slower.size(); ++k)
        ever_slower[k] = std::exp2(static_cast<double>(k) / 2.0);
    CHECK(widths_for(1024, ever_slower).size() <= 10 + 8 + 1);
    CHECK(schemes_for(1024).size() < 100);
    for (const int members : {1, 2, 13, 1024}) {
        const auto all = schemes_for(members);
        CHECK(all[0] == scheme{});
        for (const scheme& one : all) CHECK(one.width() <= members);
    }
}

TEST_CASE("curves_are_linear_between_their_points_and_go_on_beyond_the_last") {
    length_curve curve;
    curve.add(10.0, 1.0);
    CHECK(curve.at(500.0) == 1.0);
    curve.add(20.0, 3.0);
    curve.add(30.0, 4.0);
    CHECK(curve.at(1.0) == 1.0);
    CHECK(curve.at(15.0) == doctest::Approx(2.0));
    CHECK(curve.at(40.0) == doctest::Approx(5.0));
}

TEST_CASE("a_disturbed_short_call_does_not_make_longer_ones_look_cheaper") {
    length_curve curve;
    curve.add(10.0, 9.0);
    curve.add(20.0, 2.0);
    curve.add(30.0, 3.0);
    curve.smooth();
    CHECK(curve.at(10.0) == 2.0);
    CHECK(curve.at(1000.0) > 3.0);
}

TEST_CASE("names_of_schemes_become_shapes") {
    CHECK_FALSE(scheme_named("auto", 4));
    CHECK(*scheme_named("serial", 4) == scheme{});
    CHECK(*scheme_named("i", 4) == scheme{sharing::targets, 4, 1});
    CHECK(*scheme_named("j", 4) == scheme{sharing::sources, 1, 4});
    CHECK(*scheme_named("grid", 12) == scheme{sharing::grid, 3, 4});
    CHECK(name_of(*scheme_named("grid", 4)) == "2x2");
    CHECK(name_of(*scheme_named("grid", 26)) == "2x13");
    CHECK(groups_of_grid(16) == 4);
    CHECK(groups_of_grid(13) == 1);
    CHECK(message_of([] { scheme_named("grid", 3); }).find("use --scheme i or j") != std::string::npos);
}
