#pragma once
// Checks, while a program runs, that its CPU is as slow as was asked.

#include <optional>

#include "emulator/calibration.hpp"
#include "emulator/thief.hpp"

namespace tauto::emulate {

// What a turn costs changes within a second on a shared host, by 2 of the 12 µs that factor 4 leaves of a
// turn of 50 µs: then the factor is 3.3 or 5. So a witness looks several times a second, and the gaps follow
// what it saw.
class factor_watch {
  public:
    factor_watch(const calibration& start, double factor);

    // A witness saw that others get this share of the time. Returns the overhead that the thief should use
    // from now on. The last one must be in use.
    double look(double share);
    // The thief was started again; its tally begins at zero.
    void restart() { counted_ = {}; }
    // Adds the thief's counts since the last call, with the overhead that was seen last.
    void count(const thief_tally& tally);

    bool measured() const { return wall_ > 0.0; }
    double factor() const { return wall_ / free_; }
    double busy_fraction() const { return processor_ / wall_; }
    std::int64_t interruptions() const { return interruptions_; }
    double interrupted_seconds() const { return interrupted_ * 1e-9; }

  private:
    calibration start_;
    double factor_;
    thief_tally counted_;
    double overhead_;                      // in use
    std::optional<double> seen_overhead_;  // by the last witness
    double wall_ = 0.0;
    double free_ = 0.0;
    double processor_ = 0.0;
    double interrupted_ = 0.0;
    std::int64_t interruptions_ = 0;
};

}  // namespace tauto::emulate
