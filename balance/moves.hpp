#pragma once
// Moves threads, and leaves their masks as they were.

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <span>

#include "balance/page.hpp"
#include "timer/clock.hpp"

namespace tauto::balance {

using timer::nanoseconds;

// A thread goes to a CPU when its mask has no other; then it gets its own mask back and stays where it is as
// long as the kernel sees no reason to move it. So a mask is narrow for some microseconds only. A thread with
// a slot starts no other meanwhile (hold.hpp). What a thread without one starts inherits the narrow mask. So
// some milliseconds later, whoever was born since the move and has just that mask gets the one before. Which
// masks are narrow, and who may have inherited one, stands in memory that is shared with the guard, which
// puts them back if we are killed in between.
class moves {
  public:
    moves();
    ~moves();
    moves(const moves&) = delete;
    moves& operator=(const moves&) = delete;

    enum class outcome { moved, pinned, gone };
    struct order {
        pid_t process;
        pid_t thread;
        int cpu;
        slot* marks = nullptr;  // the thread's slot, if it has one
        outcome result = outcome::gone;
    };
    // Moves several threads, each to its CPU, in this order. Threads that have another mask than `given` were
    // pinned by the program and stay, unless `even_pinned`: then any mask that has the CPU will do.
    void make(std::span<order> orders, const cpu_set_t& given, bool even_pinned);
    // Gives their masks back to those who were started while their starter's mask was narrow. To be called
    // now and then: it looks for them once the move is `birth` ago, for so long the kernel may be at starting
    // a thread.
    void widen_the_born(nanoseconds now, nanoseconds birth = longest_birth);
    static constexpr nanoseconds longest_birth = 30'000'000;

    // Keeps a thread on these CPUs until it is released. Its children inherit the mask: for threads that give
    // themselves their own mask again before they have any. `marks`: its slot, with a word that the caller
    // has begun and ends; may be null. `seat`: for that word.
    outcome hold(pid_t thread, const cpu_set_t& cpus, const cpu_set_t& given, slot* marks = nullptr,
                 std::uint16_t seat = 0);
    // Gives it its own mask, if its word says that it is held, or whatever that says.
    void release(pid_t thread, bool by_word = true);

    // Puts back each mask that is narrow, and that the program has not changed since. For the guard: a mask
    // that a killed process was about to set may become narrow a moment later, so it looks again; how often.
    int put_back_all() const;

    nanoseconds longest() const { return longest_; }
    nanoseconds average() const;

  private:
    struct entry {
        std::atomic<pid_t> thread;  // whose mask is narrow; 0: nobody's
        slot* marks;                // its slot, whose word says so; may be null
        cpu_set_t mask;
        cpu_set_t narrow;
        std::atomic<pid_t> process;  // in which threads may be born with that mask; 0: in none
        pid_t born_before;           // the newest thread of the system before it became narrow
        nanoseconds until;           // when it was given back
    };
    static constexpr std::size_t at_once = 1024;
    static constexpr std::size_t capacity = 2 * at_once;  // the second half: those that are held

    static outcome narrow_to(entry& kept, const order& wish, const cpu_set_t& given, bool even_pinned);
    static void widen(const entry& narrow, hold_state by);
    void put_back(std::size_t first, std::size_t end, hold_state by = becomes_held) const;
    template <class IsDue>
    void widen_the_born_of(std::span<entry> starters, IsDue is_due) const;

    entry* narrow_;
    std::size_t births_ = 0;  // the first entries: so many may have births that are still to be looked for
    std::map<pid_t, std::size_t> held_;
    nanoseconds longest_ = 0;
    nanoseconds sum_ = 0;
    nanoseconds count_ = 0;
};

}  // namespace tauto::balance
