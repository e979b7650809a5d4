#pragma once
// Which of very many members would finish last: the answer of last_to_finish (schedule.hpp), in O(log
// members).

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tauto::sim {

// A tournament of the members' remaining times; 0: nothing left.
class finish_tree {
  public:
    // O(members).
    void reset(int members) {
        leaves_ = 1;
        while (leaves_ < static_cast<std::size_t>(members)) leaves_ *= 2;
        members_ = static_cast<std::size_t>(members);
        times_.assign(2 * leaves_, 0.0);
    }

    // O(log members).
    void set(int member, double time) {
        std::size_t node = leaves_ + static_cast<std::size_t>(member);
        times_[node] = time;
        for (node /= 2; node > 0; node /= 2) times_[node] = std::max(times_[2 * node], times_[2 * node + 1]);
    }

    // The member with the longest remaining time, the first after `thief` (cyclic) of equals; -1 if none has
    // any left.
    [[nodiscard]] int last_to_finish(int thief) const {
        const auto own = static_cast<std::size_t>(thief);
        const std::size_t behind = first_longest(own + 1, members_);
        const std::size_t before = first_longest(0, own);
        const double later = behind < members_ ? times_[leaves_ + behind] : 0;
        const double earlier = before < own ? times_[leaves_ + before] : 0;
        if (later <= 0 && earlier <= 0) return -1;
        return static_cast<int>(earlier > later ? before : behind);
    }

  private:
    // The first longest in [begin, end); `end` if that is empty.
    [[nodiscard]] std::size_t first_longest(std::size_t begin, std::size_t end) const {
        if (begin >= end) return end;
        std::size_t best = 0;
        // Whole subtrees from left to right: those at the left border first, those at the right border later.
        std::size_t left = leaves_ + begin;
        std::size_t right = leaves_ + end;
        std::size_t rights[64];
        std::size_t count = 0;
        const auto look = [&](std::size_t node) {
            if (best == 0 || times_[node] > times_[best]) best = node;
        };
        for (; left < right; left /= 2, right /= 2) {
            if (left % 2 == 1) look(left++);
            if (right % 2 == 1) rights[count++] = --right;
        }
        while (count > 0) look(rights[--count]);
        while (best < leaves_) best = times_[2 * best] >= times_[2 * best + 1] ? 2 * best : 2 * best + 1;
        return best - leaves_;
    }

    std::size_t leaves_ = 1;
    std::size_t members_ = 0;
    std::vector<double> times_;
};

}  // namespace tauto::sim
