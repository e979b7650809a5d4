#pragma once
// A clock that is cheap enough to be read at both ends of a task of a microsecond, and orders its readings
// with the task.

#include <chrono>
#include <cstdint>

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

/// The length of a tick, by CLOCK_MONOTONIC over the time since this was made.
class tick_length {
  public:
    double seconds() const { return age() / as_double(task_ticks() - begin_ticks_); }
    /// Seconds since this was made: the longer, the less an error of either clock counts.
    double age() const { return monotonic_seconds() - begin_seconds_; }

  private:
    double begin_seconds_ = monotonic_seconds();
    std::int64_t begin_ticks_ = task_ticks();
};

}  // namespace tauto::runner
