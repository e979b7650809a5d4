#pragma once
// The first element that satisfies a predicate, and the first least one.

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <ranges>
#include <type_traits>
#include <utility>

#include <tauto/algorithm_options.hpp>
#include <tauto/always_inline.hpp>
#include <tauto/clock.hpp>
#include <tauto/lanes.hpp>
#include <tauto/parallel_reduce.hpp>
#include <tauto/search.hpp>

namespace tauto {

namespace detail {

// The first place at which a serial search would end: where an element was found, or where the predicate
// threw.
class first_place {
  public:
    explicit first_place(index n) noexcept : place_(n), failed_(n) {}

    // Places from here on are of no interest any more. Relaxed: an older place costs a look in vain, and the
    // result is read when the loop has ended.
    [[nodiscard]] index limit() const noexcept { return place_.load(std::memory_order_relaxed); }

    void found(index i) noexcept {
        index known = limit();
        while (i < known && !place_.compare_exchange_weak(known, i, std::memory_order_relaxed)) {
        }
    }
    // In a handler: keeps the exception.
    void failed(index i) {
        const std::scoped_lock held(mutex_);
        if (i >= failed_) return;
        failed_ = i;
        failure_ = std::current_exception();
        found(i);
    }
    // All places before it have been looked at. Rethrows what was thrown there.
    [[nodiscard]] index result() const {
        if (failure_ && failed_ == limit()) std::rethrow_exception(failure_);
        return limit();
    }

  private:
    std::atomic<index> place_;
    std::mutex mutex_;
    index failed_;
    std::exception_ptr failure_;
};

// What was found or thrown in one block is not compared with another place of it: the search ends there.
template <class In, class Chosen>
void search_block(search_ways::way which, range r, Chosen& chosen, first_place& first) {
    try {
        const index i = search_by<In>(which, r, chosen);
        if (i < r.end) first.found(i);
    } catch (...) {
        first.failed(r.begin);
    }
}

// By all members. Not inlined: what a call of one member does is short.
template <class In, class Chosen>
[[gnu::noinline]] index find_together(team& members, index n, index block, index blocks, Chosen& chosen,
                                      const algorithm_options& options) {
    first_place first(n);
    // Whoever asks gets a row of the next blocks, so that all search at the front. The rows of all members
    // are an eighth of what was searched. But to ask costs a transfer between cores: so a row takes at least
    // five microseconds, or its member's part of a quarter of all elements.
    constexpr index most = 16;
    const index eighths = 8 * index{members.size()};
    const index quarter = std::min(most, 1 + 2 * blocks / eighths);
    const auto long_enough = static_cast<double>(to_ticks(std::chrono::microseconds(5)));
    search_ways& ways = search_ways_of<Chosen>;
    const bool to_try = may_be_wide<In>() && !ways.is_decided();
    const double pace = ways.pace();
    const index least =
        pace > 0
            ? static_cast<index>(std::clamp(long_enough / (pace * as_double(block)), 1.0, as_double(quarter)))
            : 1;
    // On a line of its own, because all write to it.
    struct alignas(128) {
        std::atomic<index> block{0};
    } next;
    const auto body = [&, n, block, eighths, least, to_try](range some, int rank) {
        for (index k = some.begin; k < some.end; ++k) {
            const index known = next.block.load(std::memory_order_relaxed);
            if (known * block >= first.limit()) return;
            const index count = std::min(most, std::max(least, 1 + known / eighths));
            index begin = next.block.fetch_add(count, std::memory_order_relaxed) * block;
            const index elements = std::min(n - begin, count * block);
            const bool tries = to_try && rank == 0 && elements >= search_ways::enough_places;
            const search_ways::way which = tries ? ways.next() : ways.best();
            const std::int64_t start = ticks();
            for (const index end = begin + count * block; begin < end; begin += block) {
                if (begin >= first.limit()) return;
                search_block<In>(which, range{begin, std::min(n, begin + block)}, chosen, first);
            }
            const double now = as_double(ticks() - start) / as_double(elements);
            ways.keep_pace(now);
            if (tries && first.limit() == n) ways.tried(which, now);
        }
    };
    loop_to_end(members, blocks, body, loop_options_of(options, &site_of<Chosen>));
    return first.result();
}

// By the calling thread.
template <class In, class Chosen>
index find_alone(index n, Chosen& chosen) {
    search_ways& ways = search_ways_of<Chosen>;
    if (!may_be_wide<In>() || ways.is_decided()) return search_by<In>(ways.best(), {0, n}, chosen);
    const search_ways::way which = ways.next();
    const std::int64_t start = ticks();
    const index found = search_by<In>(which, {0, n}, chosen);
    if (found >= search_ways::enough_places) ways.tried(which, as_double(ticks() - start) / as_double(found));
    return found;
}

// The first i with chosen(i), else n. In: where chosen() looks, void where that is not known.
template <class In, class Chosen>
index find_first(team& members, index n, Chosen& chosen, const algorithm_options& options) {
    // Blocks of 16 to 4096 elements, a power of two: at least 32 of them from 512 elements on.
    const int bits = std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n) / 64)), 4, 12);
    const index block = index{1} << bits;
    const index blocks = (n + block - 1) >> bits;
    site& where = site_of<Chosen>;
    if (runs_inline(members, where, blocks, options)) {
        const inline_call here(members, where, blocks);
        return find_alone<In>(n, chosen);
    }
    return find_together<In>(members, n, block, blocks, chosen, options);
}

// The orders of the standard library by < and >.
template <class Compare, class T>
inline constexpr bool is_usual_order =
    std::is_same_v<Compare, std::less<>> || std::is_same_v<Compare, std::less<T>> ||
    std::is_same_v<Compare, std::ranges::less> || std::is_same_v<Compare, std::greater<>> ||
    std::is_same_v<Compare, std::greater<T>> || std::is_same_v<Compare, std::ranges::greater>;

// The orders whose least element compilers find without branches.
template <class Compare, class T>
inline constexpr bool is_plain_order = std::is_arithmetic_v<T>&& is_usual_order<Compare, T>;

// The least value of a block: eight are kept side by side, because each waits for its last comparison.
template <class In, class T, class Compare>
[[gnu::noinline]] T least_value(In in, range r, Compare& before) {
    constexpr std::size_t chains = 8;
    T least[chains];
    each_part<chains>([&](std::size_t k) { least[k] = element(in, r.begin); });
    index i = r.begin;
    for (; r.end - i >= static_cast<index>(chains); i += chains) {
        each_part<chains>([&](std::size_t k) TAUTO_ALWAYS_INLINE {
            const T x = element(in, i + static_cast<index>(k));
            least[k] = before(x, least[k]) ? x : least[k];
        });
    }
    for (; i < r.end; ++i) {
        const T x = element(in, i);
        least[0] = before(x, least[0]) ? x : least[0];
    }
    for (std::size_t k = 1; k < chains; ++k) least[0] = before(least[k], least[0]) ? least[k] : least[0];
    return least[0];
}

// Where the first element is that is not above `least`; the first of all where NaN has hidden it.
template <class In, class T, class Compare>
index place_of_least(In in, range r, T least, Compare& before) {
    const auto reached = [&, in](index i) -> bool { return !before(least, element(in, i)); };
    const index found =
        search_by<In>(has_wide() ? search_ways::way::wide : search_ways::way::one_by_one, r, reached);
    return found < r.end ? found : r.begin;
}

// Where the first least element of a block is.
template <class In, class Compare>
index least_place(In in, range r, Compare& before) {
    using T = std::iter_value_t<In>;
    if constexpr (is_plain_order<std::remove_cv_t<Compare>, T>) {
        return place_of_least(in, r, least_value<In, T>(in, r, before), before);
    } else {
        index least = r.begin;
        for (index i = r.begin + 1; i < r.end; ++i) {
            if (!before(element(in, i), element(in, least))) continue;
            least = i;
            // Only after a branch, which few elements take: a place chosen without one makes each comparison
            // wait for the last.
            asm volatile("" : "+r"(least));
        }
        return least;
    }
}

// A value of plain order and the block it is from, or the place of any other element.
template <class In, class Compare>
index least_of(team& members, In in, index n, Compare& before, const algorithm_options& options) {
    using T = std::iter_value_t<In>;
    const reduce_options reducing{options.schedule, options.stop,    nullptr, nullptr, options.name, 0, false,
                                  options.members,  options.priority};
    if constexpr (is_plain_order<std::remove_cv_t<Compare>, T>) {
        struct best {
            range block;
            T value;
        };
        constexpr index few = 512;  // are looked at sooner than shared
        if (n <= few && !options.stop.stop_possible()) {
            const as_member inside(members);
            return least_place(in, {0, n}, before);
        }
        const auto of_block = [&](range r) { return best{r, least_value<In, T>(in, r, before)}; };
        const auto better = [&](const best& left, const best& right) {
            return !left.block.empty() && !before(right.value, left.value) ? left : right;
        };
        const best one = parallel_reduce(members, n, best{{0, 0}, T{}}, of_block, better, reducing);
        return place_of_least(in, one.block, one.value, before);
    } else {
        const auto of_block = [&](range r) { return least_place(in, r, before); };
        const auto better = [&](index left, index right) {
            return left >= 0 && !before(element(in, right), element(in, left)) ? left : right;
        };
        return parallel_reduce(members, n, index{-1}, of_block, better, reducing);
    }
}

}  // namespace detail

// The first element for which `predicate` is true, or `last`, as std::find_if. Members search at the front
// together and end when no earlier place is left: to find place p takes about what p calls take, shared where
// that is more than some microseconds.
//
// The result is that of a serial search for every team, schedule and run, exceptions included: what the
// predicate throws is rethrown if no element before it is found. The predicate may be called for later
// elements too, once each, and before a call that throws again for up to 64 elements. Nesting and turns as
// parallel_for. A requested stop throws tauto::stopped.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, class Predicate>
requires std::predicate < std::remove_reference_t<Predicate>
&, std::iter_reference_t < In >> [[nodiscard]] In parallel_find_if(team& members, In first, Sentinel last,
                                                                   Predicate&& predicate,
                                                                   const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_find_if", first, last);
    const auto in = detail::plain_iterator(first);
    const auto chosen = [&](index i) -> bool { return std::invoke(predicate, detail::element(in, i)); };
    return detail::advanced(
        first, detail::find_first<std::remove_const_t<decltype(in)>>(members, n, chosen, options));
}

template <std::ranges::random_access_range Range, class Predicate>
requires std::ranges::sized_range<Range>
[[nodiscard]] auto parallel_find_if(team& members, Range&& elements, Predicate&& predicate,
                                    const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_find_if(members, all.first, all.last, predicate, options);
}

// The first element equal to `value`, or `last`.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, class T>
requires std::equality_comparable_with < std::iter_reference_t<In>,
const T& > [[nodiscard]] In parallel_find(team& members, In first, Sentinel last, const T& value,
                                          const algorithm_options& options = {}) {
    return parallel_find_if(
        members, first, last, [&value](const auto& one) { return one == value; }, options);
}

// The first element that no other is before, or `last` where there is none, as std::min_element. `before`
// must be a strict weak ordering: with NaN in it the result is some element, the same one for every team,
// schedule and run. Exceptions, nesting and turns as parallel_for. A requested stop throws tauto::stopped.
// O(n), n - 1 comparisons and a few more.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, class Compare = std::less<>>
requires std::predicate < std::remove_reference_t<Compare>
&, std::iter_reference_t<In>,
    std::iter_reference_t < In >>
        [[nodiscard]] In parallel_min_element(team& members, In first, Sentinel last, Compare&& before = {},
                                              const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_min_element", first, last);
    if (n == 0) return first;
    return detail::advanced(first,
                            detail::least_of(members, detail::plain_iterator(first), n, before, options));
}

template <std::ranges::random_access_range Range, class Compare = std::less<>>
requires std::ranges::sized_range<Range>
[[nodiscard]] auto parallel_min_element(team& members, Range&& elements, Compare&& before = {},
                                        const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_min_element(members, all.first, all.last, before, options);
}

// The first element that is before no other, as std::max_element; all else as parallel_min_element.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, class Compare = std::less<>>
requires std::predicate < std::remove_reference_t<Compare>
&, std::iter_reference_t<In>,
    std::iter_reference_t < In >>
        [[nodiscard]] In parallel_max_element(team& members, In first, Sentinel last, Compare&& before = {},
                                              const algorithm_options& options = {}) {
    if constexpr (std::is_same_v<std::remove_cvref_t<Compare>, std::less<>>) {
        return parallel_min_element(members, first, last, std::greater<>{}, options);
    } else {
        const auto after = [&before](auto&& left, auto&& right) -> bool { return before(right, left); };
        return parallel_min_element(members, first, last, after, options);
    }
}

template <std::ranges::random_access_range Range, class Compare = std::less<>>
requires std::ranges::sized_range<Range>
[[nodiscard]] auto parallel_max_element(team& members, Range&& elements, Compare&& before = {},
                                        const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_max_element(members, all.first, all.last, before, options);
}

}  // namespace tauto
