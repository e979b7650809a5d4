#include "tasks.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <tauto/schedule.hpp>

#include "task_queues.hpp"

namespace tauto::sim {

namespace {

// A thread that finds it locked goes to sleep. The thread that unlocks it pays for the call that wakes one
// sleeper, which runs some time later. With a Linux futex the mutex is free meanwhile, and a sleeper that
// comes too late sleeps again. On other systems Qt's mutex is handed over (qmutex.cpp: "transfer the lock"):
// no other thread can have it until the sleeper runs.
struct sleeping_mutex {
    bool held = false;
    std::deque<actor_id> sleepers;
    std::int64_t last = -1;  // owner
};

// The action of a thread at its next event.
enum class state : std::uint8_t {
    asleep,        // nothing: another thread wakes it
    take,          // asks for a task, or begins its task (Qt)
    in_task,       // ends it
    joined,        // all tasks are done; the repetition is over
    start,         // of Qt: starts pool threads while there are some and tasks are left
    start_locked,  // has the pool's mutex for it
    started,       // lets it go
    woken,         // locks the pool's mutex for after_lock; also after a sleep
    woken_locked,  // left the pool's condition
    next_block,    // fetches the index of the next task
    grow_locked,   // has the pool's mutex to ask for one more thread before each block
    grown,         // lets it go
    reduce,        // comes back from a sleep and takes the reducer's mutex for after_lock
    reduce_locked,
    reduced,      // leaves its result to the thread that reduces, or begins to reduce
    fold_locked,  // has reduced, and has the mutex again to see what others left meanwhile
    folded,       // reduces that, or ends reducing
    leave,        // no more tasks
    retire,       // a pool thread goes back into the pool
    retired,      // has the pool's mutex for it
    fall_asleep,  // waits in the pool
};

class tasks_run {
  public:
    tasks_run(const machine& on, const tasks_request& asked);
    tasks_result run();

  private:
    struct thread {
        hardware_thread where;
        state now = state::asleep;
        state after_lock = state::asleep;
        double left = 0;  // cycles left of its task, for one thread alone on the core
        double hertz = 0;
        double pace = 0;  // of those cycles a second
        nanoseconds since = 0;
        nanoseconds task_begin = 0;
        bool inside = false;   // a task
        bool started = false;  // a thread of the pool, when it last tried
        bool awake = false;
        nanoseconds busy_since = 0;
        nanoseconds busy = 0;  // in this sampling period
    };

    [[nodiscard]] const core_kind& kind(const thread& one) const { return machine_.kinds[one.where.kind]; }
    // Of its hardware thread, whose ticks have lengths of their own.
    [[nodiscard]] int number(actor_id id) const { return cpu_number(machine_, threads_[id].where); }
    [[nodiscard]] bool qt() const { return asked_.runtime == "qt"; }
    void set_activity(actor_id id, activity what, nanoseconds at);
    void draw(actor_id id, activity what, nanoseconds at);
    void set_pace(actor_id id, nanoseconds at);
    void pace_core(int core, nanoseconds at);
    void go(actor_id id, state next, nanoseconds at);
    void sleep(actor_id id, nanoseconds at);
    [[nodiscard]] nanoseconds wake(actor_id id, state next, nanoseconds at);
    [[nodiscard]] nanoseconds leaves_idle(int core, nanoseconds at) const;
    void lock(sleeping_mutex& mutex, actor_id id, state then, nanoseconds at);
    [[nodiscard]] nanoseconds unlock(sleeping_mutex& mutex, nanoseconds at);
    void begin_task(actor_id id, nanoseconds at);
    void end_task(actor_id id, nanoseconds at);
    void begin_repetition(nanoseconds at);
    void end_repetition(nanoseconds at);
    void step(actor_id id, nanoseconds at);
    void step_qt(actor_id id, nanoseconds at);
    void take(actor_id id, nanoseconds at);
    [[nodiscard]] nanoseconds count_in_engine(nanoseconds at);
    void ask_to_start(actor_id id, nanoseconds at, state then);
    void try_start(actor_id id, nanoseconds at, state then);
    void enter_engine(actor_id id, nanoseconds at);
    void reduced(actor_id id, nanoseconds at);
    void folded(actor_id id, nanoseconds at);
    void leave_engine(actor_id id, nanoseconds at);
    void sample(nanoseconds at);

    const machine& machine_;
    tasks_request asked_;
    std::vector<thread> threads_;
    std::vector<int> inside_;               // tasks running, by core
    std::vector<int> awake_on_;             // awake threads, by core
    std::vector<nanoseconds> asleep_from_;  // by core: since when none is
    std::vector<int> awake_cores_;          // by kind
    std::vector<std::vector<actor_id>> on_core_;
    std::vector<double> cap_;  // the governor's clock, by core
    event_queue events_;       // one a thread, and the governor
    ledger accounts_;
    worksharing sharing_;
    task_queues queues_;
    std::vector<double> speeds_;
    double cycles_ = 0;  // of one task
    int next_task_ = 0;
    int handed_ = 0;   // tasks of this repetition that were handed out
    int running_ = 0;  // threads in the engine, or still asking
    sleeping_mutex pool_;
    int queued_ = 0;  // in the pool: threads that were started and have not entered the engine
    sleeping_mutex reducer_;
    bool reducing_ = false;  // a thread reduces, without the mutex
    int left_results_ = 0;   // of the others, for that thread
    std::deque<actor_id> pool_waiting_;
    bool caller_waits_ = false;
    nanoseconds counter_free_ = 0;
    nanoseconds barrier_free_ = 0;  // of Qt's engine, which counts its threads
    nanoseconds repetition_begin_ = 0;
    nanoseconds measured_from_ = 0;
    std::vector<nanoseconds> lengths_;
    nanoseconds inside_time_ = 0;
    double clock_time_ = 0;
    std::int64_t tasks_done_ = 0;
    std::int64_t sleeps_ = 0;
    std::int64_t energy_from_ = 0;
    double load_sum_ = 0;
    std::int64_t samples_ = 0;
    bool over_ = false;
};

tasks_run::tasks_run(const machine& on, const tasks_request& asked)
    : machine_(on),
      asked_(asked),
      events_(std::max(1, asked.threads) + 1),
      accounts_(0, 0, false),
      sharing_(std::max(1, asked.threads)),
      queues_(std::max(1, asked.threads)) {
    if (asked.tasks < 1 || asked.tasks > 1'000'000)
        throw input_error("tasks must be from 1 to 1000000, not " + std::to_string(asked.tasks));
    if (!(asked.bytes >= 1 && asked.bytes <= 1e12)) throw input_error("bytes must be from 1 to 1e12");
    if (!(asked.seconds > 0 && asked.seconds <= 100))
        throw input_error("seconds must be above 0, at most 100");
    if (asked.threads < 1 || asked.threads > on.hardware_threads())
        throw input_error("threads is " + std::to_string(asked.threads) + "; " + on.name + " has " +
                          std::to_string(on.hardware_threads()) + " hardware threads");
    const std::vector<std::string> known = {"openmp", "qt", "serial", "tautochrone", "tbb"};
    if (std::find(known.begin(), known.end(), asked.runtime) == known.end())
        throw input_error("runtime '" + asked.runtime +
                          "' is unknown; choose from openmp, qt, serial, tautochrone, tbb");
    if (asked.schedule != "static" && asked.schedule != "dynamic" && asked.schedule != "guided")
        throw input_error("schedule '" + asked.schedule +
                          "' is unknown; choose from static, dynamic, guided");
    std::vector<hardware_thread> all = hardware_threads(on);
    all.resize(asked.runtime == "serial" ? 1 : asked.threads);
    inside_.assign(on.cores(), 0);
    awake_on_ = inside_;
    asleep_from_.assign(inside_.size(), 0);
    awake_cores_.assign(on.kinds.size(), 0);
    on_core_.resize(inside_.size());
    cap_.assign(inside_.size(), 1e18);
    std::vector<bool> used(inside_.size(), false);
    for (const hardware_thread& where : all) {
        thread one;
        one.where = where;
        used[where.core] = true;
        on_core_[where.core].push_back(static_cast<actor_id>(threads_.size()));
        threads_.push_back(one);
    }
    std::int64_t rest = on.uncore_active_milliwatts + on.platform_milliwatts;
    for (const hardware_thread& one : hardware_threads(on)) {
        if (one.thread == 0 && !used[one.core]) rest += on.kinds[one.kind].sleeping_milliwatts();
    }
    accounts_ = ledger(threads_.size(), rest, asked.timeline);
    cycles_ = asked.bytes * on.kinds.front().hash_cycles_per_byte;
    speeds_.assign(threads_.size(), 1.0);
}

void tasks_run::set_pace(actor_id id, nanoseconds at) {
    thread& one = threads_[id];
    const int core = one.where.core;
    if (one.inside && one.pace > 0) {
        const auto elapsed = static_cast<double>(machine_.ticks.served(number(id), one.since, at));
        one.left = std::max(0.0, one.left - one.pace * elapsed * 1e-9);
        clock_time_ += one.hertz * elapsed;
    }
    one.since = at;
    const double turbo =
        kind(one).turbo(awake_cores_[one.where.kind]) * kind(one).spread(one.where.core_of_kind);
    one.hertz = std::max(kind(one).min_hertz, std::min(turbo, cap_[core]));
    // A slower kind needs more of its own cycles for the same task.
    const double against_first = machine_.kinds.front().hash_cycles_per_byte / kind(one).hash_cycles_per_byte;
    const double beside = inside_[core] > 1 ? kind(one).smt_yield / inside_[core] : 1;
    // Tasks are long compared with the turns of an emulated slow core, so its mean share is used.
    one.pace = one.hertz * against_first * beside * (1 - kind(one).stolen_share);
    if (!one.inside) return;
    const auto work = static_cast<nanoseconds>(one.left / one.pace * 1e9 + 0.5);
    events_.schedule(id, machine_.ticks.finish(number(id), at, work));
}

void tasks_run::pace_core(int core, nanoseconds at) {
    for (const actor_id id : on_core_[core]) {
        if (threads_[id].inside) set_pace(id, at);
    }
}

void tasks_run::set_activity(actor_id id, activity what, nanoseconds at) {
    thread& one = threads_[id];
    const int core = one.where.core;
    const bool awake = what != activity::idle;
    const bool changes = awake != one.awake;
    if (changes) {
        if (one.awake) one.busy += at - one.busy_since;
        one.busy_since = at;
        one.awake = awake;
        awake_on_[core] += awake ? 1 : -1;
        if (awake_on_[core] == (awake ? 1 : 0)) awake_cores_[one.where.kind] += awake ? 1 : -1;
        if (awake_on_[core] == 0) asleep_from_[core] = at;
    }
    draw(id, what, at);
    if (!changes) return;
    for (const actor_id other : on_core_[core]) {
        if (other != id) draw(other, accounts_.doing(other), at);
    }
}

// The awake threads share the power of their core; if none is awake, all share it.
void tasks_run::draw(actor_id id, activity what, nanoseconds at) {
    thread& one = threads_[id];
    const core_kind& own = kind(one);
    const int core = one.where.core;
    if (one.hertz <= 0) set_pace(id, at);
    const int awake = awake_on_[core];
    std::int64_t draws = awake > 0 ? 0 : own.idle_milliwatts();
    if (what == activity::working) draws = own.active_milliwatts(one.hertz);
    if (what == activity::waiting) draws = own.spinning_milliwatts(one.hertz);
    accounts_.enter(id, what, draws / (awake > 0 ? awake : static_cast<int>(on_core_[core].size())), at);
}

void tasks_run::go(actor_id id, state next, nanoseconds at) {
    threads_[id].now = next;
    events_.schedule(id, at);
}

void tasks_run::sleep(actor_id id, nanoseconds at) {
    threads_[id].now = state::asleep;
    ++sleeps_;
    set_activity(id, activity::idle, at);
}

// The sleeper continues in `next`. Returns the time at which the waker has finished the call.
nanoseconds tasks_run::wake(actor_id id, state next, nanoseconds at) {
    threads_[id].now = next;
    events_.schedule(id, at + machine_.wake_sleeper + leaves_idle(threads_[id].where.core, at));
    return at + machine_.wake_caller;
}

// What a core takes to leave the sleep that it is in. It sleeps only while all its threads do, the longer the
// deeper.
nanoseconds tasks_run::leaves_idle(int core, nanoseconds at) const {
    if (awake_on_[core] > 0) return 0;
    const nanoseconds slept = at - asleep_from_[core];
    if (machine_.deep_idle_after > 0 && slept > machine_.deep_idle_after) return machine_.deep_idle_exit;
    return machine_.idle_after > 0 && slept > machine_.idle_after ? machine_.idle_exit : 0;
}

void tasks_run::lock(sleeping_mutex& mutex, actor_id id, state then, nanoseconds at) {
    if (mutex.held) {
        mutex.sleepers.push_back(id);
        threads_[id].after_lock = then;
        return sleep(id, at);
    }
    mutex.held = true;
    const nanoseconds cost =
        mutex.last == static_cast<std::int64_t>(id) ? own_atomic : machine_.line_transfer;
    mutex.last = id;
    go(id, then, at + cost);
}

// Returns the time at which the unlocking thread has finished the call.
nanoseconds tasks_run::unlock(sleeping_mutex& mutex, nanoseconds at) {
    mutex.held = machine_.mutex_handover && !mutex.sleepers.empty();
    if (mutex.sleepers.empty()) return at + own_atomic;
    const actor_id next = mutex.sleepers.front();
    mutex.sleepers.pop_front();
    if (mutex.held) {
        mutex.last = next;
        return wake(next, threads_[next].after_lock, at);
    }
    return wake(next, &mutex == &pool_ ? state::woken : state::reduce, at);
}

void tasks_run::begin_task(actor_id id, nanoseconds at) {
    thread& one = threads_[id];
    one.inside = true;
    one.task_begin = at;
    one.left = cycles_;
    one.now = state::in_task;
    set_activity(id, activity::working, at);
    ++inside_[one.where.core];
    one.pace = 0;
    set_pace(id, at);
    if (inside_[one.where.core] > 1) pace_core(one.where.core, at);
}

void tasks_run::end_task(actor_id id, nanoseconds at) {
    thread& one = threads_[id];
    if (one.inside) clock_time_ += one.hertz * static_cast<double>(at - one.since);
    one.inside = false;
    --inside_[one.where.core];
    if (inside_[one.where.core] > 0) pace_core(one.where.core, at);
    inside_time_ += at - one.task_begin;
    ++tasks_done_;
    set_activity(id, activity::waiting, at);
}

void tasks_run::begin_repetition(nanoseconds at) {
    repetition_begin_ = at;
    next_task_ = 0;
    handed_ = 0;
    counter_free_ = at;
    const auto count = static_cast<int>(threads_.size());
    if (qt()) {
        running_ = 1;
        caller_waits_ = false;
        set_activity(0, activity::waiting, at);
        return go(0, state::start, at);
    }
    running_ = count;
    schedule chosen = dynamic{1};
    if (asked_.schedule == "static") chosen = static_{};
    if (asked_.schedule == "guided") chosen = guided{1};
    if (asked_.runtime == "tautochrone") chosen = adaptive{};
    sharing_.reset(chosen, asked_.tasks, speeds_);
    queues_.reset(asked_.tasks);
    const bool tree = asked_.runtime == "tbb";
    const nanoseconds fork =
        scaled_to(asked_.runtime == "openmp" ? machine_.fork_join_libgomp : machine_.fork_join,
                  machine_.cost_members, count) /
        2;
    for (int i = 0; i < count; ++i) {
        // Thieves get the first piece after as many steals as the depth of the tree of splits.
        const nanoseconds arrives =
            tree ? depth_of(i + 1) * (2 * machine_.line_transfer + machine_.task_overhead)
                 : (i == 0 ? 0 : fork);
        set_activity(static_cast<actor_id>(i), activity::waiting, at);
        go(static_cast<actor_id>(i), state::take, at + arrives);
    }
}

void tasks_run::end_repetition(nanoseconds at) {
    if (handed_ != asked_.tasks)
        throw std::logic_error("the schedule handed out " + std::to_string(handed_) + " of " +
                               std::to_string(asked_.tasks) + " tasks");
    lengths_.push_back(at - repetition_begin_);
    const nanoseconds whole = to_nanoseconds(asked_.seconds);
    if (measured_from_ == 0 && at >= whole / 4) {
        measured_from_ = at;
        lengths_.clear();
        inside_time_ = 0;
        clock_time_ = 0;
        tasks_done_ = 0;
        sleeps_ = 0;
        load_sum_ = 0;
        samples_ = 0;
        energy_from_ = accounts_.energy_until(at);
    }
    if (at >= whole && measured_from_ > 0 && !lengths_.empty()) {
        over_ = true;
        return;
    }
    begin_repetition(at);
}

// All runtimes but Qt: ask, work, and spin until the others have finished.
void tasks_run::take(actor_id id, nanoseconds at) {
    range task;
    nanoseconds begin = at;
    if (asked_.runtime == "tbb") {
        bool stolen = false;
        task = queues_.next(static_cast<int>(id), stolen);
        begin += machine_.task_overhead + (stolen ? 2 * machine_.line_transfer : 0);
    } else if (asked_.runtime == "tautochrone" && handed_ == asked_.tasks) {
        begin += own_atomic;  // a search of all members finds nothing
    } else if (asked_.runtime == "tautochrone") {
        const int before = sharing_.steals(static_cast<int>(id));
        task = sharing_.next(static_cast<int>(id));
        begin += own_atomic + (sharing_.steals(static_cast<int>(id)) > before ? 2 * machine_.line_transfer
                                                                              : nanoseconds{0});
    } else {
        task = sharing_.next(static_cast<int>(id));
        counter_free_ = std::max(counter_free_, at) + machine_.line_transfer;
        begin = counter_free_;
    }
    if (!task.empty()) {
        // A piece of several tasks is treated as one task.
        begin_task(id, at);
        handed_ += static_cast<int>(task.size());
        threads_[id].left = cycles_ * static_cast<double>(task.size()) +
                            threads_[id].pace * static_cast<double>(begin - at) * 1e-9;
        tasks_done_ += task.size() - 1;
        return set_pace(id, at);
    }
    if (--running_ > 0) return;
    const auto count = static_cast<int>(threads_.size());
    const nanoseconds join =
        asked_.runtime == "tbb"
            ? depth_of(count) * machine_.line_transfer * 2
            : scaled_to(asked_.runtime == "openmp" ? machine_.fork_join_libgomp : machine_.fork_join,
                        machine_.cost_members, count) /
                  2;
    go(id, state::joined, at + join);
}

// Qt's engine counts its threads in one line.
nanoseconds tasks_run::count_in_engine(nanoseconds at) {
    barrier_free_ = std::max(barrier_free_, at) + machine_.line_transfer;
    return barrier_free_;
}

// ThreadEngineBase::startThreadInternal: counts one more thread and locks the pool's mutex for tryStart.
void tasks_run::ask_to_start(actor_id id, nanoseconds at, state then) {
    threads_[id].after_lock = then;
    go(id, state::woken, count_in_engine(at));
}

// QThreadPool::tryStart under the pool's mutex: queues the engine and wakes one waiting thread of the pool,
// if there is one. If all are active, it only reads the pool's counters, in the line next to the mutex.
void tasks_run::try_start(actor_id id, nanoseconds at, state then) {
    nanoseconds done = at + machine_.line_transfer;
    threads_[id].started = !pool_waiting_.empty();
    if (threads_[id].started) {
        done = at + machine_.lock_hold;
        const actor_id sleeper = pool_waiting_.front();
        pool_waiting_.pop_front();
        ++running_;
        ++queued_;
        done = wake(sleeper, state::woken, done);
        threads_[sleeper].after_lock = state::woken_locked;
    }
    go(id, then, done);
}

// QThreadPoolThread::run under the pool's mutex: a thread takes what is queued, also what another one was
// woken for. Before its first task it starts more threads itself (ThreadEngineBase::run). If nothing is
// queued, it waits in the pool.
void tasks_run::enter_engine(actor_id id, nanoseconds at) {
    const bool enters = queued_ > 0;
    if (enters)
        --queued_;
    else
        pool_waiting_.push_back(id);
    go(id, enters ? state::start : state::fall_asleep, unlock(pool_, at));
}

// Qt's reducer (qtconcurrentreducekernel.h, ReduceKernel::runReduce, unordered): a thread that finds another
// one reducing leaves its result in a map and goes on. Else it reduces its result without the mutex, then all
// that others have left, until nothing is left. To reduce is one operation on the result, in its line.
void tasks_run::reduced(actor_id id, nanoseconds at) {
    if (reducing_) {
        ++left_results_;
        return go(id, state::next_block, unlock(reducer_, at));
    }
    reducing_ = true;
    const nanoseconds free = unlock(reducer_, at) + machine_.line_transfer;
    go(id, state::reduce, free);
    threads_[id].after_lock = state::fold_locked;
}

void tasks_run::folded(actor_id id, nanoseconds at) {
    const nanoseconds free = unlock(reducer_, at);
    if (left_results_ == 0) {
        reducing_ = false;
        return go(id, state::next_block, free);
    }
    const nanoseconds each = machine_.line_transfer;
    const nanoseconds work = each * left_results_;
    left_results_ = 0;
    go(id, state::reduce, free + work);
    threads_[id].after_lock = state::fold_locked;
}

void tasks_run::leave_engine(actor_id id, nanoseconds at) {
    --running_;
    if (id == 0) {
        if (running_ == 0) return end_repetition(at);
        caller_waits_ = true;
        return sleep(0, at);
    }
    nanoseconds free = at;
    if (running_ == 0 && caller_waits_) {
        caller_waits_ = false;
        free = wake(0, state::joined, at);
    }
    go(id, state::retire, free);
}

void tasks_run::step_qt(actor_id id, nanoseconds at) {
    thread& one = threads_[id];
    const state now = one.now;
    if (!one.awake) set_activity(id, activity::waiting, at);
    switch (now) {
        case state::start:
            if (next_task_ >= asked_.tasks) return go(id, state::next_block, at);
            return ask_to_start(id, at, state::start_locked);
        case state::start_locked:
            return try_start(id, at, state::started);
        case state::started:
            if (one.started) return go(id, state::start, unlock(pool_, at));
            return go(id, state::next_block, count_in_engine(unlock(pool_, at)));
        case state::woken:
            return lock(pool_, id, one.after_lock, at);
        case state::woken_locked:
            return enter_engine(id, at);
        case state::next_block:
            counter_free_ = std::max(counter_free_, at) + machine_.line_transfer;
            if (next_task_ >= asked_.tasks) return go(id, state::leave, count_in_engine(counter_free_));
            // It asks for one more thread while tasks are left, even if all threads are running.
            if (++next_task_ == asked_.tasks) return go(id, state::take, counter_free_);
            return ask_to_start(id, counter_free_, state::grow_locked);
        case state::grow_locked:
            return try_start(id, at, state::grown);
        case state::grown:
            if (one.started) return go(id, state::take, unlock(pool_, at));
            return go(id, state::take, count_in_engine(unlock(pool_, at)));
        case state::take:
            ++handed_;
            return begin_task(id, at);
        case state::in_task:
            end_task(id, at);
            return lock(reducer_, id, state::reduce_locked, at);
        case state::reduce:
            return lock(reducer_, id, one.after_lock, at);
        case state::reduce_locked:
            return go(id, state::reduced, at + machine_.lock_hold);
        case state::reduced:
            return reduced(id, at);
        case state::fold_locked:
            return go(id, state::folded, at + machine_.lock_hold);
        case state::folded:
            return folded(id, at);
        case state::leave:
            return leave_engine(id, at);
        case state::joined:
            return end_repetition(at);
        case state::retire:
            return lock(pool_, id, state::retired, at);
        case state::retired:
            return enter_engine(id, at);
        case state::fall_asleep:
            return sleep(id, at);
        case state::asleep:
            throw std::logic_error("a sleeping thread had an event");
    }
}

void tasks_run::step(actor_id id, nanoseconds at) {
    if (id == threads_.size()) return sample(at);
    thread& one = threads_[id];
    if (qt()) return step_qt(id, at);
    if (one.now == state::joined) return end_repetition(at);
    if (one.now == state::in_task) {
        end_task(id, at);
        one.now = state::take;
    }
    take(id, at);
}

// The frequency governor samples how long each core was awake since its last sample.
void tasks_run::sample(nanoseconds at) {
    const governor& rule = machine_.frequency;
    std::vector<nanoseconds> busy(cap_.size(), 0);
    for (thread& one : threads_) {
        if (one.awake) one.busy += at - one.busy_since;
        one.busy_since = at;
        nanoseconds& core = busy[one.where.core];
        core = std::max(core, one.busy);
        one.busy = 0;
    }
    nanoseconds busiest = 0;
    for (const thread& one : threads_) {
        if (one.where.thread > 0) continue;
        load_sum_ += static_cast<double>(busy[one.where.core]) / static_cast<double>(rule.sampling);
        ++samples_;
        busiest = std::max(busiest, busy[one.where.core]);
    }
    if (rule.rule != governor::policy::maximum) {
        for (std::size_t id = 0; id < threads_.size(); ++id) {
            const thread& one = threads_[id];
            const int core = one.where.core;
            const double used = static_cast<double>(rule.whole_package ? busiest : busy[core]) /
                                static_cast<double>(rule.sampling);
            cap_[core] = rule.headroom * used * kind(one).turbo(1);
        }
        for (std::size_t id = 0; id < threads_.size(); ++id) {
            if (!threads_[id].inside) threads_[id].hertz = 0;
            if (threads_[id].inside) {
                set_pace(static_cast<actor_id>(id), at);
                set_activity(static_cast<actor_id>(id), activity::working, at);
            }
        }
    }
    events_.schedule(static_cast<actor_id>(threads_.size()), at + rule.sampling);
}

tasks_result tasks_run::run() {
    events_.schedule(static_cast<actor_id>(threads_.size()), machine_.frequency.sampling);
    if (qt()) {
        for (std::size_t id = 1; id < threads_.size(); ++id) {
            pool_waiting_.push_back(static_cast<actor_id>(id));
            set_activity(static_cast<actor_id>(id), activity::idle, 0);
        }
    }
    begin_repetition(0);
    nanoseconds now = 0;
    std::int64_t energy = 0;
    while (!over_) {
        const event next = events_.take();
        now = next.at;
        step(next.actor, now);
        if (events_.taken() > 200'000'000) throw std::logic_error("the tasks never end");
    }
    tasks_result result;
    nanoseconds whole = 0;
    for (const nanoseconds length : lengths_) whole += length;
    now = std::max(now, measured_from_ + whole);
    energy = accounts_.energy_until(now);
    accounts_.close(now);
    accounts_.check();
    result.repetitions = static_cast<std::int64_t>(lengths_.size());
    result.repetition = whole / std::max<nanoseconds>(1, result.repetitions);
    const core_kind& first = machine_.kinds.front();
    result.alone =
        static_cast<nanoseconds>(cycles_ * asked_.tasks / (first.turbo(1) * first.spread(0)) * 1e9 + 0.5);
    result.task_seconds = static_cast<double>(inside_time_) * 1e-9 /
                          static_cast<double>(std::max<std::int64_t>(1, tasks_done_));
    result.waiting_share = 1 - static_cast<double>(inside_time_) /
                                   (static_cast<double>(whole) * static_cast<double>(threads_.size()));
    result.load = samples_ > 0 ? load_sum_ / static_cast<double>(samples_) : 0;
    result.mean_hertz = inside_time_ > 0 ? clock_time_ / static_cast<double>(inside_time_) : 0;
    result.joules =
        static_cast<double>(energy - energy_from_) * 1e-12 / static_cast<double>(result.repetitions);
    result.sleeps = sleeps_ / std::max<std::int64_t>(1, result.repetitions);
    result.events = events_.taken();
    for (const thread& one : threads_) result.where.push_back(one.where);
    result.accounts = std::move(accounts_);
    return result;
}

}  // namespace

tasks_result simulate_tasks(const machine& on, const tasks_request& asked) {
    return tasks_run(on, asked).run();
}

}  // namespace tauto::sim
