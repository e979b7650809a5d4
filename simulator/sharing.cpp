#include "sharing.hpp"

#include <algorithm>
#include <cstddef>

namespace tauto::sim {

namespace {

// The level λ at which Σ part · min(limit, λ · weight) over open flows, plus `fixed`, fills the capacity. −1
// (infinite) if it never does. `order` ascends by limit / weight.
double filling_level(std::span<const flow> flows, const std::vector<std::size_t>& order,
                     const std::vector<bool>& open, double flow::*part, double capacity) {
    double used = 0;
    double slope = 0;
    for (const std::size_t i : order) {
        if (!open[i])
            used += flows[i].*part * flows[i].rate;
        else
            slope += flows[i].*part * flows[i].weight;
    }
    for (const std::size_t i : order) {
        if (!open[i] || flows[i].*part <= 0) continue;
        const double level = flows[i].limit / flows[i].weight;
        if (used + slope * level > capacity) return std::max(0.0, (capacity - used) / slope);
        used += flows[i].*part * flows[i].limit;
        slope -= flows[i].*part * flows[i].weight;
    }
    return -1;
}

}  // namespace

void share_fairly(std::span<flow> flows, double last_level_bytes_per_second, double memory_bytes_per_second) {
    double last_level = 0;
    double memory = 0;
    for (flow& one : flows) {
        one.rate = one.limit;
        last_level += one.limit * one.last_level;
        memory += one.limit * one.memory;
    }
    if (last_level <= last_level_bytes_per_second && memory <= memory_bytes_per_second) return;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        if (flows[i].limit > 0) order.push_back(i);
    }
    const auto level_of = [&](std::size_t i) { return flows[i].limit / flows[i].weight; };
    const auto before = [&](std::size_t a, std::size_t b) {
        return level_of(a) != level_of(b) ? level_of(a) < level_of(b) : a < b;
    };
    // Equal members are adjacent.
    if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
    std::vector<bool> open(flows.size(), true);
    struct bus {
        double flow::*part;
        double capacity;
        bool full;
    };
    bus buses[] = {{&flow::last_level, last_level_bytes_per_second, false},
                   {&flow::memory, memory_bytes_per_second, false}};
    for (;;) {
        double lowest = -1;
        bus* fullest = nullptr;
        for (bus& one : buses) {
            if (one.full) continue;
            const double level = filling_level(flows, order, open, one.part, one.capacity);
            if (level >= 0 && (fullest == nullptr || level < lowest)) {
                lowest = level;
                fullest = &one;
            }
        }
        if (fullest == nullptr) return;
        fullest->full = true;
        for (const std::size_t i : order) {
            if (!open[i] || flows[i].*(fullest->part) <= 0) continue;
            flows[i].rate = std::min(flows[i].limit, lowest * flows[i].weight);
            open[i] = false;
        }
    }
}

double exp_minus(double x) {
    if (x > 700) return 0;
    // e^-x = (e^-(x / 2^k))^(2^k): the series converges fast on [0, 1/16].
    int halvings = 0;
    while (x > 0.0625) {
        x *= 0.5;
        ++halvings;
    }
    double sum = 1;
    for (int term = 12; term >= 1; --term) sum = 1 - sum * (x / term);
    for (int i = 0; i < halvings; ++i) sum *= sum;
    return sum;
}

double retained(double set_bytes, double capacity_bytes) {
    if (set_bytes <= capacity_bytes) return 1;
    if (capacity_bytes <= 0) return 0;
    const double times = set_bytes / capacity_bytes;
    // h = 1 is always a solution; the other one, below 1, is wanted. The residual e^(-(1 - h) times) - h is
    // convex and falls up to that solution, so Newton's steps from 0 approach it from below. Four or five
    // steps are enough, or a dozen if the set hardly exceeds the capacity and both solutions are close.
    double held = 0;
    for (;;) {
        const double again = exp_minus((1 - held) * times);
        const double next = held + (again - held) / (1 - times * again);
        if (!(next > held && times * again < 1)) return held;
        held = next;
    }
}

}  // namespace tauto::sim
