#pragma once
// A thread's part of a parallel region, from its begin to its end.

#include "balance/waits/marks.hpp"

namespace tauto::balance {

/// What this library knows of a region. On the stack of the thread that forks.
struct forked_region {
    const this_thread_state* forker = nullptr;
    slot* join = nullptr;      ///< the forking thread's mark from the end of its part to the join
    bool spins = false;        ///< who waits for the end, or for the next region, does, for a while
    std::uint64_t places = 0;  ///< that the forking thread had come past; 0: as many as all others
};

inline void begin_part(const forked_region& region) noexcept {
    if (region.forker == &this_thread || this_thread.own == nullptr) return;
    catch_up(*this_thread.own, region.places);
    take_cpu_back();
    end_time_of_wait(*this_thread.own);
    forget_waits(*this_thread.own);
}

inline void end_part(forked_region& region) noexcept {
    if (tasks_seen.load(std::memory_order_relaxed)) return;
    // No frame is above this one: waits of the runtime between here and the end of this one are inside it.
    slot* begun = begin_mark(0);
    note_progress(begun, !region.spins);
    time_wait(begun);  // runtimes spin for milliseconds by themselves
    this_thread.outermost = UINTPTR_MAX;
    if (region.forker == &this_thread) region.join = begun;
}

inline void end_join(const forked_region& region) noexcept {
    if (region.join != nullptr) {
        take_cpu_back();
        end_time_of_wait(*region.join);
    }
    end_mark(region.join);
}

}  // namespace tauto::balance
