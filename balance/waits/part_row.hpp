#pragma once
// The parts of a parallel region, run one after the other by a thread for each CPU.
//
// A region of GCC's OpenMP has as many equal parts as its team has threads. Where there are more of them than
// CPUs, each wants a thread of its own, which has to be woken up and to take its turn: some 30 µs a region.
// Here as many threads as CPUs take them, so a fast CPU gets more of them than a slow one. A part sees the
// number that its thread would have had.

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace tauto::balance {

inline constexpr std::uint32_t most_runners = 64;
inline constexpr std::uint32_t most_parts = 1024;

class part_row;

/// What the calling thread is in; see `part_in_row`.
struct running_part {
    part_row* row = nullptr;  ///< null: a region inside of a part, whose only part this is
    std::uint32_t number = 0;
    std::uint32_t count = 1;
    std::uint32_t singles = 0;  ///< places where one part takes all, come past so far
    unsigned section = 0;       ///< of those that it has taken
    unsigned sections_left = 0;
};

/// Null where the calling thread runs no part of a row.
running_part*& part_in_row() noexcept;

/// How a runner did in a run of a region: ns since it began.
struct runner_seen {
    std::uint32_t parts = 0;
    double begun = 0;
    double ended = 0;
};

/// One region at a time, forked by one thread, which is runner 0, and runs part 0: a program may rely on that
/// (`master`).
///
/// Invariants:
/// - A queue is the numbers of its parts that nobody has begun, with the run that they belong to: one word,
///   which changes by compare-exchange but for the start of a run. So each part is taken once. It is taken
///   only where `serial_` names the same run, which it does when all queues are full: who comes to a barrier
///   then finds all that nobody has begun.
/// - As long as a part has not ended, the run has not, and what the run is (`code_`, `data_`, `count_`,
///   `begun_at_`) stays as it is.
/// - `left_` is the number of parts that have not ended. The forking thread begins another run only when it
///   is 0, and nobody can take anything then.
/// - A part may wait for the others at a barrier only when each of them has a thread: who comes to one
///   starts threads for all that nobody has begun. A barrier is over when all that have not ended wait.
///
/// Memory orders: the word of a queue is released at the start of a run and acquired by who takes a part of
/// it, so he sees what the run is. `left_` is an acquire and a release, so the end of a run comes after all
/// that its parts did. Who sleeps says so before he looks, and who changes something looks after that:
/// `sleepers_` and `serial_`, `joiner_sleeps_` and `left_`, `meets_` and `left_` are sequentially consistent.
/// verify/row.pml has the steps.
class part_row {
  public:
    /// Starts a thread that runs `code` once, and is joined by nobody; false where none can be started.
    using starter = bool (*)(void* (*code)(void*), void* data);

    explicit constexpr part_row(starter starts) noexcept : starts_(starts) {}

    /// By the forking thread. `counts`: how many parts each runner shall take, at most `most_runners`, with a
    /// sum of at most `most_parts`. The first is the forking thread's own, so it has one at least. Runner k
    /// may take what runner j has not begun where `speeds[k]` is not clearly below `speeds[j]`.
    void begin(void (*code)(void*), void* data, std::span<const std::uint32_t> counts,
               std::span<const double> speeds) noexcept;

    /// By runner k: runs its parts, then those that it may take from others. How many it has run.
    std::uint32_t run_parts(std::uint32_t runner) noexcept;

    /// By the forking thread, when it finds nothing more to run: until all parts have ended. It spins for as
    /// many ns before it sleeps.
    void join(std::int64_t spins) noexcept;

    /// By another runner: the number of the run that begins after `seen`. It spins for `spins()` ns before it
    /// sleeps. A run may have ended already.
    template <class Spins>
    std::uint32_t wait_for_run(std::uint32_t seen, Spins spins) noexcept;
    std::uint32_t runs() const noexcept { return serial_.load(std::memory_order_acquire); }

    /// Whether a run is on, at this moment.
    bool runs_now() const noexcept { return left_.load(std::memory_order_acquire) != 0; }

    /// By anybody: each part of this run that nobody has begun gets a thread of its own. The end of the
    /// process where the system has none, as in GCC's runtime.
    void start_unbegun(std::uint32_t run) noexcept;

    /// By a part: all parts meet here.
    void meet() noexcept;
    /// By a part that comes to a place where one part takes all: whether it is the one.
    bool take_single() noexcept;

    /// By the forking thread, after `join`.
    runner_seen seen(std::uint32_t runner) const noexcept { return seen_[runner]; }
    /// Parts came to a place where they wait for each other, or where one takes all.
    bool has_met() const noexcept {
        return meets_.load(std::memory_order_relaxed) || singles_.load(std::memory_order_relaxed) != 0;
    }
    /// A part had a thread of its own.
    bool was_rescued() const noexcept { return rescued_.load(std::memory_order_relaxed); }

    /// In the child of a fork, which has no other thread.
    void forget_runners() noexcept;

  private:
    struct alignas(64) queue {
        std::atomic<std::uint64_t> word{0};  // run, first, end
    };
    struct part_alone;

    static std::uint64_t pack(std::uint32_t run, std::uint32_t first, std::uint32_t end) noexcept {
        return std::uint64_t{run} << 32 | std::uint64_t{first} << 16 | end;
    }
    template <class Take>
    bool take(std::uint32_t runner, std::uint32_t& part, std::uint32_t run, Take from) noexcept;
    bool take_first(std::uint32_t runner, std::uint32_t& part, std::uint32_t run) noexcept;
    bool take_last(std::uint32_t runner, std::uint32_t& part, std::uint32_t run) noexcept;
    bool take_of_others(std::uint32_t runner, std::uint32_t& part, std::uint32_t run) noexcept;
    void run_part(std::uint32_t part, runner_seen* seen) noexcept;
    void end_part() noexcept;
    void end_meeting_if_all_wait() noexcept;
    void sleep_until_run(std::uint32_t seen) noexcept;
    static void* run_alone(void* given);

    starter starts_;
    std::array<queue, most_runners> queues_{};
    std::array<std::atomic<double>, most_runners> speeds_{};
    std::atomic<std::uint32_t> runners_{0};
    // Of this run.
    std::atomic<void (*)(void*)> code_{nullptr};
    std::atomic<void*> data_{nullptr};
    std::atomic<std::uint32_t> count_{0};
    std::atomic<std::int64_t> begun_at_{0};
    alignas(64) std::array<runner_seen, most_runners> seen_{};  // each is its runner's until the join
    alignas(64) std::atomic<std::uint32_t> left_{0};
    std::atomic<std::uint32_t> joiner_sleeps_{0};
    std::atomic<std::uint32_t> singles_{0};  // places where somebody has taken all
    std::atomic<bool> meets_{false};
    std::atomic<bool> rescued_{false};
    pthread_mutex_t meeting_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t met_ = PTHREAD_COND_INITIALIZER;
    std::uint32_t waiting_ = 0;   // under `meeting_`
    std::uint32_t meetings_ = 0;  // under `meeting_`
    alignas(64) std::atomic<std::uint32_t> serial_{0};
    std::atomic<std::uint32_t> sleepers_{0};
};

namespace detail {
std::int64_t row_clock() noexcept;  // ns
void relax_cpu() noexcept;
}  // namespace detail

template <class Spins>
std::uint32_t part_row::wait_for_run(std::uint32_t seen, Spins spins) noexcept {
    constexpr int looks_at_the_clock_every = 32;
    std::int64_t began = 0;
    for (int looks = 0;; ++looks) {
        const std::uint32_t now = serial_.load(std::memory_order_acquire);
        if (now != seen) return now;
        if (looks % looks_at_the_clock_every != 0) {
            detail::relax_cpu();
            continue;
        }
        const std::int64_t at = detail::row_clock();
        if (began == 0) began = at;
        if (at - began >= spins()) sleep_until_run(seen);
    }
}

}  // namespace tauto::balance
