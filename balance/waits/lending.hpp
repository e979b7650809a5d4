#pragma once
// A thread that waits lends its CPU: it takes a thread that still works on a slower CPU, or on one that has
// to be shared, onto its own until the wait ends.
//
// Only threads that the controller keeps on seats lend and are guests, and only while it allows that in the
// page. A change of CPUs costs some tens of microseconds, so a CPU is lent only if the last wait in which
// there was somebody to take was longer.

#include <sched.h>
#include <sys/types.h>

#include <cstdint>

#include "balance/page.hpp"

namespace tauto::balance {

/// Past the function that the program's own calls go through. 0: the calling thread.
void set_mask(pid_t thread, const cpu_set_t& mask) noexcept;
bool has_mask(pid_t thread, const cpu_set_t& mask) noexcept;

/// From here on a CPU is worth a change, in percent of the other's pace.
constexpr std::uint64_t clearly_faster = 115;

/// The number under which this thread moves others (`set_mover`); 0: it has no slot.
std::uint32_t this_mover(const page& shared) noexcept;

/// At the begin of a wait, behind its `pass` if all threads of a team come past it; `now` as there. One look
/// at each slot.
void lend_cpu(slot& own, std::uint64_t now) noexcept;

/// At its end: the guest goes to its seat again, and so does this thread if it came to the wait as one. Who
/// was taken while it was about to wake up stays: its part is still to come.
void take_cpu_back() noexcept;

/// In place of a yield by a thread that waits: where others are held on its CPU it sleeps for some
/// microseconds. After a yield Linux may go on with the same thread until its time is up. False: it is alone
/// there, or not held.
bool leave_shared_cpu(const slot& own) noexcept;

/// Before a region begins: guests that wait shall wake up on their seats.
void send_guests_home() noexcept;

}  // namespace tauto::balance
