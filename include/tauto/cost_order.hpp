#pragma once
// The parts of a loop by falling cost, for loops whose iterations are known to be unequal.

#include <array>
#include <cstddef>
#include <cstdint>

#include <tauto/range.hpp>

namespace tauto::detail {

// A loop's blocks (equal numbers of iterations) make parts, of one block or several cheap ones; each part has
// a place in the order. Whoever takes the most expensive part that is left ends at most a third of it after
// the best possible time (Graham, SIAM J. Applied Mathematics 17, 1969).
struct cost_order {
    static constexpr int most_parts = 128;

    int parts = 0;
    int blocks = 1;
    double total_speed = 1;  // of the members, as a part's time is that on a member of speed 1
    double fastest = 1;      // of them
    std::array<std::uint8_t, most_parts> part_at;     // by place
    std::array<std::uint8_t, most_parts + 1> begins;  // by part, in blocks
    std::array<double, most_parts + 1> before;        // time of all parts before a place

    // The iterations of the part at a place.
    [[nodiscard]] range iterations(index n, std::uint32_t place) const noexcept {
        const std::size_t part = part_at[place];
        return {iteration(n, begins[part]), iteration(n, begins[part + 1])};
    }
    // The first iteration of a block: n * block / blocks, without its overflow.
    [[nodiscard]] index iteration(index n, index block) const noexcept {
        return n / blocks * block + n % blocks * block / blocks;
    }
    // Time of the parts at these places.
    [[nodiscard]] double time(std::uint32_t begin, std::uint32_t end) const noexcept {
        return before[end] - before[begin];
    }
};

}  // namespace tauto::detail
