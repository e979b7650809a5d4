#pragma once
// A rigid disc or box, and what is conserved of many.

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "kernels/physics/vector2.hpp"

namespace tauto::kernels::physics {

/// A scene that cannot be; what() says what was asked and what to ask instead.
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class shape : std::uint8_t { disc, box };

struct body {
    vector2 position;
    vector2 velocity;
    vector2 axis{1.0, 0.0};  ///< unit vector along the box's first side: its orientation without an angle
    double spin = 0.0;       ///< radians per unit of time
    double radius = 0.0;     ///< of the smallest circle around it; a disc's own
    vector2 half{};          ///< half the sides of a box
    double inverse_mass = 0.0;
    double inverse_inertia = 0.0;
    shape form = shape::disc;
};

/// A disc of density 1. Its centre rests at `position`.
body disc(vector2 position, double radius);

/// A box of density 1 with sides of twice `half`, turned so that its first side lies along `axis`.
body box(vector2 position, vector2 half, vector2 axis = {1.0, 0.0});

/// Velocity of the body's matter at a point.
constexpr vector2 velocity_at(const body& one, vector2 point) noexcept {
    return one.velocity + cross(one.spin, point - one.position);
}

struct conserved {
    double energy = 0.0;  ///< kinetic, of both motions, and of height in the field `gravity`
    vector2 momentum{};
    double angular_momentum = 0.0;  ///< about the origin
};

/// Summed in the order of the bodies. O(bodies).
conserved conserved_of(std::span<const body> bodies, vector2 gravity = {});

}  // namespace tauto::kernels::physics
