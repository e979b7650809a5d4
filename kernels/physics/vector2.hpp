#pragma once
// Vectors of the plane.

#include <cmath>

namespace tauto::kernels::physics {

struct vector2 {
    double x = 0.0;
    double y = 0.0;

    friend constexpr vector2 operator+(vector2 a, vector2 b) noexcept { return {a.x + b.x, a.y + b.y}; }
    friend constexpr vector2 operator-(vector2 a, vector2 b) noexcept { return {a.x - b.x, a.y - b.y}; }
    friend constexpr vector2 operator-(vector2 a) noexcept { return {-a.x, -a.y}; }
    friend constexpr vector2 operator*(double factor, vector2 a) noexcept {
        return {factor * a.x, factor * a.y};
    }
    friend constexpr bool operator==(const vector2&, const vector2&) = default;
    constexpr vector2& operator+=(vector2 other) noexcept { return *this = *this + other; }
};

constexpr double dot(vector2 a, vector2 b) noexcept {
    return a.x * b.x + a.y * b.y;
}

/// The component of a × b that points out of the plane.
constexpr double cross(vector2 a, vector2 b) noexcept {
    return a.x * b.y - a.y * b.x;
}

/// spin × a.
constexpr vector2 cross(double spin, vector2 a) noexcept {
    return {-spin * a.y, spin * a.x};
}

inline double length(vector2 a) noexcept {
    return std::sqrt(dot(a, a));
}

/// `a` in the frame whose first axis is the unit vector `axis`.
constexpr vector2 into_frame(vector2 axis, vector2 a) noexcept {
    return {dot(axis, a), cross(axis, a)};
}

/// `a`, given in the frame whose first axis is `axis`, in the plane's.
constexpr vector2 out_of_frame(vector2 axis, vector2 a) noexcept {
    return {axis.x * a.x - axis.y * a.y, axis.y * a.x + axis.x * a.y};
}

}  // namespace tauto::kernels::physics
