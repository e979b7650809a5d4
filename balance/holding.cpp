#include "balance/holding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "balance/placing.hpp"

namespace tauto::balance {

namespace {

constexpr double unit = 1'000'000;  // of published speeds
constexpr double new_speed = 0.01;  // published again from here on
constexpr double least_speed = 1e-3;
constexpr double learns = 0.7;  // of what a window shows
constexpr int looks_until_a_change = 5;
constexpr double clearly_earlier = 1.06;
constexpr double far_off = 1.5;

}  // namespace

bool holding::can_hold(std::span<member* const> members) const {
    return shared_ != nullptr && members.size() >= 2 &&
           std::ranges::all_of(members, [](const member* one) { return one->marks != nullptr; });
}

bool holding::loops_are_shared_out() const {
    return shared_ != nullptr && shared_->static_loops.load(std::memory_order_relaxed) != 0;
}

int holding::hold(member& one, const cpu_set_t& on, std::uint16_t seat) {
    if (one.marks == nullptr || one.pinned) return 0;
    hold_word& word = one.marks->held;
    const hold_state state = word.read(std::memory_order_relaxed).state;
    const auto known = std::ranges::find(held_, one.thread, &one_held::thread);
    if (known != held_.end() && (state == is_held || state == is_moving || state == is_guest)) return 0;
    if (!begin_hold(word)) return 0;
    const moves::outcome result = mover_.hold(one.thread, on, given_, one.marks, seat);
    one.pinned = result == moves::outcome::pinned;
    if (result != moves::outcome::moved) {
        leave_hold(word);
        return 0;
    }
    if (!end_hold(word)) {
        mover_.release(one.thread, false);
        return 0;
    }
    one.moved = true;
    if (known == held_.end()) held_.push_back({one.process, one.thread, one.cpu, one.marks});
    return 1;
}

int holding::seat(std::span<member* const> members, std::span<const team::helper> helpers,
                  const speeds& cpus) {
    std::vector<pid_t> threads;
    std::vector<worker> workers;
    for (const member* one : members) {
        threads.push_back(one->thread);
        const std::size_t index = cpus.index_of(one->cpu);
        workers.push_back({one->done, index < cpus.size() ? index : 0, one->pinned});
    }
    const std::vector<double> worth = learned(cpus);
    std::vector<std::size_t> wanted = place(workers, worth, std::numeric_limits<double>::infinity());
    seat_forker(members, wanted, worth);
    const bool all_sit = seats_.size() == threads.size() &&
                         std::ranges::all_of(threads, [this](pid_t one) { return seats_.contains(one); });
    if (!all_sit || changed(wanted, cpus, worth)) {
        end();
        for (std::size_t i = 0; i < threads.size(); ++i) seats_[threads[i]] = cpus[wanted[i]].cpu;
    }
    int put = 0;
    for (member* one : members) {
        const int cpu = seats_[one->thread];
        put += hold(*one, only_on(static_cast<std::uint32_t>(cpu)), static_cast<std::uint16_t>(cpu + 1));
    }
    for (const team::helper& one : helpers) put += seat_helper(one);
    std::set<int> taken;
    for (const auto& [thread, cpu] : seats_) taken.insert(cpu);
    if (loops_are_shared_out() && taken.size() == seats_.size()) publish(cpus);
    allow_lending(cpus, worth);
    return put;
}

int holding::seat_helper(const team::helper& one) {
    if (!CPU_ISSET(static_cast<unsigned>(one.cpu), &given_)) return 0;
    const auto seat = static_cast<std::uint16_t>(one.cpu + 1);
    const hold_value found = one.who->marks->held.read(std::memory_order_relaxed);
    const auto known = std::ranges::find(held_, one.who->thread, &one_held::thread);
    if (found.state == is_held && found.seat != seat && known != held_.end()) {
        mover_.release(one.who->thread);
        held_.erase(known);
    }
    return hold(*one.who, only_on(static_cast<std::uint32_t>(one.cpu)), seat);
}

// Who forks the others has work of its own between two regions: it gets the fastest of their CPUs.
void holding::seat_forker(std::span<member* const> members, std::vector<std::size_t>& seats,
                          std::span<const double> worth) {
    const auto forker = std::ranges::find_if(
        members, [](const member* one) { return one->thread == one->process && !one->pinned; });
    if (forker == members.end()) return;
    std::size_t fastest = static_cast<std::size_t>(forker - members.begin());
    const std::size_t own = fastest;
    for (std::size_t i = 0; i < seats.size(); ++i)
        if (!members[i]->pinned && worth[seats[i]] > same_speed * worth[seats[fastest]]) fastest = i;
    std::swap(seats[own], seats[fastest]);
}

// Whether each of several looks in a row wanted other numbers of threads on the CPUs than there are, with
// which all would be done clearly earlier.
bool holding::changed(const std::vector<std::size_t>& wanted, const speeds& cpus,
                      std::span<const double> worth) {
    std::map<int, double> now;
    for (const auto& [thread, cpu] : seats_) ++now[cpu];
    std::vector<double> then(worth.size());
    for (const std::size_t index : wanted) ++then[index];
    double until_now = 0;
    double until_then = 0;
    for (std::size_t i = 0; i < worth.size(); ++i) {
        until_now = std::max(until_now, now[cpus[i].cpu] / worth[i]);
        until_then = std::max(until_then, then[i] / worth[i]);
    }
    others_wanted_ = until_now > clearly_earlier * until_then ? others_wanted_ + 1 : 0;
    return others_wanted_ > looks_until_a_change;
}

// Shares of loops show it well. Parts of equal size do not, as looks are far apart: they count where they say
// something quite different from what CPUs gave their threads.
std::vector<double> holding::learned(const speeds& cpus) const {
    std::vector<double> found = cpus.per_second();
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto known = learned_.find(cpus[i].cpu);
        if (known == learned_.end()) continue;
        const double usual = cpus.usual(i);
        const double ratio = known->second / std::max(usual, least_speed);
        found[i] = published_.empty() && ratio > 1 / far_off && ratio < far_off ? usual : known->second;
    }
    return found;
}

// What was done on this CPU in loops that were shared out, since it was asked last.
double holding::shared_out_on(int cpu) {
    const auto at = static_cast<std::size_t>(cpu);
    if (shared_ == nullptr || at >= most_cpus) return 0;
    const std::uint64_t now = shared_->shared_out[at].load(std::memory_order_relaxed);
    std::uint64_t& before = shared_out_[cpu];
    return static_cast<double>(now - std::exchange(before, now));
}

// A CPU is worth what its threads had to do over the time in which it was at it: their shares of loops, or so
// many equal parts. It was at it as long as the one of them that took longest, and at least as long as they
// ran one after the other. Of parts that were ended on another CPU, as guests, nothing is known.
void holding::learn(std::span<member* const> members) {
    struct load {
        double threads = 0;
        double longest = 0;  // seconds
        double ran = 0;
    };
    const std::uint64_t lent = shared_ == nullptr ? 0 : shared_->lent.load(std::memory_order_relaxed);
    if (std::exchange(lent_, lent) != lent && published_.empty()) return;
    std::map<int, load> loads;
    for (const member* one : members) {
        const auto seat = seats_.find(one->thread);
        if (seat == seats_.end() || one->was_busy <= 0) return;
        load& there = loads[seat->second];
        ++there.threads;
        there.longest = std::max(there.longest, timer::to_seconds(one->was_busy));
        there.ran += one->had_worked;
    }
    double most = 0;
    std::map<int, double> shown;
    for (const auto& [cpu, there] : loads) {
        const double shared_out = shared_out_on(cpu);
        if (!published_.empty() && shared_out <= 0) return;
        const double amount = published_.empty() ? there.threads : shared_out;
        most = std::max(most, shown[cpu] = amount / std::max(there.longest, there.ran));
    }
    for (const auto& [cpu, worth] : shown) {
        const double now = std::max(worth / most, least_speed);
        double& before = learned_.try_emplace(cpu, now).first->second;
        before *= std::pow(std::clamp(now / before, 0.5, 2.0), learns);
    }
    most = least_speed;
    for (const auto& [cpu, speed] : learned_) most = std::max(most, speed);
    for (auto& [cpu, speed] : learned_) speed = std::max(speed / most, least_speed);
}

int holding::gather(std::span<member* const> members, const speeds& cpus) {
    cpu_set_t fastest;
    CPU_ZERO(&fastest);
    for (const int cpu : cpus.fastest()) CPU_SET(static_cast<unsigned>(cpu), &fastest);
    others_wanted_ = held_.empty() || CPU_EQUAL(&fastest, &gathered_) != 0 ? 0 : others_wanted_ + 1;
    if (others_wanted_ > looks_until_a_change) end();
    if (held_.empty()) gathered_ = fastest;
    const auto count = static_cast<std::uint32_t>(CPU_COUNT(&gathered_));
    if (shared_ != nullptr)
        shared_->crowded.store(members.size() > count ? count : 0, std::memory_order_relaxed);
    int put = 0;
    for (member* one : members) put += hold(*one, gathered_, 0);
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

void holding::tell_paces(const speeds& cpus, std::span<const double> worth) {
    for (std::size_t i = 0; i < cpus.size(); ++i)
        if (const auto cpu = static_cast<std::size_t>(cpus[i].cpu); cpu < most_cpus)
            shared_->paces[cpu].store(static_cast<std::uint32_t>(std::lround(unit * worth[i])),
                                      std::memory_order_relaxed);
}

void holding::allow_lending(const speeds& cpus, std::span<const double> worth) {
    tell_paces(cpus, worth);
    shared_->lending.store(1, std::memory_order_release);
}

void holding::let_ends_hand_over(const speeds& cpus) {
    tell_paces(cpus, cpus.per_second());
    shared_->steps.hand_over.store(1, std::memory_order_relaxed);
}

void holding::let_waits_sleep(bool on) {
    if (shared_ != nullptr) shared_->waits_sleep.store(on ? 1 : 0, std::memory_order_relaxed);
}

void holding::end() {
    if (shared_ != nullptr) {
        shared_->lending.store(0, std::memory_order_release);
        shared_->crowded.store(0, std::memory_order_relaxed);
        shared_->steps.hand_over.store(0, std::memory_order_relaxed);
    }
    std::vector<moves::order> back;
    for (const one_held& one : held_) {
        mover_.release(one.thread);
        back.push_back({one.process, one.thread, one.came_from, one.marks});
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
