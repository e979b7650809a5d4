#pragma once
// Sorting by comparisons: runs that are sorted on their own, then merged pair by pair.
//
// Runs and pieces depend on the length alone. A piece is a part of a merge's result: where it begins in both
// runs is found by bisection (the "merge path" of Odeh, Green, Mwassi, Shmueli and Birk, IPDPSW 2012). So all
// members merge, also where two runs are left, and the result does not show who did what. Of equal elements
// the one of the left run comes first: merging is stable.

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/raw_buffer.hpp>
#include <tauto/small_sort.hpp>

namespace tauto::detail {

// [0, n) in runs, a power of two of them, and in the pieces of merged results.
struct run_plan {
    static constexpr index least_run = 256;
    static constexpr index most_runs = 64;

    index n;
    index runs = 1;

    static run_plan of(index n) noexcept {
        run_plan plan{n};
        while (plan.runs < most_runs && n / (2 * plan.runs) >= least_run) plan.runs *= 2;
        return plan;
    }
    // Where run r begins, n / runs * r without its overflow.
    [[nodiscard]] index begin(index r) const noexcept { return n / runs * r + n % runs * r / runs; }
};

// A part of a merge's result, and the elements that it is merged from.
struct merge_piece {
    range left;
    range right;
    bool done = false;

    [[nodiscard]] index size() const noexcept { return left.size() + right.size(); }
};

// How many of the first `count` merged elements are from the left run.
template <class In, class Compare>
index merge_split(const In& in, range left, range right, index count, Compare& before) {
    index low = std::max<index>(0, count - right.size());
    index high = std::min(count, left.size());
    while (low < high) {
        const index middle = low + (high - low) / 2;
        if (before(element(in, right.begin + count - 1 - middle), element(in, left.begin + middle))) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// Copies of the elements, merged. Two halves of the result at once: each step waits for the one before.
template <class T, class Compare>
void merge_copies(const T* in, const merge_piece& piece, T* to, Compare& before) {
    const index half = piece.size() / 2;
    const index split = merge_split(in, piece.left, piece.right, half, before);
    const T* const left = in + piece.left.begin;
    const T* const right = in + piece.right.begin;
    merging<T> first{left, left + split, right, right + (half - split), to};
    merging<T> second{left + split, in + piece.left.end, right + (half - split), in + piece.right.end,
                      to + half};
    while (first.both() && second.both()) {
        first.step(before);
        second.step(before);
    }
    while (first.both()) first.step(before);
    while (second.both()) second.step(before);
    first.copy_rest();
    second.copy_rest();
}

// Moves the elements, merged. All of them are moved, also where the comparison throws: none is lost.
template <class In, class Out, class Compare>
void merge_moves(const In& in, const merge_piece& piece, const Out& out, index to, Compare& before) {
    index left = piece.left.begin;
    index right = piece.right.begin;
    const auto move_from = [&](index& from) {
        relocate(element(in, from++), std::addressof(element(out, to++)));
    };
    struct rest {
        decltype(move_from)& move;
        index& left;
        index& right;
        const merge_piece& piece;
        ~rest() {
            while (left < piece.left.end) move(left);
            while (right < piece.right.end) move(right);
        }
    } const at_end{move_from, left, right, piece};
    while (left < piece.left.end && right < piece.right.end) {
        const index from_right = without_branch(before(element(in, right), element(in, left)));
        const index from = left + ((right - left) & -from_right);
        right += from_right;
        left += 1 - from_right;
        relocate(element(in, from), std::addressof(element(out, to++)));
    }
}

// The first n elements of a buffer to `in`, where there are none. A stop would leave some in the buffer.
template <class T, class In>
void move_back(team& members, const raw_buffer<T>& buffer, const In& in, index n,
               const algorithm_options& options) {
    const auto body = [&](range r) {
        for (index i = r.begin; i < r.end; ++i) relocate(buffer.data()[i], std::addressof(element(in, i)));
    };
    loop_to_end(members, n, body, loop_options_of(without_stop(options)));
}

template <class In, class Compare>
class merge_sorter {
  public:
    using T = std::iter_value_t<In>;

    merge_sorter(In in, index n, Compare& before, bool stable)
        : in_(in), plan_(run_plan::of(n)), before_(&before), stable_(stable) {}

    void run(team& members, const algorithm_options& options) {
        if (options.stop.stop_requested()) throw stopped{};
        const raw_buffer<T> buffer(plan_.runs > 1 || copies ? plan_.n : 0);
        if (plan_.runs == 1) {
            const as_member inside(members);
            sort_run(0, buffer);
            return;
        }
        touch_pages(members, buffer, options);
        const auto sort = [&](index r) { sort_run(r, buffer); };
        loop_to_end(members, plan_.runs, sort, loop_options_of(options));
        bool in_buffer = false;
        for (index width = 1; width < plan_.runs; width *= 2) {
            if (in_buffer) {
                merge_all(members, buffer.data(), in_, width, options,
                          [&] { move_back(members, buffer, in_, plan_.n, options); });
            } else {
                merge_all(members, in_, buffer.data(), width, options, [] {});
            }
            in_buffer = !in_buffer;
        }
        if (in_buffer) move_back(members, buffer, in_, plan_.n, options);
    }

  private:
    static constexpr bool copies = std::is_pointer_v<In> && cheap_to_copy<T>;
    // Merging copies elements: they also stay where they were.
    template <class From, class To>
    static constexpr bool leaves_copies =
        copied_as_bytes<T>&& std::is_pointer_v<From>&& std::is_pointer_v<To>;

    // Pieces of a level: some for every member, and not so short that finding them counts.
    [[nodiscard]] index piece_size() const noexcept { return std::max<index>(512, plan_.n / 256 + 1); }

    void sort_run(index r, const raw_buffer<T>& buffer) {
        const index begin = plan_.begin(r);
        const auto first = advanced(in_, begin);
        const auto last = advanced(in_, plan_.begin(r + 1));
        const auto compare = [this](auto&& left, auto&& right) -> bool { return (*before_)(left, right); };
        if constexpr (copies) {
            if (plan_.runs == 1 && sort_by_few_moves(first, last - first, *before_)) return;
        }
        if (std::is_sorted(first, last, compare)) return;
        if constexpr (copies) {
            sort_copies(first, last - first, buffer.data() + begin, *before_);
        } else if (stable_) {
            std::stable_sort(first, last, compare);
        } else {
            std::sort(first, last, compare);
        }
    }

    // The pieces of all merges of two times `width` runs; each has its result's size for now.
    [[nodiscard]] std::vector<merge_piece> cut(index width) const {
        std::vector<merge_piece> pieces;
        const index size = piece_size();
        for (index r = 0; r < plan_.runs; r += 2 * width) {
            const index begin = plan_.begin(r);
            const index end = plan_.begin(r + 2 * width);
            for (index from = begin; from < end; from += size)
                pieces.push_back({{from, std::min(end, from + size)}, {r, r + 2 * width}});
        }
        return pieces;
    }

    // Merges from `in` to `out`, where there are no elements yet. If that fails, all elements are in `in`
    // again; then to_caller() is called before the exception goes on.
    template <class From, class To, class Restore>
    void merge_all(team& members, const From& in, const To& out, index width,
                   const algorithm_options& options, Restore&& to_caller) {
        const std::vector<merge_piece> results = cut(width);
        std::vector<merge_piece> pieces(results.size());
        try {
            const auto find = [&](index k) { at(pieces, k) = find_piece(in, at(results, k), width); };
            loop_to_end(members, std::ssize(pieces), find, loop_options_of(options));
            const auto merge = [&](index k) {
                at(pieces, k).done = true;
                merge_one(in, at(pieces, k), out, at(results, k).left.begin);
            };
            loop_to_end(members, std::ssize(pieces), merge, loop_options_of(options));
        } catch (...) {
            for (std::size_t k = 0; k < pieces.size(); ++k)
                if (pieces[k].done) undo(in, pieces[k], out, results[k].left.begin);
            to_caller();
            throw;
        }
    }

    // Where the elements of a result come from.
    template <class From>
    merge_piece find_piece(const From& in, const merge_piece& result, index width) {
        const index first_run = result.right.begin;
        const range left{plan_.begin(first_run), plan_.begin(first_run + width)};
        const range right{left.end, plan_.begin(first_run + 2 * width)};
        const index begin = result.left.begin - left.begin;
        const index end = result.left.end - left.begin;
        const index from = merge_split(in, left, right, begin, *before_);
        const index to = merge_split(in, left, right, end, *before_);
        return {{left.begin + from, left.begin + to}, {right.begin + begin - from, right.begin + end - to}};
    }

    template <class From, class To>
    void merge_one(const From& in, const merge_piece& piece, const To& out, index to) {
        if constexpr (leaves_copies<From, To>) {
            merge_copies<T>(in, piece, out + to, *before_);
        } else {
            merge_moves(in, piece, out, to, *before_);
        }
    }

    // A piece's elements back to where they came from, in any order.
    template <class From, class To>
    static void undo(const From& in, const merge_piece& piece, const To& out, index to) noexcept {
        if constexpr (leaves_copies<From, To>) {
            return;  // they are still there
        } else {
            for (index i = piece.left.begin; i < piece.left.end; ++i, ++to)
                relocate(element(out, to), std::addressof(element(in, i)));
            for (index i = piece.right.begin; i < piece.right.end; ++i, ++to)
                relocate(element(out, to), std::addressof(element(in, i)));
        }
    }

    In in_;
    run_plan plan_;
    Compare* before_;
    bool stable_;
};

}  // namespace tauto::detail
