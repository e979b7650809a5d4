#pragma once
// The two processes of the timer: one does the work, the other outlives it. If the worker is killed, what it
// had started comes to the guard, which ends it; if the guard is killed, the worker is told to stop.

#include <sys/types.h>

namespace tauto::timer {

// Signals that ask the timer to end. They are read from a file and interrupt nothing.
int open_signals();

// Returns in the worker, whose signals have their default dispositions and are blocked. The guard never
// returns: it waits for the worker and exits as it did.
void become_guarded();

}  // namespace tauto::timer
