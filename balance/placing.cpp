#include "balance/placing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tauto::balance {

namespace {

constexpr double most_apart = 6e-3;        // seconds of work: what is lost where the end cannot be foreseen
constexpr double least_apart = 0.2e-3;     // a change costs some 30 µs
constexpr double several_changes = 20e-3;  // of work: three changes are cheap from here on

struct seat {
    std::size_t cpu;
    double share;  // work per second of each that sits there
};

// How many workers each CPU should have, as seats, the best first.
std::vector<seat> seats_for(std::size_t count, std::span<const double> speeds) {
    std::vector<std::size_t> order(speeds.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return speeds[a] > speeds[b]; });
    std::vector<double> on(speeds.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (i < order.size()) {
            on[order[i]] = 1;
            continue;
        }
        const auto share = [&](std::size_t cpu) { return speeds[cpu] / (on[cpu] + 1); };
        ++on[*std::ranges::max_element(order, {}, share)];
    }
    std::vector<seat> seats;
    for (const std::size_t cpu : order)
        for (double k = 0; k < on[cpu]; ++k) seats.push_back({cpu, speeds[cpu] / on[cpu]});
    std::ranges::stable_sort(seats, [](const seat& a, const seat& b) { return a.share > b.share; });
    return seats;
}

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

}  // namespace

std::vector<std::size_t> place(std::span<const worker> workers, std::span<const double> speeds,
                               double tolerance) {
    const std::vector<seat> seats = seats_for(workers.size(), speeds);
    std::vector<std::size_t> by_work(workers.size());
    std::iota(by_work.begin(), by_work.end(), 0);
    std::ranges::stable_sort(by_work, [&](std::size_t a, std::size_t b) {
        if (workers[a].fixed != workers[b].fixed) return workers[a].fixed;
        return workers[a].done < workers[b].done;
    });
    // First who may stay: one worker a seat.
    std::vector<std::size_t> sits(seats.size(), nowhere);
    std::vector<std::size_t> homeless;
    for (const std::size_t one : by_work) {
        std::size_t free = 0;
        while (free < seats.size() && (sits[free] != nowhere || seats[free].cpu != workers[one].cpu)) ++free;
        if (free < seats.size())
            sits[free] = one;
        else if (!workers[one].fixed)
            homeless.push_back(one);
    }
    for (const std::size_t one : homeless) *std::ranges::find(sits, nowhere) = one;
    // Then who has done less than the one on a better seat.
    for (std::size_t better = 0; better < seats.size(); ++better) {
        if (sits[better] == nowhere || workers[sits[better]].fixed) continue;
        std::size_t least = better;
        for (std::size_t worse = better + 1; worse < seats.size(); ++worse)
            if (sits[worse] != nowhere && !workers[sits[worse]].fixed &&
                seats[better].share > same_speed * seats[worse].share &&
                workers[sits[worse]].done < workers[sits[least]].done)
                least = worse;
        if (least != better && workers[sits[better]].done - workers[sits[least]].done > tolerance)
            std::swap(sits[better], sits[least]);
    }
    std::vector<std::size_t> found(workers.size());
    for (std::size_t i = 0; i < workers.size(); ++i) found[i] = workers[i].cpu;
    for (std::size_t i = 0; i < seats.size(); ++i)
        if (sits[i] != nowhere) found[sits[i]] = seats[i].cpu;
    return found;
}

double until_a_change(std::span<const worker> workers, std::span<const double> speeds, double tolerance) {
    constexpr double least_faster = 0.05;
    double soonest = std::numeric_limits<double>::infinity();
    for (const worker& one : workers)
        for (const worker& other : workers) {
            const double apart = speeds[one.cpu] - speeds[other.cpu];
            const double gap = tolerance - (one.done - other.done);
            if (apart >= least_faster * speeds[one.cpu] && gap > 0) soonest = std::min(soonest, gap / apart);
        }
    return soonest;
}

double tolerance_for(double stretch, double fast, double slow) {
    if (stretch <= 0 || fast + slow <= 0) return 1e-3;
    const double once = stretch * (fast - slow) / (fast + slow);
    return std::clamp(stretch < several_changes ? once : once / 3, least_apart, most_apart);
}

}  // namespace tauto::balance
