#pragma once
// How far a member's speed can be told from noise: where iterations cost now much and now little, who had the
// dear ones looks slow.

#include <algorithm>
#include <cmath>
#include <utility>

namespace tauto::detail {

class speed_noise {
  public:
    // What was measured now: the member's speed by the mean one.
    void note(double ratio) noexcept {
        const double now = (ratio - 1) / (ratio + 1);  // near half the logarithm, with no rounding of its own
        const double off = now - mean_;
        const bool far = seen_ > 0 && off * off > far_off * std::max(spread_, least_spread);
        if (std::exchange(waits_, false)) {
            // Twice in a row, and alike: the machine has changed, and what was known is of another one.
            if (far && std::abs(now - waiting_) < 0.5 * std::abs(off)) {
                mean_ = spread_ = 0;
                seen_ = 0;
            }
            add(waiting_);
            return add(now);
        }
        if (!far) return add(now);
        waits_ = true;
        waiting_ = now;
    }
    // Which part of a difference in speed to believe, from 0 (it may be noise) to 1. What was seen once is
    // believed.
    [[nodiscard]] double trust() const noexcept {
        if (seen_ < 2) return 1;
        const double error = spread_ / std::min(seen_ - 1, most_weight);  // the variance of mean_
        return std::max(0.0, 1 - doubt * error / std::max(mean_ * mean_, 1e-12));
    }

  private:
    static constexpr double far_off = 9;            // three times the spread, squared
    static constexpr double least_spread = 0.0014;  // with this one 25 % are far: a loop may have none
    static constexpr double most_weight = 6;        // so many values count
    static constexpr double doubt = 4;              // two standard errors, squared
    void add(double now) noexcept {
        seen_ = std::min(seen_ + 1, most_weight + 1);
        const double weight = std::max(0.25, 1 / seen_);
        const double off = now - mean_;
        mean_ += weight * off;
        spread_ = (1 - weight) * (spread_ + weight * off * off);
    }
    double mean_ = 0;
    double spread_ = 0;  // variance
    double seen_ = 0;
    double waiting_ = 0;  // it was far
    bool waits_ = false;
};

}  // namespace tauto::detail
