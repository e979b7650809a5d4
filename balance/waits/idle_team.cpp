// libgomp's threads look for milliseconds whether a wait is over before they sleep, but for microseconds
// where it has more threads than CPUs. Nobody can set that while a program runs. So where the controller
// wants it, a thread of this library forks a team of its own, which counts and does nothing.

#include "balance/waits/idle_team.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdlib>

#include "balance/waits/marks.hpp"
#include "balance/waits/own_thread.hpp"

namespace tauto::balance {

namespace {

// Odd: there is a team. Invariant: only the process's own thread changes the number; a team's thread waits as
// long as it is the one that it began with, so each team ends at the next change (verify/idle_team.pml).
// Acquire and release: nothing but the number itself hangs on it; what a team needs comes with its thread.
std::atomic<std::uint32_t> turn{0};
std::atomic<fork_function*> fork_it{nullptr};
std::atomic<unsigned> size{2};
enum class possible : std::uint8_t { not_known, yes, no };
std::atomic<possible> is_possible{possible::not_known};

void do_nothing(void*) {}

// The runtime ends the threads of a team when the thread that forked it ends.
void* hold_team(void* given) {
    be_idle();
    const auto own = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(given));
    fork_it.load(std::memory_order_relaxed)(do_nothing, nullptr, size.load(std::memory_order_relaxed), 0);
    while (turn.load(std::memory_order_acquire) == own)
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, own, nullptr, nullptr, 0);
    return nullptr;
}

// The user has not said how long threads spin, and the runtime is GCC's.
bool find_out(fork_function* fork) noexcept {
    if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return false;
    Dl_info found{};
    return dladdr(reinterpret_cast<void*>(fork), &found) != 0 && found.dli_fname != nullptr &&
           strstr(found.dli_fname, "libgomp") != nullptr;
}

void begin_team(unsigned threads, fork_function* fork) noexcept {
    const auto cpus = static_cast<unsigned>(CPU_COUNT(&the_page()->given));
    size.store(cpus + 2 - std::min(threads, cpus), std::memory_order_relaxed);
    fork_it.store(fork, std::memory_order_relaxed);
    const std::uint32_t own = turn.fetch_add(1, std::memory_order_release) + 1;
    if (start_idle(hold_team, reinterpret_cast<void*>(std::uintptr_t{own}))) return;
    turn.fetch_add(1, std::memory_order_relaxed);
    is_possible.store(possible::no, std::memory_order_relaxed);
}

void end_team() noexcept {
    turn.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

bool waits_shall_change() noexcept {
    const page* here = the_page();
    if (here == nullptr || is_possible.load(std::memory_order_relaxed) == possible::no) return false;
    const bool is_there = turn.load(std::memory_order_relaxed) % 2 != 0;
    return (here->waits_sleep.load(std::memory_order_relaxed) != 0) != is_there &&
           this_thread.own != nullptr && this_thread.own->thread() == getpid();
}

void change_waits(unsigned threads, fork_function* fork) noexcept {
    if (turn.load(std::memory_order_relaxed) % 2 != 0) return end_team();
    if (is_possible.load(std::memory_order_relaxed) == possible::not_known)
        is_possible.store(find_out(fork) ? possible::yes : possible::no, std::memory_order_relaxed);
    if (is_possible.load(std::memory_order_relaxed) == possible::yes) begin_team(threads, fork);
}

}  // namespace tauto::balance
