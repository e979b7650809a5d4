#pragma once
// Sixteen running values side by side, which a compiler keeps in vector registers; and the way to make a
// value that has the same bits wherever the code that made it was put.

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include <tauto/always_inline.hpp>
#include <tauto/range.hpp>

namespace tauto {

namespace detail {

// Numbers that vectors may have as elements.
template <class T>
concept lane_number = std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
     !std::same_as<T, char16_t> && !std::same_as<T, char32_t>);

// The operations that run in lanes, for numbers and for vectors of them: `neutral` changes no number that it
// is combined with, negative zero and NaN included.
template <class Combine, class T>
struct lane_operation {
    static constexpr bool known = false;
};
template <class Operation>
struct vector_operation {
    static constexpr bool known = true;
    template <class Value>
    static void into(Value& left, const Value& right) noexcept {
        left = static_cast<Value>(Operation{}(left, right));
    }
};
template <class U, lane_number T>
requires std::is_void_v<U> || std::same_as<U, T>
struct lane_operation<std::plus<U>, T> : vector_operation<std::plus<>> {
    static constexpr T neutral = static_cast<T>(-0.0);
};
template <class U, lane_number T>
requires std::is_void_v<U> || std::same_as<U, T>
struct lane_operation<std::multiplies<U>, T> : vector_operation<std::multiplies<>> {
    static constexpr T neutral = 1;
};
template <class U, std::integral T>
requires lane_number<T> &&(std::is_void_v<U> || std::same_as<U, T>)struct lane_operation<std::bit_and<U>, T>
    : vector_operation<std::bit_and<>> {
    static constexpr T neutral = static_cast<T>(~T{0});
};
template <class U, std::integral T>
requires lane_number<T> &&(std::is_void_v<U> || std::same_as<U, T>)struct lane_operation<std::bit_or<U>, T>
    : vector_operation<std::bit_or<>> {
    static constexpr T neutral = 0;
};
template <class U, std::integral T>
requires lane_number<T> &&(std::is_void_v<U> || std::same_as<U, T>)struct lane_operation<std::bit_xor<U>, T>
    : vector_operation<std::bit_xor<>> {
    static constexpr T neutral = 0;
};

}  // namespace detail

// Operations on numbers whose order does not matter, as far as this library cares: they run in lanes.
template <class Combine, class T>
inline constexpr bool is_commutative = detail::lane_operation<Combine, T>::known;

namespace detail {

inline constexpr index lanes = 16;

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

// The compiler sees a value of which it knows nothing. A product that is an operand of a sum right away would
// become one fused operation here and stay two there, with other bits, depending on what is inlined where.
template <class T>
TAUTO_ALWAYS_INLINE inline void hide_origin(T& value) noexcept {
    constexpr bool in_register = std::same_as<T, float> || std::same_as<T, double> || !std::is_class_v<T>;
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>) {
        static_cast<void>(value);  // nothing is fused
    } else if constexpr (in_register && !std::same_as<T, long double>) {
#if defined(__AVX512F__)
        asm("" : "+v"(value));
#elif defined(__SSE2__)
        asm("" : "+x"(value));
#elif defined(__aarch64__)
        asm("" : "+w"(value));
#else
        asm("" : "+m"(value));
#endif
    } else if constexpr (std::is_trivially_copyable_v<T>) {
        asm("" : "+m"(value));
    } else {
        asm volatile("" : : "r"(&value) : "memory");  // what it points to, too
    }
}

// part(k) for each of Count parts: straight code, also where the compiler is asked for little.
template <std::size_t Count, class Part>
TAUTO_ALWAYS_INLINE inline void each_part(Part&& part) {
    [&]<std::size_t... K>(std::index_sequence<K...>) TAUTO_ALWAYS_INLINE {
        (part(K), ...);
    }
    (std::make_index_sequence<Count>{});
}

// Lane j of 16.
template <lane_number T>
struct lane_values {
    static constexpr std::size_t bytes = lanes * sizeof(T);
    static constexpr std::size_t part_bytes = bytes < vector_bytes ? bytes : vector_bytes;
    static constexpr std::size_t width = part_bytes / sizeof(T);  // lanes of a part
    static constexpr std::size_t count = bytes / part_bytes;
    using part [[gnu::vector_size(part_bytes)]] = T;

    part parts[count];  // std::array would take its elements' type for the vectors'

    // Copied part by part: a compiler copies an array in pieces that are no parts, and reading a part right
    // after that waits for memory.
    lane_values() noexcept {}
    TAUTO_ALWAYS_INLINE lane_values(const lane_values& other) noexcept { *this = other; }
    TAUTO_ALWAYS_INLINE lane_values& operator=(const lane_values& other) noexcept {
        each_part<count>([&](std::size_t k) TAUTO_ALWAYS_INLINE { parts[k] = other.parts[k]; });
        return *this;
    }
    ~lane_values() = default;
};

// One value a lane: value(j) for j from 0 to 15.
template <lane_number T, class Value>
TAUTO_ALWAYS_INLINE inline void make_lanes(lane_values<T>& result, Value&& value) {
    using type = lane_values<T>;
    each_part<lane_values<T>::count>([&](std::size_t k) TAUTO_ALWAYS_INLINE {
        auto made = [&]<std::size_t... J>(std::index_sequence<J...>) TAUTO_ALWAYS_INLINE {
            return typename type::part{value(static_cast<index>(k * type::width + J))...};
        }
        (std::make_index_sequence<type::width>{});
        hide_origin(made);
        result.parts[k] = made;
    });
}

template <class Operation, lane_number T>
TAUTO_ALWAYS_INLINE inline void combine_lanes(lane_values<T>& left, const lane_values<T>& right) noexcept {
    each_part<lane_values<T>::count>(
        [&](std::size_t k) TAUTO_ALWAYS_INLINE { Operation::into(left.parts[k], right.parts[k]); });
}

// Lane j takes in lane j + Half of a part, then half as many do, until one is left.
template <class Operation, std::size_t Half, lane_number T>
TAUTO_ALWAYS_INLINE inline T join_part(typename lane_values<T>::part whole) noexcept {
    if constexpr (Half == 0) {
        return whole[0];
    } else {
        [&]<std::size_t... J>(std::index_sequence<J...>) TAUTO_ALWAYS_INLINE {
            Operation::into(whole, __builtin_shufflevector(whole, whole, (J + Half) % sizeof...(J)...));
        }
        (std::make_index_sequence<lane_values<T>::width>{});
        return join_part<Operation, Half / 2, T>(whole);
    }
}

// The same for all lanes, which are changed.
template <class Operation, lane_number T>
TAUTO_ALWAYS_INLINE inline T join_lanes(lane_values<T>& values) noexcept {
    using type = lane_values<T>;
    each_part<lane_values<T>::count>([&](std::size_t step) TAUTO_ALWAYS_INLINE {
        const std::size_t half = type::count >> (step + 1);
        each_part<lane_values<T>::count>([&](std::size_t k) TAUTO_ALWAYS_INLINE {
            if (k < half) Operation::into(values.parts[k], values.parts[k + half]);
        });
    });
    return join_part<Operation, type::width / 2, T>(values.parts[0]);
}

}  // namespace detail

}  // namespace tauto
