#pragma once
// Who did the work, and where it really ran.

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
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
        if (slot < max_slots) slots_[static_cast<std::size_t>(slot)].add(sched_getcpu(), rows);
    }

    std::vector<worker_rows> workers() const {
        std::vector<worker_rows> result;
        for (int slot = 0; slot < std::min(next_slot_.load(), max_slots); ++slot)
            for (const auto& [cpu, rows] : slots_[static_cast<std::size_t>(slot)].seen)
                if (rows > 0) result.push_back({slot, cpu, rows});
        return result;
    }

  private:
    static constexpr int max_slots = 4096;
    struct cpu_rows {
        int cpu;
        std::int64_t rows;
    };
    // No allocation and no tree: a schedule that learns from the workers' speeds must not learn from this. A
    // thread that wanders over more CPUs than there are entries adds to the last one.
    struct alignas(128) slot_rows {
        std::array<cpu_rows, 8> seen{};

        void add(int cpu, std::int64_t rows) {
            std::size_t i = 0;
            while (i + 1 < seen.size() && seen[i].rows > 0 && seen[i].cpu != cpu) ++i;
            if (seen[i].rows == 0) seen[i].cpu = cpu;
            seen[i].rows += rows;
        }
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
