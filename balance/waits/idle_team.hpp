#pragma once
// Waits of GCC's OpenMP that sleep soon.

namespace tauto::balance {

/// The runtime's GOMP_parallel: code, its data, threads, flags.
using fork_function = void(void (*)(void*), void*, unsigned, unsigned);

/// Whether waits are not as the page wants them. Always false where the calling thread is not that of the
/// process itself, or nothing can be done.
bool waits_shall_change() noexcept;

/// Where it is true. `threads`: of the team that the calling thread forks.
void change_waits(unsigned threads, fork_function* fork) noexcept;

}  // namespace tauto::balance
