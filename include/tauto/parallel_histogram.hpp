#pragma once
// parallel_histogram: how many elements fall into each bin.

#include <algorithm>
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
#include <tauto/raw_buffer.hpp>

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

// A member's own counts, of at most 2^32 - 1 elements. Where bins are few they are kept four times: an
// element in the bin of the one before would wait for its count.
class own_counts {
  public:
    static constexpr std::size_t copies = 4;
    static constexpr std::size_t most_bins_copied = 2048;

    void begin(std::size_t bins) {
        bins_ = bins;
        stride_ = bins <= most_bins_copied ? bins : 0;
        const std::size_t size = stride_ != 0 ? copies * bins : bins;
        counts_.emplace(static_cast<index>(size), false);
        std::fill_n(counts_->data(), size, 0U);
    }
    [[nodiscard]] bool begun() const noexcept { return counts_.has_value(); }

    template <class Bin>
    void count(range r, Bin&& bin) {
        std::uint32_t* const to = counts_->data();
        const std::size_t bins = bins_;
        const std::size_t stride = stride_;
        index i = r.begin;
        for (; r.end - i >= 4; i += 4) {
            const std::size_t a = checked_bin(bin(i), bins);
            const std::size_t b = checked_bin(bin(i + 1), bins);
            const std::size_t c = checked_bin(bin(i + 2), bins);
            const std::size_t d = checked_bin(bin(i + 3), bins);
            ++to[a];
            ++to[stride + b];
            ++to[2 * stride + c];
            ++to[3 * stride + d];
        }
        for (; i < r.end; ++i) ++to[checked_bin(bin(i), bins)];
    }

    [[nodiscard]] std::uint64_t of(std::size_t bin) const noexcept {
        const std::uint32_t* const counts = counts_->data();
        if (stride_ == 0) return counts[bin];
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < copies; ++k) sum += counts[k * stride_ + bin];
        return sum;
    }

  private:
    std::size_t bins_ = 0;
    std::size_t stride_ = 0;  // from copy to copy; 0: there is one
    std::optional<raw_buffer<std::uint32_t>> counts_;
};

// So many elements are counted at once, at most: no count of 32 bits overflows.
inline constexpr index most_counted = index{1} << 31;

// Each member counts for itself; then the counts are added up.
template <class Count, class Bin>
void count_apart(team& members, index n, std::span<Count> counts, Bin& bin,
                 const algorithm_options& options) {
    site& where = site_of<Bin>;
    if (runs_inline(members, where, n, options)) {
        const as_member inside(members);
        for (index i = 0; i < n; ++i) ++counts[checked_bin(bin(i), counts.size())];
        return;
    }
    struct alignas(128) line {
        own_counts own;
    };
    std::vector<line> lines(usize(members.size()));
    const auto body = [&](range r, int rank) {
        own_counts& own = at(lines, rank).own;
        if (!own.begun()) own.begin(counts.size());
        own.count(r, bin);
    };
    loop_to_end(members, n, body, loop_options_of(options, &where));
    const auto add = [&](range r) {
        for (const line& one : lines) {
            if (!one.own.begun()) continue;
            for (index b = r.begin; b < r.end; ++b)
                at(counts, b) = static_cast<Count>(at(counts, b) + static_cast<Count>(one.own.of(usize(b))));
        }
    };
    loop_to_end(members, std::ssize(counts), add, loop_options_of(options));
}

// All members count in one place. Relaxed: counts are read when the loop has ended. (LLVM's library has no
// std::atomic_ref before version 19.)
template <class Count, class Bin>
void count_together(team& members, index n, std::span<Count> counts, Bin& bin,
                    const algorithm_options& options) {
    const auto body = [&](range r) {
        for (index i = r.begin; i < r.end; ++i)
            __atomic_fetch_add(&counts[checked_bin(bin(i), counts.size())], Count{1}, __ATOMIC_RELAXED);
    };
    loop_to_end(members, n, body, loop_options_of(options));
}

}  // namespace detail

// Sets counts[b] to the number of elements with bin_of(element) == b, an integer from 0 to counts.size() - 1;
// another one is a tauto::error. The counts are the same for every team, schedule and run. Exceptions,
// nesting and turns as parallel_for; after an exception or a requested stop, which throws tauto::stopped, the
// counts are worth nothing. O(n + members * bins): each member counts for itself (4 bytes a bin, 16 where
// they are at most 2048), unless that would take longer than the counting. Then members count in one place.
template <std::random_access_iterator In, std::sized_sentinel_for<In> Sentinel, std::integral Count,
          class Bin = std::identity>
requires std::integral < std::remove_cvref_t < std::invoke_result_t < std::remove_reference_t<Bin>
&, std::iter_reference_t < In >>>> void parallel_histogram(team& members, In first, Sentinel last,
                                                           std::span<Count> counts, Bin&& bin_of = {},
                                                           const algorithm_options& options = {}) {
    const index n = detail::checked_length("parallel_histogram", first, last);
    std::ranges::fill(counts, Count{0});
    const auto in = detail::plain_iterator(first);
    const bool apart = detail::as_double(n) >= 0.5 * members.size() * static_cast<double>(counts.size());
    for (index begin = 0; begin < n; begin += detail::most_counted) {
        const auto bin = [&](index i) { return std::invoke(bin_of, detail::element(in, begin + i)); };
        const index some = std::min(n - begin, detail::most_counted);
        if (apart) {
            detail::count_apart(members, some, counts, bin, options);
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
