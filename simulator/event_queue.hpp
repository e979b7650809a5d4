#pragma once
// The events of virtual time: at most one pending event for each actor, earliest first. Equal times are
// ordered by actor, so every run is the same.
//
// A heap with four children for each node: half as deep as a binary heap, and four children fill one cache
// line.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tauto::sim {

using nanoseconds = std::int64_t;
using actor_id = std::uint32_t;

// An atomic operation on a line that this core owns.
inline constexpr nanoseconds own_atomic = 5;

struct event {
    nanoseconds at = 0;
    actor_id actor = 0;
    // One comparison of 128 bits compiles without a branch. The order of two events cannot be predicted.
    [[nodiscard]] constexpr bool before(const event& other) const noexcept { return key() < other.key(); }

  private:
    __extension__ using wide = unsigned __int128;
    [[nodiscard]] constexpr wide key() const noexcept {
        return wide{static_cast<std::uint64_t>(at)} << 64 | actor;
    }
};

class event_queue {
  public:
    explicit event_queue(std::size_t actors) : place_(actors, absent) { heap_.reserve(actors); }

    [[nodiscard]] bool empty() const noexcept { return heap_.size() == (hole_ ? 1U : 0U); }
    // Events taken so far.
    [[nodiscard]] std::int64_t taken() const noexcept { return taken_; }

    // Sets the actor's event to `at` (≥ 0), in place of any earlier one. O(log actors).
    void schedule(actor_id actor, nanoseconds at) noexcept {
        const event moved{at, actor};
        const std::uint32_t place = place_[actor];
        if (place == absent) {
            // The actor of the last event usually schedules the next: its event fills the hole that take()
            // left.
            if (hole_) {
                hole_ = false;
                return sink(0, moved);
            }
            heap_.push_back(moved);
            return rise(heap_.size() - 1, moved);
        }
        if (hole_) close_hole();
        const std::uint32_t now = place_[actor];
        if (moved.before(heap_[now])) {
            rise(now, moved);
        } else {
            sink(now, moved);
        }
    }

    // Takes the earliest event out. There must be one.
    event take() noexcept {
        if (hole_) close_hole();
        const event first = heap_.front();
        place_[first.actor] = absent;
        hole_ = true;
        ++taken_;
        return first;
    }

    void cancel(actor_id actor) noexcept {
        if (place_[actor] == absent) return;
        if (hole_) close_hole();
        remove_at(place_[actor]);
    }

  private:
    static constexpr std::uint32_t absent = ~std::uint32_t{0};
    static constexpr std::size_t children = 4;

    void put(std::size_t place, const event& what) noexcept {
        heap_[place] = what;
        place_[what.actor] = static_cast<std::uint32_t>(place);
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
    [[nodiscard]] std::size_t earlier(std::size_t a, std::size_t b) const noexcept {
        return heap_[b].before(heap_[a]) ? b : a;
    }
    void sink(std::size_t place, const event& what) noexcept {
        const std::size_t count = heap_.size();
        for (;;) {
            const std::size_t first = place * children + 1;
            std::size_t least = first;
            if (first + children <= count) {
                least = earlier(earlier(first, first + 1), earlier(first + 2, first + 3));
            } else if (first < count) {
                for (std::size_t child = first + 1; child < count; ++child) least = earlier(least, child);
            } else {
                break;
            }
            if (!heap_[least].before(what)) break;
            put(place, heap_[least]);
            place = least;
        }
        put(place, what);
    }
    void remove_at(std::size_t place) noexcept {
        place_[heap_[place].actor] = absent;
        fill(place);
    }
    // Moves the last event into a gap.
    void fill(std::size_t place) noexcept {
        const event last = heap_.back();
        heap_.pop_back();
        if (place == heap_.size()) return;
        if (place > 0 && last.before(heap_[(place - 1) / children])) {
            rise(place, last);
        } else {
            sink(place, last);
        }
    }
    void close_hole() noexcept {
        hole_ = false;
        fill(0);
    }

    std::vector<event> heap_;
    std::vector<std::uint32_t> place_;  // by actor
    std::int64_t taken_ = 0;
    bool hole_ = false;  // heap_[0] was taken and not yet replaced
};

}  // namespace tauto::sim
