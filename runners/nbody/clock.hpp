#pragma once
// The time in which a block is measured: the machine's, or a simulated machine's, in which work costs what a
// model says.

#include <cstdint>

#include "runners/shared/task_clock.hpp"

namespace tauto::runner {

/// Work that a member has just done, counted as in cost_model.
struct block_work {
    double pairs = 0.0;
    double summed_targets = 0.0;  ///< targets whose forces were summed
    double sources = 0.0;         ///< predicted
    double targets = 0.0;         ///< packed, predicted, corrected
    double puts = 0.0;            ///< targets written back
    double scanned = 0.0;         ///< particles among which the next block was found, by a bit of each
    double words = 0.0;           ///< added to others of a sum that several members have parts of
    double blocks = 0.0;
};

/// The clock of this machine. What a work costs shows by itself. Threads may share one.
class machine_clock {
  public:
    /// The same work takes another time each time.
    static constexpr bool is_exact = false;

    std::int64_t ticks() const noexcept { return task_ticks(); }
    /// By CLOCK_MONOTONIC over the time since this was made; waits until that is a millisecond.
    double tick_seconds() const {
        while (tick_.age() < 1e-3) {
        }
        return tick_.seconds();
    }
    void spend(const block_work&) noexcept {}
    void begin_blocks() noexcept {}
    void end_blocks() noexcept {}

  private:
    tick_length tick_;
};

}  // namespace tauto::runner
