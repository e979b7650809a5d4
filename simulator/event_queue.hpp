#pragma once
// What happens next in virtual time: at most one pending event an actor, the earliest first, equal times in
// the order of the actors, so that every run takes the same course.
//
// A heap with four children a node: half as deep as a binary one, and four neighbours fill one cache line.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tauto::sim {

using nanoseconds = std::int64_t;
using actor_id = std::uint32_t;

struct event {
    nanoseconds at = 0;
    actor_id actor = 0;
    [[nodiscard]] constexpr bool before(const event& other) const noexcept {
        return at != other.at ? at < other.at : actor < other.actor;
    }
};

class event_queue {
  public:
    explicit event_queue(std::size_t actors) : place_(actors, absent) { heap_.reserve(actors); }

    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
    [[nodiscard]] const event& next() const noexcept { return heap_.front(); }
    [[nodiscard]] bool pending(actor_id actor) const noexcept { return place_[actor] != absent; }
    // Events taken so far.
    [[nodiscard]] std::int64_t taken() const noexcept { return taken_; }

    // The actor's event is at `at` from now on, whether it had one or not. O(log actors).
    void schedule(actor_id actor, nanoseconds at) noexcept {
        const event moved{at, actor};
        std::size_t place = place_[actor];
        if (place == absent) {
            place = heap_.size();
            heap_.push_back(moved);
            rise(place, moved);
        } else if (moved.before(heap_[place])) {
            rise(place, moved);
        } else {
            sink(place, moved);
        }
    }

    // Takes the earliest event out.
    event take() noexcept {
        const event first = heap_.front();
        remove_at(0);
        ++taken_;
        return first;
    }

    void cancel(actor_id actor) noexcept {
        if (place_[actor] != absent) remove_at(place_[actor]);
    }

  private:
    static constexpr std::size_t absent = ~std::size_t{0};
    static constexpr std::size_t children = 4;

    void put(std::size_t place, const event& what) noexcept {
        heap_[place] = what;
        place_[what.actor] = place;
    }
    void rise(std::size_t place, const event& what) noexcept {
        while (place > 0) {
            const std::size_t parent = (place - 1) / children;
            if (!what.before(heap_[parent])) break;
            put(place, heap_[parent]);
            place = parent;
        }
        put(place, what);
    }
    void sink(std::size_t place, const event& what) noexcept {
        for (;;) {
            const std::size_t first = place * children + 1;
            if (first >= heap_.size()) break;
            const std::size_t end = first + children < heap_.size() ? first + children : heap_.size();
            std::size_t least = first;
            for (std::size_t child = first + 1; child < end; ++child) {
                if (heap_[child].before(heap_[least])) least = child;
            }
            if (!heap_[least].before(what)) break;
            put(place, heap_[least]);
            place = least;
        }
        put(place, what);
    }
    void remove_at(std::size_t place) noexcept {
        place_[heap_[place].actor] = absent;
        const event last = heap_.back();
        heap_.pop_back();
        if (place == heap_.size()) return;
        if (place > 0 && last.before(heap_[(place - 1) / children])) {
            rise(place, last);
        } else {
            sink(place, last);
        }
    }

    std::vector<event> heap_;
    std::vector<std::size_t> place_;  // by actor
    std::int64_t taken_ = 0;
};

}  // namespace tauto::sim
