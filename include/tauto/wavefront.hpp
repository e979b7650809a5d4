#pragma once
// Tiles that need the sum of all tiles before them: the machinery of scans and of packing.
//
// A tile is done in two halves: its sum, then the rest, which must know the sum of the tiles before it. Tiles
// are begun in ascending order, by whichever member asks next, so the sum before a tile is mostly known when
// its first half is done; then its second half follows at once, while its elements are in the member's cache.
// Where it is not known, the tile waits for the end: a slow or interrupted member holds nobody up. (With
// waiting in place of that it would be the look-back of Merrill and Garland, NVR-2016-002.)
//
// clang-format off
// | variable        | what it says                  | written by                       | pairs with                 |
// |-----------------|-------------------------------|----------------------------------|----------------------------|
// | known, summed   | `sum` may be read             | the tile's member, fetch_add      | who learns `before` later  |
// | known, prefixed | `before` may be read          | who was last at the tile before  | the tile's member          |
// | next            | tiles that have been begun    | every member, fetch_add          | -                          |
// clang-format on
//
// Invariant: whoever sets the second of a tile's two bits, and nobody else, computes the next tile's
// `before`. So each is written once, before the release that its readers acquire.

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/clock.hpp>
#include <tauto/wait.hpp>

namespace tauto::detail {

// Sum reduce(tile); Sum join(before, sum); void finish(tile, before, sum). All are called from several
// threads at once, for each tile once, and by the same member in ascending order of tiles.
template <class Sum, class Reduce, class Join, class Finish>
class wavefront {
  public:
    wavefront(index tiles, Sum first, Reduce reduce, Join join, Finish finish)
        : tiles_(tiles),
          states_(usize(tiles + 1)),
          reduce_(std::move(reduce)),
          join_(std::move(join)),
          finish_(std::move(finish)) {
        states_[0].before.emplace(std::move(first));
        states_[0].known.store(prefixed, std::memory_order_relaxed);
    }

    // The sum of all tiles and of `first`.
    Sum run(team& members, const algorithm_options& options) {
        const auto begin = [this](range some) { begin_some(some); };
        loop_to_end(members, tiles_, begin, loop_options_of(options));
        const std::vector<index> late = late_tiles();
        const auto end = [&](index i) { finish_tile(at(late, i)); };
        loop_to_end(members, std::ssize(late), end, loop_options_of(options));
        return total();
    }

    // Begins as many tiles as there are in `some`, whichever are next. On several threads at once.
    void begin_some(range some) {
        bool patient = true;
        for (index i = some.begin; i < some.end; ++i) {
            const index tile = next_.fetch_add(1, std::memory_order_relaxed);
            state& own = at(states_, tile);
            const std::int64_t start = ticks();
            own.sum.emplace(reduce_(tile));
            if ((own.known.fetch_add(summed, std::memory_order_acq_rel) & prefixed) != 0) pass_on(tile);
            // The member before is as likely as not about to say it. A thread that was interrupted is not.
            if (patient) patient = await_prefix(own, 4 * (ticks() - start));
            if ((own.known.load(std::memory_order_acquire) & prefixed) != 0) finish_tile(tile);
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

    struct alignas(64) state {
        std::atomic<unsigned> known{0};
        bool finished = false;  // by the tile's member; read when all have ended
        std::optional<Sum> sum;
        std::optional<Sum> before;
    };

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
            if (ticks() - start > most_ticks) return false;
            relax();
        }
        return true;
    }

    index tiles_;
    std::vector<state> states_;
    Reduce reduce_;
    Join join_;
    Finish finish_;
    alignas(64) std::atomic<index> next_{0};
};

}  // namespace tauto::detail
