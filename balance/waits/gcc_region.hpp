#pragma once
// What others have to know of regions of GCC's OpenMP whose parts are run in a row.

#include <cstdint>

#include "balance/waits/part_row.hpp"

namespace tauto::balance {

/// A loop of a region, and sections, as parts of a row share them out (gcc_workshare.cpp).
shared_work signed_loop_work(long begin, long end, long step, long chunk) noexcept;
shared_work unsigned_loop_work(bool up, std::uint64_t begin, std::uint64_t end, std::uint64_t step,
                               std::uint64_t chunk) noexcept;
shared_work sections_work(unsigned count) noexcept;

/// Makes waits of the runtime as the page wants them (idle_team.hpp). `threads`: of the calling thread's
/// team; 0: as many as it forks by itself.
void follow_waits(unsigned threads = 0) noexcept;

/// Where the calling thread runs a part of a row: waits there for the other parts, and true.
bool meets_in_a_row() noexcept;

/// In the child of a fork, which has none of the threads that run parts.
void forget_rows() noexcept;

/// When a thread ends: those that took parts of its regions end, too.
void end_rows_of_this_thread() noexcept;

}  // namespace tauto::balance
