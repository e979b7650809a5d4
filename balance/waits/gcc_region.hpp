#pragma once
// What openmp.cpp has to know of regions of GCC's OpenMP whose parts are run in a row.

namespace tauto::balance {

/// Where the calling thread runs a part of a row: waits there for the other parts, and true.
bool meets_in_a_row() noexcept;

/// In the child of a fork, which has none of the threads that run parts.
void forget_rows() noexcept;

/// When a thread ends: those that took parts of its regions end, too.
void end_rows_of_this_thread() noexcept;

}  // namespace tauto::balance
