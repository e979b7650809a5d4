#include <tauto/loop_model.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>
#include <sstream>
#include <utility>

namespace tauto::detail {
namespace {

// A speed that is twice in a row further than this from what was known is a change, not noise: take it.
constexpr double change = 0.25;
// A width is only tried when the model says that it may come within this factor of the best ...
constexpr double plausible_short = 2.5;
// ... and within this one for long loops, where a trial is expensive and the model is good.
constexpr double plausible_long = 1.08;
constexpr double long_loop_microseconds = 300;
// What trials may cost: this share of all the time spent in the loop, or this much at the start.
constexpr double trial_share = 0.01;
// While the learned speeds promise more than a width has shown, its first trials may cost this share: what it
// showed first was most likely the price of learning.
constexpr double promising_share = 0.2;
constexpr int promising_trials = 5;
constexpr double most_patience = 16;
constexpr double free_trials_microseconds = 2500;
// Speeds are folded into what is known after this much looped time: several times as long as another program
// holds a member up.
constexpr double fold_microseconds = 400;
// A trial may end after so many calls when it differs by this much.
constexpr int enough_calls = 4;
constexpr double clearly = 1.05;
// A trial that took so many times what the speeds promise was most likely held up.
constexpr double far_off = 3;
// A width takes over when it is this much better: shares and caches should not move for less.
constexpr double takeover = 0.985;
// A member's part of the work moves only when it is off by more than this; stealing evens out the rest.
constexpr double share_tolerance = 0.03;
// This part of the difference to the fastest member is forgotten at each fold in which a member was not seen.
constexpr double fading = 0.02;
// The smallest share, as a part of the fastest member's.
constexpr double least_share = 1.0 / 64;
// Only members slower than this part of the fastest leave a loop before its end.
constexpr double slow = 0.8;
// A member is late when the others have waited for it for longer than this part of the loop.
constexpr double late_part = 0.02;
// The first step of a member's margin, as a part of the loop.
constexpr double first_step = 1.0 / 32;
// Eight calls of a loop that is too short to fork, and what is between them, take less than this; else the
// next one is timed.
constexpr double suspicious_microseconds = 100;
// Two windows in a row off by this much mean that the machine or the loop has changed.
constexpr double drift = 0.08;
// Where members wait for this part of their time, the loop may be uneven.
constexpr double enough_waiting = 0.03;
constexpr double much_waiting = 0.2;
// Workers steal, and leave early, only in loops that would take the caller alone longer than this.
constexpr double stealing_microseconds = 16;
// Where iterations take longer than this, a member's speed may be that of the ones that it had.
constexpr double long_iteration_microseconds = 10;
// A loop is short for skip_recording.
constexpr double short_microseconds = 20;
// Chunks are timed where they can be this long and so many, in the first calls and then in one of so many.
constexpr double timed_chunk_microseconds = 0.25;
constexpr int fewest_timed = 8;
constexpr int first_timed = 8;
constexpr int timed_every = 16;
// A part of a loop that is handed out by cost takes at least so many steals' time.
constexpr double part_steals = 2;

}  // namespace

double loop_model::option::typical() const noexcept {
    std::array<double, 4> sorted = recent;
    std::sort(sorted.begin(), sorted.end());
    return sorted[2] == never ? sorted[0] : sorted[1];
}

void loop_model::option::add(double per_iteration) noexcept {
    std::rotate(recent.begin(), recent.end() - 1, recent.end());
    recent[0] = per_iteration;
    ++trials;
}

loop_model::loop_model(const loop_model_options& options) : microsecond_(options.microsecond) {
    for (const width_option& width : options.widths) {
        option o;
        o.width = width.width;
        o.fork_ticks = width.fork_ticks;
        if (o.width > 1) {
            o.uneven = true;
            options_.push_back(o);
            o.uneven = false;
        }
        options_.push_back(o);
    }
    const auto members = usize(options_.back().width);
    learned_.assign(members, 1.0);
    noise_.assign(members, {});
    speeds_.assign(members, 1.0);
    share_speeds_.assign(members, 1.0);
    costed_learned_.assign(members, 1.0);
    costed_noise_.assign(members, {});
    costed_speeds_.assign(members, 1.0);
    timed_costs_.assign(members, 0.0);
    timed_ticks_.assign(members, 0.0);
    fold_iterations_.assign(members, 0.0);
    fold_ticks_.assign(members, 0.0);
    jumped_.assign(members, false);
    margins_.assign(members, 0.0);
    margin_steps_.assign(members, 0.0);
    ends_.assign(members, 0.0);
    order_.resize(members);
    std::iota(order_.begin(), order_.end(), 0);
    chosen_ = current_ = options_.size() - 1;
}

void loop_model::begin_inline(index n, std::int64_t elapsed) noexcept {
    serial_ = as_double(elapsed) / as_double(n);
    chosen_ = current_ = 0;
    spent_ += std::max(1.0, as_double(elapsed));
}

// What a member's parts cost by what is known, against the time that they took on it.
void loop_model::learn_costed_speeds() noexcept {
    constexpr double weight = 0.5;
    constexpr double speed_step = 3;
    constexpr double hope = 0.05;
    constexpr double doubt = 0.02;
    double rates = 0;
    double known = 0;
    int timed = 0;
    for (std::size_t rank = 0; rank < timed_ticks_.size(); ++rank) {
        if (timed_ticks_[rank] <= 0) continue;
        rates += timed_costs_[rank] / timed_ticks_[rank];
        known += costed_learned_[rank];
        ++timed;
    }
    const double fastest = *std::max_element(costed_learned_.begin(), costed_learned_.end());
    for (std::size_t rank = 0; rank < timed_ticks_.size(); ++rank) {
        double& speed = costed_learned_[rank];
        if (timed_ticks_[rank] <= 0) {
            speed += hope * (fastest - speed);  // or it would be thought slow for ever
        } else if (rates > 0) {
            const double now = timed_costs_[rank] / timed_ticks_[rank] * known / rates;
            if (timed > 1) costed_noise_[rank].note(now * timed / known);
            speed += weight * (std::clamp(now, speed / speed_step, speed * speed_step) - speed);
            // Where each member runs the same parts in each call, what is cost and what is speed cannot be
            // told.
            speed += doubt * (fastest - speed);
        }
        timed_costs_[rank] = timed_ticks_[rank] = 0;
    }
    believe(costed_learned_, costed_noise_, costed_speeds_);
    const double most = *std::max_element(costed_speeds_.begin(), costed_speeds_.end());
    for (double& speed : costed_learned_) speed /= most;
    for (double& speed : costed_speeds_) speed /= most;
    if (costs_.calls() > 0) {
        std::iota(order_.begin(), order_.end(), 0);
        sort_members(costed_speeds_);
    }
}

// For shares that do not know the costs: what was learned with them may have been costs, or long ago.
void loop_model::adopt_costed_speeds() noexcept {
    const double scale = learned_[0] / costed_learned_[0];
    for (std::size_t rank = 0; rank < speeds_.size(); ++rank) learned_[rank] = costed_learned_[rank] * scale;
    noise_ = costed_noise_;
    believe(learned_, noise_, speeds_);
    std::fill(jumped_.begin(), jumped_.end(), false);
    std::iota(order_.begin(), order_.end(), 0);
    sort_members(speeds_);
    settle_shares();
}

index loop_model::timed_chunk(index n) const noexcept {
    if (!uneven() || serial_ <= 0) return 0;
    const bool due = !costs_.known(n) || costs_.calls() < first_timed || untimed_ >= timed_every;
    if (!due) return 0;
    const double shortest = timed_chunk_microseconds * microsecond_ / serial_;
    const double chunk = std::ceil(std::max(shortest, as_double(n) / as_double(cost_profile::most_blocks)));
    return chunk == 1 || fewest_timed * chunk <= as_double(n) ? static_cast<index>(chunk) : 0;
}

void loop_model::record_chunk(int rank, index n, range chunk, std::int64_t ticks) noexcept {
    chunks_noted_ = true;
    if (costs_.known(n)) {
        at(timed_costs_, rank) += costs_.cost(n, chunk);
        at(timed_ticks_, rank) += as_double(ticks);
    }
    costs_.note(n, chunk, as_double(ticks) * at(costed_speeds_, rank));
}

void loop_model::record_member(int rank, index iterations, std::int64_t end, std::int64_t start,
                               bool slept) noexcept {
    woken_ = woken_ || slept;
    // The first steps after a sleep are slow, so a short stay says little.
    if (slept && end < 2 * start) return;
    // A worker's report takes one transfer to arrive: the worker must end that much earlier, or the caller
    // waits for it.
    const double arrived = as_double(end) + (rank == 0 ? 0.0 : steal_ticks() / 2);
    // A member that was awake but began later than a launch takes was held up, which counts as slowness.
    const double launched = slept ? as_double(start) : std::min(as_double(start), head_ticks());
    at(fold_iterations_, rank) += as_double(iterations);
    at(fold_ticks_, rank) += start > 0 ? as_double(end) - launched : arrived;
    if (!slept && iterations > 0) at(ends_, rank) = arrived;
}

// A member that stops early wastes its part q of the team's speed, one that is late the part of all others,
// 1 - q. So the least is wasted when it is late with probability q (the newsvendor's quantile), which is
// where steps of these sizes cancel out (Robbins and Monro, Annals of Mathematical Statistics 22, 1951).
void loop_model::learn_margins(double elapsed) noexcept {
    const double fastest = *std::max_element(share_speeds_.begin(), share_speeds_.end());
    double speeds = 0;
    double last = 0;  // the two latest ends: of all the others, one of them is the latest
    double next_to_last = 0;
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
        if (ends_[rank] > 0) speeds += share_speeds_[rank];
        next_to_last = std::max(next_to_last, std::min(last, ends_[rank]));
        last = std::max(last, ends_[rank]);
    }
    for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
        if (ends_[rank] <= 0) continue;
        double& margin = margins_[rank];
        if (share_speeds_[rank] > slow * fastest) {
            margin = 0;
            margin_steps_[rank] = 0;
            continue;
        }
        const double others = ends_[rank] < last ? last : next_to_last;
        const double part = share_speeds_[rank] / speeds;
        // Large at first and after a change of speed, so that some ten loops do; then small and steady.
        const double eager = first_step * elapsed / (1 + 0.25 * margin_steps_[rank]++);
        const double step = std::max({microsecond_, margin / 8, eager});
        const bool late = others > 0 && ends_[rank] > others + late_part * elapsed;
        margin = std::clamp(margin + step * (late ? 1 - part : -part), 0.0, elapsed / 4);
    }
    std::fill(ends_.begin(), ends_.end(), 0.0);
}

// Of the call that ends now. Who was asleep waits for another reason.
void loop_model::note_waiting() noexcept {
    if (woken_) return;
    option& mine = options_[current_];
    double busy = 0;
    double last = 0;
    for (const double end : ends_) {
        busy += end;
        last = std::max(last, end);
    }
    const double waiting = last > 0 ? 1 - busy / (std::min<double>(mine.width, last_n_) * last) : 0;
    mine.waiting += 0.25 * (waiting - mine.waiting);
}

// Members that hardly wait for each other have nothing to gain from parts by cost, nor few iterations from
// many members.
bool loop_model::may_pay(std::size_t which, double n) const noexcept {
    const option& o = options_[which];
    if (o.width >= 2 * n) return false;
    if (!o.uneven || o.tried()) return true;
    const option& even = options_[which + 1];
    return even.tried() && even.waiting > enough_waiting;
}

// Where iterations are long, a member has few of them, and what they cost does not even out: differences that
// may be noise are taken for less, or for none. In short loops of unequal costs the shares themselves move
// what is measured.
void loop_model::believe(const std::vector<double>& learned, const std::vector<speed_noise>& noise,
                         std::vector<double>& speeds) const noexcept {
    const double mean = std::accumulate(learned.begin(), learned.end(), 0.0) / as_double(learned.size());
    const bool long_ones = serial_ >= long_iteration_microseconds * microsecond_;
    for (std::size_t rank = 0; rank < speeds.size(); ++rank) {
        const double trust = long_ones ? noise[rank].trust() : 1;
        speeds[rank] = trust == 1 ? learned[rank] : mean + trust * (learned[rank] - mean);
    }
}

// A member that was not seen keeps its ratio to the others, and moves towards the fastest: what was known of
// it may no longer be true.
void loop_model::fade(double fastest, double scale) noexcept {
    for (std::size_t rank = 0; rank < learned_.size(); ++rank) {
        if (fold_iterations_[rank] <= 0) {
            const double moved = std::min(fastest, learned_[rank] * scale);
            learned_[rank] = moved + fading * (fastest - moved);
        }
        fold_iterations_[rank] = fold_ticks_[rank] = 0;
    }
    believe(learned_, noise_, speeds_);
}

void loop_model::fold_speeds() noexcept {
    const auto rate = [this](std::size_t rank) { return fold_iterations_[rank] / fold_ticks_[rank]; };
    const auto seen = [this](std::size_t rank) {
        return fold_iterations_[rank] > 0 && fold_ticks_[rank] > 0;
    };
    // Caches and clocks move all members alike; what matters is each one's part of the whole.
    double rates = 0;
    double known = 0;
    double fastest_before = 0;
    int members_seen = 0;
    for (std::size_t rank = 0; rank < speeds_.size(); ++rank) {
        fastest_before = std::max(fastest_before, learned_[rank]);
        if (!seen(rank)) continue;
        rates += rate(rank);
        known += learned_[rank];
        ++members_seen;
    }
    fold_elapsed_ = 0;
    if (rates <= 0) {
        fade(fastest_before, 1.0);
        if (!uneven()) sort_members(speeds_);  // else each keeps its part of the loop
        settle_shares();
        return;
    }
    double fastest = 0;
    bool settled = true;
    for (std::size_t rank = 0; rank < speeds_.size(); ++rank) {
        if (!seen(rank)) continue;
        const double now = rate(rank);
        const bool far = std::abs((now / rates) / (learned_[rank] / known) - 1) > change;
        const bool replace = folds_ == 0 || (far && jumped_[rank]);
        learned_[rank] = replace ? now : 0.5 * (learned_[rank] + now);
        if (members_seen > 1) noise_[rank].note(now * members_seen / rates);
        if (replace) margin_steps_[rank] = 0;
        jumped_[rank] = far && !replace;
        settled = settled && !far;
        fastest = std::max(fastest, learned_[rank]);
    }
    fade(fastest, folds_ == 0 ? std::numeric_limits<double>::infinity() : fastest / fastest_before);
    ++folds_;
    if (!options_[0].tried()) serial_ = 1 / learned_[0];
    if (!uneven()) sort_members(speeds_);  // else each keeps its part of the loop
    settle_shares();
    // What a width takes while its shares are still wrong says nothing about it; but noise must not keep a
    // window from ever ending.
    const option& mine = options_[current_];
    const int most = mine.uneven || mine.waiting > much_waiting ? 1 : 6;
    if (!settled && unsettled_ < most) {
        ++unsettled_;
        skip_next_ = true;
        window_ = latest_ = {};
    }
}

void loop_model::settle_shares() noexcept {
    // A member with no share at all could never show that it is fast again.
    const double least = *std::max_element(speeds_.begin(), speeds_.end()) * least_share;
    const auto wanted = [&](std::size_t rank) { return std::max(speeds_[rank], least); };
    double total = 0;
    for (std::size_t rank = 0; rank < speeds_.size(); ++rank) total += wanted(rank);
    // Speeds are relative, so compare each member's part of the whole.
    const double settled = std::accumulate(share_speeds_.begin(), share_speeds_.end(), 0.0);
    const double mean = total / as_double(speeds_.size());
    bool moved = false;
    bool equal = true;
    for (std::size_t rank = 0; rank < speeds_.size(); ++rank) {
        const double ratio = (wanted(rank) / total) / (share_speeds_[rank] / settled);
        moved = moved || std::abs(ratio - 1) > share_tolerance;
        equal = equal && std::abs(wanted(rank) / mean - 1) <= share_tolerance;
    }
    if (!moved) return;
    for (std::size_t rank = 0; rank < speeds_.size(); ++rank)
        share_speeds_[rank] = equal ? mean : wanted(rank);
}

void loop_model::sort_members(const std::vector<double>& speeds) noexcept {
    // Only clear differences reorder: a width below the team's should keep its members and their caches. So
    // this is no order that std::sort may be given: of two that differ little, neither is less, and that is
    // not transitive. Each place gets the first of the rest than which none is clearly faster.
    const auto speed = [&](int rank) { return at(speeds, rank); };
    const auto in_place = [&] {
        double most = 0;  // of those behind
        return std::all_of(order_.rbegin(), order_.rend() - 1, [&](int rank) {
            most = std::max(most, speed(rank));
            return 1.25 * speed(rank) >= most;
        });
    };
    if (in_place()) return;
    for (auto place = order_.begin() + 1; place < order_.end(); ++place) {
        const auto fastest =
            std::max_element(place, order_.end(), [&](int a, int b) { return speed(a) < speed(b); });
        const double enough = speed(*fastest) / 1.25;
        const auto first = std::find_if(place, fastest, [&](int rank) { return speed(rank) >= enough; });
        std::rotate(place, first, first + 1);
    }
}

double loop_model::speed_of(const option& o, const std::vector<double>& speeds) const noexcept {
    double sum = 0;
    for (int i = 0; i < o.width; ++i) {
        sum += at(speeds, at(order_, i));
    }
    return sum;
}

double loop_model::predicted(const option& o, double n) const noexcept {
    if (o.width == 1) return serial_;
    // Where costs are known, the speeds of shares are not the members' own.
    if (costs_.known(static_cast<index>(n))) {
        const double together = std::max(costed_speeds_[0] / speed_of(o, costed_speeds_), costs_.largest());
        return serial_ * together + o.fork_ticks / n;
    }
    return serial_ * speeds_[0] / speed_of(o, speeds_) + o.fork_ticks / n;
}

double loop_model::estimate(const option& o, double n) const noexcept {
    return o.tried() ? o.typical() : predicted(o, n);
}

bool loop_model::trial_complete() const noexcept {
    const double us = window_.ticks / microsecond_;
    // A member held up by another program is held for about 0.1 ms at a time: a trial must see several.
    if (window_.calls >= 3 && us >= 500) return true;
    if (window_.calls >= 2 && us >= 2000) return true;
    const option& best = options_[chosen_];
    if (!best.tried()) return false;
    // Noise only ever adds: if its quickest call is slower than what is usual, so is the width.
    if (window_.calls >= enough_calls && window_.least > clearly * best.typical()) return true;
    // Members that had to be woken each time, though a call before had woken them: the pauses are long, and
    // what a wake-up costs here is seen.
    if (window_.calls >= 2 && window_.woken == window_.calls && window_.least > best.typical()) return true;
    const double slower = window_.per_iteration() / best.typical();
    if (window_.calls >= 2 * enough_calls && slower < 1 / clearly) return true;
    // Where neither is clear, it matters little which of them is taken.
    if (window_.calls >= 4 * enough_calls && us >= 50) return true;
    // Twice as slow is clear before that, four times at the first call; and twice as fast is clear when it
    // does not depend on other members.
    if (us >= 120 && (slower > 4 || (window_.calls >= 3 && slower > 2))) return true;
    return current_ == 0 && window_.calls >= 5 && slower < 0.5;
}

bool loop_model::window_complete() const noexcept {
    const double us = window_.ticks / microsecond_;
    return (window_.calls >= 4 && us >= 1000) || (window_.calls >= 3 && us >= 4000);
}

// Noise only ever adds: where even the quickest of the latest calls is slower than usual, something has
// changed. These calls alone are then the window.
bool loop_model::turned_slow() noexcept {
    if (latest_.calls < 2 * enough_calls) return false;
    const window latest = std::exchange(latest_, {});
    if (latest.least < (1 + drift) * reference_) return false;
    window_ = latest;
    return true;
}

void loop_model::start_trial(std::size_t which) noexcept {
    if (!options_[which].uneven && costs_.calls() > 0) adopt_costed_speeds();
    current_ = which;
    in_trial_ = true;
    unsettled_ = 0;
    skip_next_ = true;
    window_ = latest_ = {};
    inline_calls_.store(0, std::memory_order_relaxed);
}

void loop_model::finish_trial() noexcept {
    option& tried = options_[current_];
    const double n = last_n_;
    const double now = window_.per_iteration();
    const bool lost = now > estimate(options_[chosen_], n) * 1.05;
    // A width that was given up because something disturbed it, or before its shares were right, starts
    // afresh when it does well again: much better than it did, or better and as well as the speeds promise.
    const bool as_promised = tried.width > 1 && now < 1.1 * predicted(tried, n);
    if (!lost && tried.typical() > (as_promised ? 1.03 : 1.2) * now) tried.recent = unknown;
    tried.add(now);
    tried.woken = window_.mostly_woken();
    if (tried.width > 1)
        sleepers_patience_ = tried.woken ? std::min(most_patience, sleepers_patience_ * 2) : 1;
    tried.spent_at_trial = spent_;
    if (current_ == 0) serial_ = tried.typical();
    // Far from what the speeds promise: something held it up, which may be over.
    const bool held_up = now > far_off * predicted(tried, n);
    tried.patience = lost ? std::min(held_up ? 4.0 : most_patience, tried.patience * 2) : 1;
    in_trial_ = false;
    choose(n);
    maybe_start_trial(n);
}

void loop_model::choose(double n) noexcept {
    std::size_t best = chosen_;
    double least = options_[chosen_].tried() ? estimate(options_[chosen_], n) * takeover
                                             : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < options_.size(); ++i) {
        if (options_[i].tried() && estimate(options_[i], n) < least) {
            least = estimate(options_[i], n);
            best = i;
        }
    }
    if (best != chosen_ || current_ != best) skip_next_ = true;
    if (best != chosen_) drifts_ = 0;
    if (!options_[best].uneven && costs_.calls() > 0) {
        // After a mere trial the speeds of before are still right. Nobody times costs any more: what
        // disturbed their learning would count for ever.
        if (options_[chosen_].uneven) adopt_costed_speeds();
        costs_ = {};
        std::fill(costed_learned_.begin(), costed_learned_.end(), 1.0);
        std::fill(costed_noise_.begin(), costed_noise_.end(), speed_noise{});
        std::fill(costed_speeds_.begin(), costed_speeds_.end(), 1.0);
    }
    chosen_ = current_ = best;
    reference_ = estimate(options_[best], n);
    window_ = latest_ = {};
    unsettled_ = 0;
}

loop_model::outlook loop_model::outlook_of(std::size_t which, double n) const noexcept {
    const option& o = options_[which];
    const double now_best = estimate(options_[chosen_], n);
    const double loop_us = now_best * n / microsecond_;
    const bool promising = o.trials < promising_trials && predicted(o, n) < 0.97 * now_best;
    // Members that had to be woken then may be awake now.
    const bool hopeful = promising && o.woken;
    const double patience = hopeful ? sleepers_patience_ : o.woken ? 1.0 : o.patience;
    const double expected = hopeful ? predicted(o, n) : estimate(o, n);
    // A trial lasts some calls or 0.5 ms, plus the call that warms up; one that is clearly worse ends sooner.
    const double long_enough = std::max(4.0, 500 / std::max(expected * n / microsecond_, 1e-3));
    const double calls = expected > clearly * now_best ? enough_calls + 1.0 : long_enough;
    // A trial that does badly ends after 0.12 ms or a call of four times the usual length.
    const double most = std::max(150 * microsecond_, 4 * now_best * n);
    const double loss = std::min(std::max(0.0, expected - now_best) * n * calls, most);
    if (o.tried()) {
        const double price = std::max(loss, 0.05 * now_best * n * calls) * patience;
        return {expected, price / (promising ? promising_share : trial_share) - (spent_ - o.spent_at_trial)};
    }
    const double plausible = loop_us > long_loop_microseconds ? plausible_long : plausible_short;
    if (expected > plausible * now_best) return {expected, never};
    const bool is_free = loss <= free_trials_microseconds * microsecond_;
    return {expected, is_free ? 0.0 : loss / trial_share - spent_};
}

void loop_model::maybe_start_trial(double n) noexcept {
    std::size_t candidate = options_.size();
    double promise = never;
    for (std::size_t i = 0; i < options_.size(); ++i) {
        if (i == chosen_ || !may_pay(i, n)) continue;
        const outlook seen = outlook_of(i, n);
        if (seen.after <= 0 && seen.expected < promise) {
            promise = seen.expected;
            candidate = i;
        }
    }
    if (candidate < options_.size()) start_trial(candidate);
}

std::string loop_model::explanation() const {
    if (fresh()) return "nothing is known yet";
    std::ostringstream text;
    text << std::setprecision(3);
    const auto time = [&](double ticks) {
        const double us = ticks / microsecond_;
        if (us < 1000) {
            text << us << " µs";
        } else if (us < 1e6) {
            text << us / 1e3 << " ms";
        } else {
            text << us / 1e6 << " s";
        }
    };
    const auto name = [&](const option& o) {
        text << o.width << (o.width == 1 ? " member" : " members") << (o.uneven ? ", parts by cost" : "");
    };
    const double n = last_n_;
    name(options_[chosen_]);
    text << ": ";
    time(estimate(options_[chosen_], n) * n);
    text << " a loop";
    if (in_trial_) {
        text << "; tries ";
        name(options_[current_]);
    }
    for (std::size_t i = 0; i < options_.size(); ++i) {
        if (i == chosen_) continue;
        const option& o = options_[i];
        text << "\n  ";
        name(o);
        text << ": ";
        const outlook seen = outlook_of(i, n);
        if (o.tried()) {
            time(o.typical() * n);
            text << " when tried (" << o.trials << (o.trials == 1 ? " time" : " times") << ')';
        } else if (!may_pay(i, n)) {
            text << "not tried, has nothing to gain";
        } else {
            text << "not tried, should take ";
            time(seen.expected * n);
        }
        if (!may_pay(i, n) || seen.after == never) continue;
        text << "; may be tried ";
        if (seen.after > 0) {
            text << "after ";
            time(seen.after);
            text << " of this loop";
        } else {
            text << "next";
        }
    }
    if (folds_ > 0) {
        text << "\n  speeds, by rank:";
        const double fastest = *std::max_element(speeds_.begin(), speeds_.end());
        for (const double speed : speeds_) text << ' ' << speed / fastest;
        text << "; members wait " << std::round(100 * options_[chosen_].waiting) << " % of the time";
        if (costs_.calls() > 0)
            text << "; the most expensive part is " << std::round(100 * costs_.largest()) << " % of the loop";
    }
    return text.str();
}

void loop_model::finish_window(double n) noexcept {
    const double now = window_.per_iteration();
    option& mine = options_[chosen_];
    if (reference_ <= 0) reference_ = now;
    const bool off = std::abs(now / reference_ - 1) > drift;
    drifts_ = off ? drifts_ + 1 : 0;
    if (!off) reference_ += 0.3 * (now - reference_);
    mine.add(now);
    mine.woken = window_.mostly_woken();
    mine.spent_at_trial = spent_;
    if (chosen_ == 0) serial_ = mine.typical();
    window_ = latest_ = {};
    if (drifts_ >= 2) {
        // What was learned about the others belongs to a machine or a loop that no longer exists.
        drifts_ = 0;
        sleepers_patience_ = 1;
        reference_ = now;
        for (option& o : options_) {
            if (&o == &mine) continue;
            o.patience = 1;
            o.trials = std::min(o.trials, 1);
            o.spent_at_trial = std::min(o.spent_at_trial, spent_ - 50 * now * n);
        }
    }
    choose(n);
    if (!in_trial_) maybe_start_trial(n);
}

void loop_model::allow_inline_calls(double elapsed) noexcept {
    const bool steady_inline = current_ == 0 && !in_trial_;
    const double calls = 20 * microsecond_ / std::max(elapsed, 1.0);
    const int allowed = steady_inline ? static_cast<int>(std::clamp(calls, 0.0, 1000.0)) : 0;
    inline_calls_.store(allowed, std::memory_order_relaxed);
    spent_ += allowed * elapsed;
    fold_elapsed_ += allowed * elapsed;
}

bool loop_model::took_long(std::int64_t now) noexcept {
    const auto since = as_double(now - looked_.load(std::memory_order_relaxed));
    looked_.store(now, std::memory_order_relaxed);
    if (since < suspicious_microseconds * microsecond_) return false;
    inline_calls_.store(0, std::memory_order_relaxed);
    return true;
}

void loop_model::record_speeds(std::int64_t elapsed) noexcept {
    fold_elapsed_ += as_double(elapsed);
    if (folds_ == 0 || fold_elapsed_ >= fold_microseconds * microsecond_) fold_speeds();
}

void loop_model::record(index n, std::int64_t elapsed) noexcept {
    const auto size = as_double(n);
    const auto ticks = as_double(elapsed);
    const double calls = 1 + std::exchange(skipped_, 0);  // that this one stands for
    const double whole = ticks + as_double(charged_.exchange(0, std::memory_order_relaxed)) / calls;
    spent_ += calls * whole;
    last_n_ = size;
    if (options_[current_].width > 1) {
        note_waiting();
        learn_margins(ticks);
    }
    if (uneven() && (chunks_noted_ || costs_.known(n))) {
        // Speeds cannot be told from costs here.
        std::fill(fold_iterations_.begin(), fold_iterations_.end(), 0.0);
        std::fill(fold_ticks_.begin(), fold_ticks_.end(), 0.0);
    } else if (options_[current_].width > 1 || folds_ > 0) {
        record_speeds(static_cast<std::int64_t>(calls * ticks));
    }
    untimed_ = chunks_noted_ ? 0 : untimed_ + 1;
    if (std::exchange(chunks_noted_, false)) {
        learn_costed_speeds();
        costs_.end_call();
    }
    const bool woken = std::exchange(woken_, false);
    unrecorded_ = 0;
    if (std::exchange(skip_next_, false)) return;
    window_.add(size, whole, calls, woken);
    latest_.add(size, whole, calls, woken);
    if (in_trial_) {
        if (trial_complete()) finish_trial();
    } else if (!options_[chosen_].tried() ? trial_complete() : window_complete() || turned_slow()) {
        finish_window(size);
    } else if (!options_[chosen_].tried() && window_.calls == 2 && chosen_ != 0) {
        // A loop of a few forks' length: the prediction of the time alone contains half a fork, so try it.
        // Likewise where waking the members took longer than the loop.
        const bool costly_wakes =
            window_.woken == 2 && window_.per_iteration() > 1.5 * predicted(options_[0], size);
        if (ticks < 20 * options_.back().fork_ticks || costly_wakes) {
            options_[chosen_].add(window_.per_iteration());
            options_[chosen_].woken = window_.mostly_woken();
            options_[chosen_].spent_at_trial = spent_;
            start_trial(0);
        }
    }
    const bool nothing_tried = !in_trial_ && options_[chosen_].tried();
    unrecorded_ = nothing_tried && ticks < short_microseconds * microsecond_ ? 3 : 0;
    if (current_ == 0 && !in_trial_) allow_inline_calls(ticks);
}

void adaptive_loop::reserve(std::size_t members) {
    speeds_.reserve(members);
    margins_.reserve(members);
    bounds_.reserve(members + 1);
}

void adaptive_loop::make_order(const loop_model& model, index n) {
    // Its lines stay in the members' caches while nothing changes.
    if (ordered_calls_ != model.costs().calls() || n != plan_.n || plan_.order == nullptr) {
        ordered_calls_ = model.costs().calls();
        model.costs().sort(n, part_steals * model.steal_ticks(), order_);
        order_.total_speed = std::accumulate(speeds_.begin(), speeds_.end(), 0.0);
        order_.fastest = fastest_;
    }
    std::fill(bounds_.begin(), bounds_.end(), order_.parts);
    bounds_[0] = 0;
}

void adaptive_loop::make(const loop_model& model, index n) {
    const auto width = usize(std::min<index>(model.width(), n));
    if (speeds_.size() != width) plan_.n = 0;
    speeds_.resize(width);
    margins_.resize(width);
    bounds_.resize(width + 1);
    const bool costed = model.uneven() && model.costs().known(n);
    bool same = n == plan_.n && plan_.order == nullptr;
    for (std::size_t position = 0; position < width; ++position) {
        const auto rank = usize(model.order()[position]);
        const double speed = costed ? model.costed_speeds()[rank] : model.share_speeds()[rank];
        same = same && speeds_[position] == speed;
        speeds_[position] = speed;
        margins_[position] = model.margin_ticks()[rank];
    }
    fastest_ = *std::max_element(speeds_.begin(), speeds_.end());
    const int shift = costed ? 0 : unit_shift_for(n);
    const double units = as_double(index{1} << shift);
    const double iterations = as_double(n);
    const double per_iteration = model.ticks_per_iteration();
    const double grain =
        per_iteration > 0 ? model.steal_ticks() / per_iteration : iterations / (64.0 * as_double(width));
    timed_chunk_ = model.timed_chunk(n);
    workers_may_steal_ = timed_chunk_ > 0 || (model.uneven() && !costed) || per_iteration <= 0 ||
                         iterations * per_iteration > stealing_microseconds * model.microsecond();
    // From ticks to the plan's time; the caller, whose speed the model knows in both, is its position 0.
    const double ticks_of_iteration = per_iteration * speeds_[0];
    const double head = ticks_of_iteration > 0 ? model.head_ticks() / ticks_of_iteration : 0;
    same = head == std::exchange(head_, head) && same;
    if (costed) {
        make_order(model, n);
    } else if (!same) {
        weighted_bounds(n, {speeds_, head}, bounds_);
    }
    const double ticks_of_one = units * ticks_of_iteration;
    for (double& margin : margins_) margin = ticks_of_one > 0 ? margin / ticks_of_one : 0;
    plan_ = {.n = n,
             .unit_shift = shift,
             .members = static_cast<int>(width),
             .grain = static_cast<std::uint32_t>(std::clamp(grain / units, 1.0, 1e9)),
             // Where a look at the others would cost more than it can give, a share is taken whole.
             .divisor = !workers_may_steal_                       ? 1U
                        : model.speeds_known() && !model.uneven() ? 2U
                                                                  : 4U,
             .most = timed_chunk_ > 0 ? static_cast<std::uint32_t>(std::max<index>(1, timed_chunk_ >> shift))
                                      : std::numeric_limits<std::uint32_t>::max(),
             .speeds = speeds_.data(),
             .margins = model.uneven() ? nullptr : margins_.data(),
             .steal = ticks_of_one > 0 ? model.steal_ticks() / ticks_of_one : 0,
             .report = ticks_of_one > 0 ? model.head_ticks() / 2 / ticks_of_one : 0,
             .order = costed ? &order_ : nullptr};
}

}  // namespace tauto::detail
