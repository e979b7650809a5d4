#pragma once
// Follows a process tree, moves its threads while that helps, and keeps account of it.

#include <sched.h>
#include <sys/types.h>

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "balance/effect.hpp"
#include "balance/holding.hpp"
#include "balance/moves.hpp"
#include "balance/paces.hpp"
#include "balance/page.hpp"
#include "balance/placing.hpp"
#include "balance/speeds.hpp"
#include "balance/team.hpp"

namespace tauto::balance {

struct account {
    long long moves = 0;
    // Of these: onto the CPUs of threads that had ended, or waited for the ends of others.
    long long handed_over = 0;
    long long looks = 0;
    std::size_t threads_seen = 0;
    std::size_t threads_moved = 0;
    bool saw_switches = false;
    bool code_was_hidden = false;  // the system refused to tell where in their code threads are
    double seconds = 0;
    double processor_seconds = 0;        // of the controller
    std::array<double, 4> seconds_of{};  // of each way, in their order
};

struct manner {
    bool even_pinned = false;
    bool files = false;         // watch by /proc alone
    way only = way::alone;      // what to do without asking whether it helps; alone: ask
    bool begin_seated = false;  // its number of threads or its runtime suits that
    bool keep_waits = false;    // as the program has them
    unsigned seed = 0;
};

class controller {
  public:
    // `marks`: see team.
    controller(pid_t root, const cpu_set_t& given, speeds& cpus, moves& mover, const manner& how,
               page* marks = nullptr);

    // Until `ended` says so, which is asked whenever `signals` can be read, and ten times a second.
    void run(int signals, const std::function<bool()>& ended);

    const effect& what_it_did() const { return effect_; }
    account report() const;

  private:
    bool follow_paces();
    void hurry_paces(const window& seen, nanoseconds now);
    void start_over(nanoseconds now);
    void look(nanoseconds now);
    std::vector<member*> on_our_cpus();
    std::vector<worker> as_workers(std::span<member* const> members) const;
    void place_threads();
    void act();
    void end_window(nanoseconds now);
    void begin_window(nanoseconds now);
    void measure_from(nanoseconds now);
    bool has_settled(nanoseconds now) const;
    bool window_is_full(nanoseconds now) const;
    bool is_surely_left_alone(nanoseconds now) const;
    std::vector<way> possible_ways();
    void plan_next_look(nanoseconds now);
    void search(nanoseconds now);
    nanoseconds until_next_search(nanoseconds now) const;
    nanoseconds foreseen(nanoseconds now);
    double stretch() const;
    way what_to_do() const {
        if (suspected_) return way::moves;
        return asks() ? effect_.next() : how_.only;
    }
    // For the next window.
    void choose_way();
    bool asks() const { return how_.only == way::alone; }
    bool may_look_for_spins() const;
    bool looks_for_spins() const;
    bool suspects_spins(const window& seen);
    void watch_code();
    void confirm_spins();
    bool resting() const { return asks() && effect_.now() == effect::phase::rests; }

    cpu_set_t given_;
    speeds& cpus_;
    pid_t last_born_;  // when it was searched last
    paces paces_;
    bool births_are_told_;  // as that of the thread of `paces_` was
    moves& mover_;
    manner how_;
    team team_;
    holding holding_;
    effect effect_;
    way done_ = way::alone;  // in this window
    bool settles_ = true;    // what runs began under another way: it is not measured
    // The window before this one, in which threads may have waited unseen; this one shows whether they did.
    struct suspicion {
        window seen;
        nanoseconds ran = 0;  // CPU time
    };
    std::optional<suspicion> suspected_;
    unsigned unfounded_ = 0;        // suspicions in a row
    unsigned none_to_suspect_ = 0;  // windows in a row
    unsigned busy_windows_ = 0;
    account account_;
    nanoseconds began_;
    nanoseconds window_began_;
    nanoseconds window_ends_;
    nanoseconds looked_;
    nanoseconds next_look_;
    nanoseconds next_search_;
    nanoseconds searched_ = 0;
    nanoseconds next_hurry_ = 0;  // of the probes
    nanoseconds between_hurries_ = 0;
    nanoseconds processor_ = 0;  // our CPU time at the last look
    double look_cost_ = 20e3;    // ns of CPU time, lately
    double allowance_ = 3e6;     // ns of CPU time that may be used beyond our share
    double tolerance_ = 1e-3;
    std::size_t busiest_ = 0;  // the most at work in this window
    std::size_t last_at_work_ = 0;
    nanoseconds eager_ = 0;  // the next look while somebody waits
};

}  // namespace tauto::balance
