#include "balance/waits/region_shares.hpp"

#include <algorithm>
#include <cmath>

#include "balance/waits/followed.hpp"

namespace tauto::balance {

namespace {

constexpr double learns = 0.15;     // of what a run shows, once there were some
constexpr double long_run = 200e6;  // ns: a part of that shows as large a part, up to
constexpr double learns_at_most = 0.5;
constexpr double least_share = 0.005;  // a smaller one shows no speed
constexpr double trusts_again = 0.02;  // of the speed by weight, in a run in which it had no share
constexpr double least_time = 1;       // ns

}  // namespace

void region_shares::begin(std::span<const std::uint32_t> weights) noexcept {
    members_ = static_cast<std::uint32_t>(weights.size());
    runs_ = 0;
    std::uint64_t all = 0;
    for (const std::uint32_t one : weights) all += one;
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        before_[k] = static_cast<std::uint32_t>(sum * whole / all);
        known_[k] = {};
        known_[k].weight = static_cast<double>(weights[k]);
        sum += weights[k];
    }
    before_[members_] = whole;
}

void region_shares::learn(std::span<const seen_part> parts) noexcept {
    if (members_ == 0 || parts.size() != members_) return;
    const bool is_first = runs_ == 0;
    const double length = std::ranges::max(parts, {}, &seen_part::ended).ended;
    const double by_length = std::clamp(length / long_run, learns, learns_at_most);
    const double part = std::max(by_length, 1.0 / (runs_ + 1));
    if (1.0 / (runs_ + 1) > learns) ++runs_;
    double fastest = 0;  // of the whole in a ns, for each weight
    for (std::size_t k = 0; k < members_; ++k) {
        known_member& one = known_[k];
        one.follow(parts[k], share(k), part, is_first);
        if (one.weight > 0) fastest = std::max(fastest, one.speed / one.weight);
    }
    for (std::size_t k = 0; k < members_; ++k) {
        known_member& one = known_[k];
        const double by_weight = fastest * one.weight;
        if (one.speed == 0)
            one.speed = by_weight;
        else if (share(k) <= least_share)
            one.speed += trusts_again * (by_weight - one.speed);
    }
    share_out();
}

void region_shares::known_member::follow(const seen_part& seen, double share, double part,
                                         bool is_first) noexcept {
    const double begun = std::max(seen.begun, least_time);
    const double worked = std::max(seen.ended - seen.begun - seen.waited, least_time);
    if (speed > 0 && share > least_share) {
        const double foreseen = late + share / speed;
        scatter += part * (std::min(std::abs(begun + worked - foreseen), foreseen) - scatter);
    }
    late = is_first ? begun : followed(late, begun, part);
    if (share <= least_share || (seen.moved && share / worked > speed)) return;
    speed = speed == 0 ? share / worked : followed(speed, share / worked, part);
}

// So that all end at the same time, which is the solution of  sum of speed x (time - from) = 1  over those
// who have begun by then.
void region_shares::share_out() noexcept {
    std::array<bool, most_members> left_out{};
    double time = 0;
    for (bool changes = true; changes;) {
        double speeds = 0;
        double lost = 0;
        for (std::size_t k = 0; k < members_; ++k) {
            if (left_out[k]) continue;
            speeds += known_[k].speed;
            lost += known_[k].speed * known_[k].from();
        }
        if (speeds <= 0) return;
        time = (1 + lost) / speeds;
        changes = false;
        for (std::size_t k = 0; k < members_; ++k) {
            if (left_out[k] || known_[k].from() < time) continue;
            left_out[k] = changes = true;
        }
    }
    double sum = 0;
    for (std::size_t k = 0; k < members_; ++k) {
        before_[k] = static_cast<std::uint32_t>(std::min(1.0, sum) * whole + 0.5);
        if (!left_out[k]) sum += known_[k].speed * (time - known_[k].from());
    }
    before_[members_] = whole;
}

}  // namespace tauto::balance
