#include "room.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include <tauto/signed.hpp>

#include "forks.hpp"
#include "machine_limits.hpp"
#include "plain_list.hpp"

namespace tauto::detail {
namespace {

// A list with nothing to destroy: teams may end while statics are torn down.
constinit room* all_rooms = nullptr;

bool share_a_cpu(const std::vector<std::vector<int>>& some, const std::vector<std::vector<int>>& others) {
    return std::any_of(some.begin(), some.end(), [&](const std::vector<int>& one) {
        return std::any_of(others.begin(), others.end(),
                           [&](const std::vector<int>& other) { return !intersection(one, other).empty(); });
    });
}

}  // namespace

bool each_has_a_cpu(std::vector<std::vector<int>> masks) {
    // Those with the least choice first. That finds an assignment where there is one, as long as of two masks
    // that overlap one holds the other, as those of the kernel and of pinned threads do.
    std::stable_sort(masks.begin(), masks.end(),
                     [](const auto& one, const auto& other) { return one.size() < other.size(); });
    std::set<int> taken;
    return std::all_of(masks.begin(), masks.end(), [&](const std::vector<int>& mask) {
        return std::any_of(mask.begin(), mask.end(), [&](int cpu) { return taken.insert(cpu).second; });
    });
}

room::room(std::filesystem::path root)
    : root_(std::move(root)), second_(to_ticks(std::chrono::seconds(1))), asked_(ticks()), looked_(asked_) {
    const std::lock_guard lock(locks_of_process().rooms);
    next_ = std::exchange(all_rooms, this);
}

room::~room() {
    const std::lock_guard lock(locks_of_process().rooms);
    remove_from(all_rooms, &room::next_, this);
}

void room::look(std::vector<std::vector<int>> masks, std::int64_t now) {
    const auto quota = read_quota(file_tree(root_));
    const std::lock_guard lock(locks_of_process().rooms);
    masks_ = std::move(masks);
    looked_ = now;
    auto wanting = masks_;  // a CPU of these
    std::size_t running = masks_.size();
    for (const room* other = all_rooms; other != nullptr; other = other->next_) {
        const std::int64_t age = now - other->looked_;
        if (other == this || other->masks_.empty() || age > 3 * second_ || age < -3 * second_) continue;
        running += other->masks_.size();
        if (share_a_cpu(masks_, other->masks_))
            wanting.insert(wanting.end(), other->masks_.begin(), other->masks_.end());
    }
    const bool throttled = quota && as_double(running) > std::ceil(*quota - 1e-6);
    crowded_.store(throttled || !each_has_a_cpu(std::move(wanting)), std::memory_order_relaxed);
}

}  // namespace tauto::detail
