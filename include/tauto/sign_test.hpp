#pragma once
// Verdicts on pairs of times, with an exact interval and no assumption about the noise: the sign test on the
// logarithms of the ratios. The lab has the same in verdicts.py, which says why; both give the same numbers.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <tauto/error.hpp>
#include <tauto/signed.hpp>

namespace tauto {

enum class verdict { faster, slower, no_difference, not_measured };

// The lab's word for it.
[[nodiscard]] constexpr const char* word_of(verdict found) noexcept {
    switch (found) {
        case verdict::faster:
            return "faster";
        case verdict::slower:
            return "slower";
        case verdict::no_difference:
            return "no difference resolved";
        default:
            return "not measured";
    }
}

// A candidate's time by a reference's, the median over rounds: below 1 the candidate is faster. NaN where
// there is none: `ratio` without a round; `low`, `high` and `coverage` with too few rounds for a verdict.
struct paired_ratio {
    double ratio = std::numeric_limits<double>::quiet_NaN();
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
    // Asked of this one ratio: stricter than the user's where several share the error.
    double confidence = 0.99;
    // The exact probability with which [low, high] covers the true median, at least `confidence`.
    double coverage = std::numeric_limits<double>::quiet_NaN();
    int rounds = 0;
    tauto::verdict verdict = tauto::verdict::not_measured;

    // The smallest relative difference that these rounds could have resolved (0.01: 1 %); NaN without bounds.
    [[nodiscard]] double resolution() const noexcept { return std::max(high / ratio, ratio / low) - 1; }
};

inline constexpr int fewest_rounds = 8;  // seven equal signs by chance: 1.6 %
inline constexpr int most_rounds = 999;  // beyond it powers of two leave the range of a double

namespace detail {

// The largest k for which [k-th smallest, k-th largest] of `count` values covers their median with at least
// `confidence`; 0 where there are too few values. `count` is at most most_rounds. O(count).
[[nodiscard]] inline int sign_interval_rank(int count, double confidence) noexcept {
    // The factor is far above the rounding of these sums and far below a step of them.
    const double allowed = std::ldexp((1 - confidence) / 2 * (1 + 1e-12), count);
    double ways = 1;  // to choose `rank` of `count`
    double outside = 0;
    int rank = 0;
    while (2 * (rank + 1) <= count + 1) {
        outside += ways;
        if (outside > allowed) break;
        ways = ways * (count - rank) / (rank + 1);
        ++rank;
    }
    return rank;
}

[[nodiscard]] inline double sign_interval_coverage(int count, int rank) noexcept {
    double ways = 1;
    double outside = 0;
    for (int below = 0; below < rank; ++below) {
        outside += ways;
        ways = ways * (count - below) / (below + 1);
    }
    return 1 - 2 * std::ldexp(outside, -count);
}

// The error is shared by as many verdicts (Bonferroni).
[[nodiscard]] inline double stricter(double confidence, int comparisons) noexcept {
    return 1 - (1 - confidence) / comparisons;
}

// The fewest rounds that can carry a verdict.
[[nodiscard]] inline int rounds_needed(double confidence, int comparisons) noexcept {
    int needed = fewest_rounds;
    while (sign_interval_rank(needed, stricter(confidence, comparisons)) == 0) ++needed;
    return needed;
}

// NaN without values.
[[nodiscard]] inline double median_of_sorted(std::span<const double> sorted) noexcept {
    const std::size_t count = sorted.size();
    if (count == 0) return std::numeric_limits<double>::quiet_NaN();
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

[[nodiscard]] inline double median(std::vector<double> values) noexcept {
    std::sort(values.begin(), values.end());
    return median_of_sorted(values);
}

// What is known without an interval: `sorted` are logarithms of ratios, or means of them.
[[nodiscard]] inline paired_ratio without_interval(std::span<const double> sorted, int rounds,
                                                   double confidence, int comparisons) {
    if (rounds > most_rounds)
        throw error(std::to_string(rounds) + " rounds are more than the exact tests are meant for (" +
                    std::to_string(most_rounds) + "): make the blocks longer");
    paired_ratio found;
    found.rounds = rounds;
    found.confidence = stricter(confidence, comparisons);
    found.ratio = std::exp(median_of_sorted(sorted));
    return found;
}

// The interval from the rank-th smallest to the rank-th largest, and what it says.
inline void set_interval(paired_ratio& found, std::span<const double> sorted, int rank, double coverage) {
    const double low = at(sorted, rank - 1);
    const double high = at(sorted, int_size(sorted) - rank);
    found.low = std::exp(low);
    found.high = std::exp(high);
    found.coverage = coverage;
    found.verdict = high < 0 ? verdict::faster : low > 0 ? verdict::slower : verdict::no_difference;
}

// Of the logarithms of ratios.
[[nodiscard]] inline paired_ratio judge(std::vector<double> logs, double confidence, int comparisons) {
    const int rounds = int_size(logs);
    std::sort(logs.begin(), logs.end());
    paired_ratio found = without_interval(logs, rounds, confidence, comparisons);
    const int rank = rounds < fewest_rounds ? 0 : sign_interval_rank(rounds, found.confidence);
    if (rank > 0) set_interval(found, logs, rank, sign_interval_coverage(rounds, rank));
    return found;
}

[[nodiscard]] inline double log_ratio(double candidate, double reference) {
    for (const double seconds : {candidate, reference}) {
        if (!(std::isfinite(seconds) && seconds > 0))
            throw error("a time of " + std::to_string(seconds) +
                        " s cannot be compared: it must be positive and finite");
    }
    return std::log(candidate / reference);
}

[[nodiscard]] inline std::vector<double> log_ratios(std::span<const double> candidate,
                                                    std::span<const double> reference) {
    if (candidate.size() != reference.size())
        throw error(std::to_string(candidate.size()) + " times cannot be paired with " +
                    std::to_string(reference.size()) + ": give one of each for every round");
    std::vector<double> logs;
    logs.reserve(candidate.size());
    for (std::size_t i = 0; i < candidate.size(); ++i) logs.push_back(log_ratio(candidate[i], reference[i]));
    return logs;
}

}  // namespace detail

// Compares the times of each round, candidate[i] and reference[i]. `comparisons` is the number of verdicts
// that are read together: they share the error. Throws tauto::error for times that are not positive and
// finite, for spans of different lengths, and for more than most_rounds. O(n log n).
[[nodiscard]] inline paired_ratio compare_pairs(std::span<const double> candidate,
                                                std::span<const double> reference, double confidence = 0.99,
                                                int comparisons = 1) {
    return detail::judge(detail::log_ratios(candidate, reference), confidence, comparisons);
}

}  // namespace tauto
