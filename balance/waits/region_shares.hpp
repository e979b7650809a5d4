#pragma once
// The shares of one parallel region, learned from when its members came to their ends.

#include <array>
#include <cstdint>
#include <span>

namespace tauto::balance {

inline constexpr std::uint32_t most_members = 256;
inline constexpr std::uint32_t whole = 65'536;

/// A member's part in one run of a region: ns since the region was forked.
struct seen_part {
    double begun = 0;
    double ended = 0;
    double waited = 0;   ///< for the others in between, at barriers
    bool moved = false;  ///< to another CPU meanwhile
};

/// What a member begins late is its own: the system has to wake it up, and in a region of 0.3 ms that is a
/// large part. So a region has shares of its own, and they follow two figures of each member: how late it
/// begins, and how fast it goes on.
///
/// Invariant: shares change in `begin` and `learn` alone. The thread that forks calls them outside of the
/// region, so all members of a region read the same.
class region_shares {
  public:
    /// With so much weight for each member, 2 to `most_members` of them, one above 0; nothing is known yet.
    void begin(std::span<const std::uint32_t> weights) noexcept;

    /// From a run with these shares, with a part for each member.
    void learn(std::span<const seen_part> parts) noexcept;

    std::uint32_t members() const noexcept { return members_; }
    /// What comes before a member's share, of `whole`; before that of the last but one: `whole`.
    std::uint32_t before(std::size_t member) const noexcept { return before_[member]; }
    /// Of 1.
    double share(std::size_t member) const noexcept {
        return static_cast<double>(before_[member + 1] - before_[member]) / whole;
    }

  private:
    struct known_member {
        double weight = 0;   // by the speed of its CPU, before anything is known
        double late = 0;     // ns from the fork until it begins
        double speed = 0;    // of the whole in a ns; 0: not known
        double scatter = 0;  // ns by which it ends at another time than foreseen

        void follow(const seen_part& seen, double share, double part, bool is_first) noexcept;
        // Who ends late costs all others their time, so who ends at different times gets less.
        double from() const noexcept { return late + 0.7 * scatter; }
    };

    void share_out() noexcept;

    std::uint32_t members_ = 0;
    std::uint32_t runs_ = 0;
    std::array<std::uint32_t, most_members + 1> before_{};
    std::array<known_member, most_members> known_{};
};

}  // namespace tauto::balance
