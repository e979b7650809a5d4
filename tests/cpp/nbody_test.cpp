// The N-body kernels: forces against long double, integrators against their orders, block steps, snapshots.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/nbody/block_times.hpp"
#include "kernels/nbody/hermite.hpp"
#include "kernels/nbody/invariants.hpp"
#include "kernels/nbody/snapshot.hpp"
#include "tests/cpp/refusals.hpp"

namespace {

using tauto::testing::mentions;
using namespace tauto::kernels::nbody;
using tauto::available_instruction_sets;
using tauto::instruction_set;
using tauto::name_of;

std::string refusal_of(const std::function<void()>& action) {
    return tauto::testing::message_of<error>(action);
}

using exact = std::array<long double, 3>;

long double dot(const exact& a, const exact& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

exact difference(const particles& bodies, field of, std::size_t j, std::size_t i) {
    exact d{};
    for (std::size_t c = 0; c < 3; ++c)
        d[c] = static_cast<long double>(bodies.state()[of + c][j]) - bodies.state()[of + c][i];
    return d;
}

struct exact_force {
    exact acceleration{}, jerk{}, snap{};
};

// Sources [first, last) on particle i in long double; the accelerations of the state are those of the snap.
exact_force force_on(const particles& bodies, std::size_t i, std::size_t first, std::size_t last,
                     long double softening) {
    exact_force sum;
    for (std::size_t j = first; j < last; ++j) {
        if (j == i) continue;
        const exact x = difference(bodies, position, j, i), v = difference(bodies, velocity, j, i);
        const exact a = difference(bodies, acceleration, j, i);
        const long double r2 = dot(x, x) + softening * softening;
        const long double weight = bodies.mass()[j] / (r2 * std::sqrt(r2));
        const long double alpha = dot(x, v) / r2;
        const long double beta = (dot(v, v) + dot(x, a)) / r2 + alpha * alpha;
        for (std::size_t c = 0; c < 3; ++c) {
            const long double da = weight * x[c];
            const long double dj = weight * v[c] - 3 * alpha * da;
            sum.acceleration[c] += da;
            sum.jerk[c] += dj;
            sum.snap[c] += weight * a[c] - 6 * alpha * dj - 3 * beta * da;
        }
    }
    return sum;
}

double relative_error(const exact& right, std::span<const double> columns, std::size_t count,
                      std::size_t column, std::size_t k) {
    exact off{};
    for (std::size_t c = 0; c < 3; ++c) off[c] = columns[(column + c) * count + k] - right[c];
    return static_cast<double>(std::sqrt(dot(off, off) / dot(right, right)));
}

std::vector<std::size_t> everyone(std::size_t count) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

// Forces of [first, last) on `which` as they are now.
std::vector<double> forces(hermite& system, const std::vector<std::size_t>& which, std::size_t first,
                           std::size_t last) {
    target_block targets{system};
    system.predict_sources(0.0, 0, system.size());
    targets.take(0.0, which);
    targets.sum_forces(first, last);
    return {targets.forces().begin(), targets.forces().end()};
}

std::vector<std::uint64_t> bits(std::span<const double> values) {
    std::vector<std::uint64_t> result;
    for (const double value : values) result.push_back(std::bit_cast<std::uint64_t>(value));
    return result;
}

std::uint64_t hash_of(const hermite& system) {
    std::uint64_t hash = 0;
    for (std::size_t column = 0; column < fields; ++column)
        for (const double value : system.bodies().state()[column])
            hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3U;
    return hash;
}

void start(hermite& system) {
    serial_integrator{system}.start();
}

hermite started(const particles& bodies) {
    hermite system{bodies, {}};
    start(system);
    return system;
}

void run_until(hermite& system, double end) {
    serial_integrator run{system};
    run.start();
    while (run.step() < end) {
    }
}

double error_of_run(const particles& bodies, hermite_options options, double end) {
    hermite system{bodies, options};
    const invariants before = invariants_of(bodies, options.softening);
    run_until(system, end);
    return energy_error(before, invariants_at(system, end));
}

}  // namespace

TEST_CASE("inverse_root_is_within_two_ulp") {
    std::mt19937_64 random{7};
    for (const auto set : available_instruction_sets()) {
        double worst = 0.0;
        std::vector<double> x(4099), y(x.size());
        for (int round = 0; round < 60; ++round) {
            // All mantissas; exponents that the square of a distance may have.
            for (double& value : x)
                value = std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 12U), -52),
                                   static_cast<int>(random() % 600) - 300);
            lanes::of(set).inverse_root(x.data(), y.data(), x.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                const long double right = 1.0L / std::sqrt(static_cast<long double>(x[i]));
                const double ulp = std::nextafter(y[i], INFINITY) - y[i];
                worst = std::max(worst, static_cast<double>(std::fabs(y[i] - right)) / ulp);
            }
        }
        CAPTURE(name_of(set));
        CHECK(worst <= 2.0);
        MESSAGE(name_of(set), ": ", worst, " ulp");
    }
}

TEST_CASE("forces_agree_with_long_double_to_1e_14") {
    for (const auto set : available_instruction_sets())
        for (const double softening : {0.0, 1.0 / 256.0}) {
            const std::size_t count = 1024;
            hermite system{plummer(count, 3), {.order = 6, .softening = softening, .instructions = set}};
            start(system);
            const auto all = everyone(count);
            const auto sums = forces(system, all, 0, count);
            double worst_a = 0.0, worst_j = 0.0, worst_s = 0.0;
            for (std::size_t i = 0; i < count; i += 5) {
                const exact_force right = force_on(system.bodies(), i, 0, count, softening);
                worst_a = std::max(worst_a, relative_error(right.acceleration, sums, count, 0, i));
                worst_j = std::max(worst_j, relative_error(right.jerk, sums, count, 3, i));
                worst_s = std::max(worst_s, relative_error(right.snap, sums, count, 6, i));
            }
            CAPTURE(name_of(set));
            CHECK(worst_a <= 1e-14);
            CHECK(worst_j <= 1e-13);
            CHECK(worst_s <= 1e-13);
            MESSAGE(name_of(set), ": ", worst_a, " ", worst_j, " ", worst_s);
        }
}

TEST_CASE("both_orders_sum_the_same_accelerations_and_jerks") {
    for (const auto set : available_instruction_sets()) {
        hermite four{plummer(100, 5), {.order = 4, .instructions = set}};
        hermite six{plummer(100, 5), {.order = 6, .instructions = set}};
        const auto all = everyone(100);
        const auto a = forces(four, all, 0, 100);
        const auto b = forces(six, all, 0, 100);
        for (std::size_t k = 0; k < a.size(); ++k) CHECK(a[k] == doctest::Approx(b[k]).epsilon(1e-11));
    }
}

TEST_CASE("any_range_of_sources_is_summed_and_nothing_else") {
    const std::size_t count = 61;
    for (const auto set : available_instruction_sets()) {
        hermite system{plummer(count, 9), {.instructions = set}};
        const auto all = everyone(count);
        for (const std::size_t first : {0U, 1U, 7U, 8U, 30U, 60U, 61U})
            for (std::size_t last = first; last <= count; ++last) {
                const auto sums = forces(system, all, first, last);
                for (const std::size_t i : {0U, 29U, 60U}) {
                    const exact_force right = force_on(system.bodies(), i, first, last, 0.0L);
                    CAPTURE(first);
                    CAPTURE(last);
                    for (std::size_t c = 0; c < 3; ++c) {
                        REQUIRE(sums[c * count + i] ==
                                doctest::Approx(static_cast<double>(right.acceleration[c])).epsilon(1e-9));
                        REQUIRE(sums[(3 + c) * count + i] ==
                                doctest::Approx(static_cast<double>(right.jerk[c])).epsilon(1e-9));
                    }
                }
            }
    }
}

TEST_CASE("bits_of_a_force_do_not_depend_on_the_targets_computed_with_it") {
    const std::size_t count = 200;
    for (const auto set : available_instruction_sets())
        for (const int order : {4, 6}) {
            hermite system{plummer(count, 2), {.order = order, .instructions = set}};
            start(system);
            const auto whole = forces(system, everyone(count), 3, 187);
            std::mt19937 random{1};
            for (const std::size_t group : {1U, 2U, 3U, 4U, 5U, 8U, 17U}) {
                std::vector<std::size_t> which(group);
                for (auto& i : which) i = random() % count;
                const auto some = forces(system, which, 3, 187);
                for (std::size_t c = 0; c < system.force_columns(); ++c)
                    for (std::size_t k = 0; k < group; ++k)
                        REQUIRE(std::bit_cast<std::uint64_t>(some[c * group + k]) ==
                                std::bit_cast<std::uint64_t>(whole[c * count + which[k]]));
            }
        }
}

TEST_CASE("a_particle_exerts_no_force_on_itself_with_and_without_softening") {
    for (const auto set : available_instruction_sets())
        for (const int order : {4, 6})
            for (const double softening : {0.0, 0.5}) {
                particles alone{1};
                alone.mass()[0] = 1.0;
                alone.set(position, 0, {1.0, 2.0, 3.0});
                hermite system{alone, {.order = order, .softening = softening, .instructions = set}};
                for (const double sum : forces(system, {0}, 0, 1)) CHECK(sum == 0.0);
            }
}

TEST_CASE("jerk_and_snap_are_the_derivatives_of_the_acceleration") {
    // Along x + v t + a t^2/2 + j t^3/6 of every particle, by central differences.
    const std::size_t count = 20;
    const double softening = 0.05;
    hermite system{plummer(count, 11), {.order = 6, .softening = softening}};
    start(system);
    const auto at = [&](double t) {
        particles moved = system.bodies();
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t c = 0; c < 3; ++c) {
                auto& state = moved.state();
                const double a = state[acceleration + c][i], j = state[jerk + c][i];
                state[position + c][i] += t * (state[velocity + c][i] + t * (a / 2 + t * j / 6));
                state[velocity + c][i] += t * (a + t * j / 2);
                state[acceleration + c][i] += t * j;
            }
        return moved;
    };
    const double h = 1e-3;
    const auto now = at(0.0), before = at(-h), after = at(h);
    for (std::size_t i = 0; i < count; ++i) {
        const exact_force f = force_on(now, i, 0, count, softening);
        const exact_force b = force_on(before, i, 0, count, softening);
        const exact_force a = force_on(after, i, 0, count, softening);
        for (std::size_t c = 0; c < 3; ++c) {
            const auto slope = static_cast<double>((a.acceleration[c] - b.acceleration[c]) / (2 * h));
            const auto bend = static_cast<double>(
                (a.acceleration[c] - 2 * f.acceleration[c] + b.acceleration[c]) / (h * h));
            const double jerk_length = static_cast<double>(std::sqrt(dot(f.jerk, f.jerk)));
            const double snap_length = static_cast<double>(std::sqrt(dot(f.snap, f.snap)));
            CHECK(std::fabs(slope - system.bodies().state()[jerk + c][i]) < 1e-3 * jerk_length + 1e-6);
            CHECK(std::fabs(bend - system.bodies().state()[snap + c][i]) < 1e-3 * snap_length + 1e-3);
        }
    }
}

TEST_CASE("plummer_sphere_is_in_heggie_units_and_the_same_for_the_same_seed") {
    const particles sphere = plummer(4096, 1);
    const invariants all = invariants_of(sphere, 0.0);
    CHECK(all.energy() == doctest::Approx(-0.25).epsilon(0.05));
    CHECK(all.kinetic / -all.potential == doctest::Approx(0.5).epsilon(0.05));
    for (const double component : all.momentum) CHECK(std::fabs(component) < 1e-15);
    CHECK(bits(sphere.state()[position]) == bits(plummer(4096, 1).state()[position]));
    CHECK(bits(sphere.state()[position]) != bits(plummer(4096, 2).state()[position]));
}

TEST_CASE("kepler_binary_keeps_energy_and_comes_back_after_ten_periods") {
    for (const int order : {4, 6})
        for (const double eccentricity : {0.0, 0.5, 0.9}) {
            const particles pair = kepler_binary(eccentricity);
            const hermite_options options{.order = order, .accuracy = order == 4 ? 0.03 : 0.25};
            hermite system{pair, options};
            const invariants before = invariants_of(pair, 0.0);
            CHECK(before.energy() == doctest::Approx(-0.125));
            const double end = 20.0 * std::numbers::pi;
            serial_integrator run{system};
            run.start();
            while (system.next_time() <= end) run.step();
            system.predict_sources(end, 0, 2);
            CAPTURE(order);
            CAPTURE(eccentricity);
            const double drift = energy_error(before, invariants_at(system, end));
            CHECK(drift < 1e-5);
            // Phase: both bodies are at apocentre again.
            const double dx = system.sources()[1][0] - 0.5 * (1.0 + eccentricity);
            CHECK(std::hypot(dx, system.sources()[2][0]) < 2e-3);
        }
}

TEST_CASE("energy_error_falls_with_the_order_of_the_scheme") {
    // A step is proportional to eta, the error of a run of fixed length to its power of the order; two
    // halvings, for an orbit that sees all phases. Block steps make the slope ragged.
    const particles pair = kepler_binary(0.5);
    for (const int order : {4, 6}) {
        const double coarse = order == 4 ? 0.08 : 0.5;
        const double first = error_of_run(pair, {.order = order, .accuracy = coarse}, 64.0);
        const double second = error_of_run(pair, {.order = order, .accuracy = coarse / 4}, 64.0);
        const double slope = std::log2(first / second) / 2.0;
        CAPTURE(order);
        CHECK(slope > order - 1.0);
        CHECK(slope < order + 2.5);
        MESSAGE("order ", order, ": slope ", slope);
    }
}

TEST_CASE("plummer_sphere_keeps_energy_and_momenta") {
    for (const auto set : available_instruction_sets())
        for (const int order : {4, 6}) {
            const double softening = 1.0 / 64.0;
            hermite system{plummer(128, 4), {.order = order, .softening = softening, .instructions = set}};
            const invariants before = invariants_of(system.bodies(), softening);
            run_until(system, 0.5);
            const invariants after = invariants_at(system, 0.5);
            CAPTURE(order);
            CHECK(energy_error(before, after) < (order == 4 ? 1e-6 : 1e-7));
            for (std::size_t c = 0; c < 3; ++c) {
                CHECK(std::fabs(after.momentum[c] - before.momentum[c]) < 1e-7);
                CHECK(std::fabs(after.angular_momentum[c] - before.angular_momentum[c]) < 1e-6);
            }
        }
}

// One step that all particles share, the corrector iterated until nothing changes: time symmetric. P. Hut,
// J. Makino, S. McMillan, Astrophys. J. 443 (1995) L93.
void shared_step(hermite& system, double from, double to) {
    const auto all = everyone(system.size());
    target_block targets{system};
    for (const std::size_t i : all) system.bodies().state()[time_of][i] = from;
    system.predict_sources(to, 0, system.size());
    const std::size_t predicted = system.order() == 4 ? 6 : 9;
    for (int iteration = 0; iteration < 12; ++iteration) {
        targets.take(to, all);
        for (std::size_t c = 0; c < predicted; ++c)
            std::ranges::copy(system.sources()[1 + c], targets.predicted()[c].begin());
        targets.sum_forces(0, system.size());
        targets.correct(to);
        for (std::size_t c = 0; c < predicted; ++c)
            std::ranges::copy(targets.packed(position + c), system.sources()[1 + c].begin());
    }
    targets.put(to, system);
}

TEST_CASE("shared_steps_run_backwards_to_where_they_began") {
    for (const int order : {4, 6}) {
        const particles origin = plummer(32, 6);
        hermite system{origin, {.order = order, .softening = 0.1}};
        start(system);
        const double h = 1.0 / 64.0;
        for (int k = 0; k < 32; ++k) shared_step(system, k * h, (k + 1) * h);
        double moved = 0.0, off = 0.0;
        for (std::size_t i = 0; i < 32; ++i)
            moved = std::max(moved,
                             std::fabs(system.bodies().state()[position][i] - origin.state()[position][i]));
        for (int k = 32; k > 0; --k) shared_step(system, k * h, (k - 1) * h);
        for (std::size_t i = 0; i < 32; ++i)
            for (std::size_t c = 0; c < 6; ++c)
                off = std::max(off, std::fabs(system.bodies().state()[position + c][i] -
                                              origin.state()[position + c][i]));
        CAPTURE(order);
        CHECK(moved > 0.1);
        CHECK(off < 1e-12);
    }
}

TEST_CASE("steps_are_powers_of_two_that_divide_the_time_and_at_most_double") {
    for (const int order : {4, 6}) {
        hermite system{plummer(64, 8), {.order = order, .largest_step = 0.0625}};
        serial_integrator run{system};
        run.start();
        std::vector<std::size_t> list;
        double last = 0.0;
        for (int block = 0; block < 300; ++block) {
            const std::vector<double> before{system.bodies().state()[step_of].begin(),
                                             system.bodies().state()[step_of].end()};
            const double next = system.next_time();
            const auto due = system.due(next, list);
            REQUIRE(next > last);
            REQUIRE_FALSE(due.empty());
            std::vector<bool> active(64);
            for (const auto i : due) active[i] = true;
            last = run.step();
            REQUIRE(last == next);
            for (std::size_t i = 0; i < 64; ++i) {
                const double step = system.bodies().state()[step_of][i];
                const double time = system.bodies().state()[time_of][i];
                REQUIRE((time == last) == active[i]);
                if (!active[i]) REQUIRE(step == before[i]);
                int exponent = 0;
                REQUIRE(std::frexp(step, &exponent) == 0.5);
                REQUIRE(step <= 0.0625);
                REQUIRE(step <= 2.0 * before[i]);
                REQUIRE(std::fmod(time, step) == 0.0);
            }
        }
    }
}

TEST_CASE("block_times_say_what_looking_at_all_particles_says") {
    for (const int order : {4, 6})
        for (const std::size_t count : {1U, 2U, 64U, 130U})
            for (const double softening : {0.0, 0.1}) {
                hermite system{plummer(count, 5), {.order = order, .softening = softening}};
                serial_integrator run{system};
                run.start();
                block_times times{system};
                times.read_all();
                std::vector<std::size_t> list, looked;
                for (int block = 0; block < 400; ++block) {
                    const double next = system.next_time();
                    REQUIRE(times.next_time() == next);
                    const auto right = system.due(next, looked);
                    const auto due = times.due(next, list);
                    REQUIRE(std::ranges::equal(due, right));
                    REQUIRE(times.due(next + 1e9, looked).empty());
                    run.step();
                    times.moved(due, next);
                }
                // As after a state that somebody else has computed.
                times.read_all();
                CHECK(times.next_time() == system.next_time());
            }
}

TEST_CASE("a_run_may_start_at_any_time_and_moves_as_from_0") {
    for (const int order : {4, 6}) {
        hermite from_0{plummer(20, 5), {.order = order}};
        hermite later{plummer(20, 5), {.order = order}, 0.3};
        run_until(from_0, 0.25);
        run_until(later, 0.25);
        CHECK(hash_of(later) == hash_of(from_0));
        CHECK(later.start() == 0.3);
        later.bodies().state()[step_of][0] = 1e-30;
        const std::string reason = refusal_of([&] { later.next_time(); });
        CHECK(mentions(reason, "particle 0"));
        CHECK(mentions(reason, "time 0.55"));
    }
}

TEST_CASE("block_times_look_at_all_where_steps_are_no_hierarchy") {
    const auto agree = [](hermite& system) {
        block_times times{system};
        times.read_all();
        std::vector<std::size_t> list, looked;
        const double next = system.next_time();
        CHECK(times.next_time() == next);
        CHECK(std::ranges::equal(times.due(next, list), system.due(next, looked)));
    };
    hermite odd = started(plummer(80, 2));
    odd.bodies().state()[step_of][7] = 0.3 * odd.bodies().state()[step_of][7];
    agree(odd);
    hermite shifted = started(plummer(80, 2));
    shifted.bodies().state()[time_of][70] = -0x1p-40;
    agree(shifted);
}

TEST_CASE("block_times_refuse_the_steps_that_looking_refuses") {
    for (const double step : {1e-320, 0.0, 0x1p-90}) {
        hermite system = started(plummer(10, 2));
        system.end_block(1.0);
        std::ranges::fill(system.bodies().state()[time_of], 1.0);
        system.bodies().state()[step_of][3] = step;
        block_times times{system};
        times.read_all();
        const std::string right = refusal_of([&] { system.next_time(); });
        CHECK_FALSE(right.empty());
        CHECK(refusal_of([&] { times.next_time(); }) == right);
    }
}

TEST_CASE("all_particles_meet_at_multiples_of_the_largest_step") {
    hermite system{plummer(64, 8), {.largest_step = 0.03125}};
    serial_integrator run{system};
    run.start();
    std::vector<std::size_t> list;
    for (double time = 0.0; time < 0.125;) {
        const std::size_t count = system.due(system.next_time(), list).size();
        time = run.step();
        if (std::fmod(time, 0.03125) == 0.0) CHECK(count == 64);
    }
}

TEST_CASE("a_run_repeats_its_bits") {
    for (const int order : {4, 6}) {
        std::uint64_t first = 0;
        for (int round = 0; round < 2; ++round) {
            hermite system{plummer(64, 12), {.order = order}};
            run_until(system, 0.125);
            if (round == 0) first = hash_of(system);
            CHECK(hash_of(system) == first);
        }
    }
}

TEST_CASE("particles_without_forces_move_straight_on") {
    particles two{2};
    two.set(velocity, 0, {1.0, 0.0, 0.0});
    two.set(position, 1, {0.0, 5.0, 0.0});
    for (const int order : {4, 6}) {
        hermite system{two, {.order = order}};
        run_until(system, 1.0);
        CHECK(system.bodies().state()[position][0] == 1.0);
        CHECK(system.bodies().state()[step_of][0] == 0.125);
    }
}

TEST_CASE("coincident_particles_without_softening_are_refused_and_with_it_are_not") {
    for (const auto set : available_instruction_sets())
        for (const int order : {4, 6}) {
            particles bodies = plummer(20, 1);
            bodies.set(position, 13, bodies.vector(position, 4));
            hermite hard{bodies, {.order = order, .instructions = set}};
            CHECK(mentions(refusal_of([&] { serial_integrator{hard}.start(); }),
                           "particles 4 and 13 coincide; move one of them or set a softening above 0"));
            hermite soft{bodies, {.order = order, .softening = 0.01, .instructions = set}};
            CHECK(refusal_of([&] { run_until(soft, 0.01); }).empty());
        }
}

TEST_CASE("a_head_on_collision_ends_with_a_reason") {
    particles two{2};
    for (std::size_t i = 0; i < 2; ++i) two.mass()[i] = 0.5;
    two.set(position, 0, {0.25, 0.0, 0.0});
    two.set(position, 1, {-0.25, 0.0, 0.0});
    hermite system{two, {}};
    CHECK(mentions(refusal_of([&] { run_until(system, 1.0); }), "set a softening above 0"));
}

TEST_CASE("options_that_make_no_sense_are_refused") {
    const auto refused = [](hermite_options options) {
        return refusal_of([&] { hermite{plummer(4, 1), options}; });
    };
    CHECK(mentions(refused({.order = 5}), "order 5 was asked for; there are 4 and 6"));
    CHECK(mentions(refused({.softening = -0.5}), "softening is -0.5"));
    CHECK(mentions(refused({.softening = NAN}), "it must be 0 or more"));
    CHECK(mentions(refused({.accuracy = -1.0}), "eta"));
    CHECK(mentions(refused({.largest_step = 0.1}), "it must be a power of two"));
    CHECK(mentions(refusal_of([] { plummer(0, 1); }), "0 particles"));
    CHECK(mentions(refusal_of([] { kepler_binary(1.0); }), "below 1"));
    particles bad = plummer(4, 1);
    bad.state()[velocity][2] = NAN;
    CHECK(mentions(refusal_of([&] { hermite{bad, {}}; }), "particle 2"));
}

TEST_CASE("snapshot_reads_back_the_same_bits") {
    const particles bodies = plummer(50, 20);
    std::stringstream text;
    write_snapshot(text, bodies, 0.375);
    const snapshot back = read_snapshot(text, "text");
    CHECK(back.time == 0.375);
    REQUIRE(back.bodies.size() == 50);
    CHECK(bits(back.bodies.mass()) == bits(bodies.mass()));
    for (std::size_t column = position; column < acceleration; ++column)
        CHECK(bits(back.bodies.state()[column]) == bits(bodies.state()[column]));
}

TEST_CASE("snapshot_errors_name_the_line_and_the_remedy") {
    const auto refused = [](const std::string& text) {
        std::istringstream stream{text};
        return refusal_of([&] { read_snapshot(stream, "file"); });
    };
    const std::string head = "tautochrone-snapshot 1\n# remark\nparticles 2\ntime 0\n";
    const std::string line = "0.5 1 2 3 4 5 6\n";
    CHECK(refused(head + line + line).empty());
    CHECK(mentions(refused(""), "it is empty"));
    CHECK(mentions(refused("mass x y z\n"), "line 1: found 'mass x y z'"));
    CHECK(mentions(refused("tautochrone-snapshot 1\nparticles 0\n"), "line 2: '0' is not a count"));
    CHECK(
        mentions(refused("tautochrone-snapshot 1\nbodies 2\n"), "line 2: the header needs 'particles ...'"));
    CHECK(mentions(refused(head + line + "0.5 1 nan 3 4 5 6\n"),
                   "snapshot 'file', line 6: 'nan' is not finite; every value must be a finite number"));
    CHECK(mentions(refused(head + line + "0.5 1 1e999 3 4 5 6\n"), "line 6: '1e999'"));
    CHECK(mentions(refused(head + line + "0.5 1 2 3 4 5\n"), "line 6: found 6 columns, need 7: mass, three"));
    CHECK(mentions(refused(head + line + "0.5 1 2 3 4 5 six\n"), "'six' is not a number"));
    CHECK(mentions(refused(head + line + "-1 1 2 3 4 5 6\n"), "mass -1 is negative"));
    CHECK(mentions(refused(head + line), "ends after line 5: it has 1 of 2 particles; write the whole file"));
    CHECK(mentions(refused(head + line + line + line), "line 7: there is more"));
    CHECK(mentions(refusal_of([] { read_snapshot("/nowhere/at/all"); }), "cannot read the snapshot"));
}
