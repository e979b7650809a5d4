#include "balance/controller.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "balance/placing.hpp"

namespace tauto::balance {

namespace {

constexpr nanoseconds latest_look = 10 * millisecond;
constexpr nanoseconds look_if_unforeseen = 2 * millisecond;
constexpr nanoseconds soonest_look = 100'000;
constexpr nanoseconds after_an_end = 50'000;   // for the switch to be recorded
constexpr double done_with_everything = 1e12;  // seconds
constexpr nanoseconds search_every = 100 * millisecond;
constexpr nanoseconds ask_every = 100 * millisecond;
constexpr double own_share = 0.008;        // of one CPU
constexpr double largest_allowance = 3e6;  // ns of CPU time that were not used before

void wait_for(int signals, nanoseconds span) {
    pollfd file{signals, POLLIN, 0};
    const nanoseconds left = std::max<nanoseconds>(span, 0);
    const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
    ppoll(&file, 1, &limit, nullptr);
}

}  // namespace

controller::controller(pid_t root, const cpu_set_t& given, speeds& cpus, moves& mover, const manner& how,
                       const page* marks)
    : given_(given),
      cpus_(cpus),
      mover_(mover),
      how_(how),
      team_(root, cpus, how.files, marks),
      effect_(how.seed),
      began_(timer::now()),
      window_began_(began_),
      window_ends_(began_ + effect_.length(0)),
      looked_(began_),
      next_look_(began_),
      next_search_(began_) {}

void controller::run(int signals, const std::function<bool()>& ended) {
    nanoseconds next_ask = 0;
    const nanoseconds processor_before = timer::processor_time();
    processor_ = processor_before;
    for (;;) {
        const nanoseconds until =
            std::min({window_ends_, next_ask, resting() ? window_ends_ : std::min(next_look_, next_search_)});
        wait_for(signals, until - timer::now());
        pollfd arrived{signals, POLLIN, 0};
        const nanoseconds now = timer::now();
        if (now >= next_ask || poll(&arrived, 1, 0) > 0) {
            if (ended()) break;
            next_ask = timer::now() + ask_every;
        }
        if (!resting() && now >= std::min(next_look_, window_ends_)) look(now);
        if (!resting() && now >= next_search_) {
            team_.search();
            next_search_ = now + search_every;
        }
        if (now >= window_ends_) end_window(now);
    }
    account_.seconds = timer::to_seconds(timer::now() - began_);
    account_.processor_seconds = timer::to_seconds(timer::processor_time() - processor_before);
}

void controller::look(nanoseconds now) {
    ++account_.looks;
    team_.look();
    if (balances()) place_threads();
    plan_next_look(now);
}

double controller::stretch() const {
    double sum = 0;
    double count = 0;
    for (const auto& [thread, one] : team_.members())
        if (one.stretch > 0 && one.now != doing::sleeps && !one.spins) {
            sum += one.stretch;
            ++count;
        }
    return count > 0 ? sum / count : 0;
}

// Those on CPUs that were given to the program.
std::vector<member*> controller::on_our_cpus() {
    std::vector<member*> found = team_.at_work();
    std::erase_if(found, [this](const member* one) { return cpus_.index_of(one->cpu) == cpus_.size(); });
    return found;
}

std::vector<worker> controller::as_workers(std::span<member* const> members) const {
    std::vector<worker> workers;
    // Who spins has the slowest CPU: it is in nobody's way there.
    for (const member* one : members)
        workers.push_back(
            {one->spins ? done_with_everything : one->done, cpus_.index_of(one->cpu), one->pinned});
    return workers;
}

void controller::place_threads() {
    const std::vector<member*> at_work = on_our_cpus();
    if (at_work.empty()) return;
    const std::vector<worker> workers = as_workers(at_work);
    const auto& speeds = cpus_.per_second();
    const auto [slow, fast] = std::ranges::minmax(speeds);
    tolerance_ = tolerance_for(stretch(), fast, slow);
    const std::vector<std::size_t> wanted = place(workers, speeds, tolerance_);
    std::vector<moves::order> orders;
    std::vector<member*> who;
    // Who goes to a slower CPU goes first, so that the faster is free for the other.
    std::vector<std::size_t> leaving;
    for (std::size_t i = 0; i < workers.size(); ++i)
        if (wanted[i] != workers[i].cpu) leaving.push_back(i);
    std::ranges::sort(leaving, {}, [&](std::size_t i) { return speeds[wanted[i]]; });
    for (const std::size_t i : leaving) {
        orders.push_back({at_work[i]->thread, cpus_[wanted[i]].cpu});
        who.push_back(at_work[i]);
    }
    if (orders.empty()) return;
    mover_.make(orders, given_, how_.even_pinned);
    for (std::size_t i = 0; i < orders.size(); ++i) {
        who[i]->pinned = orders[i].result == moves::outcome::pinned;
        if (orders[i].result != moves::outcome::moved) continue;
        who[i]->moved = true;
        ++account_.moves;
    }
}

// When somebody must change, or has come to the end of what it usually does.
nanoseconds controller::foreseen(nanoseconds now) {
    std::vector<member*> at_work = on_our_cpus();
    std::erase_if(at_work, [](const member* one) { return one->spins; });
    // Somebody waits: the others are at the end, too, or begin something new together. When, is not known.
    if (at_work.size() != last_at_work_) eager_ = soonest_look;
    last_at_work_ = at_work.size();
    busiest_ = std::max(at_work.size(), busiest_);
    double soonest = timer::to_seconds(stretch() > 0 ? latest_look : look_if_unforeseen);
    if (at_work.size() < busiest_) {
        eager_ = std::min(2 * eager_, latest_look);
        soonest = timer::to_seconds(eager_);
    }
    for (const member* one : at_work) {
        const double speed = cpus_.per_second()[cpus_.index_of(one->cpu)];
        const double left = one->stretch - (one->done - one->done_at_waking);
        if (one->stretch > 0 && left > 0)
            soonest = std::min(soonest, left / speed + timer::to_seconds(after_an_end));
    }
    soonest = std::min(soonest, until_a_change(as_workers(at_work), cpus_.per_second(), tolerance_));
    return now + timer::to_nanoseconds(soonest);
}

// What a look costs, waking up included, decides how often there can be one.
void controller::plan_next_look(nanoseconds now) {
    const nanoseconds processor = timer::processor_time();
    const auto cost = static_cast<double>(processor - std::exchange(processor_, processor));
    const auto since = static_cast<double>(now - std::exchange(looked_, now));
    look_cost_ = 0.9 * look_cost_ + 0.1 * cost;
    allowance_ = std::min(largest_allowance, allowance_ + own_share * since - cost);
    next_look_ = now + latest_look;
    if (balances()) next_look_ = std::max(foreseen(now), now + soonest_look);
    if (allowance_ < 0)
        next_look_ = std::max(next_look_, now + static_cast<nanoseconds>(look_cost_ / own_share));
}

void controller::end_window(nanoseconds now) {
    const team::tally done = team_.take_tally();
    window seen;
    seen.balanced = effect_.balances();
    seen.seconds = timer::to_seconds(now - window_began_);
    seen.work = done.work;
    seen.reachable = seen.seconds * cpus_.of_the_fastest(done.threads);
    seen.equal = cpus_.all_equal();
    if (balances()) account_.balanced_seconds += seen.seconds;
    busiest_ = 0;
    const bool rested = resting();
    if (!how_.always) effect_.add(seen);
    if (resting() && !rested) team_.forget();
    if (!resting() && rested) next_search_ = now;
    const double round = stretch() * static_cast<double>(std::max<std::size_t>(done.threads, 1)) /
                         std::max(cpus_.of_the_fastest(done.threads), 0.01);
    window_began_ = now;
    window_ends_ = now + effect_.length(timer::to_nanoseconds(round));
}

account controller::report() const {
    account found = account_;
    found.threads_seen = team_.threads_seen();
    found.threads_moved = team_.threads_moved();
    found.exact = team_.exact();
    return found;
}

}  // namespace tauto::balance
