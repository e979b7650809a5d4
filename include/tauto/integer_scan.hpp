#pragma once
// Sums and prefix sums of integers that lie in memory. They have the same bits in any order of additions. An
// x86 processor that has AVX2 takes 32 bytes at once, whatever the program was compiled for; others take two
// elements a step.
//
// Integers are added without their signs: a few may add up to more than the type holds where no sum of the
// scan does.

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <tauto/algorithm_options.hpp>
#include <tauto/always_inline.hpp>
#include <tauto/lanes.hpp>
#include <tauto/range.hpp>
#include <tauto/wide.hpp>

namespace tauto::detail {

template <class T>
[[nodiscard]] constexpr auto bits_of(T value) noexcept {
    return static_cast<std::make_unsigned_t<T>>(value);
}

// Hides how `sum` came about. GCC would join all additions into one chain, in which each waits for the last.
template <class Bits>
TAUTO_ALWAYS_INLINE inline void keep_apart(Bits& sum) noexcept {
    if constexpr (sizeof(Bits) <= sizeof(void*)) asm("" : "+r"(sum));
}

// The scan of n integers from `before` on; returns the sum of all, `before` included.
template <bool Inclusive, class T, class Out>
std::make_unsigned_t<T> scan_one_by_one(const T* in, Out out, index n, std::make_unsigned_t<T> before) {
    using bits = std::make_unsigned_t<T>;
    bits sum = before;
    // Both are read before anything is written: the result may take their place.
    const auto two = [&](index i) TAUTO_ALWAYS_INLINE {
        const bits first = bits_of(in[i]);
        auto both = static_cast<bits>(first + bits_of(in[i + 1]));
        keep_apart(both);
        const auto middle = static_cast<bits>(sum + first);
        const auto end = static_cast<bits>(sum + both);
        element(out, i) = static_cast<T>(Inclusive ? middle : sum);
        element(out, i + 1) = static_cast<T>(Inclusive ? end : middle);
        sum = end;
        keep_apart(sum);
    };
    index i = 0;
    for (; n - i >= 4; i += 4) {
        two(i);
        two(i + 2);
    }
    for (; i < n; ++i) {
        const auto next = static_cast<bits>(sum + bits_of(in[i]));
        element(out, i) = static_cast<T>(Inclusive ? next : sum);
        sum = next;
    }
    return sum;
}

template <class T>
std::make_unsigned_t<T> sum_one_by_one(const T* in, index n) {
    using bits = std::make_unsigned_t<T>;
    std::array<bits, 4> sums{};
    index i = 0;
    for (; n - i >= 4; i += 4) {
        each_part<4>([&](std::size_t k) TAUTO_ALWAYS_INLINE {
            sums[k] = static_cast<bits>(sums[k] + bits_of(in[i + static_cast<index>(k)]));
        });
    }
    for (; i < n; ++i) sums[0] = static_cast<bits>(sums[0] + bits_of(in[i]));
    return static_cast<bits>(sums[0] + sums[1] + sums[2] + sums[3]);
}

#if defined(__x86_64__)

// Integers of which four or eight are taken at once, where the processor can.
template <class T>
inline constexpr bool fits_wide = sizeof(T) == 8 || sizeof(T) == 4;

template <class T>
struct wide {
    static constexpr index width = static_cast<index>(wide_bytes / sizeof(T));
    using bits = std::make_unsigned_t<T>;
    using vector [[gnu::vector_size(wide_bytes)]] = bits;
};

// Each element and those before it: in the halves of the register, then in all of it.
template <class T>
[[gnu::target("avx2")]] TAUTO_ALWAYS_INLINE inline void add_those_before(typename wide<T>::vector& sum) {
    const typename wide<T>::vector none{};
    if constexpr (sizeof(T) == 8) {
        sum += __builtin_shufflevector(none, sum, 0, 4, 2, 6);
        sum += __builtin_shufflevector(none, sum, 0, 1, 5, 5);
    } else {
        sum += __builtin_shufflevector(none, sum, 0, 8, 9, 10, 4, 12, 13, 14);
        sum += __builtin_shufflevector(none, sum, 0, 1, 8, 9, 4, 5, 12, 13);
        sum += __builtin_shufflevector(none, sum, 0, 1, 2, 3, 11, 11, 11, 11);
    }
}
template <class T>
[[gnu::target("avx2")]] TAUTO_ALWAYS_INLINE inline void add_last(typename wide<T>::vector& all,
                                                                 const typename wide<T>::vector& sum) {
    if constexpr (sizeof(T) == 8) {
        all += __builtin_shufflevector(sum, sum, 3, 3, 3, 3);
    } else {
        all += __builtin_shufflevector(sum, sum, 7, 7, 7, 7, 7, 7, 7, 7);
    }
}

// As scan_one_by_one(), of a multiple of 2 * wide<T>::width elements.
template <bool Inclusive, class T>
[[gnu::target("avx2"), gnu::noinline]] auto scan_wide(const T* in, T* out, index n,
                                                      typename wide<T>::bits before) ->
    typename wide<T>::bits {
    using vector = typename wide<T>::vector;
    constexpr index width = wide<T>::width;
    const vector none{};
    vector all = none + before;
    for (index i = 0; i < n; i += 2 * width) {
        vector left;
        vector right;
        std::memcpy(&left, in + i, wide_bytes);
        std::memcpy(&right, in + i + width, wide_bytes);
        vector to_left = left;
        vector to_right = right;
        add_those_before<T>(to_left);
        add_those_before<T>(to_right);
        vector written = Inclusive ? all + to_left : all + to_left - left;
        std::memcpy(out + i, &written, wide_bytes);
        add_last<T>(all, to_left);
        written = Inclusive ? all + to_right : all + to_right - right;
        std::memcpy(out + i + width, &written, wide_bytes);
        add_last<T>(all, to_right);
    }
    return all[0];
}

// As sum_one_by_one(), likewise.
template <class T>
[[gnu::target("avx2"), gnu::noinline]] auto sum_wide(const T* in, index n) -> typename wide<T>::bits {
    using vector = typename wide<T>::vector;
    constexpr index width = wide<T>::width;
    vector sums{};
    vector others{};
    vector part;
    index i = 0;
    for (; i < n; i += 2 * width) {
        std::memcpy(&part, in + i, wide_bytes);
        sums += part;
        std::memcpy(&part, in + i + width, wide_bytes);
        others += part;
    }
    sums += others;
    typename wide<T>::bits sum = 0;
    for (index k = 0; k < width; ++k) sum += sums[k];
    return sum;
}

#endif

// As scan_one_by_one(), in the fastest way.
template <bool Inclusive, class T, class Out>
T scan_integers(const T* in, Out out, index n, T before) {
    auto sum = bits_of(before);
    index done = 0;
#if defined(__x86_64__)
    if constexpr (std::is_pointer_v<Out> && fits_wide<T>) {
        if constexpr (std::is_same_v<std::remove_pointer_t<Out>, T>) {
            if (has_wide()) {
                done = n - n % (2 * wide<T>::width);
                sum = scan_wide<Inclusive, T>(in, out, done, sum);
            }
        }
    }
#endif
    return static_cast<T>(scan_one_by_one<Inclusive>(in + done, advanced(out, done), n - done, sum));
}

template <class T>
[[nodiscard]] T sum_of_integers(const T* in, index n) {
    std::make_unsigned_t<T> sum = 0;
    index done = 0;
#if defined(__x86_64__)
    if constexpr (fits_wide<T>) {
        if (has_wide()) {
            done = n - n % (2 * wide<T>::width);
            sum = sum_wide(in, done);
        }
    }
#endif
    return static_cast<T>(sum + sum_one_by_one(in + done, n - done));
}

}  // namespace tauto::detail
