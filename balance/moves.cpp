#include "balance/moves.hpp"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tauto/error.hpp>

namespace tauto::balance {

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
    orders = orders.first(std::min(orders.size(), capacity));
    const nanoseconds began = timer::now();
    for (std::size_t i = 0; i < orders.size(); ++i) {
        order& one = orders[i];
        entry& kept = narrow_[i];
        if (sched_getaffinity(one.thread, sizeof kept.mask, &kept.mask) != 0) continue;
        one.result = outcome::pinned;
        const auto cpu = static_cast<unsigned>(one.cpu);
        if (!(even_pinned ? CPU_ISSET(cpu, &kept.mask) != 0 : CPU_EQUAL(&kept.mask, &given) != 0)) continue;
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        kept.thread.store(one.thread, std::memory_order_release);
        one.result = sched_setaffinity(one.thread, sizeof only, &only) == 0 ? outcome::moved : outcome::gone;
    }
    put_back(orders.size());
    const nanoseconds took = timer::now() - began;
    longest_ = std::max(longest_, took);
    sum_ += took;
    ++count_;
}

void moves::put_back(std::size_t entries) const {
    for (std::size_t i = 0; i < entries; ++i) {
        const pid_t thread = narrow_[i].thread.load(std::memory_order_acquire);
        if (thread == 0) continue;
        sched_setaffinity(thread, sizeof narrow_[i].mask, &narrow_[i].mask);
        narrow_[i].thread.store(0, std::memory_order_release);
    }
}

nanoseconds moves::average() const {
    return count_ == 0 ? 0 : sum_ / count_;
}

}  // namespace tauto::balance
