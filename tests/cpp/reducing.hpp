#pragma once
// What the tests of reductions and algorithms share.

#include <chrono>
#include <cmath>
#include <random>
#include <vector>

#include <tauto/tauto.hpp>

namespace tauto::testing {

inline const std::vector<schedule> every_schedule = {adaptive{}, static_{}, static_chunk{3},
                                                     dynamic{1}, guided{2}, weighted{}};

// From one member to many more than there are CPUs.
inline const std::vector<int> team_sizes = {1, 2, 3, 7, 16, 64};
// The same for tests of millions of elements: a sanitizer makes large teams slow.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline const std::vector<int> fewer_team_sizes = {1, 2, 7};
#else
inline const std::vector<int>& fewer_team_sizes = team_sizes;
#endif

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
