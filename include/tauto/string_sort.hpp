#pragma once
// Sorting strings: a few bytes of each stand beside its place as one number, and these are sorted.
//
// Where numbers are equal, their strings' next bytes are sorted in the same way. Bytes that all strings of
// such a run share are left out. When the order is known each string is moved once, to where it belongs, and
// back. Equal strings keep their order.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/merge_sort.hpp>
#include <tauto/parallel_reduce.hpp>
#include <tauto/raw_buffer.hpp>

namespace tauto::detail {

// Whose order compares bytes without a sign, the shorter string first.
template <class T>
inline constexpr bool is_string = false;
template <class Allocator>
inline constexpr bool is_string<std::basic_string<char, std::char_traits<char>, Allocator>> = true;
template <>
inline constexpr bool is_string<std::string_view> = true;

[[nodiscard]] inline index common_prefix(std::string_view left, std::string_view right) noexcept {
    const auto both = std::min(left.size(), right.size());
    return std::mismatch(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(both), right.begin())
               .first -
           left.begin();
}

// The first seven bytes and how many there are (8: more) as a number whose order is theirs. Strings with
// equal numbers are equal, or all go on.
inline constexpr index string_key_bytes = 7;
[[nodiscard]] inline std::uint64_t string_key(std::string_view text) noexcept {
    constexpr std::size_t most = 8;
    std::uint64_t bytes = 0;
    if (text.size() >= most) {
        std::memcpy(&bytes, text.data(), most);
    } else if (!text.empty()) {
        std::memcpy(&bytes, text.data(), text.size());
    }
    if constexpr (std::endian::native == std::endian::little) bytes = __builtin_bswap64(bytes);
    return (bytes & ~std::uint64_t{0xff}) | std::min(text.size(), most);
}
[[nodiscard]] inline bool goes_on(std::uint64_t key) noexcept {
    return (key & 0xff) == 8;
}

template <class In>
class string_sorter {
  public:
    using T = std::iter_value_t<In>;

    string_sorter(In in, index n, bool down) : in_(in), n_(n), down_(down), table_(n) {}

    // So few are compared with each other.
    static constexpr index few = 16;

    void run(team& members, const algorithm_options& options) {
        if (options.stop.stop_requested()) throw stopped{};
        touch_pages(members, table_, options);
        const auto number = [this](range r) {
            for (index i = r.begin; i < r.end; ++i) std::construct_at(table_.data() + i, entry{0, i});
        };
        loop_to_end(members, n_, number, loop_options_of(options));
        sort_table(members, options);
        move_all(members, options);
    }

  private:
    struct entry {
        std::uint64_t key;
        index place;
    };
    // Strings that have `depth` bytes in common, in a part of the table.
    struct run_of_equals {
        range part;
        index depth = 0;
    };
    using runs = std::vector<run_of_equals>;

    [[nodiscard]] std::string_view text(const entry& one, index depth) const noexcept {
        return std::string_view(element(in_, one.place)).substr(usize(depth));
    }
    [[nodiscard]] std::uint64_t key_of(const entry& one, index depth) const noexcept {
        const std::uint64_t key = string_key(text(one, depth));
        return down_ ? ~key : key;
    }
    [[nodiscard]] bool may_differ(std::uint64_t key) const noexcept { return goes_on(down_ ? ~key : key); }

    // Long runs by the whole team, each of the others by one member.
    void sort_table(team& members, const algorithm_options& options) {
        const index alone = std::max<index>(4096, n_ / 64);
        runs open{{{0, n_}, 0}};
        while (!open.empty()) {
            const run_of_equals next = open.back();
            open.pop_back();
            const index depth = sort_by_key(members, next, options);
            runs found = equals_in(members, next.part, depth, options);
            const auto rest = std::partition(found.begin(), found.end(), [&](const run_of_equals& one) {
                return one.part.size() <= alone;
            });
            open.insert(open.end(), rest, found.end());
            found.erase(rest, found.end());
            const auto body = [&](index k) { sort_alone(members, at(found, k), options); };
            loop_to_end(members, std::ssize(found), body, loop_options_of(options));
        }
    }

    // Inside the body of a loop.
    void sort_alone(team& members, const run_of_equals& one, const algorithm_options& options) {
        if (one.part.size() <= few) return sort_few(one);
        runs open{one};
        while (!open.empty()) {
            const run_of_equals next = open.back();
            open.pop_back();
            const index depth = sort_by_key(members, next, options);
            add_equals(next.part, next.part, depth, [&](const run_of_equals& found) {
                if (found.part.size() <= few) {
                    sort_few(found);
                } else {
                    open.push_back(found);
                }
            });
        }
    }

    void sort_few(const run_of_equals& one) noexcept {
        entry* const first = table_.data() + one.part.begin;
        for (index i = 1; i < one.part.size(); ++i) {
            const entry moved = first[i];
            const std::string_view own = text(moved, one.depth);
            index to = i;
            for (; to > 0; --to) {
                const int order = text(first[to - 1], one.depth).compare(own);
                if (down_ ? order >= 0 : order <= 0) break;
                first[to] = first[to - 1];
            }
            first[to] = moved;
        }
    }

    // Sorts a run by the first bytes in which some of its strings differ; returns what all have in common.
    index sort_by_key(team& members, const run_of_equals& one, const algorithm_options& options) {
        entry* const first = table_.data() + one.part.begin;
        const index n = one.part.size();
        // A guess, which is looked at for each string.
        const std::string_view begin = text(first[0], one.depth);
        auto common = static_cast<index>(begin.size());
        const index step = std::max<index>(1, n / 32);
        for (index i = 0; i < n; i += step)
            common = std::min(common, common_prefix(begin, text(first[i], one.depth)));
        for (;;) {
            const index found = make_keys(members, one, common, options);
            if (found == common) break;
            common = found;
        }
        const auto before = [](const entry& left, const entry& right) { return left.key < right.key; };
        merge_sorter<entry*, decltype(before)>(first, n, before, true).run(members, options);
        return one.depth + common;
    }

    // How much all have in common; if less than was guessed, the keys are not those that they should be.
    [[nodiscard]] index make_keys(team& members, const run_of_equals& one, index guess,
                                  const algorithm_options& options) {
        entry* const first = table_.data() + one.part.begin;
        const std::string_view expected = text(first[0], one.depth).substr(0, usize(guess));
        std::atomic<index> common{guess};
        const auto fill = [&](range r) {
            index least = guess;
            for (index i = r.begin; i < r.end; ++i) {
                const std::string_view own = text(first[i], one.depth);
                if (own.starts_with(expected)) {
                    first[i].key = key_of(first[i], one.depth + guess);
                } else {
                    least = std::min(least, common_prefix(expected, own));
                }
            }
            // Relaxed: read when the loop has ended.
            index known = common.load(std::memory_order_relaxed);
            while (least < known && !common.compare_exchange_weak(known, least, std::memory_order_relaxed)) {
            }
        };
        loop_to_end(members, one.part.size(), fill, loop_options_of(options));
        return common.load(std::memory_order_relaxed);
    }

    // Adds the runs of strings that may differ yet and begin in `part`, of a sorted part of the table.
    template <class Add>
    void add_equals(range part, range sorted, index depth, const Add& add) const {
        const entry* const all = table_.data();
        index begin = part.begin;
        while (begin > sorted.begin && begin < part.end && all[begin].key == all[begin - 1].key) ++begin;
        while (begin < part.end) {
            const std::uint64_t key = all[begin].key;
            index end = begin + 1;
            while (end < sorted.end && all[end].key == key) ++end;
            if (end - begin > 1 && may_differ(key)) add({{begin, end}, depth + string_key_bytes});
            begin = end;
        }
    }

    // The same of all of it.
    [[nodiscard]] runs equals_in(team& members, range sorted, index depth, const algorithm_options& options) {
        const block_plan plan{sorted.size(), std::max<index>(1024, sorted.size() / 64 + 1)};
        std::vector<runs> found(usize(plan.blocks()));
        const auto look = [&](index b) {
            const range block = plan.block(b);
            add_equals({sorted.begin + block.begin, sorted.begin + block.end}, sorted, depth,
                       [&](const run_of_equals& one) { at(found, b).push_back(one); });
        };
        loop_to_end(members, plan.blocks(), look, loop_options_of(options));
        runs all;
        for (const runs& some : found) all.insert(all.end(), some.begin(), some.end());
        return all;
    }

    // Each string to where the table has it, by way of a buffer: without a stop, which would leave some in
    // it.
    void move_all(team& members, const algorithm_options& options) {
        const raw_buffer<T> buffer(n_);
        touch_pages(members, buffer, options);
        const auto leave = [&](range r) {
            constexpr index ahead = 8;
            for (index i = r.begin; i < r.end; ++i) {
                if (i + ahead < n_)
                    __builtin_prefetch(std::addressof(element(in_, table_.data()[i + ahead].place)), 1);
                relocate(element(in_, table_.data()[i].place), buffer.data() + i);
            }
        };
        loop_to_end(members, n_, leave, loop_options_of(without_stop(options)));
        move_back(members, buffer, in_, n_, options);
    }

    In in_;
    index n_;
    bool down_;
    raw_buffer<entry> table_;
};

}  // namespace tauto::detail
