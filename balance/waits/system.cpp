// Waits in the system's library.

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "balance/waits/marks.hpp"
#include "balance/waits/meetings.hpp"
#include "balance/waits/originals.hpp"
#include "balance/waits/steps.hpp"

using tauto::balance::meeting_wait_mark;
using tauto::balance::note_meeting;
using tauto::balance::original;
using tauto::balance::team_wait_mark;
using tauto::balance::wait_mark;

// glibc has kept the condition variables of before 2003 under the names that dlsym may find.
#if defined(__x86_64__)
#define TAUTO_CONDITION "GLIBC_2.3.2"
#else
#define TAUTO_CONDITION nullptr
#endif

TAUTO_SYSTEM(pthread_barrier_wait, nullptr);
TAUTO_SYSTEM(pthread_cond_wait, TAUTO_CONDITION);
TAUTO_SYSTEM(pthread_cond_timedwait, TAUTO_CONDITION);
TAUTO_SYSTEM(pthread_cond_clockwait, nullptr);
TAUTO_SYSTEM(pthread_cond_broadcast, TAUTO_CONDITION);
TAUTO_SYSTEM(pthread_join, nullptr);
TAUTO_SYSTEM(pthread_timedjoin_np, nullptr);
TAUTO_SYSTEM(pthread_clockjoin_np, nullptr);
TAUTO_SYSTEM(sem_wait, nullptr);
TAUTO_SYSTEM(sem_timedwait, nullptr);
TAUTO_SYSTEM(sem_clockwait, nullptr);
TAUTO_SYSTEM(sched_yield, nullptr);

TAUTO_IN_FRONT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
    const team_wait_mark waiting;
    return original<int(pthread_barrier_t*) noexcept>(real_pthread_barrier_wait)(barrier);
}

TAUTO_IN_FRONT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    const meeting_wait_mark waiting(condition);
    return original<int(pthread_cond_t*, pthread_mutex_t*)>(real_pthread_cond_wait)(condition, mutex);
}

TAUTO_IN_FRONT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          const timespec* until) {
    const meeting_wait_mark waiting(condition);
    return original<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(real_pthread_cond_timedwait)(
        condition, mutex, until);
}

TAUTO_IN_FRONT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                          const timespec* until) {
    const meeting_wait_mark waiting(condition);
    return original<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
        real_pthread_cond_clockwait)(condition, mutex, clock, until);
}

TAUTO_IN_FRONT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
    note_meeting(condition);
    return original<int(pthread_cond_t*) noexcept>(real_pthread_cond_broadcast)(condition);
}

namespace {

// Whoever started threads waits for their ends.
class join_wait_mark : public wait_mark {
  public:
    [[gnu::always_inline]] join_wait_mark() noexcept {
        if (begun_ != nullptr) tauto::balance::hand_over_while_waiting(*begun_);
    }
};

}  // namespace

TAUTO_IN_FRONT int pthread_join(pthread_t thread, void** value) {
    const join_wait_mark waiting;
    return original<int(pthread_t, void**)>(real_pthread_join)(thread, value);
}

TAUTO_IN_FRONT int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* until) {
    const join_wait_mark waiting;
    return original<int(pthread_t, void**, const timespec*)>(real_pthread_timedjoin_np)(thread, value, until);
}

TAUTO_IN_FRONT int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock,
                                        const timespec* until) {
    const join_wait_mark waiting;
    return original<int(pthread_t, void**, clockid_t, const timespec*)>(real_pthread_clockjoin_np)(
        thread, value, clock, until);
}

TAUTO_IN_FRONT int sem_wait(sem_t* semaphore) {
    const meeting_wait_mark waiting(semaphore);
    return original<int(sem_t*)>(real_sem_wait)(semaphore);
}

TAUTO_IN_FRONT int sem_timedwait(sem_t* semaphore, const timespec* until) {
    const meeting_wait_mark waiting(semaphore);
    return original<int(sem_t*, const timespec*)>(real_sem_timedwait)(semaphore, until);
}

TAUTO_IN_FRONT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
    const meeting_wait_mark waiting(semaphore);
    return original<int(sem_t*, clockid_t, const timespec*)>(real_sem_clockwait)(semaphore, clock, until);
}

// A thread that asks again and again whether it may go on is nearly all the time in here, and the count tells
// such a loop from a thread that yields once in a while.
TAUTO_IN_FRONT int sched_yield() noexcept {
    const wait_mark waiting;
    if (tauto::balance::slot* own = tauto::balance::this_thread.own; own != nullptr) {
        const auto before = own->yields.load(std::memory_order_relaxed);
        own->yields.store(before + 1, std::memory_order_relaxed);
        if (own->waits().depth > 1) {
            if (tauto::balance::leave_shared_cpu(*own)) return 0;
        } else {
            tauto::balance::note_yield(*own);
        }
    }
    return original<int() noexcept>(real_sched_yield)();
}
