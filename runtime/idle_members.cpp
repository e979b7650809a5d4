#include <tauto/idle_members.hpp>

#include <chrono>

#include "forks.hpp"

namespace tauto::detail {

idle_members::idle_members(bool crowded) noexcept
    : born_(current_fork_generation()),
      crowded_(crowded),
      yielding_(to_ticks(std::chrono::milliseconds(2))) {}

void idle_members::begin(bool crowded) noexcept {
    born_.store(current_fork_generation(), std::memory_order_relaxed);
    crowded_.store(crowded, std::memory_order_relaxed);
}

bool idle_members::are_gone() const noexcept {
    return born_.load(std::memory_order_relaxed) != current_fork_generation();
}

void idle_members::wake_all() noexcept {
    wakes_.fetch_add(1, std::memory_order_relaxed);
    futex_wake_all(wakes_);
}

void idle_members::sleep_while(std::uint32_t now) noexcept {
    if (are_gone()) end_copy_of_member();
    futex_wait_for(wakes_, now, std::chrono::milliseconds(50));
}

}  // namespace tauto::detail
