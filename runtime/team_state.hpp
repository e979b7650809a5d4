#pragma once
// The private half of a team: its parts, one for each job.

#include <atomic>
#include <optional>
#include <vector>

#include <tauto/team.hpp>

#include "body_runner.hpp"
#include "callers.hpp"
#include "launcher.hpp"
#include "loop_runner.hpp"
#include "pinning.hpp"
#include "recorder.hpp"
#include "turns.hpp"

namespace tauto::detail {

struct team_state {
    // Pins the caller.
    team_state(cpu_choice from, wait_policy how, bool pin, worker_options workers);
    // Waits for a loop of another thread, ends the members, undoes the pin.
    ~team_state();
    team_state(const team_state&) = delete;
    team_state& operator=(const team_state&) = delete;

    // The turn that ends the team: behind all calls that wait, and after those that pause.
    [[nodiscard]] team_turn take_last_turn();
    // None where the loop that has the turn sleeps (turns.hpp). Starts the members where there are none: at
    // first, and in a child of fork. Throws tauto::error when the system gives no thread.
    [[nodiscard]] team_turn take_turn_unless_asleep(priority of = priority::normal);
    // The same without a turn.
    void start();
    // The same for a thread that calls, which a member may have started.
    void start_for_caller() {
        start();
        widen_caller();
    }
    // A thread has the turn, and it and all members sleep (turns.hpp); or a loop runs on its thread alone.
    [[nodiscard]] bool sleeps() noexcept;
    // True inside a body of this team.
    [[nodiscard]] bool runs_on_this_thread() const noexcept;

    wait_policy wait;
    team_cpus cpus;
    pinning pins;
    launcher members;
    recorder known;
    loop_runner loops;
    body_runner bodies;
    // In an optional, so that a forked child can have fresh ones.
    std::optional<turns> of_threads;
    // Loops that run on their own threads, between two turns (team::run_alone). The team ends after them:
    // each touches nothing of it once it has counted itself out, by a release that the destructor acquires.
    std::atomic<int> alone{0};
    // Loops that give their turn away and take it again (team::run_with_pauses). The same holds for them.
    std::atomic<int> pausing{0};
    static inline thread_local constinit team_state* alone_here = nullptr;
    // The same for such a loop as loop_state::nests.
    static inline thread_local constinit bool alone_nests = false;
};

// While it lives, a thread in a loop's one iteration, which has all members, is not beside a loop of theirs.
class not_beside {
  public:
    not_beside() noexcept {
        if (beside_ != nullptr) beside_->fetch_sub(1, std::memory_order_relaxed);
    }
    ~not_beside() {
        if (beside_ != nullptr) beside_->fetch_add(1, std::memory_order_relaxed);
    }
    not_beside(const not_beside&) = delete;
    not_beside& operator=(const not_beside&) = delete;

  private:
    std::atomic<int>* beside_ = running_as.has_all && team_state::alone_here != nullptr
                                    ? &team_state::alone_here->cpus.its_callers().beside
                                    : nullptr;
};

}  // namespace tauto::detail
