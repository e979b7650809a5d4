#pragma once
// The threads of a process tree: who works, where, and how much each has done.

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "balance/page.hpp"
#include "balance/speeds.hpp"
#include "balance/unseen.hpp"
#include "balance/watch.hpp"

namespace tauto::balance {

struct member {
    pid_t process = 0;
    pid_t thread = 0;
    std::unique_ptr<watch> eyes;
    doing now = doing::sleeps;
    int cpu = 0;
    nanoseconds since = 0;
    nanoseconds had = 0;  // of its CPU, since the last change that was told
    // Seconds of work at speed 1. Who wakes has done at least as much as the least of those at work: what
    // others did while it waited for them is not owed to it.
    double done = 0;
    double done_at_waking = 0;
    double stretch = 0;               // what it usually does from waking to sleeping; 0: not known
    bool pinned = false;              // by the program
    bool moved = false;               // ever, by us
    double worked = 0;                // since the last tally
    nanoseconds was_busy = 0;         // in the window of the last tally: it ran or waited for a CPU
    double had_worked = 0;            // in that window
    nanoseconds busy = 0;             // since then
    std::vector<nanoseconds> wanted;  // of each CPU, since the last look
    bool noted = false;               // it did a part of note of the last window's work
    int windows_unnoted = 0;          // since the last in which it did
    slot* marks = nullptr;            // its own in the page
    std::uint64_t owner = 0;          // what the slot said of its owner then
    progress came;                    // when the window began, or at its first place; none passed: none yet
    bool says_it_waits = false;       // at this look, by its process or by the code where it was seen last
    bool waits = false;               // it did at the last look, as its process says in the page
    bool spins = false;               // so it did all the time between the last two: what it ran is no work
    std::uint32_t begun = 0;          // waits that were no yields, at the last look
    std::optional<std::uint32_t> begun_before;  // at the last tally
    bool waited = false;                        // it began one between the last two
    std::uint64_t waited_for = 0;               // ns of all waits that are timed, at the last look
    nanoseconds ran = 0;                        // since then, as work
    std::uint32_t yields = 0;                   // at the last look
    bool yielded = false;                       // between the last two
    bool ended = false;
    int tallies = 0;  // that it was in
};

// What threads had and wanted of a CPU since the last look.
//
// The kernel adds the time of a thread that goes on to its account with each tick. So a look may find more
// than has passed, and the next one less: what is too much is kept for that.
struct cpu_use {
    nanoseconds had = 0;
    nanoseconds most_wanted = 0;  // of one thread: it ran, or waited for the CPU
    bool unclear = false;         // somebody came or went at a time that is not known

    struct seen {
        nanoseconds wanted = 0;
        nanoseconds had = 0;
        bool is_clear = false;  // somebody is known to have wanted it for as long as it was had
    };
    // Of the last `span`; begins anew.
    seen take(nanoseconds span);
};

// What something stands for that is counted, in seconds at speed 1.
struct learned_work {
    double work = 0;    // 0: none was seen
    double unlike = 0;  // by which part of it windows differ

    bool is_known() const;
    // A window showed `each`. `once_known`: the part of the difference by which it is followed then.
    void learn(double each, double once_known);
};

class team {
  public:
    // `files`: watches by /proc alone. `marks`: where processes of the team say which threads wait; may be
    // null.
    team(pid_t root, speeds& cpus, bool files, page* marks);

    // Reads what all have done until now.
    void look();
    // Finds threads that nobody has told of, and forgets those that have ended; their slots become free.
    void search();
    // Watches nobody any more; a search begins anew.
    void forget();
    // CPUs have become faster or slower: what a place was worth until now is no measure.
    void forget_places() {
        of_a_place_ = of_a_step_ = of_a_wait_ = {};
        steps_learned_ = 0;
    }
    // Watches switches, where the system allows it, or reads /proc at each look. A thread that is interrupted
    // often is slowed by the first: one whose CPU `tauto emulate` slows takes 6 % longer.
    void watch_exactly(bool exactly);
    // Watches where members are in their code, or not any more.
    void watch_code(bool on);
    unseen_waits& unseen() { return unseen_; }
    const unseen_waits& unseen() const { return unseen_; }
    // All have done as much as who has done most: some of it was no work.
    void forgive();
    // Whether a thread was where a look finds it since the look before: only then CPUs are judged.
    void trust_places(bool trusted) { trusted_ = trusted; }
    bool watches_exactly() const { return exactly_ && !files_; }

    const std::map<pid_t, member>& members() const { return members_; }
    std::vector<member*> at_work();
    std::vector<member*> of_note();
    // Those with a slot that did a part of note lately. `at_once`: before the first tally, all with a slot:
    // of GCC's OpenMP none has one before all threads are there.
    std::vector<member*> to_seat(bool at_once);
    // Those that take parts of others' regions, each for one CPU. They are not among those to seat.
    struct helper {
        member* who;
        int cpu;
    };
    std::vector<helper> helpers();
    // Whether threads lived for one step each, as the last tally showed: there is nobody to seat.
    bool has_steps() const { return has_steps_; }
    // Times that such threads were put onto the CPUs of others, and how many have ended.
    struct handed {
        long long over = 0;
        std::size_t ended = 0;
    };
    handed handed_over() const;
    // The work of a window, in seconds at speed 1, and the threads that did a part of note. A round is from
    // one moment at which threads begin to work together to the next. Where whole rounds fill most of a
    // window, `work` and `seconds` are theirs. Where threads tell of places that they came past, `work` is
    // what these places usually stand for: what a CPU is worth differs from code to code, and places are
    // counted exactly.
    struct tally {
        double work = 0;
        double estimated = 0;  // the same by CPU time, also where `work` was counted
        double seconds = 0;
        std::size_t threads = 0;
        bool counted = false;  // by places
        bool agreed = false;   // by waits, too: `work` is the less of both
        nanoseconds ran = 0;   // CPU time
        double spun = 0;       // of the CPU time: the part in which threads waited unseen
    };
    // `alone`: Linux placed the threads. What a wait stands for is learned then.
    tally take_tally(bool alone = false);
    // Only `estimated`, `seconds` and `threads`, until the last look.
    tally so_far() const;
    void begin_window();
    // The fewest places that a thread of note came past since the last tally; 0 where they do not tell.
    std::uint64_t places_passed() const;
    // How long the whole rounds since the last tally took.
    nanoseconds rounds_took() const { return last_round_.at - first_round_.at; }
    int rounds() const { return rounds_; }

    // Whether switches were ever seen as they happened.
    bool saw_switches() const { return saw_switches_; }
    // Seconds between two places that threads come past, in the last window; 0: not known.
    double between_places() const { return between_places_; }
    // Whether threads waited as often as their work says in the last windows that were left alone.
    bool waits_tell() const { return of_a_wait_.is_known(); }
    bool has_tally() const { return has_tally_; }
    std::size_t threads_seen() const { return ever_seen_.size(); }
    std::size_t threads_moved() const;

  private:
    struct moment {
        change what;
        member* who;
    };

    void add(pid_t process, pid_t thread);
    std::unique_ptr<watch> eyes_for(pid_t process, pid_t thread);
    // `ran`: since the last change that was told; negative: what it does says that.
    void settle(member& one, nanoseconds until, nanoseconds ran = -1);
    void add_work(member& one, double work);
    void apply(member& one, const change& what);
    void begin_stretch(member& one, nanoseconds at);
    void note_round(nanoseconds at);
    int helps_on(const member& one) const;  // which CPU; negative: it is no helper
    bool tells_places(const member& one) const;
    double least_of_note() const;  // work since the last tally
    double places_a_second();
    double waits_a_second();
    // Of threads that lived for one step each, since the last tally.
    struct steps_done {
        double a_second = 0;  // 0: too few to tell
        double work = 0;      // of those that have ended
        double threads = 0;   // in each
    };
    steps_done take_steps();
    double work_of_the_others() const;
    void judge_by_waits(tally& found, double waits, bool alone);
    void take_unseen_waits_off(member& one);
    void end_stretch(member& one);
    std::span<slot> slots() const;  // that were ever taken
    void read_marks();
    void take_waits_off(member& one, nanoseconds now);
    void note_waits();
    double least_done_at_work(const member& but) const;

    pid_t root_;
    speeds& cpus_;
    bool files_;
    bool exactly_ = false;
    bool saw_switches_ = false;
    bool trusted_ = true;
    page* marks_;
    std::map<pid_t, member> members_;
    struct point {
        nanoseconds at = 0;
        double work = 0;
    };
    double work_ = 0;  // of all, ever
    point window_;     // its beginning
    point first_round_;
    point last_round_;
    int rounds_ = 0;
    double between_places_ = 0;
    learned_work of_a_place_{.work = 0, .unlike = 0.6};  // of all, between two
    learned_work of_a_step_{.work = 0, .unlike = 0.4};   // of threads that live for one
    learned_work of_a_wait_{.work = 0, .unlike = 0.3};   // of a thread of note; believed until windows differ
    std::vector<moment> moments_;
    news news_;
    std::vector<cpu_use> uses_;
    nanoseconds looked_ = 0;
    bool has_tally_ = false;
    bool has_rows_ = false;  // at the last tally
    bool has_steps_ = false;
    progress last_step_;
    int steps_learned_ = 0;  // windows
    std::uint64_t ended_ = 0;
    std::uint64_t asked_ = 0;
    double work_of_one_ = 0;                      // that lives for one step, in the mean
    std::vector<std::uint64_t> ran_until_ended_;  // on each CPU
    // Of the whole run; after a rest its threads are members again.
    std::set<pid_t> ever_seen_;
    std::set<pid_t> moved_before_;  // by members that are no more
    unseen_waits unseen_;
    nanoseconds ran_ = 0;  // of all, since the last tally
    nanoseconds spun_ = 0;
};

}  // namespace tauto::balance
