#pragma once
// The scheduler of a program that uses ParlayLib: what parlay::parallel_for and parlay::par_do run on. Every
// file of the program has it in front of ParlayLib's headers, best from the compiler's line:
//
//     c++ -std=c++20 -include tauto/parlay.hpp program.cpp -ltautochrone
//
// ParlayLib has a list of schedulers, of which a macro chooses one. This header defines PARLAY_TBB and takes
// the place of the file that this chooses. Nothing of oneTBB is needed.
//
// What it promises (each is a test of that number):
//
// 1. parallel_for calls f(i) once for each i of [start, end), par_do each of its two functions once, at any
//    depth, on the members of one team. PARLAY_NUM_THREADS is its size; without it there is one member for
//    each usable CPU. The first call makes it, and pins the thread that calls. num_workers() is its size.
// 2. worker_id() is below num_workers(), and no two threads that run functions of one call have the same. It
//    is 0 outside of any.
// 3. A loop outside of any function is a tauto::parallel_for: it learns, at each site, the members' speeds
//    and whether to share at all. A loop inside of a function of a par_do, or of such a loop, is handed to
//    whichever members have nothing to do.
// 4. A site whose functions were seen to take 20 us in calls of these two hands out its loops in this way
//    from its next call on, so that the calls inside share the members too. At its first call they run on
//    the member that makes them.
// 5. A loop of at most `granularity` iterations runs at once where it is. A longer one inside of a function
//    is cut into halves until they are as short as that; without a granularity, until they take some
//    microseconds.
// 6. Who waits in a conservative call runs no other function meanwhile. A lock may be held around it, if the
//    calls inside are conservative too.
// 7. The exception of the lowest index, or of the left function before the right one, is rethrown. The team
//    stays usable.
// 8. execute_with_scheduler(p, f) calls f with a team of p members of its own; inside of any function it
//    calls f as it is.
#if defined(PARLAY_PARALLEL_H_)
#error "tauto/parlay.hpp comes before all headers of ParlayLib: compile with -include tauto/parlay.hpp"
#endif
#if defined(PARLAY_CILKPLUS) || defined(PARLAY_OPENCILK) || defined(PARLAY_OPENMP) || \
    defined(PARLAY_SEQUENTIAL)
#error "tauto/parlay.hpp is ParlayLib's scheduler, and another one is asked for by a macro"
#endif
#if !defined(PARLAY_TBB)
#define PARLAY_TBB
#endif
// The file that is chosen is read as if it had been read before. Its guard had both names.
#define PARLAY_INTERNAL_SCHEDULER_PLUGINS_TBB_H_
#define PARLAY_INTERNAL_SCHEDULER_PLUGINS_TBB_HPP_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <parlay/parallel.h>

#include <tauto/clock.hpp>
#include <tauto/parallel_for.hpp>
#include <tauto/task_group.hpp>
#include <tauto/team.hpp>

namespace tauto::parlay_scheduler {

// PARLAY_NUM_THREADS, or 0. Throws tauto::error for what is no number of members.
inline int asked_members() {
    const char* const text = std::getenv("PARLAY_NUM_THREADS");
    if (text == nullptr || *text == '\0') return 0;
    char* end = nullptr;
    const long asked = std::strtol(text, &end, 10);
    if (*end != '\0' || asked < 1 || asked > 1'000'000) {
        throw error(std::string("PARLAY_NUM_THREADS is \"") + text + "\"; set it to a number from 1");
    }
    return static_cast<int>(asked);
}

// Of execute_with_scheduler: for the thread that calls it, and for the team's members.
inline thread_local constinit team* own_team = nullptr;

inline team& members() {
    if (own_team != nullptr) return *own_team;
    static team all(team_options{.size = asked_members()});
    return all;
}

// ---- Loops inside of functions ----

// True where calls inside of this site's functions were worth members. Relaxed: a hint.
template <class Function>
inline constinit std::atomic<bool> nests{false};

// The hint of the learned loop whose function the calling thread runs.
inline thread_local constinit std::atomic<bool>* loop_around = nullptr;

// While it lives, the calling thread runs the functions of a learned loop, or (null) calls inside of one.
class inside_loop {
  public:
    explicit inside_loop(std::atomic<bool>* hint) noexcept : before_(std::exchange(loop_around, hint)) {}
    ~inside_loop() { loop_around = before_; }
    inside_loop(const inside_loop&) = delete;
    inside_loop& operator=(const inside_loop&) = delete;

  private:
    std::atomic<bool>* before_;
};

// A call that runs where it is made. What it takes is seen by the loop around it.
template <class Call>
void run_here(Call&& call) {
    std::atomic<bool>* const hint = loop_around;
    if (hint == nullptr || hint->load(std::memory_order_relaxed)) return call();
    static const std::int64_t worth_members = detail::to_ticks(std::chrono::microseconds(20));
    const inside_loop none(nullptr);
    const std::int64_t start = detail::ticks();
    call();
    if (detail::ticks() - start > worth_members) hint->store(true, std::memory_order_relaxed);
}

// A loop whose pieces are tasks.
template <class Function>
class task_loop {
  public:
    task_loop(Function& function, std::size_t piece, detail::while_waiting wait) noexcept
        : function_(function), piece_(std::max<std::size_t>(piece, 1)), wait_(wait) {}

    void run(std::size_t begin, std::size_t end) const {
        if (end - begin <= piece_) return run_piece(begin, end);
        const std::size_t middle = begin + (end - begin) / 2;
        auto first = [&] { run(begin, middle); };
        auto second = [&] { run(middle, end); };
        detail::invoke_both(first, second, wait_);
    }
    void run_piece(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i) function_(i);
    }

    // As run, after pieces that double until one of them takes long enough to be a task.
    void measure_and_run(std::size_t begin, std::size_t end, int sharing) {
        static const std::int64_t long_enough = detail::to_ticks(std::chrono::microseconds(2));
        // So many pieces a member that the last of a slow one is short.
        constexpr std::size_t most_pieces = 256;
        const std::size_t least = (end - begin) / (most_pieces * detail::usize(sharing));
        for (std::size_t size = 1; begin < end; size *= 2) {
            piece_ = std::max(size, least);
            const std::size_t next = begin + std::min(size, end - begin);
            const std::int64_t start = detail::ticks();
            run_piece(begin, next);
            begin = next;
            if (detail::ticks() - start > long_enough) break;
        }
        if (begin < end) run(begin, end);
    }

  private:
    Function& function_;
    std::size_t piece_;
    detail::while_waiting wait_;
};

template <class Function>
void parallel_for(std::size_t start, std::size_t end, Function& f, long granularity, bool conservative) {
    const std::size_t piece = granularity > 0 ? static_cast<std::size_t>(granularity) : 0;
    const auto wait = conservative ? detail::while_waiting::does_nothing : detail::while_waiting::helps;
    task_loop<Function> tasks(f, piece, wait);
    if (start >= end) return;
    if (end - start <= std::max<std::size_t>(piece, 1)) return tasks.run_piece(start, end);
    team& all = members();
    const auto share = [&] {
        if (piece > 0) {
            tasks.run(start, end);
        } else {
            tasks.measure_and_run(start, end, all.size());
        }
    };
    if (all.size() > 1 && detail::in_region(all)) {
        share();
    } else if (detail::stays_here(all)) {
        run_here([&] { tasks.run_piece(start, end); });
    } else if (nests<Function>.load(std::memory_order_relaxed)) {
        detail::run_region(all, share);
    } else {
        tauto::parallel_for(all, static_cast<index>(end - start), [&](range r) {
            const inside_loop here(&nests<Function>);
            tasks.run_piece(start + static_cast<std::size_t>(r.begin),
                            start + static_cast<std::size_t>(r.end));
        });
    }
}

template <class Left, class Right>
void par_do(Left& left, Right& right, bool conservative) {
    team& all = members();
    const auto wait = conservative ? detail::while_waiting::does_nothing : detail::while_waiting::helps;
    if (detail::stays_here(all)) {
        run_here([&] {
            left();
            right();
        });
    } else if (detail::in_region(all)) {
        detail::invoke_both(left, right, wait);
    } else {
        detail::run_region(all, [&] { detail::invoke_both(left, right, wait); });
    }
}

}  // namespace tauto::parlay_scheduler

// ---- What ParlayLib asks of a scheduler ----

namespace parlay {

inline size_t num_workers() {
    return static_cast<size_t>(tauto::parlay_scheduler::members().size());
}

inline size_t worker_id() {
    const bool inside = tauto::detail::running_as.team == tauto::parlay_scheduler::members().identity();
    return static_cast<size_t>(inside ? tauto::detail::running_as.rank : 0);
}

template <typename F>
inline void parallel_for(size_t start, size_t end, F&& f, long granularity, bool conservative) {
    static_assert(std::is_invocable_v<F&, size_t>);
    tauto::parlay_scheduler::parallel_for(start, end, f, granularity, conservative);
}

template <typename Lf, typename Rf>
inline void par_do(Lf&& left, Rf&& right, bool conservative) {
    static_assert(std::is_invocable_v<Lf&&> && std::is_invocable_v<Rf&&>);
    auto call_left = [&] { std::forward<Lf>(left)(); };
    auto call_right = [&] { std::forward<Rf>(right)(); };
    tauto::parlay_scheduler::par_do(call_left, call_right, conservative);
}

template <typename F>
void execute_with_scheduler(unsigned int p, F&& f) {
    if (tauto::detail::running_as.team != nullptr) {
        std::invoke(std::forward<F>(f));
        return;
    }
    struct restored {
        tauto::team* before = tauto::parlay_scheduler::own_team;
        ~restored() { tauto::parlay_scheduler::own_team = before; }
    } const after;
    std::optional<tauto::team> own;
    own.emplace(tauto::team_options{.size = static_cast<int>(std::max(p, 1U)),
                                    .on_start = [&own](int) { tauto::parlay_scheduler::own_team = &*own; }});
    tauto::parlay_scheduler::own_team = &*own;
    std::invoke(std::forward<F>(f));
}

// Makes the team ahead of the first call.
inline void init_plugin_internal() {
    tauto::parlay_scheduler::members();
}

}  // namespace parlay
