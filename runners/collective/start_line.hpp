#pragma once
// Where ranks begin together: each says that it is ready, one names a moment a little ahead, and all begin
// when the clock says so. The same for threads and for processes that share memory, so that every engine is
// timed alike. A library's own barrier would not do: one that lets some ranks go earlier than others hides
// part of the next operation's time.

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

/// Nanoseconds of CLOCK_MONOTONIC: one time for all processes of a machine.
inline std::int64_t monotonic_nanoseconds() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// What one rank says to the others. It lies in memory that all ranks share, zero at first.
struct alignas(128) rank_line {
    std::atomic<std::uint64_t> arrived{
        0};                  // how often this rank was ready; release, pairs with rank 0's acquire
    std::int64_t wrong = 0;  // results that were not as they must be
};

/// What rank 0 says to the others.
struct alignas(128) lead_line {
    std::atomic<std::uint64_t> started{0};  // how often a moment was named; release, pairs with the acquire
    std::int64_t begin_nanoseconds = 0;     // the moment: plain, written before `started`
    std::int64_t value = 0;                 // what rank 0 decided, for all: plain, likewise
};

/// One rank's view of them.
class start_line {
  public:
    /// Bytes that the ranks share, each with room for `times` results.
    static std::size_t bytes(int ranks, std::size_t times) {
        return sizeof(lead_line) + usize(ranks) * (sizeof(rank_line) + times * sizeof(std::int64_t));
    }

    /// `memory` is 128-byte aligned and zero. More ranks than CPUs give way to each other while they wait.
    start_line(void* memory, int ranks, int rank, std::size_t times, bool crowded)
        : lead_{static_cast<lead_line*>(memory)},
          lines_{reinterpret_cast<rank_line*>(lead_ + 1)},
          times_{reinterpret_cast<std::int64_t*>(lines_ + ranks)},
          room_{times},
          ranks_{ranks},
          rank_{rank},
          crowded_{crowded} {}

    /// Waits for all ranks, then for the common moment. Returns it, in nanoseconds; `late` is set where this
    /// rank came later than that, so that its time says nothing.
    std::int64_t wait_to_begin(bool& late) {
        const std::int64_t begin = meet(lead_nanoseconds());
        std::int64_t now = monotonic_nanoseconds();
        late = !crowded_ && now > begin;
        while (now < begin) now = monotonic_nanoseconds();
        late = late || (!crowded_ && now > begin + tolerance_nanoseconds);
        return begin;
    }

    /// In nanoseconds, of the same clock.
    static std::int64_t now() noexcept { return monotonic_nanoseconds(); }

    /// Waits for all ranks. Rank 0's `value` comes out on all of them.
    std::int64_t agree(std::int64_t value) {
        meet(0, value);
        return lead_->value;
    }

    /// This rank's times of the repetitions since the last meeting; others' after the next one.
    std::int64_t* times(int rank) { return times_ + usize(rank) * room_; }

    /// A rank's count of wrong results, read by others after a meeting.
    std::int64_t& wrong(int rank) { return lines_[rank].wrong; }

  private:
    // Waking from a spin on another rank's line and reading the clock takes up to this long.
    static constexpr std::int64_t tolerance_nanoseconds = 200;

    // Long enough for every rank to see the moment before it comes.
    std::int64_t lead_nanoseconds() const { return crowded_ ? 0 : 600 + 150 * ranks_; }

    // What rank 0 says it writes when all have come: then no rank reads what it said at the last meeting.
    std::int64_t meet(std::int64_t ahead_nanoseconds, std::int64_t value = 0) {
        ++meeting_;
        int spins = 0;
        lines_[rank_].arrived.store(meeting_, std::memory_order_release);
        if (rank_ == 0) {
            for (int other = 1; other < ranks_; ++other)
                while (lines_[other].arrived.load(std::memory_order_acquire) < meeting_) relax(spins);
            lead_->value = value;
            lead_->begin_nanoseconds = monotonic_nanoseconds() + ahead_nanoseconds;
            lead_->started.store(meeting_, std::memory_order_release);
        } else {
            while (lead_->started.load(std::memory_order_acquire) < meeting_) relax(spins);
        }
        return lead_->begin_nanoseconds;
    }

    // Spins while the others can be expected at once. A rank that waits longer gives its CPU away, perhaps to
    // the rank that it waits for: on a busy machine the wait is then a microsecond and not a time slice.
    void relax(int& spins) const {
        if (crowded_ || ++spins > most_spins) {
            sched_yield();
            return;
        }
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    static constexpr int most_spins = 2000;

    lead_line* lead_;
    rank_line* lines_;
    std::int64_t* times_;
    std::size_t room_;
    int ranks_;
    int rank_;
    bool crowded_;
    std::uint64_t meeting_ = 0;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the lines are shared between processes");

}  // namespace tauto::runner
