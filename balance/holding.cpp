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
constexpr int looks_until_a_change = 5;

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
    const auto known = std::ranges::find(held_, one.thread, &one_held::thread);
    if (known != held_.end() && one.marks->held.load(std::memory_order_relaxed) == is_held) return 0;
    if (!begin_hold(*one.marks)) return 0;
    const moves::outcome result = mover_.hold(one.thread, on, given_);
    one.pinned = result == moves::outcome::pinned;
    if (result != moves::outcome::moved) {
        leave_hold(*one.marks);
        return 0;
    }
    if (!end_hold(*one.marks)) {
        mover_.release(one.thread);
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
    std::vector<std::size_t> wanted =
        place(workers, cpus.per_second(), std::numeric_limits<double>::infinity());
    seat_forker(members, wanted, cpus);
    const bool all_sit = std::ranges::all_of(threads, [this](pid_t one) { return seats_.contains(one); });
    if (!all_sit || changed(wanted, cpus)) {
        end();
        for (std::size_t i = 0; i < threads.size(); ++i) seats_[threads[i]] = cpus[wanted[i]].cpu;
    }
    int put = 0;
    for (member* one : members) put += hold(*one, mask_of(seats_[one->thread]));
    std::set<int> taken;
    for (const auto& [thread, cpu] : seats_) taken.insert(cpu);
    if (loops_are_shared_out() && taken.size() == seats_.size()) publish(cpus);
    return put;
}

// Who forks the others has work of its own between two regions: it gets the fastest of their CPUs.
void holding::seat_forker(std::span<member* const> members, std::vector<std::size_t>& seats,
                          const speeds& cpus) {
    const auto forker = std::ranges::find_if(
        members, [](const member* one) { return one->thread == one->process && !one->pinned; });
    if (forker == members.end()) return;
    std::size_t fastest = static_cast<std::size_t>(forker - members.begin());
    const std::size_t own = fastest;
    for (std::size_t i = 0; i < seats.size(); ++i)
        if (!members[i]->pinned &&
            cpus.per_second()[seats[i]] > same_speed * cpus.per_second()[seats[fastest]])
            fastest = i;
    std::swap(seats[own], seats[fastest]);
}

// Whether each of several looks in a row wanted other numbers of threads on the CPUs than there are.
bool holding::changed(const std::vector<std::size_t>& wanted, const speeds& cpus) {
    if (wanted.size() != seats_.size()) return false;
    std::map<int, int> more;
    for (const std::size_t index : wanted) ++more[cpus[index].cpu];
    for (const auto& [thread, cpu] : seats_) --more[cpu];
    const bool others = std::ranges::any_of(more, [](const auto& one) { return one.second != 0; });
    others_wanted_ = others ? others_wanted_ + 1 : 0;
    return others_wanted_ > looks_until_a_change;
}

void holding::learn(std::span<member* const> members) {
    if (published_.empty() || members.size() != seats_.size()) return;
    double sum = 0;
    for (const member* one : members) sum += static_cast<double>(one->was_busy);
    const double usual = sum / static_cast<double>(members.size());
    for (const member* one : members) {
        const auto busy = static_cast<double>(one->was_busy);
        const auto seat = seats_.find(one->thread);
        if (seat != seats_.end() && busy > 0)
            learned_[seat->second] *= std::pow(std::clamp(usual / busy, 0.5, 2.0), learns);
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
    for (const auto& [thread, cpu] : seats_) {
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
        if (one.marks->thread() == one.thread) leave_hold(*one.marks);
        back.push_back({one.thread, one.came_from});
    }
    mover_.make(back, given_, false);
    held_.clear();
    seats_.clear();
    others_wanted_ = 0;
    if (published_.empty()) return;
    published_.clear();
    publish_speeds(shared_->cpu_speeds, nullptr, 0);
}

}  // namespace tauto::balance
