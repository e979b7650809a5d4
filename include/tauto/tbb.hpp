#pragma once
// The shapes of oneTBB's algorithms on this runtime, so that a program can try it by changing its includes:
//
//     #include <tauto/tbb.hpp>  // in place of <tbb/parallel_for.h>, <oneapi/tbb.h>, ...
//
// There are blocked_range of one, two and three dimensions, parallel_for, parallel_for_each, parallel_reduce,
// parallel_deterministic_reduce, parallel_scan, parallel_sort, parallel_invoke, parallel_pipeline,
// task_group, contexts of parallel_for, task_arena and global_control (tbb_arena.hpp), mutexes, values of
// each thread (enumerable_thread_specific, combinable) and tick_count. Containers and allocators are oneTBB's
// own, with tbb_containers.hpp in place of this file. What is not here (flow graphs) does not compile.
//
// What differs: all calls of a process that are in no arena share one team, which tbb::team() makes with the
// first of them, and which pins its members, also the thread that makes it. Partitioners are read and left
// aside, but for simple_partitioner, whose pieces are no larger than the grain: the loop learns. A body is
// never copied by parallel_for. A reduction has the same bits for every team and run. From the first task
// that a thread gives to a group outside of any task, until the wait for it, the thread's other calls are
// those of a task: loops are shared, sorts and scans stay on the thread.
#if defined(TBB_VERSION_MAJOR) || defined(TBB_INTERFACE_VERSION)
#error "tauto/tbb.hpp stands in for oneTBB's headers: include one or the other"
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/parallel_for.hpp>
#include <tauto/parallel_for_each.hpp>
#include <tauto/parallel_reduce.hpp>
#include <tauto/parallel_sort.hpp>
#include <tauto/task_group.hpp>
#include <tauto/tbb_arena.hpp>
#include <tauto/tbb_local.hpp>
#include <tauto/tbb_mutex.hpp>
#include <tauto/tbb_pipeline.hpp>
#include <tauto/tbb_tasks.hpp>
#include <tauto/tiles.hpp>

namespace tbb {

// ---- Ranges ----

template <class Other>
inline constexpr bool is_split_of_others = false;

// Says which constructor splits: that half of the range or body is taken.
class split {
  public:
    // As that of other libraries whose ranges are split here (tauto/tbb_containers.hpp).
    template <class Other>
    requires is_split_of_others<Other>
    operator Other() const {  // NOLINT(google-explicit-constructor)
        return {};
    }
};

// Values [begin, end): integers, pointers or iterators with random access.
template <class Value>
class blocked_range {
  public:
    using const_iterator = Value;
    using size_type = std::size_t;

    blocked_range() = default;
    blocked_range(Value begin, Value end, size_type grain = 1)
        : begin_(begin), end_(end), grain_(std::max<size_type>(grain, 1)) {}
    // The second half of `from`, which keeps the first.
    blocked_range(blocked_range& from, split)
        : begin_(from.at(from.size() / 2)), end_(from.end_), grain_(from.grain_) {
        from.end_ = begin_;
    }

    [[nodiscard]] Value begin() const { return begin_; }
    [[nodiscard]] Value end() const { return end_; }
    [[nodiscard]] bool empty() const { return !(begin_ < end_); }
    [[nodiscard]] size_type size() const { return empty() ? 0 : static_cast<size_type>(end_ - begin_); }
    [[nodiscard]] size_type grainsize() const { return grain_; }
    [[nodiscard]] bool is_divisible() const { return grain_ < size(); }

    // The value at a distance from the first, and the part between two distances.
    [[nodiscard]] Value at(size_type k) const {
        if constexpr (std::is_integral_v<Value>) {
            return static_cast<Value>(begin_ + static_cast<Value>(k));
        } else {
            return begin_ + static_cast<std::ptrdiff_t>(k);
        }
    }
    [[nodiscard]] blocked_range part(tauto::range r) const {
        return {at(static_cast<size_type>(r.begin)), at(static_cast<size_type>(r.end)), grain_};
    }

  private:
    Value begin_{};
    Value end_{};
    size_type grain_ = 1;
};

template <class Row, class Column = Row>
class blocked_range2d {
  public:
    using row_range_type = blocked_range<Row>;
    using col_range_type = blocked_range<Column>;

    blocked_range2d(Row rows, Row rows_end, std::size_t row_grain, Column columns, Column columns_end,
                    std::size_t column_grain)
        : rows_(rows, rows_end, row_grain), columns_(columns, columns_end, column_grain) {}
    blocked_range2d(Row rows, Row rows_end, Column columns, Column columns_end)
        : rows_(rows, rows_end), columns_(columns, columns_end) {}
    blocked_range2d(row_range_type rows, col_range_type columns) : rows_(rows), columns_(columns) {}
    // Half of the dimension that is longest, counted in grains.
    blocked_range2d(blocked_range2d& from, split) : rows_(from.rows_), columns_(from.columns_) {
        if (from.rows_.size() * from.columns_.grainsize() < from.columns_.size() * from.rows_.grainsize()) {
            columns_ = col_range_type(from.columns_, split{});
        } else {
            rows_ = row_range_type(from.rows_, split{});
        }
    }

    [[nodiscard]] const row_range_type& rows() const { return rows_; }
    [[nodiscard]] const col_range_type& cols() const { return columns_; }
    [[nodiscard]] bool empty() const { return rows_.empty() || columns_.empty(); }
    [[nodiscard]] bool is_divisible() const { return rows_.is_divisible() || columns_.is_divisible(); }

  private:
    row_range_type rows_;
    col_range_type columns_;
};

template <class Page, class Row = Page, class Column = Row>
class blocked_range3d {
  public:
    using page_range_type = blocked_range<Page>;
    using row_range_type = blocked_range<Row>;
    using col_range_type = blocked_range<Column>;

    blocked_range3d(Page pages, Page pages_end, std::size_t page_grain, Row rows, Row rows_end,
                    std::size_t row_grain, Column columns, Column columns_end, std::size_t column_grain)
        : pages_(pages, pages_end, page_grain),
          rows_(rows, rows_end, row_grain),
          columns_(columns, columns_end, column_grain) {}
    blocked_range3d(Page pages, Page pages_end, Row rows, Row rows_end, Column columns, Column columns_end)
        : pages_(pages, pages_end), rows_(rows, rows_end), columns_(columns, columns_end) {}
    blocked_range3d(page_range_type pages, row_range_type rows, col_range_type columns)
        : pages_(pages), rows_(rows), columns_(columns) {}
    blocked_range3d(blocked_range3d& from, split)
        : pages_(from.pages_), rows_(from.rows_), columns_(from.columns_) {
        const auto grains = [](const auto& one) { return one.size() / one.grainsize(); };
        const std::size_t longest =
            std::max({grains(from.pages_), grains(from.rows_), grains(from.columns_)});
        if (grains(from.pages_) == longest) {
            pages_ = page_range_type(from.pages_, split{});
        } else if (grains(from.rows_) == longest) {
            rows_ = row_range_type(from.rows_, split{});
        } else {
            columns_ = col_range_type(from.columns_, split{});
        }
    }

    [[nodiscard]] const page_range_type& pages() const { return pages_; }
    [[nodiscard]] const row_range_type& rows() const { return rows_; }
    [[nodiscard]] const col_range_type& cols() const { return columns_; }
    [[nodiscard]] bool empty() const { return pages_.empty() || rows_.empty() || columns_.empty(); }
    [[nodiscard]] bool is_divisible() const {
        return pages_.is_divisible() || rows_.is_divisible() || columns_.is_divisible();
    }

  private:
    page_range_type pages_;
    row_range_type rows_;
    col_range_type columns_;
};

// ---- Partitioners ----

class auto_partitioner {};
class simple_partitioner {};
class static_partitioner {};
class affinity_partitioner {};

namespace detail {

template <class Type>
inline constexpr bool is_partitioner =
    std::is_same_v<Type, auto_partitioner> || std::is_same_v<Type, simple_partitioner> ||
    std::is_same_v<Type, static_partitioner> || std::is_same_v<Type, affinity_partitioner>;

template <class Range>
inline constexpr bool is_blocked = false;
template <class Value>
inline constexpr bool is_blocked<blocked_range<Value>> = true;
template <class Range>
inline constexpr bool is_tiled = false;
template <class Row, class Column>
inline constexpr bool is_tiled<blocked_range2d<Row, Column>> =
    std::is_integral_v<Row>&& std::is_integral_v<Column>;
template <class Page, class Row, class Column>
inline constexpr bool is_tiled<blocked_range3d<Page, Row, Column>> =
    std::is_integral_v<Page>&& std::is_integral_v<Row>&& std::is_integral_v<Column>;

inline tauto::index length(std::size_t n) noexcept {
    return static_cast<tauto::index>(n);
}

// How often a range is halved where nothing is known but how: a thousand pieces.
inline constexpr int most_halvings = 10;

template <class Range, class Body>
void halve(Range& range, const Body& body, int left) {
    if (left == 0 || !range.is_divisible()) {
        if (!range.empty()) body(std::as_const(range));
        return;
    }
    Range second(range, split{});
    tauto::parallel_invoke(
        team(), [&] { halve(range, body, left - 1); }, [&] { halve(second, body, left - 1); });
}

// Pieces of at most a grain.
template <class Value, class Call>
void in_grains(const blocked_range<Value>& range, const Call& call) {
    const tauto::index n = length(range.size());
    const tauto::index grain = std::min(length(range.grainsize()), n);
    if (n == 0) return;
    tauto::parallel_for(team(), (n - 1) / grain + 1, [&](tauto::index piece) {
        call(range.part({piece * grain, std::min(n, (piece + 1) * grain)}));
    });
}

template <class Value>
tauto::range of_dimension(const blocked_range<Value>& one) {
    return {static_cast<tauto::index>(one.begin()), static_cast<tauto::index>(one.end())};
}
template <class Value>
blocked_range<Value> dimension_of(const blocked_range<Value>& whole, tauto::range part) {
    return {static_cast<Value>(part.begin), static_cast<Value>(part.end), whole.grainsize()};
}

template <class Row, class Column, class Body>
void in_tiles(const blocked_range2d<Row, Column>& range, const Body& body) {
    const auto call = [&](tauto::range2 tile) {
        body(blocked_range2d<Row, Column>(dimension_of(range.rows(), tile.rows),
                                          dimension_of(range.cols(), tile.columns)));
    };
    tauto::parallel_for(team(), tauto::range2{of_dimension(range.rows()), of_dimension(range.cols())}, call);
}
template <class Page, class Row, class Column, class Body>
void in_tiles(const blocked_range3d<Page, Row, Column>& range, const Body& body) {
    const auto call = [&](tauto::range3 tile) {
        body(blocked_range3d<Page, Row, Column>(dimension_of(range.pages(), tile.planes),
                                                dimension_of(range.rows(), tile.rows),
                                                dimension_of(range.cols(), tile.columns)));
    };
    tauto::parallel_for(
        team(),
        tauto::range3{of_dimension(range.pages()), of_dimension(range.rows()), of_dimension(range.cols())},
        call);
}

}  // namespace detail

// ---- Loops ----

// Ends the loops that it is given to early: what has not begun by then is left out. Loops inside of them have
// contexts of their own.
class task_group_context {
  public:
    task_group_context() = default;
    task_group_context(const task_group_context&) = delete;
    task_group_context& operator=(const task_group_context&) = delete;
    // False where that was done before.
    bool cancel_group_execution() noexcept { return !canceled_.exchange(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_group_execution_cancelled() const noexcept {
        return canceled_.load(std::memory_order_relaxed);
    }
    void reset() noexcept { canceled_.store(false, std::memory_order_relaxed); }

  private:
    std::atomic<bool> canceled_{false};
};

// body(piece) for pieces that cover the range once. `body` is called on several threads at once.
template <class Range, class Body, class Partitioner = auto_partitioner>
requires std::invocable<const Body&, Range&> && detail::is_partitioner<std::remove_cvref_t<Partitioner>>
void parallel_for(const Range& range, const Body& body, Partitioner&& = {}) {
    constexpr bool simple = std::is_same_v<std::remove_cvref_t<Partitioner>, simple_partitioner>;
    if constexpr (detail::is_blocked<Range> && simple) {
        detail::in_grains(range, [&](Range piece) { body(piece); });
    } else if constexpr (detail::is_blocked<Range>) {
        tauto::parallel_for(team(), detail::length(range.size()), [&](tauto::range r) {
            Range piece = range.part(r);
            body(piece);
        });
    } else if constexpr (detail::is_tiled<Range> && !simple) {
        detail::in_tiles(range, [&](Range piece) { body(piece); });
    } else {
        Range whole(range);
        detail::halve(
            whole, [&](Range piece) { body(piece); }, simple ? 60 : detail::most_halvings);
    }
}

// function(i) for first, first + step, ... below last. Throws tauto::error for a step below 1.
template <class Index, class Function, class Partitioner = auto_partitioner>
requires std::is_integral_v<Index> && std::invocable<const Function&, Index> &&
    detail::is_partitioner<std::remove_cvref_t<Partitioner>>
void parallel_for(Index first, Index last, Index step, const Function& function, Partitioner&& = {}) {
    if (step <= 0) throw tauto::error("tbb::parallel_for takes a step of 1 or more");
    if (!(first < last)) return;
    const auto distance = static_cast<std::size_t>(last) - static_cast<std::size_t>(first);
    const auto n = (distance - 1) / static_cast<std::size_t>(step) + 1;
    tauto::parallel_for(team(), detail::length(n), [&](tauto::range r) {
        for (tauto::index k = r.begin; k < r.end; ++k)
            function(static_cast<Index>(first + static_cast<Index>(k) * step));
    });
}
template <class Index, class Function, class Partitioner = auto_partitioner>
requires std::is_integral_v<Index> && std::invocable<const Function&, Index> &&
    detail::is_partitioner<std::remove_cvref_t<Partitioner>>
void parallel_for(Index first, Index last, const Function& function, Partitioner&& partitioner = {}) {
    parallel_for(first, last, Index{1}, function, std::forward<Partitioner>(partitioner));
}

template <class Range, class Body, class Partitioner>
requires std::invocable<const Body&, Range&> && detail::is_partitioner<std::remove_cvref_t<Partitioner>>
void parallel_for(const Range& range, const Body& body, Partitioner&& partitioner, task_group_context& in) {
    const auto unless_canceled = [&](Range& piece) {
        if (!in.is_group_execution_cancelled()) body(piece);
    };
    parallel_for(range, unless_canceled, std::forward<Partitioner>(partitioner));
}
template <class Range, class Body>
requires std::invocable<const Body&, Range&>
void parallel_for(const Range& range, const Body& body, task_group_context& in) {
    parallel_for(range, body, auto_partitioner{}, in);
}
template <class Index, class Function>
requires std::is_integral_v<Index> && std::invocable<const Function&, Index>
void parallel_for(Index first, Index last, Index step, const Function& function, task_group_context& in) {
    parallel_for(first, last, step, [&](Index i) {
        if (!in.is_group_execution_cancelled()) function(i);
    });
}
template <class Index, class Function>
requires std::is_integral_v<Index> && std::invocable<const Function&, Index>
void parallel_for(Index first, Index last, const Function& function, task_group_context& in) {
    parallel_for(first, last, Index{1}, function, in);
}

// ---- Reductions ----

namespace detail {

// What a reduction calls its function with: 64 pieces or more, none shorter than a grain. A function may be
// long, however short its range is.
template <class Range>
tauto::reduce_options in_pieces_of(const Range& range) {
    const tauto::index n = length(range.size());
    const tauto::index many = tauto::detail::default_grain(n, tauto::detail::map_kind::of_ranges);
    return {.grain = std::max({length(range.grainsize()), std::min(many, n / 64), tauto::index{1}})};
}

}  // namespace detail

// reduction of all range_value(piece, value so far). The pieces depend on the range alone, so the result has
// the same bits for every team and run.
template <class Range, class Value, class Function, class Reduction, class Partitioner = auto_partitioner>
requires std::invocable<const Function&, Range&, const Value&> &&
    std::invocable<const Reduction&, Value&, Value&> &&
    detail::is_partitioner<std::remove_cvref_t<Partitioner>>
[[nodiscard]] Value parallel_reduce(const Range& range, const Value& identity, const Function& function,
                                    const Reduction& reduction, Partitioner&& = {}) {
    const auto join = [&](Value& left, Value right) {
        left = reduction(std::as_const(left), std::as_const(right));
    };
    if constexpr (detail::is_blocked<Range>) {
        const auto of_piece = [&](tauto::range r) -> Value {
            Range piece = range.part(r);
            return function(piece, identity);
        };
        return tauto::parallel_reduce(team(), detail::length(range.size()), Value(identity), of_piece, join,
                                      detail::in_pieces_of(range));
    } else {
        const auto halved = [&](auto& self, Range& some, int left) -> Value {
            if (left == 0 || !some.is_divisible()) return function(some, identity);
            Range second(some, split{});
            std::optional<Value> one;
            std::optional<Value> other;
            tauto::parallel_invoke(
                team(), [&] { one.emplace(self(self, some, left - 1)); },
                [&] { other.emplace(self(self, second, left - 1)); });
            join(*one, std::move(*other));
            return std::move(*one);
        };
        Range whole(range);
        return whole.empty() ? identity : halved(halved, whole, detail::most_halvings);
    }
}

// body(piece) for pieces of the range, by bodies that are split from this one and joined to it again, left to
// right.
template <class Range, class Body, class Partitioner = auto_partitioner>
requires std::constructible_from<Body, Body&, split> && std::invocable<Body&, Range&> &&
    detail::is_partitioner<std::remove_cvref_t<Partitioner>>
void parallel_reduce(const Range& range, Body& body, Partitioner&& = {}) {
    std::mutex splitting;
    using part = std::unique_ptr<Body>;  // a body need not move
    const auto of_range = [&](Range piece) {
        part own;
        {
            const std::lock_guard turn(splitting);
            own = std::make_unique<Body>(body, split{});
        }
        (*own)(piece);
        return own;
    };
    const auto join = [](part& left, part&& right) {
        if (!left) {
            left = std::move(right);
        } else if (right) {
            left->join(*right);
        }
    };
    static_assert(detail::is_blocked<Range>, "a body is reduced over a blocked_range");
    part all = tauto::parallel_reduce(
        team(), detail::length(range.size()), part{},
        [&](tauto::range r) -> part { return of_range(range.part(r)); }, join, detail::in_pieces_of(range));
    if (all) body.join(*all);
}

template <class Range, class Value, class Function, class Reduction, class Partitioner = auto_partitioner>
requires detail::is_partitioner<std::remove_cvref_t<Partitioner>>
[[nodiscard]] Value parallel_deterministic_reduce(const Range& range, const Value& identity,
                                                  const Function& function, const Reduction& reduction,
                                                  Partitioner&& = {}) {
    return parallel_reduce(range, identity, function, reduction);
}
template <class Range, class Body, class Partitioner = auto_partitioner>
requires detail::is_partitioner<std::remove_cvref_t<Partitioner>>
void parallel_deterministic_reduce(const Range& range, Body& body, Partitioner&& = {}) {
    parallel_reduce(range, body);
}

// ---- Scans ----

namespace detail {

// At most 256, none shorter than a grain.
template <class Range>
struct scan_pieces {
    static_assert(is_blocked<Range>, "a scan takes a blocked_range");
    explicit scan_pieces(const Range& of) : range(of), n(length(of.size())) {
        each = std::max({length(of.grainsize()), (n - 1) / 256 + 1, tauto::index{1}});
        pieces = n == 0 ? 0 : (n - 1) / each + 1;
    }
    [[nodiscard]] Range piece(tauto::index p) const {
        return range.part({p * each, std::min(n, (p + 1) * each)});
    }

    const Range& range;
    tauto::index n;
    tauto::index each = 1;
    tauto::index pieces = 0;
};

}  // namespace detail

// scan(piece, sum before it, whether results are to be written) returns the sum with the piece. Each piece is
// first summed and then scanned; on one member, or of one piece, it is scanned alone. Returns the sum of all.
template <class Range, class Value, class Scan, class Combine, class Partitioner = auto_partitioner>
requires std::invocable<const Scan&, Range&, const Value&, bool> &&
    detail::is_partitioner<std::remove_cvref_t<Partitioner>>
        Value parallel_scan(const Range& range, const Value& identity, const Scan& scan,
                            const Combine& combine, Partitioner&& = {}) {
    const detail::scan_pieces<Range> cut(range);
    if (cut.pieces == 0) return identity;
    Range whole(range);
    if (cut.pieces == 1 || team().size() == 1) return scan(whole, identity, true);
    // The last piece's sum is known from its scan.
    std::vector<std::optional<Value>> before(static_cast<std::size_t>(cut.pieces));
    tauto::parallel_for(team(), cut.pieces - 1, [&](tauto::index p) {
        Range one = cut.piece(p);
        before[static_cast<std::size_t>(p) + 1].emplace(scan(one, identity, false));
    });
    before[0].emplace(identity);
    for (std::size_t p = 1; p < before.size(); ++p) before[p].emplace(combine(*before[p - 1], *before[p]));
    std::optional<Value> all;
    tauto::parallel_for(team(), cut.pieces, [&](tauto::index p) {
        Range one = cut.piece(p);
        Value sum = scan(one, *before[static_cast<std::size_t>(p)], true);
        if (p == cut.pieces - 1) all.emplace(std::move(sum));
    });
    return std::move(*all);
}

struct pre_scan_tag {
    static constexpr bool is_final_scan() { return false; }
};
struct final_scan_tag {
    static constexpr bool is_final_scan() { return true; }
};

// The same by a body: body(piece, tag) adds to what the body has summed up, and writes results where the tag
// says so. Parts are split off, and get what is on their left by reverse_join. The body ends as the last
// part, which is assigned to it.
template <class Range, class Body, class Partitioner = auto_partitioner>
requires std::constructible_from<Body, Body&, split> && std::invocable<Body&, Range&, final_scan_tag> &&
    detail::is_partitioner<std::remove_cvref_t<Partitioner>>
void parallel_scan(const Range& range, Body& body, Partitioner&& = {}) {
    detail::scan_pieces<Range> cut(range);
    if (cut.pieces == 0) return;
    if (cut.pieces == 1 || team().size() == 1) {
        Range whole(range);
        body(whole, final_scan_tag{});
        return;
    }
    std::mutex splitting;
    std::vector<std::optional<Body>> before(static_cast<std::size_t>(cut.pieces));  // but for the first, body
    const auto at = [&](tauto::index p) -> Body& { return *before[static_cast<std::size_t>(p)]; };
    tauto::parallel_for(team(), cut.pieces - 1, [&](tauto::index p) {
        {
            const std::lock_guard turn(splitting);
            before[static_cast<std::size_t>(p) + 1].emplace(body, split{});
        }
        Range one = cut.piece(p);
        at(p + 1)(one, pre_scan_tag{});
    });
    at(1).reverse_join(body);
    for (tauto::index p = 2; p < cut.pieces; ++p) at(p).reverse_join(at(p - 1));
    tauto::parallel_for(team(), cut.pieces, [&](tauto::index p) {
        Range one = cut.piece(p);
        (p == 0 ? body : at(p))(one, final_scan_tag{});
    });
    body.assign(at(cut.pieces - 1));
}

// ---- Sorts ----

template <class Iterator, class Compare = std::less<>>
requires std::random_access_iterator<Iterator>
void parallel_sort(Iterator first, Iterator last, const Compare& before = {}) {
    Compare own(before);
    tauto::parallel_sort(team(), first, last, own);
}
template <class Container, class Compare = std::less<>>
requires requires(Container& all) {
    std::begin(all);
    std::end(all);
}
void parallel_sort(Container&& all, const Compare& before = {}) {
    parallel_sort(std::begin(all), std::end(all), before);
}

// ---- Tasks ----

template <std::invocable... Functions>
void parallel_invoke(const Functions&... functions) {
    tauto::parallel_invoke(team(), functions...);
}

// More elements for a parallel_for_each that runs.
template <class Item>
class feeder {
  public:
    virtual void add(const Item& item) = 0;
    virtual void add(Item&& item) = 0;

  protected:
    feeder() = default;
    ~feeder() = default;
};

namespace detail {

template <class Item, class Body>
class feeding final : public feeder<Item> {
  public:
    feeding(tauto::task_group& group, const Body& body) : group_(group), body_(body) {}
    void add(const Item& item) override {
        group_.run([this, item = Item(item)]() mutable { body_(item, *this); });
    }
    void add(Item&& item) override {
        group_.run([this, item = std::move(item)]() mutable { body_(item, *this); });
    }

  private:
    tauto::task_group& group_;
    const Body& body_;
};

}  // namespace detail

// body(element) for every element, or body(element, feeder), which may add more.
template <std::input_iterator Iterator, class Body>
void parallel_for_each(Iterator first, Iterator last, const Body& body) {
    using item = std::iter_value_t<Iterator>;
    if constexpr (std::invocable<const Body&, std::iter_reference_t<Iterator>, feeder<item>&>) {
        tauto::task_group::run_all(team(), [&](tauto::task_group& group) {
            detail::feeding<item, Body> more(group, body);
            for (; first != last; ++first)
                group.run([&body, &more, element = first] { body(*element, more); });
            group.wait();
        });
    } else if constexpr (std::random_access_iterator<Iterator>) {
        tauto::parallel_for_each(team(), first, last, body);
    } else if constexpr (std::forward_iterator<Iterator>) {
        std::vector<Iterator> all;
        for (; first != last; ++first) all.push_back(first);
        tauto::parallel_for_each(team(), all, [&](const Iterator& element) { body(*element); });
    } else {
        std::vector<item> all(first, last);
        tauto::parallel_for_each(team(), all, body);
    }
}
template <class Container, class Body>
void parallel_for_each(Container&& all, const Body& body) {
    parallel_for_each(std::begin(all), std::end(all), body);
}

// ---- Time ----

class tick_count {
  public:
    class interval_t {
      public:
        interval_t() = default;
        explicit interval_t(double seconds) : seconds_(seconds) {}
        [[nodiscard]] double seconds() const { return seconds_; }

      private:
        double seconds_ = 0;
    };
    [[nodiscard]] static tick_count now() {
        tick_count found;
        found.at_ = std::chrono::steady_clock::now();
        return found;
    }
    [[nodiscard]] friend interval_t operator-(const tick_count& end, const tick_count& begin) {
        return interval_t(std::chrono::duration<double>(end.at_ - begin.at_).count());
    }

  private:
    std::chrono::steady_clock::time_point at_{};
};

}  // namespace tbb

namespace oneapi {
namespace tbb = ::tbb;
}
