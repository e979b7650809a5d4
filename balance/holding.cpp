#include "balance/holding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "balance/placing.hpp"

namespace tauto::balance {

namespace {

constexpr double unit = 1'000'000;  // of published speeds
constexpr double new_speed = 0.01;  // published again from here on
constexpr double least_speed = 1e-3;
constexpr double learns = 0.7;  // of what a window shows

cpu_set_t mask_of(int cpu) {
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
    const auto known = std::ranges::find(held_, one.thread, &one_held::thread);
    if (known != held_.end() && !again) return 0;
    const moves::outcome result = mover_.hold(one.thread, on, given_);
    one.pinned = result == moves::outcome::pinned;
    if (result != moves::outcome::moved) {
        one.marks->held.store(0, std::memory_order_relaxed);
        return 0;
    }
    one.moved = true;
    if (known == held_.end()) held_.push_back({one.thread, one.marks, one.cpu});
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
    for (std::size_t i = 0; i < members.size(); ++i) put += hold(*members[i], mask_of(seats_[i]));
    if (loops_are_shared_out() && std::set<int>(seats_.begin(), seats_.end()).size() == seats_.size())
        publish(cpus);
    return put;
}

void holding::learn(std::span<member* const> members) {
    if (published_.empty() || members.size() != seats_.size()) return;
    double sum = 0;
    for (const member* one : members) sum += static_cast<double>(one->was_busy);
    const double usual = sum / static_cast<double>(members.size());
    for (std::size_t i = 0; i < seats_.size(); ++i) {
        const auto busy = static_cast<double>(members[i]->was_busy);
        if (members[i]->thread == seated_[i] && busy > 0)
            learned_[seats_[i]] *= std::pow(std::clamp(usual / busy, 0.5, 2.0), learns);
    }
    double most = least_speed;
    for (const auto& [cpu, speed] : learned_) most = std::max(most, speed);
    for (auto& [cpu, speed] : learned_) speed = std::max(speed / most, least_speed);
}

int holding::gather(std::span<member* const> members, const speeds& cpus) {
    cpu_set_t fastest;
    CPU_ZERO(&fastest);
    for (const int cpu : cpus.fastest()) CPU_SET(static_cast<unsigned>(cpu), &fastest);
    int put = 0;
    for (member* one : members) put += hold(*one, fastest);
    return put;
}

void holding::publish(const speeds& cpus) {
    std::vector<double> by_cpu;
    for (const int cpu : seats_) {
        const auto at = static_cast<std::size_t>(cpu);
        if (by_cpu.size() <= at) by_cpu.resize(at + 1);
        by_cpu[at] = learned_.try_emplace(cpu, cpus.per_second()[cpus.index_of(cpu)]).first->second;
    }
    const auto alike = [](double now, double before) { return std::abs(now - before) <= new_speed * before; };
    if (std::ranges::equal(by_cpu, published_, alike)) return;
    published_ = by_cpu;
    std::vector<std::uint32_t> weights;
    for (const double one : by_cpu) weights.push_back(static_cast<std::uint32_t>(std::lround(unit * one)));
    publish_speeds(shared_->cpu_speeds, weights.data(), static_cast<std::uint32_t>(weights.size()));
}

void holding::end() {
    std::vector<moves::order> back;
    for (const one_held& one : held_) {
        mover_.release(one.thread);
        if (one.marks->thread() == one.thread) one.marks->held.store(0, std::memory_order_relaxed);
        back.push_back({one.thread, one.came_from});
    }
    mover_.make(back, given_, false);
    held_.clear();
    seated_.clear();
    if (published_.empty()) return;
    published_.clear();
    publish_speeds(shared_->cpu_speeds, nullptr, 0);
}

}  // namespace tauto::balance
