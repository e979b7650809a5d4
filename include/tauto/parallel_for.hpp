#pragma once
// parallel_for: a loop shared among the members of a team, over [0, n), [first, last), or with a stride.

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

[[noreturn, gnu::cold]] inline void refuse_stride(index first, index last, index stride) {
    const std::string asked = "parallel_for from " + std::to_string(first) + " to " + std::to_string(last) +
                              " with the stride " + std::to_string(stride);
    if (stride == 0) throw error(asked + " never ends; the stride must not be 0");
    throw error(asked + " has more than 2^56 iterations");
}

// The index of iteration k. What lies between may leave the range of an index where the sum does not.
[[nodiscard]] constexpr index strided(index first, index k, index stride) noexcept {
    return static_cast<index>(static_cast<std::uint64_t>(first) +
                              static_cast<std::uint64_t>(k) * static_cast<std::uint64_t>(stride));
}

// The iterations of `for (i = first; i < last; i += stride)`, or of its like that counts down.
inline index strided_count(index first, index last, index stride) {
    if (stride == 0) refuse_stride(first, last, stride);
    const index low = stride > 0 ? first : last;
    const index high = stride > 0 ? last : first;
    if (high <= low) return 0;
    // Without a sign: the distance of two indices may be twice the largest index.
    const auto distance = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const auto step = stride > 0 ? static_cast<std::uint64_t>(stride) : -static_cast<std::uint64_t>(stride);
    const std::uint64_t count = distance / step + (distance % step != 0 ? 1 : 0);
    if (count > static_cast<std::uint64_t>(max_iterations)) refuse_stride(first, last, stride);
    return static_cast<index>(count);
}

}  // namespace detail

// Runs body over [0, n) on the members of the team and returns when all of it is done.
//
// Returns true when every iteration ran, false when options.stop was requested before the end. Of the
// exceptions that leave the body, that of the lowest index is rethrown here (dynamic, guided and
// static_chunk: the same that a serial loop would throw) and iterations not yet begun are skipped; the team
// stays usable. A member's share comes in several ranges. A call inside a body is shared with members that
// have nothing to do, where both loops are adaptive and without a limit of members, this one's team has no
// fewer members than the one around, and this loop is long; else it stays on the member that makes it, with
// that member's rank on its own team and rank 0 on another one (open_loops.hpp). Calls from several threads
// take turns; but where these are as many as the team's CPUs, an adaptive one without a limit or a report
// begins on its own thread, with rank 0, and has the members for what is left once they are free. Three kinds
// of calls run on their own thread as a whole, with rank 0: a loop that was learned to be too short to fork,
// one of at most one member, and any loop that would wait while the one that has the turn sleeps (its bodies
// wait for something, perhaps for the calling thread). Throws tauto::error when n < 0, n > max_iterations or
// options.members < 0.
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
        if (std::holds_alternative<adaptive>(options.schedule) &&
            members.take_inline_call(where, n, options.members) && options.report == nullptr &&
            !options.stop.stop_requested()) {
            const detail::inside_body inside(members.identity(), 0);
            detail::call_body(body, range{0, n}, 0);
            return true;
        }
        return members.execute({&detail::invoke_body<body_type>, std::addressof(body), n, &where, &options});
    }
}

// The same over [first, last): body gets ranges of it, or its indices. Nothing is run where last <= first.
template <class Body>
requires loop_body<std::remove_reference_t<Body>>
[[gnu::always_inline]] inline bool parallel_for(team& members, index first, index last, Body&& body,
                                                const loop_options& options = {}) {
    using body_type = std::remove_reference_t<Body>;
    loop_options own = options;
    if (own.site == nullptr) own.site = &detail::site_of<std::remove_cv_t<body_type>>;
    const auto shifted = [&body, first](range r, int rank) {
        detail::call_body(body, range{first + r.begin, first + r.end}, rank);
    };
    return parallel_for(members, detail::strided_count(first, last, 1), shifted, own);
}

// The same for first, first + stride, first + 2 stride, ... before last, which a negative stride reaches by
// counting down. body gets one index at a time, or an index and the rank of the member that runs it. The
// "lowest index" of an exception is the one that a serial loop comes to first. Throws tauto::error for the
// stride 0.
template <class Body>
requires std::invocable < std::remove_reference_t<Body>
&, index > || std::invocable<std::remove_reference_t<Body>&, index, int> [[gnu::always_inline]] inline bool
              parallel_for(team& members, index first, index last, index stride, Body&& body,
                           const loop_options& options = {}) {
    using body_type = std::remove_reference_t<Body>;
    loop_options own = options;
    if (own.site == nullptr) own.site = &detail::site_of<std::remove_cv_t<body_type>>;
    const auto strided = [&body, first, stride](range r, int rank) {
        for (index k = r.begin; k < r.end; ++k) {
            if constexpr (std::invocable<body_type&, index, int>) {
                body(detail::strided(first, k, stride), rank);
            } else {
                static_cast<void>(rank);
                body(detail::strided(first, k, stride));
            }
        }
    };
    return parallel_for(members, detail::strided_count(first, last, stride), strided, own);
}

// team::explain of the site that the body itself is: where options.site is not given.
template <class Body>
requires loop_body<const Body> || loop_body<Body>
[[nodiscard]] std::string explain(const team& members, const Body&) {
    return members.explain(detail::site_of<Body>);
}

}  // namespace tauto
