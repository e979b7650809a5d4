#pragma once
// Threads that this library starts in the program's process.

#include <pthread.h>

namespace tauto::balance {

/// With the program's own mask, also where the calling thread is held on a CPU, and stays there. The new
/// thread gets the calling thread's signals. False where none can be started.
bool start_own_thread(pthread_t& thread, void* (*code)(void*), void* data) noexcept;

/// The same, and nobody waits for its end.
bool start_detached(void* (*code)(void*), void* data);

/// One that does no part of the program's work, and gets none of its signals. It calls `be_idle` first.
bool start_idle(void* (*code)(void*), void* data) noexcept;
/// The controller does not watch it then, nor what it starts.
void be_idle() noexcept;

}  // namespace tauto::balance
