#pragma once
// Whether balancing helps, and which way: windows in which it is done beside windows in which Linux is left
// alone.

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <tauto/sign_test.hpp>

#include "timer/clock.hpp"

namespace tauto::balance {

using timer::millisecond;
using timer::nanoseconds;

// What is done with the threads.
enum class way {
    alone,    // nothing: Linux places them
    moves,    // who has done least gets the fastest CPU
    seats,    // each stays on a CPU, and loops are shared out by speed
    fastest,  // all stay on the fastest CPUs
};
constexpr std::size_t ways = 4;
const char* in_words(way one);

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
    way done = way::alone;
    double seconds = 0;
    double work = 0;            // done, in seconds at speed 1
    double busy = 0;            // of what was reachable, by the time that CPUs worked
    double reachable = 0;       // with every thread at work on the fastest CPUs all the time
    double of_fastest = 0;      // the same on CPUs that are as fast as the fastest
    double round = 0;           // seconds between two places that all threads come past; 0: not known
    bool counted = false;       // `work` was counted, not estimated by the speeds of CPUs
    bool agreed = false;        // it was estimated, and waits say as much
    double spun = 0;            // of the CPU time: the part in which threads waited unseen, which is no work
    bool equal = true;          // no CPU is faster than another
    bool by_itself = true;      // one is slow by itself, not because of others there
    std::vector<way> possible;  // besides leaving it alone, the most promising first

    double rate() const { return seconds > 0 ? work / seconds : 0; }
    // Work a second that threads on the fastest CPUs alone can do. What is estimated is their CPU time.
    double most_of_fastest() const;
    // No CPU waits for another: no other way can do much more.
    bool is_near_the_bound() const;
    // The threads keep the fastest CPUs busy by themselves: nothing that is worth it can be won.
    bool seems_busy() const;
};

class effect {
  public:
    enum class phase {
        watches,  // left alone: is there anything to win?
        looks,    // one window of each way that is possible
        tries,    // windows of both kinds in turns
        keeps,    // balanced, but for a window now and then
        rests     // left alone until a later look
    };

    // `seated`: begins with threads on seats, because their number or their runtime suits that.
    explicit effect(unsigned seed, bool seated = false);

    // What is done in the next window.
    way next() const { return way_; }
    phase now() const { return phase_; }
    // How long to rest.
    nanoseconds rest_length() const { return rest_; }
    // What was seen in the window that ends; decides what the next is.
    void add(window seen);

    // Time balanced over time left alone, over all pairs of windows: its median and 95 % interval.
    paired_ratio ratio() const;
    std::size_t pairs() const { return logs_.size(); }
    // Whether work was only estimated in most of them, by CPU time: that need not be progress.
    bool is_estimated() const { return 2 * estimated_ > logs_.size(); }
    // Whether it was seen to help, wrong once in 20 programs that it does not help.
    bool ever_kept() const { return kept_; }
    // What was seen until now tells nothing: CPUs have become faster or slower.
    void start_over();
    // Why it is left alone now, or was to the end.
    const std::string& reason() const { return reason_; }
    // The part of their CPU time in which threads waited unseen while they were left alone; 0: none known.
    double spun_alone() const { return spun_alone_; }

  private:
    void watch(const window& seen);
    bool spins_as_much(const window& seen) const;
    void begin_looking(const window& alone, double rate = 0);
    void look(const window& seen);
    void look_at_next(const window& seen);
    bool has_new_ways(const window& seen);
    void look_again(const window& seen);
    void try_with(const window& seen);
    void keep_on(const window& seen);
    void visit(const window& seen);
    way rival(const window& seen);
    double rate_of(way one) const { return rate_of_[static_cast<std::size_t>(one)]; }
    void note_rate(way of, double rate) { rate_of_[static_cast<std::size_t>(of)] = rate; }
    // Of the last pairs; `error` is infinite where they are too few to judge by.
    struct gain {
        double log = 0;
        double error = 0;
    };
    gain recent_gain() const;
    double lost_alone(const window& alone, double rate) const;
    void note_usual(const window& seen);
    void plan_first_pair();
    void start_pair();
    struct pair {
        window balanced;
        window alone;
    };
    pair take_pair();
    void add_pair(const pair& both);
    void rest(nanoseconds first, const std::string& reason);
    void keep();
    double between(const window& lost, double part) const;

    std::mt19937 chance_;
    phase phase_ = phase::watches;
    way way_ = way::alone;
    way best_ = way::alone;  // of those that were looked at
    double best_rate_ = 0;
    window usual_;               // balanced windows since it is kept: their mean rate and business
    bool began_seated_ = false;  // and no other way was looked at since
    window alone_;               // the last in which it was left alone, since ways were looked at
    double spun_alone_ = 0;      // in these windows, lately
    std::vector<way> left_;      // to look at
    std::vector<way> known_;     // that are looked at since then
    std::string reason_ = "it ended before anything could be measured";
    nanoseconds rest_ = 0;
    std::string last_reason_;
    std::vector<window> open_;  // of the pair
    evidence helps_;
    std::vector<double> recent_;          // logs of pairs since this way is done, the last ones
    std::array<double, ways> rate_of_{};  // of each way when it was last seen; 0: never
    int dues_ = 0;                        // times that the way was left for a comparison
    int visits_ = 0;                      // windows of a rival that are still to come
    std::size_t tried_ = 0;
    double until_pair_ = 0;  // seconds
    bool begins_ = false;    // with a way that was not compared yet
    int windows_ = 0;        // since it began
    bool kept_ = false;
    bool fell_ = false;         // its rate, in the last pair
    bool was_unequal_ = false;  // CPUs were, in the last window that was watched, because of others there
    std::vector<double> logs_;
    std::size_t estimated_ = 0;  // pairs
};

}  // namespace tauto::balance
