#include "balance/waits/part_choice.hpp"

#include <algorithm>

namespace tauto::balance {

namespace {

constexpr int runs_in_a_block = 5;
constexpr int runs_to_settle = 2;     // of those: threads wake up, caches fill
constexpr int blocks_of_a_trial = 4;  // each way twice
constexpr double shorter = 0.97;      // than the other way, for a change
constexpr double too_long = 10e6;     // threads can be moved in time there, and wait longer for each other
constexpr std::uint32_t first_wait = 1'000;  // runs until the next trial
constexpr std::uint32_t last_wait = 16'000;
constexpr double learns = 0.1;  // of what a run shows
constexpr std::uint32_t first_rows = 10;
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

double part_choice::samples::middle() const noexcept {
    std::array<float, most_samples> sorted = took;
    std::sort(sorted.begin(), sorted.begin() + count);
    return sorted[static_cast<std::size_t>(count / 2)];
}

void part_choice::begin(std::uint32_t parts, std::span<const double> speeds) noexcept {
    *this = {};
    parts_ = parts;
    runners_ = static_cast<std::uint32_t>(speeds.size());
    for (std::uint32_t k = 0; k < runners_; ++k) speeds_[k] = speeds[k] / speeds[0];
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
    for (std::uint32_t given = 1; given < parts_; ++given) {
        std::uint32_t first = 0;
        for (std::uint32_t k = 1; k < runners_; ++k)
            if (ends(k, counts[k] + 1) < ends(first, counts[first] + 1)) first = k;
        ++counts[first];
    }
    if (counts_[0] == 0 || ends(counts) < clearly_earlier * ends(counts_)) counts_ = counts;
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

void part_choice::note_threads(double took) noexcept {
    if (step_ == step::refused) return;
    note(took);
}

void part_choice::note_row(double took, std::span<const runner_seen> seen) noexcept {
    if (step_ == step::refused) return;
    length_ = length_ > 0 ? followed(length_, took, learns) : took;
    const bool begins = rows_ < first_rows;
    learn(seen);
    // With many parts and runners it takes longer than a short region.
    if (begins || ++since_shared_ >= std::max(rows_between, parts_ * runners_ / rows_between)) {
        since_shared_ = 0;
        share_out();
    }
    note(took);
}

void part_choice::note(double took) noexcept {
    if (step_ == step::keeps) {
        if (--until_trial_ == 0) begin_trial();
        return;
    }
    if (in_block_++ >= runs_to_settle) {
        samples& of = took_[row_ ? 1 : 0];
        if (of.count < most_samples) of.took[static_cast<std::size_t>(of.count++)] = static_cast<float>(took);
    }
    if (in_block_ < runs_in_a_block) return;
    in_block_ = 0;
    if (step_ == step::looks) {
        if (took_[0].middle() < too_long) return begin_trial();
        step_ = step::keeps;
        until_trial_ = first_wait;
        return;
    }
    if (--blocks_left_ > 0)
        row_ = !row_;
    else
        end_trial();
}

// It begins with the other way.
void part_choice::begin_trial() noexcept {
    step_ = step::tries;
    took_ = {};
    in_block_ = 0;
    blocks_left_ = blocks_of_a_trial;
    row_ = !keeps_row_;
}

void part_choice::end_trial() noexcept {
    const double with_threads = took_[0].middle();
    const double in_row = took_[1].middle();
    const bool before = keeps_row_;
    keeps_row_ = with_threads < too_long &&
                 (before ? with_threads > shorter * in_row : in_row < shorter * with_threads);
    row_ = keeps_row_;
    step_ = step::keeps;
    between_trials_ =
        keeps_row_ != before || between_trials_ == 0 ? first_wait : std::min(2 * between_trials_, last_wait);
    until_trial_ = between_trials_;
}

}  // namespace tauto::balance
