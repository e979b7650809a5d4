#pragma once
// Sorting what fits a cache, of elements that are cheap to copy: merges without branches.
//
// A merge that guesses which run comes next is wrong every second time, and then loses more than it does.
// Here each step computes it; and two runs of one length are merged from both ends at once, which needs no
// look at where they end.

#include <algorithm>
#include <cstdint>
#include <utility>

#include <tauto/always_inline.hpp>
#include <tauto/range.hpp>
#include <tauto/raw_buffer.hpp>

namespace tauto::detail {

template <class T>
inline constexpr bool cheap_to_copy = copied_as_bytes<T> && sizeof(T) <= 32;

// 1 where true. The compiler knows nothing of it, and so makes no branch of what depends on it.
TAUTO_ALWAYS_INLINE inline index without_branch(bool condition) noexcept {
    index value = condition ? 1 : 0;
    asm("" : "+r"(value));
    return value;
}

// `second` where `which` is 1, else `first`.
template <class T>
TAUTO_ALWAYS_INLINE inline const T* chosen_of(const T* first, const T* second, index which) noexcept {
    const auto mask = static_cast<std::uintptr_t>(-which);
    return reinterpret_cast<const T*>((reinterpret_cast<std::uintptr_t>(first) & ~mask) |
                                      (reinterpret_cast<std::uintptr_t>(second) & mask));
}

// One merge that is going on.
template <class T>
struct merging {
    const T* left;
    const T* left_end;
    const T* right;
    const T* right_end;
    T* to;

    [[nodiscard]] bool both() const noexcept { return left != left_end && right != right_end; }
    template <class Compare>
    TAUTO_ALWAYS_INLINE void step(Compare& before) {
        const index from_right = without_branch(before(*right, *left));
        *to++ = *chosen_of(left, right, from_right);
        right += from_right;
        left += 1 - from_right;
    }
    void copy_rest() noexcept {
        to = std::copy(left, left_end, to);
        to = std::copy(right, right_end, to);
    }
};

// Two runs of `length` each, one behind the other: the smaller half from the front, the larger from the back.
// Each half takes `length` steps, so neither can leave its run.
template <class T, class Compare>
void merge_equal_runs(const T* in, index length, T* to, Compare& before) {
    const T* left = in;
    const T* right = in + length;
    const T* left_end = right;
    const T* right_end = right + length;
    T* to_end = to + 2 * length;
    for (index i = 0; i < length; ++i) {
        const index from_right = without_branch(before(*right, *left));
        const index from_left = without_branch(before(right_end[-1], left_end[-1]));
        *to++ = *chosen_of(left, right, from_right);
        *--to_end = chosen_of(right_end, left_end, from_left)[-1];
        right += from_right;
        left += 1 - from_right;
        left_end -= from_left;
        right_end -= 1 - from_left;
    }
}

// [begin, middle) and [middle, end) of `in`, to the same places of `out`.
template <class T, class Compare>
void merge_runs(const T* in, T* out, index begin, index middle, index end, Compare& before) {
    if (middle >= end || !before(in[middle], in[middle - 1])) {
        std::copy(in + begin, in + end, out + begin);
    } else if (middle - begin == end - middle) {
        merge_equal_runs(in + begin, middle - begin, out + begin, before);
    } else {
        merging<T> one{in + begin, in + middle, in + middle, in + end, out + begin};
        while (one.both()) one.step(before);
        one.copy_rest();
    }
}

// The place of the element that an insertion holds; it is put there however the insertion ends.
template <class T>
struct hole {
    T value;
    T* at;
    ~hole() { *at = value; }
};

template <class T, class Compare>
void insertion_sort(T* first, T* last, Compare& before) {
    if (last - first < 2) return;
    for (T* next = first + 1; next != last; ++next) {
        hole<T> moving{*next, next};
        while (moving.at != first && before(moving.value, *(moving.at - 1))) {
            *moving.at = *(moving.at - 1);
            --moving.at;
        }
    }
}

// Sorts elements of which so few belong before the one to their left that it pays to move each by itself,
// past all others if need be. True where they are sorted now.
template <class T, class Compare>
[[nodiscard]] bool sort_by_few_moves(T* data, index n, Compare& before) {
    index descents = 0;
    for (index i = 1; i < n; ++i) descents += without_branch(before(data[i], data[i - 1]));
    if (descents > std::max<index>(4, n / 32)) return false;
    if (descents > 0) insertion_sort(data, data + n, before);
    return true;
}

// Sorts n elements, with room for as many at `spare`. Stable. If the comparison throws, all elements are in
// `data`, in some order.
template <class T, class Compare>
void sort_copies(T* data, index n, T* spare, Compare& before) {
    static_assert(cheap_to_copy<T>);
    constexpr index chunk = 8;
    for (index begin = 0; begin < n; begin += chunk)
        insertion_sort(data + begin, data + std::min(n, begin + chunk), before);
    T* from = data;
    T* to = spare;
    try {
        for (index width = chunk; width < n; width *= 2) {
            for (index begin = 0; begin < n; begin += 2 * width) {
                const index middle = std::min(n, begin + width);
                merge_runs(from, to, begin, middle, std::min(n, middle + width), before);
            }
            std::swap(from, to);
        }
    } catch (...) {
        if (from != data) std::copy_n(from, n, data);
        throw;
    }
    if (from != data) std::copy_n(from, n, data);
}

}  // namespace tauto::detail
