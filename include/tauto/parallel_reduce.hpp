#pragma once
// parallel_reduce: one value from all indices, with the same bits for every team, schedule and run.
//
// [0, n) is cut into blocks that depend on n and the grain alone. Block b is a leaf of a binary tree; the
// node (first, level) stands for the 2^level blocks from `first`, which is a multiple of 2^level, and its
// value is always the combination of its two halves. A member that is handed a run of blocks combines it into
// the largest nodes that fit into the run, at most two a level, and keeps those on lines of its own; the
// caller joins what the members kept, in order. Every member computes the value of a node in the same way, so
// the result does not show which member ran what. No member takes a lock or allocates memory for a block.
//
// This is the tree of pairwise summation, whose error grows with log n instead of n (Higham, "The accuracy of
// floating point summation", SIAM J. Sci. Comput. 14, 1993).

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/always_inline.hpp>
#include <tauto/lanes.hpp>
#include <tauto/parallel_for.hpp>
#include <tauto/signed.hpp>

namespace tauto {

struct reduce_options {
    tauto::schedule schedule = adaptive{};
    std::stop_token stop = {};
    tauto::site* site = nullptr;
    loop_report* report = nullptr;  // its iterations are blocks
    const char* name = nullptr;     // shown in traces; must outlive the team
    // Indices of a block; 0: chosen from n and the kind of map. 1 where single indices are long or very
    // unequal; a range map has at least 512 otherwise.
    index grain = 0;
    // Combines in the order in which members finish: at best a little faster, and not the same bits every
    // time.
    bool unordered = false;
    int members = 0;  // as in loop_options
    tauto::priority priority = tauto::priority::normal;
};

namespace detail {

// How a map is called: with a range, with an index and results that are combined in lanes, or with an index
// and results that are combined from left to right.
enum class map_kind { of_ranges, in_lanes, in_order };

// Indices of a block when the user names none. A range map is thought cheap, and its loop needs a length to
// be fast; but it may be long all the same, so there are 9 to 16 blocks where there are indices, and more of
// many. Few single indices may each be long, so each is a block; many are cut into 512 blocks or more.
constexpr index default_grain(index n, map_kind kind) noexcept {
    const auto floor_of = [](index size) {
        return size < 1 ? index{1} : static_cast<index>(std::bit_floor(static_cast<std::uint64_t>(size)));
    };
    if (kind == map_kind::of_ranges) {
        if (n >= 8192) return std::clamp(floor_of(n / 128), index{512}, index{4096});
        const index grain = (n + 15) / 16;
        return grain < 8 * lanes ? std::max(grain, index{1}) : (grain + lanes - 1) / lanes * lanes;
    }
    if (kind == map_kind::in_order) return std::min(floor_of(n / 512), index{64});
    if (n < 256) return 1;
    return std::clamp(floor_of(n / 512), 2 * lanes, index{4096});
}

// The blocks of [0, n).
struct block_plan {
    index n = 0;
    index grain = 1;

    [[nodiscard]] index blocks() const noexcept { return n / grain + (n % grain != 0 ? 1 : 0); }
    [[nodiscard]] range block(index b) const noexcept {
        return {b * grain, n - b * grain < grain ? n : (b + 1) * grain};
    }
};

// A leaf that may have a faster way, with the same bits, to the value of neighbours: see tree_of.
template <class Leaf>
concept leaf_of_trees = requires(const Leaf& leaf, index first, index blocks) {
    { leaf.joins_trees() } -> std::same_as<bool>;
    leaf.tree_of(first, blocks);
};

// Trees up to this level are straight code, so that short blocks cost little more than their indices.
inline constexpr int straight_level = 4;

// A complete tree of 2^level blocks from `first`, a multiple of 2^level: a subtree of the one tree.
template <int Level, class Leaf, class Merge>
TAUTO_ALWAYS_INLINE inline auto small_tree(index first, Leaf& leaf, Merge& merge) {
    if constexpr (Level == 0) {
        return leaf(first);
    } else {
        auto left = small_tree<Level - 1>(first, leaf, merge);
        merge(left, small_tree<Level - 1>(first + (index{1} << (Level - 1)), leaf, merge));
        return left;
    }
}

template <class T, class Leaf, class Merge>
T complete_tree(index first, int level, Leaf& leaf, Merge& merge);

// A function of its own, so that each makes its result where its caller wants it.
template <class T, class Leaf, class Merge>
T larger_tree(index first, int level, Leaf& leaf, Merge& merge) {
    T left = complete_tree<T>(first, level - 1, leaf, merge);
    merge(left, complete_tree<T>(first + (index{1} << (level - 1)), level - 1, leaf, merge));
    return left;
}

template <class T, class Leaf, class Merge>
T complete_tree(index first, int level, Leaf& leaf, Merge& merge) {
    if constexpr (leaf_of_trees<Leaf>) {
        if (leaf.joins_trees()) return leaf.tree_of(first, index{1} << level);
        return level == 0 ? leaf(first) : larger_tree<T>(first, level, leaf, merge);
    } else {
        switch (level) {
            case 0:
                return small_tree<0>(first, leaf, merge);
            case 1:
                return small_tree<1>(first, leaf, merge);
            case 2:
                return small_tree<2>(first, leaf, merge);
            case 3:
                return small_tree<3>(first, leaf, merge);
            case straight_level:
                return small_tree<straight_level>(first, leaf, merge);
            default:
                return larger_tree<T>(first, level, leaf, merge);
        }
    }
}

// All `blocks` from `first` on, at least one: the complete trees of the binary digits of their number, of
// which the smaller ones are joined first.
template <class T, class Leaf, class Merge>
T tree_of(index first, index blocks, Leaf& leaf, Merge& merge) {
    if constexpr (leaf_of_trees<Leaf>) {
        if (leaf.joins_trees()) return leaf.tree_of(first, blocks);
    }
    const int level = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(blocks))) - 1;
    T left = complete_tree<T>(first, level, leaf, merge);
    const index complete = index{1} << level;
    if (complete < blocks) merge(left, tree_of<T>(first + complete, blocks - complete, leaf, merge));
    return left;
}

template <class T>
struct node {
    index first;
    int level;
    T value;
};

// A stack of nodes. The first ones stand in the object itself, so that a usual run needs no allocation.
template <class T>
class node_stack {
  public:
    node_stack() noexcept {}  // leaves the buffer as it is
    node_stack(const node_stack&) = delete;
    node_stack& operator=(const node_stack&) = delete;
    ~node_stack() {
        while (size_ > 0) pop();
        if (nodes_ != inside()) std::allocator<node<T>>{}.deallocate(nodes_, capacity_);
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] node<T>& back() noexcept { return nodes_[size_ - 1]; }
    [[nodiscard]] std::span<node<T>> nodes() noexcept { return {nodes_, size_}; }

    void push(index first, int level, T&& value) {
        if (size_ == capacity_) grow();
        std::construct_at(nodes_ + size_, node<T>{first, level, std::move(value)});
        ++size_;
    }
    void pop() noexcept { std::destroy_at(nodes_ + --size_); }

  private:
    // One run has at most two nodes a level: a thousand blocks shared by a few members fit.
    static constexpr std::size_t kept = sizeof(node<T>) <= 256 ? 24 : sizeof(node<T>) <= 1024 ? 4 : 1;

    // The array is there from the start, as an array of bytes makes arrays within it; its nodes are not.
    [[nodiscard]] node<T>* inside() noexcept {
        return *std::launder(reinterpret_cast<node<T>(*)[kept]>(buffer_.data()));
    }
    void grow() {
        const std::size_t capacity = 2 * capacity_;
        node<T>* const larger = std::allocator<node<T>>{}.allocate(capacity);
        for (std::size_t i = 0; i < size_; ++i) {
            std::construct_at(larger + i, std::move(nodes_[i]));
            std::destroy_at(nodes_ + i);
        }
        if (nodes_ != inside()) std::allocator<node<T>>{}.deallocate(nodes_, capacity_);
        nodes_ = larger;
        capacity_ = capacity;
    }

    // Before the nodes, of which most runs have few: so all of it is on one or two lines.
    node<T>* nodes_ = inside();
    std::size_t size_ = 0;
    std::size_t capacity_ = kept;
    alignas(node<T>) std::array<std::byte, kept * sizeof(node<T>)> buffer_;
};

// The finished parts of what one member has been handed, in the order in which they were handed out.
template <class T>
class alignas(128) partials {
  public:
    partials() noexcept {}
    // Adds the blocks of `run`: leaf(b) is the value of block b, merge(T& left, T&& right) joins neighbours.
    // A run that begins where the last one ended goes on with its nodes.
    template <class Leaf, class Merge>
    void add(range run, Leaf& leaf, Merge& merge) {
        if (run.begin != end_) open_ = stack_.size();
        end_ = run.end;
        for (index first = run.begin; first < run.end;) {
            // The largest tree that begins here and ends within the run.
            const auto fits =
                static_cast<int>(std::bit_width(static_cast<std::uint64_t>(run.end - first))) - 1;
            const int level = std::min(fits, std::countr_zero(static_cast<std::uint64_t>(first)));
            add_node(first, level, complete_tree<T>(first, level, leaf, merge), merge);
            first += index{1} << level;
        }
    }

    // Adds a node right of all that the open run has. O(1) amortised.
    template <class Merge>
    void add_node(index first, int level, T&& value, Merge& merge) {
        // A node is a right half when the bit of its level is set in `first`; its left half is the last node
        // of the run, unless the run begins between the two.
        T joined = std::move(value);
        while ((first >> level & 1) != 0 && stack_.size() > open_ && stack_.back().level == level) {
            node<T>& left = stack_.back();
            merge(left.value, std::move(joined));
            joined = std::move(left.value);
            first = left.first;
            stack_.pop();
            ++level;
        }
        stack_.push(first, level, std::move(joined));
    }

    [[nodiscard]] node_stack<T>& nodes() noexcept { return stack_; }

  private:
    std::size_t open_ = 0;  // nodes before it belong to earlier runs
    index end_ = -1;        // where the last run ended
    node_stack<T> stack_;
};

// One object for each member, on cache lines of its own. The objects of a small team are in the caller's
// frame.
template <class Line>
class member_lines {
  public:
    explicit member_lines(std::size_t size) : size_{size}, lines_{inside()} {
        if (size > kept) lines_ = std::allocator<Line>{}.allocate(size);
        std::uninitialized_default_construct_n(lines_, size);
    }
    member_lines(const member_lines&) = delete;
    member_lines& operator=(const member_lines&) = delete;
    ~member_lines() {
        std::destroy_n(lines_, size_);
        if (size_ > kept) std::allocator<Line>{}.deallocate(lines_, size_);
    }
    [[nodiscard]] Line* data() noexcept { return lines_; }
    [[nodiscard]] Line* begin() noexcept { return lines_; }
    [[nodiscard]] Line* end() noexcept { return lines_ + size_; }

  private:
    static constexpr std::size_t kept = sizeof(Line) <= 4096 ? 8 : 1;
    [[nodiscard]] Line* inside() noexcept {
        return *std::launder(reinterpret_cast<Line(*)[kept]>(buffer_.data()));  // as in node_stack
    }

    alignas(Line) std::array<std::byte, kept * sizeof(Line)> buffer_;
    std::size_t size_;
    Line* lines_;
};

// The value of all blocks from nodes in ascending order that cover them and cannot be joined in the tree.
template <class T, class Merge>
T fold_right(node_stack<T>& nodes, Merge& merge) {
    T result = std::move(nodes.back().value);
    for (nodes.pop(); nodes.size() > 0; nodes.pop()) {
        merge(nodes.back().value, std::move(result));
        result = std::move(nodes.back().value);
    }
    return result;
}

// What the members kept, joined. Their runs cover all blocks.
template <class T, class Merge>
T join_partials(std::span<partials<T>> of_members, Merge& merge) {
    const auto earlier = [](const node<T>* a, const node<T>* b) { return a->first < b->first; };
    std::size_t total = 0;
    for (partials<T>& of_member : of_members) total += of_member.nodes().size();
    // An allocation would take a third of what a short reduction costs.
    std::array<node<T>*, 64> few;
    std::vector<node<T>*> many;
    if (total > few.size()) many.resize(total);
    const std::span<node<T>*> all = many.empty() ? std::span(few).first(total) : std::span(many);
    auto end = all.begin();
    for (partials<T>& of_member : of_members) {
        const auto begin = end;
        for (node<T>& one : of_member.nodes().nodes()) *end++ = &one;
        // A member gets its runs in ascending order unless it stole.
        if (!std::is_sorted(begin, end, earlier)) std::sort(begin, end, earlier);
        if (begin != all.begin() && begin != end && earlier(*begin, *(begin - 1)))
            std::inplace_merge(all.begin(), begin, end, earlier);
    }
    partials<T> joined;
    for (node<T>* one : all) joined.add_node(one->first, one->level, std::move(one->value), merge);
    return fold_right(joined.nodes(), merge);
}

// Combines in place: a reduce function either changes its first argument, as Qt's do, or returns the new
// value, as std::plus does.
template <class Reduce, class T, class Value>
void fold_into(Reduce& reduce, T& result, Value&& value) {
    if constexpr (std::invocable<Reduce&, T&&, Value&&>) {
        result = static_cast<T>(reduce(std::move(result), std::forward<Value>(value)));
    } else {
        reduce(result, std::forward<Value>(value));
    }
}

// map(i) as a T whose bits do not depend on the code around.
template <class T, class Map>
TAUTO_ALWAYS_INLINE inline T mapped(Map& map, index i) {
    T value = static_cast<T>(map(i));
    hide_origin(value);
    return value;
}

// One value of a block by index: maps and combines from left to right.
template <class T, class Map, class Combine>
T fold_indices(range r, Map& map, Combine& combine) {
    T value = mapped<T>(map, r.begin);
    for (index i = r.begin + 1; i < r.end; ++i) fold_into(combine, value, mapped<T>(map, i));
    return value;
}

// The values of 16 indices.
template <class T, class Map>
TAUTO_ALWAYS_INLINE inline void map_row(lane_values<T>& values, index first, Map& map) {
    make_lanes(values, [&](index lane) { return static_cast<T>(map(first + lane)); });
}

// The values of fewer, from `lane` on; the other lanes have one that changes nothing.
template <class Operation, class T, class Map>
void map_some(lane_values<T>& values, range r, index lane, Map& map) {
    std::array<T, static_cast<std::size_t>(lanes)> some;
    some.fill(Operation::neutral);
    for (index i = r.begin; i < r.end; ++i) some[usize(lane + i - r.begin)] = static_cast<T>(map(i));
    make_lanes(values, [&](index j) { return some[usize(j)]; });
}

// Blocks whose values are lanes, which stay apart until the whole range is reduced. Two rows of lanes are a
// pair, and pairs are the leaves of the tree. Where the length of blocks is a power of two, index i is in
// lane i mod 16: so the bits are the same for each such length.
template <class Operation, class T, class Map>
struct lane_blocks {
    Map* map;
    block_plan plan;

    [[nodiscard]] bool joins_trees() const noexcept {
        return std::has_single_bit(static_cast<std::uint64_t>(plan.grain));
    }
    [[nodiscard]] lane_values<T> operator()(index b) const {
        return joins_trees() ? tree_of(b, 1) : value_of(plan.block(b));
    }
    [[nodiscard]] lane_values<T> tree_of(index first, index blocks) const {
        const range r{first * plan.grain, std::min((first + blocks) * plan.grain, plan.n)};
        return r.size() < lanes ? part_of_row(r, r.begin % lanes) : value_of(r);
    }

    // Index i is in lane (i - r.begin) mod 16.
    // The trees of four pairs are joined as a binary number counts: of those that are done, one waits for
    // each digit that is set. What comes last is joined with all of them, the smallest one first. More
    // straight code would cost the compiler seconds at each call of the user's.
    [[nodiscard]] lane_values<T> value_of(range r) const {
        std::array<lane_values<T>, 50> waiting;  // 2^56 indices are 2^49 trees
        for (std::uint64_t done = 0;; ++done) {
            lane_values<T> values;
            if (r.size() > four_pairs - pair) {
                fold_tree<2, true>(values, r);
            } else {
                fold_few(values, r);
            }
            if (r.size() <= four_pairs) {
                for (std::uint64_t digits = done; digits != 0; digits &= digits - 1)
                    put_before(waiting[usize(std::countr_zero(digits))], values);
                return values;
            }
            r.begin += four_pairs;
            int digit = 0;
            for (; (done >> digit & 1) != 0; ++digit) put_before(waiting[usize(digit)], values);
            waiting[usize(digit)] = values;
        }
    }

  private:
    static constexpr index pair = 2 * lanes;
    static constexpr index four_pairs = 4 * pair;

    [[gnu::noinline]] lane_values<T> part_of_row(range r, index lane) const {
        lane_values<T> values;
        map_some<Operation>(values, r, lane, *map);
        return values;
    }
    // At most three pairs: a tree of three joins the first two first.
    [[gnu::noinline]] void fold_few(lane_values<T>& values, range r) const {
        lane_values<T> sum;
        fold_tree<0, true>(sum, r);
        for (r.begin += pair; r.begin < r.end; r.begin += pair) {
            lane_values<T> more;
            fold_tree<0, true>(more, r);
            combine_lanes<Operation>(sum, more);
        }
        values = sum;
    }
    // Less than a pair.
    [[gnu::noinline]] void fold_rest(lane_values<T>& values, range r) const {
        if (r.size() < lanes) return map_some<Operation>(values, r, 0, *map);
        map_row(values, r.begin, *map);
        if (r.size() == lanes) return;
        lane_values<T> more;
        map_some<Operation>(more, {r.begin + lanes, r.end}, 0, *map);
        combine_lanes<Operation>(values, more);
    }
    // 2^Level pairs from r.begin on; Ends: the last one may be cut by r.end.
    template <int Level, bool Ends>
    TAUTO_ALWAYS_INLINE void fold_tree(lane_values<T>& values, range r) const {
        lane_values<T> right;
        if constexpr (Level > 0) {
            fold_tree<Level - 1, false>(values, r);
            fold_tree<Level - 1, Ends>(right, {r.begin + (pair << (Level - 1)), r.end});
            combine_lanes<Operation>(values, right);
        } else if (Ends && r.size() < pair) {
            fold_rest(values, r);
        } else {
            map_row(values, r.begin, *map);
            map_row(right, r.begin + lanes, *map);
            combine_lanes<Operation>(values, right);
        }
    }
    // right = left + right.
    TAUTO_ALWAYS_INLINE static void put_before(const lane_values<T>& left, lane_values<T>& right) {
        lane_values<T> sum = left;
        combine_lanes<Operation>(sum, right);
        right = sum;
    }
};

// The loop's body: a call site of its own for each Leaf and Merge.
template <class T, class Leaf, class Merge>
struct ordered_body {
    partials<T>* of_members;
    Leaf* leaf;
    Merge* merge;
    void operator()(range run, int rank) const { at(of_members, rank).add(run, *leaf, *merge); }
};

template <class T, class Fold, class Merge>
struct unordered_body {
    struct alignas(128) line {
        std::optional<T> value;
        void add(T&& more, Merge& join) {
            if (value) {
                join(*value, std::move(more));
            } else {
                value.emplace(std::move(more));
            }
        }
    };
    line* of_members;
    const block_plan* plan;
    Fold* fold;
    Merge* merge;
    void operator()(range run, int rank) const {
        const range indices{plan->block(run.begin).begin, plan->block(run.end - 1).end};
        at(of_members, rank).add((*fold)(indices), *merge);
    }
};

inline loop_options loop_options_of(const reduce_options& options) {
    return {options.schedule, options.stop,    options.site,    options.report,
            options.name,     options.members, options.priority};
}

// By the members of the team.
template <class T, class Leaf, class Fold, class Merge>
[[gnu::noinline]] T reduce_shared(team& members, const block_plan& plan, Leaf& leaf, Fold& fold, Merge& merge,
                                  const reduce_options& options) {
    const index blocks = plan.blocks();
    const auto size = usize(members.size());
    if (options.unordered) {
        using body_type = unordered_body<T, Fold, Merge>;
        member_lines<typename body_type::line> of_members(size);
        const body_type body{of_members.data(), &plan, &fold, &merge};
        if (!parallel_for(members, blocks, body, loop_options_of(options))) throw stopped{};
        typename body_type::line all;
        for (auto& one : of_members) {
            if (one.value) all.add(std::move(*one.value), merge);
        }
        return std::move(*all.value);
    }
    using body_type = ordered_body<T, Leaf, Merge>;
    member_lines<partials<T>> of_members(size);
    const body_type body{of_members.data(), &leaf, &merge};
    if (!parallel_for(members, blocks, body, loop_options_of(options))) throw stopped{};
    return join_partials<T>({of_members.data(), size}, merge);
}

// Inside of a body. A call that nobody could take parts of needs nothing but its tree.
template <class T, class Leaf, class Fold, class Merge>
[[gnu::noinline]] T reduce_in_body(team& members, tauto::site& where, const block_plan& plan, Leaf& leaf,
                                   Fold& fold, Merge& merge, const reduce_options& options) {
    const index blocks = plan.blocks();
    if (members.shares_in_body(where, blocks, options.members))
        return reduce_shared<T>(members, plan, leaf, fold, merge, options);
    const stays_in_body here(members, where, blocks, true);
    return tree_of<T>(0, blocks, leaf, merge);
}

// Inlined, so that the options of a reduction that does not fork are never written to memory.
template <class T, class Leaf, class Fold, class Merge>
[[gnu::always_inline]] inline T reduce_values(team& members, const block_plan& plan, Leaf& leaf, Fold& fold,
                                              Merge& merge, const reduce_options& options) {
    tauto::site& where = options.site != nullptr ? *options.site : site_of<ordered_body<T, Leaf, Merge>>;
    if (!options.unordered && std::holds_alternative<adaptive>(options.schedule) &&
        options.report == nullptr && !options.stop.stop_possible()) {
        if (running_as.team != nullptr) {
            if (team::is_plain_in_body(where, plan.blocks()))
                return tree_of<T>(0, plan.blocks(), leaf, merge);
            return reduce_in_body<T>(members, where, plan, leaf, fold, merge, options);
        }
        if (members.take_inline_call(where, plan.blocks(), options.members)) {
            const inside_body inside(members.identity(), 0);
            return tree_of<T>(0, plan.blocks(), leaf, merge);
        }
    }
    return reduce_shared<T>(members, plan, leaf, fold, merge, options);
}

// Values larger than this are kept on the heap: a tree of them would not fit a thread's stack.
inline constexpr std::size_t most_bytes_on_stack = 4096;

// Reduces the blocks of `plan`, of which there is at least one. leaf(b) is the value of block b; fold(r),
// used when `unordered`, is the value of the indices r; merge(T& left, T&& right) joins neighbours.
template <class T, class Leaf, class Fold, class Merge>
[[gnu::always_inline]] inline T reduce_blocks(team& members, const block_plan& plan, Leaf& leaf, Fold& fold,
                                              Merge& merge, const reduce_options& options) {
    if constexpr (sizeof(T) <= most_bytes_on_stack) {
        return reduce_values<T>(members, plan, leaf, fold, merge, options);
    } else {
        using box = std::unique_ptr<T>;
        auto boxed_leaf = [&](index b) { return box(new T(leaf(b))); };
        auto boxed_fold = [&](range r) { return box(new T(fold(r))); };
        auto boxed_merge = [&](box& left, box&& right) {
            merge(*left, std::move(*right));
            right.reset();
        };
        return std::move(*reduce_values<box>(members, plan, boxed_leaf, boxed_fold, boxed_merge, options));
    }
}

inline void check_reduction(index n, index grain) {
    if (n < 0 || n > max_iterations) {
        throw error("a reduction over n = " + std::to_string(n) + " indices; n must be from 0 to 2^56");
    }
    if (grain < 0) {
        throw error("a reduction with blocks of " + std::to_string(grain) +
                    " indices; the grain must be at least 1, or 0 for a default");
    }
}

}  // namespace detail

// combine(... combine(identity, map(0)) ..., map(n - 1)), regrouped. map takes an index, or a range and
// returns the value of all of it. combine(T, T) must be associative (up to rounding); it need not commute:
// neighbours are combined, left before right. It may also be a function (T& left, T right) that changes
// `left`.
//
// The result depends on n, the grain, map and combine alone: it has the same bits for every team, schedule
// and run, unless options.unordered is set. For n = 0 it is `identity`, which otherwise is combined once,
// from the left. T may be move-only; a member keeps at most two values a level of the tree. Exceptions,
// nesting, turns and n as parallel_for. A requested stop throws tauto::stopped. O(n) calls of map and
// combine; beyond parallel_for's cost a few ns a block and about 20 ns for each run of blocks. A T of more
// than 4096 bytes is kept on the heap, an allocation a block.
template <class T, class Map, class Combine>
requires std::invocable<Map&, range> || std::invocable<Map&, index>
[[nodiscard, gnu::always_inline]] inline T parallel_reduce(team& members, index n, T identity, Map&& map,
                                                           Combine&& combine,
                                                           const reduce_options& options = {}) {
    detail::check_reduction(n, options.grain);
    constexpr bool by_range = std::invocable<Map&, range>;
    using value_type = typename std::conditional_t<by_range, std::invoke_result<Map&, range>,
                                                   std::invoke_result<Map&, index>>::type;
    static_assert(
        !(std::is_integral_v<T> && std::is_floating_point_v<std::remove_cvref_t<value_type>>),
        "map returns a floating-point value and the identity is an integer: write 0.0 in place of 0");
    using combine_type = std::remove_cvref_t<Combine>;
    constexpr auto kind = by_range                          ? detail::map_kind::of_ranges
                          : is_commutative<combine_type, T> ? detail::map_kind::in_lanes
                                                            : detail::map_kind::in_order;
    if (n == 0) return identity;
    const index grain = options.grain > 0 ? options.grain : detail::default_grain(n, kind);
    const detail::block_plan plan{n, std::min(grain, n)};
    auto merge = [&](T& left, T&& right) { detail::fold_into(combine, left, std::move(right)); };
    if constexpr (kind == detail::map_kind::of_ranges) {
        // Not inlined: the tree calls it in many places, and the same code has the same bits.
        auto fold = [&](range r) __attribute__((noinline))->T {
            return static_cast<T>(map(r));
        };
        auto leaf = [&](index b) -> T { return fold(plan.block(b)); };
        merge(identity, detail::reduce_blocks<T>(members, plan, leaf, fold, merge, options));
    } else if constexpr (kind == detail::map_kind::in_lanes) {
        using operation = detail::lane_operation<combine_type, T>;
        using map_type = std::remove_reference_t<Map>;
        using values_type = detail::lane_values<T>;
        detail::lane_blocks<operation, T, map_type> leaf{&map, plan};
        auto fold = [&](range r) { return leaf.value_of(r); };
        auto merge_lanes = [](values_type& left, const values_type& right) {
            detail::combine_lanes<operation>(left, right);
        };
        values_type values =
            detail::reduce_blocks<values_type>(members, plan, leaf, fold, merge_lanes, options);
        merge(identity, detail::join_lanes<operation>(values));
    } else {
        auto fold = [&](range r) -> T { return detail::fold_indices<T>(r, map, combine); };
        if (plan.grain == 1) {
            // No arithmetic on blocks in the loop over single indices.
            auto leaf = [&](index i) -> T { return detail::mapped<T>(map, i); };
            merge(identity, detail::reduce_blocks<T>(members, plan, leaf, fold, merge, options));
        } else {
            auto leaf = [&](index b) -> T { return fold(plan.block(b)); };
            merge(identity, detail::reduce_blocks<T>(members, plan, leaf, fold, merge, options));
        }
    }
    return identity;
}

}  // namespace tauto
