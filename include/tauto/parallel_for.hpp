#pragma once
// parallel_for: a loop shared among the members of a team.

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <tauto/team.hpp>

namespace tauto {

// A loop body: called with ranges that cover [0, n) once, or with (range, rank of the member that runs it),
// or with one index at a time. It is called from several threads at once.
template <class Body>
concept loop_body =
    std::invocable<Body&, range> || std::invocable<Body&, range, int> || std::invocable<Body&, index>;

namespace detail {

template <class Body>
void call_body(Body& body, range r, int rank) {
    if constexpr (std::invocable<Body&, range, int>) {
        body(r, rank);
    } else if constexpr (std::invocable<Body&, range>) {
        body(r);
    } else {
        for (index i = r.begin; i < r.end; ++i) body(i);
    }
}

template <class Body>
void invoke_body(const void* body, range r, int rank) {
    call_body(*const_cast<Body*>(static_cast<const Body*>(body)), r, rank);
}

[[noreturn, gnu::cold]] inline void refuse_iterations(index n) {
    throw error("parallel_for over n = " + std::to_string(n) + " iterations; n must be from 0 to 2^56");
}

// Each body type is a call site of its own: every lambda expression has its own type.
template <class Body>
inline constinit site site_of;

}  // namespace detail

// Runs body over [0, n) on the members of the team and returns when all of it is done.
//
// Returns true when every iteration ran, false when options.stop was requested before the end. Of the
// exceptions that leave the body, that of the lowest index is rethrown here (dynamic, guided and
// static_chunk: the same that a serial loop would throw) and iterations not yet begun are skipped; the team
// stays usable. A member's share comes in several ranges. A call from inside a loop body runs inline on the
// member that makes it, with that member's rank on its own team and rank 0 on another one. Calls from several
// threads take turns. Two kinds of calls run on their own thread at once, with rank 0: a loop that was
// learned to be too short to fork, and any loop while the one that has the turn sleeps (its bodies wait for
// something, perhaps for the calling thread). Throws tauto::error when n < 0 or n > max_iterations.
//
// The default schedule is adaptive: it learns, for each site and power-of-two class of n, the members'
// speeds, how many members pay, and whether to fork at all. Cost beyond the body, after learning: at most 40
// ns where it does not fork; else one round trip between two cores plus about 20 ns for each chunk.
template <class Body>
requires loop_body<std::remove_reference_t<Body>>
// Inlined, so that the options of a loop that does not fork are never written to memory.
[[gnu::always_inline]] inline bool parallel_for(team& members, index n, Body&& body,
                                                const loop_options& options = {}) {
    using body_type = std::remove_reference_t<Body>;
    if constexpr (std::is_function_v<body_type>) {
        body_type* const function = body;
        return parallel_for(members, n, function, options);
    } else {
        if (n <= 0 || n > max_iterations) {
            if (n == 0) return true;
            detail::refuse_iterations(n);
        }
        site& where = options.site != nullptr ? *options.site : detail::site_of<std::remove_cv_t<body_type>>;
        if (std::holds_alternative<adaptive>(options.schedule) && members.take_inline_call(where, n) &&
            options.report == nullptr && !options.stop.stop_requested()) {
            const detail::inside_body inside(members.identity(), 0);
            detail::call_body(body, range{0, n}, 0);
            return true;
        }
        return members.execute({&detail::invoke_body<body_type>, std::addressof(body), n, &where, &options});
    }
}

// team::explain of the site that the body itself is: where options.site is not given.
template <class Body>
requires loop_body<const Body> || loop_body<Body>
[[nodiscard]] std::string explain(const team& members, const Body&) {
    return members.explain(detail::site_of<Body>);
}

}  // namespace tauto
