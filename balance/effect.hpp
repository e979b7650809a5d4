#pragma once
// Whether balancing helps: windows in which it is done beside windows in which Linux is left alone.

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <tauto/sign_test.hpp>

#include "timer/clock.hpp"

namespace tauto::balance {

using timer::millisecond;
using timer::nanoseconds;

// Evidence that a coin falls on one side more often than on the other. If it does not, the chance that this
// ever reaches x, however long one looks, is at most 1 / x (a martingale; Ville's inequality).
class evidence {
  public:
    void add(bool heads);
    double value() const;

  private:
    std::vector<double> wealth_;
};

// What was seen in one window.
struct window {
    bool balanced = false;
    double seconds = 0;
    double work = 0;       // done, in seconds at speed 1
    double reachable = 0;  // with every thread at work on the fastest CPUs all the time
    bool equal = true;     // no CPU is faster than another
};

class effect {
  public:
    enum class phase {
        watches,  // left alone: is there anything to win?
        tries,    // windows of both kinds in turns
        keeps,    // balanced, but for a window now and then
        rests     // left alone until a later look
    };

    explicit effect(unsigned seed);

    // Whether the next window is balanced, and how long it is. `round`: how long the threads usually work
    // until they wait for each other.
    bool balances() const { return balances_; }
    nanoseconds length(nanoseconds round) const;
    phase now() const { return phase_; }
    // What was seen in the window that ends; decides what the next is.
    void add(const window& seen);

    // Time balanced over time left alone, over all pairs of windows: its median and 95 % interval.
    paired_ratio ratio() const;
    std::size_t pairs() const { return logs_.size(); }
    bool ever_kept() const { return kept_; }
    // Why it is left alone now, or was to the end.
    const std::string& reason() const { return reason_; }

  private:
    void watch(const window& seen);
    void try_with(const window& seen);
    void keep_on(const window& seen);
    void start_pair();
    void add_pair(const window& first, const window& second);
    void rest(nanoseconds first, const std::string& reason);
    void keep();

    std::mt19937 chance_;
    phase phase_ = phase::watches;
    bool balances_ = false;
    std::string reason_ = "it ended before anything could be measured";
    nanoseconds rest_ = 0;
    std::string last_reason_;
    std::vector<window> open_;  // of the pair
    evidence helps_;
    evidence does_not_;
    std::size_t tried_ = 0;
    std::size_t until_pair_ = 0;
    std::size_t spacing_ = 0;
    bool kept_ = false;
    std::vector<double> logs_;
};

}  // namespace tauto::balance
