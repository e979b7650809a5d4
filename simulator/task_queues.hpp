#pragma once
// A model of oneTBB's auto_partitioner. The range is first cut into four pieces a worker, as its initial
// divisor does; a worker runs its own pieces front to back, and one without work takes the last half of what
// another has left, choosing its victim at random, as thieves there do. Stolen ranges are cut in four again.
//
// No code of oneTBB is in here; the rules were read in its documentation and in partitioner.h's comments.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <tauto/range.hpp>

namespace tauto::sim {

class task_queues {
  public:
    explicit task_queues(int workers) : workers_(static_cast<std::size_t>(workers)) {}

    void reset(index n) {
        const auto count = static_cast<index>(workers_.size());
        for (index i = 0; i < count; ++i) {
            worker& own = workers_[static_cast<std::size_t>(i)];
            own.rest = {n / count * i + std::min(i, n % count), 0};
            own.rest.end = own.rest.begin + n / count + (i < n % count ? 1 : 0);
            own.piece = std::max<index>(1, own.rest.size() / 4);
        }
        left_ = n;
        random_ = 0x9E3779B97F4A7C15U;
    }

    // The worker's next piece; `stolen` where it was another's. Empty when nothing is left anywhere.
    range next(int rank, bool& stolen) {
        if (left_ == 0) return {};
        worker& own = workers_[static_cast<std::size_t>(rank)];
        if (own.rest.empty()) {
            worker& victim = workers_[choose_victim(static_cast<std::size_t>(rank))];
            const index half = (victim.rest.size() + 1) / 2;
            own.rest = {victim.rest.end - half, victim.rest.end};
            victim.rest.end -= half;
            own.piece = std::max<index>(1, half / 4);
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

    // From a random place on, the first that has something. left_ > 0 promises that there is one.
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
    std::uint64_t random_ = 0;
};

}  // namespace tauto::sim
