#pragma once
// parallel_transform_reduce: parallel_reduce in the shape of the standard library.

#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include <tauto/algorithm_options.hpp>
#include <tauto/parallel_reduce.hpp>

namespace tauto {

// init reduced with transform(x) of every element of [first, last), in the tree of parallel_reduce, whose
// contract this has: `reduce` must be associative (up to rounding) and need not commute
// (std::transform_reduce asks that it does), and the result has the same bits for every team, schedule and
// run.
template <std::random_access_iterator Iterator, std::sized_sentinel_for<Iterator> Sentinel, class T,
          class Reduce, class Transform>
requires std::invocable < std::remove_reference_t<Transform>
&, std::iter_reference_t < Iterator >>
       [[nodiscard]] T parallel_transform_reduce(team& members, Iterator first, Sentinel last, T init,
                                                 Reduce&& reduce, Transform&& transform,
                                                 const reduce_options& options = {}) {
    const index n = detail::checked_length("parallel_transform_reduce", first, last);
    const auto elements = detail::plain_iterator(first);
    const auto map = [&transform, elements](index i) -> decltype(auto) {
        return std::invoke(transform, detail::element(elements, i));
    };
    return parallel_reduce(members, n, std::move(init), map, reduce, options);
}

// The same for transform(x, y) of the elements of two sequences; without functions, the inner product.
template <std::random_access_iterator First, std::sized_sentinel_for<First> Sentinel,
          std::random_access_iterator Second, class T, class Reduce = std::plus<>,
          class Transform = std::multiplies<>>
requires std::invocable < std::remove_reference_t<Transform>
&, std::iter_reference_t<First>,
    std::iter_reference_t < Second >>
        [[nodiscard]] T parallel_transform_reduce(team& members, First first, Sentinel last, Second second,
                                                  T init, Reduce&& reduce = {}, Transform&& transform = {},
                                                  const reduce_options& options = {}) {
    const index n = detail::checked_length("parallel_transform_reduce", first, last);
    const auto left = detail::plain_iterator(first);
    const auto right = detail::plain_iterator(second);
    const auto map = [&transform, left, right](index i) -> decltype(auto) {
        return std::invoke(transform, detail::element(left, i), detail::element(right, i));
    };
    return parallel_reduce(members, n, std::move(init), map, reduce, options);
}

// The same for a range with random access and a size.
template <std::ranges::random_access_range Range, class T, class Reduce, class Transform>
requires std::ranges::sized_range<Range> && std::invocable < std::remove_reference_t<Transform>
&, std::ranges::range_reference_t < Range >>
       [[nodiscard]] T parallel_transform_reduce(team& members, Range&& elements, T init, Reduce&& reduce,
                                                 Transform&& transform, const reduce_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_transform_reduce(members, all.first, all.last, std::move(init), reduce, transform,
                                     options);
}

}  // namespace tauto
