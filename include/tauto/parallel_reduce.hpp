#pragma once
// parallel_reduce: one value from all indices, with the same bits for every team, schedule and run.
//
// [0, n) is cut into blocks that depend on n and the grain alone. Block b is a leaf of a binary tree; the
// node (first, level) stands for the 2^level blocks from `first`, which is a multiple of 2^level, and its
// value is always the combination of its two halves. A member that is handed a run of blocks combines it into
// the largest nodes that fit into the run, at most two a level, and keeps those on lines of its own; the
// caller joins what the members kept, in order. Every value of a node is made in one way only, whoever makes
// it, so who ran what cannot be seen in the result. Nobody locks, and nobody allocates for a block.
//
// The tree is that of pairwise summation, whose error grows with log n instead of n (Higham, "The accuracy of
// floating point summation", SIAM J. Sci. Comput. 14, 1993).

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/parallel_for.hpp>

namespace tauto {

struct reduce_options {
    tauto::schedule schedule = adaptive{};
    std::stop_token stop = {};
    tauto::site* site = nullptr;
    loop_report* report = nullptr;  // its iterations are blocks
    const char* name = nullptr;     // shown in traces; must outlive the team
    // Indices of a block; 0: chosen from n. 1 where single indices are long or very unequal.
    index grain = 0;
    // Combine in whatever order the members get there: a little faster, not the same bits every time.
    bool unordered = false;
};

// A reduction was cancelled through its stop token: there is no result.
class stopped : public error {
  public:
    stopped() : error("the reduction was stopped before its end, so there is no result") {}
};

// Calls that may be regrouped and reordered freely, as far as this library cares: blocks of at least 16
// indices are then summed in 16 lanes, which the compiler can vectorise. Specialise it for a Combine of your
// own.
template <class Combine, class T>
inline constexpr bool is_commutative =
    std::is_arithmetic_v<T> &&
    (std::is_same_v<Combine, std::plus<>> || std::is_same_v<Combine, std::plus<T>> ||
     std::is_same_v<Combine, std::multiplies<>> || std::is_same_v<Combine, std::multiplies<T>> ||
     std::is_same_v<Combine, std::bit_and<>> || std::is_same_v<Combine, std::bit_and<T>> ||
     std::is_same_v<Combine, std::bit_or<>> || std::is_same_v<Combine, std::bit_or<T>> ||
     std::is_same_v<Combine, std::bit_xor<>> || std::is_same_v<Combine, std::bit_xor<T>>);

namespace detail {

inline constexpr index lanes = 16;

// Indices of a block when the user names none. `cheap` says that an index most likely takes a few
// instructions. Few indices may each be long, so a block is one of them; many are cut into about a thousand
// blocks.
constexpr index default_grain(index n, bool cheap) noexcept {
    const auto floor_of = [](index size) {
        return size < 1 ? index{1} : static_cast<index>(std::bit_floor(static_cast<std::uint64_t>(size)));
    };
    if (!cheap) return std::min(floor_of(n / 1024), index{64});
    if (n <= lanes * 1024) return std::min(floor_of(n / 62), lanes);
    return std::min(floor_of(n / 512), index{4096});
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

// The finished parts of what one member has been handed, in the order in which they were handed out.
template <class T>
class alignas(128) partials {
  public:
    struct node {
        index first;
        int level;
        T value;
    };

    partials() { nodes_.reserve(kept); }
    partials(const partials&) = delete;
    partials& operator=(const partials&) = delete;

    // Adds the blocks of `run`: leaf(b) is the value of block b, merge(T& left, T&& right) joins neighbours.
    // A run that begins where the last one ended goes on with its nodes.
    template <class Leaf, class Merge>
    void add(range run, Leaf& leaf, Merge& merge) {
        if (run.begin != end_) open_ = nodes_.size();
        end_ = run.end;
        for (index b = run.begin; b < run.end; ++b) add_node(b, 0, leaf(b), merge);
    }

    // Adds a node right of all that the open run has. O(1) amortised.
    template <class Merge>
    void add_node(index first, int level, T&& value, Merge& merge) {
        // A node is a right half when the bit of its level is set in `first`; its left half is the last node
        // of the run, unless the run begins between the two.
        while ((first >> level & 1) != 0 && nodes_.size() > open_ && nodes_.back().level == level) {
            node& left = nodes_.back();
            merge(left.value, std::move(value));
            value = std::move(left.value);
            first = left.first;
            nodes_.pop_back();
            ++level;
        }
        nodes_.push_back({first, level, std::move(value)});
    }

    [[nodiscard]] std::pmr::vector<node>& nodes() noexcept { return nodes_; }

  private:
    // One run has at most two nodes a level. A thousand blocks shared by a few members fit without an
    // allocation.
    static constexpr std::size_t kept = sizeof(node) <= 64 ? 24 : 4;
    static constexpr std::size_t bytes = sizeof(node) <= 512 ? kept * sizeof(node) + alignof(node) : 1;

    alignas(std::max_align_t) std::array<std::byte, bytes> buffer_;
    std::pmr::monotonic_buffer_resource memory_{buffer_.data(), buffer_.size()};
    std::pmr::vector<node> nodes_{&memory_};
    std::size_t open_ = 0;  // nodes before it belong to earlier runs
    index end_ = -1;        // where the last run ended
};

// The value of all blocks from nodes in ascending order that cover them and cannot be joined within the tree:
// the complete trees of the binary digits of their number. The smaller ones are joined first.
template <class Nodes, class Merge>
auto fold_right(Nodes& nodes, Merge& merge) {
    auto result = std::move(nodes.back().value);
    for (nodes.pop_back(); !nodes.empty(); nodes.pop_back()) {
        merge(nodes.back().value, std::move(result));
        result = std::move(nodes.back().value);
    }
    return result;
}

// What the members kept, joined. Their runs cover all blocks.
template <class T, class Merge>
T join_partials(std::vector<partials<T>>& of_members, Merge& merge) {
    using node = typename partials<T>::node;
    const auto earlier = [](const node* a, const node* b) { return a->first < b->first; };
    std::vector<node*> all;
    all.reserve(64);
    for (partials<T>& of_member : of_members) {
        const auto middle = static_cast<std::ptrdiff_t>(all.size());
        for (node& one : of_member.nodes()) all.push_back(&one);
        const auto begin = all.begin() + middle;
        // A member gets its runs in ascending order unless it stole.
        if (!std::is_sorted(begin, all.end(), earlier)) std::sort(begin, all.end(), earlier);
        if (middle > 0 && begin != all.end() && earlier(*begin, *(begin - 1)))
            std::inplace_merge(all.begin(), begin, all.end(), earlier);
    }
    partials<T> joined;
    for (node* one : all) joined.add_node(one->first, one->level, std::move(one->value), merge);
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

// One value of a block by index: maps and combines from left to right.
template <class T, class Map, class Combine>
T fold_indices(range r, Map& map, Combine& combine) {
    T value = static_cast<T>(map(r.begin));
    for (index i = r.begin + 1; i < r.end; ++i) fold_into(combine, value, static_cast<T>(map(i)));
    return value;
}

// The same for operations whose order does not matter, in lanes: index i goes to lane i mod 16, counted from
// the block's begin. The lanes are then joined pairwise.
template <class T, class Map, class Combine>
T fold_lanes(range r, Map& map, Combine& combine) {
    std::array<T, static_cast<std::size_t>(lanes)> sums;
    for (index j = 0; j < lanes; ++j) sums[static_cast<std::size_t>(j)] = static_cast<T>(map(r.begin + j));
    index i = r.begin + lanes;
    for (; i + lanes <= r.end; i += lanes) {
        for (index j = 0; j < lanes; ++j) {
            T& sum = sums[static_cast<std::size_t>(j)];
            sum = static_cast<T>(combine(sum, static_cast<T>(map(i + j))));
        }
    }
    for (; i < r.end; ++i) {
        T& sum = sums[static_cast<std::size_t>((i - r.begin) % lanes)];
        sum = static_cast<T>(combine(sum, static_cast<T>(map(i))));
    }
    for (std::size_t half = sums.size() / 2; half > 0; half /= 2) {
        for (std::size_t j = 0; j < half; ++j) sums[j] = static_cast<T>(combine(sums[j], sums[j + half]));
    }
    return sums[0];
}

// The loop's body: a call site of its own for each Leaf and Merge.
template <class T, class Leaf, class Merge>
struct ordered_body {
    partials<T>* of_members;
    Leaf* leaf;
    Merge* merge;
    void operator()(range run, int rank) const {
        of_members[static_cast<std::size_t>(rank)].add(run, *leaf, *merge);
    }
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
        of_members[static_cast<std::size_t>(rank)].add((*fold)(indices), *merge);
    }
};

inline loop_options loop_options_of(const reduce_options& options) {
    return {options.schedule, options.stop, options.site, options.report, options.name};
}

// Reduces the blocks of `plan`, of which there is at least one. fold(r) is the value of the indices of r,
// which is a block, or any range when `unordered`; merge(T& left, T&& right) joins neighbours.
template <class T, class Fold, class Merge>
T reduce_blocks(team& members, const block_plan& plan, Fold& fold, Merge& merge,
                const reduce_options& options) {
    const index blocks = plan.blocks();
    const auto size = static_cast<std::size_t>(inside_loop ? 1 : members.size());
    if (options.unordered) {
        using body_type = unordered_body<T, Fold, Merge>;
        std::vector<typename body_type::line> of_members(size);
        const body_type body{of_members.data(), &plan, &fold, &merge};
        if (!parallel_for(members, blocks, body, loop_options_of(options))) throw stopped{};
        typename body_type::line all;
        for (auto& one : of_members) {
            if (one.value) all.add(std::move(*one.value), merge);
        }
        return std::move(*all.value);
    }
    auto leaf = [&](index b) -> T { return fold(plan.block(b)); };
    using body_type = ordered_body<T, decltype(leaf), Merge>;
    const tauto::site& where = options.site != nullptr ? *options.site : site_of<const body_type>;
    if (options.schedule.index() == 0 && options.report == nullptr && !options.stop.stop_possible() &&
        (inside_loop || members.take_inline_call(where, blocks))) {
        partials<T> all;
        all.add({0, blocks}, leaf, merge);
        return fold_right(all.nodes(), merge);
    }
    std::vector<partials<T>> of_members(size);
    const body_type body{of_members.data(), &leaf, &merge};
    if (!parallel_for(members, blocks, body, loop_options_of(options))) throw stopped{};
    return join_partials(of_members, merge);
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
// combine; beyond parallel_for's cost a few ns a block and about 20 ns for each run of blocks.
template <class T, class Map, class Combine>
requires std::invocable<Map&, range> || std::invocable<Map&, index>
[[nodiscard]] T parallel_reduce(team& members, index n, T identity, Map&& map, Combine&& combine,
                                const reduce_options& options = {}) {
    detail::check_reduction(n, options.grain);
    constexpr bool by_range = std::invocable<Map&, range>;
    using value_type = typename std::conditional_t<by_range, std::invoke_result<Map&, range>,
                                                   std::invoke_result<Map&, index>>::type;
    static_assert(
        !(std::is_integral_v<T> && std::is_floating_point_v<std::remove_cvref_t<value_type>>),
        "map returns a floating-point value and the identity is an integer: write 0.0 in place of 0");
    constexpr bool in_lanes = is_commutative<std::remove_cvref_t<Combine>, T>;
    if (n == 0) return identity;
    const index grain = options.grain > 0 ? options.grain : detail::default_grain(n, in_lanes || by_range);
    const detail::block_plan plan{n, std::min(grain, n)};
    auto fold = [&](range r) -> T {
        if constexpr (by_range) {
            return static_cast<T>(map(r));
        } else if constexpr (in_lanes) {
            return r.size() < detail::lanes ? detail::fold_indices<T>(r, map, combine)
                                            : detail::fold_lanes<T>(r, map, combine);
        } else {
            return detail::fold_indices<T>(r, map, combine);
        }
    };
    auto merge = [&](T& left, T&& right) { detail::fold_into(combine, left, std::move(right)); };
    T all = detail::reduce_blocks<T>(members, plan, fold, merge, options);
    merge(identity, std::move(all));
    return identity;
}

}  // namespace tauto
