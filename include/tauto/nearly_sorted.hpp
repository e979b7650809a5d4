#pragma once
// Sorting what is nearly sorted: what is out of place leaves, is sorted on its own, and is merged in again.
//
// An element that belongs before the last one that was kept leaves together with it (Cook and Kim, CACM
// 1980). One of the two is out of place, so at most twice as many leave as must. Blocks do this on their own,
// then the last of each block and the first of the next one leave until they are in order. Blocks depend on
// the length alone, and so does what leaves.

#include <algorithm>
#include <limits>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/block.hpp>
#include <tauto/raw_buffer.hpp>

namespace tauto::detail {

// Where so many elements are smaller than the one to their left, others sort faster.
[[nodiscard]] constexpr bool may_be_nearly_sorted(index descents, index n) noexcept {
    return descents <= n / 8;
}

// `Key`: a number without a sign for each element. Elements of one key must be alike, but for those that
// `Twofold` is true for: where there is one, nothing is done.
template <class T, class Key, class Twofold>
class nearly_sorted {
  public:
    nearly_sorted(T* data, index n, index block, T* buffer, Key key, Twofold twofold)
        : data_(data),
          buffer_(buffer),
          plan_{n, block},
          key_(key),
          twofold_(twofold),
          parts_(usize(plan_.blocks())) {}

    // Sorts the elements; sort_rest(members, T*, index) sorts those that leave. False where more than a
    // quarter would leave: then, and after an exception or a stop, they are as they were.
    template <class SortRest>
    [[nodiscard]] bool run(team& members, const algorithm_options& options, SortRest&& sort_rest) {
        const auto split = [this](index b) { split_block(b); };
        loop_to_end(members, plan_.blocks(), split, loop_options_of(options));
        if (std::ranges::any_of(parts_, &part::twofold) || !join_blocks()) return false;
        const index leaving = begin_rests();
        const raw_buffer<T> rest(leaving);
        const auto gather = [&](index b) { copy_rest(b, rest.data()); };
        loop_to_end(members, plan_.blocks(), gather, loop_options_of(options));
        sort_rest(members, rest.data(), leaving);
        begin_merges(rest.data(), leaving);
        const auto merge = [&](index b) { merge_block(b, rest.data()); };
        // Also after a stop: they are neither as they were nor sorted before its end.
        loop_to_end(members, plan_.blocks(), merge, loop_options_of(without_stop(options)));
        return true;
    }

  private:
    // A block in the buffer: [begin, end) is kept, in order; what leaves is before and behind it.
    struct part {
        index begin = 0;
        index end = 0;
        bool twofold = false;
        index rest = 0;      // where its part of those that leave begins; then where what it merges begins
        index rest_end = 0;  // of what it merges
        index to = 0;        // where its result begins
        [[nodiscard]] bool empty() const noexcept { return begin == end; }
    };

    void split_block(index b) {
        const range r = plan_.block(b);
        T* const bottom = buffer_ + r.begin;
        T* kept = bottom;
        T* leaving = buffer_ + r.end;
        using key_type = decltype(key_(*kept));
        key_type last = 0;
        bool twofold = false;
        for (index i = r.begin; i < r.end; ++i) {
            const T value = data_[i];
            const key_type key = key_(value);
            twofold |= twofold_(value);
            if (key >= last) {
                *kept++ = value;
                last = key;
            } else {
                *--leaving = *--kept;
                *--leaving = value;
                last = kept == bottom ? key_type{0} : key_(kept[-1]);
            }
        }
        at(parts_, b) = {.begin = r.begin, .end = kept - buffer_, .twofold = twofold};
    }

    [[nodiscard]] bool join_blocks() {
        index leaving = plan_.n;
        for (const part& one : parts_) leaving -= one.end - one.begin;
        std::vector<part*> before;  // those that keep something
        for (part& next : parts_) {
            while (!next.empty() && !before.empty()) {
                part& last = *before.back();
                if (key_(buffer_[last.end - 1]) <= key_(buffer_[next.begin])) break;
                --last.end;
                ++next.begin;
                leaving += 2;
                if (last.empty()) before.pop_back();
                if (leaving > plan_.n / 4) return false;
            }
            if (!next.empty()) before.push_back(&next);
        }
        return leaving <= plan_.n / 4;
    }

    // How many leave.
    index begin_rests() {
        index leaving = 0;
        for (index b = 0; b < plan_.blocks(); ++b) {
            part& one = at(parts_, b);
            one.rest = leaving;
            leaving += plan_.block(b).size() - (one.end - one.begin);
        }
        return leaving;
    }

    void copy_rest(index b, T* rest) const {
        const part& one = at(parts_, b);
        const range all = plan_.block(b);
        T* const middle = std::copy(buffer_ + all.begin, buffer_ + one.begin, rest + one.rest);
        std::copy(buffer_ + one.end, buffer_ + all.end, middle);
    }

    // Each block merges those that belong behind its first element and before the next block's.
    void begin_merges(const T* rest, index leaving) {
        index kept = 0;
        index begin = 0;
        part* last = nullptr;
        for (part& one : parts_) {
            if (last != nullptr && !one.empty()) {
                const auto first = key_(buffer_[one.begin]);
                begin = std::lower_bound(rest + begin, rest + leaving, first,
                                         [this](T value, auto key) { return key_(value) < key; }) -
                        rest;
                last->rest_end = begin;
            }
            one.rest = one.rest_end = begin;
            one.to = kept + begin;
            kept += one.end - one.begin;
            if (!one.empty()) last = &one;
        }
        if (last != nullptr) last->rest_end = leaving;
    }

    void merge_block(index b, const T* rest) const {
        const part& one = at(parts_, b);
        const T* kept = buffer_ + one.begin;
        const T* const kept_end = buffer_ + one.end;
        T* to = data_ + one.to;
        for (index i = one.rest; i < one.rest_end; ++i) {
            const T value = rest[i];
            const auto key = key_(value);
            for (; kept != kept_end && key_(*kept) <= key; ++kept) *to++ = *kept;
            *to++ = value;
        }
        std::copy(kept, kept_end, to);
    }

    T* data_;
    T* buffer_;
    block_plan plan_;
    Key key_;
    Twofold twofold_;
    std::vector<part> parts_;
};

}  // namespace tauto::detail
