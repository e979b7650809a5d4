#pragma once
// libtauto-waits.so: preloaded into a program that is balanced, it marks in the balancer's page which threads
// wait.
//
// Marked: pthread barriers, condition variables and joins, semaphores, sched_yield (system.cpp); futexes that
// a program calls itself (futex.cpp); barriers, joins and the time between regions of GCC's and LLVM's OpenMP
// (openmp.cpp, llvm_region.cpp); MPI's blocking functions in C and in Fortran (mpi.cpp). Where one thread
// wakes all others, they have met (meetings.hpp). It also shares static loops of LLVM's OpenMP out by speed
// (static_loop.cpp), has parts of GCC's short regions run by fewer threads (gcc_region.cpp), and puts threads
// that live for one step of a program on the CPUs of those that have ended (steps.hpp).
//
// Not marked: loops that look at memory without a call, the system's mutexes, MPI_Test in a loop, Fortran's
// module mpi_f08; OpenMP in a program that makes tasks; an MPI library that a program loads after its start,
// and all OpenMP runtimes that it loads then but the first that starts threads (late_runtime.cpp); static
// programs and those with more rights than their user. Of these the kernel shows who sleeps.
//
// MPI's functions are timed, since who waits there spins, and so are waits of LLVM's regions whose loops are
// shared out (shares.hpp). A rank that waits on a CPU that others share sleeps between two looks
// (lending.hpp).
//
// A mark costs 2 to 3 ns where the wait does not sleep, a yield some 70 ns of 700, a region up to 18 ns of
// 265; the start of a process 0.14 ms, 0.09 ms without a page (Xeon, virtual machine).

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "balance/page.hpp"
#include "balance/waits/lending.hpp"
#include "timer/clock.hpp"

namespace tauto::balance {

struct team_shares;
class region_shares;

/// A thread's part of a region of LLVM's OpenMP.
struct shared_part {
    const region_shares* shares = nullptr;  ///< null: its loops are shared out equally
    std::uint64_t waited = 0;               ///< ns at barriers
    std::uint32_t barriers = 0;             ///< so many
    std::int32_t member = 0;                ///< its number there
    std::int32_t level = 0;                 ///< how deep the region is nested
    bool asked = false;                     ///< for a share
    bool spins = false;                     ///< the runtime does where it waits, for a while
};

/// What the library knows of a thread. All zero at its start; in the thread's static memory, one instruction
/// away.
struct this_thread_state {
    slot* own = nullptr;           ///< null: none yet, or no page
    std::uintptr_t outermost = 0;  ///< the frame of the outermost wait
    std::uint32_t refused = 0;     ///< times that no slot was free
    slot* kept_for_fork = nullptr;
    slot* guest = nullptr;          ///< whom it lent its CPU to
    std::uint64_t lends_since = 0;  ///< when the wait began in which it could; 0: it could not
    bool came_as_guest = false;     ///< to the wait: on another thread's CPU
    std::uint64_t yielded = 0;      ///< when it last did, outside of all waits that are marked

    // Of LLVM's OpenMP runtime; see shares.hpp.
    team_shares* team = nullptr;  ///< of the regions that it forks
    shared_part part;
    bool in_region = false;  ///< that it forked

    bool meets = false;  ///< it came to a barrier, or to what one thread of a team does

    // See steps.hpp.
    bool is_counted = false;             ///< its CPU time, when it ends
    bool has_started_others = false;     ///< since it waited last
    bool has_waited_for_others = false;  ///< since it started them
};
extern constinit thread_local this_thread_state this_thread;

/// A slot for this thread, now its own; null where there is no page or no slot. It leaves errno alone.
slot* take_slot() noexcept;

/// Gives this thread the program's own mask again where the controller holds it on other CPUs, and keeps the
/// controller from holding it until `allow_hold`. Null where that is so already, or it is never held.
slot* keep_own_mask() noexcept;

/// The same for as long as it lives.
class own_mask {
  public:
    own_mask() noexcept : kept_(keep_own_mask()) {}
    ~own_mask() {
        if (kept_ != nullptr) allow_hold(kept_->held);
    }
    own_mask(const own_mask&) = delete;
    own_mask& operator=(const own_mask&) = delete;

  private:
    slot* kept_;
};

/// Tells the controller that loops of this process can be shared out by speed.
void tell_of_static_loops() noexcept;

/// So much was done by whoever sits on this CPU, in a loop that was shared out by speed.
void tell_of_work(std::uint32_t cpu, double amount) noexcept;

/// Null where there is none.
page* the_page() noexcept;

/// Whether a slot is that of a thread of this process.
bool is_of_this_process(const slot& one) noexcept;

/// `what` gets each such slot; there is a page.
template <class What>
void for_each_of_this_process(What what) noexcept {
    page& shared = *the_page();
    const std::uint32_t used = std::min(shared.used.load(std::memory_order_acquire), most_slots);
    for (std::uint32_t k = 0; k < used; ++k)
        if (is_of_this_process(shared.slots[k])) what(shared.slots[k]);
}

/// Weights that the controller published; null where there is no page.
const cpu_weights* published_speeds() noexcept;

/// Whether the user left it to us how long threads spin.
bool may_spin() noexcept;

/// A wait that has no end of its own is over.
inline void forget_waits(slot& own) noexcept {
    const std::uint64_t word = own.state.load(std::memory_order_relaxed);
    own.state.store(word >> 32 << 32, std::memory_order_relaxed);
}

/// `frame`: where the wait's function stands on the stack. A wait that was begun at the same place or further
/// down the stack, and has not ended, was left by a jump: it counts no more.
inline slot* begin_mark(std::uintptr_t frame) noexcept {
    slot* own = this_thread.own;
    if (own == nullptr && (own = take_slot()) == nullptr) return nullptr;
    if (own->waits().depth == 0) {
        this_thread.outermost = frame;
    } else if (frame >= this_thread.outermost) {
        forget_waits(*own);
        this_thread.outermost = frame;
    }
    begin_wait(*own);
    return own;
}

/// A child of fork has no slot, whatever the thread that forked had.
inline void end_mark(const slot* begun) noexcept {
    if (begun != nullptr && begun == this_thread.own) end_wait(*this_thread.own);
}

/// The thread comes past a place that all threads of its team come past, and waits there for the others.
/// `lends`: meanwhile another may have its CPU.
inline void note_progress(slot* own, bool lends = true) noexcept {
    if (own == nullptr) return;
    const auto now = static_cast<std::uint64_t>(timer::now());
    pass(*own, now);
    if (lends) lend_cpu(*own, now);
}

/// A wait that is timed, from its last `note_progress`: the thread may spin there.
inline void time_wait(slot* own) noexcept {
    if (own != nullptr) begin_timed_wait(*own, own->passed_at.load(std::memory_order_relaxed));
}

inline void end_time_of_wait(slot& own) noexcept {
    if (own.waits_since.load(std::memory_order_relaxed) != 0)
        end_timed_wait(own, static_cast<std::uint64_t>(timer::now()));
}

/// It has waited there.
inline void end_barrier(slot& own) noexcept {
    const auto now = static_cast<std::uint64_t>(timer::now());
    if (this_thread.part.shares != nullptr) {
        this_thread.part.waited += now - own.passed_at.load(std::memory_order_relaxed);
        ++this_thread.part.barriers;
    }
    end_timed_wait(own, now);
}

/// Between two yields that follow each other soon it only looked whether it may go on.
inline void note_yield(slot& own) noexcept {
    constexpr std::uint64_t soon = 3'000;  // ns
    const auto now = static_cast<std::uint64_t>(timer::now());
    const std::uint64_t since = now - std::exchange(this_thread.yielded, now);
    if (since < soon)
        own.waited.store(own.waited.load(std::memory_order_relaxed) + since, std::memory_order_release);
}

/// Waits as long as it lives, also where the thread is cancelled meanwhile (see unwinding.cpp).
class wait_mark {
  public:
    [[gnu::always_inline]] wait_mark() noexcept
        : begun_(begin_mark(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)))) {}
    [[gnu::always_inline]] ~wait_mark() { end_mark(begun_); }
    wait_mark(const wait_mark&) = delete;
    wait_mark& operator=(const wait_mark&) = delete;

  protected:
    slot* begun_;
};

/// A wait that all threads of a team come past.
class team_wait_mark : public wait_mark {
  public:
    [[gnu::always_inline]] team_wait_mark() noexcept { note_progress(begun_); }
    [[gnu::always_inline]] ~team_wait_mark() { take_cpu_back(); }
    team_wait_mark(const team_wait_mark&) = delete;
    team_wait_mark& operator=(const team_wait_mark&) = delete;
};

/// The same where the thread may spin. Its CPU time tells nothing then, so the outermost such wait is timed.
class timed_wait_mark : public team_wait_mark {
  public:
    [[gnu::always_inline]] timed_wait_mark() noexcept
        : is_timed_(begun_ != nullptr && begun_->waits().depth == 1) {
        if (is_timed_) time_wait(begun_);
    }
    [[gnu::always_inline]] ~timed_wait_mark() {
        if (is_timed_ && begun_ == this_thread.own) end_time_of_wait(*begun_);
    }
    timed_wait_mark(const timed_wait_mark&) = delete;
    timed_wait_mark& operator=(const timed_wait_mark&) = delete;

  private:
    bool is_timed_;
};

/// From now on waits inside OpenMP are not marked in this process: who waits at a barrier may run tasks
/// there.
void openmp_has_tasks() noexcept;
extern std::atomic<bool> tasks_seen;

}  // namespace tauto::balance
