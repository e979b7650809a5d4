#pragma once
// Shares of static loops for each member of a team: what the thread that forks regions knows of them.

#include <array>
#include <atomic>
#include <cstdint>

#include "balance/waits/marks.hpp"
#include "balance/waits/region_shares.hpp"

namespace tauto::balance {

inline constexpr std::uint32_t most_regions = 64;

/// What a member tells of its part. Written by it, read by the thread that forks after the join. Times are of
/// CLOCK_MONOTONIC in ns.
struct alignas(64) member_part {
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> waited{0};
    std::atomic<std::uint32_t> run{0};       ///< of which run of a region these are
    std::atomic<std::uint32_t> barriers{0};  ///< that it came to
    std::atomic<std::uint16_t> cpu{0};       ///< on which it began
    std::atomic<bool> moved{false};          ///< to another until its end
    std::atomic<bool> asked{false};          ///< for its share of a loop
};

/// What a thread that forks regions remembers of its team, from one region to the next.
///
/// Invariant: `regions` and their shares change only when this thread forks a region or has joined it, and is
/// in none, so all members of a region read the same as long as it lasts. This, and not whether a CPU is the
/// right one, is what results depend on: whichever shares these are, each iteration is in one of them.
struct team_shares {
    struct region {
        const void* code = nullptr;  ///< null: free
        std::uint32_t seats = 0;     ///< which these shares are for
        bool is_shared = true;       ///< it has a loop whose shares were asked for
        bool is_short = false;       ///< so that who waits in it had better spin
        double length = 0;           ///< ns from barrier to barrier in its last runs; 0: not known
        region_shares shares;
    };
    std::array<region, most_regions> regions{};

    std::uint32_t sequence = 0;  ///< of the speeds that `weights` were made from
    std::uint32_t seats = 0;     ///< goes up when a member gets another CPU, or the team another size
    std::uint32_t members = 0;   ///< with a weight each; 0: all loops are shared out equally
    std::uint32_t runs = 0;
    /// Milliseconds for which threads spun before the runtime was told otherwise; negative: it was not.
    int usual_spin_time = -1;
    int spin_time = 0;  ///< as it was told last
    std::array<std::uint32_t, most_members> weights{};
    std::array<std::uint16_t, most_members> cpus{};
    std::array<seen_part, most_members> seen{};  ///< in the last run; too large for a small stack
    // Written by members in their parts, read by the thread that forks after the join.
    std::atomic<bool> moved{false};
    std::atomic<std::uint32_t> size{0};
    std::array<member_part, most_members> parts{};
};

/// One run of a region, on the stack of the thread that forks. `team` is null where no loops are shared out,
/// and `shares` where they are shared out equally.
struct shared_run {
    team_shares* team = nullptr;
    team_shares::region* region = nullptr;
    region_shares* shares = nullptr;
    bool spins = false;
    std::uint64_t forked = 0;
    std::uint32_t number = 0;
};

/// For the region with this code, which this thread forks now.
shared_run begin_run(const void* code) noexcept;

/// By the same thread, after the join.
void end_run(const shared_run& run) noexcept;

/// A member begins its part: where it runs now counts for the next region.
void note_begin(const shared_run& run, std::int32_t member) noexcept;

/// It has done its part.
void note_end(const shared_run& run, std::int32_t member, const shared_part& part) noexcept;

/// When a thread ends.
void forget_team() noexcept;

}  // namespace tauto::balance
