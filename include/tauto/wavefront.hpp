#pragma once
// Tiles that need the sum of all tiles before them: the machinery of scans and of packing.
//
// A tile is done in two halves: its sum, then the rest, which must know the sum of the tiles before it. Where
// that sum is known when the tile is begun, both are done at once. Tiles are begun in ascending order, by
// whichever member asks next, so the sum before a tile is mostly known when its first half is done; then its
// second half follows, while its elements are in the member's cache.
// Where it is not known, the tile waits for the end: a slow or interrupted member holds nobody up. (With
// waiting in place of that it would be the look-back of Merrill and Garland, NVR-2016-002.)
//
// clang-format off
// | variable        | what it says                  | written by                       | pairs with                 |
// |-----------------|-------------------------------|----------------------------------|----------------------------|
// | known, summed   | `sum` may be read             | the tile's member, fetch_add      | who learns `before` later  |
// | known, prefixed | `before` may be read          | who was last at the tile before  | the tile's member          |
// | next            | tiles that have been begun    | every member, fetch_add          | -                          |
// | quickest        | ticks of the quickest tile    | every member; a lost one costs speed alone | -                |
// clang-format on
//
// Invariant: whoever sets the second of a tile's two bits, and nobody else, computes the next tile's
// `before`. So each is written once, before the release that its readers acquire.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/clock.hpp>
#include <tauto/wait.hpp>

namespace tauto::detail {

// Where a tile cannot be done at once.
struct in_halves {};

// Sum reduce(tile); Sum join(before, sum); void finish(tile, before, sum); and if there is such a way, Sum
// at_once(tile, before): the tile's sum, and its rest is done too. All are called from several threads at
// once, for each tile once (at_once in place of reduce and finish), and by the same member in ascending order
// of tiles.
template <class Sum, class Reduce, class Join, class Finish, class AtOnce = in_halves>
class wavefront {
  public:
    wavefront(index tiles, Sum first, Reduce reduce, Join join, Finish finish, AtOnce at_once = {})
        : tiles_(tiles),
          states_(usize(tiles + 1)),
          reduce_(std::move(reduce)),
          join_(std::move(join)),
          finish_(std::move(finish)),
          at_once_(std::move(at_once)) {
        states_[0].before.emplace(std::move(first));
        states_[0].known.store(prefixed, std::memory_order_relaxed);
    }

    // The sum of all tiles and of `first`.
    Sum run(team& members, const algorithm_options& options) {
        const auto begin = [this](range some) { begin_some(some); };
        run_loops(members, begin, loop_options_of(options, &site_of<decltype(begin)>), options);
        return total();
    }

    // The same; `where` is the call site. Sum alone(): does all in the shortest way, and returns the same.
    // For the member that gets all tiles.
    template <class Alone>
    Sum run(team& members, const algorithm_options& options, site& where, const Alone& alone) {
        std::optional<Sum> all;
        const auto begin = [&](range some) {
            if (some.size() < tiles_) return begin_some(some);
            all.emplace(alone());
        };
        run_loops(members, begin, loop_options_of(options, &where), options, [&] { return all.has_value(); });
        return all ? std::move(*all) : total();
    }

    // Begins as many tiles as there are in `some`, whichever are next. On several threads at once.
    void begin_some(range some) {
        bool patient = true;
        index row = 1;
        for (index left = some.size(); left > 0;) {
            const index count = std::min(left, row);
            left -= count;
            const index first = next_.fetch_add(count, std::memory_order_relaxed);
            const std::int64_t start = ticks();
            for (index tile = first; tile < first + count; ++tile)
                if (!done_at_once(tile)) sum_up(tile);
            if constexpr (tiles_in_a_row > 1) row = is_quick((ticks() - start) / count) ? tiles_in_a_row : 1;
            // The member before is as likely as not about to say it. A thread that was interrupted is not.
            const std::int64_t most_ticks = 4 * (ticks() - start);
            for (index tile = first; tile < first + count; ++tile) {
                const state& own = at(states_, tile);
                if (own.finished) continue;
                patient = await_prefix(own, patient ? most_ticks : 0);
                if (patient) finish_tile(tile);
            }
        }
    }

    // Once all have been begun: the tiles that are to be finished yet.
    [[nodiscard]] std::vector<index> late_tiles() const {
        std::vector<index> late;
        for (index tile = 0; tile < tiles_; ++tile)
            if (!at(states_, tile).finished) late.push_back(tile);
        return late;
    }
    void finish_tile(index tile) {
        state& own = at(states_, tile);
        finish_(tile, *own.before, *own.sum);
        own.finished = true;
    }
    [[nodiscard]] Sum total() { return std::move(*states_.back().before); }

    // For the explorer of verify/, which names it.
    [[nodiscard]] const std::atomic<unsigned>& known_of(index tile) const { return at(states_, tile).known; }

  private:
    static constexpr unsigned summed = 1;
    static constexpr unsigned prefixed = 2;
    // A processor fetches in advance what comes next. Where that is another member's tile, the two of them
    // take lines from each other; so a member begins a few tiles in a row.
    static constexpr index tiles_in_a_row = std::is_same_v<AtOnce, in_halves> ? 1 : 4;

    struct alignas(64) state {
        std::atomic<unsigned> known{0};
        bool finished = false;  // by the tile's member; read when all have ended
        std::optional<Sum> sum;
        std::optional<Sum> before;
    };

    // Whether a member that takes so long for a tile is no slow one, whose tiles in a row would hold up all.
    bool is_quick(std::int64_t of_a_tile) {
        const std::int64_t least = quickest_.load(std::memory_order_relaxed);
        if (of_a_tile < least) quickest_.store(of_a_tile, std::memory_order_relaxed);
        return of_a_tile / 2 <= least;
    }

    template <class Begin, class Done = std::false_type>
    void run_loops(team& members, const Begin& begin, const loop_options& first,
                   const algorithm_options& options, const Done& is_done = {}) {
        loop_to_end(members, tiles_, begin, first);
        if (is_done()) return;
        const std::vector<index> late = late_tiles();
        if (late.empty()) return;
        const std::int64_t start = ticks();
        const auto end = [&](index i) { finish_tile(at(late, i)); };
        loop_to_end(members, std::ssize(late), end, loop_options_of(options));
        members.charge(first, tiles_, ticks() - start);
    }

    void sum_up(index tile) {
        state& own = at(states_, tile);
        own.sum.emplace(reduce_(tile));
        if ((own.known.fetch_add(summed, std::memory_order_acq_rel) & prefixed) != 0) pass_on(tile);
    }

    // A tile of which all is known that is to be known.
    bool done_at_once([[maybe_unused]] index tile) {
        if constexpr (!std::is_same_v<AtOnce, in_halves>) {
            state& own = at(states_, tile);
            if ((own.known.load(std::memory_order_acquire) & prefixed) == 0) return false;
            own.sum.emplace(at_once_(tile, *own.before));
            own.finished = true;
            own.known.fetch_add(summed, std::memory_order_acq_rel);
            pass_on(tile);
            return true;
        }
        return false;
    }

    // Both bits of `tile` are set, the second one by this thread.
    void pass_on(index tile) {
        for (;; ++tile) {
            const state& own = at(states_, tile);
            state& next = at(states_, tile + 1);
            next.before.emplace(join_(*own.before, *own.sum));
            if ((next.known.fetch_add(prefixed, std::memory_order_acq_rel) & summed) == 0) return;
        }
    }

    static bool await_prefix(const state& own, std::int64_t most_ticks) {
        const std::int64_t start = ticks();
        while ((own.known.load(std::memory_order_acquire) & prefixed) == 0) {
            if (ticks() - start >= most_ticks) return false;
            relax();
        }
        return true;
    }

    index tiles_;
    std::vector<state> states_;
    Reduce reduce_;
    Join join_;
    Finish finish_;
    AtOnce at_once_;
    alignas(64) std::atomic<index> next_{0};
    std::atomic<std::int64_t> quickest_{std::numeric_limits<std::int64_t>::max()};  // of those seen so far
};

}  // namespace tauto::detail
