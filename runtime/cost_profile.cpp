#include <tauto/cost_profile.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <tauto/signed.hpp>

namespace tauto::detail {
namespace {

// What a new time weighs, in the first calls and later: a block that another member runs takes another time
// there until its speed is known, and a disturbance only ever adds.
constexpr int first_calls = 8;
constexpr double first_weight = 0.6;
constexpr double later_weight = 0.25;
constexpr double cost_step = 3;  // a cost changes by this factor at most

}  // namespace

template <class Fold>
void cost_profile::for_each_block(index n, range chunk, Fold&& fold) const noexcept {
    const double scale = as_double(blocks_) / as_double(n);
    const double begin = as_double(chunk.begin) * scale;
    const double end = as_double(chunk.end) * scale;
    constexpr double rounding = 1e-9;
    for (auto block = static_cast<index>(begin + rounding); as_double(block) + rounding < end; ++block) {
        const double inside = std::min(end, as_double(block) + 1) - std::max(begin, as_double(block));
        fold(usize(std::min(block, blocks_ - 1)), inside / (end - begin));
    }
}

void cost_profile::note(index n, range chunk, double time) noexcept {
    if (chunk.empty()) return;
    if (blocks_of(n) != blocks_) {
        *this = {};
        blocks_ = blocks_of(n);
    }
    for_each_block(n, chunk, [&](std::size_t block, double part) {
        time_[block] += time * part;
        seen_[block] += as_double(chunk.size()) * part;
    });
}

void cost_profile::end_call() noexcept {
    const auto blocks = usize(blocks_);
    for (std::size_t block = 0; block < blocks; ++block) {
        if (seen_[block] <= 0) continue;
        const double now = time_[block] / seen_[block];
        double& known = costs_[block];
        const double weight = calls_ < first_calls ? first_weight : later_weight;
        known = known <= 0 ? now
                           : known + weight * (std::clamp(now, known / cost_step, known * cost_step) - known);
        time_[block] = seen_[block] = 0;
    }
    ++calls_;
    const auto end = costs_.begin() + blocks_;
    const double all = std::accumulate(costs_.begin(), end, 0.0);
    largest_ = all > 0 ? *std::max_element(costs_.begin(), end) / all : 1.0;
}

double cost_profile::cost(index n, range chunk) const noexcept {
    double sum = 0;
    if (!chunk.empty()) {
        for_each_block(n, chunk, [&](std::size_t block, double part) {
            sum += costs_[block] * part * as_double(chunk.size());
        });
    }
    return sum;
}

void cost_profile::sort(index n, double least, cost_order& order) const noexcept {
    std::array<double, most_blocks> times{};
    const double iterations = as_double(n) / as_double(blocks_);
    std::size_t parts = 0;
    order.begins[0] = 0;
    for (index block = 0; block < blocks_; ++block) {
        times[parts] += costs_[usize(block)] * iterations;
        if (times[parts] < least && block + 1 < blocks_) continue;
        order.part_at[parts] = static_cast<std::uint8_t>(parts);
        order.begins[++parts] = static_cast<std::uint8_t>(block + 1);
    }
    std::sort(order.part_at.begin(), order.part_at.begin() + static_cast<std::ptrdiff_t>(parts),
              [&](int a, int b) {
                  return times[usize(a)] != times[usize(b)] ? times[usize(a)] > times[usize(b)] : a < b;
              });
    order.parts = static_cast<int>(parts);
    order.blocks = static_cast<int>(blocks_);
    order.before[0] = 0;
    for (std::size_t place = 0; place < parts; ++place)
        order.before[place + 1] = order.before[place] + times[order.part_at[place]];
}

}  // namespace tauto::detail
