#include "balance/controller.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "balance/placing.hpp"
#include "timer/offspring.hpp"

namespace tauto::balance {

namespace {

constexpr nanoseconds latest_look = 10 * millisecond;
constexpr nanoseconds latest_look_that_watches = 20 * millisecond;
constexpr nanoseconds shortest_window = 20 * millisecond;        // of whole rounds
constexpr nanoseconds shortest_first_window = 40 * millisecond;  // of a way
// Where work is only estimated. A window that ends with any round is short where threads are busy, and long
// where they are not: one way would seem better than another by that alone.
constexpr nanoseconds shortest_estimated_window = 200 * millisecond;
constexpr nanoseconds shortest_window_to_rest = 100 * millisecond;
constexpr nanoseconds longest_window = 500 * millisecond;
constexpr int rounds_of_a_first_window = 2;
constexpr nanoseconds longest_start = 100 * millisecond;  // until threads are known
constexpr nanoseconds longest_settling = 300 * millisecond;
constexpr std::size_t windows_to_learn_in = 3;
constexpr double long_round = 15e-3;              // seconds of work: windows end with the round from here on
constexpr double too_short_to_move = 1e-3;        // seconds of work until threads wait for each other
constexpr double too_short_where_seated = 10e-3;  // a look is about as far from the next
constexpr double long_enough_to_find_who_is_new = 40e-3;  // seconds of a step
constexpr nanoseconds look_if_unforeseen = 2 * millisecond;
constexpr nanoseconds soonest_look = 100'000;
constexpr nanoseconds after_an_end = 50'000;   // for the switch to be recorded
constexpr double done_with_everything = 1e12;  // seconds
constexpr nanoseconds search_every = 100 * millisecond;
constexpr nanoseconds search_at_the_start_every = 8 * millisecond;  // with each look
constexpr nanoseconds the_start = 400 * millisecond;
constexpr nanoseconds search_at_least_every = 1'000 * millisecond;
constexpr nanoseconds ask_every = 100 * millisecond;
constexpr double somebody_waits = 0.9;  // of what is reachable
constexpr nanoseconds soonest_hurry = 2'000 * millisecond;
constexpr nanoseconds latest_hurry = 30'000 * millisecond;
constexpr double own_share = 0.008;        // of one CPU
constexpr double largest_allowance = 3e6;  // ns of CPU time that were not used before

bool can_move(const window& seen) {
    return std::ranges::find(seen.possible, way::moves) != seen.possible.end();
}

void wait_for(int signals, nanoseconds span) {
    pollfd file{signals, POLLIN, 0};
    const nanoseconds left = std::max<nanoseconds>(span, 0);
    const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
    ppoll(&file, 1, &limit, nullptr);
}

}  // namespace

controller::controller(pid_t root, const cpu_set_t& given, speeds& cpus, moves& mover, const manner& how,
                       page* marks)
    : given_(given),
      cpus_(cpus),
      last_born_(timer::last_born()),
      paces_(cpus.all_cpus()),
      births_are_told_(last_born_ != timer::last_born()),
      mover_(mover),
      how_(how),
      team_(root, cpus, how.files, marks),
      holding_(given, mover, marks),
      effect_(how.seed, how.begin_seated),
      began_(timer::now()),
      window_began_(began_),
      window_ends_(began_ + longest_start + longest_window),
      looked_(began_),
      next_look_(began_),
      next_search_(began_) {}

void controller::run(int signals, const std::function<bool()>& ended) {
    nanoseconds next_ask = 0;
    const nanoseconds processor_before = timer::processor_time();
    processor_ = processor_before;
    choose_way();
    watch_code();
    for (;;) {
        const nanoseconds until = std::min({window_ends_, next_ask, resting() ? window_ends_ : next_look_});
        wait_for(signals, until - timer::now());
        pollfd arrived{signals, POLLIN, 0};
        const nanoseconds now = timer::now();
        if (now >= next_ask || poll(&arrived, 1, 0) > 0) {
            if (ended()) break;
            next_ask = timer::now() + ask_every;
        }
        if (follow_paces() && asks()) start_over(now);
        if (!resting() && now >= std::min(next_look_, window_ends_)) {
            look(now);
            if (now >= next_search_) search(now);
        }
        const bool has_begun = settles_ && has_settled(now);
        const bool ends = !has_begun && (now >= window_ends_ || (!settles_ && window_is_full(now)));
        if (!resting() && (has_begun || ends) && looked_ < now) look(now);
        if (has_begun) measure_from(now);
        if (ends) end_window(now);
    }
    holding_.end();
    holding_.let_waits_sleep(false);
    const nanoseconds end = timer::now();
    account_.seconds_of[static_cast<std::size_t>(done_)] += timer::to_seconds(end - window_began_);
    account_.seconds = timer::to_seconds(end - began_);
    account_.processor_seconds =
        timer::to_seconds(timer::processor_time() - processor_before + paces_.spent());
}

void controller::start_over(nanoseconds now) {
    if (!resting()) look(now);
    account_.seconds_of[static_cast<std::size_t>(done_)] += timer::to_seconds(now - window_began_);
    suspected_.reset();
    team_.unseen().forget();
    none_to_suspect_ = 0;
    const bool rested = resting();
    effect_.start_over();
    next_hurry_ = between_hurries_ = 0;
    team_.forget_places();
    if (rested) {
        team_.begin_window();
        next_search_ = next_look_ = now;
    }
    team_.take_tally();
    begin_window(now);
}

// True where a CPU has become much faster or slower.
bool controller::follow_paces() {
    bool changed = false;
    for (const paces::sample& one : paces_.take()) changed |= cpus_.note_pace(one.index, one.pace);
    return changed;
}

// Threads wait for each other, and all CPUs are taken for equal: one may have become slow. Programs wait for
// other reasons, too, so it is asked ever more seldom.
void controller::hurry_paces(const window& seen, nanoseconds now) {
    const bool waits = seen.equal && seen.reachable > 0 && seen.busy < somebody_waits;
    if (!waits || now < next_hurry_) return;
    paces_.hurry();
    between_hurries_ = std::clamp(2 * between_hurries_, soonest_hurry, latest_hurry);
    next_hurry_ = now + between_hurries_;
}

// Nobody is new where nobody was born.
void controller::search(nanoseconds now) {
    const pid_t born = births_are_told_ ? timer::last_born() : 0;
    const bool somebody_was = std::exchange(last_born_, born) != born || born == 0;
    if (somebody_was || team_.members().empty() || now >= searched_ + search_at_least_every) {
        team_.search();
        searched_ = now;
    }
    next_search_ = now + until_next_search(now);
}

nanoseconds controller::until_next_search(nanoseconds now) const {
    if (now < began_ + the_start) return search_at_the_start_every;
    return team_.watches_exactly() ? search_at_least_every : search_every;
}

void controller::look(nanoseconds now) {
    ++account_.looks;
    mover_.widen_the_born(now);
    team_.look();
    act();
    plan_next_look(now);
}

void controller::act() {
    if (done_ == way::moves) return place_threads();
    if (done_ == way::alone) return;
    const bool seats = done_ == way::seats;
    if (seats && team_.has_steps()) return holding_.let_ends_hand_over(cpus_);
    const std::vector<member*> held = seats ? team_.to_seat(how_.begin_seated) : team_.of_note();
    // A thread that is alone may be about to ask the kernel how many CPUs it has, and to start so many
    // others.
    if (held.size() < 2) return;
    account_.moves += seats ? holding_.seat(held, team_.helpers(), cpus_) : holding_.gather(held, cpus_);
}

// All threads have come past a place, or begun a round, since what is done changed.
bool controller::has_settled(nanoseconds now) const {
    if (resting()) return true;
    if (now - window_began_ >= (team_.has_tally() ? longest_settling : longest_start)) return true;
    const bool tells_places = team_.between_places() > 0;
    return team_.has_tally() && (tells_places ? team_.places_passed() >= 1 : team_.rounds_took() > 0);
}

void controller::measure_from(nanoseconds now) {
    settles_ = false;
    if (resting()) return;
    team_.take_tally();
    account_.seconds_of[static_cast<std::size_t>(done_)] += timer::to_seconds(now - window_began_);
    window_began_ = now;
    window_ends_ = now + longest_window;
}

bool controller::window_is_full(nanoseconds now) const {
    if (resting()) return false;
    if (is_surely_left_alone(now)) return true;
    const bool first = effect_.now() == effect::phase::looks;
    const nanoseconds shortest = first ? shortest_first_window : shortest_window;
    const int rounds = first ? rounds_of_a_first_window : 1;
    if (team_.places_passed() >= static_cast<std::uint64_t>(rounds + 1))
        return now - window_began_ >= shortest;
    return team_.rounds_took() >= shortest_estimated_window && team_.rounds() >= rounds;
}

// Nothing can be won, as in a program with a queue: looks are all that it would notice, and a longer window
// would show no more.
bool controller::is_surely_left_alone(nanoseconds now) const {
    if (!asks() || effect_.now() != effect::phase::watches || now - window_began_ < shortest_window_to_rest)
        return false;
    if (cpus_.all_equal()) return true;
    if (team_.unseen().watches() && !team_.unseen().is_clear()) return false;
    const team::tally so_far = team_.so_far();
    window seen;
    seen.work = so_far.estimated;
    seen.reachable = so_far.seconds * cpus_.of_the_fastest(so_far.threads);
    return seen.reachable > 0 && seen.seems_busy();
}

// The most promising first.
std::vector<way> controller::possible_ways() {
    if (team_.has_steps()) {
        if (team_.between_places() < long_enough_to_find_who_is_new) return {way::seats};
        return {way::seats, way::moves};
    }
    const std::vector<member*> working = team_.of_note();
    const bool can_hold = holding_.can_hold(working);
    const bool more_than_cpus = working.size() > cpus_.size();
    const double round = std::max(team_.between_places(), stretch());
    const bool shared_out = holding_.loops_are_shared_out() && !more_than_cpus;
    // Who waits at places that are told lends its CPU, and so does who waits once for so much work.
    const bool suits_seats =
        can_hold && (shared_out || team_.between_places() > 0 || (team_.waits_tell() && !more_than_cpus));
    const bool can_move = round == 0 || round >= (suits_seats ? too_short_where_seated : too_short_to_move);
    std::vector<way> found;
    // Shares, and what CPUs are worth, are learned in the first windows.
    if (suits_seats || (can_hold && more_than_cpus && !can_move))
        found.insert(found.end(), windows_to_learn_in, way::seats);
    if (can_move) found.push_back(way::moves);
    if (can_hold) found.push_back(way::fastest);
    return found;
}

double controller::stretch() const {
    double sum = 0;
    double count = 0;
    for (const auto& [thread, one] : team_.members())
        if (one.stretch > 0 && one.now != doing::sleeps && !one.waits) {
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
            {one->waits ? done_with_everything : one->done, cpus_.index_of(one->cpu), one->pinned});
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
        const member& one = *at_work[i];
        orders.push_back({one.process, one.thread, cpus_[wanted[i]].cpu, one.marks});
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
    std::erase_if(at_work, [](const member* one) { return one->waits; });
    // Somebody waits: the others are at the end, too, or begin something new together. When, is not known.
    if (at_work.size() != last_at_work_) eager_ = soonest_look;
    last_at_work_ = at_work.size();
    busiest_ = std::max(at_work.size(), busiest_);
    double soonest = timer::to_seconds(stretch() > 0 ? latest_look : look_if_unforeseen);
    bool end_is_foreseen = false;
    for (const member* one : at_work) {
        const double speed = cpus_.per_second()[cpus_.index_of(one->cpu)];
        const double left = one->stretch - (one->done - one->done_at_waking);
        if (one->stretch <= 0 || left <= 0) continue;
        end_is_foreseen = true;
        soonest = std::min(soonest, left / speed + timer::to_seconds(after_an_end));
    }
    if (at_work.size() < busiest_ && !end_is_foreseen) {
        eager_ = std::min(2 * eager_, latest_look);
        soonest = timer::to_seconds(eager_);
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
    const bool watches = asks() && effect_.now() == effect::phase::watches;
    next_look_ = now + (watches ? latest_look_that_watches : latest_look);
    const bool ends_with_round = done_ == way::alone && team_.rounds() > 0 && stretch() > long_round;
    if (done_ == way::moves || ends_with_round) next_look_ = std::max(foreseen(now), now + soonest_look);
    if (allowance_ < 0)
        next_look_ = std::max(next_look_, now + static_cast<nanoseconds>(look_cost_ / own_share));
}

void controller::end_window(nanoseconds now) {
    const bool rested = resting();
    window seen;
    nanoseconds ran = 0;
    if (!rested) {
        const team::tally done = team_.take_tally(done_ == way::alone);
        ran = done.ran;
        seen.done = done_;
        if (done_ == way::seats) holding_.learn(team_.of_note());
        seen.seconds = done.seconds;
        seen.work = done.work;
        seen.counted = done.counted;
        seen.agreed = done.agreed;
        seen.spun = done.spun;
        seen.round = team_.between_places();
        seen.reachable = seen.seconds * cpus_.of_the_fastest(done.threads);
        seen.busy = seen.reachable > 0 ? done.estimated / seen.reachable : 0;
        seen.of_fastest = seen.seconds * cpus_.of_those_like_the_fastest(done.threads);
        seen.equal = cpus_.all_equal();
        seen.by_itself = cpus_.one_is_slow_by_itself();
        seen.possible = possible_ways();
        hurry_paces(seen, now);
    }
    account_.seconds_of[static_cast<std::size_t>(done_)] += timer::to_seconds(now - window_began_);
    if (suspected_) {
        confirm_spins();
    } else if (!rested && suspects_spins(seen)) {
        suspected_ = {seen, ran};
        team_.forgive();
    } else if (asks()) {
        effect_.add(seen);
    }
    if (resting() && !rested) {
        team_.forget();
        if (team_.unseen().any_known()) team_.unseen().forget();
    }
    if (rested) {
        team_.begin_window();
        next_search_ = next_look_ = now;
    }
    begin_window(now);
}

// In a window that is left alone.
bool controller::may_look_for_spins() const {
    return asks() && !suspected_ && !resting() && what_to_do() == way::alone;
}

// After a suspicion that was unfounded, and where there was none (first after four), each time after twice as
// many windows: a trial and samples cost something.
bool controller::looks_for_spins() const {
    const unsigned after = std::max(std::min(unfounded_, 10U), std::min(none_to_suspect_, 3U));
    return may_look_for_spins() && !team_.unseen().any_known() && busy_windows_ % (1U << after) == 0;
}

bool controller::suspects_spins(const window& seen) {
    if (seen.equal || !can_move(seen) || !looks_for_spins()) return false;
    const bool found = team_.unseen().suspects();
    if (found || team_.unseen().could_tell()) {
        none_to_suspect_ = found ? 0 : std::max(2U, none_to_suspect_ + 1);
        busy_windows_ = 0;
    }
    return found;
}

void controller::watch_code() {
    if (may_look_for_spins()) ++busy_windows_;
    const bool tells_places = team_.between_places() > 0;
    const bool needs_it =
        suspected_ || team_.unseen().any_known() || (looks_for_spins() && !cpus_.all_equal());
    team_.watch_code(!resting() && !tells_places && needs_it);
}

void controller::confirm_spins() {
    const auto [before, ran] = *std::exchange(suspected_, {});
    const unseen_waits::waits waits = team_.unseen().confirm(ran);
    unfounded_ = waits.time > 0 ? 0 : unfounded_ + 1;
    window seen = before;
    seen.work -= std::min(waits.work, seen.work);
    seen.spun = ran > 0 ? static_cast<double>(waits.time) / static_cast<double>(ran) : 0;
    effect_.add(seen);
}

void controller::choose_way() {
    done_ = what_to_do();
    holding_.let_waits_sleep(done_ != way::alone && !how_.keep_waits);
    team_.watch_exactly(done_ == way::moves);
    team_.trust_places(done_ != way::seats);  // guests come and go
}

void controller::begin_window(nanoseconds now) {
    busiest_ = 0;
    window_began_ = now;
    window_ends_ = now + (resting() ? effect_.rest_length() : longest_window);
    watch_code();
    if (done_ == what_to_do()) return;
    settles_ = !resting();
    if (settles_) window_ends_ += longest_settling;
    holding_.end();
    choose_way();
    act();
    plan_next_look(timer::now());
}

account controller::report() const {
    account found = account_;
    found.threads_seen = team_.threads_seen();
    found.threads_moved = team_.threads_moved();
    if (const team::handed told = team_.handed_over(); told.over > 0) {
        found.handed_over = told.over;
        found.moves += told.over;
        found.threads_seen = std::max(found.threads_seen, told.ended);
        found.threads_moved =
            std::min(found.threads_moved + static_cast<std::size_t>(told.over), found.threads_seen);
    }
    found.saw_switches = team_.saw_switches();
    found.code_was_hidden = team_.unseen().was_refused();
    return found;
}

}  // namespace tauto::balance
