#include "balance/holding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "balance/placing.hpp"

namespace tauto::balance {

namespace {

constexpr double unit = 1'000'000;  // of published speeds
constexpr double new_speed = 0.03;  // published again from here on

cpu_set_t only(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    return set;
}

}  // namespace

bool holding::can_hold(std::span<member* const> members) const {
    return shared_ != nullptr && members.size() >= 2 &&
           std::ranges::all_of(members, [](const member* one) { return one->marks != nullptr; });
}

bool holding::loops_are_shared_out() const {
    return shared_ != nullptr && shared_->static_loops.load(std::memory_order_relaxed) != 0;
}

int holding::hold(member& one, const cpu_set_t& on) {
    if (one.marks == nullptr || one.pinned) return 0;
    const bool again = one.marks->held.exchange(1, std::memory_order_relaxed) == 0;
    const auto known = std::ranges::find(held_, one.thread, [](const auto& pair) { return pair.first; });
    if (known != held_.end() && !again) return 0;
    const moves::outcome result = mover_.hold(one.thread, on, given_);
    one.pinned = result == moves::outcome::pinned;
    if (result != moves::outcome::moved) {
        one.marks->held.store(0, std::memory_order_relaxed);
        return 0;
    }
    one.moved = true;
    if (known == held_.end()) held_.emplace_back(one.thread, one.marks);
    return 1;
}

int holding::seat(std::span<member* const> members, const speeds& cpus) {
    std::vector<pid_t> threads;
    std::vector<worker> workers;
    for (const member* one : members) {
        threads.push_back(one->thread);
        const std::size_t index = cpus.index_of(one->cpu);
        workers.push_back({one->done, index < cpus.size() ? index : 0, one->pinned});
    }
    if (threads != seated_) {
        end();
        seated_ = threads;
        seats_.clear();
        for (const std::size_t index :
             place(workers, cpus.per_second(), std::numeric_limits<double>::infinity()))
            seats_.push_back(cpus[index].cpu);
    }
    int put = 0;
    for (std::size_t i = 0; i < members.size(); ++i) put += hold(*members[i], only(seats_[i]));
    std::vector<double> by_cpu;
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        const auto cpu = static_cast<std::size_t>(seats_[i]);
        if (by_cpu.size() <= cpu) by_cpu.resize(cpu + 1);
        if (by_cpu[cpu] > 0) return put;  // two on one CPU: shares are equal
        by_cpu[cpu] = cpus.per_second()[cpus.index_of(seats_[i])];
    }
    publish(by_cpu);
    return put;
}

int holding::gather(std::span<member* const> members, const speeds& cpus) {
    cpu_set_t fastest;
    CPU_ZERO(&fastest);
    const double most = std::ranges::max(cpus.per_second());
    for (std::size_t i = 0; i < cpus.size(); ++i)
        if (cpus.per_second()[i] * same_speed > most) CPU_SET(static_cast<unsigned>(cpus[i].cpu), &fastest);
    int put = 0;
    for (member* one : members) put += hold(*one, fastest);
    return put;
}

void holding::publish(const std::vector<double>& by_cpu) {
    const bool same = by_cpu.size() == published_.size() &&
                      std::ranges::equal(by_cpu, published_, [](double now, double before) {
                          return std::abs(now - before) <= new_speed * before;
                      });
    if (same) return;
    published_ = by_cpu;
    std::vector<std::uint32_t> weights;
    for (const double one : by_cpu) weights.push_back(static_cast<std::uint32_t>(std::lround(unit * one)));
    publish_speeds(shared_->cpu_speeds, weights.data(), static_cast<std::uint32_t>(weights.size()));
}

void holding::end() {
    for (const auto& [thread, marks] : held_) {
        mover_.release(thread);
        if (marks->thread() == thread) marks->held.store(0, std::memory_order_relaxed);
    }
    held_.clear();
    seated_.clear();
    if (published_.empty()) return;
    published_.clear();
    publish_speeds(shared_->cpu_speeds, nullptr, 0);
}

}  // namespace tauto::balance
