#pragma once
// Where two bodies, or a body and a wall, overlap: the narrow phase.
//
// Discs by distance; a disc and a box by the box's point nearest to the disc's centre; two boxes by the axis
// of least overlap among their four sides, then the side of one that lies against the other, cut to its width
// (E. Catto, Box2D Lite, Game Developers Conference 2006).

#include <cstdint>
#include <vector>

#include "kernels/physics/body.hpp"

namespace tauto::kernels::physics {

/// In the place of the second body: a wall, whose mass has no bound.
inline constexpr std::uint32_t wall = 0xffffffffU;

struct contact {
    std::uint32_t first;
    std::uint32_t second;  ///< a body, or `wall`
    vector2 normal;        ///< unit vector from the first to the second
    vector2 point;         ///< halfway through the overlap
    double depth;          ///< of the overlap, above 0
    double impulse = 0.0;  ///< along the normal, on the second; against it, on the first
    double push = 0.0;     ///< mass times distance by which the overlap is undone
};

/// Appends what `first` and `second` have in common: nothing, one point, or two of two boxes.
void touch(std::span<const body> bodies, std::uint32_t first, std::uint32_t second,
           std::vector<contact>& found);

/// The same with the walls of the box [0, size.x] × [0, size.y].
void touch_walls(std::span<const body> bodies, std::uint32_t first, vector2 size,
                 std::vector<contact>& found);

}  // namespace tauto::kernels::physics
