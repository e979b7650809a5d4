#include "threads.hpp"

#include <algorithm>
#include <utility>

#include "noise.hpp"

namespace tauto::sim {

namespace {

// A frame of a paced thread: it works for its share of this time and sleeps for the rest.
constexpr nanoseconds frame = 33'000'000;

class threads_run {
  public:
    threads_run(const machine& on, const threads_request& asked);
    threads_result run();

  private:
    struct thread {
        double left = 0;   // cycles of the first kind
        double burst = 0;  // cycles left in this frame; all cycles left if it is not paced
        double whole_burst = 0;
        bool paced = false;
        bool irregular = false;
        std::uint64_t frames = 0;  // begun
        int pinned = -1;
        int waker = -1;  // thread
        int core = -1;   // runs there now
        bool ready = true;
        bool over = false;
        nanoseconds waits_since = 0;  // while it is ready and has no core
        nanoseconds runs_since = 0;
        nanoseconds frame_end = 0;
        nanoseconds finished = 0;
    };
    struct core_state {
        int kind = 0;
        int place = 0;  // in its kind
        int runs = -1;  // thread
        double hertz = 0;
        std::size_t level = 0;  // of the kind's states, for thresholds
        nanoseconds since = 0;
        nanoseconds busy = 0;  // in this sampling period
    };

    [[nodiscard]] const core_kind& kind(const core_state& one) const { return machine_.kinds[one.kind]; }
    [[nodiscard]] double pace(const core_state& one) const {
        return one.hertz * machine_.kinds.front().hash_cycles_per_byte / kind(one).hash_cycles_per_byte;
    }
    [[nodiscard]] int waker_of(const std::string& name) const;
    void settle(std::size_t core, nanoseconds at);
    void dispatch(nanoseconds at);
    void take_core_of_waker(std::size_t woken, nanoseconds at);
    void sample(nanoseconds at);
    void set_clock(std::size_t core, double hertz, nanoseconds at);
    void plan(std::size_t core, nanoseconds at);
    void draw(std::size_t core, nanoseconds at);
    void run_on(std::size_t core, int chosen, nanoseconds at);
    [[nodiscard]] bool may_run(const thread& one, std::size_t core) const {
        return one.pinned < 0 || static_cast<std::size_t>(one.pinned) == core;
    }
    void turn(nanoseconds at);
    void burst_over(std::size_t core, nanoseconds at);
    void frame_over(std::size_t thread, nanoseconds at);
    void begin_frame(std::size_t thread, nanoseconds at);
    [[nodiscard]] nanoseconds frame_of(const thread& one) const;

    const machine& machine_;
    threads_request asked_;
    std::vector<thread> threads_;
    std::vector<core_state> cores_;
    // Actors: cores (end of a burst), threads (next frame), the governor, the system's turns.
    event_queue events_;
    ledger accounts_;
    int left_ = 0;
    int busy_cores_ = 0;
    bool turning_ = false;  // a turn's end is awaited
    std::int64_t migrations_ = 0;
    double clock_time_ = 0;
    double busy_time_ = 0;
};

threads_run::threads_run(const machine& on, const threads_request& asked)
    : machine_(on),
      asked_(asked),
      events_(on.cores() + asked.threads.size() + 2),
      accounts_(on.cores(), 0, asked.timeline) {
    if (!(asked.until_seconds >= 0 && asked.until_seconds <= 1e6))
        throw input_error("until_seconds must be from 0 to 1000000");
    if (asked.threads.empty()) throw input_error("no thread was named; give at least one");
    for (const core_kind& one : on.kinds) {
        for (int place = 0; place < one.cores; ++place) {
            core_state core;
            core.kind = static_cast<int>(&one - on.kinds.data());
            core.place = place;
            core.level = one.state_hertz.size() - 1;
            core.hertz = one.turbo(1) * one.spread(place);
            cores_.push_back(core);
        }
    }
    const double hertz = on.kinds.front().turbo(1);
    for (const thread_request& one : asked.threads) {
        if (!(one.seconds > 0 && one.seconds <= 1e5))
            throw input_error("thread '" + one.name + "': seconds must be above 0, at most 100000");
        if (!(one.pace > 0 && one.pace <= 1))
            throw input_error("thread '" + one.name + "': pace must be above 0, at most 1");
        if (one.irregular && one.pace == 1)
            throw input_error("thread '" + one.name + "' works all the time; irregular needs a pace below 1");
        if (one.core >= on.cores())
            throw input_error("thread '" + one.name + "' is pinned to core " + std::to_string(one.core) +
                              "; " + on.name + " has " + std::to_string(on.cores()));
        thread added;
        added.left = one.seconds * hertz;
        added.paced = one.pace < 1;
        added.whole_burst = added.paced ? one.pace * static_cast<double>(frame) * 1e-9 * hertz : added.left;
        added.irregular = one.irregular;
        added.pinned = one.core;
        threads_.push_back(added);
    }
    for (std::size_t t = 0; t < threads_.size(); ++t) {
        threads_[t].waker = waker_of(asked.threads[t].woken_by);
        if (threads_[t].waker == static_cast<int>(t))
            throw input_error("thread '" + asked.threads[t].name +
                              "' is woken by itself; woken_by names another thread of the request");
    }
    left_ = static_cast<int>(threads_.size());
}

// The number of the thread with that name; -1 for none.
int threads_run::waker_of(const std::string& name) const {
    if (name.empty()) return -1;
    for (std::size_t t = 0; t < asked_.threads.size(); ++t)
        if (asked_.threads[t].name == name) return static_cast<int>(t);
    throw input_error("no thread is called '" + name + "'; woken_by names another thread of the request");
}

// Counts the work that the core has done since the last call.
void threads_run::settle(std::size_t core, nanoseconds at) {
    core_state& own = cores_[core];
    if (own.runs >= 0) {
        const double elapsed = static_cast<double>(at - own.since);
        thread& one = threads_[own.runs];
        const double done = pace(own) * elapsed * 1e-9;
        one.left = std::max(0.0, one.left - done);
        one.burst = std::max(0.0, one.burst - done);
        own.busy += at - own.since;
        clock_time_ += own.hertz * elapsed;
        busy_time_ += elapsed;
    }
    own.since = at;
}

void threads_run::draw(std::size_t core, nanoseconds at) {
    const core_state& own = cores_[core];
    const bool works = own.runs >= 0;
    const bool any = busy_cores_ > 0;
    const std::int64_t idle = any ? kind(own).idle_milliwatts() : kind(own).sleeping_milliwatts();
    accounts_.enter(static_cast<actor_id>(core), works ? activity::working : activity::idle,
                    works ? kind(own).active_milliwatts(own.hertz) : idle, at);
    accounts_.set_base((any ? machine_.uncore_active_milliwatts : machine_.uncore_idle_milliwatts) +
                           machine_.platform_milliwatts,
                       at);
}

// The core runs this thread from now on; -1: none. While no core runs a thread, all cores sleep deeply.
void threads_run::run_on(std::size_t core, int chosen, nanoseconds at) {
    settle(core, at);
    const bool any = busy_cores_ > 0;
    busy_cores_ += (chosen >= 0 ? 1 : 0) - (cores_[core].runs >= 0 ? 1 : 0);
    cores_[core].runs = chosen;
    if (chosen >= 0) {
        threads_[chosen].core = static_cast<int>(core);
        threads_[chosen].runs_since = at;
    }
    if (any != (busy_cores_ > 0)) {
        for (std::size_t c = 0; c < cores_.size(); ++c) draw(c, at);
    } else {
        draw(core, at);
    }
}

void threads_run::plan(std::size_t core, nanoseconds at) {
    core_state& own = cores_[core];
    if (own.runs < 0) return events_.cancel(static_cast<actor_id>(core));
    const double burst = threads_[own.runs].burst;
    events_.schedule(static_cast<actor_id>(core),
                     at + static_cast<nanoseconds>(burst / pace(own) * 1e9 + 0.5));
}

// Puts ready threads on idle cores: pinned threads on their own core, the others on any. If a thread gets no
// core, the running ones have at most one more turn each.
void threads_run::dispatch(nanoseconds at) {
    bool waits = false;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
        thread& one = threads_[t];
        if (!one.ready || one.over || one.core >= 0) continue;
        std::size_t core = std::max(0, one.pinned);
        while (core < cores_.size() && cores_[core].runs >= 0)
            core = one.pinned < 0 ? core + 1 : cores_.size();
        if (core == cores_.size()) {
            waits = true;
            continue;
        }
        run_on(core, static_cast<int>(t), at);
        plan(core, at);
    }
    const auto turns = static_cast<actor_id>(cores_.size() + threads_.size() + 1);
    if (!waits) {
        turning_ = false;
        return events_.cancel(turns);
    }
    if (!turning_) events_.schedule(turns, at + machine_.quantum);
    turning_ = true;
}

// A turn is over: waiting threads, the longest waiting first, take the cores of the threads that have run
// longest.
void threads_run::turn(nanoseconds at) {
    turning_ = false;
    std::vector<std::size_t> waiting;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
        const thread& one = threads_[t];
        if (one.ready && !one.over && one.core < 0) waiting.push_back(t);
    }
    std::stable_sort(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) {
        return threads_[a].waits_since < threads_[b].waits_since;
    });
    for (const std::size_t t : waiting) {
        int longest = -1;
        for (std::size_t other = 0; other < threads_.size(); ++other) {
            const thread& one = threads_[other];
            if (one.core < 0 || one.runs_since == at || !may_run(threads_[t], one.core)) continue;
            if (longest < 0 || one.runs_since < threads_[longest].runs_since)
                longest = static_cast<int>(other);
        }
        if (longest < 0) continue;
        thread& leaves = threads_[longest];
        const std::size_t core = leaves.core;
        leaves.core = -1;
        leaves.waits_since = at;
        run_on(core, static_cast<int>(t), at);
        plan(core, at);
    }
    dispatch(at);
}

// A thread that is woken takes the core of the thread that woke it, which goes on on an idle core: what the
// study saw of the system's dispatcher, a busy thread that moves all the time. A lone thread stays where it
// is.
void threads_run::take_core_of_waker(std::size_t woken, nanoseconds at) {
    thread& one = threads_[woken];
    if (!machine_.woken_takes_core || one.waker < 0 || one.pinned >= 0 || one.core >= 0) return;
    thread& waker = threads_[one.waker];
    if (waker.core < 0 || waker.pinned >= 0) return;
    const auto idle =
        std::find_if(cores_.begin(), cores_.end(), [](const core_state& each) { return each.runs < 0; });
    if (idle == cores_.end()) return;
    const auto to = static_cast<std::size_t>(idle - cores_.begin());
    const auto from = static_cast<std::size_t>(waker.core);
    run_on(from, static_cast<int>(woken), at);
    run_on(to, one.waker, at);
    // The cost of a move is work done twice, because the cache is cold.
    const double lost = static_cast<double>(machine_.migration_cost) * 1e-9 * pace(cores_[to]);
    waker.burst += lost;
    waker.left += lost;
    ++migrations_;
    plan(from, at);
    plan(to, at);
}

void threads_run::set_clock(std::size_t core, double hertz, nanoseconds at) {
    if (cores_[core].hertz == hertz) return;
    settle(core, at);
    cores_[core].hertz = hertz;
    draw(core, at);
    plan(core, at);
}

void threads_run::sample(nanoseconds at) {
    const governor& rule = machine_.frequency;
    for (std::size_t c = 0; c < cores_.size(); ++c) settle(c, at);
    double whole = 0;
    for (const core_state& one : cores_) whole += static_cast<double>(one.busy);
    for (std::size_t c = 0; c < cores_.size(); ++c) {
        core_state& own = cores_[c];
        const core_kind& sort = kind(own);
        // The load of the package is the sum over its threads, at most one core.
        const double counted = rule.whole_package ? whole : static_cast<double>(own.busy);
        const double used = std::min(1.0, counted / static_cast<double>(rule.sampling));
        if (rule.rule == governor::policy::proportional) {
            const double wanted = rule.headroom * used * sort.turbo(1);
            double hertz = sort.state_hertz.back();
            for (std::size_t s = sort.state_hertz.size(); s-- > 0;) {
                if (sort.state_hertz[s] >= wanted) hertz = sort.state_hertz[s];
            }
            set_clock(c, std::max(sort.min_hertz, std::min(hertz, sort.turbo(1) * sort.spread(own.place))),
                      at);
        } else if (rule.rule == governor::policy::thresholds) {
            if (used > rule.up && own.level + 1 < sort.state_hertz.size()) ++own.level;
            if (used < rule.down && own.level > 0) --own.level;
        }
        own.busy = 0;
    }
    if (rule.rule == governor::policy::thresholds) {
        // Cores of one package share a voltage plane and a clock, so the highest request decides.
        std::size_t level = 0;
        for (const core_state& one : cores_) level = std::max(level, one.level);
        for (std::size_t c = 0; c < cores_.size(); ++c)
            set_clock(c, kind(cores_[c]).state_hertz[std::min(level, kind(cores_[c]).state_hertz.size() - 1)],
                      at);
    }
    if (left_ > 0)
        events_.schedule(static_cast<actor_id>(cores_.size() + threads_.size()), at + rule.sampling);
}

void threads_run::burst_over(std::size_t core, nanoseconds at) {
    const int t = cores_[core].runs;
    thread& one = threads_[t];
    run_on(core, -1, at);
    one.core = -1;
    // Less than a nanosecond of work counts as none, because virtual time could not advance.
    if (one.left * 1e9 <= pace(cores_[core])) {
        one.over = true;
        one.finished = at;
        --left_;
    } else if (one.paced) {
        one.ready = false;
        events_.schedule(static_cast<actor_id>(cores_.size() + t), std::max(at, one.frame_end));
    } else {
        one.burst = one.left;
        one.waits_since = at;
    }
    dispatch(at);
}

// A thread that another one wakes is woken each time that one has done a frame's work, so at half its clock
// half as often.
nanoseconds threads_run::frame_of(const thread& one) const {
    const int core = one.waker >= 0 ? threads_[one.waker].core : -1;
    if (core < 0) return frame;
    const double fastest = machine_.kinds.front().turbo(1);
    return static_cast<nanoseconds>(static_cast<double>(frame) * fastest / pace(cores_[core]) + 0.5);
}

void threads_run::begin_frame(std::size_t t, nanoseconds at) {
    thread& one = threads_[t];
    double work = one.whole_burst;
    auto length = static_cast<double>(frame_of(one));
    if (one.irregular) {
        work *= 2 * chance(2 * t, one.frames);
        length *= 2 * chance(2 * t + 1, one.frames);
    }
    ++one.frames;
    one.burst = std::min(one.left, work);
    one.frame_end = at + static_cast<nanoseconds>(length);
}

void threads_run::frame_over(std::size_t t, nanoseconds at) {
    thread& one = threads_[t];
    one.ready = true;
    one.waits_since = at;
    begin_frame(t, at);
    take_core_of_waker(t, at);
    dispatch(at);
}

threads_result threads_run::run() {
    for (std::size_t t = 0; t < threads_.size(); ++t) begin_frame(t, 0);
    for (std::size_t c = 0; c < cores_.size(); ++c) draw(c, 0);
    dispatch(0);
    const std::size_t count = cores_.size();
    if (machine_.frequency.rule != governor::policy::maximum)
        events_.schedule(static_cast<actor_id>(count + threads_.size()), machine_.frequency.sampling);
    nanoseconds now = 0;
    while (left_ > 0 && !events_.empty()) {
        const event next = events_.take();
        now = next.at;
        if (next.actor < count) {
            burst_over(next.actor, now);
        } else if (next.actor < count + threads_.size()) {
            frame_over(next.actor - count, now);
        } else if (next.actor == count + threads_.size()) {
            sample(now);
        } else {
            turn(now);
        }
    }
    if (left_ > 0) throw std::logic_error("threads are left that nobody runs");
    threads_result result;
    result.finished = now;
    const std::int64_t to_finish = accounts_.energy_until(now) - machine_.platform_milliwatts * now;
    result.end = std::max(now, to_nanoseconds(asked_.until_seconds));
    accounts_.close(result.end);
    accounts_.check();
    const std::int64_t platform = machine_.platform_milliwatts * result.end;
    result.package_joules_to_finish = static_cast<double>(to_finish) * 1e-12;
    result.package_joules = static_cast<double>(accounts_.total_picojoules() - platform) * 1e-12;
    result.platform_joules = static_cast<double>(accounts_.total_picojoules()) * 1e-12;
    result.mean_hertz = busy_time_ > 0 ? clock_time_ / busy_time_ : 0;
    result.migrations = migrations_;
    result.events = events_.taken();
    for (const thread& one : threads_) result.finished_each.push_back(one.finished);
    result.accounts = std::move(accounts_);
    return result;
}

}  // namespace

threads_result simulate_threads(const machine& on, const threads_request& asked) {
    return threads_run(on, asked).run();
}

}  // namespace tauto::sim
