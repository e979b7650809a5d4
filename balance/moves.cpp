#include "balance/moves.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <tauto/error.hpp>
#include <vector>

#include "timer/offspring.hpp"

namespace tauto::balance {

namespace {

constexpr int looks_of_the_guard = 10;
constexpr useconds_t between_looks = 20'000;

// Whether it is the mask of one of the CPUs to which it may have been put.
bool is_mask_of(const hold_value& held, const cpu_set_t& mask) {
    const auto is = [&](std::uint32_t cpu) { return cpu > 0 && CPU_ISSET(cpu - 1, &mask) != 0; };
    return CPU_COUNT(&mask) == 1 && (is(held.on) || is(goal(held)));
}

bool has_mask(pid_t thread, const cpu_set_t& mask) {
    cpu_set_t now;
    return sched_getaffinity(thread, sizeof now, &now) == 0 && CPU_EQUAL(&now, &mask) != 0;
}

// Those of a process and of all below it.
std::vector<pid_t> threads_below(pid_t process) {
    std::vector<pid_t> found;
    for (const pid_t one : timer::family_of(process)) {
        const std::vector<pid_t> more = timer::threads_of(one);
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

// Whether it is younger than `before`, the newest thread at the time of a move. Behind the largest number the
// kernel begins anew with small ones.
bool was_born(pid_t thread, pid_t before, pid_t newest) {
    return thread > before || (newest < before && thread <= newest);
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

moves::outcome moves::narrow_to(entry& kept, const order& wish, const cpu_set_t& given, bool even_pinned) {
    slot* marks = wish.marks != nullptr && wish.marks->thread() == wish.thread ? wish.marks : nullptr;
    if (marks != nullptr && !begin_hold(marks->held)) return outcome::gone;
    const auto leave = [&](outcome result) {
        if (marks != nullptr) leave_hold(marks->held);
        return result;
    };
    if (sched_getaffinity(wish.thread, sizeof kept.mask, &kept.mask) != 0) return leave(outcome::gone);
    const auto cpu = static_cast<unsigned>(wish.cpu);
    if (CPU_EQUAL(&kept.mask, &given) == 0) {
        leave(outcome::pinned);
        if (!even_pinned || CPU_ISSET(cpu, &kept.mask) == 0) return outcome::pinned;
        marks = nullptr;  // by its word it would get the program's mask
    }
    kept.narrow = only_on(cpu);
    kept.marks = marks;
    if (marks == nullptr) kept.process.store(wish.process, std::memory_order_release);
    kept.thread.store(wish.thread, std::memory_order_release);
    if (marks != nullptr && !confirm_hold(marks->held, static_cast<std::uint16_t>(cpu + 1)))
        return outcome::gone;
    if (sched_setaffinity(wish.thread, sizeof kept.narrow, &kept.narrow) != 0) return leave(outcome::gone);
    // The thread waited for too long and took its word away: the mask is put back by its value alone.
    if (marks != nullptr && marks->held.read().state != becomes_held) kept.marks = nullptr;
    return outcome::moved;
}

void moves::make(std::span<order> orders, const cpu_set_t& given, bool even_pinned) {
    orders = orders.first(std::min(orders.size(), at_once));
    const nanoseconds began = timer::now();
    if (births_ + orders.size() > at_once) widen_the_born(began, 0);
    const std::span<entry> kept(narrow_ + births_, orders.size());
    const pid_t newest = even_pinned || !std::ranges::all_of(orders, &order::marks) ? timer::last_born() : 0;
    for (std::size_t i = 0; i < orders.size(); ++i) {
        kept[i].born_before = newest;
        orders[i].result = narrow_to(kept[i], orders[i], given, even_pinned);
    }
    put_back(births_, births_ + kept.size());
    const nanoseconds now = timer::now();
    for (entry& one : kept) one.until = now;
    const auto may_give_birth = [](const entry& one) { return one.process.load() != 0; };
    if (std::ranges::any_of(kept, may_give_birth)) births_ += kept.size();
    const nanoseconds took = now - began;
    longest_ = std::max(longest_, took);
    sum_ += took;
    ++count_;
}

void moves::widen_the_born(nanoseconds now, nanoseconds birth) {
    const std::span starters(narrow_, births_);
    const auto is_due = [&](const entry& one) { return now >= one.until + birth; };
    if (std::ranges::none_of(starters, is_due)) return;
    widen_the_born_of(starters, is_due);
    if (std::ranges::all_of(starters, is_due)) births_ = 0;
}

template <class IsDue>
void moves::widen_the_born_of(std::span<entry> starters, IsDue is_due) const {
    const pid_t newest = timer::last_born();
    std::map<pid_t, std::vector<pid_t>> families;
    for (entry& one : starters) {
        const pid_t process = one.process.load(std::memory_order_acquire);
        if (process == 0 || !is_due(one)) continue;
        if (one.born_before != 0 && one.born_before != newest) {
            const auto [family, is_new] = families.try_emplace(process);
            if (is_new) family->second = threads_below(process);
            for (const pid_t thread : family->second)
                if (was_born(thread, one.born_before, newest) && !held_.contains(thread) &&
                    has_mask(thread, one.narrow))
                    sched_setaffinity(thread, sizeof one.mask, &one.mask);
        }
        one.process.store(0, std::memory_order_release);
    }
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
    const auto is_due = [](const entry& one) {
        return one.thread.load(std::memory_order_acquire) != 0 ||
               one.process.load(std::memory_order_acquire) != 0;
    };
    if (std::ranges::none_of(all, is_due)) return 0;
    for (int look = 0; look < looks_of_the_guard; ++look) {
        for (std::size_t i = 0; i < capacity; ++i) widen(narrow_[i], is_guarded);
        usleep(between_looks);
    }
    put_back(0, capacity, is_guarded);
    widen_the_born_of(all, [](const entry&) { return true; });
    return looks_of_the_guard;
}

nanoseconds moves::average() const {
    return count_ == 0 ? 0 : sum_ / count_;
}

}  // namespace tauto::balance
