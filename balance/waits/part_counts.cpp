#include "balance/waits/part_counts.hpp"

#include <algorithm>

#include "balance/waits/followed.hpp"

namespace tauto::balance {

namespace {

constexpr double learns = 0.1;  // of what a run shows
constexpr std::uint32_t first_runs = 10;
constexpr std::uint32_t enough_runs = 16;
constexpr std::uint32_t runs_between = 16;  // of sharing out
constexpr std::uint32_t idle_at_most = 256;
constexpr double trusts_again = 1.2;  // a runner that had nothing for so long
constexpr double clearly_earlier = 0.97;
constexpr double least_time = 1;

}  // namespace

void part_counts::begin(std::uint32_t parts, std::span<const double> speeds) noexcept {
    *this = {};
    parts_ = parts;
    runners_ = static_cast<std::uint32_t>(speeds.size());
    for (std::uint32_t k = 0; k < runners_; ++k) speeds_[k] = told_[k] = speeds[k] / speeds[0];
    share_out();
}

double part_counts::ends(std::uint32_t runner, std::uint32_t parts) const noexcept {
    if (parts == 0) return 0;
    const double part = part_of_first_ > 0 ? part_of_first_ : 1;
    return (part_of_first_ > 0 ? late_[runner] : 0) + parts * part / speeds_[runner];
}

double part_counts::ends(const std::array<std::uint32_t, most_runners>& counts) const noexcept {
    double last = 0;
    for (std::uint32_t k = 0; k < runners_; ++k) last = std::max(last, ends(k, counts[k]));
    return last;
}

// One part after the other goes to whoever would have ended it first. What there is stays where that would
// not be clearly better: what is known of a CPU goes up and down.
void part_counts::share_out() noexcept {
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

void part_counts::learn(std::span<const runner_seen> seen) noexcept {
    const runner_seen& own = seen[0];
    if (own.parts == 0) return;
    const double weight = std::max(learns, 1.0 / (first_runs_ + 1));
    if (first_runs_ < first_runs) ++first_runs_;
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

void part_counts::parts_share_out() noexcept {
    if (shares_out_) return;
    shares_out_ = true;
    counts_ = {};
    share_out();
}

void part_counts::note(double took, std::span<const runner_seen> seen, std::uint32_t phases) noexcept {
    double work = 0;
    for (std::uint32_t k = 0; k < runners_; ++k) work += told_[k] * (seen[k].ended - seen[k].begun);
    alone_ = alone_ > 0 ? followed(alone_, work / phases, learns) : work / phases;
    if (shares_out_) return;
    counted_ = counted_runs_++ == 0 ? took : followed(counted_, took, learns);
    const bool begins = first_runs_ < first_runs;
    learn(seen);
    // With many parts and runners it takes longer than a short region.
    if (!begins && ++since_shared_ < std::max(runs_between, parts_ * runners_ / runs_between)) return;
    since_shared_ = 0;
    share_out();
}

}  // namespace tauto::balance
