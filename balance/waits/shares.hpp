#pragma once
// Shares of a static loop for each member of a team, by the speed of the CPU on which it was seen last.

#include <array>
#include <atomic>
#include <cstdint>

namespace tauto::balance {

inline constexpr std::uint32_t most_members = 256;
inline constexpr std::uint32_t whole = 65'536;

/// What a thread that forks regions remembers of its team, from one region to the next.
///
/// Invariant: `members` and `before` change only when this thread forks a region and is in none, so all
/// members of a region read the same as long as it lasts. This, and not whether a CPU is the right one, is
/// what results depend on: whichever shares these are, each iteration is in one of them.
struct team_shares {
    std::uint32_t members = 0;  ///< 0: all loops are shared out equally
    /// What comes before a member's share, of `whole`.
    std::array<std::uint32_t, most_members + 1> before{};

    std::uint32_t sequence = 0;  ///< of the speeds that these were made for
    // Written by members in their parts, read by the thread that forks after the join.
    std::atomic<bool> moved{false};
    std::atomic<std::uint32_t> size{0};
    std::array<std::atomic<std::uint16_t>, most_members> cpu{};
};

/// The shares for a region that this thread forks now; null where loops are shared out equally.
team_shares* shares_of_next_region() noexcept;

/// A member begins its part: where it runs now counts for the next region.
void note_member(team_shares& team, std::int32_t member) noexcept;

/// When a thread ends.
void forget_team() noexcept;

}  // namespace tauto::balance
