#pragma once
// How the iterations of a loop are shared among members.
//
// Everything here is pure: no thread, no clock, no allocation after construction. A schedule given
// (n, speeds) answers next(rank). Real members call next concurrently; a simulator calls it in virtual
// time and gets the very same decisions.
//
// The adaptive schedule's protocol: one 64-bit word a member.
//
// A member whose own share is empty steals: it is then a thief, and the member that it takes from is its
// victim.
//
// clang-format off
// | part of the word | what it says                               | who changes it                          |
// |------------------|--------------------------------------------|-----------------------------------------|
// | begin (low 32)   | first unit of the share not yet handed out | the owner, upwards, by compare-exchange |
// | end (high 32)    | end of the share                           | a thief, downwards, by compare-exchange |
// clang-format on
//
// Invariant: the units that no member has been given yet are exactly the disjoint union of the words'
// [begin, end), plus at most one range that each thief holds between its compare-exchange on the
// victim's word and its store to its own. Each compare-exchange moves units from one holder to another
// and never copies them, so every unit is handed out exactly once. Each one that succeeds hands out at
// least one unit, so the members cannot keep each other busy for ever. Only an owner whose word is empty
// stores to it, and an empty word matches no thief's expected value.
// A member may leave with units in its share (leaves_early). They stay in its word, where others take them.
// What is still there when all members have ended is run by the caller that joined them. From then on no
// word changes, so nothing is lost or run twice.
// (The same protocol, with the same names, is in verify/adaptive.pml.)
//
// In an ordered loop (adaptive_plan::order) all units are in one word, from both ends of which everybody
// takes by compare-exchange: the same invariant with no thieves. A fastest member never leaves, so nothing is
// left unless a body throws or is stopped (verify/ordered.pml).

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include <tauto/cost_order.hpp>
#include <tauto/range.hpp>
#include <tauto/signed.hpp>

namespace tauto {

// Equal contiguous shares, decided beforehand.
struct static_ {
    static constexpr std::string_view name = "static";
};
// Chunks of `chunk` iterations, dealt round-robin by rank.
struct static_chunk {
    index chunk = 1;
    static constexpr std::string_view name = "static_chunk";
};
// Chunks of `chunk` iterations from one shared counter.
struct dynamic {
    index chunk = 1;
    static constexpr std::string_view name = "dynamic";
};
// Shrinking chunks, remaining / (2 members) but at least `chunk`, from one shared counter
// (Polychronopoulos and Kuck, IEEE Trans. Computers C-36, 1987).
struct guided {
    index chunk = 1;
    static constexpr std::string_view name = "guided";
};
// Contiguous shares in proportion to the members' learned speeds, decided beforehand.
struct weighted {
    static constexpr std::string_view name = "weighted";
};
// Weighted shares, eaten from the front; an idle member takes from the back of the share that would
// finish last. In a team it also learns the speeds, and whether a loop pays for all members, some, or one;
// it runs on at most one member for each CPU, as weighted does.
struct adaptive {
    static constexpr std::string_view name = "adaptive";
};

using schedule = std::variant<adaptive, static_, static_chunk, dynamic, guided, weighted>;

// The schedule's name as written in docs, rows and traces.
[[nodiscard]] constexpr std::string_view name_of(const schedule& chosen) noexcept {
    return std::visit([](const auto& kind) { return kind.name; }, chosen);
}

// The share of `rank` when n iterations are cut into `members` contiguous pieces that differ by at most one.
[[nodiscard]] constexpr range equal_share(index n, int members, int rank) noexcept {
    const index quotient = n / members;
    const index remainder = n % members;
    const index begin = quotient * rank + std::min<index>(rank, remainder);
    return {begin, begin + quotient + (rank < remainder ? 1 : 0)};
}

namespace detail {

constexpr std::uint64_t pack_share(std::uint32_t begin, std::uint32_t end) noexcept {
    return std::uint64_t{end} << 32 | begin;
}
constexpr std::uint32_t share_begin(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
}
constexpr std::uint32_t share_end(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
}
constexpr std::uint32_t share_size(std::uint64_t word) noexcept {
    return share_end(word) > share_begin(word) ? share_end(word) - share_begin(word) : 0;
}

}  // namespace detail

// The read-only half of an adaptive loop; the words are its other half.
//
// Shares are counted in units of 2^unit_shift iterations so that begin and end fit 32 bits for any n.
struct adaptive_plan {
    index n = 0;
    int unit_shift = 0;
    int members = 1;
    // Smallest chunk an owner takes, in units: about the work that a steal costs.
    std::uint32_t grain = 1;
    // An owner takes 1/divisor of what is left of its share: 2 where speeds are known, 4 where not.
    std::uint32_t divisor = 4;
    // Largest chunk an owner takes, in units.
    std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
    // Relative speeds by rank, each > 0.
    const double* speeds = nullptr;
    // By rank, how much later than expected a member's chunk may end, as a time (units / speed). Null: no
    // member leaves early, and every steal is worth it.
    const double* margins = nullptr;
    double steal = 0;   // time that a steal takes
    double report = 0;  // time that a member other than the first needs to say that it has ended
    // Not null: a unit is a part in this order, and the first member's share has them all, for everyone.
    const detail::cost_order* order = nullptr;

    bool operator==(const adaptive_plan&) const = default;

    [[nodiscard]] std::uint32_t units() const noexcept {
        if (order != nullptr) return static_cast<std::uint32_t>(order->parts);
        return static_cast<std::uint32_t>((n + (index{1} << unit_shift) - 1) >> unit_shift);
    }
    // Without an order.
    [[nodiscard]] range iterations(std::uint32_t begin, std::uint32_t end) const noexcept {
        return {static_cast<index>(begin) << unit_shift, std::min(n, static_cast<index>(end) << unit_shift)};
    }
};

// log2 of the unit: the smallest power of two that lets all units of n iterations fit 31 bits.
constexpr int unit_shift_for(index n) noexcept {
    const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)));
    return width > 31 ? width - 31 : 0;
}

// How the iterations of a loop are dealt: to members of these relative speeds, each > 0, of which all but the
// first begin `head` later (and are waited for), as a time (iterations / speed).
struct share_rule {
    std::span<const double> speeds;
    double head = 0;

    [[nodiscard]] double start(std::size_t member) const noexcept { return member == 0 ? 0.0 : head; }
};

namespace detail {

// The time at which all members end, if iterations could be divided.
inline double common_end(const share_rule& rule, index n) noexcept {
    double total = 0;
    for (const double speed : rule.speeds) total += speed;
    return (as_double(n) + rule.head * (total - rule.speeds[0])) / total;
}

// How many iterations a member does until `end`.
inline double due(const share_rule& rule, std::size_t member, double end) noexcept {
    return rule.speeds[member] * std::max(0.0, end - rule.start(member));
}

// Deals whole iterations so that the last member ends soonest: everyone gets the whole part of what is due,
// and each of the others (fewer than members) goes to whom it takes the least time to do it too. That is
// D'Hondt's rule. bounds[member + 1] holds the size of a share, then its end. O(members²).
inline void whole_shares(const share_rule& rule, index n, double end, std::span<index> bounds) noexcept {
    index left = n;
    for (std::size_t member = 0; member < rule.speeds.size(); ++member) {
        bounds[member + 1] = std::min(left, static_cast<index>(due(rule, member, end)));
        left -= bounds[member + 1];
    }
    for (; left > 0; --left) {
        std::size_t next = 0;
        double soonest = std::numeric_limits<double>::infinity();
        for (std::size_t member = 0; member < rule.speeds.size(); ++member) {
            const double then = rule.start(member) + as_double(bounds[member + 1] + 1) / rule.speeds[member];
            if (then < soonest) {
                soonest = then;
                next = member;
            }
        }
        ++bounds[next + 1];
    }
    for (std::size_t member = 0; member < rule.speeds.size(); ++member) bounds[member + 1] += bounds[member];
}

}  // namespace detail

// Cuts [0, n) into contiguous shares that end together: bounds[0..members] ascending, bounds[0] = 0 and
// bounds[members] = n. Long shares end on round indices, so that two members do not write one cache line of
// the result; short ones are whole iterations. O(members), for short shares O(members²).
inline void weighted_bounds(index n, const share_rule& rule, std::span<index> bounds) noexcept {
    const std::size_t members = rule.speeds.size();
    double end = detail::common_end(rule, n);
    if (end < rule.head) end = detail::as_double(n) / rule.speeds[0];  // the first member alone is sooner
    const index mean = n / static_cast<index>(members);
    bounds[0] = 0;
    if (mean < 16) return detail::whole_shares(rule, n, end, bounds);
    // At most 16 elements (a cache line of floats), and off by at most 1 % of a share.
    const auto limit = static_cast<std::uint64_t>(std::clamp<index>(mean / 60, 1, 16));
    const auto step = static_cast<index>(std::bit_floor(limit));
    double sum = 0;
    for (std::size_t member = 0; member + 1 < members; ++member) {
        sum += detail::due(rule, member, end);
        const auto exact = static_cast<index>(sum + 0.5);
        const index rounded = (exact + step / 2) / step * step;
        bounds[member + 1] = std::clamp(rounded, bounds[member], n);
    }
    bounds[members] = n;
}

// Stores each member's share between the bounds into its word, before anybody takes from it: share_of(rank)
// gives the word of a member. O(members).
template <class ShareOf>
void deal_shares(const adaptive_plan& plan, std::span<const index> bounds, ShareOf&& share_of) noexcept {
    const auto unit = [&](int rank) {
        return rank == plan.members ? plan.units()
                                    : static_cast<std::uint32_t>(detail::at(bounds, rank) >> plan.unit_shift);
    };
    for (int rank = 0; rank < plan.members; ++rank) {
        share_of(rank).store(detail::pack_share(unit(rank), unit(rank + 1)), std::memory_order_relaxed);
    }
}

// How many units of the `left` ones an owner takes from the front.
inline std::uint32_t front_count(const adaptive_plan& plan, std::uint32_t left) noexcept {
    std::uint32_t count = std::min(plan.most, std::max(plan.grain, left / plan.divisor));
    if (count >= 16) count = (count + 3) & ~std::uint32_t{3};
    // A rest below half a grain would cost a claim and be worth no steal.
    return count >= left || left - count < (plan.grain + 1) / 2 ? left : count;
}

// The owner's next chunk from the front of its own share; empty when the share is.
inline range take_front(const adaptive_plan& plan, std::atomic<std::uint64_t>& share) noexcept {
    // Relaxed: the word carries no data but itself; what a body reads was published by the launch.
    std::uint64_t word = share.load(std::memory_order_relaxed);
    for (;;) {
        const std::uint32_t left = detail::share_size(word);
        if (left == 0) return {};
        const std::uint32_t begin = detail::share_begin(word);
        const std::uint32_t count = front_count(plan, left);
        const std::uint64_t rest = detail::pack_share(begin + count, detail::share_end(word));
        if (share.compare_exchange_weak(word, rest, std::memory_order_relaxed)) {
            return plan.iterations(begin, begin + count);
        }
    }
}

// How much of a chunk that a member was handed may be undone yet, in units: half of the least or, while its
// share is long, half of about what it took last.
inline double in_hand(const adaptive_plan& plan, std::uint32_t left) noexcept {
    return 0.5 * std::max(plan.grain, left);
}

// True when the others would finish the loop without `rank` sooner than its next chunk might end: then it
// should leave the rest of its share to them. This happens near the end of a loop, when a slow member would
// begin a long iteration, or when a member that is often held up would begin any. O(members), near the end
// only.
template <class ShareOf>
bool leaves_early(const adaptive_plan& plan, ShareOf&& share_of, int rank) noexcept {
    if (plan.margins == nullptr) return false;
    const std::uint32_t left = detail::share_size(share_of(rank).load(std::memory_order_relaxed));
    if (left == 0) return false;
    const double count = front_count(plan, left);
    const double chunk_end = count / plan.speeds[rank] + plan.margins[rank];
    // All shares end at about the same time, so this member's share tells how far off the end is.
    if (left / plan.speeds[rank] > 2 * chunk_end) return false;
    double units = left;
    double speed = 0;
    double soonest = 0;  // the best time of one other member that also takes the next chunk
    for (int other = 0; other < plan.members; ++other) {
        if (other == rank) continue;
        const std::uint32_t theirs = detail::share_size(share_of(other).load(std::memory_order_relaxed));
        const double work = theirs + in_hand(plan, theirs);
        units += work;
        speed += plan.speeds[other];
        const double end = (work + count) / plan.speeds[other];
        soonest = speed == plan.speeds[other] ? end : std::min(soonest, end);
    }
    return plan.members > 1 && chunk_end > std::max(soonest, units / speed);
}

// True when the thief might do `count` of the victim's `left` units sooner than the victim does all of them.
inline bool worth_stealing(const adaptive_plan& plan, int thief, int victim, std::uint32_t count,
                           std::uint32_t left) noexcept {
    if (plan.margins == nullptr) return true;
    const double own = plan.steal + count / plan.speeds[thief] + plan.margins[thief];
    return own + (thief == 0 ? 0.0 : plan.report) <=
           (left + in_hand(plan, left)) / plan.speeds[victim] + (victim == 0 ? 0.0 : plan.report);
}

// Takes from the back of one victim's share, in proportion to the two speeds, so that both would finish
// together; the thief's first chunk is returned and the rest becomes its own share. Empty when a race was
// lost, when the victim has nothing left, or when it is better left to the victim (`refused`). share_of(rank)
// gives the word of a member. The thief keeps its first chunk in hand and never publishes it: if it did, two
// idle members could take one unit from each other for ever, and neither would run it.
template <class ShareOf>
range steal_from(const adaptive_plan& plan, ShareOf&& share_of, int thief, int victim,
                 bool& refused) noexcept {
    std::atomic<std::uint64_t>& theirs = share_of(victim);
    std::uint64_t word = theirs.load(std::memory_order_relaxed);
    const std::uint32_t left = detail::share_size(word);
    if (left == 0) return {};
    const double speed = plan.speeds[thief];
    const double part = detail::as_double(left) * (speed / (speed + plan.speeds[victim]));
    // Less than a grain is not worth a transfer, and a rest below that is better taken whole.
    const std::uint32_t wanted = std::max(plan.grain, static_cast<std::uint32_t>(part + 0.5));
    const std::uint32_t count =
        left - std::min(left, wanted) < plan.grain / 2 ? left : std::min(left, wanted);
    if (!worth_stealing(plan, thief, victim, count, left)) {
        refused = true;
        return {};
    }
    const std::uint32_t end = detail::share_end(word);
    const std::uint64_t rest = detail::pack_share(detail::share_begin(word), end - count);
    if (!theirs.compare_exchange_strong(word, rest, std::memory_order_relaxed)) return {};
    // Between here and the store below the units are in this member's hands alone.
    const std::uint32_t begin = end - count;
    const std::uint32_t first = front_count(plan, count);
    share_of(thief).store(detail::pack_share(begin + first, end), std::memory_order_relaxed);
    return plan.iterations(begin, begin + first);
}

// The member (not `thief`) whose share would finish last, or -1 when no share has anything left. O(members).
template <class ShareOf>
int last_to_finish(const adaptive_plan& plan, ShareOf&& share_of, int thief) noexcept {
    int latest = -1;
    double longest = 0;
    for (int step = 1; step < plan.members; ++step) {
        const int rank = (thief + step) % plan.members;
        const std::uint32_t left = detail::share_size(share_of(rank).load(std::memory_order_relaxed));
        const double time = detail::as_double(left) / plan.speeds[rank];
        if (left > 0 && time > longest) {
            longest = time;
            latest = rank;
        }
    }
    return latest;
}

// The next range for `rank`: from its own share, else stolen; empty when no share has anything left that it
// should take. `victim_of(rank)` answers as last_to_finish does.
// `steals` counts successful steals. Lock-free: a failed attempt means that another member took units.
template <class ShareOf, class VictimOf>
range adaptive_next(const adaptive_plan& plan, ShareOf&& share_of, VictimOf&& victim_of, int rank,
                    int& steals) noexcept {
    range chunk = take_front(plan, share_of(rank));
    while (chunk.empty()) {
        const int victim = victim_of(rank);
        if (victim < 0) return {};
        bool refused = false;
        chunk = steal_from(plan, share_of, rank, victim, refused);
        if (refused) return {};
        if (!chunk.empty()) ++steals;
    }
    return chunk;
}

template <class ShareOf>
range adaptive_next(const adaptive_plan& plan, ShareOf&& share_of, int rank, int& steals) noexcept {
    const auto victim_of = [&](int thief) { return last_to_finish(plan, share_of, thief); };
    return adaptive_next(plan, share_of, victim_of, rank, steals);
}

// The next part of an ordered loop: fast members take the most expensive one, slow ones the cheapest. A slow
// one leaves (`left_early`) when the others would finish all that is left sooner than it this part; a fastest
// one never does.
inline range take_in_order(const adaptive_plan& plan, std::atomic<std::uint64_t>& share, int rank,
                           bool& left_early) noexcept {
    constexpr double slow_part = 0.6;  // of the fastest member's speed
    const detail::cost_order& order = *plan.order;
    const double speed = plan.speeds[rank];
    const bool slow = speed < slow_part * order.fastest;
    std::uint64_t word = share.load(std::memory_order_relaxed);
    for (;;) {
        if (detail::share_size(word) == 0) return {};
        const std::uint32_t begin = detail::share_begin(word);
        const std::uint32_t end = detail::share_end(word);
        if (slow) {
            // Half of what a fast member took last may be undone yet.
            const double in_others_hands = 0.5 * order.time(begin, begin + 1) / order.fastest;
            const double by_others = order.time(begin, end) / (order.total_speed - speed) + in_others_hands;
            left_early = order.time(end - 1, end) / speed > by_others;
            if (left_early) return {};
        }
        const std::uint64_t rest =
            slow ? detail::pack_share(begin, end - 1) : detail::pack_share(begin + 1, end);
        if (share.compare_exchange_weak(word, rest, std::memory_order_relaxed))
            return order.iterations(plan.n, slow ? end - 1 : begin);
    }
}

// The iterations of the units in a share word, as ranges: use(range) for each, until it says false.
template <class Use>
void for_each_left(const adaptive_plan& plan, std::uint64_t word, Use&& use) {
    const std::uint32_t end = detail::share_end(word);
    if (detail::share_size(word) == 0) return;
    if (plan.order == nullptr) {
        use(plan.iterations(detail::share_begin(word), end));
        return;
    }
    for (std::uint32_t place = detail::share_begin(word); place < end; ++place) {
        if (!use(plan.order->iterations(plan.n, place))) return;
    }
}

// What one member of an adaptive loop may do besides taking from its own share.
struct adaptive_rights {
    // A look at the other shares costs one transfer at the end of a loop; in loops of a few microseconds only
    // the caller, who would wait anyway, looks for more.
    bool steal = true;
    bool leave = false;  // near the loop's end, see leaves_early
    bool timed = false;  // its chunks are timed

    bool operator==(const adaptive_rights&) const = default;
};

// What `rank` runs first, or after a chunk (`begun`); empty when it has come to its end. It leaves early
// (`left_early`) with units in its share. `own` is share_of(rank): a member's first chunk needs no other
// line.
template <class ShareOf, class VictimOf>
range member_next(const adaptive_plan& plan, adaptive_rights may, std::atomic<std::uint64_t>& own,
                  ShareOf&& share_of, VictimOf&& victim_of, int rank, bool begun, int& steals,
                  bool& left_early) noexcept {
    if (plan.order != nullptr) return take_in_order(plan, share_of(0), rank, left_early);
    if (begun && may.leave && leaves_early(plan, share_of, rank)) {
        left_early = true;
        return {};
    }
    const range chunk = take_front(plan, own);
    if (!chunk.empty() || !may.steal) return chunk;
    return adaptive_next(plan, share_of, victim_of, rank, steals);
}

// The whole state of one loop under any schedule. Members call next(rank), each with its own rank,
// concurrently, until it answers an empty range. A worksharing is built once for `max_members` and reset
// for each loop; reset must not run together with next.
class worksharing {
  public:
    explicit worksharing(int max_members)
        : lines_(std::make_unique<line[]>(detail::usize(max_members))),
          speeds_(std::make_unique<double[]>(detail::usize(max_members))),
          bounds_(std::make_unique<index[]>(detail::usize(max_members) + 1)),
          max_members_(max_members) {}

    // n ≥ 0 iterations; speeds[rank] > 0 are relative, one a member, at most max_members of them.
    // Chunks below 1 count as 1. O(members).
    void reset(const schedule& chosen, index n, std::span<const double> speeds) noexcept;

    // The next range of iterations for `rank`, or an empty one when there is nothing left for it.
    [[nodiscard]] range next(int rank) noexcept;

    // True when each member is handed its whole share at once.
    [[nodiscard]] bool hands_out_shares() const noexcept {
        return std::holds_alternative<static_>(chosen_) || std::holds_alternative<weighted>(chosen_);
    }

    // Successful steals of `rank` since reset.
    [[nodiscard]] int steals(int rank) const noexcept { return detail::at(lines_, rank).steals; }
    [[nodiscard]] int max_members() const noexcept { return max_members_; }

  private:
    // One cache line and its neighbour (the prefetcher pairs them) a member.
    struct alignas(128) line {
        std::atomic<std::uint64_t> share{0};
        // Only the owner's. static_chunk: its next chunk; static_ and weighted: 1 once handed out.
        index cursor = 0;
        int steals = 0;
    };
    range next_of(const static_&, line& own, int rank) const noexcept {
        return own.cursor++ == 0 ? equal_share(plan_.n, plan_.members, rank) : range{};
    }
    range next_of(const static_chunk&, line& own, int rank) const noexcept;
    range next_of(const dynamic&, line&, int) noexcept;
    range next_of(const guided&, line&, int) noexcept;
    range next_of(const weighted&, line& own, int rank) const noexcept {
        return own.cursor++ == 0 ? range{detail::at(bounds_, rank), detail::at(bounds_, rank + 1)} : range{};
    }
    range next_of(const adaptive&, line& own, int rank) noexcept {
        return adaptive_next(
            plan_, [this](int r) -> auto& { return detail::at(lines_, r).share; }, rank, own.steals);
    }

    std::unique_ptr<line[]> lines_;
    std::unique_ptr<double[]> speeds_;
    std::unique_ptr<index[]> bounds_;
    int max_members_;
    adaptive_plan plan_;
    schedule chosen_;
    index chunk_ = 1;
    alignas(128) std::atomic<index> counter_{0};
};

inline void worksharing::reset(const schedule& chosen, index n, std::span<const double> speeds) noexcept {
    chosen_ = chosen;
    plan_ = {.n = n,
             .unit_shift = unit_shift_for(n),
             .members = detail::int_size(speeds),
             .grain = 1,
             .divisor = 4,
             .speeds = speeds_.get()};
    std::copy(speeds.begin(), speeds.end(), speeds_.get());
    const index chunk = std::visit(
        [](const auto& kind) -> index {
            if constexpr (requires { kind.chunk; }) return kind.chunk;
            return 1;
        },
        chosen);
    // All members may add a chunk to the counter after the last one was taken.
    const index most = (std::numeric_limits<index>::max() - n) / std::max(1, plan_.members);
    chunk_ = std::max<index>(1, std::min({chunk, n, most}));
    counter_.store(0, std::memory_order_relaxed);
    weighted_bounds(n, {speeds}, {bounds_.get(), speeds.size() + 1});
    for (int rank = 0; rank < plan_.members; ++rank) {
        line& own = detail::at(lines_, rank);
        own.cursor = 0;
        own.steals = 0;
    }
    deal_shares(
        plan_, {bounds_.get(), speeds.size() + 1}, [this](int rank) -> auto& {
            return detail::at(lines_, rank).share;
        });
}

inline range worksharing::next_of(const static_chunk&, line& own, int rank) const noexcept {
    const index chunks = plan_.n / chunk_ + (plan_.n % chunk_ != 0 ? 1 : 0);
    const index chunk = own.cursor * plan_.members + rank;
    if (chunk >= chunks) return {};
    ++own.cursor;
    return {chunk * chunk_, chunk == chunks - 1 ? plan_.n : (chunk + 1) * chunk_};
}

inline range worksharing::next_of(const dynamic&, line&, int) noexcept {
    // A bare fetch_add could overflow for n near 2^63 when members keep asking.
    if (counter_.load(std::memory_order_relaxed) >= plan_.n) return {};
    const index begin = counter_.fetch_add(chunk_, std::memory_order_relaxed);
    if (begin >= plan_.n) return {};
    return {begin, chunk_ > plan_.n - begin ? plan_.n : begin + chunk_};
}

inline range worksharing::next_of(const guided&, line&, int) noexcept {
    index begin = counter_.load(std::memory_order_relaxed);
    for (;;) {
        const index left = plan_.n - begin;
        if (left <= 0) return {};
        const index count = std::min(left, std::max(chunk_, left / (2 * plan_.members)));
        if (counter_.compare_exchange_weak(begin, begin + count, std::memory_order_relaxed)) {
            return {begin, begin + count};
        }
    }
}

inline range worksharing::next(int rank) noexcept {
    line& own = detail::at(lines_, rank);
    return std::visit([&](const auto& kind) { return next_of(kind, own, rank); }, chosen_);
}

}  // namespace tauto
