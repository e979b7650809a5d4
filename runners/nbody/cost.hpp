#pragma once
// What a block costs under each scheme, from a model whose constants are measured at the start.
//
//   T = prediction of the sources + forces + work on the targets + search for the next block + one collective
//
// With n targets, N sources, a groups of targets and b slices of sources on the w = a b members of the lowest
// ranks, w <= p; per member predicted sources, pairs, work on targets, and words of the collective:
//
//   serial      N    n N     n               nothing
//   by targets  N    n/w N   n/w, n are put  all_gather, 13 n (4th order), 19 n (6th)
//   by sources  N/w  n N/w   n               all_reduce, 6 n, 9 n
//   grid        N/b  n/a N/b n/a + n         all_gather, 6 n b, 9 n b
//
// All p members take part in the collective, whatever the width: each must have the new state. Fewer than all
// pay where the others are slower, because the work then does not wait for them, and where each part that is
// gathered costs something.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

enum class sharing { serial, targets, sources, grid };

struct scheme {
    sharing how = sharing::serial;
    int groups = 1;  ///< of targets
    int slices = 1;  ///< of sources

    /// The number of members that share the work: the lowest ranks. 1 for serial, where all do the same.
    constexpr int width() const { return groups * slices; }

    friend bool operator==(const scheme&, const scheme&) = default;
};

inline std::string name_of(const scheme& which) {
    switch (which.how) {
        case sharing::targets:
            return "i";
        case sharing::sources:
            return "j";
        case sharing::grid:
            return std::to_string(which.groups) + "x" + std::to_string(which.slices);
        default:
            return "serial";
    }
}

/// Groups of targets of the grid of all members that is as square as they allow, no fewer slices than groups.
/// 1: they form none with two sides of 2 or more.
constexpr int groups_of_grid(int members) {
    int best = 1;
    for (int groups = 2; groups * groups <= members; ++groups)
        if (members % groups == 0) best = groups;
    return best;
}

/// The widths that are looked at, ascending: powers of two, all members, and those after which a member comes
/// that is much slower than all before it. paces[w - 1] is the pace of the slowest of the first w members;
/// none: all are alike. At most log2(members) + 8.
inline std::vector<int> widths_for(int members, std::span<const double> paces = {}) {
    constexpr double much = 1.25;
    constexpr int most_edges = 8;
    std::vector<int> widths;
    for (int width = 2; width < members; width *= 2) widths.push_back(width);
    int edges = 0;
    for (std::size_t width = 1; width < paces.size() && edges < most_edges; ++width)
        if (paces[width] > much * paces[width - 1]) {
            widths.push_back(static_cast<int>(width));
            ++edges;
        }
    if (members > 1) widths.push_back(members);
    std::ranges::sort(widths);
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    return widths;
}

/// What is chosen from on `members`: serial, then the narrow before the wide.
inline std::vector<scheme> schemes_for(int members, std::span<const double> paces = {}) {
    std::vector<scheme> all{{}};
    for (const int width : widths_for(members, paces)) {
        all.push_back({sharing::targets, width, 1});
        if (width > 1) all.push_back({sharing::sources, 1, width});
        for (int groups = 2; groups < width; ++groups)
            if (width % groups == 0) all.push_back({sharing::grid, groups, width / groups});
    }
    return all;
}

/// Seconds of a collective against its length, measured at a few lengths; linear between them.
class length_curve {
  public:
    void add(double words, double seconds) {
        words_.push_back(words);
        seconds_.push_back(seconds);
    }
    double at(double words) const {
        if (words_.size() < 2) return seconds_.empty() ? 0.0 : seconds_.front();
        const auto above = std::ranges::upper_bound(words_, words) - words_.begin();
        const auto right =
            usize(std::clamp(above, std::ptrdiff_t{1}, static_cast<std::ptrdiff_t>(words_.size()) - 1));
        const std::size_t left = right - 1;
        const double share = std::max(0.0, (words - words_[left]) / (words_[right] - words_[left]));
        return seconds_[left] + share * (seconds_[right] - seconds_[left]);
    }
    /// A longer call is never cheaper: what a shorter one took beyond that was a disturbance.
    void smooth() {
        for (std::size_t k = seconds_.size(); k-- > 1;)
            seconds_[k - 1] = std::min(seconds_[k - 1], seconds_[k]);
    }
    std::span<double> seconds() { return seconds_; }
    std::span<const double> seconds() const { return seconds_; }
    std::span<const double> words() const { return words_; }

  private:
    std::vector<double> words_;
    std::vector<double> seconds_;
};

struct cost_model {
    // Seconds, on the slowest member.
    double pair = 0.0;          ///< one source on one target
    double target_force = 0.0;  ///< of a target, whatever the sources
    double source = 0.0;        ///< prediction of one source
    double target = 0.0;        ///< packing, prediction, correction of one target
    double put = 0.0;           ///< writing one target's new state back
    double scan = 0.0;          ///< finding the next block among all particles, for each of them: a bit
    double block = 0.0;         ///< whatever its size
    length_curve gather;        ///< each member brings a part of the words
    length_curve gather_one;    ///< one member brings them all
    length_curve reduce;
    int members = 1;
    /// paces[w - 1]: seconds of the slowest of the first w members for one of the slowest of all. None: all
    /// are alike.
    std::vector<double> paces;
    double particles = 0.0;
    double changed_words = 13.0;  ///< of a target's state
    double force_words = 6.0;

    double predicted(const scheme& which, double targets) const {
        const double a = which.groups;
        const double b = which.slices;
        const double mine = std::ceil(targets / a);
        const double sources = std::ceil(particles / b);
        // In a serial block all do all of it.
        const double pace = which.how == sharing::serial ? 1.0 : pace_of(which.width());
        const double seconds = block + particles * scan + targets * put +
                               pace * (sources * source + mine * (target_force + sources * pair));
        switch (which.how) {
            case sharing::targets:
                return seconds + pace * mine * target +
                       gathered(changed_words * targets, std::min(a, targets));
            case sharing::sources:
                return seconds + targets * target + reduce.at(force_words * targets);
            case sharing::grid:
                return seconds + (pace * mine + targets) * target +
                       gathered(force_words * targets * b, std::min(a, targets) * b);
            default:
                return seconds + targets * target;
        }
    }

    /// A block that the first member runs while the others wait.
    double predicted_alone(double targets) const { return pace_of(1) * predicted(scheme{}, targets); }

    double pace_of(int width) const { return paces.empty() ? 1.0 : paces[usize(width) - 1]; }

  private:
    // With this many parts. Between one and all: where parts cost something, each costs the same; where one
    // part is more expensive, because its owner sends all words, the owners share that cost.
    double gathered(double words, double parts) const {
        const double all = gather.at(words);
        if (members < 2 || gather_one.words().empty()) return all;
        const double one = gather_one.at(words);
        const double many = std::max(parts, 1.0);
        const double share =
            one < all ? (members - many) / (members - 1.0) : (members / many - 1.0) / (members - 1.0);
        return all + share * (one - all);
    }
};

/// The scheme for each number of targets.
class scheme_table {
  public:
    struct choice {
        scheme which;
        double predicted_seconds;
    };

    /// The cheapest of `candidates` by the model, for 1 … particles targets. Fewer members than all must gain
    /// a tenth: what a gather of their parts takes is estimated, and the time in which the others are let go
    /// on is not part of a block as rank 0 sees it.
    scheme_table(const cost_model& model, std::span<const scheme> candidates) {
        const auto most = static_cast<std::size_t>(model.particles);
        choices_.reserve(most + 1);
        for (std::size_t targets = 0; targets <= most; ++targets) {
            choice wide{{}, infinity};
            choice narrow{{}, infinity};
            for (const scheme& which : candidates) {
                const bool is_wide = which.how == sharing::serial || which.width() == model.members;
                choice& best = is_wide ? wide : narrow;
                const double seconds = model.predicted(which, as_double(targets));
                if (seconds < best.predicted_seconds) best = {which, seconds};
            }
            choices_.push_back(narrow.predicted_seconds < 0.9 * wide.predicted_seconds ? narrow : wide);
        }
    }
    const choice& of(std::size_t targets) const { return choices_[targets]; }

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    std::vector<choice> choices_;
};

/// Does sharing pay as the model says, or is a member kept from working, by another program for instance?
/// Then one member goes on alone for a while: so long that what the look has lost is a twentieth of it, and
/// longer from one such look to the next. All members judge by the same figure.
class sharing_watch {
  public:
    /// One shared block: its time, and what the model says that it takes alone.
    void add(double seconds, double alone_seconds) {
        seconds_ += seconds;
        alone_seconds_ += alone_seconds;
        ++blocks_;
    }
    /// Time to judge. Often: beside another program each shared block can cost a slice of the scheduler's
    /// time, milliseconds.
    bool due() const { return blocks_ % step == 0; }
    double ratio() const { return seconds_ / alone_seconds_; }

    /// Blocks to be run alone now, after the ratio that all agreed on.
    std::int64_t judge(double ratio) {
        // One interruption does not decide; the time of many blocks does.
        if (!(ratio > at_once) && blocks_ < window) return 0;
        const double lost_blocks = std::min((ratio - 1.0) * as_double(blocks_), most_alone);
        blocks_ = 0;
        seconds_ = alone_seconds_ = 0.0;
        if (!(ratio > most)) {
            alone_ = 0;
            return 0;
        }
        alone_ = std::min(std::max(static_cast<std::int64_t>(per_lost * lost_blocks), 2 * alone_),
                          static_cast<std::int64_t>(most_alone));
        return alone_;
    }

  private:
    static constexpr double most = 1.1;
    static constexpr double at_once = 8.0;
    static constexpr std::int64_t step = 4;
    static constexpr std::int64_t window = 32;
    static constexpr double per_lost = 20.0;
    static constexpr double most_alone = 65536.0;

    double seconds_ = 0.0;
    double alone_seconds_ = 0.0;
    std::int64_t blocks_ = 0;
    std::int64_t alone_ = 0;
};

}  // namespace tauto::runner
