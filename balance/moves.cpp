#include "balance/moves.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <tauto/error.hpp>

namespace tauto::balance {

namespace {

constexpr int looks_of_the_guard = 10;
constexpr useconds_t between_looks = 20'000;

// Whether it is the mask of one of the CPUs to which it may have been put.
bool is_mask_of(const hold_value& held, const cpu_set_t& mask) {
    const auto is = [&](std::uint32_t cpu) { return cpu > 0 && CPU_ISSET(cpu - 1, &mask) != 0; };
    return CPU_COUNT(&mask) == 1 && (is(held.on) || is(goal(held)));
}

}  // namespace

moves::moves() {
    void* const shared =
        mmap(nullptr, capacity * sizeof(entry), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw error(std::string("no memory for the masks: ") + strerror(errno));
    narrow_ = static_cast<entry*>(shared);  // zero: no thread
}

moves::~moves() {
    munmap(narrow_, capacity * sizeof(entry));
}

void moves::make(std::span<order> orders, const cpu_set_t& given, bool even_pinned) {
    orders = orders.first(std::min(orders.size(), at_once));
    const nanoseconds began = timer::now();
    for (std::size_t i = 0; i < orders.size(); ++i) {
        order& one = orders[i];
        entry& kept = narrow_[i];
        if (sched_getaffinity(one.thread, sizeof kept.mask, &kept.mask) != 0) continue;
        one.result = outcome::pinned;
        const auto cpu = static_cast<unsigned>(one.cpu);
        if (!(even_pinned ? CPU_ISSET(cpu, &kept.mask) != 0 : CPU_EQUAL(&kept.mask, &given) != 0)) continue;
        kept.marks = nullptr;
        kept.narrow = only_on(cpu);
        kept.thread.store(one.thread, std::memory_order_release);
        one.result = sched_setaffinity(one.thread, sizeof kept.narrow, &kept.narrow) == 0 ? outcome::moved
                                                                                          : outcome::gone;
    }
    put_back(0, orders.size());
    const nanoseconds took = timer::now() - began;
    longest_ = std::max(longest_, took);
    sum_ += took;
    ++count_;
}

moves::outcome moves::hold(pid_t thread, const cpu_set_t& cpus, const cpu_set_t& given, slot* marks,
                           std::uint16_t seat) {
    const auto known = held_.find(thread);
    std::size_t at = known == held_.end() ? at_once : known->second;
    while (known == held_.end() && at < capacity && narrow_[at].thread.load(std::memory_order_relaxed) != 0)
        ++at;
    if (at == capacity) return outcome::gone;
    entry& kept = narrow_[at];
    cpu_set_t now;
    if (sched_getaffinity(thread, sizeof now, &now) != 0) return outcome::gone;
    const bool is_ours = known != held_.end() && CPU_EQUAL(&now, &kept.narrow) != 0;
    if (is_ours && CPU_EQUAL(&now, &cpus) != 0) return outcome::moved;
    if (!is_ours && CPU_EQUAL(&now, &given) == 0) return outcome::pinned;
    kept.mask = given;
    kept.narrow = cpus;
    kept.marks = marks;
    kept.thread.store(thread, std::memory_order_release);
    held_[thread] = at;
    if (marks != nullptr && !confirm_hold(marks->held, seat)) {
        release(thread);
        return outcome::gone;
    }
    return sched_setaffinity(thread, sizeof cpus, &cpus) == 0 ? outcome::moved : outcome::gone;
}

void moves::release(pid_t thread, bool by_word) {
    const auto found = held_.find(thread);
    if (found == held_.end()) return;
    if (!by_word) narrow_[found->second].marks = nullptr;
    put_back(found->second, found->second + 1);
    held_.erase(found);
}

void moves::widen(const entry& narrow, hold_state by) {
    const pid_t thread = narrow.thread.load(std::memory_order_acquire);
    if (thread == 0) return;
    slot* const marks = narrow.marks != nullptr && narrow.marks->thread() == thread ? narrow.marks : nullptr;
    std::optional<hold_value> held;
    if (marks != nullptr) {
        held = begin_release(marks->held, by, [] { usleep(1); });
        if (!held) return;
    }
    cpu_set_t now;
    if (sched_getaffinity(thread, sizeof now, &now) == 0 &&
        (CPU_EQUAL(&now, &narrow.narrow) != 0 || (held && is_mask_of(*held, now))))
        sched_setaffinity(thread, sizeof narrow.mask, &narrow.mask);
    if (marks != nullptr) leave_hold(marks->held);
}

void moves::put_back(std::size_t first, std::size_t end, hold_state by) const {
    for (std::size_t i = first; i < end; ++i) {
        widen(narrow_[i], by);
        narrow_[i].thread.store(0, std::memory_order_release);
    }
}

int moves::put_back_all() const {
    const std::span all(narrow_, capacity);
    const auto is_narrow = [](const entry& one) { return one.thread.load(std::memory_order_acquire) != 0; };
    if (std::ranges::none_of(all, is_narrow)) return 0;
    for (int look = 0; look < looks_of_the_guard; ++look) {
        for (std::size_t i = 0; i < capacity; ++i) widen(narrow_[i], is_guarded);
        usleep(between_looks);
    }
    put_back(0, capacity, is_guarded);
    return looks_of_the_guard;
}

nanoseconds moves::average() const {
    return count_ == 0 ? 0 : sum_ / count_;
}

}  // namespace tauto::balance
