#pragma once
// Which CPU each member is pinned to, and what the calling thread had before.

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tauto/machine.hpp>

namespace tauto::detail {

class pinning {
  public:
    // The CPU of each member, by rank. Not `wanted`: no thread is pinned.
    pinning(std::vector<int> cpus, bool wanted) : cpus_(std::move(cpus)), wanted_(wanted) {}
    // Of the calling thread to member 0's CPU; the destructor of the team undoes it by restore_caller.
    void pin_caller();
    void restore_caller() noexcept;
    // Of the calling thread, which is the worker `rank`.
    void pin_worker(int rank);

    [[nodiscard]] const std::vector<int>& cpus() const noexcept { return cpus_; }
    // False when the system refused to pin a member; notes() says which and why.
    [[nodiscard]] bool pinned() const noexcept { return pinned_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::vector<std::string> notes() const;

  private:
    // Pins the calling thread; false, with a note, where the system refuses.
    bool pin_to_cpu_of(int rank);

    std::vector<int> cpus_;
    bool wanted_;
    std::atomic<bool> pinned_{true};
    mutable std::mutex notes_mutex_;
    std::vector<std::string> notes_;
    pid_t caller_thread_ = 0;
    std::optional<cpu_set_t> caller_mask_;
};

// The machine as this thread would see it if no team had pinned it.
machine_record machine_without_pinning();

// The CPUs that this thread could use before a team pinned it, else those that it may use now.
std::vector<int> cpus_without_pinning();

}  // namespace tauto::detail
