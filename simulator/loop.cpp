#include "loop.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "loop_members.hpp"
#include "loop_memory.hpp"
#include "loop_runtimes.hpp"

namespace tauto::sim {

namespace {

using phase = loop_progress::phase;

// The work of the first member between two loops: two sums of n products, each a chain of additions, and
// three vector updates. An update takes a cycle for each element or, on a core that handles several elements
// at once, the time to read and write twelve floats.
constexpr double serial_chains = 2;
constexpr double serial_update_cycles = 3;
constexpr double serial_update_bytes = 12 * element_bytes;

void check(const loop_request& asked) {
    if (asked.size < 1 || asked.size > 2'000'000)
        throw input_error("size " + std::to_string(asked.size) +
                          " is out of range; choose from 1 to 2000000");
    static_cast<void>(habits_of(asked, 1));  // refuses an unknown schedule
    if (asked.chunk < 1) throw input_error("chunk must be at least 1");
    if (asked.wait != "default" && asked.wait != "active" && asked.wait != "passive")
        throw input_error("wait '" + asked.wait + "' is unknown; choose from default, active, passive");
    if (asked.kernel != "tuned" && asked.kernel != "published")
        throw input_error("kernel '" + asked.kernel + "' is unknown; choose from tuned, published");
    if (asked.library != "libgomp" && asked.library != "libomp")
        throw input_error("library '" + asked.library + "' is unknown; choose from libgomp, libomp");
}

// The power of everything but the members' cores; cores without members sleep deeply.
std::int64_t rest_milliwatts(const machine& on, const std::vector<loop_member>& members) {
    std::vector<bool> used(on.cores(), false);
    for (const loop_member& one : members) used[one.where.core] = true;
    std::int64_t rest = on.uncore_active_milliwatts + on.platform_milliwatts;
    for (const hardware_thread& one : hardware_threads(on)) {
        if (one.thread == 0 && !used[one.core]) rest += on.kinds[one.kind].sleeping_milliwatts();
    }
    return rest;
}

// The steady state of an iteration: the median of the later half or, with cores that run in turns, their
// mean.
nanoseconds typical(std::vector<nanoseconds> values, bool in_turns) {
    const auto last = values.begin() + std::ssize(values) / 2;
    const auto count = values.end() - last;
    if (in_turns) return std::accumulate(last, values.end(), nanoseconds{0}) / count;
    std::sort(last, values.end());
    return last[count / 2];
}

// Iterations of the solver, one after the other: the caller's part, then the loop from fork to join.
class loop_run {
  public:
    loop_run(const machine& on, const loop_request& asked);
    loop_result run();

  private:
    // Virtual time at the end of an iteration that begins at `now`.
    nanoseconds iterate(nanoseconds now);
    [[nodiscard]] bool enough(std::size_t done, nanoseconds now) const;
    [[nodiscard]] nanoseconds serial_part() const;
    // Of the lines of so many elements that another member's core has written.
    [[nodiscard]] nanoseconds fetch(std::int64_t elements, actor_id from, actor_id to) const;
    void begin_loop(nanoseconds at);
    // A member's event: it gets its core, its answer or its rows, or has finished its rows.
    void step(actor_id member, nanoseconds at);
    void ask(actor_id member, nanoseconds at);
    void answer(actor_id member, nanoseconds at);
    void work(actor_id member, range rows, nanoseconds at);
    void leave(actor_id member, nanoseconds at);
    void wait(actor_id member, nanoseconds at) {
        accounts_.enter(member, activity::waiting, members_[member].spinning_milliwatts(), at);
    }
    // Sets the rates of all reading members, and moves the ends of their chunks.
    void share(nanoseconds at);
    [[nodiscard]] nanoseconds duration(actor_id member) const;
    // The time at which the caller has done the rows that nobody took.
    nanoseconds run_what_was_left(nanoseconds at);
    [[nodiscard]] std::int64_t rows_done() const;
    [[nodiscard]] loop_result summary();

    const machine& machine_;
    const loop_request asked_;
    const std::vector<loop_member> members_;
    const std::unique_ptr<loop_runtime> runtime_;
    loop_memory memory_;
    std::vector<loop_progress> progress_;  // by member
    std::vector<actor_id> taking_part_;    // in this loop, by position
    event_queue events_;
    ledger accounts_;
    std::vector<nanoseconds> iterations_;
    std::vector<nanoseconds> loops_;
    nanoseconds fork_join_ = 0;   // of the last loop
    nanoseconds last_ended_ = 0;  // when its last member came to its end
    bool in_turns_;               // a thief takes turns of some core
};

// The published kernel takes what a chain of additions takes, which not every machine file says.
void check_kernel(const machine& on, const loop_request& asked) {
    if (asked.kernel != "published") return;
    for (const core_kind& kind : on.kinds)
        if (kind.chain_cycles_per_byte <= 0)
            throw input_error("the published kernel cannot be simulated on " + on.name + ": kind " +
                              kind.name + " has no chain_cycles_per_element; choose --kernel tuned");
}

loop_run::loop_run(const machine& on, const loop_request& asked)
    : machine_(on),
      asked_((check(asked), check_kernel(on, asked), asked)),
      members_(place_members(on, asked.placement, asked.runtime == "serial")),
      runtime_(make_runtime({&machine_, &asked_, members_})),
      memory_(on, members_, asked.size, habits_of(asked, members_.size())),
      progress_(members_.size()),
      events_(members_.size()),
      accounts_(members_.size(), rest_milliwatts(on, members_), asked.timeline),
      in_turns_(on.ticks.period > 0 ||
                std::any_of(members_.begin(), members_.end(),
                            [](const loop_member& one) { return one.kind->stolen_turn > 0; })) {}

loop_result loop_run::run() {
    for (actor_id member = 0; member < members_.size(); ++member) wait(member, 0);
    nanoseconds now = 0;
    do {
        now = iterate(now);
    } while (!enough(iterations_.size(), now));
    accounts_.close(now);
    accounts_.check();
    return summary();
}

// A learning schedule needs iterations to settle. So does the data that other guests bring, which depends on
// the length of an iteration and also changes it. With cores that run in turns iterations differ, so many are
// needed.
bool loop_run::enough(std::size_t done, nanoseconds now) const {
    if (asked_.repetitions > 0) return done >= static_cast<std::size_t>(asked_.repetitions);
    constexpr std::int64_t enough_events =
        10'000'000;  // for very many members with several events in each loop
    if (!runtime_->learns() && !in_turns_) return done >= (machine_.foreign_bytes_per_second > 0 ? 21 : 7);
    const nanoseconds long_enough = runtime_->learns() ? 60'000'000 : 8'000'000;
    return done >= 400 || (done > 20 && (now > long_enough || events_.taken() > enough_events));
}

nanoseconds loop_run::iterate(nanoseconds now) {
    const nanoseconds begin = now;
    const loop_member& caller = members_[0];
    accounts_.enter(0, activity::working, caller.working_milliwatts(), now);
    now = caller.finish(now, serial_part());
    wait(0, now);
    const nanoseconds launch = now;
    const loop_team team{&machine_, &asked_, members_};
    const int width = runtime_->width();
    fork_join_ = team.fork_join(width, memory_.is_cold(width));
    last_ended_ = 0;
    begin_loop(launch + fork_join_ / 2);
    while (!events_.empty()) {
        const event next = events_.take();
        step(next.actor, next.at);
    }
    now = caller.finish(run_what_was_left(last_ended_ + (fork_join_ - fork_join_ / 2)), 0);
    if (rows_done() != asked_.size)
        throw std::logic_error("the schedule handed out " + std::to_string(rows_done()) + " of " +
                               std::to_string(asked_.size) + " rows");
    runtime_->learn(taking_part_, progress_, launch, now);
    iterations_.push_back(now - begin);
    loops_.push_back(now - launch);
    return now;
}

// Each loop multiplies a vector that the caller has just written, and the caller then reads the rows' sums:
// both go from core to core. Processes have their own vectors.
nanoseconds loop_run::fetch(std::int64_t elements, actor_id from, actor_id to) const {
    if (from == to || asked_.runtime == "mpi") return 0;
    const auto bytes = static_cast<std::int64_t>(static_cast<double>(elements) * element_bytes);
    const std::int64_t lines = (bytes + machine_.line_bytes - 1) / machine_.line_bytes;
    return lines * machine_.transfer(members_[from].where, members_[to].where) / overlapping_transfers;
}

nanoseconds loop_run::serial_part() const {
    const core_kind& first = *members_[0].kind;
    const double sum_cycles =
        asked_.kernel == "published" ? first.chain_cycles_per_byte : first.stream_cycles_per_byte;
    const double cycles =
        static_cast<double>(asked_.size) *
        (serial_chains * sum_cycles * element_bytes +
         std::min(serial_update_cycles, serial_update_bytes * first.stream_cycles_per_byte));
    nanoseconds gather = 0;
    for (const actor_id member : taking_part_) gather += fetch(progress_[member].rows, member, 0);
    return gather + static_cast<nanoseconds>(cycles / members_[0].hertz * 1e9 + 0.5);
}

void loop_run::begin_loop(nanoseconds at) {
    taking_part_ = runtime_->begin();
    memory_.begin(taking_part_, progress_, iterations_.empty() ? 0 : iterations_.back());
    for (std::size_t position = 0; position < taking_part_.size(); ++position) {
        loop_progress& own = progress_[taking_part_[position]];
        own.now = phase::asking;
        own.position = static_cast<int>(position);
        own.chunk = {};
        own.rows = 0;
    }
    share(at);
    const actor_id caller = taking_part_.front();
    for (const actor_id member : taking_part_) {
        if (member != caller || !runtime_->caller_asks_last()) ask(member, at);
    }
    if (!runtime_->caller_asks_last()) return;
    progress_[caller].now = phase::away;
    events_.schedule(caller, at + machine_.line_transfer);
}

void loop_run::step(actor_id member, nanoseconds at) {
    switch (progress_[member].now) {
        case phase::away:
            return ask(member, at);
        case phase::asking:
            return answer(member, at);
        case phase::fetching:
            return work(member, progress_[member].chunk, at);
        default:
            wait(member, at);
            return ask(member, at);
    }
}

// A member without work asks for some; its event is the time of the answer.
void loop_run::ask(actor_id member, nanoseconds at) {
    loop_progress& own = progress_[member];
    // A member cannot ask while a thief has its core, and does not hold up others meanwhile.
    const nanoseconds back = members_[member].finish(at, 0);
    own.now = back > at ? phase::away : phase::asking;
    events_.schedule(member,
                     back > at ? back : members_[member].finish(runtime_->ask(member, own.chunk, at), 0));
}

void loop_run::answer(actor_id member, nanoseconds at) {
    loop_progress& own = progress_[member];
    const row_grant given = runtime_->next(own.position, !own.chunk.empty());
    if (given.rows.empty()) return leave(member, at);
    if (given.fetch == 0) return work(member, given.rows, at);
    own.now = phase::fetching;
    own.chunk = given.rows;
    events_.schedule(member, members_[member].finish(at, given.fetch));
}

void loop_run::work(actor_id member, range rows, nanoseconds at) {
    loop_progress& own = progress_[member];
    own.now = phase::working;
    own.chunk = rows;
    const bool first = own.rows == 0;
    if (first) own.began = at;
    own.rows += rows.size();
    own.since = at;
    own.left = memory_.read(member, rows.size());
    if (first) own.left += memory_.rate(member) * static_cast<double>(fetch(asked_.size, 0, member)) * 1e-9;
    accounts_.enter(member, activity::working, members_[member].working_milliwatts(), at);
    events_.schedule(member, members_[member].finish(at, duration(member)));
}

void loop_run::leave(actor_id member, nanoseconds at) {
    progress_[member].now = phase::done;
    progress_[member].ended = at;
    last_ended_ = std::max(last_ended_, at);
    wait(member, at);
    if (memory_.leave(member)) share(at);
}

void loop_run::share(nanoseconds at) {
    memory_.share([&](actor_id member, double before) {
        loop_progress& own = progress_[member];
        if (own.now != phase::working) return;
        const auto served = static_cast<double>(members_[member].served(own.since, at));
        own.left = std::max(0.0, own.left - before * served * 1e-9);
        own.since = at;
        events_.schedule(member, members_[member].finish(at, duration(member)));
    });
}

nanoseconds loop_run::duration(actor_id member) const {
    return static_cast<nanoseconds>(progress_[member].left / memory_.rate(member) * 1e9 + 0.5);
}

nanoseconds loop_run::run_what_was_left(nanoseconds at) {
    for (const range rows : runtime_->left_behind()) {
        memory_.come_back(0);
        share(at);
        work(0, rows, at);
        at = events_.take().at;
        wait(0, at);
        progress_[0].now = phase::done;
        static_cast<void>(memory_.leave(0));
    }
    return at;
}

std::int64_t loop_run::rows_done() const {
    std::int64_t rows = 0;
    for (const actor_id member : taking_part_) rows += progress_[member].rows;
    return rows;
}

loop_result loop_run::summary() {
    loop_result result;
    result.iteration = typical(iterations_, in_turns_);
    result.loop = typical(loops_, in_turns_);
    result.fork_join = fork_join_;
    result.memory_bytes = memory_.bytes_from_memory();
    result.last_level_bytes = memory_.bytes_past_port();
    result.joules =
        static_cast<double>(accounts_.total_picojoules()) * 1e-12 / static_cast<double>(iterations_.size());
    const auto working = static_cast<double>(accounts_.total(activity::working));
    const auto waiting = static_cast<double>(accounts_.total(activity::waiting));
    result.waiting_share = working + waiting > 0 ? waiting / (working + waiting) : 0;
    result.events = events_.taken();
    result.steals = runtime_->steals();
    result.early_ends = runtime_->early_ends();
    result.members = static_cast<int>(members_.size());
    result.width = static_cast<int>(taking_part_.size());
    result.rows.assign(members_.size(), 0);
    for (const actor_id member : taking_part_) result.rows[member] = progress_[member].rows;
    for (const loop_member& one : members_) result.threads.push_back(one.where);
    result.accounts = std::move(accounts_);
    return result;
}

}  // namespace

loop_result simulate_loop(const machine& on, const loop_request& asked) {
    return loop_run(on, asked).run();
}

}  // namespace tauto::sim
