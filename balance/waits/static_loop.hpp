#pragma once
// Static loops of LLVM's OpenMP runtime.

#include <cstdint>

namespace tauto::balance {

/// Whether the runtime tells how large a team is and how deep regions are nested.
bool static_loops_are_known() noexcept;

/// Of the calling thread; only where static loops are known.
std::uint32_t team_size() noexcept;
std::int32_t region_level() noexcept;

}  // namespace tauto::balance
