#pragma once
// Who did the work, and where it really ran.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace tauto::runner {

/// Rows that one thread computed on one CPU.
struct worker_rows {
    int thread;  ///< numbered from 0 in the order of their first rows
    int cpu;
    std::int64_t rows;
};

/// Counts rows by thread and CPU. add() is called by the workers; the rest by one thread, after they have
/// joined. One account at a time in a process.
class work_account {
  public:
    void add(std::int64_t rows) {
        thread_local int slot = -1;
        if (slot < 0) slot = next_slot_.fetch_add(1, std::memory_order_relaxed);
        if (slot < max_slots) slots_[static_cast<std::size_t>(slot)].rows_by_cpu[sched_getcpu()] += rows;
    }

    std::vector<worker_rows> workers() const {
        std::vector<worker_rows> result;
        for (int slot = 0; slot < std::min(next_slot_.load(), max_slots); ++slot)
            for (const auto& [cpu, rows] : slots_[static_cast<std::size_t>(slot)].rows_by_cpu)
                result.push_back({slot, cpu, rows});
        return result;
    }

  private:
    static constexpr int max_slots = 4096;
    struct alignas(64) slot_rows {
        std::map<int, std::int64_t> rows_by_cpu;
    };
    std::unique_ptr<slot_rows[]> slots_ = std::make_unique<slot_rows[]>(max_slots);
    std::atomic<int> next_slot_{0};
};

inline std::set<int> threads_of(const std::vector<worker_rows>& workers) {
    std::set<int> threads;
    for (const auto& worker : workers) threads.insert(worker.thread);
    return threads;
}

inline std::set<int> cpus_of(const std::vector<worker_rows>& workers) {
    std::set<int> cpus;
    for (const auto& worker : workers) cpus.insert(worker.cpu);
    return cpus;
}

}  // namespace tauto::runner
