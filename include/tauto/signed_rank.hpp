#pragma once
// Verdicts on pairs of times whose order was drawn in each round: the signed-rank interval on the logarithms
// of the ratios. It is exact for identical programs, whatever the noise, because the drawn order gives each
// sign the same chance. It resolves more than the sign test with the same rounds. compare_drawn in the lab's
// verdicts.py says why, and gives the same numbers.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <tauto/error.hpp>
#include <tauto/sign_test.hpp>
#include <tauto/signed.hpp>

namespace tauto {
namespace detail {

// Up to so many rounds, ranks come from counting; above, from the normal distribution, which allows less.
inline constexpr int most_counted_rounds = 100;

// How likely it is that fewer than k of the means lie below the centre, for each k up to its middle.
class signed_rank_chances {
  public:
    // O(count³) up to most_counted_rounds, else O(1).
    explicit signed_rank_chances(int count) : count_(count) {
        if (count > most_counted_rounds) return;
        std::vector<double> ways(static_cast<std::size_t>(middle()) + 1);
        ways[0] = 1;
        // Halved with each rank, so that they are probabilities: what the ranks so far may sum up to.
        for (int rank = 1; rank <= count; ++rank) {
            for (int sum = middle(); sum >= 0; --sum)
                at(ways, sum) = (at(ways, sum) + (sum >= rank ? at(ways, sum - rank) : 0)) / 2;
        }
        below_.push_back(0);
        for (const double one : ways) below_.push_back(below_.back() + one);
    }

    [[nodiscard]] double outside(int rank) const noexcept {
        if (!below_.empty()) return at(below_, rank);
        if (rank == 0) return 0;
        const double n = count_;
        const double deviation = std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
        return std::erfc((n * (n + 1) / 4 - rank + 0.5) / deviation / std::sqrt(2.0)) / 2;
    }

    // The largest k for which [k-th smallest, k-th largest] of the count * (count + 1) / 2 means covers the
    // centre with at least `confidence`; 0 where there are too few values.
    [[nodiscard]] int interval_rank(double confidence) const noexcept {
        const double allowed = (1 - confidence) / 2 * (1 + 1e-12);
        int low = 0;
        int high = (count_ * (count_ + 1) / 2 + 1) / 2 + 1;
        while (high - low > 1) {
            const int half = (low + high) / 2;
            (outside(half) <= allowed ? low : high) = half;
        }
        return low;
    }

  private:
    [[nodiscard]] int middle() const noexcept { return count_ * (count_ + 1) / 4; }

    int count_;
    std::vector<double> below_;
};

// Puts the values in the middle and the rank-th from each end where sorting would put them, without sorting
// the others. O(values).
inline void sort_where_needed(std::span<double> values, int rank) {
    if (values.empty()) return;
    const auto from = [&values](std::ptrdiff_t at) { return values.begin() + at; };
    const auto size = std::ssize(values);
    const auto middle = size / 2;
    std::nth_element(values.begin(), from(middle), values.end());
    const auto lower = size % 2 == 0 ? middle - 1 : middle;
    std::nth_element(values.begin(), from(lower), from(middle));
    if (rank == 0) return;
    const std::ptrdiff_t low = rank - 1;
    const std::ptrdiff_t high = size - rank;
    if (low < lower) std::nth_element(values.begin(), from(low), from(lower));
    if (high > middle) std::nth_element(from(middle + 1), from(high), values.end());
}

[[nodiscard]] inline paired_ratio judge_drawn(std::span<const double> logs, double confidence,
                                              int comparisons) {
    const int rounds = int_size(logs);
    std::vector<double> means;
    if (rounds <= most_rounds) {
        means.reserve(logs.size() * (logs.size() + 1) / 2);
        for (std::size_t i = 0; i < logs.size(); ++i)
            for (std::size_t j = i; j < logs.size(); ++j) means.push_back((logs[i] + logs[j]) / 2);
    }
    const signed_rank_chances chances(rounds);
    const bool enough = rounds >= fewest_rounds && rounds <= most_rounds;
    const int rank = enough ? chances.interval_rank(stricter(confidence, comparisons)) : 0;
    sort_where_needed(means, rank);
    paired_ratio found = without_interval(means, rounds, confidence, comparisons);
    if (rank > 0) set_interval(found, means, rank, 1 - 2 * chances.outside(rank));
    return found;
}

}  // namespace detail

// compare_pairs for programs whose order in each round was drawn. `ratio` is the median of the means of all
// pairs of log-ratios (Hodges and Lehmann). Throws as compare_pairs does. O(n²).
[[nodiscard]] inline paired_ratio compare_drawn(std::span<const double> candidate,
                                                std::span<const double> reference, double confidence = 0.99,
                                                int comparisons = 1) {
    return detail::judge_drawn(detail::log_ratios(candidate, reference), confidence, comparisons);
}

}  // namespace tauto
