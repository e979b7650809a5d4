#pragma once
// Choosing elements by a predicate: parallel_copy_if, parallel_pack and parallel_partition.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/marks.hpp>
#include <tauto/raw_buffer.hpp>
#include <tauto/small_sort.hpp>
#include <tauto/wavefront.hpp>

namespace tauto {

namespace detail {

// Whether elements are copied where they are not chosen, too.
template <class In, class Out>
inline constexpr bool copies_freely = std::is_pointer_v<In>&& std::is_pointer_v<Out>&& std::is_same_v<
    std::iter_value_t<In>, std::iter_value_t<Out>>&& std::is_trivially_copyable_v<std::iter_value_t<In>>;

// Copies those of 64 elements that are chosen, and returns the end of the copies. Each element is written
// where the next chosen one belongs: a branch would often be guessed wrong. The last chosen one ends it, so
// that nothing is written behind.
template <class T>
T* copy_word(const T* from, T* to, std::uint64_t chosen) {
    if (~chosen == 0) return std::copy_n(from, marks::word_bits, to);
    for (; chosen != 0; ++from, chosen >>= 1) {
        *to = *from;
        to += chosen & 1;
    }
    return to;
}

// Copies a tile's chosen elements to `to`.
template <class In, class Out>
void copy_marked(const marks& chosen, index t, const In& in, Out to) {
    if constexpr (copies_freely<In, Out>) {
        const range r = chosen.elements_of(t);
        for (index begin = r.begin; begin < r.end; begin += marks::word_bits)
            to = copy_word(in + begin, to, chosen.word(begin));
    } else {
        chosen.each(t, [&](index i, index bit) {
            if (bit != 0) *to++ = element(in, i);
        });
    }
}

// By the calling thread; how many are copied.
template <class In, class Out, class Chosen>
index copy_here(In in, Out out, index n, Chosen& chosen) {
    if constexpr (copies_freely<In, Out>) {
        Out to = out;
        for (index begin = 0; begin < n; begin += marks::word_bits) {
            const range r{begin, std::min(begin + marks::word_bits, n)};
            to = copy_word(in + begin, to, marks::word_of(r, chosen));
        }
        return to - out;
    } else {
        index count = 0;
        for (index i = 0; i < n; ++i)
            if (chosen(i)) element(out, count++) = element(in, i);
        return count;
    }
}

// Of few elements each may take long, and a tile has 64. So each is chosen by an iteration of its own, and
// what follows is done by the calling thread.
class few_chosen {
  public:
    static constexpr index most = 256;
    template <class Chosen>
    struct call;  // names a site, whose iterations are elements and not tiles

    template <class Chosen>
    few_chosen(team& members, index n, Chosen& chosen, site& where, const algorithm_options& options) {
        const auto choose = [&](index i) { at(flags_, i) = chosen(i) ? 1 : 0; };
        loop_to_end(members, n, choose, loop_options_of(options, &where));
    }
    [[nodiscard]] bool operator()(index i) const noexcept { return at(flags_, i) != 0; }

  private:
    std::array<unsigned char, most> flags_;
};

// after(chosen) for those of few elements: with what was chosen, or, where it is best run at once, with what
// chooses.
template <class Chosen, class After>
index choose_few(team& members, index n, Chosen& chosen, const algorithm_options& options, After&& after) {
    site& where = site_of<few_chosen::call<std::remove_cvref_t<Chosen>>>;
    if (runs_inline(members, where, n, options)) {
        const inline_call here(members, where, n);
        return after(chosen);
    }
    const few_chosen found(members, n, chosen, where, options);
    return after(found);
}

template <class In, class Out, class Chosen>
index copy_chosen(team& members, In in, Out out, index n, Chosen&& chosen, const algorithm_options& options) {
    if (n <= few_chosen::most) {
        return choose_few(members, n, chosen, options,
                          [&](auto& those) { return copy_here(in, out, n, those); });
    }
    site& where = site_of<std::remove_cvref_t<Chosen>>;
    if (runs_inline(members, where, marks::tiles_of(n), options)) {
        const inline_call here(members, where, marks::tiles_of(n));
        return copy_here(in, out, n, chosen);
    }
    marks of(n);
    wavefront tiles(
        of.tiles(), index{0}, [&](index t) -> index { return of.set(t, chosen); },
        [](index before, index sum) { return before + sum; },
        [&](index t, index before, index) { copy_marked(of, t, in, advanced(out, before)); });
    return tiles.run(members, options, where, [&] { return copy_here(in, out, n, chosen); });
}

// Both ends of a buffer that is filled: the chosen elements go to its front, the others to its back,
// backwards. So nobody needs to know how many are chosen.
template <class T>
struct two_ends {
    T* front;
    T* back;  // behind the last place that is free

    // The place of the next element. No branch: it would often be guessed wrong.
    [[nodiscard, gnu::always_inline]] T* place(index chosen) noexcept {
        T* const to = front + ((back - front - 1) & (chosen - 1));
        front += chosen;
        back -= 1 - chosen;
        return to;
    }
};

template <class In, class T>
void split_tile(const marks& chosen, index t, const In& in, two_ends<T> to) {
    chosen.each(t, [&](index i, index bit) {
        std::construct_at(to.place(bit), std::ranges::iter_move(advanced(in, i)));
    });
}

template <class In, class T>
void take_back(team& members, const raw_buffer<T>& buffer, In in, index n, index chosen,
               const algorithm_options& options) {
    const auto take = [&](index to, T* from) {
        element(in, to) = std::move(*from);
        std::destroy_at(from);
    };
    const auto body = [&](range r) {
        T* const last = buffer.data() + n - 1;
        for (index i = r.begin; i < std::min(r.end, chosen); ++i) take(i, buffer.data() + i);
        for (index i = std::max(r.begin, chosen); i < r.end; ++i) take(i, last - (i - chosen));
    };
    loop_to_end(members, n, body, loop_options_of(without_stop(options)));
}

// By one member, for elements of which a move leaves a copy: they stay until the predicate has been called
// for all.
template <class In, class Chosen>
index copy_apart(In in, const raw_buffer<std::iter_value_t<In>>& buffer, index n, Chosen& chosen) {
    two_ends<std::iter_value_t<In>> to{buffer.data(), buffer.data() + n};
    for (index i = 0; i < n; ++i)
        std::construct_at(to.place(without_branch(chosen(i))), std::move(element(in, i)));
    const index all = to.front - buffer.data();
    for (index i = 0; i < all; ++i) element(in, i) = std::move(buffer.data()[i]);
    for (index i = all; i < n; ++i) element(in, i) = std::move(buffer.data()[n - 1 - (i - all)]);
    return all;
}

// By one member, for all others: the predicate has been called for all before the first one moves.
template <class In, class Chosen>
index move_apart(In in, const raw_buffer<std::iter_value_t<In>>& buffer, index n, Chosen& chosen) {
    marks of(n);
    for (index t = 0; t < of.tiles(); ++t) of.set(t, chosen);
    index all = 0;
    auto* end = buffer.data();  // of those that are not chosen
    for (index t = 0; t < of.tiles(); ++t) {
        of.each(t, [&](index i, index bit) {
            if (bit == 0)
                std::construct_at(end++, std::ranges::iter_move(advanced(in, i)));
            else if (const index to = all++; to < i)
                element(in, to) = std::ranges::iter_move(advanced(in, i));
        });
    }
    index to = all;
    for (auto* from = buffer.data(); from != end; ++from) {
        element(in, to++) = std::move(*from);
        std::destroy_at(from);
    }
    return all;
}

template <class In, class Chosen>
index partition_here(In in, const raw_buffer<std::iter_value_t<In>>& buffer, index n, Chosen& chosen) {
    if constexpr (std::is_trivially_copyable_v<std::iter_value_t<In>>) {
        return copy_apart(in, buffer, n, chosen);
    } else {
        return move_apart(in, buffer, n, chosen);
    }
}

template <class In, class Chosen>
index partition_together(team& members, In in, index n, Chosen& chosen, site& where,
                         const algorithm_options& options) {
    using T = std::iter_value_t<In>;
    marks of(n);
    const raw_buffer<T> buffer(n);
    touch_pages(members, buffer, options);
    std::optional<index> done;  // by one member that got all
    const auto alone = [&] { return *(done = partition_here(in, buffer, n, chosen)); };
    const auto add = [](index before, index sum) { return before + sum; };
    const auto split = [&](index t, index before, index) {
        T* const back = buffer.data() + n - (of.elements_of(t).begin - before);
        split_tile(of, t, in, two_ends<T>{buffer.data() + before, back});
    };
    const loop_options first = loop_options_of(options, &where);
    std::int64_t start = 0;
    index all = 0;
    if constexpr (std::is_trivially_copyable_v<T>) {
        wavefront tiles(
            of.tiles(), index{0}, [&](index t) -> index { return of.set(t, chosen); }, add, split);
        all = tiles.run(members, options, where, alone);
        start = ticks();
    } else {
        // All are chosen before the first one moves: the predicate may throw.
        std::vector<index> counts(usize(of.tiles()));
        const auto choose = [&](range some) {
            if (some.size() == of.tiles()) return static_cast<void>(alone());
            for (index t = some.begin; t < some.end; ++t) at(counts, t) = of.set(t, chosen);
        };
        loop_to_end(members, of.tiles(), choose, first);
        if (done) return *done;
        start = ticks();
        wavefront tiles(
            of.tiles(), index{0}, [&](index t) -> index { return at(counts, t); }, add, split);
        all = tiles.run(members, without_stop(options));
    }
    if (done) return *done;
    take_back(members, buffer, in, n, all, options);
    members.charge(first, of.tiles(), ticks() - start);
    return all;
}

template <class In, class Chosen>
index partition_by(team& members, In in, index n, Chosen&& chosen, const algorithm_options& options) {
    if (n <= few_chosen::most) {
        return choose_few(members, n, chosen, options, [&](auto& those) {
            return partition_here(in, raw_buffer<std::iter_value_t<In>>(n), n, those);
        });
    }
    site& where = site_of<std::remove_cvref_t<Chosen>>;
    if (!runs_inline(members, where, marks::tiles_of(n), options))
        return partition_together(members, in, n, chosen, where, options);
    const inline_call here(members, where, marks::tiles_of(n));
    return partition_here(in, raw_buffer<std::iter_value_t<In>>(n), n, chosen);
}

// A partition that moves only what stands on the wrong side: the k-th element that is not chosen and stands
// where the chosen ones belong changes places with the k-th chosen one behind. So the order depends on the
// elements alone.
template <class In>
class swapped_partition {
  public:
    swapped_partition(In in, index n) : in_(in), of_(n), before_(usize(of_.tiles()) + 1) {}

    [[nodiscard]] index tiles() const noexcept { return of_.tiles(); }

    // No two members have a tile at once.
    template <class Chosen>
    void choose(range some, Chosen& chosen) {
        for (index t = some.begin; t < some.end; ++t) at(before_, t + 1) = of_.set(t, chosen);
    }
    // Once all are chosen: how many pairs there are to swap.
    [[nodiscard]] index count_pairs() {
        for (index t = 0; t < tiles(); ++t) at(before_, t + 1) += at(before_, t);
        index t = 0;
        while (t + 1 < tiles() && of_.elements_of(t + 1).begin <= all()) ++t;
        index chosen_before = at(before_, t);
        for (index i = of_.elements_of(t).begin; i < all(); i += marks::word_bits) {
            const index bits = std::min(all() - i, marks::word_bits);
            chosen_before += std::popcount(of_.word(i) & ~std::uint64_t{0} >> (marks::word_bits - bits));
        }
        pairs_ = all() - chosen_before;
        return pairs_;
    }
    void swap_pairs(range some) const {
        if (some.empty()) return;
        marked_places front(of_, before_, false, some.begin);
        marked_places back(of_, before_, true, all() - pairs_ + some.begin);
        for (index k = some.begin; k < some.end; ++k) {
            const In one = advanced(in_, front.next());
            const In other = advanced(in_, back.next());
            std::iter_value_t<In> held = std::ranges::iter_move(one);
            *one = std::ranges::iter_move(other);
            *other = std::move(held);
        }
    }
    [[nodiscard]] index all() const noexcept { return before_.back(); }

  private:
    In in_;
    marks of_;
    std::vector<index> before_;  // how many are chosen before each tile, and in all
    index pairs_ = 0;
};

template <class In, class Chosen>
index partition_by_swaps(team& members, In in, index n, Chosen&& chosen, const algorithm_options& options) {
    if (n == 0) return 0;
    swapped_partition<In> work(in, n);
    if (n <= few_chosen::most) {
        return choose_few(members, n, chosen, options, [&](auto& those) {
            work.choose({0, work.tiles()}, those);
            work.swap_pairs({0, work.count_pairs()});
            return work.all();
        });
    }
    const auto choose = [&](range some) { work.choose(some, chosen); };
    site& where = site_of<decltype(choose)>;
    if (runs_inline(members, where, work.tiles(), options)) {
        const inline_call here(members, where, work.tiles());
        choose({0, work.tiles()});
        work.swap_pairs({0, work.count_pairs()});
        return work.all();
    }
    const loop_options first = loop_options_of(options, &where);
    loop_to_end(members, work.tiles(), choose, first);
    const std::int64_t start = ticks();
    const auto swap = [&](range some) { work.swap_pairs(some); };
    loop_to_end(members, work.count_pairs(), swap, loop_options_of(without_stop(options)));
    members.charge(first, work.tiles(), ticks() - start);
    return work.all();
}

}  // namespace detail

// Copies the elements for which `predicate` is true to `result`, in their order, and returns its end, as
// std::copy_if does. The predicate is called once an element. `result` must not overlap the elements and must
// have room for the chosen ones; nothing is written behind them. Two members write to neighbouring elements,
// so they must be objects of their own: no std::vector<bool>.
//
// The result is the same for every team, schedule and run. Exceptions, nesting and turns as parallel_for;
// after an exception or a requested stop, which throws tauto::stopped, some of the result is written. O(n); a
// bit of memory an element.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel,
          std::random_access_iterator Out, class Predicate>
requires std::predicate < std::remove_reference_t<Predicate>
&, std::iter_reference_t < In >> Out parallel_copy_if(team& members, In first, Sentinel last, Out result,
                                                      Predicate&& predicate,
                                                      const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_copy_if", first, last);
    const auto in = detail::plain_iterator(first);
    const auto chosen = [&](index i) -> bool { return std::invoke(predicate, detail::element(in, i)); };
    return detail::advanced(
        result, detail::copy_chosen(members, in, detail::plain_iterator(result), n, chosen, options));
}

template <std::ranges::random_access_range In, std::random_access_iterator Out, class Predicate>
requires std::ranges::sized_range<In> && std::predicate < std::remove_reference_t<Predicate>
&, std::ranges::range_reference_t < In >> Out parallel_copy_if(team& members, In&& elements, Out result,
                                                               Predicate&& predicate,
                                                               const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_copy_if(members, all.first, all.last, result, predicate, options);
}

// The same for the elements whose flag, at the same place of another sequence, is true.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel,
          std::random_access_iterator Flags, std::random_access_iterator Out>
requires std::convertible_to < std::iter_reference_t<Flags>,
bool > Out parallel_pack(team& members, In first, Sentinel last, Flags flags, Out result,
                         const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_pack", first, last);
    const auto plain_flags = detail::plain_iterator(flags);
    const auto chosen = [&](index i) -> bool { return static_cast<bool>(detail::element(plain_flags, i)); };
    return detail::advanced(result, detail::copy_chosen(members, detail::plain_iterator(first),
                                                        detail::plain_iterator(result), n, chosen, options));
}

// Puts the elements for which `predicate` is true before all others, both in their order, and returns where
// the others begin: std::stable_partition. The predicate is called once an element. If it throws, and after a
// requested stop, which throws tauto::stopped, the elements are as they were. Their moves must not throw.
// Memory for n elements. All else as parallel_copy_if.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, class Predicate>
requires std::predicate < std::remove_reference_t<Predicate>
&, std::iter_reference_t < In >> &&detail::movable_for_good<std::iter_value_t<In>> In
                                 parallel_stable_partition(team& members, In first, Sentinel last,
                                                           Predicate&& predicate,
                                                           const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_stable_partition", first, last);
    const auto in = detail::plain_iterator(first);
    const auto chosen = [&](index i) -> bool { return std::invoke(predicate, detail::element(in, i)); };
    return detail::advanced(first, detail::partition_by(members, in, n, chosen, options));
}

template <std::ranges::random_access_range Range, class Predicate>
requires std::ranges::sized_range<Range>
auto parallel_stable_partition(team& members, Range&& elements, Predicate&& predicate,
                               const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_stable_partition(members, all.first, all.last, predicate, options);
}

// The same, but the orders are not kept: the order depends on the elements alone. Only elements on the wrong
// side are moved, and the memory is a bit an element.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, class Predicate>
requires std::predicate < std::remove_reference_t<Predicate>
&, std::iter_reference_t < In >> &&detail::movable_for_good<std::iter_value_t<In>> In parallel_partition(
                                     team& members, In first, Sentinel last, Predicate&& predicate,
                                     const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_partition", first, last);
    const auto in = detail::plain_iterator(first);
    const auto chosen = [&](index i) -> bool { return std::invoke(predicate, detail::element(in, i)); };
    return detail::advanced(first, detail::partition_by_swaps(members, in, n, chosen, options));
}

template <std::ranges::random_access_range Range, class Predicate>
requires std::ranges::sized_range<Range>
auto parallel_partition(team& members, Range&& elements, Predicate&& predicate,
                        const algorithm_options& options = {}) {
    const auto all = detail::iterators_of(elements);
    return parallel_partition(members, all.first, all.last, predicate, options);
}

}  // namespace tauto
