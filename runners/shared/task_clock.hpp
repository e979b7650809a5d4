#pragma once
// A clock that is cheap enough to be read at both ends of a task of a microsecond, and orders its readings
// with the task.

#include <chrono>
#include <cstdint>
#include <limits>

#include "runners/shared/signed.hpp"
#include "runners/shared/timing.hpp"

namespace tauto::runner {

/// Ticks of the time-stamp counter on x86-64, else nanoseconds. One time for all threads. The fence is there
/// because the processor would otherwise read the counter while hundreds of instructions of the task are
/// still waiting: 100 bytes of FNV-1a would seem to take half their time.
inline std::int64_t task_ticks() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
#endif
}

/// One moment by both clocks. A thread that is held up between two readings has two moments. So the clocks
/// are read several times, and the readings count between which the fewest ticks passed.
class moment_of_both_clocks {
  public:
    moment_of_both_clocks() noexcept {
        constexpr int tries = 8;
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (int i = 0; i < tries; ++i) {
            const std::int64_t before = task_ticks();
            const double now = monotonic_seconds();
            const std::int64_t apart = task_ticks() - before;
            if (apart >= least) continue;
            least = apart;
            seconds = now;
            ticks = before + apart / 2;
        }
    }

    double seconds = 0;
    std::int64_t ticks = 0;
};

/// The length of a tick, by CLOCK_MONOTONIC over the time since this was made.
class tick_length {
  public:
    double seconds() const {
        const moment_of_both_clocks now;
        return (now.seconds - begin_.seconds) / as_double(now.ticks - begin_.ticks);
    }
    /// Seconds since this was made: the longer, the less an error of either clock counts.
    double age() const { return monotonic_seconds() - begin_.seconds; }

  private:
    moment_of_both_clocks begin_;
};

}  // namespace tauto::runner
