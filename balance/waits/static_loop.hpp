#pragma once
// Static loops of LLVM's OpenMP runtime.

#include <cstdint>

namespace tauto::balance {

/// Whether the runtime tells how large a team is and how deep regions are nested.
bool static_loops_are_known() noexcept;

/// Of the calling thread; only where static loops are known.
std::uint32_t team_size() noexcept;
std::int32_t region_level() noexcept;

/// How long threads of the next regions that this thread forks spin before they sleep, where that can be set.
bool can_spin() noexcept;
int spin_time() noexcept;
void spin_for(int milliseconds) noexcept;

}  // namespace tauto::balance
