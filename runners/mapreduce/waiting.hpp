#pragma once
// Where the time goes in which a CPU runs no task: waking up, taking the next one, or no task being left.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runners/mapreduce/timeline.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// Ticks of the task clock, summed over CPUs and repetitions. Together with the tasks' own they are all the
/// ticks that the CPUs had.
struct waiting_parts {
    std::int64_t starting =
        0;  ///< until a thread's first task; where it got none, until the last one is begun
    std::int64_t between = 0;    ///< from the end of a thread's task to the begin of its next
    std::int64_t unfed = 0;      ///< behind a thread's last task, while others begin further ones
    std::int64_t ending = 0;     ///< after the last task was begun, until the last one has ended
    std::int64_t returning = 0;  ///< after the last task has ended, until the caller goes on
    bool operator==(const waiting_parts&) const = default;
};

/// add() is called by the workers; the rest by one thread, while they do nothing.
class waiting_account {
  public:
    /// One worker on each CPU, or fewer.
    explicit waiting_account(std::size_t cpus) : cpus_{cpus} {}

    void add(interval task) {
        const int worker = this_worker();
        if (worker >= max_workers) return;
        for (int known = known_.load(std::memory_order_relaxed); known <= worker;)
            if (known_.compare_exchange_weak(known, worker + 1, std::memory_order_relaxed)) break;
        slot& own = at(slots_, worker);
        if (own.tasks++ == 0) own.first_begin = task.begin;
        own.last_begin = task.begin;
        own.last_end = task.end;
        own.inside += task.end - task.begin;
    }

    /// A repetition has ended: its parts are added, and the next one begins with nothing.
    void end_repetition(interval whole);

    [[nodiscard]] const waiting_parts& parts() const { return parts_; }

    /// More workers ran tasks than there are CPUs: they displaced each other, so that no part can be told.
    [[nodiscard]] bool shared_cpus() const { return shared_cpus_; }

  private:
    struct alignas(128) slot {
        std::int64_t tasks = 0;
        std::int64_t first_begin = 0;
        std::int64_t last_begin = 0;
        std::int64_t last_end = 0;
        std::int64_t inside = 0;
    };
    std::size_t cpus_;
    std::atomic<int> known_{0};  // workers with lower numbers may have run tasks
    std::unique_ptr<slot[]> slots_ = std::make_unique<slot[]>(max_workers);
    waiting_parts parts_;
    bool shared_cpus_ = false;
};

}  // namespace tauto::runner
