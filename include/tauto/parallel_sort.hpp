#pragma once
// parallel_sort and parallel_stable_sort.

#include <concepts>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include <tauto/merge_sort.hpp>
#include <tauto/parallel_find.hpp>
#include <tauto/radix_sort.hpp>
#include <tauto/string_sort.hpp>

namespace tauto {

namespace detail {

template <class Compare, class T>
inline constexpr bool is_descending =
    std::is_same_v<Compare, std::greater<>> || std::is_same_v<Compare, std::greater<T>> ||
    std::is_same_v<Compare, std::ranges::greater>;

// Below these, comparisons are faster than digits: always, and where elements are nearly sorted.
template <class T>
inline constexpr index least_radix_sort = sizeof(T) < 4   ? 32
                                          : sizeof(T) < 8 ? 64
                                                          : 192;
inline constexpr index least_nearly_sorted = 512;
inline constexpr index least_string_sort = 32;

// NaN has no order by comparisons, and merging would leave its memory.
template <class T>
[[nodiscard]] bool has_nan(const T* data, index n) noexcept {
    bool any = false;
    for (index i = 0; i < n; ++i) any |= data[i] != data[i];
    return any;
}

// Whether comparisons would be slower, or know no order.
template <class T, class Compare>
[[nodiscard]] bool suits_digits(const T* data, index n, Compare& before) {
    if (n >= least_nearly_sorted) return true;
    if constexpr (std::is_floating_point_v<T>) {
        if (has_nan(data, n)) return true;
    }
    if (n <= least_radix_sort<T>) return false;
    index descents = 0;
    for (index i = 1; i < n; ++i) descents += before(data[i], data[i - 1]) ? 1 : 0;
    return !may_be_nearly_sorted(descents, n);
}

// Whether there is nothing to sort. What is not in order mostly shows it in its first few elements.
template <class In, class Compare>
[[nodiscard]] bool is_in_order(team& members, In in, index n, Compare& before,
                               const algorithm_options& options) {
    using T = std::iter_value_t<In>;
    using order = std::remove_cv_t<Compare>;
    const auto descends = [&, in](index i) -> bool {
        if constexpr (std::is_floating_point_v<T> && is_plain_order<order, T>) {
            // True of NaN too, whose place comparisons do not know.
            return is_descending<order, T> ? !(element(in, i) >= element(in, i + 1))
                                           : !(element(in, i) <= element(in, i + 1));
        } else {
            return before(element(in, i + 1), element(in, i));
        }
    };
    constexpr index front = 32;
    if (n > front) {
        const as_member inside(members);
        if (search({0, front}, descends) < front) return false;
    }
    return find_first<In>(members, n - 1, descends, options) == n - 1;
}

template <class In, class Compare>
void sort(team& members, In in, index n, Compare& before, bool stable, const algorithm_options& options) {
    using T = std::iter_value_t<In>;
    using order = std::remove_cv_t<Compare>;
    // A single run looks at itself.
    if (run_plan::of(n).runs > 1 && is_in_order(members, in, n, before, options)) return;
    if constexpr (std::is_pointer_v<In> && has_radix_key<T> && is_plain_order<order, T>) {
        if (suits_digits(in, n, before)) {
            radix_sorter<T>(in, n, is_descending<order, T>).run(members, options);
            return;
        }
    } else if constexpr (std::is_floating_point_v<T> && has_radix_key<T> && is_plain_order<order, T>) {
        // Elsewhere than in an array.
        const auto by_key = [](T left, T right) {
            return radix_key(left, is_descending<order, T>) < radix_key(right, is_descending<order, T>);
        };
        merge_sorter<In, decltype(by_key)>(in, n, by_key, stable).run(members, options);
        return;
    } else if constexpr (is_string<T> && is_usual_order<order, T>) {
        if (n > least_string_sort) {
            string_sorter<In>(in, n, is_descending<order, T>).run(members, options);
            return;
        }
    }
    merge_sorter<In, Compare>(in, n, before, stable).run(members, options);
}

// Sequences of objects of their own, which can be moved to a buffer and back.
template <class In, class Compare>
concept parallel_sortable =
    std::is_lvalue_reference_v<std::iter_reference_t<In>> && movable_for_good<std::iter_value_t<In>> &&
    std::predicate < std::remove_reference_t<Compare>
&, std::iter_reference_t<In>, std::iter_reference_t < In >> ;

}  // namespace detail

// Sorts [first, last), so that no element is before the one to its left. `before` must be a strict weak
// ordering.
//
// The order is the same for every team, schedule and run, also of elements that are equal. Numbers with
// std::less or std::greater are sorted by their digits, O(n) for each byte in which they differ (NaN comes
// last, or first where its sign bit is set); strings of char in these orders by seven bytes at a time; all
// others by O(n log n) comparisons. Memory for n elements, whose moves must not throw, and 32 bytes a string.
// Exceptions, nesting and turns as parallel_for. After an exception of the comparison, and after a requested
// stop, which throws tauto::stopped, the order is any; after a stop all elements are there, after an
// exception all but those that std::sort leaves out (of elements of up to 32 bytes that are trivially
// copyable: none).
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, class Compare = std::less<>>
requires detail::parallel_sortable<In, Compare>
void parallel_sort(team& members, In first, Sentinel last, Compare&& before = {},
                   const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_sort", first, last);
    if (n > 1) detail::sort(members, detail::plain_iterator(first), n, before, false, options);
}

template <std::ranges::random_access_range Range, class Compare = std::less<>>
requires std::ranges::sized_range<Range> && detail::parallel_sortable<std::ranges::iterator_t<Range>, Compare>
void parallel_sort(team& members, Range&& elements, Compare&& before = {},
                   const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    parallel_sort(members, all.first, all.last, before, options);
}

// The same, and equal elements keep their order.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, class Compare = std::less<>>
requires detail::parallel_sortable<In, Compare>
void parallel_stable_sort(team& members, In first, Sentinel last, Compare&& before = {},
                          const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_stable_sort", first, last);
    if (n > 1) detail::sort(members, detail::plain_iterator(first), n, before, true, options);
}

template <std::ranges::random_access_range Range, class Compare = std::less<>>
requires std::ranges::sized_range<Range> && detail::parallel_sortable<std::ranges::iterator_t<Range>, Compare>
void parallel_stable_sort(team& members, Range&& elements, Compare&& before = {},
                          const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    parallel_stable_sort(members, all.first, all.last, before, options);
}

}  // namespace tauto
