#include "kernels/physics/contact.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tauto::kernels::physics {

namespace {

// The normal points from `first` to `second`; `from` is the deepest point of `second` inside `first`.
contact made(std::uint32_t first, std::uint32_t second, vector2 normal, vector2 from, double depth) {
    return {first, second, normal, from + 0.5 * depth * normal, depth};
}

void discs(std::span<const body> bodies, std::uint32_t first, std::uint32_t second,
           std::vector<contact>& found) {
    const body& a = bodies[first];
    const body& b = bodies[second];
    const vector2 apart = b.position - a.position;
    const double reach = a.radius + b.radius;
    const double squared = dot(apart, apart);
    if (squared >= reach * reach) return;
    const double distance = std::sqrt(squared);
    // Of two discs in one place any direction will do.
    const vector2 normal = distance > 0.0 ? (1.0 / distance) * apart : vector2{1.0, 0.0};
    found.push_back(made(first, second, normal, b.position - b.radius * normal, reach - distance));
}

// `round` is a disc. The contact is between it and `square`, in this order.
void disc_and_box(std::span<const body> bodies, std::uint32_t round, std::uint32_t square,
                  std::vector<contact>& found) {
    const body& a = bodies[round];
    const body& b = bodies[square];
    const vector2 centre = into_frame(b.axis, a.position - b.position);
    const vector2 nearest{std::clamp(centre.x, -b.half.x, b.half.x),
                          std::clamp(centre.y, -b.half.y, b.half.y)};
    const vector2 away = centre - nearest;
    const double squared = dot(away, away);
    if (squared >= a.radius * a.radius) return;
    vector2 outward;  // from the box to the disc, in the box's frame
    double depth = 0.0;
    if (squared > 0.0) {
        const double distance = std::sqrt(squared);
        outward = (1.0 / distance) * away;
        depth = a.radius - distance;
    } else {  // the centre is inside: out through the nearest side
        const double right = b.half.x - std::abs(centre.x);
        const double top = b.half.y - std::abs(centre.y);
        outward = right < top ? vector2{std::copysign(1.0, centre.x), 0.0}
                              : vector2{0.0, std::copysign(1.0, centre.y)};
        depth = a.radius + std::min(right, top);
    }
    const vector2 normal = -out_of_frame(b.axis, outward);
    const vector2 tip = a.position + a.radius * normal;
    found.push_back({round, square, normal, tip - 0.5 * depth * normal, depth});
}

struct side {
    vector2 from;
    vector2 to;
};

std::array<vector2, 4> corners(const body& one) {
    const vector2 along = one.half.x * one.axis;
    const vector2 across = one.half.y * vector2{-one.axis.y, one.axis.x};
    return {one.position + along + across, one.position - along + across, one.position - along - across,
            one.position + along - across};
}

// Half the extent of a box along a unit vector.
double extent(const body& one, vector2 direction) {
    return one.half.x * std::abs(dot(one.axis, direction)) +
           one.half.y * std::abs(cross(one.axis, direction));
}

// The side of a box that faces `direction` most.
side facing(const body& one, vector2 direction) {
    const vector2 seen = into_frame(one.axis, direction);
    const bool first_axis = std::abs(seen.x) > std::abs(seen.y);
    const vector2 centre = first_axis ? vector2{std::copysign(one.half.x, seen.x), 0.0}
                                      : vector2{0.0, std::copysign(one.half.y, seen.y)};
    const vector2 reach = first_axis ? vector2{0.0, one.half.y} : vector2{one.half.x, 0.0};
    return {one.position + out_of_frame(one.axis, centre - reach),
            one.position + out_of_frame(one.axis, centre + reach)};
}

// What of `cut` lies on the near side of the line dot(along, x) = limit. False: nothing.
bool keep_below(side& cut, vector2 along, double limit) {
    const double from = dot(along, cut.from) - limit;
    const double to = dot(along, cut.to) - limit;
    if (from > 0.0 && to > 0.0) return false;
    if (from > 0.0) cut.from += (from / (from - to)) * (cut.to - cut.from);
    if (to > 0.0) cut.to += (to / (to - from)) * (cut.from - cut.to);
    return true;
}

struct separation {
    bool of_first;   // the axis is one of the first box
    vector2 normal;  // from the first to the second
    double depth;
};

// The axis of least overlap; a depth below 0 where there is a gap.
separation least_overlap(const body& a, const body& b) {
    const vector2 apart = b.position - a.position;
    separation best{true, {}, 0.0};
    bool is_first = true;
    for (const bool of_first : {true, false}) {
        const body& owner = of_first ? a : b;
        for (const vector2 axis : {owner.axis, vector2{-owner.axis.y, owner.axis.x}}) {
            const double along = dot(axis, apart);
            const double depth = extent(a, axis) + extent(b, axis) - std::abs(along);
            // A later axis has to be clearly better, so that boxes side by side do not switch to and fro.
            if (is_first || depth < 0.95 * best.depth) best = {of_first, along < 0.0 ? -axis : axis, depth};
            is_first = false;
            if (best.depth <= 0.0) return best;
        }
    }
    return best;
}

void boxes(std::span<const body> bodies, std::uint32_t first, std::uint32_t second,
           std::vector<contact>& found) {
    const body& a = bodies[first];
    const body& b = bodies[second];
    const separation gap = least_overlap(a, b);
    if (gap.depth <= 0.0) return;
    const body& reference = gap.of_first ? a : b;
    const body& incident = gap.of_first ? b : a;
    const vector2 outward = gap.of_first ? gap.normal : -gap.normal;
    const side flat = facing(reference, outward);
    side cut = facing(incident, -outward);
    const vector2 edge = flat.to - flat.from;
    const vector2 along = (1.0 / length(edge)) * edge;
    if (!keep_below(cut, along, dot(along, flat.to)) || !keep_below(cut, -along, -dot(along, flat.from)))
        return;
    for (const vector2 end : {cut.from, cut.to}) {
        const double depth = dot(outward, flat.from - end);
        if (depth > 0.0) found.push_back({first, second, gap.normal, end + 0.5 * depth * outward, depth});
    }
}

}  // namespace

void touch(std::span<const body> bodies, std::uint32_t first, std::uint32_t second,
           std::vector<contact>& found) {
    const body& a = bodies[first];
    const body& b = bodies[second];
    const vector2 apart = b.position - a.position;
    const double reach = a.radius + b.radius;
    if (dot(apart, apart) >= reach * reach) return;
    if (a.form == shape::disc && b.form == shape::disc) {
        discs(bodies, first, second, found);
    } else if (a.form == shape::box && b.form == shape::box) {
        boxes(bodies, first, second, found);
    } else if (a.form == shape::disc) {
        disc_and_box(bodies, first, second, found);
    } else {
        disc_and_box(bodies, second, first, found);
    }
}

void touch_walls(std::span<const body> bodies, std::uint32_t first, vector2 size,
                 std::vector<contact>& found) {
    const body& one = bodies[first];
    const std::array<std::pair<vector2, double>, 4> walls{
        {{{-1.0, 0.0}, 0.0}, {{1.0, 0.0}, size.x}, {{0.0, -1.0}, 0.0}, {{0.0, 1.0}, size.y}}};
    for (const auto& [normal, limit] : walls) {
        const double reach = dot(normal, one.position) + one.radius - limit;
        if (reach <= 0.0) continue;
        if (one.form == shape::disc) {
            found.push_back({first, wall, normal, one.position + (one.radius - 0.5 * reach) * normal, reach});
            continue;
        }
        for (const vector2 corner : corners(one)) {
            const double depth = dot(normal, corner) - limit;
            if (depth > 0.0) found.push_back({first, wall, normal, corner - 0.5 * depth * normal, depth});
        }
    }
}

}  // namespace tauto::kernels::physics
