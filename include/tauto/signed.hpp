#pragma once
// Signed counts and positions for containers, which count without a sign. Ranks, CPUs and indices are signed,
// so that their differences are safe; the conversion stands here once, and not as a cast at every use.

#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>

#include <tauto/range.hpp>

namespace tauto::detail {

// A count or a position, which is never negative, as containers have it: the counterpart of std::ssize.
[[nodiscard]] constexpr std::size_t usize(std::integral auto count) noexcept {
    return static_cast<std::size_t>(count);
}

// The element at a position: of a vector, a span, an array, or what a pointer points to.
template <class Items>
[[nodiscard]] constexpr decltype(auto) at(Items&& items, std::integral auto position) noexcept {
    return items[usize(position)];
}

// The elements of a range.
template <class T>
[[nodiscard]] constexpr std::span<T> part(std::span<T> items, const range& r) noexcept {
    return items.subspan(usize(r.begin), usize(r.size()));
}

// The number of elements, where they are as few as ranks, CPUs or bodies of a loop.
[[nodiscard]] constexpr int int_size(const auto& items) noexcept {
    return static_cast<int>(std::size(items));
}

// An integer as a number with a fraction; exact up to 2^53.
[[nodiscard]] constexpr double as_double(std::integral auto count) noexcept {
    return static_cast<double>(count);
}

}  // namespace tauto::detail
