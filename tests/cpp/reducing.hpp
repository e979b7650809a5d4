#pragma once
// What the tests of reductions and algorithms share.

#include <chrono>
#include <cmath>
#include <random>
#include <vector>

#include <tauto/tauto.hpp>

#include "sanitized.hpp"

namespace tauto::testing {

inline const std::vector<schedule> every_schedule = {adaptive{}, static_{}, static_chunk{3},
                                                     dynamic{1}, guided{2}, weighted{}};

// From one member to many more than there are CPUs.
inline const std::vector<int> team_sizes = {1, 2, 3, 7, 16, 64};

// For tests of millions of elements, where a sanitizer makes each one slow. It sees as much with one of each
// kind: a member alone, as many as there are CPUs, and more; chunks that are taken from others, given, and
// asked for.
inline const std::vector<int> fewer_team_sizes = sanitized ? std::vector{1, 2, 7} : team_sizes;
inline const std::vector<int> one_to_64 =
    sanitized ? fewer_team_sizes : std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 31, 42, 53, 64};
inline const std::vector<schedule> fewer_schedules =
    sanitized ? std::vector<schedule>{adaptive{}, static_chunk{3}, dynamic{1}} : every_schedule;

// Of very different sizes, so that each order of adding them has other bits.
inline std::vector<double> numbers(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> exponent(-30, 30);
    std::uniform_real_distribution<double> mantissa(-1, 1);
    std::vector<double> values(n);
    for (double& value : values) value = std::ldexp(mantissa(random), static_cast<int>(exponent(random)));
    return values;
}

inline void burn(int nanoseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

inline team_options shared_by(int members) {
    std::vector<int> cpus = select_cpus(read_machine(), "all");
    return {.cpus = cpus, .size = members};
}

}  // namespace tauto::testing
