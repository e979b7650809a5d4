// Futexes that a program calls itself: C++20's std::barrier, std::atomic::wait, std::latch and semaphores,
// Rust's locks, conditions, barriers and parked threads. They go through the system library's `syscall`,
// which this stands in front of.

#include <linux/futex.h>
#include <sys/syscall.h>

#include "balance/waits/meetings.hpp"
#include "balance/waits/originals.hpp"

// The one in front of it has a fixed number of arguments, unlike <unistd.h>'s, so that the compiler can jump
// to the real one: a child that shares its parent's stack then comes back to the caller, and not to here.
TAUTO_SYSTEM(syscall, nullptr);

namespace {

using numbered = long(long, long, long, long, long, long, long) noexcept;

long call(long number, long a, long b, long c, long d, long e, long f) noexcept {
    return tauto::balance::original<numbered>(real_syscall)(number, a, b, c, d, e, f);
}

[[gnu::noinline]] long futex(long a, long b, long c, long d, long e, long f) noexcept {
    const auto* const where = reinterpret_cast<const void*>(a);
    switch (static_cast<int>(b) & FUTEX_CMD_MASK) {
        case FUTEX_WAIT:
        case FUTEX_WAIT_BITSET: {
            const tauto::balance::meeting_wait_mark waiting(where);
            return call(SYS_futex, a, b, c, d, e, f);
        }
        case FUTEX_WAKE:
        case FUTEX_WAKE_BITSET:
            if (static_cast<int>(c) > 1) tauto::balance::note_meeting(where);
            break;
        default:
            break;
    }
    return call(SYS_futex, a, b, c, d, e, f);
}

}  // namespace

TAUTO_IN_FRONT long in_front_of_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept
    __asm__("syscall");

long in_front_of_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
    if (number == SYS_futex) return futex(a, b, c, d, e, f);
    return call(number, a, b, c, d, e, f);
}
