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
// 3. A loop is a tauto::parallel_for. Outside of any function it learns, at each site, the members' speeds
//    and whether to share at all. Inside of a function of a par_do, or of such a loop, members with nothing
//    to do take parts of it.
// 4. What is inside of a loop's functions is shared at the first call of its site with each power of two of
//    iterations, if each member has a CPU. After that it is shared from the next call on where it was seen to
//    take 10 us.
// 5. A loop of at most `granularity` iterations runs at once where it is. A longer one is cut into pieces of
//    as many, whose iterations run in turn.
// 6. Who waits in a conservative call runs nothing meanwhile but what it waits for. A lock may be held
//    around it, if the calls inside are conservative too.
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
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <parlay/parallel.h>

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

template <class Function>
void parallel_for(std::size_t start, std::size_t end, Function& f, long granularity) {
    if (start >= end) return;
    const std::size_t n = end - start;
    const std::size_t piece = granularity > 1 ? std::min(static_cast<std::size_t>(granularity), n) : 1;
    const auto run = [&](std::size_t begin, std::size_t last) {
        for (std::size_t i = begin; i < last; ++i) f(i);
    };
    if (piece == n) return run(start, end);
    tauto::parallel_for(members(), static_cast<index>(1 + (n - 1) / piece), [&](range pieces) {
        run(start + static_cast<std::size_t>(pieces.begin) * piece,
            start + std::min(n, static_cast<std::size_t>(pieces.end) * piece));
    });
}

template <class Left, class Right>
void par_do(Left& left, Right& right, bool conservative) {
    team& all = members();
    const auto wait = conservative ? detail::while_waiting::does_nothing : detail::while_waiting::helps;
    const auto both = [&] { detail::invoke_both(left, right, wait); };
    if (detail::in_region(all)) {
        both();
    } else if (detail::stays_here(all)) {
        const detail::stays_in_body here(all, detail::site_of<decltype(both)>);
        left();
        right();
    } else {
        detail::run_region(all, detail::site_of<decltype(both)>, both);
    }
}

}  // namespace tauto::parlay_scheduler

// ---- What ParlayLib asks of a scheduler ----

namespace parlay {

inline size_t num_workers() {
    return static_cast<size_t>(tauto::parlay_scheduler::members().size());
}

inline size_t worker_id() {
    const tauto::team& all = tauto::parlay_scheduler::members();
    const bool inside = tauto::detail::running_as.team == all.identity() || tauto::detail::in_region(all);
    return static_cast<size_t>(inside ? tauto::detail::running_as.rank : 0);
}

template <typename F>
inline void parallel_for(size_t start, size_t end, F&& f, long granularity, bool /*conservative*/) {
    static_assert(std::is_invocable_v<F&, size_t>);
    // Who waits for its loop runs parts of it and of loops inside it, and nothing else: conservative or not.
    tauto::parlay_scheduler::parallel_for(start, end, f, granularity);
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
