#pragma once
// A thief: a SCHED_FIFO thread pinned to one CPU, which takes a fixed share of that CPU's time.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tauto::emulate {

using nanoseconds = std::int64_t;

// The monotonic clock, in nanoseconds.
nanoseconds monotonic_now();

// Above threaded interrupt handlers (50), below the kernel's own watchdogs and migration threads (99).
constexpr int thief_priority = 60;
// Pins the calling thread to the CPU, before all programs there (SCHED_FIFO). 0, or the reason: EPERM,
// EINVAL.
int take_cpu(int cpu, int priority = thief_priority);

// The settings of a thief. In a turn it spins, then sleeps for a gap. Others get the gap less `overhead`, the
// cost of two context switches and a timer, so the CPU is turn / (gap - overhead) times slower.
struct thief_settings {
    nanoseconds period = 50'000;  // the shortest turn
    double factor = 2.0;          // > 1
    double overhead_nanoseconds = 0.0;
};

// The counts of a thief since its last start.
struct thief_tally {
    std::int64_t turns = 0;
    nanoseconds wall = 0;       // time on duty, interruptions left out
    nanoseconds gaps = 0;       // sum of the gaps
    nanoseconds processor = 0;  // CPU time of the thief's thread, the kernel's share of its switches included
    nanoseconds started = 0;    // monotonic time of the first steal
    nanoseconds stopped = 0;    // monotonic time of the end, 0 while on duty
    // Turns that began later than a timer can explain: the host or RT throttling took the CPU away.
    std::int64_t interruptions = 0;
    nanoseconds interrupted = 0;
    nanoseconds longest_interruption = 0;

    // The factor from the thief's own counts: time on duty over time that others got. NaN if nothing was
    // measured.
    double factor(double overhead_nanoseconds) const;
    double busy_fraction() const;  // processor over wall, 0 when nothing was measured
    double turn_nanoseconds() const;
};

class thief {
  public:
    // Throws std::system_error: EPERM without permission for SCHED_FIFO, EINVAL for an unusable CPU.
    explicit thief(int cpu);
    ~thief();
    thief(const thief&) = delete;
    thief& operator=(const thief&) = delete;

    // Only while stopped.
    void configure(const thief_settings& settings);
    // At any time: a new overhead from the next turn on.
    void adjust(double overhead_nanoseconds) {
        overhead_nanoseconds_.store(overhead_nanoseconds, std::memory_order_relaxed);
    }

    // Each returns when the change is effective. Starting clears the tally.
    void start();
    void stop();
    bool on_duty() const { return order_.load(std::memory_order_relaxed) == order::steal; }

    thief_tally tally() const;

  private:
    enum class order : int { rest, steal, leave };

    void live(int cpu);
    void steal();
    void publish(const thief_tally& tally, bool must);
    void obey(order given);

    thief_settings settings_;
    std::atomic<double> overhead_nanoseconds_{0.0};
    // order_ is stored by the owner and awaited by the thief; done_ is the answer, the other way round.
    // Release/acquire on each pair carries settings_ to the thief and the tally back.
    alignas(64) std::atomic<order> order_{order::rest};
    alignas(64) std::atomic<order> done_{order::leave};
    mutable std::mutex tally_mutex_;
    thief_tally tally_;
    int error_ = 0;
    std::thread thread_;
};

}  // namespace tauto::emulate
