#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

#include "tasks_runtimes.hpp"

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

// QtConcurrent: the caller and the threads of a QThreadPool run an engine (ThreadEngine), which fetches the
// tasks one by one, and reduce under another mutex.
class qt_tasks : public tasks_runtime {
  public:
    qt_tasks(tasks_threads& threads, const tasks_request& asked);
    void begin(nanoseconds at) override;
    void step(actor_id id, nanoseconds at) override;

  private:
    // The action of a thread at its next event.
    enum class state : std::uint8_t {
        asleep,        // nothing: another thread wakes it
        take,          // begins its task
        in_task,       // ends it
        joined,        // all tasks are done; the repetition is over
        start,         // starts pool threads while there are some and tasks are left
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

    struct member {
        state now = state::asleep;
        state after_lock = state::asleep;
        bool started = false;  // a thread of the pool, when it last tried
    };

    void go(actor_id id, state next, nanoseconds at);
    void sleep(actor_id id, nanoseconds at);
    [[nodiscard]] nanoseconds wake(actor_id id, state next, nanoseconds at);
    void lock(sleeping_mutex& mutex, actor_id id, state then, nanoseconds at);
    [[nodiscard]] nanoseconds unlock(sleeping_mutex& mutex, nanoseconds at);
    [[nodiscard]] nanoseconds count_in_engine(nanoseconds at);
    [[nodiscard]] nanoseconds end_start(actor_id id, nanoseconds at);
    void ask_to_start(actor_id id, nanoseconds at, state then);
    void try_start(actor_id id, nanoseconds at, state then);
    void enter_engine(actor_id id, nanoseconds at);
    void reduced(actor_id id, nanoseconds at);
    void folded(actor_id id, nanoseconds at);
    void leave_engine(actor_id id, nanoseconds at);

    int tasks_;
    std::vector<member> members_;  // the caller, and the threads of the pool
    int next_task_ = 0;
    int running_ = 0;  // threads in the engine, or still asking
    sleeping_mutex pool_;
    int queued_ = 0;  // in the pool: threads that were started and have not entered the engine
    std::deque<actor_id> pool_waiting_;
    sleeping_mutex reducer_;
    bool reducing_ = false;  // a thread reduces, without the mutex
    int left_results_ = 0;   // of the others, for that thread
    bool caller_waits_ = false;
    nanoseconds counter_free_ = 0;
    nanoseconds barrier_free_ = 0;  // of the engine, which counts its threads
};

qt_tasks::qt_tasks(tasks_threads& threads, const tasks_request& asked)
    : tasks_runtime(threads), tasks_(asked.tasks), members_(threads.size()) {
    for (int i = 1; i < threads.size(); ++i) {
        pool_waiting_.push_back(static_cast<actor_id>(i));
        threads.stay_asleep(static_cast<actor_id>(i));
    }
}

void qt_tasks::begin(nanoseconds at) {
    over_ = false;
    next_task_ = 0;
    counter_free_ = at;
    running_ = 1;
    caller_waits_ = false;
    threads_.spin(0, at);
    go(0, state::start, at);
}

void qt_tasks::go(actor_id id, state next, nanoseconds at) {
    members_[id].now = next;
    threads_.schedule(id, at);
}

void qt_tasks::sleep(actor_id id, nanoseconds at) {
    members_[id].now = state::asleep;
    threads_.sleep(id, at);
}

// The sleeper continues in `next`. Returns the time at which the waker has finished the call.
nanoseconds qt_tasks::wake(actor_id id, state next, nanoseconds at) {
    members_[id].now = next;
    return threads_.wake(id, at);
}

void qt_tasks::lock(sleeping_mutex& mutex, actor_id id, state then, nanoseconds at) {
    if (mutex.held) {
        mutex.sleepers.push_back(id);
        members_[id].after_lock = then;
        return sleep(id, at);
    }
    mutex.held = true;
    const nanoseconds cost = mutex.last == static_cast<std::int64_t>(id) ? own_atomic : on().line_transfer;
    mutex.last = id;
    go(id, then, at + cost);
}

// Returns the time at which the unlocking thread has finished the call.
nanoseconds qt_tasks::unlock(sleeping_mutex& mutex, nanoseconds at) {
    mutex.held = on().mutex_handover && !mutex.sleepers.empty();
    if (mutex.sleepers.empty()) return at + own_atomic;
    const actor_id next = mutex.sleepers.front();
    mutex.sleepers.pop_front();
    if (mutex.held) {
        mutex.last = next;
        return wake(next, members_[next].after_lock, at);
    }
    return wake(next, &mutex == &pool_ ? state::woken : state::reduce, at);
}

// Qt's engine counts its threads in one line.
nanoseconds qt_tasks::count_in_engine(nanoseconds at) {
    barrier_free_ = std::max(barrier_free_, at) + on().line_transfer;
    return barrier_free_;
}

// After tryStart: lets the pool's mutex go. Where no thread was started, takes it off the count again.
nanoseconds qt_tasks::end_start(actor_id id, nanoseconds at) {
    const nanoseconds free = unlock(pool_, at);
    return members_[id].started ? free : count_in_engine(free);
}

// ThreadEngineBase::startThreadInternal: counts one more thread and locks the pool's mutex for tryStart.
void qt_tasks::ask_to_start(actor_id id, nanoseconds at, state then) {
    members_[id].after_lock = then;
    go(id, state::woken, count_in_engine(at));
}

// QThreadPool::tryStart under the pool's mutex: queues the engine and wakes one waiting thread of the pool,
// if there is one. If all are active, it only reads the pool's counters, in the line next to the mutex.
void qt_tasks::try_start(actor_id id, nanoseconds at, state then) {
    nanoseconds done = at + on().line_transfer;
    members_[id].started = !pool_waiting_.empty();
    if (members_[id].started) {
        done = at + on().lock_hold;
        const actor_id sleeper = pool_waiting_.front();
        pool_waiting_.pop_front();
        ++running_;
        ++queued_;
        done = wake(sleeper, state::woken, done);
        members_[sleeper].after_lock = state::woken_locked;
    }
    go(id, then, done);
}

// QThreadPoolThread::run under the pool's mutex: a thread takes what is queued, also what another one was
// woken for. Before its first task it starts more threads itself (ThreadEngineBase::run). If nothing is
// queued, it waits in the pool.
void qt_tasks::enter_engine(actor_id id, nanoseconds at) {
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
void qt_tasks::reduced(actor_id id, nanoseconds at) {
    if (reducing_) {
        ++left_results_;
        return go(id, state::next_block, unlock(reducer_, at));
    }
    reducing_ = true;
    const nanoseconds free = unlock(reducer_, at) + on().line_transfer;
    go(id, state::reduce, free);
    members_[id].after_lock = state::fold_locked;
}

void qt_tasks::folded(actor_id id, nanoseconds at) {
    const nanoseconds free = unlock(reducer_, at);
    if (left_results_ == 0) {
        reducing_ = false;
        return go(id, state::next_block, free);
    }
    const nanoseconds each = on().line_transfer;
    const nanoseconds work = each * left_results_;
    left_results_ = 0;
    go(id, state::reduce, free + work);
    members_[id].after_lock = state::fold_locked;
}

void qt_tasks::leave_engine(actor_id id, nanoseconds at) {
    --running_;
    if (id == 0) {
        over_ = running_ == 0;
        if (over_) return;
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

void qt_tasks::step(actor_id id, nanoseconds at) {
    member& one = members_[id];
    if (!threads_.awake(id)) threads_.spin(id, at);
    switch (one.now) {
        case state::start:
            if (next_task_ >= tasks_) return go(id, state::next_block, at);
            return ask_to_start(id, at, state::start_locked);
        case state::start_locked:
            return try_start(id, at, state::started);
        case state::started:
            return go(id, one.started ? state::start : state::next_block, end_start(id, at));
        case state::woken:
            return lock(pool_, id, one.after_lock, at);
        case state::woken_locked:
            return enter_engine(id, at);
        case state::next_block:
            counter_free_ = std::max(counter_free_, at) + on().line_transfer;
            if (next_task_ >= tasks_) return go(id, state::leave, count_in_engine(counter_free_));
            // It asks for one more thread while tasks are left, even if all threads are running.
            if (++next_task_ == tasks_) return go(id, state::take, counter_free_);
            return ask_to_start(id, counter_free_, state::grow_locked);
        case state::grow_locked:
            return try_start(id, at, state::grown);
        case state::grown:
            return go(id, state::take, end_start(id, at));
        case state::take:
            one.now = state::in_task;
            return threads_.begin_task(id, at);
        case state::in_task:
            threads_.end_task(id, at);
            return lock(reducer_, id, state::reduce_locked, at);
        case state::reduce:
            return lock(reducer_, id, one.after_lock, at);
        case state::reduce_locked:
            return go(id, state::reduced, at + on().lock_hold);
        case state::reduced:
            return reduced(id, at);
        case state::fold_locked:
            return go(id, state::folded, at + on().lock_hold);
        case state::folded:
            return folded(id, at);
        case state::leave:
            return leave_engine(id, at);
        case state::joined:
            over_ = true;
            return;
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

}  // namespace

std::unique_ptr<tasks_runtime> make_qt_tasks(tasks_threads& threads, const tasks_request& asked) {
    return std::make_unique<qt_tasks>(threads, asked);
}

}  // namespace tauto::sim
