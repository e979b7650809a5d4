#pragma once
// Which thread ran which task when, as a Chrome trace that ui.perfetto.dev opens.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// From begin to end in ticks of the task clock.
struct interval {
    std::int64_t begin;
    std::int64_t end;
    bool operator==(const interval&) const = default;
};

struct task_slice {
    std::int64_t task;
    interval time;
};

/// The parts of `whole` in which a thread ran none of `slices`, which are in order and do not overlap. Parts
/// shorter than `shortest` are left out.
std::vector<interval> gaps_of(const std::vector<task_slice>& slices, interval whole, std::int64_t shortest);

/// Records repetitions. add() is called by the workers; the rest by one thread, while they do nothing.
class timeline {
  public:
    void add(std::int64_t task, interval time);
    void add_repetition(interval time) { repetitions_.push_back(time); }

    /// Forgets everything but the memory, so that nothing is allocated while the next repetitions run.
    void clear();

    /// One track for each of `threads` and each thread that ran a task: a slice for each task, and one
    /// named "waiting" for each time of at least 0.1 microseconds between them within a repetition (less is
    /// what the two readings of the clock take).
    std::string chrome_trace(const std::string& title, double tick_seconds, std::set<int> threads) const;

  private:
    struct alignas(128) track {
        std::vector<task_slice> slices;
    };
    std::vector<interval> waits_of(const track& of_thread, double tick_seconds) const;

    std::unique_ptr<track[]> tracks_ = std::make_unique<track[]>(max_workers);
    std::vector<interval> repetitions_;
};

}  // namespace tauto::runner
