#pragma once
// parallel_for_each: a function called for every element of a sequence.

#include <concepts>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include <tauto/algorithm_options.hpp>
#include <tauto/parallel_for.hpp>

namespace tauto {

namespace detail {

// What parallel_for_each calls for an element: with the element, or with it and the member's rank.
template <class Function, class Reference>
concept element_function = std::invocable<Function&, Reference> || std::invocable<Function&, Reference, int>;

}  // namespace detail

// Calls function(element) for every element of [first, last), or function(element, rank of the member that
// calls it), on the members of the team. The function is never copied and is called from several threads at
// once. Result, exceptions, stop, nesting, turns and options as parallel_for; the index of an element is its
// distance from `first`. Cost as parallel_for.
template <std::random_access_iterator Iterator, std::sized_sentinel_for<Iterator> Sentinel, class Function>
requires detail::element_function<std::remove_reference_t<Function>, std::iter_reference_t<Iterator>>
bool parallel_for_each(team& members, Iterator first, Sentinel last, Function&& function,
                       const loop_options& options = {}) {
    using function_type = std::remove_reference_t<Function>;
    using reference = std::iter_reference_t<Iterator>;
    loop_options own = options;
    if constexpr (!std::is_function_v<function_type>) {
        if (own.site == nullptr) own.site = &detail::site_of<std::remove_cv_t<function_type>>;
    }
    const auto body = [&function, first](range r, int rank) {
        Iterator element = first + static_cast<std::iter_difference_t<Iterator>>(r.begin);
        for (index i = r.begin; i < r.end; ++i, ++element) {
            if constexpr (std::invocable<function_type&, reference, int>) {
                std::invoke(function, *element, rank);
            } else {
                static_cast<void>(rank);
                std::invoke(function, *element);
            }
        }
    };
    return parallel_for(members, static_cast<index>(last - first), body, own);
}

// The same for a range with random access and a size: a container, a span, std::views::iota(0, n), ...
template <std::ranges::random_access_range Range, class Function>
requires std::ranges::sized_range<Range> &&
    detail::element_function<std::remove_reference_t<Function>, std::ranges::range_reference_t<Range>>
bool parallel_for_each(team& members, Range&& elements, Function&& function,
                       const loop_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_for_each(members, all.first, all.last, std::forward<Function>(function), options);
}

}  // namespace tauto
