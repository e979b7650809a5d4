#pragma once
// Prefix sums with any associative operation, and the same bits for every team, schedule and run.
//
// The elements are cut into blocks that depend on their number, the operation and the type alone. The sum
// before a block is init op (sum of block 0) op (sum of block 1) ..., eight blocks being summed up on their
// own first; within a block it grows element by element. So it does not show which member did what. Errors
// grow with the number of blocks instead of that of elements.
//
// Numbers are read once where a member knows the sum before a tile (scan_front.hpp, wavefront.hpp): a block's
// own sums grow in fours, and each is added to what is before the block. All else is summed up first and read
// again.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/always_inline.hpp>
#include <tauto/caches.hpp>
#include <tauto/integer_scan.hpp>
#include <tauto/parallel_reduce.hpp>
#include <tauto/scan_front.hpp>
#include <tauto/wavefront.hpp>

namespace tauto {

namespace detail {

// How [0, n) is cut: tiles of eight blocks.
struct scan_plan {
    static constexpr index blocks_of_tile = 8;
    // No multiple of 512: four blocks are scanned side by side, and a processor takes places that are a
    // multiple of 4096 bytes apart for one.
    static constexpr index most = 1088;

    index n;
    index block;

    // `quick`: an operation that takes about a nanosecond. Others may take long, at each of a few elements.
    static scan_plan of(index n, bool quick) noexcept { return {n, quick ? most : block_of(n, 8, most)}; }
    [[nodiscard]] index tile() const noexcept { return blocks_of_tile * block; }
    [[nodiscard]] index tiles() const noexcept { return (n + tile() - 1) / tile(); }
    [[nodiscard]] range elements_of(index t) const noexcept {
        return {t * tile(), std::min(n, (t + 1) * tile())};
    }
    // So few are done in one chain, on the calling thread.
    [[nodiscard]] bool is_short() const noexcept { return n <= 2 * block; }
};

// Sums that live in registers: several are computed side by side, because each waits for its own last step.
template <class T>
inline constexpr bool side_by_side = std::is_trivially_copyable_v<T>&& std::is_default_constructible_v<T> &&
                                     sizeof(T) <= 32;

inline constexpr std::size_t scan_chains = 4;

template <bool Inclusive, class In, class Out, class T, class Op>
TAUTO_ALWAYS_INLINE inline void scan_step(const In& in, const Out& out, index i, T& sum, Op& op) {
    if constexpr (Inclusive) {
        sum = static_cast<T>(op(std::move(sum), element(in, i)));
        element(out, i) = sum;
    } else {
        T next = static_cast<T>(op(sum, element(in, i)));
        element(out, i) = std::move(sum);  // may be where the element was
        sum = std::move(next);
    }
}

// One chain from `sum` on; returns the sum after it.
template <bool Inclusive, class In, class Out, class T, class Op>
[[gnu::noinline]] T scan_chain(In in, Out out, range r, T sum, Op& op) {
    for (index i = r.begin; i < r.end; ++i) scan_step<Inclusive>(in, out, i, sum, op);
    return sum;
}

// The sums of a tile's blocks, or later those before them.
template <class T>
using block_sums = std::array<std::optional<T>, usize(scan_plan::blocks_of_tile)>;

template <class In, class Out, class T, class Op>
struct scanner {
    In in;
    Out out;
    Op* op;
    scan_plan plan;

    static constexpr bool in_lanes =
        is_commutative<std::remove_cv_t<Op>, T> && std::same_as<T, std::iter_value_t<In>>;

    // Numbers in memory, by an operation that takes about a nanosecond.
    static constexpr bool in_fours = in_lanes && std::is_pointer_v<In> && std::is_arithmetic_v<T>;

    // Sums of integers have the same bits in any order.
    static constexpr bool of_integers =
        in_fours && std::integral<T> && std::convertible_to<In, const T*> &&
        (std::same_as<std::remove_cv_t<Op>, std::plus<>> || std::same_as<std::remove_cv_t<Op>, std::plus<T>>);

    [[nodiscard]] TAUTO_ALWAYS_INLINE T both(T left, T right) const {
        return static_cast<T>((*op)(left, right));
    }

    // The sum of a block; if it writes, the block's scan too, from `before` on. What four elements come to by
    // themselves is no part of the chain from four to four, in which each step waits for the one before.
    template <bool Inclusive, bool Writes>
    [[nodiscard, gnu::noinline]] T block_in_fours(range r, [[maybe_unused]] T before) const {
        T sum = in[r.begin];
        if constexpr (Writes) element(out, r.begin) = Inclusive ? both(before, sum) : before;
        index i = r.begin + 1;
        for (; r.end - i >= 4; i += 4) {
            const T a = in[i];
            const T b = both(a, in[i + 1]);
            const T c = both(b, in[i + 2]);
            const T d = both(c, in[i + 3]);
            if constexpr (Writes) {
                const T up_to_a = both(sum, a);
                const T up_to_b = both(sum, b);
                const T up_to_c = both(sum, c);
                element(out, i) = both(before, Inclusive ? up_to_a : sum);
                element(out, i + 1) = both(before, Inclusive ? up_to_b : up_to_a);
                element(out, i + 2) = both(before, Inclusive ? up_to_c : up_to_b);
                sum = both(sum, d);
                element(out, i + 3) = both(before, Inclusive ? sum : up_to_c);
            } else {
                sum = both(sum, d);
            }
        }
        for (; i < r.end; ++i) {
            const T next = both(sum, in[i]);
            if constexpr (Writes) element(out, i) = both(before, Inclusive ? next : sum);
            sum = next;
        }
        return sum;
    }

    template <bool Inclusive>
    T scan_these(range r, T before) const {
        return scan_integers<Inclusive>(in + r.begin, advanced(out, r.begin), r.size(), before);
    }

    // Eight blocks at once; returns their sum.
    template <bool Inclusive>
    [[nodiscard]] T scan_at_once(range r, T before) const {
        if constexpr (of_integers)
            return static_cast<T>(bits_of(scan_these<Inclusive>(r, before)) - bits_of(before));
        std::optional<T> all;
        for (index begin = r.begin; begin < r.end; begin += plan.block) {
            const T sum =
                block_in_fours<Inclusive, true>({begin, std::min(r.end, begin + plan.block)}, before);
            all.emplace(all ? joined(*all, sum) : sum);
            before = joined(before, sum);
        }
        return *all;
    }

    [[nodiscard, gnu::noinline]] T joined(const T& left, const T& right) const {
        if constexpr (of_integers) {
            return static_cast<T>(bits_of(left) + bits_of(right));
        } else {
            return static_cast<T>((*op)(left, right));
        }
    }

    // Of a range of elements that is not empty. Never inlined, as everything that computes: the same code
    // gives the same bits.
    [[nodiscard, gnu::noinline]] T sum_of(range r) const {
        if constexpr (of_integers) {
            return sum_of_integers(in + r.begin, r.size());
        } else if constexpr (in_fours) {
            return block_in_fours<true, false>(r, T{});
        } else if constexpr (in_lanes) {
            const auto value = [this](index i) { return element(in, i); };
            const lane_blocks<lane_operation<std::remove_cv_t<Op>, T>, T, decltype(value)> rows{
                &value, {plan.n, plan.block}};
            lane_values<T> values = rows.value_of(r);
            return join_lanes<lane_operation<std::remove_cv_t<Op>, T>>(values);
        } else {
            T sum = static_cast<T>(element(in, r.begin));
            for (index i = r.begin + 1; i < r.end; ++i)
                sum = static_cast<T>((*op)(std::move(sum), element(in, i)));
            return sum;
        }
    }

    // The sums of four whole blocks from `begin` on.
    [[gnu::noinline]] void sum_four(index begin, std::optional<T>* sums) const {
        T values[scan_chains];
        const index step = plan.block;
        each_part<scan_chains>([&](std::size_t k) {
            values[k] = static_cast<T>(element(in, begin + static_cast<index>(k) * step));
        });
        for (index i = begin + 1; i < begin + step; ++i) {
            each_part<scan_chains>([&](std::size_t k) TAUTO_ALWAYS_INLINE {
                values[k] = static_cast<T>((*op)(values[k], element(in, i + static_cast<index>(k) * step)));
            });
        }
        each_part<scan_chains>([&](std::size_t k) { sums[k].emplace(values[k]); });
    }

    // The sum of each block in r; how many there are.
    std::size_t sum_blocks(range r, block_sums<T>& sums) const {
        index begin = r.begin;
        std::size_t done = 0;
        if constexpr (side_by_side<T> && !in_lanes) {
            for (; r.end - begin >= four_blocks(); begin += four_blocks(), done += scan_chains)
                sum_four(begin, &sums[done]);
        }
        for (; begin < r.end; begin += plan.block, ++done)
            sums[done].emplace(sum_of({begin, std::min(r.end, begin + plan.block)}));
        return done;
    }

    // Four whole blocks from `begin` on, each from its own sum.
    template <bool Inclusive>
    [[gnu::noinline]] void scan_four(index begin, const std::optional<T>* before) const {
        T sums[scan_chains];
        each_part<scan_chains>([&](std::size_t k) { sums[k] = *before[k]; });
        const index step = plan.block;
        for (index i = begin; i < begin + step; ++i) {
            each_part<scan_chains>([&](std::size_t k) TAUTO_ALWAYS_INLINE {
                scan_step<Inclusive>(in, out, i + static_cast<index>(k) * step, sums[k], *op);
            });
        }
    }

    // The blocks in r, where `before` is the sum before each of them.
    template <bool Inclusive>
    void scan_blocks(range r, const block_sums<T>& before) const {
        index begin = r.begin;
        std::size_t done = 0;
        if constexpr (in_fours) {
            for (; begin < r.end; begin += plan.block, ++done) {
                static_cast<void>(block_in_fours<Inclusive, true>(
                    {begin, std::min(r.end, begin + plan.block)}, *before[done]));
            }
        } else if constexpr (side_by_side<T>) {
            for (; r.end - begin >= four_blocks(); begin += four_blocks(), done += scan_chains)
                scan_four<Inclusive>(begin, &before[done]);
        }
        for (; begin < r.end; begin += plan.block, ++done)
            scan_chain<Inclusive>(in, out, {begin, std::min(r.end, begin + plan.block)}, *before[done], *op);
    }

    [[nodiscard]] index four_blocks() const noexcept { return static_cast<index>(scan_chains) * plan.block; }
};

// All tiles of numbers. Where input and output fit a cache, each member has the same part in each call.
// Elsewhere a tile that was summed up is read again at once, before it leaves the member's cache.
template <bool Inclusive, class Scanner, class T, class Reduce, class Finish>
void scan_numbers(team& members, const Scanner& work, T init, const Reduce& reduce, const Finish& finish,
                  const algorithm_options& options) {
    const scan_plan& plan = work.plan;
    const auto join = [&](T before, T sum) -> T { return work.joined(before, sum); };
    const auto at_once = [&](index t, T before) -> T {
        return work.template scan_at_once<Inclusive>(plan.elements_of(t), before);
    };
    if (2 * plan.n * static_cast<index>(sizeof(T)) <= largest_cache()) {
        scan_front(plan.tiles(), init, reduce, join, finish, at_once).run(members, options);
    } else {
        const auto finish_half = [&](index t, T before, T) { finish(t, before); };
        wavefront tiles(plan.tiles(), init, reduce, join, finish_half, at_once);
        static_cast<void>(tiles.run(members, options));
    }
}

// What the sums of a tile's blocks come to.
template <class Scanner, class T>
T sum_of_tile(const Scanner& work, index tile, block_sums<T>& sums) {
    const std::size_t count = work.sum_blocks(work.plan.elements_of(tile), sums);
    T all = *sums.front();
    for (std::size_t k = 1; k < count; ++k) all = work.joined(all, *sums[k]);
    return all;
}

// Writes a tile from the sums of its blocks, which are lost.
template <bool Inclusive, class Scanner, class T>
void scan_tile(const Scanner& work, index tile, T before, block_sums<T>& sums) {
    for (std::optional<T>& sum : sums) {
        if (!sum) break;
        T after = work.joined(before, *sum);
        sum.emplace(std::exchange(before, std::move(after)));
    }
    work.template scan_blocks<Inclusive>(work.plan.elements_of(tile), sums);
}

// All tiles by one member, with the bits that several would give. Returns what all elements come to.
template <bool Inclusive, class Scanner, class T>
T scan_tiles_here(const Scanner& work, T before) {
    for (index tile = 0; tile < work.plan.tiles(); ++tile) {
        block_sums<T> sums;
        T after = work.joined(before, sum_of_tile(work, tile, sums));
        scan_tile<Inclusive>(work, tile, std::exchange(before, std::move(after)), sums);
    }
    return before;
}

// All tiles of what is summed up block by block.
template <bool Inclusive, class Scanner, class T>
void scan_by_blocks(team& members, const Scanner& work, T init, const algorithm_options& options) {
    const index tiles = work.plan.tiles();
    std::vector<block_sums<T>> of_tiles;
    const auto reduce = [&](index t) -> T { return sum_of_tile(work, t, at(of_tiles, t)); };
    const auto finish = [&](index t, const T& before) {
        scan_tile<Inclusive>(work, t, before, at(of_tiles, t));
    };
    if constexpr (Scanner::in_fours) {
        of_tiles.resize(usize(tiles));
        scan_numbers<Inclusive>(members, work, init, reduce, finish, options);
    } else {
        site& where = site_of<decltype(reduce)>;
        if (runs_inline(members, where, tiles, options)) {
            const inline_call here(members, where, tiles);
            static_cast<void>(scan_tiles_here<Inclusive>(work, std::move(init)));
            return;
        }
        of_tiles.resize(usize(tiles));
        const auto join = [&](const T& before, const T& sum) -> T { return work.joined(before, sum); };
        const auto finish_half = [&](index t, const T& before, const T&) { finish(t, before); };
        wavefront all(tiles, init, reduce, join, finish_half);
        const auto alone = [&]() -> T { return scan_tiles_here<Inclusive>(work, init); };
        static_cast<void>(all.run(members, options, where, alone));
    }
}

// Writes the scan of [in, in + n) to `out`, beginning with `init`.
template <bool Inclusive, class In, class Out, class T, class Op>
void scan(team& members, In in, Out out, index n, T init, Op& op, const algorithm_options& options) {
    if (options.stop.stop_requested()) throw stopped{};
    using scan_type = scanner<In, Out, T, Op>;
    const scan_plan plan = scan_plan::of(n, scan_type::in_lanes);
    const scan_type work{in, out, &op, plan};
    if (plan.is_short()) {
        const as_member inside(members);
        if constexpr (scan_type::in_fours) {
            static_cast<void>(work.template scan_at_once<Inclusive>({0, n}, init));
        } else {
            scan_chain<Inclusive>(in, out, {0, n}, std::move(init), op);
        }
    } else if constexpr (scan_type::of_integers) {
        const auto reduce = [&](index t) -> T { return work.sum_of(plan.elements_of(t)); };
        const auto finish = [&](index t, T before) {
            work.template scan_these<Inclusive>(plan.elements_of(t), before);
        };
        scan_numbers<Inclusive>(members, work, init, reduce, finish, options);
    } else {
        scan_by_blocks<Inclusive>(members, work, std::move(init), options);
    }
}

template <class T, class In, class Op>
concept scannable = std::copy_constructible<T> && std::invocable<Op&, T, T> &&
    std::invocable<Op&, T, std::iter_reference_t<In>>;

}  // namespace detail

// Writes init op x0, init op x0 op x1, ... to `result` and returns its end, as std::inclusive_scan does. `op`
// must be associative (up to rounding); it need not commute.
//
// The result depends on the elements, `op` and the types alone: it has the same bits for every team, schedule
// and run. `result` may be `first`; otherwise the sequences must not overlap. Exceptions, nesting and turns
// as parallel_for; after an exception, and after a requested stop, which throws tauto::stopped, some of the
// result is written. O(n) calls of op, up to three an element; the elements are read from memory once and the
// result is written once, as long as no member is interrupted. Memory: 192 bytes for eight blocks of doubles.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel,
          std::random_access_iterator Out, class Op, class T>
requires detail::scannable<T, In, std::remove_reference_t<Op>> Out
parallel_inclusive_scan(team& members, In first, Sentinel last, Out result, Op&& op, T init,
                        const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_inclusive_scan", first, last);
    if (n > 0) {
        detail::scan<true>(members, detail::plain_iterator(first), detail::plain_iterator(result), n,
                           std::move(init), op, options);
    }
    return detail::advanced(result, n);
}

// x0, x0 op x1, ...
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel,
          std::random_access_iterator Out, class Op = std::plus<>>
requires detail::scannable<std::iter_value_t<In>, In, std::remove_reference_t<Op>> Out
parallel_inclusive_scan(team& members, In first, Sentinel last, Out result, Op&& op = {},
                        const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_inclusive_scan", first, last);
    if (n == 0) return result;
    std::iter_value_t<In> init = *first;
    *result = init;
    return parallel_inclusive_scan(members, detail::advanced(first, 1), last, detail::advanced(result, 1), op,
                                   std::move(init), options);
}

// init, init op x0, init op x0 op x1, ..., without the last element; all else as parallel_inclusive_scan.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel,
          std::random_access_iterator Out, class T, class Op = std::plus<>>
requires detail::scannable<T, In, std::remove_reference_t<Op>> Out
parallel_exclusive_scan(team& members, In first, Sentinel last, Out result, T init, Op&& op = {},
                        const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_exclusive_scan", first, last);
    if (n > 0) {
        detail::scan<false>(members, detail::plain_iterator(first), detail::plain_iterator(result), n,
                            std::move(init), op, options);
    }
    return detail::advanced(result, n);
}

// The same for ranges with random access and a size.
template <std::ranges::random_access_range In, std::random_access_iterator Out, class Op, class T>
requires std::ranges::sized_range<In> &&
    detail::scannable<T, std::ranges::iterator_t<In>, std::remove_reference_t<Op>>
        Out parallel_inclusive_scan(team& members, In&& elements, Out result, Op&& op, T init,
                                    const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_inclusive_scan(members, all.first, all.last, result, op, std::move(init), options);
}
template <std::ranges::random_access_range In, std::random_access_iterator Out, class Op = std::plus<>>
requires std::ranges::sized_range<In> &&
    detail::scannable<std::ranges::range_value_t<In>, std::ranges::iterator_t<In>,
                      std::remove_reference_t<Op>>
        Out parallel_inclusive_scan(team& members, In&& elements, Out result, Op&& op = {},
                                    const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_inclusive_scan(members, all.first, all.last, result, op, options);
}
template <std::ranges::random_access_range In, std::random_access_iterator Out, class T,
          class Op = std::plus<>>
requires std::ranges::sized_range<In> &&
    detail::scannable<T, std::ranges::iterator_t<In>, std::remove_reference_t<Op>>
        Out parallel_exclusive_scan(team& members, In&& elements, Out result, T init, Op&& op = {},
                                    const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_exclusive_scan(members, all.first, all.last, result, std::move(init), op, options);
}

}  // namespace tauto
