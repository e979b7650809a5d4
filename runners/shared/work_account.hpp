#pragma once
// Who did the work, and where it really ran.

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

/// Workers with numbers from here on are not accounted for.
inline constexpr int max_workers = 4096;

namespace detail {
inline std::atomic<int> next_worker{0};
inline thread_local int worker_number = -1;
}  // namespace detail

/// Number of the calling thread: from 0 in the order in which threads first asked.
inline int this_worker() {
    if (detail::worker_number < 0)
        detail::worker_number = detail::next_worker.fetch_add(1, std::memory_order_relaxed);
    return detail::worker_number;
}

/// Makes the calling thread worker `number`, for runtimes that start new threads all the time; all workers of
/// such a runtime must be numbered so.
inline void become_worker(int number) {
    detail::worker_number = number;
}

/// Rows, or tasks, that one thread did on one CPU.
struct worker_share {
    int thread;
    int cpu;
    std::int64_t amount;
    std::int64_t ticks = 0;  ///< of the task clock, where it was read
};

/// Holds each worker that comes until `expected` workers have come, or until `patience` is over. Workers that
/// sleep here leave their CPUs to those that have not come yet.
class roll_call {
  public:
    roll_call(std::size_t expected, std::chrono::duration<double> patience)
        : expected_{expected}, end_{clock::now() + std::chrono::duration_cast<clock::duration>(patience)} {}

    bool over() const { return clock::now() >= end_; }

    /// Invariant: `came_` is the number of workers whose flag is set. Relaxed order is enough: the count
    /// alone decides who goes on, and what workers wrote is read after they have joined.
    void come(int worker) {
        if (!at(has_come_, worker).exchange(true, std::memory_order_relaxed))
            came_.fetch_add(1, std::memory_order_relaxed);
        while (came_.load(std::memory_order_relaxed) < expected_ && !over())
            std::this_thread::sleep_for(std::chrono::microseconds{50});
    }

  private:
    using clock = std::chrono::steady_clock;
    std::size_t expected_;
    clock::time_point end_;
    std::atomic<std::size_t> came_{0};
    std::unique_ptr<std::atomic<bool>[]> has_come_ = std::make_unique<std::atomic<bool>[]>(max_workers);
};

/// Counts rows, or tasks, by thread and CPU. add() is called by the workers; the rest by one thread, after
/// they have joined. With a roll call, add() returns when the call lets the worker go on.
class work_account {
  public:
    work_account() = default;
    explicit work_account(roll_call& call) : call_{&call} {}

    void add(std::int64_t amount, std::int64_t ticks = 0) {
        const int worker = this_worker();
        if (worker >= max_workers) return;
        at(slots_, worker).add(sched_getcpu(), amount, ticks);
        if (call_) call_->come(worker);
    }

    std::vector<worker_share> workers() const {
        std::vector<worker_share> result;
        for (int worker = 0; worker < max_workers; ++worker)
            for (const auto& share : at(slots_, worker).seen)
                if (share.amount > 0) result.push_back({worker, share.cpu, share.amount, share.ticks});
        return result;
    }

    /// Ticks until now of each worker that was numbered by this_worker().
    std::vector<std::int64_t> ticks_by_worker() const {
        const int known = std::min(detail::next_worker.load(std::memory_order_relaxed), max_workers);
        std::vector<std::int64_t> found;
        for (int worker = 0; worker < known; ++worker) {
            std::int64_t ticks = 0;
            for (const auto& share : at(slots_, worker).seen) ticks += share.ticks;
            found.push_back(ticks);
        }
        return found;
    }

  private:
    struct cpu_share {
        int cpu;
        std::int64_t amount;
        std::int64_t ticks;
    };
    // No allocation and no tree: a schedule that learns from the workers' speeds must not learn from this. A
    // thread that wanders over more CPUs than there are entries adds to the last one.
    struct alignas(128) slot {
        std::array<cpu_share, 8> seen{};

        void add(int cpu, std::int64_t amount, std::int64_t ticks) {
            std::size_t i = 0;
            while (i + 1 < seen.size() && seen[i].amount > 0 && seen[i].cpu != cpu) ++i;
            if (seen[i].amount == 0) seen[i].cpu = cpu;
            seen[i].amount += amount;
            seen[i].ticks += ticks;
        }
    };
    std::unique_ptr<slot[]> slots_ = std::make_unique<slot[]>(max_workers);
    roll_call* call_ = nullptr;
};

inline std::set<int> threads_of(const std::vector<worker_share>& workers) {
    std::set<int> threads;
    for (const auto& worker : workers) threads.insert(worker.thread);
    return threads;
}

inline std::set<int> cpus_of(const std::vector<worker_share>& workers) {
    std::set<int> cpus;
    for (const auto& worker : workers) cpus.insert(worker.cpu);
    return cpus;
}

}  // namespace tauto::runner
