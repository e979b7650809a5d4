#pragma once
// Checks, while a program runs, that its CPU is still as slow as calibrated.

#include "emulator/calibration.hpp"
#include "emulator/thief.hpp"

namespace tauto::emulate {

// A probe would take time from the program, so the watch reads only the thief's counts. They do not show
// changes of the cost of a turn (the host's clock, caches). The thief pays part of that cost from its own CPU
// time; in a KVM guest both were seen to change together, so the overhead is scaled with it. An idle CPU uses
// other paths of the kernel, so only seconds in which programs kept it busy count.
class factor_watch {
  public:
    explicit factor_watch(const calibration& start);

    // The thief was started again; its tally begins at zero.
    void restart() { seen_ = {}; }
    // Reads the changes since the last call; returns the overhead that the thief should use from now on.
    double check(const thief_tally& tally, bool others_were_busy);

    bool measured() const { return wall_ > 0.0; }
    double factor() const { return wall_ / free_; }
    double busy_fraction() const { return processor_ / wall_; }
    std::int64_t interruptions() const { return interruptions_; }
    double interrupted_seconds() const { return interrupted_ * 1e-9; }

  private:
    calibration start_;
    thief_tally seen_;
    double overhead_;
    double wall_ = 0.0;
    double free_ = 0.0;
    double processor_ = 0.0;
    double interrupted_ = 0.0;
    std::int64_t interruptions_ = 0;
};

// Clock ticks (1/100 s) that a CPU has been idle since boot; -1 if /proc/stat does not have them.
long long idle_ticks(int cpu);

}  // namespace tauto::emulate
