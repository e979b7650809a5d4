#pragma once
// Which CPUs the teams of the process have, and the threads that call those of the same CPUs: these are in
// each other's way, whichever of the teams they call.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <tauto/clock.hpp>

#include "forks.hpp"

namespace tauto::detail {

// Of all teams that have the same CPUs. Relaxed: hints.
struct alignas(128) callers {
    explicit callers(std::vector<int> sorted) : cpus(std::move(sorted)) {}

    // Threads that run a loop without the turn of its team, and such as wait for it.
    std::atomic<int> beside{0};
    std::atomic<int> waiting{0};
    // Turns that threads have and do not merely keep; counted while there are several teams (turns.hpp).
    std::atomic<int> turns{0};
    std::atomic<int> teams{0};
    // In ticks, when a loop ended that ran beside others: its thread may be back at once. 0: long ago.
    std::atomic<std::int64_t> left{0};

    const std::vector<int> cpus;
    callers* next = nullptr;  // in the list of all; it and the next under locks_of_process().rooms
    unsigned generation = current_fork_generation();

    [[nodiscard]] bool are_several_teams() const noexcept {
        return teams.load(std::memory_order_relaxed) > 1;
    }
    // Who has a turn, who waits for one, those beside, and one more have all CPUs.
    [[nodiscard]] bool have_all() const noexcept;
    // Those beside leave one CPU at most: more than one member would be in their way.
    [[nodiscard]] bool others_have_all() const noexcept {
        const int others = beside.load(std::memory_order_relaxed);
        return others > 0 && others + 1 >= size();
    }
    // For who has no turn and would fork.
    [[nodiscard]] bool leave_a_cpu() noexcept {
        return !others_have_all() && turns.load(std::memory_order_relaxed) <= 0 && !some_left_just_now();
    }
    // In a child of fork nobody of them lives on but the thread that forked, which begins anew.
    void forget_parents() noexcept;

  private:
    [[nodiscard]] int size() const noexcept { return static_cast<int>(cpus.size()); }
    [[nodiscard]] bool some_left_just_now() noexcept {
        const std::int64_t when = left.load(std::memory_order_relaxed);
        if (when == 0) return false;
        const std::int64_t since = ticks() - when;
        if (since >= 0 && since < moment) return true;  // less than nothing: another CPU's counter differs
        left.store(0, std::memory_order_relaxed);
        return false;
    }

    const std::int64_t moment = to_ticks(std::chrono::microseconds(100));
};

// What a team may have.
struct cpu_choice {
    std::vector<int> list;  // the best first
    int size = 0;           // members; with more of them than CPUs, these are dealt out in turn
    bool named = false;     // the program says which member has which
};

// A living team's CPUs.
class team_cpus {
  public:
    // Unless they are named, the members get the CPUs that other threads' teams use least, and member 0 the
    // one of these on which the fewest such teams begin. Of equal ones the first in the list counts.
    explicit team_cpus(cpu_choice from);
    ~team_cpus();
    team_cpus(const team_cpus&) = delete;
    team_cpus& operator=(const team_cpus&) = delete;

    [[nodiscard]] const std::vector<int>& by_rank() const noexcept { return by_rank_; }
    // Of those that nobody named: some other thread's team has its member 0 where this one has it. Then the
    // maker is not to be pinned: of three pinned threads on two CPUs two would share one all the time.
    [[nodiscard]] bool others_begin_there() const noexcept { return others_begin_there_; }
    // A team whose CPUs were named has its own: members 0 of several may have the same one.
    [[nodiscard]] callers& its_callers() const noexcept { return *callers_; }

  private:
    void put_least_used_first(std::vector<int>& list, std::size_t size);
    [[nodiscard]] callers* callers_of(std::vector<int> cpus) const;

    std::vector<int> by_rank_;
    std::uint64_t maker_;
    bool named_;
    bool others_begin_there_ = false;
    team_cpus* next_ = nullptr;  // in the list of all, under locks_of_process().rooms
    callers* callers_ = nullptr;
};

}  // namespace tauto::detail
