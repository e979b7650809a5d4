#pragma once
// The tiles of a scan of numbers. Each member has the same part of them in each call, and finds their
// elements in its cache. The member with the front knows the sum before its tiles and does them in one pass.
// The others sum theirs up meanwhile. Then all tiles that are left are finished from the sums before them.
// The loop's model learns how many tiles the front has: its member takes longer for one, as a slow member
// does.
//
// clang-format off
// | variable | what it says                                | written by                 | pairs with                |
// |----------|---------------------------------------------|----------------------------|---------------------------|
// | done     | tiles done, from the front; `before` is the sum before the next one | the owner of tile `done` | itself, in the next owner |
// | sums     | of the tiles behind                         | each tile's owner          | the end of the loop       |
// clang-format on
//
// Invariant: each tile is handed out once, and `done` is the owner of tile `done`'s to change. It passes no
// tile that was summed up. So `before` is written by one member at a time, and the next one acquires `done`.

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/clock.hpp>

namespace tauto::detail {

// Sum reduce(tile); Sum join(before, sum); void finish(tile, before); Sum at_once(tile, before): the
// tile's sum, and its rest is done too. All are called from several threads at once, for each tile once
// (at_once in place of reduce and finish).
template <class Sum, class Reduce, class Join, class Finish, class AtOnce>
class scan_front {
  public:
    scan_front(index tiles, Sum first, Reduce reduce, Join join, Finish finish, AtOnce at_once)
        : sums_(usize(tiles)),
          reduce_(std::move(reduce)),
          join_(std::move(join)),
          finish_(std::move(finish)),
          at_once_(std::move(at_once)),
          before_(first) {}

    // Does all tiles.
    void run(team& members, const algorithm_options& options) {
        const auto begin = [this](range some) { begin_some(some); };
        const loop_options first = loop_options_of(options, &site_of<decltype(begin)>);
        loop_to_end(members, std::ssize(sums_), begin, first);
        const range rest = late();
        if (rest.size() == 0) return;
        const std::int64_t start = ticks();
        const auto end = [&](index i) { finish_tile(rest.begin + i); };
        loop_to_end(members, rest.size(), end, loop_options_of(options));
        members.charge(first, std::ssize(sums_), ticks() - start);
    }

    // Tiles that were handed to the member that calls it. On several threads at once.
    void begin_some(range some) {
        index tile = some.begin;
        if (!some.empty() && done_.load(std::memory_order_acquire) == tile) {
            Sum before = before_;
            for (; tile < some.end; ++tile) before = join_(before, at_once_(tile, before));
            before_ = before;
            done_.store(tile, std::memory_order_release);
        }
        for (; tile < some.end; ++tile) at(sums_, tile) = reduce_(tile);
    }

    // Once all have been begun: the tiles that are to be finished yet. Each of their sums becomes what is
    // before the tile.
    [[nodiscard]] range late() {
        const index done = done_.load(std::memory_order_relaxed);
        Sum before = before_;
        for (index tile = done; tile < std::ssize(sums_); ++tile)
            at(sums_, tile) = std::exchange(before, join_(before, at(sums_, tile)));
        return {done, std::ssize(sums_)};
    }
    void finish_tile(index tile) { finish_(tile, at(sums_, tile)); }

    // For the explorer of verify/, which names it.
    [[nodiscard]] const std::atomic<index>& done() const noexcept { return done_; }

  private:
    std::vector<Sum> sums_;
    Reduce reduce_;
    Join join_;
    Finish finish_;
    AtOnce at_once_;
    alignas(64) std::atomic<index> done_{0};
    Sum before_;
};

}  // namespace tauto::detail
