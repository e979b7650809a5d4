#pragma once
// A team: one pinned member for each of a set of CPUs. The thread that calls is member 0.
//
// Launch and join, one mailbox and one report line a worker (verify/launch.pml has the same names):
//
// clang-format off
// | variable       | what it says                                   | written by            | pairs with              |
// |----------------|------------------------------------------------|-----------------------|-------------------------|
// | mailbox.ticket | a loop is ready (it changed), or nothing new;  | caller, store-release | worker, load-acquire    |
// |                | odd: the worker may share tasks                |                       |                         |
// | mailbox.parked | the worker sleeps or dozes, or is about to     | worker                | caller, after its fence |
// | mailbox.share  | what is left of the worker's share             | see schedule.hpp      | -                       |
// | report.done    | ticket of the last loop finished; bit 0: the   | worker, exchange;     | caller, load-acquire    |
// |                | caller sleeps on it                            | caller sets bit 0     |                         |
// clang-format on
//
// Invariant: a mailbox's plain fields are written only while its worker is idle (done == ticket), and a
// worker reads them only between its ticket's change and its own exchange on done. So no two threads ever
// touch a plain field at the same time.
// While the ticket is odd the worker is invited to share tasks (task_group.hpp), and touches no plain field.
// The caller makes it even again without a join: nobody has a task by then.
// No wake-up is lost: the caller stores the ticket, fences, reads parked; the worker stores parked, fences,
// reads the ticket (Dekker's pattern): at least one of them sees the other. And the kernel re-checks the
// ticket before it puts the worker to sleep.
// A worker that dozes looks at its ticket every 10 ms, so short recursions need not wake it. When it has
// looked in vain for a while, it says that it sleeps, as above.

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tauto/clock.hpp>
#include <tauto/error.hpp>
#include <tauto/loop_model.hpp>
#include <tauto/machine.hpp>
#include <tauto/member.hpp>
#include <tauto/open_loops.hpp>
#include <tauto/schedule.hpp>
#include <tauto/signed.hpp>
#include <tauto/wait.hpp>

namespace tauto {

struct team_options {
    // The CPUs of the members, member 0 first; a CPU may be listed more than once (members then share it).
    // Empty: of those that TAUTO_CPUS selects (see select_cpus), else of one for each usable CPU, those that
    // the teams of other threads use least (docs/runtime.md, promise 11).
    std::vector<int> cpus = {};
    // Number of members; 0: one for each CPU of the list. More than CPUs: they are dealt out in turn.
    int size = 0;
    // Empty: what TAUTO_WAIT says, else balanced.
    std::optional<wait_policy> wait = {};
    // Pins each worker to its CPU, and the constructing thread to member 0's from its first shared call until
    // the team is destroyed. A thread that made several teams is pinned for the newest one that is left. When
    // the last one ends, the thread has the CPUs that it had before the first. Any thread may destroy the
    // teams. A fork's other process is left alone. A thread that a pinned one starts inherits its one CPU,
    // and is given all of them, as a rule within 1 s (docs/runtime.md, promise 23).
    bool pin = true;
    // Bytes of each worker's stack, rounded up to whole pages. 0: what TAUTO_STACK says (a number, perhaps
    // with K, M or G), else what the system gives every thread.
    std::size_t stack_bytes = 0;
    // The workers' threads are called by this and their rank ("tauto 3"), where the system tells threads
    // apart. It is cut where both exceed 15 characters.
    std::string name = "tauto";
    // Called on each worker with its rank, when it starts and is pinned: in the team's first call, and in the
    // first one of a forked child. What it throws comes out of that call (of several, the lowest rank's); the
    // team has no members then, and its next call tries again. Loops and runs inside it stay on the worker.
    // It must neither fork nor wait for another call of the team.
    std::function<void(int rank)> on_start = {};
};

// What one call did; filled on request through loop_options::report.
struct loop_report {
    int width = 0;   // members that took part; 1: it ran inline on the caller
    int steals = 0;  // shares taken from another member
    // Iterations by rank; kept only for loops that were forked.
    std::vector<index> iterations = {};
};

namespace detail {

// What was seen of a site's calls where they run in other loops' bodies. All relaxed: hints. Members read it
// in each such call, so it is written seldom.
class calls_in_bodies {
  public:
    // Of an iteration; 0: not known.
    [[nodiscard]] double ticks() const noexcept { return ticks_.load(std::memory_order_relaxed); }
    // Too short for other members to come.
    [[nodiscard]] bool are_short(index n) const noexcept {
        return n < short_below_.load(std::memory_order_relaxed);
    }
    void note(index iterations, std::int64_t ticks) noexcept;
    // Some of the short ones are timed too, 1 in 64: they may become long. Steps of the golden ratio, so that
    // a program whose loops take turns has all of them timed.
    [[nodiscard]] static bool is_next_timed() noexcept {
        if (timed_first > 0) [[unlikely]] {
            --timed_first;
            return true;
        }
        return (turn_of_timing += 0x9E3779B9U) < 1U << 26U;
    }
    // Bodies took this thread so long. For each 16,384 ticks one of its next calls is timed: a small part of
    // that time, and a loop with few calls in its bodies learns soon that they have become long.
    static void time_after(std::int64_t ticks) noexcept {
        if (ticks >> 14 > timed_first)
            timed_first = static_cast<int>(std::min(ticks >> 14, most_timed_first));
    }

  private:
    std::atomic<float> ticks_{0};
    std::atomic<index> short_below_{0};  // iterations of 10 us: from ticks_, so that a call need not divide
    static constexpr std::int64_t most_timed_first = 1 << 20;
    static inline thread_local constinit std::uint32_t turn_of_timing = 0;
    static inline thread_local constinit int timed_first = 0;
};

class stays_in_body;

}  // namespace detail

// Names a call site whose body type does not: a loop behind std::function, or one lambda used for different
// work. Declare it static; each site learns for itself.
class site {
  public:
    constexpr site() = default;
    site(const site&) = delete;
    site& operator=(const site&) = delete;

  private:
    friend class team;
    friend class detail::open_loop;
    friend class detail::open_loops;
    friend class detail::stays_in_body;
    std::atomic<int> id_{-1};
    std::atomic<bool> nests_{false};  // its bodies have loops that are long enough to be shared
    detail::calls_in_bodies in_bodies_;
};

namespace detail {

// Each body type is a call site of its own: every lambda expression has its own type.
template <class Body>
inline constinit site site_of;

}  // namespace detail

struct loop_options {
    tauto::schedule schedule = adaptive{};
    std::stop_token stop = {};
    tauto::site* site = nullptr;
    loop_report* report = nullptr;
    const char* name = nullptr;  // shown in traces; must outlive the team
    // Those of the lowest ranks that may take part: so many, or 0 for all. 1: the calling thread alone, at
    // once. Each limit learns for itself.
    int members = 0;
    tauto::priority priority = tauto::priority::normal;
};

// n at most this: no counter overflows, however many members ask at once.
inline constexpr index max_iterations = index{1} << 56;

namespace detail {

// A loop body without its type: calls *body with a range and the rank of the member that runs it.
using invoke_function = void (*)(const void* body, range r, int rank);

struct loop_call {
    invoke_function invoke;
    const void* body;
    index n;
    tauto::site* site;
    const loop_options* options;
};

// The first task of an outermost call of task_group.hpp without its type, and how it runs.
struct root_call {
    void (*invoke)(const void* function);
    const void* function;
};
struct region_options {
    tauto::site* site = nullptr;      // whose calls learn together; null: members come at once
    std::vector<double> speeds = {};  // of the members by rank; none: as if equal
    const char* name = nullptr;       // shown in traces
    tauto::priority priority = tauto::priority::normal;
};

struct team_state;
class team_turn;
class standing_region;

// Which member the calling thread is, inside a body: the team's state and its rank there. Null outside.
struct current_member {
    team_state* team = nullptr;
    int rank = 0;
    bool has_all = false;  // the body is a loop's one iteration: all members are free for what is in it
};
inline thread_local constinit current_member running_as;

// While it lives, the calling thread runs a body as this member.
class inside_body {
  public:
    // Field by field: a copy of both at once would wait for the stores before it.
    inside_body(team_state* team, int rank, bool has_all = false) noexcept
        : team_(running_as.team), rank_(running_as.rank), has_all_(running_as.has_all) {
        running_as.team = team;
        running_as.rank = rank;
        running_as.has_all = has_all;
    }
    ~inside_body() {
        running_as.team = team_;
        running_as.rank = rank_;
        running_as.has_all = has_all_;
    }
    inside_body(const inside_body&) = delete;
    inside_body& operator=(const inside_body&) = delete;

  private:
    team_state* team_;  // of the body around
    int rank_;
    bool has_all_;
};

// A body of team::run without its type.
struct run_call {
    void (*invoke)(const void* body, member& me);
    const void* body;
};

struct loop_state;

// What a launched member is to do with its mailbox.
enum class launch_mode : std::uint8_t { fixed, shared, adaptive, end };

// How a worker waits for its ticket: the later, the longer it takes to come.
enum class parking : std::uint32_t { awake, dozes, sleeps };

// Two cache lines. A launch and a thief (schedule.hpp) touch the first; the second has what an adaptive loop
// needs to begin without reading a third one (170 ns each between the cores measured here).
struct alignas(128) mailbox {
    std::atomic<std::uint32_t> ticket{0};
    std::atomic<parking> parked{parking::awake};
    std::atomic<std::uint64_t> share{0};
    invoke_function invoke = nullptr;
    const void* body = nullptr;
    loop_state* loop = nullptr;
    range fixed;
    launch_mode mode = launch_mode::fixed;
    bool crowded = false;  // participants share CPUs, so nobody spins
    bool cancellable = false;
    int position = 0;  // of this member among the loop's participants
    adaptive_plan plan;
    adaptive_rights may;
};

// What a member did in a loop. It keeps it to itself until it is done.
struct member_report {
    int steals = 0;
    bool left_early = false;  // with units in its share
    bool slept = false;       // when the loop was launched
    index iterations = 0;
    std::int64_t start_ticks = 0;
    std::int64_t end_ticks = 0;
    index begun = 0;  // first index of what it began last
};

// One cache line, which the caller polls: what is written early goes back to the caller in between.
struct alignas(128) report_line : member_report {
    std::atomic<std::uint32_t> done{0};
    std::atomic<pid_t> thread{0};  // the worker's number in the system
    std::exception_ptr failure;    // what the body threw; null again once the caller has seen it
};

// What a member's chunks of a loop took, for the model: as many as there is room for.
struct chunk_log {
    struct entry {
        range chunk;
        std::int64_t ticks;
    };
    static constexpr std::size_t room = 2 * cost_order::most_parts;
    std::size_t count = 0;
    std::array<entry, room> entries;

    void note(range chunk, std::int64_t ticks) noexcept {
        if (count < room) entries[count++] = {chunk, ticks};
    }
};

class head_start;

// The models of one site and limit of members, by power-of-two class of sizes (index: bit width of n).
struct site_record {
    int members = 0;
    std::atomic<loop_model*> models[64] = {};
    std::atomic<site_record*> next{nullptr};  // of another limit
    head_start* recursion = nullptr;          // of who has the team's turn
};

// Null where there is none yet. Pairs with the release stores in recorder::model_of.
[[nodiscard]] inline site_record* record_of(const std::atomic<site_record*>& first, int members) noexcept {
    site_record* one = first.load(std::memory_order_acquire);
    while (one != nullptr && one->members != members) one = one->next.load(std::memory_order_acquire);
    return one;
}

}  // namespace detail

class team {
  public:
    // Chooses the CPUs. Throws tauto::error for a CPU that does not exist or is not allowed, or a negative
    // size. A refused pin is not an error: see pinned().
    //
    // The first call that uses the members starts them, and throws tauto::error when the system gives no
    // thread. They handle SIGPROF and the signals of their own faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
    // SIGTRAP, SIGSYS), and block all others. Without a pin they may run where the thread of that call may.
    explicit team(team_options options = {});
    // Waits for a loop of another thread, ends the members, gives the constructing thread its CPUs back (see
    // team_options::pin). Does none of this inside a body of this team, nor in a static team whose loop
    // sleeps: exit() in a body, or in a thread that it waits for, destroys static teams.
    ~team();
    team(const team&) = delete;
    team& operator=(const team&) = delete;

    [[nodiscard]] int size() const noexcept;
    // The CPU of each member, by rank.
    [[nodiscard]] const std::vector<int>& cpus() const noexcept;
    [[nodiscard]] wait_policy wait() const noexcept;
    // True with more members than CPUs. Then adaptive and weighted loops run on one member a CPU; in all
    // others nobody spins. True also where the members had no CPU each when the team last looked, which is at
    // most once a second of use: its threads' masks, the quota, and other teams of this process that are in
    // use may have changed. Then nobody spins in any loop.
    [[nodiscard]] bool oversubscribed() const noexcept;
    // False when the system refused to pin a member; notes() says which and why. Both start the members.
    [[nodiscard]] bool pinned() const;
    [[nodiscard]] std::vector<std::string> notes() const;

    // Runs body(member&) once on every member at the same time and returns when all are done; the caller is
    // rank 0. The members meet in the member's collectives (member.hpp).
    //
    // Of the exceptions that leave bodies, that of the lowest rank is rethrown here; the other members leave
    // at the collective that they wait in or call next, through an exception that is not a std::exception. A
    // member that returns while others wait for it is a tauto::error. The team stays usable. Calls from
    // several threads take turns (see parallel_for). A run or parallel_for inside such a body stays on the
    // member that calls it, and a run inside any body too: it has one member. Throws tauto::stopped when
    // options.stop was requested before the last collective.
    template <class Body>
    requires std::invocable<Body&, member&>
    void run(Body&& body, const run_options& options = {}) {
        using body_type = std::remove_reference_t<Body>;
        if constexpr (std::is_function_v<body_type>) {
            body_type* const function = body;
            run(function, options);
        } else {
            const auto invoke = [](const void* self, member& me) {
                (*const_cast<body_type*>(static_cast<const body_type*>(self)))(me);
            };
            run_members({invoke, std::addressof(body)}, options);
        }
    }
    // How the members wait for each other in run: timed on these very CPUs at the first run of more than two.
    [[nodiscard]] tauto::barrier_shape barrier_shape() const;

    // What was learned of the adaptive loops at a site: for each class of sizes that it had, how they are
    // run, what each other way took or should take, and when that may be tried. Waits for a loop of another
    // thread, unless that sleeps.
    [[nodiscard]] std::string explain(const tauto::site& where) const;

    // Used by parallel_for. True when every iteration ran.
    [[nodiscard]] bool execute(const detail::loop_call& call);
    // Used by recursion (task_group.hpp): its root on the calling thread, as the first task.
    void share_tasks(const detail::root_call& root, const detail::region_options& options);
    [[nodiscard]] detail::team_state* identity() const noexcept { return state_.get(); }
    // Used by parallel_for. True when this site runs loops of n inline and this call need not be timed; never
    // inside a body.
    [[nodiscard]] bool take_inline_call(const tauto::site& where, index n, int members = 0) noexcept {
        if (detail::running_as.team != nullptr) return false;
        auto* model = known_model(where, n, members);
        return model != nullptr && model->take_inline_call(detail::ticks);
    }

    // Used by algorithms: a loop of n iterations, whose site is named, left some of its work to another loop,
    // which took so long for it. It counts for the first one's choice of members, from its next call on.
    void charge(const loop_options& loop, index n, std::int64_t ticks) noexcept {
        if (detail::running_as.team != nullptr || !std::holds_alternative<adaptive>(loop.schedule)) return;
        if (auto* model = known_model(*loop.site, n, loop.members)) model->charge(ticks);
    }

    // Used by reductions in bodies. True where such a call is too short for anything but to be run at once.
    [[nodiscard]] static bool is_plain_in_body(const tauto::site& where, index n) noexcept {
        return where.in_bodies_.are_short(n) && !detail::calls_in_bodies::is_next_timed();
    }
    // True where members with nothing to do may take parts of it.
    [[nodiscard]] bool shares_in_body(const tauto::site& where, index n, int members) const noexcept;
    // A call in a body stayed on its member, and took so long.
    void note_in_body(tauto::site& where, index n, std::int64_t ticks) noexcept;

    // Sites with a record of their own; a program with more shares records among the rest.
    static constexpr int max_sites = 4096;

  private:
    void run_members(const detail::run_call& call, const run_options& options);
    // Numbers the site at its first call.
    static int number_of(tauto::site& where);
    detail::loop_model& model_for(const detail::loop_call& call);
    // Null where nothing was learned of such loops, or loops in their bodies are shared.
    [[nodiscard]] detail::loop_model* known_model(const tauto::site& where, index n,
                                                  int members) const noexcept {
        const int id = where.id_.load(std::memory_order_relaxed);
        if (id < 0 || where.nests_.load(std::memory_order_relaxed)) return nullptr;
        const auto* record = detail::record_of(detail::at(records_, id), members);
        if (record == nullptr) return nullptr;
        return record->models[std::bit_width(static_cast<std::uint64_t>(n))].load(std::memory_order_acquire);
    }
    [[nodiscard]] bool run_alone(const detail::loop_call& call, detail::loop_model& model,
                                 detail::team_turn& turn);
    [[nodiscard]] bool run_loop(const detail::loop_call& call);
    [[nodiscard]] bool may_pause(const detail::loop_call& call) const noexcept;
    [[nodiscard]] bool run_with_pauses(const detail::loop_call& call);
    [[nodiscard]] bool run_in_body(const detail::loop_call& call);
    [[nodiscard]] bool may_run_beside(const detail::loop_call& call) const noexcept;
    [[nodiscard]] bool run_beside(const detail::loop_call& call);
    [[nodiscard]] bool run_without_turn(const detail::loop_call& call);
    [[nodiscard]] bool run_in_turn(const detail::loop_call& call, detail::team_turn& turn);
    [[nodiscard]] bool run_here(const detail::loop_call& call, bool has_all, std::int64_t& took);
    [[nodiscard]] bool run_as_outermost(const detail::loop_call& call);
    [[nodiscard]] bool run_in_region(const detail::loop_call& call);
    [[nodiscard]] bool shall_nest(const detail::loop_call& call);
    [[nodiscard]] bool run_nesting(const detail::loop_call& call, detail::team_turn& turn);
    [[nodiscard]] std::vector<double> speeds_by_rank(const detail::loop_call& call) const;

    friend class detail::standing_region;

    std::unique_ptr<std::atomic<detail::site_record*>[]> records_;
    std::unique_ptr<detail::team_state> state_;
};

namespace detail {

// While it lives, a call in a body runs on its member alone. What it takes tells the loop around it whether
// members would be worth it. Of such calls inside each other the outermost one does.
class stays_in_body {
  public:
    // `timed`: this call is; see team::is_plain_in_body.
    stays_in_body(team& members, tauto::site& where, index n, bool timed) noexcept
        : members_(members), where_(where), n_(n) {
        if (!timed || is_timed) return;
        is_timed = true;
        start_ = ticks();
    }
    // A call as a whole, which has no iterations.
    stays_in_body(team& members, tauto::site& where) noexcept
        : stays_in_body(members, where, 1, !team::is_plain_in_body(where, 1)) {}
    ~stays_in_body() {
        if (start_ == 0) return;
        is_timed = false;
        members_.note_in_body(where_, n_, ticks() - start_);
    }
    stays_in_body(const stays_in_body&) = delete;
    stays_in_body& operator=(const stays_in_body&) = delete;

  private:
    team& members_;
    tauto::site& where_;
    index n_;
    std::int64_t start_ = 0;  // 0: not timed
    static inline thread_local constinit bool is_timed = false;
};

}  // namespace detail

}  // namespace tauto
