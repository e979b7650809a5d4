#pragma once
// The parts of a parallel region, run one after the other by a thread for each CPU.
//
// A region of GCC's OpenMP has as many equal parts as its team has threads. Where there are more of them than
// CPUs, each wants a thread of its own, which has to be woken up and to take its turn: some 30 µs a region.
// Here as many threads as CPUs take them, so a fast CPU gets more of them than a slow one. A part sees the
// number that its thread would have had. Parts that wait for each other are run on stacks of their own: who
// comes to a barrier is left there, and its runner goes on with the next part.

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "balance/waits/own_stack.hpp"

namespace tauto::balance {

inline constexpr std::uint32_t most_runners = 64;
inline constexpr std::uint32_t most_parts = 1024;

/// A loop or sections whose pieces the parts of a region share out among themselves: piece i is
/// begin + i * step, modulo 2^64.
struct shared_work {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  ///< behind the last piece
    std::uint64_t step = 1;
    std::uint64_t pieces = 0;
    std::uint64_t least = 1;  ///< pieces at a time
};

class part_row;

/// What the calling thread is in; see `part_in_row`.
struct running_part {
    part_row* row = nullptr;  ///< null: a region inside of a part, whose only part this is
    std::uint32_t number = 0;
    std::uint32_t count = 1;
    own_stack* stack = nullptr;  ///< null: it is on the stack of its thread
    std::uint32_t places = 0;    ///< where something is shared out, come to so far
    bool was_first = true;       ///< at the last of them
    std::uint64_t alone = 0;     ///< pieces taken of it, where nobody else can take any
    shared_work work{};          ///< there
    std::uint32_t section = 0;   ///< the last one that it was told of those there that it has taken
    std::uint32_t sections = 0;  ///< the last one of them
};

/// Null where the calling thread runs no part of a row.
running_part*& part_in_row() noexcept;

/// How a runner did in a run of a region: ns since it began, without those in which its parts waited for
/// others.
struct runner_seen {
    std::uint32_t parts = 0;
    double begun = 0;
    double ended = 0;
};

/// What a runner is told: all of its parts wait for those of others from now on, or no longer.
using runner_waits = void (*)(bool begins);

/// One region at a time, forked by one thread, which is runner 0, and runs part 0: a program may rely on that
/// (`master`). Only where nothing else would go on (`start_waiting`) may another thread go on with it.
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
/// - A part may wait for the others at a barrier only when each of them is run by then: who comes to one on
///   its thread's stack starts threads for all that nobody has begun; who comes on one of its own leaves
///   that, and its runner begins its other parts. A barrier is over when all that have not ended wait.
/// - `waits_at` of a part is 0, or 1 + the number of meetings before the one at which it waits, with nobody
/// on
///   its stack. Who makes it 0 again, once that meeting is over, goes on with the part: its runner, or a
///   thread that was started for it.
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
    /// With `on_stacks` (see make_stacks) each part is on one of its own.
    /// `work`: what parts share out from their begin on, not come to by any of them; null: nothing.
    void begin(void (*code)(void*), void* data, std::span<const std::uint32_t> counts,
               std::span<const double> speeds, bool on_stacks = false,
               const shared_work* work = nullptr) noexcept;

    /// Before the first run of so many parts on stacks: false where there is no memory for them.
    bool make_stacks(std::uint32_t parts) noexcept;

    /// By runner k: runs its parts, then those that it may take from others. How many it has run. Where its
    /// parts wait for those of others, it spins for as many ns before it sleeps.
    std::uint32_t run_parts(std::uint32_t runner, std::int64_t spins, runner_waits waits = nullptr) noexcept;

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
    /// The same for each part that may go on behind a barrier and with which nobody has gone on.
    void start_waiting() noexcept;
    /// It grows with each run and each meeting.
    std::uint64_t progress() const noexcept {
        return std::uint64_t{serial_.load(std::memory_order_acquire)} << 32 |
               meetings_.load(std::memory_order_acquire);
    }
    std::uint32_t meetings() const noexcept { return meetings_.load(std::memory_order_relaxed); }

    /// By a part: all parts meet here.
    void meet() noexcept;
    /// By a part that comes to a place where one part takes all: whether it is the one.
    bool take_single() noexcept;
    /// By a part that has come to a place with `work`, by `take_single`: the next pieces of it, as many more
    /// than `least` as leave others enough. False where none are left. Only the first `most_places` of a run
    /// are shared out; of others the first part takes all.
    bool take_pieces(std::uint64_t& first, std::uint64_t& end) noexcept;

    /// By the forking thread, after `join`.
    runner_seen seen(std::uint32_t runner) const noexcept { return seen_[runner]; }
    /// Parts came to a place where they wait for each other.
    bool has_met() const noexcept { return meets_.load(std::memory_order_relaxed); }
    /// Parts shared out the pieces of something.
    bool has_shared_out() const noexcept { return shares_out_.load(std::memory_order_relaxed); }
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
    bool run_here(std::uint32_t part) noexcept;
    bool enter(std::uint32_t part, bool begins) noexcept;
    static void run_on_stack(void* given);
    running_part self_of(std::uint32_t part) noexcept;
    std::uint32_t arrive(std::uint32_t part) noexcept;
    void wait_for_meeting(std::uint32_t at, std::int64_t spins) noexcept;
    bool go_on(std::uint32_t part) noexcept;
    void end_part() noexcept;
    void end_meeting_if_all_wait() noexcept;
    void start_thread(std::uint32_t part, bool begins) noexcept;
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
    shared_work work_;  // written before the words of the queues
    std::uint32_t given_ = 0;
    alignas(64) std::array<runner_seen, most_runners> seen_{};  // each is its runner's until the join
    alignas(64) std::atomic<std::uint32_t> left_{0};
    std::atomic<std::uint32_t> joiner_sleeps_{0};
    // Places where something is shared out and to which some part has come; each part comes to the same ones,
    // in the same order. And how many pieces of each are taken.
    std::atomic<std::uint32_t> places_{0};
    static constexpr std::uint32_t most_places = 64;
    std::array<std::atomic<std::uint64_t>, most_places> taken_{};
    std::atomic<bool> shares_out_{false};
    std::atomic<bool> meets_{false};
    std::atomic<bool> rescued_{false};
    std::atomic<bool> on_stacks_{false};
    pthread_mutex_t meeting_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t met_ = PTHREAD_COND_INITIALIZER;
    std::uint32_t waiting_ = 0;               // under `meeting_`
    std::atomic<std::uint32_t> meetings_{0};  // changes under `meeting_`
    struct strand {
        own_stack stack;
        running_part self;
        std::atomic<std::uint32_t> waits_at{0};
    };
    std::array<strand, most_parts> strands_{};  // of the parts, where they have stacks
    alignas(64) std::atomic<std::uint32_t> serial_{0};
    std::atomic<std::uint32_t> sleepers_{0};
};

namespace detail {
std::int64_t row_clock() noexcept;  // ns
void relax_cpu() noexcept;
}  // namespace detail

namespace detail {
/// Spins until `is_over()`, or for `spins()` ns; whether it is over.
template <class IsOver, class Spins>
bool spin_until(IsOver is_over, Spins spins) noexcept {
    constexpr int looks_at_the_clock_every = 32;
    std::int64_t began = 0;
    for (int looks = 0; !is_over(); ++looks) {
        if (looks % looks_at_the_clock_every != 0) {
            relax_cpu();
            continue;
        }
        const std::int64_t at = row_clock();
        if (began == 0) began = at;
        if (at - began >= spins()) return false;
    }
    return true;
}
}  // namespace detail

template <class Spins>
std::uint32_t part_row::wait_for_run(std::uint32_t seen, Spins spins) noexcept {
    std::uint32_t now = seen;
    const auto has_begun = [&] { return (now = serial_.load(std::memory_order_acquire)) != seen; };
    while (!detail::spin_until(has_begun, spins)) sleep_until_run(seen);
    return now;
}

}  // namespace tauto::balance
