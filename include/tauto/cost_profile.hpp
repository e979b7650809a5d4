#pragma once
// What the iterations of a loop cost, by their place in it: learned from chunks that were timed.

#include <algorithm>
#include <array>

#include <tauto/cost_order.hpp>
#include <tauto/range.hpp>

namespace tauto::detail {

// Costs of the loops of a site. Pure. A loop of n has min(n, 128) blocks, in which iterations count as equal.
// Loops with as many blocks share what is known.
class cost_profile {
  public:
    static constexpr index most_blocks = cost_order::most_parts;

    [[nodiscard]] static index blocks_of(index n) noexcept { return std::min(n, most_blocks); }
    [[nodiscard]] bool known(index n) const noexcept { return calls_ > 0 && blocks_of(n) == blocks_; }
    // Timed calls so far.
    [[nodiscard]] int calls() const noexcept { return calls_; }

    // A chunk of a loop of n took so long, on a member of speed 1. All chunks of a call, then end_call().
    void note(index n, range chunk, double time) noexcept;
    void end_call() noexcept;

    // The time of a chunk on a member of speed 1; only where known(n).
    [[nodiscard]] double cost(index n, range chunk) const noexcept;
    // The part of the whole loop that the most expensive block is.
    [[nodiscard]] double largest() const noexcept { return largest_; }
    // The parts of a loop of n by falling cost, each of a block or of neighbours that together take `least`;
    // not the speeds. O(b log b) for b blocks.
    void sort(index n, double least, cost_order& order) const noexcept;

  private:
    // fold(block, part of the chunk in it) for each block of a chunk.
    template <class Fold>
    void for_each_block(index n, range chunk, Fold&& fold) const noexcept;

    index blocks_ = 0;
    int calls_ = 0;
    double largest_ = 0;
    std::array<double, most_blocks> costs_{};  // by block: time of an iteration
    std::array<double, most_blocks> time_{};   // of this call
    std::array<double, most_blocks> seen_{};   // iterations of this call
};

}  // namespace tauto::detail
