#pragma once
// Index ranges: what a schedule hands out and a loop body receives.

#include <cstdint>

namespace tauto {

// Loops count in signed 64 bits, so that differences of indices are safe and n > 2^32 needs no thought.
using index = std::int64_t;

// Half-open [begin, end).
struct range {
    index begin = 0;
    index end = 0;

    [[nodiscard]] constexpr index size() const noexcept { return end - begin; }
    [[nodiscard]] constexpr bool empty() const noexcept { return begin >= end; }
    friend constexpr bool operator==(const range&, const range&) = default;
};

}  // namespace tauto
