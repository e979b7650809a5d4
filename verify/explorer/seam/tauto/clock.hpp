#pragma once
// The explorer's clock, which stands before include/tauto/clock.hpp: time passes as the explorer chooses.

#include <chrono>
#include <cstdint>

namespace tauto::detail {

std::int64_t ticks() noexcept;
double ticks_per_nanosecond() noexcept;

inline std::int64_t to_ticks(std::chrono::nanoseconds time) noexcept {
    return time.count();
}

}  // namespace tauto::detail
