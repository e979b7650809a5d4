#pragma once
// Threads that use one team take turns.

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include <tauto/clock.hpp>
#include <tauto/team.hpp>

#include "callers.hpp"
#include "launcher.hpp"

namespace tauto::detail {

// Where threads are as many as CPUs, an adaptive loop waits for no turn: it begins on its thread
// (team::run_beside), and looks between its pieces whether the turn is free. A loop that its thread runs
// alone gives the turn back and takes it again, where it is free then, to teach its model (team::run_alone).
//
// Who comes first has the turn first, but calls of low priority come after all others that wait. Who has no
// turn touches nothing of the team: a wrong guess that a loop sleeps costs a loop on one core, and never a
// wrong answer.
//
// clang-format off
// | state_ | the turn is                                      | changed by                             |
// |--------|--------------------------------------------------|----------------------------------------|
// | free   | nobody's, and nobody waits                       | who gives it back, with none waiting   |
// | taken  | somebody's, and nobody waits                     | who takes it                           |
// | wanted | somebody's; who gives it back looks at `waiting_`| who begins to wait, with queue_ locked |
// clang-format on
class turns {
  public:
    explicit turns(callers& of_cpus) noexcept : callers_(of_cpus) {}
    // Waits for the turn, as long as it takes.
    void take(bool low);
    // The same, unless the thread that has the turn and all members sleep from one look at them to the next.
    // Their loop then waits for something, perhaps for the calling thread: false, and no turn. The same where
    // the turn is kept.
    [[nodiscard]] bool take_unless_asleep(const launcher& members, bool low) {
        if (!take_if_free() && !wait_unless_asleep(members, low)) return false;
        note_holder();
        return true;
    }
    // Only where nobody has it and nobody waits.
    [[nodiscard]] bool take_at_once() noexcept {
        if (!take_if_free()) return false;
        note_holder();
        return true;
    }
    void give_back() noexcept {
        uncount();
        thread_.store(nullptr, std::memory_order_relaxed);
        unsigned char expected = taken;
        if (!state_.compare_exchange_strong(expected, free, std::memory_order_release)) pass_on();
    }
    // For who has the turn: it keeps it between its calls, until it says otherwise. A call that can do
    // without the turn does, once that has lasted a millisecond; one that waits already looks every 10 ms.
    void keep() noexcept {
        uncount();
        kept_since_.store(ticks(), std::memory_order_relaxed);
    }
    void keep_no_more() noexcept {
        kept_since_.store(0, std::memory_order_relaxed);
        count();
    }
    // For who has the turn and ends the team: who gave the turn back may not have let go of the queue yet.
    void await_queue() { const std::lock_guard lock(queue_); }
    [[nodiscard]] bool is_mine() const noexcept {
        return thread_.load(std::memory_order_relaxed) == this_thread();
    }

  private:
    // An address that no other living thread has.
    static const void* this_thread() noexcept { return &running_as; }
    void note_holder() noexcept;
    // For who has the turn.
    void count() noexcept {
        if (is_counted_ || !callers_.are_several_teams()) return;
        is_counted_ = true;
        callers_.turns.fetch_add(1, std::memory_order_relaxed);
    }
    void uncount() noexcept {
        if (std::exchange(is_counted_, false)) callers_.turns.fetch_sub(1, std::memory_order_relaxed);
    }
    [[nodiscard]] bool is_kept() const noexcept;
    [[nodiscard, gnu::cold]] bool wait_unless_asleep(const launcher& members, bool low);
    [[nodiscard]] bool take_if_free() noexcept {
        unsigned char expected = free;
        return state_.compare_exchange_strong(expected, taken, std::memory_order_acquire);
    }
    // At the end of the queue, or if it is not low, before the low ones. Asks give_up() every few
    // milliseconds: false when that has said yes.
    template <class GiveUp>
    bool wait_for_turn(bool low, GiveUp give_up);
    // To the first of the queue, if anybody is left in it.
    void pass_on() noexcept;
    void pass_on_locked() noexcept;

    struct place_in_queue;
    // On the stack of the thread that waits.
    struct waiter {
        bool low = false;
        bool has_turn = false;
        waiter* next = nullptr;
        std::condition_variable given;
    };
    static constexpr unsigned char free = 0;
    static constexpr unsigned char taken = 1;
    static constexpr unsigned char wanted = 2;
    callers& callers_;
    bool is_counted_ = false;  // of who has the turn
    std::atomic<unsigned char> state_{free};
    std::mutex queue_;
    waiter* waiting_ = nullptr;                 // who is next, first
    std::atomic<const void*> thread_{nullptr};  // whose turn it is: compared by each thread with itself alone
    std::atomic<pid_t> holder_{0};
    std::atomic<std::int64_t> kept_since_{0};  // ticks; 0: it is not. A hint: who waits looks again
};

// The turn of the calling thread while it lives, or none.
class team_turn {
  public:
    // Takes over a turn that this thread has; null: none.
    explicit team_turn(turns* taken) noexcept : taken_(taken) {}
    ~team_turn() { give_back(); }
    void give_back() noexcept {
        if (turns* const taken = std::exchange(taken_, nullptr)) taken->give_back();
    }
    team_turn(const team_turn&) = delete;
    team_turn& operator=(const team_turn&) = delete;
    explicit operator bool() const noexcept { return taken_ != nullptr; }

  private:
    turns* taken_;
};

}  // namespace tauto::detail
