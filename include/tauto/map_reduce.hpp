#pragma once
// map_reduce: a list of tasks, a function that does one, and a function that folds their results.

#include <ranges>
#include <type_traits>
#include <utility>

#include <tauto/parallel_reduce.hpp>

namespace tauto {

// The tasks of a list: anything with random access and a size.
template <class Items>
concept task_list = std::ranges::random_access_range<Items> && std::ranges::sized_range<Items>;

namespace detail {

template <class Items, class Map>
using mapped_type = std::remove_cvref_t<std::invoke_result_t<Map&, std::ranges::range_reference_t<Items>>>;

template <class Result, class Items, class Map>
using result_of_tasks = std::conditional_t<std::is_void_v<Result>, mapped_type<Items, Map>, Result>;

}  // namespace detail

// Folds map(item) of every item with `reduce`, in the shape of QtConcurrent::blockingMappedReduced:
// reduce(T& result, const U& value) changes the result, or reduce(T result, U value) returns it.
//
// T is what map returns unless it is named: map_reduce<T>(...). Partial results are folded with the same
// function, so reduce must take a T as its second argument too, and be associative; it need not commute. A
// result that is of another type than the values begins as T{}, which must not change a value that is folded
// into it. Every task is a block of its own unless options.grain says otherwise, so tasks may differ as much
// as they like. The result has the same bits for every team, schedule and run, unless options.unordered is
// set; T{} for no items. Exceptions, nesting, turns as parallel_for. A requested stop throws tauto::stopped.
template <class Result = void, class Items, class Map, class Reduce>
requires task_list<Items>
[[nodiscard]] auto map_reduce(team& members, Items&& items, Map&& map, Reduce&& reduce,
                              const reduce_options& options = {})
    -> detail::result_of_tasks<Result, Items, Map> {
    using T = detail::result_of_tasks<Result, Items, Map>;
    using U = detail::mapped_type<Items, Map>;
    static_assert(std::invocable<Reduce&, T&, T&&>,
                  "reduce folds partial results too: it must also take a result (T) as its second argument");
    const auto n = static_cast<index>(std::ranges::size(items));
    detail::check_reduction(n, options.grain);
    if (n == 0) return T{};
    const auto first = std::ranges::begin(items);
    using difference = std::ranges::range_difference_t<Items>;
    const auto value = [&](index i) -> decltype(auto) { return map(first[static_cast<difference>(i)]); };
    const detail::block_plan plan{n, std::clamp<index>(options.grain, 1, n)};
    auto merge = [&](T& left, T&& right) { detail::fold_into(reduce, left, std::move(right)); };
    auto one = [&](index i) -> T {
        if constexpr (std::is_same_v<T, U>) {
            return detail::mapped<T>(value, i);
        } else {
            T result{};
            detail::fold_into(reduce, result, value(i));
            detail::hide_origin(result);
            return result;
        }
    };
    auto fold = [&](range r) -> T {
        T result = one(r.begin);
        for (index i = r.begin + 1; i < r.end; ++i) {
            if constexpr (std::is_same_v<T, U>) {
                detail::fold_into(reduce, result, detail::mapped<T>(value, i));
            } else {
                detail::fold_into(reduce, result, value(i));
            }
        }
        detail::hide_origin(result);
        return result;
    };
    // No arithmetic on blocks, and no loop, around a single task.
    if (plan.grain == 1) return detail::reduce_blocks<T>(members, plan, one, fold, merge, options);
    auto leaf = [&](index b) -> T { return fold(plan.block(b)); };
    return detail::reduce_blocks<T>(members, plan, leaf, fold, merge, options);
}

}  // namespace tauto
