#pragma once

#include <atomic>
#include <mutex>

namespace tauto::detail {

// Counts forks of the process; a team whose number is older has lost its threads. Inline: every launch
// asks for it.
extern constinit std::atomic<unsigned> fork_generations;
inline unsigned current_fork_generation() noexcept {
    return fork_generations.load(std::memory_order_relaxed);
}

// In a child that a body forked, on a member that would wait for others: nobody can go on there.
[[noreturn]] void end_copy_of_member() noexcept;

// Locks of the whole process. fork() waits until they are free, so they are free in the child. Take several
// of them in this order only.
struct process_locks {
    std::mutex start;   // while a team gets its CPUs or its members
    std::mutex cores;   // the cores that were read last (team.cpp)
    std::mutex copies;  // while the loader is asked for other copies of this library (copies.cpp)
    std::mutex pins;    // what is known of pinned threads (pinning.cpp)
    std::mutex notes;   // the notes of every team
    std::mutex rooms;   // which teams are in use, and where (room.cpp)
};

process_locks& locks_of_process() noexcept;

}  // namespace tauto::detail
