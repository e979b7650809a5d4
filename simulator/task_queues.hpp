#pragma once
// A model of oneTBB's partitioners. The range is cut into two pieces for each worker, in order. A worker
// takes its own pieces front to back; a worker without work takes the last half of a random victim's rest.
// `halvings`: how often a piece is cut again before its body runs, never below the grain: five times with
// auto_partitioner and affinity_partitioner, as often as possible with simple_partitioner.
//
// This is not oneTBB's code; the rules are from its documentation and the comments of partitioner.h.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <tauto/range.hpp>

namespace tauto::sim {

class task_queues {
  public:
    static constexpr int initial_depth = 5;
    static constexpr int whole_depth = 62;

    explicit task_queues(int workers) : workers_(static_cast<std::size_t>(workers)) {}

    void reset(index n, index grain = 1, int halvings = initial_depth) {
        grain_ = std::max<index>(1, grain);
        halvings_ = halvings;
        const auto count = static_cast<index>(workers_.size());
        for (index i = 0; i < count; ++i) {
            worker& own = workers_[static_cast<std::size_t>(i)];
            own.rest = {n / count * i + std::min(i, n % count), 0};
            own.rest.end = own.rest.begin + n / count + (i < n % count ? 1 : 0);
            own.piece = leaf((own.rest.size() + 1) / 2);
        }
        left_ = n;
        random_ = 0x9E3779B97F4A7C15U;
    }

    // The worker's next piece; `stolen`: it was another worker's. Empty if nothing is left.
    range next(int rank, bool& stolen) {
        if (left_ == 0) return {};
        worker& own = workers_[static_cast<std::size_t>(rank)];
        if (own.rest.empty()) {
            worker& victim = workers_[choose_victim(static_cast<std::size_t>(rank))];
            const index half = (victim.rest.size() + 1) / 2;
            own.rest = {victim.rest.end - half, victim.rest.end};
            victim.rest.end -= half;
            own.piece = leaf(half);
            stolen = true;
        }
        const range piece{own.rest.begin, std::min(own.rest.end, own.rest.begin + own.piece)};
        own.rest.begin = piece.end;
        left_ -= piece.size();
        return piece;
    }

  private:
    struct worker {
        range rest;
        index piece = 1;
    };

    // The length at which a piece is no longer cut.
    [[nodiscard]] index leaf(index piece) const {
        for (int depth = 0; depth < halvings_ && piece > grain_; ++depth) piece = (piece + 1) / 2;
        return std::max<index>(1, piece);
    }
    // The first worker with work from a random place on. left_ > 0 guarantees that there is one.
    std::size_t choose_victim(std::size_t thief) {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        std::size_t victim = random_ % workers_.size();
        while (victim == thief || workers_[victim].rest.empty()) victim = (victim + 1) % workers_.size();
        return victim;
    }

    std::vector<worker> workers_;
    index left_ = 0;
    index grain_ = 1;
    int halvings_ = initial_depth;
    std::uint64_t random_ = 0;
};

}  // namespace tauto::sim
