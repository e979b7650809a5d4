#pragma once
// How members that share tasks wait where they find nothing to do: they spin, then yield, then sleep.
//
// Who changes something fences and looks whether somebody sleeps; who goes to sleep says so, fences and looks
// once more (Dekker's pattern). A sleep lasts 50 ms at most, so nothing but time depends on a wake.

#include <atomic>
#include <cstdint>
#include <thread>

#include <tauto/clock.hpp>
#include <tauto/wait.hpp>

namespace tauto::detail {

class idle_members {
  public:
    // `crowded`: members share CPUs, so nobody spins.
    explicit idle_members(bool crowded) noexcept;
    // The same again, for the next outermost call.
    void begin(bool crowded) noexcept;

    // There may be something to do, or a wait may have ended.
    void wake() noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        wake_if_seen();
    }
    // The same without the fence, which a task would feel: it may miss who says at this moment that it
    // sleeps.
    void wake_if_seen() noexcept {
        if (asleep_.load(std::memory_order_relaxed) > 0) wake_all();
    }
    // In a child that a body forked: there the other members do not exist.
    [[nodiscard]] bool are_gone() const noexcept;

  private:
    friend class idle_wait;
    void wake_all() noexcept;
    // Unless ready() after it was said.
    template <class Ready>
    void sleep(Ready& ready) noexcept {
        const std::uint32_t now = wakes_.load(std::memory_order_relaxed);
        asleep_.fetch_add(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!ready()) sleep_while(now);
        asleep_.fetch_sub(1, std::memory_order_relaxed);
    }
    // Ends a process in which the others are gone: the wait would have no end.
    void sleep_while(std::uint32_t now) noexcept;

    // Relaxed: who comes late from the call before may still look.
    std::atomic<unsigned> born_;  // fork generation
    std::atomic<bool> crowded_;
    std::int64_t yielding_;  // ticks
    alignas(128) std::atomic<std::uint32_t> wakes_{0};
    std::atomic<int> asleep_{0};
};

// One member's wait.
class idle_wait {
  public:
    explicit idle_wait(idle_members& all) noexcept : all_(all) {}
    // It found something to do.
    void begin_again() noexcept { turns_ = 0; }
    // It found nothing. ready(): it looks once more.
    template <class Ready>
    void pause(Ready&& ready) noexcept {
        if (++turns_ <= spins && !all_.crowded_.load(std::memory_order_relaxed)) return relax();
        if (turns_ == 1 || turns_ == spins + 1) since_ = ticks();
        if (ticks() - since_ < all_.yielding_) return std::this_thread::yield();
        all_.sleep(ready);
    }

  private:
    static constexpr std::int64_t spins = 1000;
    idle_members& all_;
    std::int64_t turns_ = 0;
    std::int64_t since_ = 0;
};

}  // namespace tauto::detail
