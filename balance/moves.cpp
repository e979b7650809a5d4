#include "balance/moves.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tauto/error.hpp>

namespace tauto::balance {

namespace {

constexpr int looks_of_the_guard = 10;
constexpr useconds_t between_looks = 20'000;

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
        cpu_set_t& only = kept.narrow;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        kept.thread.store(one.thread, std::memory_order_release);
        one.result = sched_setaffinity(one.thread, sizeof only, &only) == 0 ? outcome::moved : outcome::gone;
    }
    put_back(0, orders.size());
    const nanoseconds took = timer::now() - began;
    longest_ = std::max(longest_, took);
    sum_ += took;
    ++count_;
}

moves::outcome moves::hold(pid_t thread, const cpu_set_t& cpus, const cpu_set_t& given) {
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
    kept.thread.store(thread, std::memory_order_release);
    held_[thread] = at;
    return sched_setaffinity(thread, sizeof cpus, &cpus) == 0 ? outcome::moved : outcome::gone;
}

void moves::release(pid_t thread) {
    const auto found = held_.find(thread);
    if (found == held_.end()) return;
    put_back(found->second, found->second + 1);
    held_.erase(found);
}

void moves::widen(const entry& narrow) {
    const pid_t thread = narrow.thread.load(std::memory_order_acquire);
    cpu_set_t now;
    if (thread != 0 && sched_getaffinity(thread, sizeof now, &now) == 0 &&
        CPU_EQUAL(&now, &narrow.narrow) != 0)
        sched_setaffinity(thread, sizeof narrow.mask, &narrow.mask);
}

void moves::put_back(std::size_t first, std::size_t end) const {
    for (std::size_t i = first; i < end; ++i) {
        widen(narrow_[i]);
        narrow_[i].thread.store(0, std::memory_order_release);
    }
}

int moves::put_back_all() const {
    const std::span all(narrow_, capacity);
    const auto is_narrow = [](const entry& one) { return one.thread.load(std::memory_order_acquire) != 0; };
    if (std::ranges::none_of(all, is_narrow)) return 0;
    for (int look = 0; look < looks_of_the_guard; ++look) {
        for (std::size_t i = 0; i < capacity; ++i) widen(narrow_[i]);
        usleep(between_looks);
    }
    put_back(0, capacity);
    return looks_of_the_guard;
}

nanoseconds moves::average() const {
    return count_ == 0 ? 0 : sum_ / count_;
}

}  // namespace tauto::balance
