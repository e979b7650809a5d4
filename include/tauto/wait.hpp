#pragma once
// Waiting for another member: a budget of time to spin, then sleep in the kernel.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <tauto/clock.hpp>

namespace tauto {

// What a member does between loops, and the caller until the last member is back.
enum class wait_policy {
    active,    // spin for up to a second: lowest latency, costs a core
    balanced,  // spin about as long as recent gaps last, 2 ms at the most, then sleep (the default)
    passive,   // spin for the cost of a wake-up, then sleep
};

// "active", "balanced" or "passive"; throws tauto::error naming the three otherwise.
wait_policy wait_policy_from(std::string_view text);

namespace detail {

// What one turn of a spin loop does.
inline void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

// Sleeps while *word == expected; returns on a wake, a change, a signal, or for no reason.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;
// The same, but not longer than that.
void futex_wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                    std::chrono::nanoseconds time) noexcept;
// Wakes one sleeper; word is only used as an address.
void futex_wake(const std::atomic<std::uint32_t>& word) noexcept;
// Wakes all sleepers.
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

// Spins until *word differs from `current` or the budget is used. UMWAIT is used where the CPU has it once
// the wait is longer than a few microseconds. Returns the last value seen.
// Pairs with the release store of the thread that changes the word.
std::uint32_t spin_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t current,
                               std::int64_t budget_ticks) noexcept;

// How long to spin, learned from how long the recent waits were.
//
// Spinning up to the cost of a wake-up and then sleeping costs at most twice the optimal offline choice
// (competitive ratio 2; Karlin et al., "Empirical studies of competitive spinning", SOSP 1991). Where recent
// gaps are short, spinning through them is right; where they are longer than the cap, the wake-up's cost is
// all that is risked.
class spin_budget {
  public:
    explicit spin_budget(wait_policy policy) noexcept;
    // Ticks to spin in the wait that begins now.
    [[nodiscard]] std::int64_t ticks() const noexcept { return budget_; }
    // Tells how long a wait was in the end, sleeping included.
    void learn(std::int64_t waited_ticks) noexcept;
    // A wait that ended while spinning. It is not timed, since reading the clock would delay the answer:
    // the mean just shrinks a little, and grows back at the first wait that outlasts the budget.
    void note_short_wait() noexcept {
        mean_gap_ -= mean_gap_ / 64;
        if (policy_ == wait_policy::balanced) set_budget();
    }

  private:
    void set_budget() noexcept;
    wait_policy policy_;
    std::int64_t wake_ticks_;
    std::int64_t cap_ticks_;
    std::int64_t mean_gap_;
    std::int64_t budget_;
};

}  // namespace detail
}  // namespace tauto
