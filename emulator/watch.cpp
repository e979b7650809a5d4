#include "emulator/watch.hpp"

#include <algorithm>

namespace tauto::emulate {

namespace {

constexpr double pace = 0.5;  // of the way to the new overhead at each look

}  // namespace

factor_watch::factor_watch(const calibration& start, double factor)
    : start_(start), factor_(factor), overhead_(start.overhead_nanoseconds) {}

double factor_watch::look(double share) {
    const double turn = start_.turn_nanoseconds;
    const double left = turn * share - start_.witness_excess;
    seen_overhead_ = std::clamp(overhead_ + turn / factor_ - left, 0.0, turn);
    overhead_ += pace * (*seen_overhead_ - overhead_);
    return overhead_;
}

void factor_watch::count(const thief_tally& tally) {
    const auto turns = static_cast<double>(tally.turns - counted_.turns);
    if (turns <= 0.0) return;
    wall_ += static_cast<double>(tally.wall - counted_.wall);
    free_ += static_cast<double>(tally.gaps - counted_.gaps) -
             turns * seen_overhead_.value_or(start_.overhead_nanoseconds);
    processor_ += static_cast<double>(tally.processor - counted_.processor);
    interruptions_ += tally.interruptions - counted_.interruptions;
    interrupted_ += static_cast<double>(tally.interrupted - counted_.interrupted);
    counted_ = tally;
}

}  // namespace tauto::emulate
