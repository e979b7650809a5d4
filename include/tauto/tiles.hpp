#pragma once
// parallel_for over two and three dimensions, in tiles that fit a core's cache.
//
// The outermost dimension is walked along; the others, the cross-section, are cut into parts. The cells of a
// part and of its neighbours along the walk stay in the second-level cache, so what a stencil reads again is
// still there. One step along the walk in one part is a line. parallel_for shares the lines, which it knows
// nothing else about: so shares follow the members' learned speeds, and neighbouring lines come together as
// one tile.

#include <algorithm>
#include <concepts>
#include <string>
#include <type_traits>

#include <tauto/caches.hpp>
#include <tauto/parallel_for.hpp>

namespace tauto {

// A rectangle of cells, and a box of them. The last dimension is the one whose cells are neighbours in
// memory.
struct range2 {
    range rows;
    range columns;

    [[nodiscard]] constexpr bool empty() const noexcept { return rows.empty() || columns.empty(); }
    friend constexpr bool operator==(const range2&, const range2&) = default;
};
struct range3 {
    range planes;
    range rows;
    range columns;

    [[nodiscard]] constexpr bool empty() const noexcept {
        return planes.empty() || rows.empty() || columns.empty();
    }
    friend constexpr bool operator==(const range3&, const range3&) = default;
};

struct tile_options {
    tauto::schedule schedule = adaptive{};
    std::stop_token stop = {};
    tauto::site* site = nullptr;
    loop_report* report = nullptr;  // its iterations are lines
    const char* name = nullptr;     // shown in traces; must outlive the team
    // Bytes that the body reads and writes for each cell, each counted once: 16 for a double from another
    // one.
    index cell_bytes = 16;
    int members = 0;  // as in loop_options
    tauto::priority priority = tauto::priority::normal;
};

// Called with tiles that cover all cells once, or with (tile, rank), or with one cell at a time.
template <class Body>
concept body_of_2d = std::invocable<Body&, range2> || std::invocable<Body&, range2, int> ||
    std::invocable<Body&, index, index>;
template <class Body>
concept body_of_3d = std::invocable<Body&, range3> || std::invocable<Body&, range3, int> ||
    std::invocable<Body&, index, index, index>;

namespace detail {

// n cut into equal parts of at most `most`.
struct equal_parts {
    index n = 1;
    index count = 1;

    static equal_parts of(index n, index most) noexcept { return {n, (n - 1) / most + 1}; }
    [[nodiscard]] index largest() const noexcept { return (n - 1) / count + 1; }
    [[nodiscard]] range part(index k) const noexcept {
        const index quotient = n / count;
        const index remainder = n % count;
        const index begin = quotient * k + std::min(k, remainder);
        return {begin, begin + quotient + (k < remainder ? 1 : 0)};
    }
    // True when there are more parts now.
    bool cut() noexcept {
        if (count >= n) return false;
        count = std::min(n, 2 * count);
        return true;
    }
};

// How the cells are cut. Rows are cut before columns, whose length makes loops fast.
struct tile_plan {
    index planes;
    equal_parts rows;
    equal_parts columns;

    // Fewer lines could not be shared well, nor by learned speeds.
    static constexpr index enough_lines = 256;

    // In parts that fit the cache. The sizes are at least 1. While a part is walked, a stencil needs three
    // steps of what it reads and one of what it writes: twice a cell's bytes. They get half of the cache.
    static tile_plan of(index planes, index rows, index columns, index cell_bytes, index cache) noexcept {
        const index room = std::max<index>(64, cache / 4 / std::max<index>(1, cell_bytes));
        if (rows * columns <= room) return {planes, {rows}, {columns}};
        tile_plan plan{planes, {}, equal_parts::of(columns, room)};
        plan.rows = equal_parts::of(rows, std::max<index>(1, room / plan.columns.largest()));
        return plan;
    }
    // The same, cut further until there are enough lines.
    [[nodiscard]] tile_plan to_share() const noexcept {
        tile_plan plan = *this;
        while (plan.lines() < enough_lines && (plan.rows.cut() || plan.columns.cut())) {
        }
        return plan;
    }
    [[nodiscard]] index parts() const noexcept { return rows.count * columns.count; }
    [[nodiscard]] index lines() const noexcept { return planes * parts(); }

    // call(planes, rows, columns) for each tile in these lines; all count from 0.
    template <class Call>
    void each_tile(range lines, Call&& call) const {
        if (parts() == 1) return call(lines, range{0, rows.n}, range{0, columns.n});
        for (index line = lines.begin; line < lines.end;) {
            const index part = line / planes;
            const index from = line % planes;
            const index steps = std::min(planes - from, lines.end - line);
            call(range{from, from + steps}, rows.part(part / columns.count),
                 columns.part(part % columns.count));
            line += steps;
        }
    }
};

constexpr range moved(range r, index by) noexcept {
    return {r.begin + by, r.end + by};
}

inline index size_of_dimension(const char* name, range r) {
    if (r.empty()) return 0;
    const auto size = static_cast<std::uint64_t>(r.end) - static_cast<std::uint64_t>(r.begin);
    if (size > static_cast<std::uint64_t>(max_iterations)) {
        throw error(std::string("parallel_for over ") + name + " from " + std::to_string(r.begin) + " to " +
                    std::to_string(r.end) + "; a dimension has at most 2^56 cells");
    }
    return static_cast<index>(size);
}

// At most 2^56 cells in all: no product of sizes overflows.
inline void check_cells(index planes, index rows, index columns) {
    if ((planes | rows | columns) >> 18 == 0) return;  // without a division
    if (rows > max_iterations / planes || columns > max_iterations / (planes * rows)) {
        throw error("parallel_for over " + std::to_string(planes) + " x " + std::to_string(rows) + " x " +
                    std::to_string(columns) + " cells; there may be 2^56 of them");
    }
}

template <class Body>
void call_tile(Body& body, const range2& tile, int rank) {
    if constexpr (std::invocable<Body&, range2, int>) {
        body(tile, rank);
    } else if constexpr (std::invocable<Body&, range2>) {
        body(tile);
    } else {
        for (index i = tile.rows.begin; i < tile.rows.end; ++i)
            for (index j = tile.columns.begin; j < tile.columns.end; ++j) body(i, j);
    }
}

template <class Body>
void call_tile(Body& body, const range3& tile, int rank) {
    if constexpr (std::invocable<Body&, range3, int>) {
        body(tile, rank);
    } else if constexpr (std::invocable<Body&, range3>) {
        body(tile);
    } else {
        for (index k = tile.planes.begin; k < tile.planes.end; ++k)
            for (index i = tile.rows.begin; i < tile.rows.end; ++i)
                for (index j = tile.columns.begin; j < tile.columns.end; ++j) body(k, i, j);
    }
}

// call(planes, rows, columns, rank), all from 0, for tiles that cover the cells. `where`: of the user's body.
template <class Call>
bool parallel_for_tiles(team& members, index planes, index rows, index columns, Call&& call,
                        tauto::site& where, const tile_options& options) {
    if (options.cell_bytes < 1) {
        throw error("tiles of cells of " + std::to_string(options.cell_bytes) +
                    " bytes; cell_bytes must be at least 1");
    }
    if (planes == 0 || rows == 0 || columns == 0) return true;
    check_cells(planes, rows, columns);
    const tile_plan parts = tile_plan::of(planes, rows, columns, options.cell_bytes, second_level_cache());
    const tile_plan plan = parts.to_share();
    const auto body = [&](range lines, int rank) {
        const auto call_here = [&](range k, range i, range j) { call(k, i, j, rank); };
        if (lines.size() == plan.lines()) {  // nobody shares them
            parts.each_tile({0, parts.lines()}, call_here);
        } else {
            plan.each_tile(lines, call_here);
        }
    };
    return parallel_for(members, plan.lines(), body,
                        {options.schedule, options.stop, options.site != nullptr ? options.site : &where,
                         options.report, options.name, options.members, options.priority});
}

}  // namespace detail

// Runs body over all cells on the members of the team, in tiles that fit a core's cache, and returns when all
// of it is done. There is nothing to tune: the cut depends on the sizes, options.cell_bytes and the cache. An
// iteration of the schedules is a line: a row (a plane in three dimensions), or a part of one where that is
// larger than the cache or where there are less than 256. A call that nobody shares is cut for the cache
// alone. Result, exceptions (the lowest index is the first line), stop, nesting and turns as parallel_for.
// Throws tauto::error for more than 2^56 cells and for cell_bytes < 1.
template <class Body>
requires body_of_2d<std::remove_reference_t<Body>>
bool parallel_for(team& members, const range2& cells, Body&& body, const tile_options& options = {}) {
    using body_type = std::remove_reference_t<Body>;
    const auto call = [&](range rows, range, range columns, int rank) {
        detail::call_tile(
            body, range2{detail::moved(rows, cells.rows.begin), detail::moved(columns, cells.columns.begin)},
            rank);
    };
    const index rows = detail::size_of_dimension("rows", cells.rows);
    const index columns = detail::size_of_dimension("columns", cells.columns);
    return detail::parallel_for_tiles(members, rows, 1, columns, call,
                                      detail::site_of<std::remove_cv_t<body_type>>, options);
}

template <class Body>
requires body_of_3d<std::remove_reference_t<Body>>
bool parallel_for(team& members, const range3& cells, Body&& body, const tile_options& options = {}) {
    using body_type = std::remove_reference_t<Body>;
    const auto call = [&](range planes, range rows, range columns, int rank) {
        detail::call_tile(
            body,
            range3{detail::moved(planes, cells.planes.begin), detail::moved(rows, cells.rows.begin),
                   detail::moved(columns, cells.columns.begin)},
            rank);
    };
    const index planes = detail::size_of_dimension("planes", cells.planes);
    const index rows = detail::size_of_dimension("rows", cells.rows);
    const index columns = detail::size_of_dimension("columns", cells.columns);
    return detail::parallel_for_tiles(members, planes, rows, columns, call,
                                      detail::site_of<std::remove_cv_t<body_type>>, options);
}

}  // namespace tauto
