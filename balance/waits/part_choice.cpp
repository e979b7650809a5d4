#include "balance/waits/part_choice.hpp"

#include <algorithm>

#include "balance/waits/followed.hpp"

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
constexpr double follows_length = 0.1;  // of what a run shows

}  // namespace

// Of blocks of a way: whatever disturbs one adds to its time.
double part_choice::samples::least() const noexcept {
    return *std::min_element(took.begin(), took.begin() + count);
}

void part_choice::begin(std::uint32_t parts, std::span<const double> speeds) noexcept {
    *this = {};
    all_ = parts;
    shared_.begin(parts, speeds);
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

void part_choice::note_threads(double took, std::uint32_t phases) noexcept {
    if (step_ != step::refused) note(took, phases);
}

void part_choice::note_row(double took, std::span<const runner_seen> seen, std::uint32_t phases) noexcept {
    if (step_ == step::refused) return;
    length_ = length_ > 0 ? followed(length_, took / phases, follows_length) : took / phases;
    if (way_ == row && !settles()) shared_.note(took, seen, phases);
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
        // To look on costs nothing, and what disturbed this block may be over.
        took_ = {};
        begin_block(threads);
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
    const double expected = shared_.alone();
    return runners() > 1 && expected > 0 &&
           expected < promises * std::min(took_[threads].least(), took_[row].least());
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
