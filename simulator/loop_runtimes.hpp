#pragma once
// How each runtime distributes the rows of a loop: by the scheduling code of real threads, or by models of
// the libraries. A table in loop_runtimes.cpp lists the schedules of each runtime.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loop.hpp"
#include "loop_members.hpp"
#include "loop_memory.hpp"

namespace tauto::sim {

// The team as a runtime sees it. The objects that it points to must outlive it.
struct loop_team {
    const machine* on = nullptr;
    const loop_request* asked = nullptr;
    std::span<const loop_member> members;

    // The cost of a fork and join of this many members. `cold`: each reads more than its L2 cache holds.
    [[nodiscard]] nanoseconds fork_join(int width, bool cold = false) const;
};

// The next rows of a member, and the time to fetch them. No rows: none are left.
struct row_grant {
    range rows;
    nanoseconds fetch = 0;
};

// How one runtime distributes a loop. The calls for a loop come in this order: width, begin, then ask and
// next of the members in virtual time, left_behind, learn.
class loop_runtime {
  public:
    virtual ~loop_runtime() = default;

    // The number of members of the next loop.
    [[nodiscard]] virtual int width() { return static_cast<int>(team_.members.size()); }
    // The members, the caller first; a member's position is its index here.
    [[nodiscard]] virtual std::vector<actor_id> begin();
    // The time of the answer to a member that asks at `at` and has done `done`.
    [[nodiscard]] virtual nanoseconds ask(actor_id /*member*/, range /*done*/, nanoseconds at) { return at; }
    // The answer; `begun`: the member has done rows of this loop.
    [[nodiscard]] virtual row_grant next(int position, bool begun) = 0;
    // Rows that nobody took; the caller does them after the join.
    [[nodiscard]] virtual std::vector<range> left_behind() { return {}; }
    // Learns from a loop that ran from `launch` to `end`; `all`: the whole team.
    virtual void learn(std::span<const actor_id> /*took_part*/, std::span<const loop_progress> /*all*/,
                       nanoseconds /*launch*/, nanoseconds /*end*/) {}

    // It learns, so loops differ until it has settled.
    [[nodiscard]] virtual bool learns() const { return false; }
    // The caller asks later than the members that it has released.
    [[nodiscard]] virtual bool caller_asks_last() const { return false; }
    [[nodiscard]] virtual std::int64_t steals() const { return 0; }  // in this loop
    [[nodiscard]] virtual std::int64_t early_ends() const { return 0; }

  protected:
    explicit loop_runtime(const loop_team& team) : team_(team) {}
    [[nodiscard]] index size() const { return team_.asked->size; }
    [[nodiscard]] const machine& on() const { return *team_.on; }

    loop_team team_;
};

// Throws input_error for an unknown runtime or schedule.
std::unique_ptr<loop_runtime> make_runtime(const loop_team& team);

reading_habits habits_of(const loop_request& asked, std::size_t members);

}  // namespace tauto::sim
