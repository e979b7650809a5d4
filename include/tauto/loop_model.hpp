#pragma once
// What is learned about one loop: one call site, one power-of-two class of sizes.
//
// Pure: no thread and no clock; the team tells it what happened and asks what to do. So the simulator and
// the tests drive it in virtual time. Its members have a CPU each, and a rank here is a place among these.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <tauto/cost_profile.hpp>
#include <tauto/schedule.hpp>
#include <tauto/speed_noise.hpp>

namespace tauto::detail {

// A number of members that a loop may be run with, and what a fork and join of that many costs (ticks).
struct width_option {
    int width = 1;
    double fork_ticks = 0;
};

// Times in ticks. `microsecond` is the length of one, so that thresholds mean the same on every clock.
struct loop_model_options {
    std::vector<width_option> widths;  // ascending, the first is 1, the last the whole team
    double microsecond = 1000;
};

class loop_model {
  public:
    explicit loop_model(const loop_model_options& options);

    // True until something was recorded.
    [[nodiscard]] bool fresh() const noexcept { return spent_ == 0; }
    // For a first call that came to its end, n iterations in `elapsed` ticks, before it was worth a fork.
    void begin_inline(index n, std::int64_t elapsed) noexcept;

    // The width to run the next call with.
    [[nodiscard]] int width() const noexcept { return options_[current_].width; }
    // Whether its members should expect iterations of unequal cost: take them by cost or, until that is
    // known, little at a time and any that is left.
    [[nodiscard]] bool uneven() const noexcept { return options_[current_].uneven; }
    // In an uneven loop whose chunks should be timed in the next call, of n iterations, to learn what they
    // cost: the largest chunk. Else 0.
    [[nodiscard]] index timed_chunk(index n) const noexcept;
    [[nodiscard]] const cost_profile& costs() const noexcept { return costs_; }
    // As speeds(), learned from what chunks cost.
    [[nodiscard]] std::span<const double> costed_speeds() const noexcept { return costed_speeds_; }
    // The ranks that take part, fastest first, rank 0 (the caller) always first: take the first width().
    [[nodiscard]] std::span<const int> order() const noexcept { return order_; }
    // Relative speed by rank, each > 0; all 1 until something is known.
    [[nodiscard]] std::span<const double> speeds() const noexcept { return speeds_; }
    // The same, but moved only when a speed has changed by more than noise, so that shares stay put and
    // caches stay warm; exactly equal where speeds differ by noise.
    [[nodiscard]] std::span<const double> share_speeds() const noexcept { return share_speeds_; }
    // By rank, how long before the end of a loop a member should leave the rest to the others, because its
    // last chunk tends to end late: 0 for the fast ones.
    [[nodiscard]] std::span<const double> margin_ticks() const noexcept { return margins_; }
    [[nodiscard]] bool speeds_known() const noexcept { return folds_ > 0; }
    // The caller's ticks for one iteration; 0 until known.
    [[nodiscard]] double ticks_per_iteration() const noexcept { return serial_; }
    // What a steal costs: a few transfers between two cores, which is what the fork and join of a small team
    // costs. The fork and join of a large team costs far more, so this is at most a microsecond.
    [[nodiscard]] double steal_ticks() const noexcept {
        return std::min(options_.back().fork_ticks, microsecond_);
    }
    // How much later than the caller a worker of the next call begins, with the time that its report takes.
    [[nodiscard]] double head_ticks() const noexcept { return 0.75 * options_[current_].fork_ticks; }
    [[nodiscard]] double microsecond() const noexcept { return microsecond_; }

    // A chunk of a timed call: called for each of them, before record_member().
    void record_chunk(int rank, index n, range chunk, std::int64_t ticks) noexcept;
    // What a member did in the call that ends now: called for each participant, before record(). It did its
    // iterations from `start` to `end`, in ticks after the launch. With start 0 its speed contains the
    // launch, which the shares of schedules without stealing must make up for. A member that did no iteration
    // for long teaches nothing; one that had slept only if it stayed for at least as long as it was late:
    // waking up is no speed.
    void record_member(int rank, index iterations, std::int64_t end, std::int64_t start = 0,
                       bool slept = false) noexcept;
    // One call of n iterations took `elapsed` ticks with width().
    void record(index n, std::int64_t elapsed) noexcept;
    // Work that a call left undone took so many ticks afterwards: added to the next call that is recorded,
    // which is most likely run alike. From any thread.
    void charge(std::int64_t ticks) noexcept { charged_.fetch_add(ticks, std::memory_order_relaxed); }
    // Whether nothing is to be told of the next call, of which no chunk is timed: to record a call takes as
    // long as half a transfer, so of a short loop that nothing is tried on one in four is recorded.
    [[nodiscard]] bool skip_recording() noexcept {
        if (unrecorded_ == skipped_) return false;
        ++skipped_;
        return true;
    }

    // In words: how the loop is run, what each other way took or should take, and when it may be tried.
    [[nodiscard]] std::string explanation() const;

    // For schedules whose width is fixed: only the members' speeds are learned.
    void record_speeds(std::int64_t elapsed) noexcept;

    // Calls that may run inline, untimed and without the team's lock: the path of loops too short to fork.
    // One in eight of them asks now(), in ticks: where eight take long, the loop may be short no more, so the
    // next call is timed. Two threads that race here may lose a decrement, which only delays that call.
    template <class Now>
    [[nodiscard]] bool take_inline_call(Now&& now) noexcept {
        const int left = inline_calls_.load(std::memory_order_relaxed);
        if (left <= 0) return false;
        if (left % looked_at == 0 && took_long(now())) return false;
        inline_calls_.store(left - 1, std::memory_order_relaxed);
        return true;
    }

  private:
    static constexpr int looked_at = 8;
    [[nodiscard]] bool took_long(std::int64_t now) noexcept;
    static constexpr double never = std::numeric_limits<double>::infinity();
    static constexpr std::array<double, 4> unknown = {never, never, never, never};
    struct option {
        int width = 1;
        bool uneven = false;
        double fork_ticks = 0;
        double waiting = 0;  // share of the members' time, of late
        // Ticks per iteration of the last four windows, latest first; infinity where there was none.
        std::array<double, 4> recent = unknown;
        int trials = 0;
        bool woken = false;         // most of the calls of its last window had to wake members
        double patience = 1;        // doubles each time a repeated trial loses
        double spent_at_trial = 0;  // spent_ when it was tried last
        [[nodiscard]] bool tried() const noexcept { return trials > 0; }
        // The second best of the last four windows: noise only ever adds, and a program that disturbs two of
        // them must not talk a loop out of its members. With fewer than three, the best.
        [[nodiscard]] double typical() const noexcept;
        void add(double per_iteration) noexcept;
    };
    struct window {
        int calls = 0;
        int woken = 0;  // calls that had to wake a member
        double ticks = 0;
        double iterations = 0;
        double least = never;  // of one call, per iteration
        [[nodiscard]] double per_iteration() const noexcept { return ticks / iterations; }
        [[nodiscard]] bool mostly_woken() const noexcept { return 2 * woken > calls; }
        // A recorded call of n iterations that took `one` ticks, and stands for `calls_in_all` like it.
        void add(double n, double one, double calls_in_all, bool had_to_wake) noexcept {
            calls += 1;
            woken += had_to_wake ? 1 : 0;
            ticks += calls_in_all * one;
            iterations += calls_in_all * n;
            least = std::min(least, one / n);
        }
    };

    void learn_margins(double elapsed) noexcept;
    void learn_costed_speeds() noexcept;
    void adopt_costed_speeds() noexcept;
    void note_waiting() noexcept;
    [[nodiscard]] bool may_pay(std::size_t which, double n) const noexcept;
    // What an option should take for an iteration, and the ticks of this loop after which it may be tried: at
    // most 0, now; infinity, never.
    struct outlook {
        double expected;
        double after;
    };
    [[nodiscard]] outlook outlook_of(std::size_t which, double n) const noexcept;
    void fold_speeds() noexcept;
    void believe(const std::vector<double>& learned, const std::vector<speed_noise>& noise,
                 std::vector<double>& speeds) const noexcept;
    void fade(double fastest, double scale) noexcept;
    void sort_members(const std::vector<double>& speeds) noexcept;
    void settle_shares() noexcept;
    [[nodiscard]] double speed_of(const option& o, const std::vector<double>& speeds) const noexcept;
    [[nodiscard]] double predicted(const option& o, double n) const noexcept;
    [[nodiscard]] double estimate(const option& o, double n) const noexcept;
    [[nodiscard]] bool trial_complete() const noexcept;
    [[nodiscard]] bool window_complete() const noexcept;
    [[nodiscard]] bool turned_slow() noexcept;
    void finish_trial() noexcept;
    void finish_window(double n) noexcept;
    void choose(double n) noexcept;
    void maybe_start_trial(double n) noexcept;
    void start_trial(std::size_t which) noexcept;
    void allow_inline_calls(double elapsed) noexcept;

    // By width. Before each of several members stands the one for uneven loops. What these learn (costs_,
    // costed_speeds_) is kept while one of them is used, and no longer.
    std::vector<option> options_;
    double microsecond_;
    std::vector<double> learned_;  // speeds; and how far to believe them
    std::vector<speed_noise> noise_;
    std::vector<double> speeds_;  // what to believe
    std::vector<double> share_speeds_;
    cost_profile costs_;
    std::vector<double> costed_learned_;
    std::vector<speed_noise> costed_noise_;
    std::vector<double> costed_speeds_;
    std::vector<double> timed_costs_;  // of a member's chunks in the call that ends now, and their time there
    std::vector<double> timed_ticks_;
    bool chunks_noted_ = false;  // likewise
    int untimed_ = 0;            // calls since chunks were timed
    std::vector<double> fold_iterations_;
    std::vector<double> fold_ticks_;
    std::vector<bool> jumped_;
    std::vector<double> margins_;
    std::vector<double> margin_steps_;  // taken since the member's speed changed
    std::vector<double> ends_;          // of the members in the call that ends now; 0: took no part
    std::vector<int> order_;
    double fold_elapsed_ = 0;
    std::atomic<std::int64_t> charged_{0};
    int folds_ = 0;
    bool woken_ = false;  // a member, in the call that ends now
    int unrecorded_ = 0;  // calls that may go unrecorded after the last one that was
    int skipped_ = 0;     // those that did
    int unsettled_ = 0;   // folds in a row that moved a speed far
    double serial_ = 0;   // ticks per iteration of the caller alone
    std::size_t chosen_ = 0;
    std::size_t current_ = 0;  // differs from chosen_ during a trial
    bool in_trial_ = false;
    double sleepers_patience_ = 1;  // doubles with each trial that found the members asleep
    bool skip_next_ = true;         // the first call after a change of width moves data between caches
    window window_;
    window latest_;         // its last few calls
    double reference_ = 0;  // the chosen width's usual ticks per iteration
    int drifts_ = 0;
    double spent_ = 0;  // ticks spent in this loop in all
    double last_n_ = 0;
    std::atomic<int> inline_calls_{0};
    std::atomic<std::int64_t> looked_{0};  // when, in ticks
};

// One call of an adaptive loop as its members follow it: the plan, and which of them may steal or leave
// early. A position is a place in model.order(): 0 is the caller, and the first plan().members take part.
// The caller of make() also stores the members' shares: see deal_shares.
class adaptive_loop {
  public:
    adaptive_loop() = default;
    adaptive_loop(const adaptive_loop&) = delete;  // the plan points into it
    adaptive_loop& operator=(const adaptive_loop&) = delete;
    // After this, make() allocates nothing for up to `members`.
    void reserve(std::size_t members);

    // For n iterations. O(members); O(members²) where the loop, its speeds or its width are not those of the
    // last call and shares are short (see weighted_bounds).
    void make(const loop_model& model, index n);

    [[nodiscard]] const adaptive_plan& plan() const noexcept { return plan_; }
    // In iterations, or in parts of the plan's order: the share of `position` is bounds()[position] to
    // bounds()[position + 1].
    [[nodiscard]] std::span<const index> bounds() const noexcept { return bounds_; }
    [[nodiscard]] std::span<const double> speeds() const noexcept { return speeds_; }
    [[nodiscard]] adaptive_rights rights(int position) const noexcept {
        const auto own = static_cast<std::size_t>(position);
        // No other member could do the rest of a fastest member sooner.
        return {.steal = position == 0 || workers_may_steal_,
                .leave = workers_may_steal_ && (margins_[own] > 0 || speeds_[own] < fastest_),
                .timed = timed_chunk_ > 0};
    }

  private:
    void make_order(const loop_model& model, index n);

    std::vector<double> speeds_;   // by position
    std::vector<double> margins_;  // likewise, in the plan's time
    std::vector<index> bounds_;    // by position, one more than participants
    adaptive_plan plan_;
    bool workers_may_steal_ = true;
    index timed_chunk_ = 0;
    cost_order order_;
    int ordered_calls_ = 0;  // timed ones that order_ knows
    double fastest_ = 0;     // of the speeds
    double head_ = 0;        // see share_rule
};

}  // namespace tauto::detail
