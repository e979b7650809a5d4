#pragma once
// Measures the overhead of a thief's turn by the slowdown of a probe.

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "emulator/thief.hpp"

namespace tauto::emulate {

constexpr double factor_tolerance = 0.05;

struct calibration {
    double factor = 1.0;  // reached: median speed of the probe alone over its speed with the thief
    // The same of reads from behind the L2 cache. After each turn a part of what the CPU knew of its data is
    // gone.
    double reading_factor = 1.0;
    double overhead_nanoseconds = 0.0;  // of a turn: time that the others lose besides the thief's own time
    double turn_nanoseconds = 0.0;
    double witness_excess = 0.0;  // of a turn, in nanoseconds: what a witness gets more than the probe
    double busy_fraction = 0.0;   // CPU time of the thief over wall time
    nanoseconds period = 0;       // the shortest turn allowed
    bool met = false;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(calibration, factor, reading_factor, overhead_nanoseconds,
                                   turn_nanoseconds, witness_excess, busy_fraction, period, met)

// One measurement of the probe without the thief, then with it.
struct sample {
    double factor;
    double overhead_nanoseconds;
    double turn_nanoseconds;
    double busy_fraction;
    std::optional<double> witness_excess = std::nullopt;
};

double median(std::vector<double> values);

// The cost of a turn, from the thief's counts and the probe.
sample judge(const thief_tally& tally, double rate_alone, double rate_with_thief);

// The shortest turns to try for a factor, in order. Turns that leave only a few microseconds free are left
// out, because a drift of the overhead would change the factor.
std::vector<nanoseconds> periods_to_try(double factor, nanoseconds asked);

// Calibrates `idle_thief`, which is left stopped and configured. The calling thread becomes the probe and is
// pinned to `cpu`. `asked_period` 0: choose. Takes 1.1 s as a rule, and three times as long or more if the
// factor is not reached. A factor that is not reached throws nothing.
calibration calibrate(thief& idle_thief, int cpu, double factor, nanoseconds asked_period);

// The longest turn that is accepted, and the largest busy fraction that RT throttling leaves alone.
nanoseconds longest_turn(nanoseconds asked_period);
double largest_busy_fraction();

}  // namespace tauto::emulate
