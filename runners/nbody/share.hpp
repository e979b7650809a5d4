#pragma once
// Which member has which targets and which sources.

#include <algorithm>
#include <cstddef>

#include <tauto/range.hpp>

namespace tauto::runner {

/// Share `part` of `count` things in `parts`.
constexpr range share_of(std::size_t count, int parts, int part) {
    const auto n = static_cast<index>(count);
    return {n * part / parts, n * (part + 1) / parts};
}

/// Share of a rank where the first `parts` ranks have one each; the others' are empty, at the end.
constexpr range share_among_first(std::size_t count, int parts, int rank) {
    const auto n = static_cast<index>(count);
    return rank < parts ? share_of(count, parts, rank) : range{n, n};
}

/// Like share_of, in whole cache lines of doubles, so that slices of sources start where registers do.
constexpr range slice_of(std::size_t count, int parts, int part) {
    const auto n = static_cast<index>(count);
    const range lines = share_of((count + 7) / 8, parts, part);
    return {std::min(n, 8 * lines.begin), std::min(n, 8 * lines.end)};
}

}  // namespace tauto::runner
