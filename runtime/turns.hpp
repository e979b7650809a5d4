#pragma once
// Threads that use one team take turns.

#include <sys/types.h>

#include <atomic>
#include <mutex>

#include <tauto/team.hpp>

#include "launcher.hpp"

namespace tauto::detail {

// Who has no turn touches nothing of the team: a wrong guess that a loop sleeps costs a loop on one core, and
// never a wrong answer.
class turns {
  public:
    // Waits for the turn, as long as it takes.
    void take() {
        turn_.lock();
        note_holder();
    }
    // The same, unless the thread that has the turn and all members sleep from one look at them to the next.
    // Their loop then waits for something, perhaps for the calling thread: false, and no turn.
    [[nodiscard]] bool take_unless_asleep(const launcher& members);
    void give_back() noexcept {
        thread_.store(nullptr, std::memory_order_relaxed);
        turn_.unlock();
    }
    [[nodiscard]] bool is_mine() const noexcept {
        return thread_.load(std::memory_order_relaxed) == this_thread();
    }

  private:
    // An address that no other living thread has.
    static const void* this_thread() noexcept { return &running_as; }
    void note_holder() noexcept;

    std::timed_mutex turn_;
    std::atomic<const void*> thread_{nullptr};  // whose turn it is: compared by each thread with itself alone
    std::atomic<pid_t> holder_{0};
};

// The turn of the calling thread while it lives, or none.
class team_turn {
  public:
    // Takes over a turn that this thread has; null: none.
    explicit team_turn(turns* taken) noexcept : taken_(taken) {}
    ~team_turn() {
        if (taken_ != nullptr) taken_->give_back();
    }
    team_turn(const team_turn&) = delete;
    team_turn& operator=(const team_turn&) = delete;
    explicit operator bool() const noexcept { return taken_ != nullptr; }

  private:
    turns* taken_;
};

}  // namespace tauto::detail
