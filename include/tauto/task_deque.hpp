#pragma once
// One member's tasks that wait to be run: it adds and takes at one end, others steal at the other.
//
// The deque of Chase and Lev, with the orders of Lê, Pop, Cohen and Zappa Nardelli ("Correct and efficient
// work-stealing for weak memory models", PPoPP 2013), but for two: `bottom` is stored with release, where
// they have a fence before a relaxed store; and `top` is changed with acq_rel, where they have seq_cst,
// because in C++20 the two fences order reads as well. It has a fixed size; what does not fit is run at once
// by its owner.
//
// clang-format off
// | variable | what it says                        | who changes it                                     |
// |----------|-------------------------------------|----------------------------------------------------|
// | bottom   | where the owner adds the next task  | the owner                                          |
// | top      | the oldest task that is still there | a thief, or the owner for the last one, by         |
// |          |                                     | compare-exchange, upwards                          |
// | items[i] | the task at i modulo the size, and  | the owner, when top has passed it                  |
// |          | the scope that it was made in       |                                                    |
// clang-format on
//
// Invariant: the tasks in [top, bottom) are those that nobody has been given. Owner and thief can want the
// same one only if it is the last; then the compare-exchange on `top` decides. The two fences (Dekker's
// pattern) let the owner see the thief's `top`, or the thief the owner's lowered `bottom`. A thief that wins
// has read the item that is at `top`: both words of it, and before anybody was given it.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <tauto/scopes.hpp>
#include <tauto/signed.hpp>

namespace tauto::detail {

template <class Task, std::size_t Size = 512>
class task_deque {
  public:
    static_assert((Size & (Size - 1)) == 0);

    struct given {
        Task* task = nullptr;
        scope made_in = no_scope;
    };

    // The owner's. False where it is full.
    [[nodiscard]] bool add(Task* task, scope made_in = no_scope) noexcept {
        const std::int64_t bottom = bottom_.load(std::memory_order_relaxed);
        if (bottom - top_.load(std::memory_order_acquire) >= static_cast<std::int64_t>(Size)) return false;
        item& here = item_at(bottom);
        here.task.store(task, std::memory_order_relaxed);
        here.made_in.store(made_in, std::memory_order_relaxed);
        bottom_.store(bottom + 1, std::memory_order_release);
        return true;
    }

    // The owner's: the newest task, or null.
    [[nodiscard]] given take() noexcept {
        const std::int64_t bottom = bottom_.load(std::memory_order_relaxed) - 1;
        bottom_.store(bottom, std::memory_order_release);  // a thief that reads it may take an older task
        std::atomic_thread_fence(std::memory_order_seq_cst);
        std::int64_t top = top_.load(std::memory_order_relaxed);
        if (top < bottom) return item_at(bottom).read();
        given last;
        if (top == bottom &&
            top_.compare_exchange_strong(top, top + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
            last = item_at(bottom).read();
        bottom_.store(bottom + 1, std::memory_order_release);
        return last;
    }

    // Anybody's: the oldest task if wanted(the scope that it was made in), or null where there is none or
    // another one got it.
    template <class Wanted>
    [[nodiscard]] given steal(Wanted&& wanted) noexcept {
        std::int64_t top = top_.load(std::memory_order_acquire);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (top >= bottom_.load(std::memory_order_acquire)) return {};
        const given oldest = item_at(top).read();
        if (!wanted(oldest.made_in) ||
            !top_.compare_exchange_strong(top, top + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
            return {};
        return oldest;
    }

    // The owner's: grows with each task that it adds, and falls with each that it takes.
    [[nodiscard]] std::int64_t level() const noexcept { return bottom_.load(std::memory_order_relaxed); }

    // The owner's: how many there are at least, and at most until the next steal.
    [[nodiscard]] std::int64_t size() const noexcept {
        return bottom_.load(std::memory_order_relaxed) - top_.load(std::memory_order_relaxed);
    }

    // For the explorer of verify/, which names them.
    [[nodiscard]] const std::atomic<std::int64_t>& top() const noexcept { return top_; }
    [[nodiscard]] const std::atomic<std::int64_t>& bottom() const noexcept { return bottom_; }

  private:
    struct item {
        std::atomic<Task*> task{nullptr};
        std::atomic<scope> made_in{no_scope};
        [[nodiscard]] given read() const noexcept {
            return {task.load(std::memory_order_relaxed), made_in.load(std::memory_order_relaxed)};
        }
    };
    [[nodiscard]] item& item_at(std::int64_t i) noexcept {
        return items_[static_cast<std::size_t>(i) & (Size - 1)];
    }

    alignas(128) std::atomic<std::int64_t> top_{0};
    alignas(128) std::atomic<std::int64_t> bottom_{0};
    std::array<item, Size> items_{};
};

}  // namespace tauto::detail
