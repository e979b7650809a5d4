#include "balance/waits/part_choice.hpp"

#include <algorithm>

namespace tauto::balance {

namespace {

// Of a block of runs one way: threads wake up first, and caches fill.
constexpr int settling_runs = 2;
constexpr double settling_time = 10e6;
// Then it lasts so long: a core that is shared is fast and slow in turns of up to milliseconds.
constexpr int least_runs = 3;
constexpr double least_length = 3e6;
constexpr int most_runs = 64;
constexpr double most_length = 20e6;
constexpr double promises = 1.1;  // at most so much of the time of the shorter way
constexpr double shorter = 0.97;  // than the other way, for a change
// A phase: threads can be moved in time there. To wake them up costs some 30 us, and to try other ways costs
// more where a run has many phases.
constexpr double too_long = 10e6;
constexpr double too_long_on_stacks = 1.5e6;
// Until the next trial, of what the last one took.
constexpr double first_wait = 10;
constexpr double last_wait = 160;
constexpr double learns = 0.1;  // of what a run shows
constexpr std::uint32_t first_rows = 10;
constexpr std::uint32_t enough_runs = 16;
constexpr std::uint32_t rows_between = 16;  // of sharing out
constexpr double most_change = 2;
constexpr std::uint32_t idle_at_most = 256;
constexpr double trusts_again = 1.2;  // a runner that had nothing for so long
constexpr double clearly_earlier = 0.97;
constexpr double least_time = 1;

// One run may have been interrupted: it changes what is known by no more than a part.
double followed(double known, double seen, double part) noexcept {
    return known + part * (std::clamp(seen, known / most_change, known * most_change) - known);
}

}  // namespace

// Of blocks of a way: whatever disturbs one adds to its time.
double part_choice::samples::least() const noexcept {
    return *std::min_element(took.begin(), took.begin() + count);
}

void part_choice::begin(std::uint32_t parts, std::span<const double> speeds) noexcept {
    *this = {};
    parts_ = parts;
    runners_ = static_cast<std::uint32_t>(speeds.size());
    for (std::uint32_t k = 0; k < runners_; ++k) speeds_[k] = told_[k] = speeds[k] / speeds[0];
    share_out();
}

double part_choice::ends(std::uint32_t runner, std::uint32_t parts) const noexcept {
    if (parts == 0) return 0;
    const double part = part_of_first_ > 0 ? part_of_first_ : 1;
    return (part_of_first_ > 0 ? late_[runner] : 0) + parts * part / speeds_[runner];
}

double part_choice::ends(const std::array<std::uint32_t, most_runners>& counts) const noexcept {
    double last = 0;
    for (std::uint32_t k = 0; k < runners_; ++k) last = std::max(last, ends(k, counts[k]));
    return last;
}

// One part after the other goes to whoever would have ended it first. What there is stays where that would
// not be clearly better: what is known of a CPU goes up and down.
void part_choice::share_out() noexcept {
    std::array<std::uint32_t, most_runners> counts{1};
    std::uint32_t given = 1;
    for (; shares_out_ && given < std::min(parts_, runners_); ++given) counts[given] = 1;
    for (; given < parts_; ++given) {
        std::uint32_t first = 0;
        for (std::uint32_t k = 1; k < runners_; ++k)
            if (ends(k, counts[k] + 1) < ends(first, counts[first] + 1)) first = k;
        ++counts[first];
    }
    if (counts == counts_) return;
    // What runs took with what there is tells more than what is expected of it.
    const double expected = ends(counts_);
    const double now = counted_runs_ >= enough_runs ? counted_ : expected;
    const double besides = std::max(now - expected, 0.0);
    if (counts_[0] != 0 && ends(counts) + besides >= clearly_earlier * now) return;
    counts_ = counts;
    counted_runs_ = 0;
}

void part_choice::learn(std::span<const runner_seen> seen) noexcept {
    const runner_seen& own = seen[0];
    if (own.parts == 0) return;
    const double weight = std::max(learns, 1.0 / (rows_ + 1));
    if (rows_ < first_rows) ++rows_;
    const double each = std::max(least_time, (own.ended - own.begun) / own.parts);
    part_of_first_ = part_of_first_ > 0 ? followed(part_of_first_, each, weight) : each;
    for (std::uint32_t k = 1; k < runners_; ++k) {
        if (seen[k].parts == 0) {
            if (counts_[k] > 0 || ++idle_[k] % idle_at_most != 0) continue;
            speeds_[k] = std::min(1.0, speeds_[k] * trusts_again);
            late_[k] /= trusts_again;
            continue;
        }
        idle_[k] = 0;
        const double part = std::max(least_time, (seen[k].ended - seen[k].begun) / seen[k].parts);
        speeds_[k] = followed(speeds_[k], each / part, weight);
        late_[k] =
            late_[k] > 0 ? followed(late_[k], std::max(least_time, seen[k].begun), weight) : seen[k].begun;
    }
}

void part_choice::parts_meet() noexcept {
    if (on_stacks_ || step_ == step::refused) return;
    on_stacks_ = true;
    keeps_ = threads;
    step_ = step::looks;
    took_ = {};
    trial_took_ = 0;
    between_trials_ = 0;
    length_ = 0;
    begin_block(threads);
}

void part_choice::parts_share_out() noexcept {
    if (shares_out_) return;
    shares_out_ = true;
    counts_ = {};
    share_out();
}

void part_choice::note_threads(double took, std::uint32_t phases) noexcept {
    if (step_ != step::refused) note(took, phases);
}

void part_choice::note_row(double took, std::span<const runner_seen> seen, std::uint32_t phases) noexcept {
    if (step_ == step::refused) return;
    length_ = length_ > 0 ? followed(length_, took / phases, learns) : took / phases;
    if (way_ == alone || settles()) return note(took, phases);
    double work = 0;
    for (std::uint32_t k = 0; k < runners_; ++k) work += told_[k] * (seen[k].ended - seen[k].begun);
    alone_ = alone_ > 0 ? followed(alone_, work / phases, learns) : work / phases;
    if (shares_out_) return note(took, phases);
    counted_ = counted_runs_++ == 0 ? took : followed(counted_, took, learns);
    const bool begins = rows_ < first_rows;
    learn(seen);
    // With many parts and runners it takes longer than a short region.
    if (begins || ++since_shared_ >= std::max(rows_between, parts_ * runners_ / rows_between)) {
        since_shared_ = 0;
        share_out();
    }
    note(took, phases);
}

double part_choice::longest() const noexcept {
    return on_stacks_ ? too_long_on_stacks : too_long;
}

bool part_choice::settles() const noexcept {
    return step_ != step::keeps && block_.settling < settling_runs && block_.settled < settling_time;
}

void part_choice::begin_block(way which) noexcept {
    block_ = {};
    way_ = which;
}

void part_choice::note(double took, std::uint32_t phases) noexcept {
    if (step_ == step::keeps) {
        until_trial_ -= took;
        if (until_trial_ <= 0) begin_trial();
        return;
    }
    trial_took_ += took;
    if (settles()) {
        ++block_.settling;
        block_.settled += took;
        return;
    }
    ++block_.runs;
    block_.took += took;
    block_.phases += phases;
    const bool is_enough = (block_.runs >= least_runs && block_.took >= least_length) ||
                           block_.runs == most_runs || block_.took >= most_length;
    if (!is_enough) return;
    samples& of = took_[way_];
    of.took[of.count++] = block_.took / block_.phases;
    if (step_ == step::looks) {
        if (of.least() < longest()) return begin_trial();
        step_ = step::keeps;
        until_trial_ = last_wait * trial_took_;
    } else if (--blocks_left_ > 0) {
        begin_block(way_ == alone ? alone : way_ == row ? threads : row);
    } else if (way_ != alone && alone_promises()) {
        blocks_left_ = blocks_each_way;
        begin_block(alone);
    } else {
        end_trial();
    }
}

// It begins with the other way.
void part_choice::begin_trial() noexcept {
    step_ = step::tries;
    took_ = {};
    trial_took_ = 0;
    blocks_left_ = 2 * blocks_each_way;
    begin_block(keeps_ == row ? threads : row);
}

bool part_choice::alone_promises() const noexcept {
    return runners_ > 1 && alone_ > 0 &&
           alone_ < promises * std::min(took_[threads].least(), took_[row].least());
}

void part_choice::end_trial() noexcept {
    const way before = keeps_;
    way best = threads;
    if (took_[threads].least() < longest())
        for (const way one : {row, alone})
            if (took_[one].count > 0 && took_[one].least() < took_[best].least()) best = one;
    const bool changes = took_[before].count == 0 || took_[best].least() < shorter * took_[before].least() ||
                         took_[threads].least() >= longest();
    keeps_ = way_ = changes ? best : before;
    step_ = step::keeps;
    between_trials_ =
        keeps_ != before || between_trials_ == 0 ? first_wait : std::min(2 * between_trials_, last_wait);
    until_trial_ = between_trials_ * trial_took_;
}

}  // namespace tauto::balance
