#include "head_start.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <tauto/clock.hpp>
#include <tauto/signed.hpp>

namespace tauto::detail {
namespace {

std::int64_t ticks_alone() noexcept {
    static const std::int64_t found = to_ticks(std::chrono::microseconds(100));
    return found;
}

}  // namespace

head_start::way head_start::next() noexcept {
    if (!trying_) {
        alone_ = chosen_;
    } else if (trial_.in_second) {
        alone_ = !alone_;
    } else {
        alone_ = (chance_ >> 63U) != 0;
        chance_ = chance_ * 6364136223846793005U + 1442695040888963407U;
    }
    if (!alone_) return {};
    return {.alone = ticks_alone(), .wakes = longest_ > 3 * as_double(ticks_alone())};
}

void head_start::note(std::int64_t took) noexcept {
    longest_ = std::max(as_double(took), longest_ * (1 - 1.0 / 512));
    const double now = std::log(std::max(1.0, as_double(took)));
    const double weight = recent_ == 0 ? 1 : 1.0 / 16;
    recent_ += (now - recent_) * weight;
    distance_ += (std::abs(now - recent_) - distance_) * weight;
    if (trying_) {
        if (!std::exchange(trial_.in_second, !trial_.in_second)) {
            trial_.first = now;
        } else {
            note_pair(alone_ ? trial_.first - now : now - trial_.first);
            if (is_known()) choose(trial_.mean > 0);
        }
        return;
    }
    const bool changed = std::abs(recent_ - when_chosen_) > std::log(2.0) + distance_;
    if (changed) patience_ = least_patience;
    if (!changed && --calls_left_ > 0) return;
    trying_ = true;
    trial_ = {};
}

void head_start::note_pair(double at_once_by_alone) noexcept {
    ++trial_.pairs;
    const double before = at_once_by_alone - trial_.mean;
    trial_.mean += before / trial_.pairs;
    trial_.squares += before * (at_once_by_alone - trial_.mean);
}

bool head_start::is_known() const noexcept {
    const int n = trial_.pairs;
    if (n < 6) return false;
    const double error = std::sqrt(trial_.squares / (n - 1.0) / n);
    return n == 64 || std::abs(trial_.mean) > 3 * error;
}

void head_start::choose(bool alone) noexcept {
    patience_ = alone == chosen_ ? std::min(2 * patience_, most_patience) : least_patience;
    chosen_ = alone;
    calls_left_ = patience_;
    when_chosen_ = recent_;
    trying_ = false;
}

}  // namespace tauto::detail
