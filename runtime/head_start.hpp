#pragma once
// Whether members share the tasks of a recursion at once, or its caller is alone at first.

#include <cstdint>

namespace tauto::detail {

// A member that takes a task of a short recursion may cost more than it brings: its caller waits for it, and
// a slow core takes longer for it than the caller would. How long a call will take nobody knows; but where
// its caller is alone for the first 100 us, the short ones have ended when members come, and the long ones do
// not feel it.
//
// Both ways are tried in pairs of calls, in an order by chance. What counts is the mean of the logarithms of
// their times' ratios, so that calls of all lengths count alike. Once it is three standard errors away from
// 0, or after 64 pairs, the better way is taken. Both are tried again after 256 calls, after twice as many
// each time that the choice stays, and at once where calls take twice or half as long as they did, and differ
// from that by more than from each other.
//
// To wake a member takes longer than a short call. So where the caller is alone, and none of some hundred
// calls took three times as long as that, members that sleep are woken once, and then doze: they look by
// themselves every 10 ms (team.hpp).
//
// Used by the thread that has the team's turn.
class head_start {
  public:
    struct way {
        std::int64_t alone = 0;  // ticks that the caller is alone
        bool wakes = true;       // members that doze
    };
    // Of the next call.
    [[nodiscard]] way next() noexcept;
    // What that call took, in ticks.
    void note(std::int64_t took) noexcept;

  private:
    struct trial {
        int pairs = 0;
        double mean = 0;     // of the logarithms of ratios, at once by alone
        double squares = 0;  // of the distances from it
        double first = 0;    // the logarithm of what the first call of the pair took
        bool in_second = false;
    };
    void note_pair(double at_once_by_alone) noexcept;
    [[nodiscard]] bool is_known() const noexcept;
    void choose(bool alone) noexcept;

    static constexpr int least_patience = 256;
    static constexpr int most_patience = 16'384;

    bool trying_ = true;
    bool alone_ = false;  // the way of the next call
    trial trial_;
    bool chosen_ = false;  // whether to be alone
    int patience_ = least_patience;
    int calls_left_ = 0;      // until both are tried again
    double longest_ = 0;      // ticks of a call, forgotten with time
    double recent_ = 0;       // the mean logarithm of what calls took
    double distance_ = 0;     // of calls from it, in the mean
    double when_chosen_ = 0;  // the same then
    std::uint64_t chance_ = 1;
};

}  // namespace tauto::detail
