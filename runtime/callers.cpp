#include "callers.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include <tauto/signed.hpp>

#include "pinning.hpp"
#include "plain_list.hpp"

namespace tauto::detail {
namespace {

constinit team_cpus* all_teams = nullptr;
constinit callers* all_callers = nullptr;

std::vector<int> sorted_set(std::vector<int> cpus) {
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
}

}  // namespace

bool callers::have_all() const noexcept {
    const int turn = std::max(1, turns.load(std::memory_order_relaxed));
    const int others =
        turn + beside.load(std::memory_order_relaxed) + waiting.load(std::memory_order_relaxed);
    return others + 1 >= size();
}

void callers::forget_parents() noexcept {
    const std::lock_guard lock(locks_of_process().rooms);
    if (std::exchange(generation, current_fork_generation()) == current_fork_generation()) return;
    for (std::atomic<int>* count : {&beside, &waiting, &turns}) count->store(0, std::memory_order_relaxed);
}

team_cpus::team_cpus(cpu_choice from)
    : by_rank_(std::move(from.list)), maker_(identity_of_this_thread()), named_(from.named) {
    const std::lock_guard lock(locks_of_process().rooms);
    if (!named_) put_least_used_first(by_rank_, usize(from.size));
    const std::size_t cpus = by_rank_.size();
    by_rank_.resize(usize(from.size));
    for (std::size_t rank = cpus; rank < by_rank_.size(); ++rank) by_rank_[rank] = by_rank_[rank - cpus];
    callers_ = callers_of(sorted_set(by_rank_));
    callers_->teams.fetch_add(1, std::memory_order_relaxed);
    next_ = std::exchange(all_teams, this);
}

team_cpus::~team_cpus() {
    const std::lock_guard lock(locks_of_process().rooms);
    remove_from(all_teams, &team_cpus::next_, this);
    if (callers_->teams.fetch_sub(1, std::memory_order_relaxed) > 1) return;
    if (!named_) remove_from(all_callers, &callers::next, callers_);
    delete callers_;
}

// With the lock held, as the next.
void team_cpus::put_least_used_first(std::vector<int>& list, std::size_t size) {
    struct use {
        int cpu;
        int members = 0;
        int members_0 = 0;
    };
    std::vector<use> uses;
    for (const int cpu : list) {
        use& of = uses.emplace_back(use{cpu});
        for (const team_cpus* other = all_teams; other != nullptr; other = other->next_) {
            if (other->maker_ == maker_) continue;
            of.members += static_cast<int>(std::count(other->by_rank_.begin(), other->by_rank_.end(), cpu));
            of.members_0 += other->by_rank_.front() == cpu ? 1 : 0;
        }
    }
    if (size < uses.size()) {
        std::stable_sort(uses.begin(), uses.end(),
                         [](const use& one, const use& other) { return one.members < other.members; });
        uses.resize(size);
    }
    const auto first = std::min_element(uses.begin(), uses.end(), [](const use& one, const use& other) {
        return one.members_0 < other.members_0;
    });
    others_begin_there_ = first->members_0 > 0;
    std::rotate(uses.begin(), first, first + 1);
    list.clear();
    for (const use& one : uses) list.push_back(one.cpu);
}

callers* team_cpus::callers_of(std::vector<int> cpus) const {
    if (named_) return new callers(std::move(cpus));
    callers* one = all_callers;
    while (one != nullptr && one->cpus != cpus) one = one->next;
    if (one != nullptr) return one;
    auto fresh = std::make_unique<callers>(std::move(cpus));
    fresh->next = all_callers;
    return all_callers = fresh.release();
}

}  // namespace tauto::detail
