#pragma once
// Who worked and who waited in each loop. A worker that spins waits: only calls of the body count as work.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runners/shared/task_clock.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// One loop, from before its fork until after its join, in seconds; `working` by worker.
struct loop_work {
    double seconds;
    std::vector<double> working;
};

class waiting_account {
  public:
    /// Loops beyond this number are only summed up.
    static constexpr std::size_t most_shown = 64;

    /// A loop of so many ticks has ended; its workers have joined and have added their ticks to `account`.
    void add(std::int64_t ticks, const work_account& account) {
        if (count(ticks)) show(ticks, account.ticks_by_worker());
    }

    /// The same of workers that are processes; `now`: the ticks of each until now.
    void add(std::int64_t ticks, const std::vector<std::int64_t>& now) {
        if (count(ticks)) show(ticks, now);
    }

    std::int64_t loops() const { return loops_; }
    double seconds() const { return as_double(ticks_) * tick_seconds(); }
    double tick_seconds() const { return tick_.seconds(); }

    /// The first loops.
    std::vector<loop_work> shown() const {
        std::vector<loop_work> found = shown_;
        const double tick = tick_seconds();
        for (loop_work& loop : found) {
            loop.seconds *= tick;
            for (double& ticks : loop.working) ticks *= tick;
        }
        return found;
    }

  private:
    // True for a loop that is shown.
    bool count(std::int64_t ticks) {
        ++loops_;
        ticks_ += ticks;
        return shown_.size() < most_shown;
    }

    void show(std::int64_t ticks, const std::vector<std::int64_t>& now) {
        before_.resize(now.size());
        std::vector<double> working;
        for (std::size_t worker = 0; worker < now.size(); ++worker)
            working.push_back(as_double(now[worker] - before_[worker]));
        before_ = now;
        shown_.push_back({as_double(ticks), std::move(working)});
    }

    tick_length tick_;
    std::int64_t loops_ = 0;
    std::int64_t ticks_ = 0;
    std::vector<std::int64_t> before_;
    std::vector<loop_work> shown_;  // in ticks
};

}  // namespace tauto::runner
