#pragma once
// parallel_histogram: how many elements fall into each bin.

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/always_inline.hpp>
#include <tauto/clock.hpp>
#include <tauto/lanes.hpp>
#include <tauto/zeroed_table.hpp>

namespace tauto {

namespace detail {

[[noreturn, gnu::cold]] inline void refuse_bin(const std::string& bin, std::size_t bins) {
    throw error("parallel_histogram: an element has the bin " + bin + "; there are " + std::to_string(bins) +
                " bins, counted from 0");
}

// The bin of an element, which must be one of `bins`.
template <class Bin>
[[gnu::always_inline]] inline std::size_t checked_bin(Bin bin, std::size_t bins) {
    // A negative one is larger than all of them without its sign.
    const auto place = static_cast<std::size_t>(bin);
    if (place >= bins) refuse_bin(std::to_string(bin), bins);
    return place;
}

// Apart from where elements are counted, and with a copy of `bin`: their loop keeps all in registers.
template <class Bin>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_one_of(range r, Bin bin, std::size_t bins) {
    for (index i = r.begin; i < r.end; ++i) static_cast<void>(checked_bin(bin(i), bins));
    throw error(
        "parallel_histogram: an element had a bin that is not there, and has another one when asked "
        "again; there are " +
        std::to_string(bins) + " bins, counted from 0");
}

// Counts eight elements a step by add(k, place), k from 0 to 7. One comparison finds a place that is not
// below `room`, a power of two. Returns the first of the last elements, which are fewer than eight.
template <class Bin, class Add>
[[nodiscard]] TAUTO_ALWAYS_INLINE inline index count_by_eight(range r, Bin& bin, std::size_t bins,
                                                              std::size_t room, const Add& add) {
    constexpr std::size_t eight = 8;
    index i = r.begin;
    for (; r.end - i >= static_cast<index>(eight); i += eight) {
        std::size_t places[eight];
        std::size_t all = 0;
        each_part<eight>([&](std::size_t k) TAUTO_ALWAYS_INLINE {
            places[k] = static_cast<std::size_t>(bin(i + static_cast<index>(k)));
            all |= places[k];
        });
        if (all >= room) [[unlikely]]
            refuse_one_of({i, i + static_cast<index>(eight)}, bin, bins);
        each_part<eight>([&](std::size_t k) TAUTO_ALWAYS_INLINE { add(k, places[k]); });
    }
    return i;
}

// A member's own counts, of at most 2^32 - 1 elements. Where bins are few they are kept four times: an
// element in the bin of the one before would wait for its count. Where they are many, a byte is kept of each:
// what a member counts at random places had better be in its cache.
class own_counts {
  public:
    static constexpr std::size_t copies = 4;
    static constexpr std::size_t most_bins_copied = 2048;
    // From copy to copy. A line more than a power of two: so the copies of a bin are in different sets of the
    // cache.
    static constexpr std::size_t stride = most_bins_copied + 16;
    static constexpr std::size_t most_bins_wide = 32768;

    void begin(std::size_t bins, int rank) {
        bins_ = bins;
        room_ = std::bit_ceil(bins);
        if (!wide()) {
            counts_.emplace(bins, rank);
        } else {
            counts_.emplace((copied() ? copies * stride : room_) * sizeof(std::uint32_t), rank);
        }
    }
    [[nodiscard]] bool begun() const noexcept { return counts_.has_value(); }

    template <class Bin>
    void count(range r, Bin&& bin) {
        if (wide()) {
            std::uint32_t* const to = data<std::uint32_t>();
            if (copied()) {
                count_wide(r, bin, [to](std::size_t k, std::size_t b) TAUTO_ALWAYS_INLINE {
                    ++to[k % copies * stride + b];
                });
            } else {
                count_wide(r, bin, [to](std::size_t, std::size_t b) TAUTO_ALWAYS_INLINE { ++to[b]; });
            }
        } else {
            count_narrow(r, bin);
        }
    }

    // When all has been counted. Throws where an element was in a bin that is not there.
    void refuse_others() const {
        if (!wide()) return;
        for (std::size_t copy = 0; copy < (copied() ? copies : 1); ++copy) {
            for (std::size_t b = bins_; b < room_; ++b)
                if (data<std::uint32_t>()[copy * stride + b] != 0) refuse_bin(std::to_string(b), bins_);
        }
    }

    // Adds what it has counted in these bins, which is zero from then on.
    template <class Count>
    void move_to(std::span<Count> counts, range bins) noexcept {
        if (!wide()) {
            move<1>(data<std::uint8_t>(), counts, bins);
        } else if (copied()) {
            move<copies>(data<std::uint32_t>(), counts, bins);
        } else {
            move<1>(data<std::uint32_t>(), counts, bins);
        }
    }
    // All bins have been moved: adds what was too much for a byte.
    template <class Count>
    void end(std::span<Count> counts) noexcept {
        for (const std::size_t b : full_)
            counts[b] = static_cast<Count>(counts[b] + static_cast<Count>(256U));
        counts_->note_zeros();
    }

  private:
    template <class T>
    [[nodiscard]] T* data() const noexcept {
        return static_cast<T*>(counts_->data());
    }
    [[nodiscard]] bool wide() const noexcept { return bins_ <= most_bins_wide; }
    [[nodiscard]] bool copied() const noexcept { return bins_ <= most_bins_copied; }

    // `bin` by value: what it holds might else be read anew for each element.
    template <class Bin, class Add>
    void count_wide(range r, Bin bin, const Add& add) {
        index i = count_by_eight(r, bin, bins_, room_, add);
        for (; i < r.end; ++i) add(0, checked_bin(bin(i), bins_));
    }
    template <class Bin>
    void count_narrow(range r, Bin bin) {
        std::uint8_t* const to = data<std::uint8_t>();
        const auto add = [to, this](std::size_t b) TAUTO_ALWAYS_INLINE {
            if (++to[b] == 0) [[unlikely]]
                full_.push_back(b);
        };
        const std::size_t bins = bins_;
        index i = r.begin;
        for (; r.end - i >= 4; i += 4) {
            const std::size_t a = checked_bin(bin(i), bins);
            const std::size_t b = checked_bin(bin(i + 1), bins);
            const std::size_t c = checked_bin(bin(i + 2), bins);
            const std::size_t d = checked_bin(bin(i + 3), bins);
            add(a);
            add(b);
            add(c);
            add(d);
        }
        for (; i < r.end; ++i) add(checked_bin(bin(i), bins));
    }
    template <std::size_t Copies, class T, class Count>
    void move(T* from, std::span<Count> counts, range bins) const noexcept {
        for (auto b = usize(bins.begin); b < usize(bins.end); ++b) {
            Count sum = counts[b];
            each_part<Copies>([&](std::size_t copy) TAUTO_ALWAYS_INLINE {
                T& part = from[copy * stride + b];
                sum = static_cast<Count>(sum + static_cast<Count>(part));
                part = 0;
            });
            counts[b] = sum;
        }
    }

    std::size_t bins_ = 0;
    std::size_t room_ = 0;  // the next power of two
    std::optional<zeroed_table> counts_;
    std::vector<std::size_t> full_;  // a bin for each 256 elements that its byte has counted
};

// So many elements are counted at once, at most: no count of 32 bits overflows.
inline constexpr index most_counted = index{1} << 31;

// `bin` by value: what it holds might else be what a count is written to, and be read anew for each element.
template <class Count, class Bin>
void count_alone(index n, std::span<Count> counts, Bin bin) {
    const std::size_t bins = counts.size();
    index i = 0;
    if (std::has_single_bit(bins)) {
        Count* const to = counts.data();
        i = count_by_eight({0, n}, bin, bins, bins,
                           [to](std::size_t, std::size_t b) TAUTO_ALWAYS_INLINE { ++to[b]; });
    }
    for (; i < n; ++i) ++counts[checked_bin(bin(i), bins)];
}

// Each member counts for itself; then the counts are added up. `first`: nothing is in `counts` yet.
template <class Count, class Bin>
void count_apart(team& members, index n, std::span<Count> counts, bool first, Bin& bin,
                 const algorithm_options& options) {
    site& where = site_of<Bin>;
    if (runs_inline(members, where, n, options)) {
        if (first) std::ranges::fill(counts, Count{0});
        const inline_call here(members, where, n);
        return count_alone(n, counts, bin);
    }
    struct alignas(128) line {
        own_counts own;
    };
    std::vector<line> lines(usize(members.size()));
    bool alone = false;  // one member has counted all
    const auto body = [&](range r, int rank) {
        // Where bins are few, four copies of them are quicker.
        if (r.size() == n && counts.size() > own_counts::most_bins_copied) {
            alone = true;
            if (first) std::ranges::fill(counts, Count{0});
            return count_alone(n, counts, bin);
        }
        own_counts& own = at(lines, rank).own;
        if (!own.begun()) own.begin(counts.size(), rank);
        own.count(r, bin);
    };
    const loop_options counting = loop_options_of(options, &where);
    loop_to_end(members, n, body, counting);
    if (alone) return;
    const std::int64_t start = ticks();
    for (const line& one : lines)
        if (one.own.begun()) one.own.refuse_others();
    const auto add = [&](range r) {
        constexpr index some = 1024;  // which stay in the fastest cache
        for (range part{r.begin, r.begin}; part.end < r.end; part.begin = part.end) {
            part.end = std::min(r.end, part.begin + some);
            if (first) std::ranges::fill(counts.subspan(usize(part.begin), usize(part.size())), Count{0});
            for (line& one : lines)
                if (one.own.begun()) one.own.move_to(counts, part);
        }
    };
    loop_to_end(members, std::ssize(counts), add, loop_options_of(options));
    for (line& one : lines)
        if (one.own.begun()) one.own.end(counts);
    members.charge(counting, n, ticks() - start);
}

// All members count in one place. Relaxed: counts are read when the loop has ended. (LLVM's library has no
// std::atomic_ref before version 19.)
template <class Count, class Bin>
void count_together(team& members, index n, std::span<Count> counts, Bin& bin,
                    const algorithm_options& options) {
    const auto body = [&](range r) {
        if (r.size() == n) return count_alone(n, counts, bin);
        for (index i = r.begin; i < r.end; ++i)
            __atomic_fetch_add(&counts[checked_bin(bin(i), counts.size())], Count{1}, __ATOMIC_RELAXED);
    };
    site& where = site_of<decltype(body)>;
    if (runs_inline(members, where, n, options)) {
        const inline_call here(members, where, n);
        return count_alone(n, counts, bin);
    }
    loop_to_end(members, n, body, loop_options_of(options, &where));
}

}  // namespace detail

// Sets counts[b] to the number of elements with bin_of(element) == b, an integer from 0 to counts.size() - 1;
// another one is a tauto::error. The counts are the same for every team, schedule and run. Exceptions,
// nesting and turns as parallel_for; after an exception or a requested stop, which throws tauto::stopped, the
// counts are worth nothing. O(n + members * bins): each member counts for itself (4 bytes a bin; 33 KB
// where they are at most 2048, 1 byte a bin where they are more than 32,768), unless that would take longer
// than the counting. Then members count in one place. The tables stay for the next call.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, std::integral Count,
          class Bin = std::identity>
requires std::integral < std::remove_cvref_t < std::invoke_result_t < std::remove_reference_t<Bin>
&, std::iter_reference_t < In >>>> void parallel_histogram(team& members, In first, Sentinel last,
                                                           std::span<Count> counts, Bin&& bin_of = {},
                                                           const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_histogram", first, last);
    const auto in = detail::plain_iterator(first);
    const bool apart = detail::as_double(n) >= 0.5 * members.size() * static_cast<double>(counts.size());
    if (!apart || n == 0) std::ranges::fill(counts, Count{0});
    for (index begin = 0; begin < n; begin += detail::most_counted) {
        const auto bin = [&bin_of, in, begin](index i) {
            return std::invoke(bin_of, detail::element(in, begin + i));
        };
        const index some = std::min(n - begin, detail::most_counted);
        if (apart) {
            detail::count_apart(members, some, counts, begin == 0, bin, options);
        } else {
            detail::count_together(members, some, counts, bin, options);
        }
    }
}

// The counts of `bins` bins.
template <std::ranges::random_access_range Range, class Bin = std::identity>
requires std::ranges::sized_range<Range>
[[nodiscard]] std::vector<std::uint64_t> parallel_histogram(team& members, Range&& elements, std::size_t bins,
                                                            Bin&& bin_of = {},
                                                            const algorithm_options& options = {}) {
    std::vector<std::uint64_t> counts(bins);
    const auto all = detail::iterators_of(elements);
    parallel_histogram(members, all.first, all.last, std::span(counts), bin_of, options);
    return counts;
}

}  // namespace tauto
