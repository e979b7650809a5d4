#include "balance/effect.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tauto::balance {

namespace {

constexpr std::array<double, 3> stakes{0.3, 0.6, 0.9};
constexpr double enough = 20;         // evidence: wrong once in 20 programs that it does not help
constexpr double enough_against = 4;  // nothing is lost by leaving a program to Linux
constexpr double worth_it = 0.01;     // of the time: with less it is left alone
constexpr double to_win = 0.04;       // of what is reachable: with less it is not even tried
constexpr std::size_t most_tries = 40;
constexpr nanoseconds shortest_window = 60 * millisecond;
constexpr nanoseconds longest_window = 400 * millisecond;
constexpr nanoseconds rounds_in_window = 2;
constexpr nanoseconds first_rest = 10'000 * millisecond;
constexpr nanoseconds rest_when_equal = 1'000 * millisecond;
constexpr nanoseconds longest_rest = 160'000 * millisecond;
constexpr std::size_t first_spacing = 8;  // windows between two that are left alone
constexpr std::size_t last_spacing = 40;

}  // namespace

void evidence::add(bool heads) {
    if (wealth_.empty()) wealth_.assign(stakes.size(), 1.0);
    for (std::size_t i = 0; i < stakes.size(); ++i) wealth_[i] *= heads ? 1 + stakes[i] : 1 - stakes[i];
}

double evidence::value() const {
    if (wealth_.empty()) return 1.0;
    double sum = 0;
    for (const double one : wealth_) sum += one;
    return sum / static_cast<double>(wealth_.size());
}

effect::effect(unsigned seed) : chance_(seed) {}

nanoseconds effect::length(nanoseconds round) const {
    if (phase_ == phase::rests) return rest_;
    return std::clamp(rounds_in_window * round, shortest_window, longest_window);
}

paired_ratio effect::ratio() const {
    return detail::judge(logs_, 0.95, 1);
}

void effect::add(const window& seen) {
    switch (phase_) {
        case phase::watches:
            return watch(seen);
        case phase::tries:
            return try_with(seen);
        case phase::keeps:
            return keep_on(seen);
        case phase::rests:
            phase_ = phase::watches;
            balances_ = false;
    }
}

void effect::try_with(const window& seen) {
    open_.push_back(seen);
    if (open_.size() < 2) {
        balances_ = !seen.balanced;
        return;
    }
    add_pair(open_[0], open_[1]);
    if (phase_ == phase::tries) start_pair();
}

// A pair is a window that is left alone and, by lot, the one before or behind it.
void effect::keep_on(const window& seen) {
    const bool awaits_one_behind = open_.size() == 1 && !open_[0].balanced;
    if (seen.balanced && !awaits_one_behind) {
        if (until_pair_ > 0) {
            --until_pair_;
            return;
        }
        balances_ = false;  // the next
        if (chance_() & 1U) open_.push_back(seen);
        return;
    }
    open_.push_back(seen);
    balances_ = true;
    if (open_.size() < 2) return;
    add_pair(open_[0], open_[1]);
    if (phase_ != phase::keeps) return;
    open_.clear();
    spacing_ = std::min(last_spacing, 2 * spacing_);
    until_pair_ = spacing_;
}

void effect::watch(const window& seen) {
    if (seen.equal) return rest(rest_when_equal, "no CPU was faster than another");
    if (seen.work > (1 - to_win) * seen.reachable)
        return rest(rest_when_equal, "the threads kept the fastest CPUs busy by themselves");
    phase_ = phase::tries;
    tried_ = 0;
    helps_ = does_not_ = {};
    start_pair();
}

void effect::start_pair() {
    open_.clear();
    balances_ = (chance_() & 1U) != 0;
}

void effect::add_pair(const window& first, const window& second) {
    const window& balanced = first.balanced ? first : second;
    const window& alone = first.balanced ? second : first;
    ++tried_;
    if (balanced.work > 0 && alone.work > 0) {
        const double log = std::log(alone.work / alone.seconds) - std::log(balanced.work / balanced.seconds);
        logs_.push_back(log);
        helps_.add(log < -worth_it);
        // While it is kept, evidence against it starts again with each window in which it helps.
        if (phase_ == phase::keeps && log < -worth_it)
            does_not_ = {};
        else
            does_not_.add(log > -worth_it);
    }
    if (phase_ == phase::tries && helps_.value() >= enough) return keep();
    const bool over = does_not_.value() >= enough_against || (phase_ == phase::tries && tried_ >= most_tries);
    if (over) rest(first_rest, "no gain was seen against windows in which Linux was left alone");
}

void effect::keep() {
    phase_ = phase::keeps;
    balances_ = true;
    kept_ = true;
    reason_.clear();
    does_not_ = {};
    open_.clear();
    spacing_ = first_spacing;
    until_pair_ = spacing_;
}

void effect::rest(nanoseconds first, const std::string& reason) {
    rest_ = last_reason_ == reason && first == first_rest ? std::min(2 * rest_, longest_rest) : first;
    last_reason_ = reason;
    reason_ = reason;
    phase_ = phase::rests;
    balances_ = false;
}

}  // namespace tauto::balance
