#pragma once
// The private half of a team: its parts, one for each job.

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include <tauto/team.hpp>

#include "body_runner.hpp"
#include "launcher.hpp"
#include "loop_runner.hpp"
#include "pinning.hpp"
#include "recorder.hpp"

namespace tauto::detail {

// The turn of the calling thread, while it lives.
class team_turn {
  public:
    team_turn(std::mutex& turn, std::atomic<const void*>& holder) : lock_(turn), holder_(holder) {
        holder_.store(this_thread(), std::memory_order_relaxed);
    }
    ~team_turn() { holder_.store(nullptr, std::memory_order_relaxed); }
    team_turn(const team_turn&) = delete;
    team_turn& operator=(const team_turn&) = delete;

    // An address that no other living thread has.
    static const void* this_thread() noexcept { return &current; }

  private:
    std::lock_guard<std::mutex> lock_;
    std::atomic<const void*>& holder_;
};

struct team_state {
    // Pins and starts the members. Throws tauto::error when the system gives no thread.
    team_state(std::vector<int> cpus, wait_policy how, bool pin);
    // Waits for a loop of another thread, ends the members, undoes the pin.
    ~team_state();
    team_state(const team_state&) = delete;
    team_state& operator=(const team_state&) = delete;

    // Held by the calling thread while it lives. In a child of fork it starts the members anew.
    [[nodiscard]] team_turn take_turn();
    // True inside a body of this team.
    [[nodiscard]] bool runs_on_this_thread() const noexcept;

    wait_policy wait;
    bool oversubscribed;
    pinning pins;
    launcher members;
    recorder known;
    loop_runner loops;
    body_runner bodies;
    // Held by the thread whose turn it is. In an optional, so that a forked child can have a fresh one.
    std::optional<std::mutex> turn;
    // The thread whose turn it is: compared by each thread with itself alone.
    std::atomic<const void*> turn_holder{nullptr};
};

}  // namespace tauto::detail
