#pragma once
// Whether parts of GCC's parallel regions can be run by one thread, one after the other, in this process.

namespace tauto::balance {

/// True where all of these hold, so that a part cannot tell whose thread it runs on:
/// - nothing that is loaded has memory of its own for each thread, or asks for it (thread_local,
///   threadprivate, pthread_getspecific), asks which thread it runs on, or gives it a mask. Libraries of the
///   system and of the compiler may, where they have no regions;
/// - nothing calls a function of GCC's OpenMP that knows the threads of a team, but those that openmp.cpp,
///   gcc_region.cpp and gcc_workshare.cpp answer for a part: no tasks, no ordered loops, no cancellation;
/// - no variable asks for stacks, nested teams or numbers of threads that only the runtime can give.
/// What the program has loaded is looked at again when that changes.
bool parts_can_share_a_thread() noexcept;

}  // namespace tauto::balance
