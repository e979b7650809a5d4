#include "balance/effect.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tauto::balance {

namespace {

constexpr std::array<double, 3> stakes{0.3, 0.6, 0.9};
constexpr double enough = 20;      // evidence: wrong once in 20 programs that it does not help
constexpr double worth_it = 0.01;  // of the time: with less it is left alone
// CPU time counts what caches cost, too: it showed 14 % more work where programs took as long.
constexpr double worth_it_if_estimated = 0.15;
// Where waits say the same.
constexpr double worth_it_if_agreed = 0.04;
// Above what the fastest CPUs alone do: what slow ones do is not known well.
constexpr double surely = 1.1;
constexpr double to_win = 0.04;  // of what is reachable: with less it is not even tried
// The same: what could be won is no more than is believed.
constexpr double to_win_if_estimated = 1 - 1 / (1 + worth_it_if_estimated);
// A way that is faster by this goes on while the evidence is collected.
constexpr double clear = 1.03;
// Nothing is lost by going on with what does as much, as long as it is compared.
constexpr double as_good = 0.97;
constexpr double clear_if_estimated = 1.25;
constexpr double clear_if_agreed = 1.06;
constexpr double clear_of_a_rival = 1.12;  // two ways that both move threads cost alike
// From here on nothing can be found that is worth a search.
constexpr double near_the_bound = 0.93;  // of what is reachable
constexpr double counts_work =
    5e-3;  // seconds of a round: in shorter ones CPUs are busy with waking threads, too
constexpr double short_look = 0.05;    // seconds: so short a window costs less than to guess
constexpr double usual_follows = 0.3;  // of what a window shows
constexpr double fallen = 0.85;        // of its rate, twice in a row: another way may be better now
constexpr std::size_t most_tries = 40;
constexpr std::size_t fewest_to_judge = 4;  // pairs
constexpr std::size_t most_recent = 30;
constexpr double least_spread = 0.02;  // of a pair's logarithm
constexpr double infinity = std::numeric_limits<double>::infinity();
// That threads spin is guessed from the code in which they are on fast CPUs alone. If they do, they spin less
// where a way helps.
constexpr double as_much = 0.7;
constexpr int dues_to_a_rival = 3;
constexpr double may_still_win = 0.8;  // of the usual rate
constexpr int windows_of_a_rival = 3;  // the last counts: shares are learned, and places found
constexpr nanoseconds first_rest = 3'000 * millisecond;
constexpr nanoseconds shortest_rest = 100 * millisecond;
constexpr nanoseconds longest_rest = 160'000 * millisecond;
constexpr nanoseconds longest_rest_untried = 1'000 * millisecond;
// What the windows that are left alone may cost, of the time between two.
constexpr double may_cost_to_learn = 0.02;
constexpr double may_cost = 0.008;    // once it was seen to help
constexpr double fewest_between = 4;  // windows
constexpr int windows_to_begin = 3;
constexpr double lost_to_learn = 0.4;  // of a window that was never seen, and of the round in which it begins
constexpr double longest_between = 30;  // seconds

constexpr char were_busy[] = "the threads kept the fastest CPUs busy by themselves";

}  // namespace

double window::most_of_fastest() const {
    return seconds > 0 ? (counted ? surely : 1.0) * of_fastest / seconds : 0;
}

bool window::is_near_the_bound() const {
    return !equal && round >= counts_work && busy > near_the_bound;
}

bool window::seems_busy() const {
    return work > (1 - (counted ? to_win : to_win_if_estimated)) * reachable;
}

const char* in_words(way one) {
    switch (one) {
        case way::alone:
            return "Linux alone";
        case way::moves:
            return "moved by progress";
        case way::seats:
            return "on a CPU each, with loops shared out by speed";
        case way::fastest:
            break;
    }
    return "on the fastest CPUs alone";
}

void evidence::add(bool heads) {
    if (wealth_.empty()) wealth_.assign(stakes.size(), 1.0);
    for (std::size_t i = 0; i < stakes.size(); ++i) wealth_[i] *= heads ? 1 + stakes[i] : 1 - stakes[i];
}

double evidence::value() const {
    if (wealth_.empty()) return 1.0;
    double sum = 0;
    for (const double one : wealth_) sum += one;
    return sum / static_cast<double>(wealth_.size());
}

effect::effect(unsigned seed, bool seated) : chance_(seed) {
    if (!seated) return;
    best_ = way::seats;
    began_seated_ = begins_ = true;
    keep();
}

paired_ratio effect::ratio() const {
    return tauto::detail::judge(logs_, 0.95, 1);
}

void effect::start_over() {
    phase_ = phase::watches;
    way_ = best_ = way::alone;
    best_rate_ = spun_alone_ = 0;
    usual_ = alone_ = {};
    began_seated_ = begins_ = fell_ = was_unequal_ = false;
    left_.clear();
    known_.clear();
    open_.clear();
    recent_.clear();
    rate_of_ = {};
    visits_ = 0;
}

void effect::add(window seen) {
    if (spins_as_much(seen)) seen.work = std::min(seen.work, alone_.rate() * seen.seconds);
    if (seen.done == way::alone && (phase_ == phase::tries || phase_ == phase::keeps)) {
        alone_ = seen;
        spun_alone_ += usual_follows * (seen.spun - spun_alone_);
    }
    switch (phase_) {
        case phase::watches:
            return watch(seen);
        case phase::looks:
            return look(seen);
        case phase::tries:
            return try_with(seen);
        case phase::keeps:
            return keep_on(seen);
        case phase::rests:
            phase_ = phase::watches;
            way_ = way::alone;
    }
}

void effect::watch(const window& seen) {
    const bool was_unequal = std::exchange(was_unequal_, !seen.equal && !seen.by_itself);
    if (seen.equal) return rest(shortest_rest, "no CPU was faster than another");
    if (seen.seems_busy()) return rest(shortest_rest, were_busy);
    // Others are on a CPU for a moment on every machine: a way that leaves it out may cost half a window.
    if (was_unequal_ && !was_unequal) return;
    begin_looking(seen);
}

bool effect::spins_as_much(const window& seen) const {
    return seen.done != way::alone && spun_alone_ > 0 && seen.spun > as_much * spun_alone_;
}

// `rate`: of the best way, if it was seen already.
void effect::begin_looking(const window& alone, double rate) {
    phase_ = phase::looks;
    recent_.clear();
    alone_ = alone;
    spun_alone_ = alone.spun;
    known_ = left_ = alone.possible;
    if (rate > 0)
        std::erase(left_, best_);
    else
        best_ = way::alone;
    best_rate_ = rate;
    look_at_next(alone);
}

// A program that has just begun may not have shown yet what can be done with it.
bool effect::has_new_ways(const window& seen) {
    const std::size_t before = left_.size();
    for (const way one : seen.possible)
        if (std::ranges::find(known_, one) == known_.end()) left_.push_back(one);
    known_.insert(known_.end(), left_.begin() + static_cast<std::ptrdiff_t>(before), left_.end());
    return left_.size() > before;
}

void effect::look_again(const window& seen) {
    open_.clear();
    phase_ = phase::looks;
    look_at_next(seen);
}

void effect::look(const window& seen) {
    has_new_ways(seen);
    note_rate(way_, seen.rate());
    // Where nothing is counted, nothing is learned from one window of a way to the next.
    if (!seen.counted && seen.rate() < alone_.rate()) std::erase(left_, way_);
    if (seen.rate() > best_rate_) {
        best_rate_ = seen.rate();
        best_ = way_;
    }
    look_at_next(seen);
}

// What can be told without a window of its own is not looked at.
void effect::look_at_next(const window& seen) {
    const double reachable = seen.reachable / seen.seconds;
    while (!left_.empty()) {
        way_ = left_.front();
        left_.erase(left_.begin());
        const double promised = way_ == way::fastest ? seen.most_of_fastest() : near_the_bound * reachable;
        const double so_far = std::max(best_rate_, alone_.rate());
        if (so_far < promised || seen.seconds < short_look) return;
    }
    if (best_ == way::alone) return rest(first_rest, "nothing that could be done promised a gain");
    const double least_gain = seen.counted ? as_good : seen.agreed ? clear_if_agreed : clear_if_estimated;
    if (best_rate_ > least_gain * alone_.rate()) return keep();
    phase_ = phase::tries;
    tried_ = 0;
    start_pair();
}

void effect::start_pair() {
    way_ = (chance_() & 1U) != 0 ? best_ : way::alone;
}

void effect::try_with(const window& seen) {
    if (has_new_ways(seen)) return look_again(seen);
    open_.push_back(seen);
    if (open_.size() < 2) {
        way_ = seen.done == way::alone ? best_ : way::alone;
        return;
    }
    add_pair(take_pair());
    if (phase_ != phase::tries) return;
    if (helps_.value() >= enough) return keep();
    if (tried_ >= most_tries) return rest(first_rest, "no gain was seen against Linux alone");
    start_pair();
}

// A pair is a window that is left alone and, by lot, the one before or behind it.
void effect::keep_on(const window& seen) {
    if (visits_ > 0) return visit(seen);
    const bool may_change = !begins_ && !began_seated_;
    if (may_change && !usual_.is_near_the_bound() && has_new_ways(seen)) return look_again(seen);
    const bool awaits_one_behind = open_.size() == 1 && open_[0].done == way::alone;
    if (seen.done != way::alone && !awaits_one_behind) {
        note_usual(seen);
        if (begins_) plan_first_pair();
        until_pair_ -= seen.seconds;
        if (begins_ || until_pair_ > 0) return;
        way_ = rival(seen);  // the next
        if (way_ != way::alone) return;
        if (chance_() & 1U) open_.push_back(seen);
        return;
    }
    open_.push_back(seen);
    way_ = best_;
    if (open_.size() < 2) return;
    const pair both = take_pair();
    add_pair(both);
    if (phase_ != phase::keeps) return;
    const double rate = usual_.rate();
    if (std::exchange(began_seated_, false)) {  // are there better ways?
        if (!usual_.is_near_the_bound()) return begin_looking(both.alone, rate);
        best_rate_ = rate;
    }
    until_pair_ = between(both.alone, lost_alone(both.alone, rate));
    const bool fell = rate < fallen * best_rate_;
    if (std::exchange(fell_, fell) && fell && both.alone.possible.size() > 1)
        return begin_looking(both.alone, rate);
    best_rate_ += (rate - best_rate_) / 4;
}

// Now and then another way is done in place of a window that is left alone: the one that was chosen first may
// not be the best.
way effect::rival(const window& seen) {
    if (++dues_ % dues_to_a_rival != 0 || usual_.is_near_the_bound() ||
        usual_.work > near_the_bound * usual_.reachable)
        return way::alone;
    way found = way::alone;
    double most = 0;
    for (const way one : seen.possible) {
        const double hoped = rate_of(one) > 0 ? rate_of(one) : 2 * usual_.rate();
        if (one == way::fastest && !seen.counted && seen.most_of_fastest() < usual_.rate()) continue;
        if (one == best_ || hoped < may_still_win * usual_.rate() || hoped <= most) continue;
        most = hoped;
        found = one;
    }
    if (found != way::alone) visits_ = windows_of_a_rival;
    return found;
}

void effect::visit(const window& seen) {
    const double usual = usual_.rate();
    const bool is_hopeless = !seen.counted && seen.rate() < may_still_win * usual;
    if (--visits_ > 0 && !is_hopeless) return;
    visits_ = 0;
    note_rate(way_, seen.rate());
    if (seen.rate() > (seen.counted ? clear : clear_of_a_rival) * usual) {
        best_ = way_;
        best_rate_ = seen.rate();
        return keep();
    }
    way_ = best_;
    until_pair_ = windows_of_a_rival * between(seen, std::max(1 - seen.rate() / usual, 0.0));
}

// What no other way can do much better than need not be compared at once.
void effect::plan_first_pair() {
    const bool is_near = usual_.is_near_the_bound();
    begins_ = !is_near && ++windows_ < windows_to_begin;
    if (is_near) until_pair_ = (usual_.seconds + usual_.round) * lost_to_learn / may_cost_to_learn;
}

void effect::note_usual(const window& seen) {
    if (seen.seconds <= 0 || seen.work <= 0) return;
    const double weight = usual_.seconds > 0 && !begins_ ? usual_follows : 1;
    const double rate = usual_.rate() + weight * (seen.rate() - usual_.rate());
    const double busy = usual_.busy + weight * (seen.busy - usual_.busy);
    usual_ = seen;
    usual_.work = rate * seen.seconds;
    usual_.busy = busy;
    if (best_rate_ > 0 && rate < fallen * best_rate_ && !fell_) until_pair_ = 0;
}

effect::pair effect::take_pair() {
    pair taken{std::move(open_[0]), std::move(open_[1])};
    if (taken.balanced.done == way::alone) std::swap(taken.balanced, taken.alone);
    open_.clear();
    return taken;
}

void effect::add_pair(const pair& both) {
    const auto& [balanced, alone] = both;
    ++tried_;
    if (balanced.work <= 0 || alone.work <= 0) return;
    const double log = std::log(alone.rate()) - std::log(balanced.rate());
    const bool counted = balanced.counted && alone.counted;
    if (!counted) ++estimated_;
    const bool agreed = balanced.agreed && alone.agreed;
    const double least = counted ? worth_it : agreed ? worth_it_if_agreed : worth_it_if_estimated;
    const bool helps = log < -least;
    logs_.push_back(log);
    helps_.add(helps);
    kept_ = kept_ || helps_.value() >= enough;
    recent_.push_back(log);
    if (recent_.size() > most_recent) recent_.erase(recent_.begin());
    const gain found = recent_gain();
    const bool too_little = found.log + found.error < least;
    const bool undecided = phase_ == phase::keeps && helps_.value() < enough && tried_ >= most_tries &&
                           found.log - found.error < 0;
    if (too_little || undecided)
        rest(first_rest, "no gain was seen against windows in which Linux was left alone");
}

effect::gain effect::recent_gain() const {
    if (recent_.empty()) return {0, infinity};
    const auto count = static_cast<double>(recent_.size());
    const double mean = std::accumulate(recent_.begin(), recent_.end(), 0.0) / count;
    if (recent_.size() < fewest_to_judge) return {-mean, infinity};
    double squares = 0;
    for (const double one : recent_) squares += (one - mean) * (one - mean);
    return {-mean, std::max(std::sqrt(squares / (count - 1)), least_spread) / std::sqrt(count)};
}

// The part of a window that is lost when it is left alone: over the last pairs, for Linux is lucky at times.
double effect::lost_alone(const window& alone, double rate) const {
    if (recent_.empty()) return rate > 0 ? std::max(1 - alone.rate() / rate, 0.0) : 0.0;
    return std::max(1 - std::exp(-recent_gain().log), 0.0);
}

void effect::keep() {
    phase_ = phase::keeps;
    usual_ = {};
    tried_ = 0;
    way_ = best_;
    reason_.clear();
    recent_.clear();
    note_rate(best_, best_rate_);
    until_pair_ = between(alone_, lost_alone(alone_, best_rate_));
}

// Seconds from a window in which this part was lost to the next.
double effect::between(const window& lost, double part) const {
    // Rounds that go on when the way changes are lost, too.
    const double seconds = (lost.seconds + 2 * lost.round) * part;
    const double spent = seconds / (helps_.value() >= enough ? may_cost : may_cost_to_learn);
    const bool costs = seconds > 0 || usual_.is_near_the_bound();
    const double fewest = costs ? fewest_between * lost.seconds : 0.0;
    // What is only estimated is not trusted before it was seen again.
    const bool is_sure = lost.counted || helps_.value() >= enough;
    return std::clamp(spent, fewest, is_sure ? longest_between : fewest);
}

void effect::rest(nanoseconds first, const std::string& reason) {
    const nanoseconds longest = first == first_rest ? longest_rest : longest_rest_untried;
    rest_ = last_reason_ == reason ? std::min(2 * rest_, longest) : first;
    last_reason_ = reason;
    reason_ = reason;
    phase_ = phase::rests;
    way_ = way::alone;
}

}  // namespace tauto::balance
