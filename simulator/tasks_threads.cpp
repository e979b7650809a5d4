#include "tasks_threads.hpp"

#include <algorithm>
#include <stdexcept>

namespace tauto::sim {

namespace {

// The constant power of what the threads do not change: the cores that have none of them sleep.
std::int64_t milliwatts_of_rest(const machine& on, const std::vector<hardware_thread>& where) {
    std::vector<bool> used(on.cores(), false);
    for (const hardware_thread& one : where) used[one.core] = true;
    std::int64_t rest = on.uncore_active_milliwatts + on.platform_milliwatts;
    for (const hardware_thread& one : hardware_threads(on)) {
        if (one.thread == 0 && !used[one.core]) rest += on.kinds[one.kind].sleeping_milliwatts();
    }
    return rest;
}

}  // namespace

tasks_threads::tasks_threads(const machine& on, const std::vector<hardware_thread>& where, double cycles,
                             bool timeline)
    : machine_(on),
      inside_(on.cores(), 0),
      awake_on_(on.cores(), 0),
      asleep_from_(on.cores(), 0),
      awake_cores_(on.kinds.size(), 0),
      on_core_(on.cores()),
      cap_(on.cores(), 1e18),
      events_(where.size() + 1),
      accounts_(where.size(), milliwatts_of_rest(on, where), timeline),
      cycles_(cycles) {
    for (const hardware_thread& place : where) {
        thread one;
        one.where = place;
        on_core_[place.core].push_back(static_cast<actor_id>(threads_.size()));
        threads_.push_back(one);
    }
    events_.schedule(governor_id(), on.frequency.sampling);
}

event tasks_threads::next() {
    for (;;) {
        const event first = events_.take();
        if (events_.taken() > 200'000'000) throw std::logic_error("the tasks never end");
        if (first.actor != governor_id()) return first;
        sample(first.at);
    }
}

void tasks_threads::set_pace(actor_id id, nanoseconds at) {
    thread& one = threads_[id];
    const int core = one.where.core;
    if (one.inside && one.pace > 0) {
        const auto elapsed = static_cast<double>(machine_.ticks.served(number(id), one.since, at));
        one.left = std::max(0.0, one.left - one.pace * elapsed * 1e-9);
        count_.clock_cycles += one.hertz * elapsed;
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

void tasks_threads::pace_core(int core, nanoseconds at) {
    for (const actor_id id : on_core_[core]) {
        if (threads_[id].inside) set_pace(id, at);
    }
}

void tasks_threads::set_activity(actor_id id, activity what, nanoseconds at) {
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
void tasks_threads::draw(actor_id id, activity what, nanoseconds at) {
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

void tasks_threads::sleep(actor_id id, nanoseconds at) {
    ++count_.sleeps;
    set_activity(id, activity::idle, at);
}

nanoseconds tasks_threads::wake(actor_id id, nanoseconds at) {
    events_.schedule(id, at + machine_.wake_sleeper + leaves_idle(threads_[id].where.core, at));
    return at + machine_.wake_caller;
}

// What a core takes to leave the sleep that it is in. It sleeps only while all its threads do, the longer the
// deeper.
nanoseconds tasks_threads::leaves_idle(int core, nanoseconds at) const {
    if (awake_on_[core] > 0) return 0;
    const nanoseconds slept = at - asleep_from_[core];
    if (machine_.deep_idle_after > 0 && slept > machine_.deep_idle_after) return machine_.deep_idle_exit;
    return machine_.idle_after > 0 && slept > machine_.idle_after ? machine_.idle_exit : 0;
}

void tasks_threads::begin_task(actor_id id, nanoseconds at) {
    thread& one = threads_[id];
    one.inside = true;
    one.task_begin = at;
    one.left = cycles_;
    one.pace = 0;  // what it did since it last had one was no part of this task
    set_activity(id, activity::working, at);
    ++inside_[one.where.core];
    set_pace(id, at);
    if (inside_[one.where.core] > 1) pace_core(one.where.core, at);
}

void tasks_threads::begin_piece(actor_id id, std::int64_t tasks, nanoseconds fetch, nanoseconds at) {
    begin_task(id, at);
    thread& one = threads_[id];
    one.left = cycles_ * static_cast<double>(tasks) + one.pace * static_cast<double>(fetch) * 1e-9;
    count_.tasks += tasks - 1;
    set_pace(id, at);
}

void tasks_threads::end_task(actor_id id, nanoseconds at) {
    thread& one = threads_[id];
    if (one.inside) count_.clock_cycles += one.hertz * static_cast<double>(at - one.since);
    one.inside = false;
    --inside_[one.where.core];
    if (inside_[one.where.core] > 0) pace_core(one.where.core, at);
    count_.inside += at - one.task_begin;
    ++count_.tasks;
    set_activity(id, activity::waiting, at);
}

// The frequency governor samples how long each core was awake since its last sample.
void tasks_threads::sample(nanoseconds at) {
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
        count_.load_sum += static_cast<double>(busy[one.where.core]) / static_cast<double>(rule.sampling);
        ++count_.samples;
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
    events_.schedule(governor_id(), at + rule.sampling);
}

}  // namespace tauto::sim
