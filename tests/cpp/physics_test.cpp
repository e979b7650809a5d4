// The physics kernels: contacts by hand, what is conserved, the same bits however a step is shared, pictures.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/physics/frame.hpp"
#include "kernels/physics/world.hpp"
#include "tests/cpp/refusals.hpp"

namespace {

using tauto::testing::mentions;
using namespace tauto::kernels::physics;
using doctest::Approx;

std::string refusal_of(const std::function<void()>& action) {
    return tauto::testing::message_of<error>(action);
}

body moving(body one, vector2 velocity, double spin = 0.0) {
    one.velocity = velocity;
    one.spin = spin;
    return one;
}

std::vector<contact> contacts_of(const std::vector<body>& bodies) {
    std::vector<contact> found;
    touch(bodies, 0, 1, found);
    return found;
}

contact only_contact_of(const std::vector<body>& bodies) {
    const auto found = contacts_of(bodies);
    REQUIRE(found.size() == 1);
    return found[0];
}

scene with(double restitution, double step = 0.02) {
    scene wanted;
    wanted.restitution = restitution;
    wanted.step = step;
    return wanted;
}

const vector2 diagonal{std::numbers::sqrt2 / 2, std::numbers::sqrt2 / 2};

TEST_CASE("discs_touch_where_their_circles_overlap") {
    CHECK(contacts_of({disc({0, 0}, 1), disc({2.1, 0}, 1)}).empty());
    const auto found = only_contact_of({disc({0, 0}, 1), disc({0, 1.9}, 1)});
    CHECK(found.normal.y == Approx(1.0));
    CHECK(found.depth == Approx(0.1));
    CHECK(found.point.y == Approx(0.95));
}

TEST_CASE("discs_in_one_place_are_pushed_apart_somewhere") {
    const auto found = only_contact_of({disc({3, 3}, 1), disc({3, 3}, 1)});
    CHECK(length(found.normal) == 1.0);
    CHECK(found.depth == 2.0);
}

TEST_CASE("a_disc_touches_a_side_a_corner_or_from_inside") {
    const body square = box({0, 0}, {1, 1});
    auto found = only_contact_of({disc({1.4, 0.2}, 0.5), square});
    CHECK(found.normal.x == Approx(-1.0));
    CHECK(found.depth == Approx(0.1));
    // Towards the corner, and in the same way when the box comes first.
    const double beside = 1.0 + 0.4 * std::numbers::sqrt2 / 2;
    found = only_contact_of({square, disc({beside, beside}, 0.5)});
    CHECK(found.first == 1);
    CHECK(dot(found.normal, diagonal) == Approx(-1.0));
    CHECK(found.depth == Approx(0.1));
    CHECK(contacts_of({disc({1.4, 1.4}, 0.5), square}).empty());
    // The centre lies inside: out through the nearest side.
    found = only_contact_of({disc({0, 0.8}, 0.5), square});
    CHECK(found.normal == vector2{0, -1});
    CHECK(found.depth == Approx(0.7));
}

TEST_CASE("boxes_touch_along_a_side_or_with_a_corner") {
    const auto found = contacts_of({box({0, 0}, {1, 1}), box({1.5, 1.9}, {1, 1})});
    REQUIRE(found.size() == 2);
    for (const auto& one : found) {
        CHECK(one.normal == vector2{0, 1});
        CHECK(one.depth == Approx(0.1));
        CHECK(one.point.y == Approx(0.95));
    }
    CHECK(std::min(found[0].point.x, found[1].point.x) == Approx(0.5));
    CHECK(std::max(found[0].point.x, found[1].point.x) == Approx(1.0));
    const auto corner =
        only_contact_of({box({0, 0}, {1, 1}), box({0.3, 1 + std::numbers::sqrt2 - 0.1}, {1, 1}, diagonal)});
    CHECK(corner.normal.y == Approx(1.0));
    CHECK(corner.depth == Approx(0.1));
    CHECK(corner.point.x == Approx(0.3));
    // Their circles overlap, and so do their projections on three of four axes.
    CHECK(contacts_of({box({0, 0}, {1, 1}), box({1.8, 1.8}, {1, 1}, diagonal)}).empty());
}

TEST_CASE("a_wall_is_touched_by_a_disc_and_by_the_corners_behind_it") {
    std::vector<contact> found;
    touch_walls(std::vector{disc({0.9, 5}, 1)}, 0, {10, 10}, found);
    REQUIRE(found.size() == 1);
    CHECK(found[0].second == wall);
    CHECK(found[0].normal == vector2{-1, 0});
    CHECK(found[0].depth == Approx(0.1));
    found.clear();
    touch_walls(std::vector{box({9.2, 9.3}, {1, 0.5})}, 0, {10, 10}, found);
    CHECK(found.size() == 2);
    for (const auto& one : found) CHECK(one.normal == vector2{1, 0});
}

TEST_CASE("equal_discs_exchange_their_velocities") {
    world two{with(1.0), {moving(disc({4, 5}, 1), {1, 0}), moving(disc({5.995, 5}, 1), {-0.5, 0})}, {10, 10}};
    two.advance();
    CHECK(two.bodies()[0].velocity.x == Approx(-0.5));
    CHECK(two.bodies()[1].velocity.x == Approx(1.0));
}

TEST_CASE("restitution_is_what_is_left_of_the_speed_of_approach") {
    for (const double restitution : {0.0, 0.3, 1.0}) {
        world two{with(restitution),
                  {moving(disc({4, 5}, 1), {1, 0}), moving(box({5.49, 5}, {0.5, 2}), {0, 0})},
                  {10, 10}};
        two.advance();
        CHECK(two.bodies()[1].velocity.x - two.bodies()[0].velocity.x == Approx(restitution));
    }
    // A slow one comes to rest.
    world slow{with(1.0), {moving(disc({0.999, 5}, 1), {-0.04, 0})}, {10, 10}};
    slow.advance();
    CHECK(slow.bodies()[0].velocity.x == Approx(0.0));
}

TEST_CASE("a_disc_off_centre_turns_a_box_and_nothing_is_lost") {
    world two{with(1.0), {moving(disc({4, 5.8}, 1), {1, 0}), box({5.995, 5}, {1, 1})}, {20, 20}};
    const conserved before = two.conserved_now();
    two.advance();
    const conserved after = two.conserved_now();
    CHECK(two.bodies()[1].spin < 0.0);
    CHECK(after.energy == Approx(before.energy).epsilon(1e-13));
    CHECK(after.momentum.x == Approx(before.momentum.x).epsilon(1e-13));
    CHECK(after.momentum.y == Approx(before.momentum.y).epsilon(1e-13));
    CHECK(after.angular_momentum == Approx(before.angular_momentum).epsilon(1e-13));
}

TEST_CASE("bodies_fall_as_the_integrator_says") {
    scene falling = with(1.0, 0.125);
    falling.gravity = {0, -2};
    world one{falling, {disc({5, 90}, 1)}, {10, 100}};
    constexpr int steps = 16;
    for (int step = 0; step < steps; ++step) one.advance();
    CHECK(one.bodies()[0].velocity.y == -2 * 0.125 * steps);
    CHECK(one.bodies()[0].position.y == 90 - 2 * 0.125 * 0.125 * steps * (steps + 1) / 2);
}

// A crowd that closes up a little, far from the walls.
world crowd(double restitution) {
    scene wanted;
    wanted.bodies = 150;
    const world dense{wanted};
    std::vector<body> bodies{dense.bodies().begin(), dense.bodies().end()};
    for (auto& one : bodies) {
        one.velocity += -0.05 * (one.position - 0.5 * dense.size());
        one.position += vector2{40, 40};
    }
    return {with(restitution), bodies, {120, 120}};
}

TEST_CASE("momentum_is_kept_and_energy_never_grows") {
    for (const double restitution : {1.0, 0.6}) {
        CAPTURE(restitution);
        world many = crowd(restitution);
        const conserved start = many.conserved_now();
        double energy = start.energy;
        bool grew = false;
        for (int step = 0; step < 300; ++step) {
            many.advance();
            const double now = many.conserved_now().energy;
            grew = grew || now > energy * (1 + 1e-13);
            energy = now;
        }
        CHECK_FALSE(grew);
        const conserved end = many.conserved_now();
        const double scale = std::sqrt(2 * start.energy * 150);
        CHECK(std::abs(end.momentum.x - start.momentum.x) < 1e-12 * scale);
        CHECK(std::abs(end.momentum.y - start.momentum.y) < 1e-12 * scale);
        // Bodies in several contacts at once lose a little even when every collision is elastic.
        CHECK(end.energy < (restitution < 1 ? 0.8 : 1.0) * start.energy);
        CHECK(end.energy > (restitution < 1 ? 0.2 : 0.8) * start.energy);
    }
}

TEST_CASE("bodies_stay_in_the_box_and_out_of_each_other") {
    scene wanted;
    wanted.bodies = 300;
    wanted.gravity = {0, -0.2};
    wanted.passes = 12;
    world many{wanted};
    for (int step = 0; step < 500; ++step) many.advance();
    double deepest = 0.0;
    std::vector<contact> found;
    for (std::uint32_t i = 0; i < many.bodies().size(); ++i) {
        touch_walls(many.bodies(), i, many.size(), found);
        for (std::uint32_t j = i + 1; j < many.bodies().size(); ++j) touch(many.bodies(), i, j, found);
    }
    REQUIRE_FALSE(found.empty());
    for (const auto& one : found) deepest = std::max(deepest, one.depth);
    CHECK(deepest < 0.4);  // no body's centre is in another
}

TEST_CASE("the_grid_finds_every_pair_once") {
    scene wanted;
    wanted.bodies = 400;
    world many{wanted};
    contact_list found;
    bool some = false;
    for (int step = 0; step < 50; ++step) {
        const part all{0, many.bodies().size()};
        many.place(all);
        many.fill({0, many.cells()});
        many.collide(all, found);
        std::multiset<std::pair<std::uint32_t, std::uint32_t>> seen;
        for (const auto& one : found.all)
            if (one.second != wall) seen.insert(std::minmax(one.first, one.second));
        std::multiset<std::pair<std::uint32_t, std::uint32_t>> wanted_pairs;
        std::vector<contact> alone;
        for (std::uint32_t i = 0; i < all.end; ++i)
            for (std::uint32_t j = i + 1; j < all.end; ++j) {
                alone.clear();
                touch(many.bodies(), i, j, alone);
                for (std::size_t k = 0; k < alone.size(); ++k) wanted_pairs.insert({i, j});
            }
        REQUIRE(seen == wanted_pairs);
        some = some || !seen.empty();
        many.advance();
    }
    CHECK(some);
}

part share(std::size_t count, std::size_t members, std::size_t rank) {
    return {count * rank / members, count * (rank + 1) / members};
}

// A step as `members` would share it, one after the other.
void advance_shared(world& many, std::size_t members) {
    std::vector<contact_list> own(members);
    std::vector<const contact_list*> lists;
    for (const auto& one : own) lists.push_back(&one);
    const auto each = [&](auto&& function) {
        for (std::size_t rank = 0; rank < members; ++rank) function(rank);
    };
    const auto bodies = [&](std::size_t rank) { return share(many.bodies().size(), members, rank); };
    each([&](std::size_t rank) { many.place(bodies(rank)); });
    each([&](std::size_t rank) { many.fill(share(many.cells(), members, rank)); });
    each([&](std::size_t rank) { many.collide(bodies(rank), own[rank]); });
    each([&](std::size_t rank) { many.count(bodies(rank), lists); });
    for (int pass = 0; pass < many.passes(); ++pass) {
        each([&](std::size_t rank) { many.resolve(own[rank].all); });
        each([&](std::size_t rank) { many.rebound(bodies(rank), lists); });
    }
    each([&](std::size_t rank) { many.move(bodies(rank), lists); });
}

TEST_CASE("few_contacts_reach_out_of_a_part") {
    world many{scene{.bodies = 900}};
    for (int step = 0; step < 100; ++step) many.advance();
    many.place({0, 900});
    many.fill({0, many.cells()});
    contact_list half;
    many.collide({0, 450}, half);
    REQUIRE_FALSE(half.all.empty());
    CHECK(half.outward.size() < half.all.size() / 4);
    for (std::uint32_t number = 0; number < half.all.size(); ++number) {
        const contact& one = half.all[number];
        const bool reaches_out = one.first >= 450 || (one.second != wall && one.second >= 450);
        CHECK(reaches_out == (std::ranges::count(half.outward, number) == 1));
    }
}

bool have_right_reaches(const world& many) {
    const auto bodies = many.bodies();
    for (std::size_t k = 0; k < many.reaches().size(); ++k) {
        double low = INFINITY;
        double high = -INFINITY;
        for (std::size_t i = k * world::grain; i < std::min((k + 1) * world::grain, bodies.size()); ++i) {
            low = std::min(low, bodies[i].position.y - bodies[i].radius);
            high = std::max(high, bodies[i].position.y + bodies[i].radius);
        }
        if (many.reaches()[k].low != low || many.reaches()[k].high != high) return false;
    }
    return many.reaches().size() == (bodies.size() + world::grain - 1) / world::grain;
}

TEST_CASE("reaches_hold_the_bodies_of_their_grains_after_every_step") {
    world many{scene{.bodies = 250}};
    CHECK(have_right_reaches(many));
    for (int step = 0; step < 20; ++step) {
        many.advance();
        REQUIRE(have_right_reaches(many));
    }
}

TEST_CASE("a_shared_step_has_the_same_bits") {
    scene wanted;
    wanted.bodies = 250;
    wanted.passes = 2;
    world alone{wanted};
    for (int step = 0; step < 60; ++step) alone.advance();
    for (const std::size_t members : {2, 3, 7, 400}) {
        CAPTURE(members);
        world shared{wanted};
        for (int step = 0; step < 60; ++step) advance_shared(shared, members);
        CHECK(shared.hash() == alone.hash());
        CHECK(shared.moves_like(alone, {0, 250}));
        shared.advance();
        CHECK_FALSE(shared.moves_like(alone, {0, 250}));
        // Halves of two times are no state of either, until the second is taken back too.
        shared.take(alone, {0, 128});
        CHECK(shared.moves_like(alone, {0, 128}));
        CHECK_FALSE(shared.moves_like(alone, {0, 250}));
        shared.take(alone, {128, 250});
        CHECK(shared.hash() == alone.hash());
        CHECK(have_right_reaches(shared));
    }
    wanted.seed = 2;
    CHECK(world{wanted}.hash() != world{scene{.bodies = 250}}.hash());
}

TEST_CASE("a_picture_shows_each_body_at_its_place") {
    const world two{with(1.0), {disc({2.5, 7.5}, 2), box({7.5, 2.5}, {1, 2})}, {10, 10}};
    frame picture{200, 200};
    picture.draw(two, {0, 200});
    const auto pixel = [&](double x, double y) {
        const auto column = static_cast<std::size_t>(x * 20);
        const auto row = static_cast<std::size_t>((10 - y) * 20);
        const auto* at = &picture.pixels()[3 * (row * 200 + column)];
        return std::vector<int>{at[0], at[1], at[2]};
    };
    const auto is_grey = [](const std::vector<int>& rgb) { return rgb[0] == rgb[1] && rgb[1] == rgb[2]; };
    CHECK_FALSE(is_grey(pixel(2.5, 7.5)));
    CHECK_FALSE(is_grey(pixel(7.5, 4.4)));
    CHECK(is_grey(pixel(7.5, 4.6)));
    CHECK(is_grey(pixel(8.6, 2.5)));
    CHECK(is_grey(pixel(2.5, 2.5)));
    std::size_t coloured = 0;
    for (std::size_t i = 0; i < 200 * 200; ++i)
        coloured += picture.pixels()[3 * i] != picture.pixels()[3 * i + 2];
    const double area = std::numbers::pi * 4 + 8;
    CHECK(static_cast<double>(coloured) == Approx(area * 400).epsilon(0.03));
}

TEST_CASE("a_picture_drawn_in_bands_is_the_same") {
    world many{scene{.bodies = 900}};
    for (int step = 0; step < 50; ++step) many.advance();
    frame whole{160, 120};
    whole.draw(many, {0, 120});
    frame banded{160, 120};
    for (const std::size_t rank : {2, 0, 1}) banded.draw(many, share(120, 3, rank));
    CHECK(banded.hash() == whole.hash());
    frame by_rows{160, 120};
    for (std::size_t row = 0; row < 120; ++row) by_rows.draw(many, {row, row + 1});
    CHECK(by_rows.hash() == whole.hash());
}

TEST_CASE("an_animation_holds_every_frame") {
    std::ostringstream stream;
    animation film{stream, 16, 8};
    frame picture{16, 8};
    picture.draw(world{scene{.bodies = 3}}, {0, 8});
    film.add(picture);
    film.add(picture);
    const std::string header = "YUV4MPEG2 W16 H8 F25:1 Ip A1:1 C444\n";
    CHECK(stream.str().starts_with(header + "FRAME\n"));
    CHECK(stream.str().size() == header.size() + 2 * (6 + 3 * 16 * 8));
    // The background's top row is 0.95 white, without colour.
    const auto first = static_cast<unsigned char>(stream.str()[header.size() + 6]);
    CHECK(first == doctest::Approx(16 + 219 * 0.95).epsilon(0.02));
    CHECK(mentions(refusal_of([&] { film.add(frame{8, 8}); }), "8 by 8 pixels"));
}

TEST_CASE("scenes_that_cannot_be_are_refused") {
    CHECK(mentions(refusal_of([] { world{scene{.bodies = 0}}; }), "0 bodies"));
    CHECK(mentions(refusal_of([] { world{scene{.restitution = 1.5}}; }), "between 0 and 1"));
    CHECK(mentions(refusal_of([] { world{scene{.step = 0.0}}; }), "above 0"));
    CHECK(mentions(refusal_of([] { world{scene{.passes = 0}}; }), "0 passes"));
    CHECK(mentions(refusal_of([] { disc({0, 0}, -1); }), "radius"));
    CHECK(mentions(refusal_of([] { frame(0, 10); }), "0 by 10 pixels"));
    CHECK(mentions(refusal_of([] { frame(std::size_t{1} << 40U, std::size_t{1} << 40U); }), "pixels"));
}

}  // namespace
