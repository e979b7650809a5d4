#pragma once
// The processes that a program starts, as /proc shows them, and what they leave in shared memory. Those whose
// parent has ended belong to us, their reaper.

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace tauto::timer {

// Our children, those that ended and were not waited for too.
std::vector<pid_t> offspring();

// All below us, down to the last child.
std::vector<pid_t> whole_offspring();

// A process and all below it.
std::vector<pid_t> family_of(pid_t process);

// The threads of a process; none if it has ended.
std::vector<pid_t> threads_of(pid_t process);

// The process that a thread belongs to, or 0 if it has ended.
pid_t process_of(pid_t thread);

// The number of the newest process or thread on this system: as long as it stays, nobody has started any. 0
// where it cannot be read.
pid_t last_born();

// The name of a process or thread; empty if it has ended.
std::string name_of(pid_t thread);

// The names of our children that are still at work.
std::set<std::string> names_at_work();

// Sends SIGKILL to our children, and to group `group` where one of them is in it. False if none could be
// reached.
bool kill_offspring(pid_t group);

// The paths of files in shared memory that these processes have made or mapped and that nobody would ever
// remove if they were killed: names that libomp, Open MPI and MPICH make. The processes must not have ended.
std::set<std::string> shared_memory_of(const std::vector<pid_t>& pids);

// Removes files, and folders with all that is in them. What is not there or refuses is left.
void remove_all(const std::set<std::string>& paths);

}  // namespace tauto::timer
