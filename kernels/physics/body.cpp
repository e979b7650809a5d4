#include "kernels/physics/body.hpp"

#include <cmath>
#include <numbers>
#include <string>

namespace tauto::kernels::physics {

namespace {

double from_above_zero(const char* what, double size) {
    if (!(size > 0.0) || !std::isfinite(size))
        throw error("a body with " + std::string{what} + " " + std::to_string(size) +
                    " was asked for; it must be a number above 0");
    return size;
}

}  // namespace

body disc(vector2 position, double radius) {
    body one;
    one.position = position;
    one.radius = from_above_zero("radius", radius);
    const double mass = std::numbers::pi * radius * radius;
    one.inverse_mass = 1.0 / mass;
    one.inverse_inertia = 1.0 / (0.5 * mass * radius * radius);
    return one;
}

body box(vector2 position, vector2 half, vector2 axis) {
    body one;
    one.form = shape::box;
    one.position = position;
    one.half = {from_above_zero("half side", half.x), from_above_zero("half side", half.y)};
    one.axis = (1.0 / length(axis)) * axis;
    one.radius = length(half);
    const double mass = 4.0 * half.x * half.y;
    one.inverse_mass = 1.0 / mass;
    one.inverse_inertia = 1.0 / (mass * dot(half, half) / 3.0);
    return one;
}

conserved conserved_of(std::span<const body> bodies, vector2 gravity) {
    conserved sum;
    for (const auto& one : bodies) {
        const double mass = 1.0 / one.inverse_mass;
        const double inertia = 1.0 / one.inverse_inertia;
        sum.energy += 0.5 * mass * dot(one.velocity, one.velocity) + 0.5 * inertia * one.spin * one.spin -
                      mass * dot(gravity, one.position);
        sum.momentum += mass * one.velocity;
        sum.angular_momentum += mass * cross(one.position, one.velocity) + inertia * one.spin;
    }
    return sum;
}

}  // namespace tauto::kernels::physics
