#pragma once

#include <algorithm>

namespace tauto::balance {

/// What is known after one more run. A run may have been interrupted, so no part of it that is beyond twice
/// or half of what was known counts.
inline double followed(double known, double seen, double part) noexcept {
    constexpr double most_change = 2;
    return known + part * (std::clamp(seen, known / most_change, known * most_change) - known);
}

}  // namespace tauto::balance
