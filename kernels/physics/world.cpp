#include "kernels/physics/world.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/fnv1a.hpp"

namespace tauto::kernels::physics {

namespace {

constexpr double smallest_radius = 0.4;
constexpr double largest_radius = 1.0;
constexpr double spacing = 2.05;        // of the places at the start; more than two radii: none overlap
constexpr double depth_left = 0.01;     // an overlap that is not undone, so that resting bodies stay in touch
constexpr double depth_undone = 0.3;    // of the rest, in a step
constexpr double resting_speed = 0.05;  // approaches slower than this do not bounce
constexpr std::size_t most_bodies = 4'000'000;

void require_valid(const scene& wanted) {
    if (wanted.bodies < 1 || wanted.bodies > most_bodies)
        throw error("a scene of " + std::to_string(wanted.bodies) + " bodies was asked for; it has 1 to " +
                    std::to_string(most_bodies));
    if (!(wanted.restitution >= 0.0 && wanted.restitution <= 1.0))
        throw error("a restitution of " + std::to_string(wanted.restitution) +
                    " was asked for; it lies between 0 and 1");
    if (wanted.passes < 1 || wanted.passes > 1000)
        throw error(std::to_string(wanted.passes) + " passes were asked for; use 1 to 1000");
    if (!(wanted.step > 0.0) || !std::isfinite(wanted.step))
        throw error("a step of " + std::to_string(wanted.step) + " was asked for; it must be above 0");
}

// The distributions of <random> differ from library to library; the engine does not.
class uniform {
  public:
    explicit uniform(std::uint64_t seed) : engine_{seed} {}
    double operator()(double from, double to) {
        return from + (to - from) * (static_cast<double>(engine_() >> 11U) * 0x1p-53);
    }

  private:
    std::mt19937_64 engine_;
};

vector2 room_for(std::size_t bodies) {
    const double columns = std::ceil(std::sqrt(static_cast<double>(bodies)));
    return {columns * spacing, std::ceil(static_cast<double>(bodies) / columns) * spacing};
}

std::vector<body> scattered(const scene& wanted, vector2 size) {
    uniform random{wanted.seed};
    const auto columns = static_cast<std::size_t>(std::lround(size.x / spacing));
    std::vector<body> bodies;
    bodies.reserve(wanted.bodies);
    for (std::size_t i = 0; i < wanted.bodies; ++i) {
        const vector2 place{(static_cast<double>(i % columns) + 0.5) * spacing,
                            (static_cast<double>(i / columns) + 0.5) * spacing};
        const double radius = random(smallest_radius, largest_radius);
        const double turn = random(-std::numbers::pi, std::numbers::pi);
        // Of the rectangles of this radius those that are at most about twice as long as wide.
        const double corner = random(0.15, 0.35) * std::numbers::pi;
        const vector2 half{radius * std::cos(corner), radius * std::sin(corner)};
        body one = i % 2 == 0 ? disc(place, radius) : box(place, half, {std::cos(turn), std::sin(turn)});
        one.velocity = {random(-1.0, 1.0), random(-1.0, 1.0)};
        one.spin = one.form == shape::box ? random(-1.0, 1.0) : 0.0;
        bodies.push_back(one);
    }
    return bodies;
}

// Where the mean part of a contact's mass takes a body, and the same of its spin.
struct parts {
    double mass;
    double inertia;
};

parts inverse_of(const body& one, std::uint32_t contacts) {
    return {one.inverse_mass * contacts, one.inverse_inertia * contacts};
}

// Turned by spin times step, without sine and cosine: their last bits differ between libraries.
vector2 turned(vector2 axis, double angle) {
    const vector2 ahead = axis + cross(angle, axis);
    return (1.0 / length(ahead)) * ahead;
}

// Calls apply(body, contact, sign) for the bodies in `mine`, in the order of the contacts: -1 for the first
// of a contact, 1 for the second.
template <class Apply>
void for_bodies_of(part mine, std::span<const contact_list* const> lists, Apply&& apply) {
    const auto is_mine = [&](std::uint32_t i) { return i >= mine.begin && i < mine.end; };
    const auto see = [&](const contact& one) {
        if (is_mine(one.first)) apply(one.first, one, -1.0);
        if (is_mine(one.second)) apply(one.second, one, 1.0);
    };
    for (const auto* list : lists) {
        if (list->owners.begin < mine.end && mine.begin < list->owners.end)
            for (const auto& one : list->all) see(one);
        else
            for (const std::uint32_t number : list->outward) see(list->all[number]);
    }
}

// The elements of `all` that belong to a part.
template <class T>
std::span<T> in_part(std::vector<T>& all, part which) {
    return std::span{all}.subspan(which.begin, which.end - which.begin);
}
template <class T>
std::span<const T> in_part(const std::vector<T>& all, part which) {
    return std::span{all}.subspan(which.begin, which.end - which.begin);
}

std::uint64_t hash_of(double value, std::uint64_t seed) {
    return fnv1a(std::string_view{reinterpret_cast<const char*>(&value), sizeof value}, seed);
}

}  // namespace

world::world(const scene& wanted)
    : world{wanted, (require_valid(wanted), scattered(wanted, room_for(wanted.bodies))),
            room_for(wanted.bodies)} {}

world::world(const scene& wanted, std::vector<body> bodies, vector2 size)
    : scene_{wanted}, bodies_{std::move(bodies)}, size_{size} {
    scene_.bodies = bodies_.size();
    require_valid(scene_);
    double widest = 0.0;
    for (const auto& one : bodies_) {
        widest = std::max(widest, 2.0 * one.radius);
        heights_.push_back(one.position.y);
        radii_.push_back(one.radius);
    }
    reaches_.resize((bodies_.size() + grain - 1) / grain);
    find_reaches({0, bodies_.size()});
    // Bodies that touch are in one cell or in neighbours.
    cell_size_ = widest;
    columns_ = static_cast<std::size_t>(std::max(1.0, std::floor(size_.x / cell_size_)));
    rows_ = static_cast<std::size_t>(std::max(1.0, std::floor(size_.y / cell_size_)));
    cell_.resize(bodies_.size());
    members_.resize(bodies_.size());
    touching_.resize(bodies_.size());
    begin_.resize(cells());
    end_.resize(cells());
}

// A body that is pushed through a wall belongs to the cell beside it. The last column and row are wider.
std::size_t world::cell_of(vector2 position) const {
    const auto at = [&](double coordinate, std::size_t count) {
        const double cell = std::clamp(coordinate / cell_size_, 0.0, static_cast<double>(count - 1));
        return static_cast<std::size_t>(cell);
    };
    return at(position.y, rows_) * columns_ + at(position.x, columns_);
}

void world::place(part of_bodies) {
    for (std::size_t i = of_bodies.begin; i < of_bodies.end; ++i)
        cell_[i] = static_cast<std::uint32_t>(cell_of(bodies_[i].position));
}

// A counting sort. Each part looks at all bodies: a few microseconds, and no part waits for another.
void world::fill(part of_cells) {
    if (of_cells.begin >= of_cells.end) return;
    std::uint32_t before = 0;
    std::ranges::fill(in_part(end_, of_cells), 0U);
    for (const std::uint32_t cell : cell_) {
        before += cell < of_cells.begin;
        if (cell >= of_cells.begin && cell < of_cells.end) ++end_[cell];
    }
    for (std::size_t cell = of_cells.begin; cell < of_cells.end; ++cell) {
        const std::uint32_t count = end_[cell];
        begin_[cell] = end_[cell] = before;
        before += count;
    }
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
        const std::uint32_t cell = cell_[i];
        if (cell >= of_cells.begin && cell < of_cells.end)
            members_[end_[cell]++] = static_cast<std::uint32_t>(i);
    }
}

// Of two bodies in one cell the sum of their numbers decides which owns the pair: were it always the lower
// one, the first half of the bodies would have more work than the second.
void world::collide_with(std::size_t first, std::size_t cell, bool same_cell,
                         std::vector<contact>& found) const {
    for (std::uint32_t slot = begin_[cell]; slot < end_[cell]; ++slot) {
        const std::uint32_t second = members_[slot];
        if (same_cell) {
            if (second == first) continue;
            const bool lower_owns = (first + second) % 2 == 1;
            if ((first < second) != lower_owns) continue;
        }
        touch(bodies_, static_cast<std::uint32_t>(first), second, found);
    }
}

void world::collide(part of_bodies, contact_list& list) const {
    auto& found = list.all;
    found.clear();
    list.outward.clear();
    list.owners = of_bodies;
    for (std::size_t i = of_bodies.begin; i < of_bodies.end; ++i) {
        const std::size_t cell = cell_[i];
        const std::size_t column = cell % columns_;
        touch_walls(bodies_, static_cast<std::uint32_t>(i), size_, found);
        collide_with(i, cell, true, found);
        // The cells that follow; the bodies of those before own their pairs with this one.
        if (column + 1 < columns_) collide_with(i, cell + 1, false, found);
        if (cell + columns_ < cells()) {
            if (column > 0) collide_with(i, cell + columns_ - 1, false, found);
            collide_with(i, cell + columns_, false, found);
            if (column + 1 < columns_) collide_with(i, cell + columns_ + 1, false, found);
        }
    }
    const auto is_owner = [&](std::uint32_t i) {
        return i == wall || (i >= of_bodies.begin && i < of_bodies.end);
    };
    for (std::uint32_t number = 0; number < found.size(); ++number)
        if (!is_owner(found[number].first) || !is_owner(found[number].second)) list.outward.push_back(number);
}

void world::count(part of_bodies, std::span<const contact_list* const> lists) {
    std::ranges::fill(in_part(touching_, of_bodies), 0U);
    for_bodies_of(of_bodies, lists, [this](std::uint32_t i, const contact&, double) { ++touching_[i]; });
}

void world::resolve(std::span<contact> some) const {
    for (auto& one : some) {
        const body& a = bodies_[one.first];
        const parts of_a = inverse_of(a, touching_[one.first]);
        double approach = -dot(velocity_at(a, one.point), one.normal);
        double mass = of_a.mass;
        const double arm_a = cross(one.point - a.position, one.normal);
        double both = of_a.mass + of_a.inertia * arm_a * arm_a;
        if (one.second != wall) {
            const body& b = bodies_[one.second];
            const parts of_b = inverse_of(b, touching_[one.second]);
            const double arm_b = cross(one.point - b.position, one.normal);
            approach += dot(velocity_at(b, one.point), one.normal);
            mass += of_b.mass;
            both += of_b.mass + of_b.inertia * arm_b * arm_b;
        }
        // `approach` is the speed at which they part: below 0 they come closer.
        const double bounce = approach < -resting_speed ? scene_.restitution : 0.0;
        one.impulse = approach < 0.0 ? -(1.0 + bounce) * approach / both : 0.0;
        one.push = depth_undone * std::max(0.0, one.depth - depth_left) / mass;
    }
}

void world::rebound(part of_bodies, std::span<const contact_list* const> lists) {
    for_bodies_of(of_bodies, lists, [this](std::uint32_t i, const contact& one, double sign) {
        body& hit = bodies_[i];
        const double impulse = sign * one.impulse;
        hit.velocity += (impulse * hit.inverse_mass) * one.normal;
        hit.spin += impulse * hit.inverse_inertia * cross(one.point - hit.position, one.normal);
    });
}

void world::move(part of_bodies, std::span<const contact_list* const> lists) {
    for_bodies_of(of_bodies, lists, [this](std::uint32_t i, const contact& one, double sign) {
        bodies_[i].position += (sign * one.push * bodies_[i].inverse_mass) * one.normal;
    });
    for (std::size_t i = of_bodies.begin; i < of_bodies.end; ++i) {
        body& one = bodies_[i];
        one.velocity += scene_.step * scene_.gravity;
        one.position += scene_.step * one.velocity;
        one.axis = turned(one.axis, scene_.step * one.spin);
        heights_[i] = one.position.y;
    }
    find_reaches(of_bodies);
}

void world::find_reaches(part of_bodies) {
    for (std::size_t k = of_bodies.begin / grain; grain * k < of_bodies.end; ++k) {
        reach all{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
        for (std::size_t i = grain * k; i < std::min(grain * (k + 1), bodies_.size()); ++i) {
            all.low = std::min(all.low, heights_[i] - radii_[i]);
            all.high = std::max(all.high, heights_[i] + radii_[i]);
        }
        reaches_[k] = all;
    }
}

void world::take(const world& other, part of_bodies) {
    std::ranges::copy(in_part(other.bodies_, of_bodies), in_part(bodies_, of_bodies).begin());
    std::ranges::copy(in_part(other.heights_, of_bodies), in_part(heights_, of_bodies).begin());
    find_reaches(of_bodies);
}

void world::advance() {
    const part all{0, bodies_.size()};
    place(all);
    fill({0, cells()});
    collide(all, own_);
    const contact_list* list = &own_;
    count(all, {&list, 1});
    for (int pass = 0; pass < scene_.passes; ++pass) {
        resolve(own_.all);
        rebound(all, {&list, 1});
    }
    move(all, {&list, 1});
}

bool world::moves_like(const world& other, part of_bodies) const {
    return std::ranges::equal(in_part(bodies_, of_bodies), in_part(other.bodies_, of_bodies),
                              [](const body& a, const body& b) {
                                  return a.position == b.position && a.velocity == b.velocity &&
                                         a.axis == b.axis && a.spin == b.spin;
                              });
}

std::uint64_t world::hash() const {
    std::uint64_t hash = fnv1a_offset_basis;
    for (const auto& one : bodies_)
        for (const double value : {one.position.x, one.position.y, one.velocity.x, one.velocity.y, one.axis.x,
                                   one.axis.y, one.spin})
            hash = hash_of(value, hash);
    return hash;
}

}  // namespace tauto::kernels::physics
