#pragma once
// What all algorithms over sequences share: their options, and how they see a sequence.

#include <iterator>
#include <memory>
#include <ranges>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include <tauto/parallel_for.hpp>
#include <tauto/raw_buffer.hpp>

namespace tauto {

// An algorithm is one parallel_for or several. A requested stop throws tauto::stopped; what was to be written
// is then partly written.
struct algorithm_options {
    tauto::schedule schedule = adaptive{};  // of its loops
    std::stop_token stop = {};
    const char* name = nullptr;  // shown in traces; must outlive the team
    int members = 0;             // as in loop_options
    tauto::priority priority = tauto::priority::normal;
};

namespace detail {

inline loop_options loop_options_of(const algorithm_options& options, site* where = nullptr) {
    return {options.schedule, options.stop, where, nullptr, options.name, options.members, options.priority};
}

// Elements that have left their places for a buffer cannot be stopped there.
inline algorithm_options without_stop(const algorithm_options& options) {
    return {options.schedule, {}, options.name, options.members, options.priority};
}

// A pointer where elements are neighbours in memory: one instantiation for vectors, arrays and spans.
template <std::random_access_iterator Iterator>
[[nodiscard]] constexpr auto plain_iterator(Iterator iterator) noexcept {
    if constexpr (std::contiguous_iterator<Iterator>) {
        return std::to_address(iterator);
    } else {
        return iterator;
    }
}

// The element at an index, of an iterator whose differences may be of another type.
template <class Iterator>
[[nodiscard, gnu::always_inline]] constexpr decltype(auto) element(const Iterator& first, index i) {
    return first[static_cast<std::iter_difference_t<Iterator>>(i)];
}
template <class Iterator>
[[nodiscard]] constexpr Iterator advanced(const Iterator& first, index by) {
    return first + static_cast<std::iter_difference_t<Iterator>>(by);
}

template <class Iterator>
struct iterator_pair {
    Iterator first;
    Iterator last;
};

// Of a range with random access and a size.
template <class Range>
[[nodiscard]] constexpr auto iterators_of(Range& elements) {
    const auto first = std::ranges::begin(elements);
    return iterator_pair<std::ranges::iterator_t<Range>>{
        first, advanced(first, static_cast<index>(std::ranges::size(elements)))};
}

// The length of [first, last), which the algorithm can do.
template <class Iterator, class Sentinel>
[[nodiscard]] index checked_length(const char* algorithm, const Iterator& first, const Sentinel& last) {
    const auto n = static_cast<index>(last - first);
    if (n < 0 || n > max_iterations) {
        throw error(std::string(algorithm) + " of " + std::to_string(n) +
                    " elements; there may be 0 to 2^56: is `last` before `first`?");
    }
    return n;
}

// parallel_for, or tauto::stopped.
template <class Body>
void loop_to_end(team& members, index n, Body&& body, const loop_options& options) {
    if (!parallel_for(members, n, body, options)) throw stopped{};
}

// Each member gets some of a new buffer's pages from the system. Where they are first written to in passing,
// several members wait for each page.
template <class T>
void touch_pages(team& members, const raw_buffer<T>& buffer, const algorithm_options& options) {
    if (buffer.new_pages() < 2) return;
    parallel_for(members, buffer.new_pages(), [&](index page) { buffer.touch(page); },
                 {.schedule = dynamic{1}, .members = options.members, .priority = options.priority});
}

// Elements per block of an algorithm whose result does not show its blocks: few where there are few elements,
// because each may take long.
[[nodiscard]] constexpr index block_of(index n, index least, index most) noexcept {
    index size = least;
    while (size < most && size * 128 <= n) size *= 2;
    return size < most ? size : most;
}

// True where a call of `where` is best run at once by the calling thread, in the shortest way: it was learned
// to be too short for anything else, or the thread is inside a body and nobody can join it there.
[[nodiscard]] inline bool runs_inline(team& members, const site& where, index n,
                                      const algorithm_options& options) {
    if (options.stop.stop_possible() || !std::holds_alternative<adaptive>(options.schedule)) return false;
    if (running_as.team != nullptr) return !members.shares_in_body(where, n, options.members);
    return members.take_inline_call(where, n, options.members);
}

// The calling thread runs a whole algorithm as the member that it is, or as the first of the team.
struct as_member : inside_body {
    explicit as_member(team& members) noexcept
        : inside_body(running_as.team != nullptr ? running_as.team : members.identity(),
                      running_as.team != nullptr ? running_as.rank : 0) {}
};

// The same for a call of `where` that runs inline: in a body its time is noted, for the next such call.
struct inline_call {
    inline_call(team& members, site& where, index n) noexcept
        : timed(members, where, n, running_as.team != nullptr && !team::is_plain_in_body(where, n)),
          inside(members) {}
    stays_in_body timed;
    as_member inside;
};

}  // namespace detail

}  // namespace tauto
