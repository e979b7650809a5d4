#pragma once
// In the middle of which bodies members are, so that one that waits there begins nothing that its body does
// not wait for.
//
// A scope is one run of a loop's body, a loop as a whole, or an isolated function, on a member. What members
// share, a task or an open loop, was made in one: the innermost around it. Whoever runs a task is in the
// scope that it was made in. A member that waits runs what was made in its scope or within it: its body waits
// for all of that. So nothing begins in the middle of a body but for that body, and no task waits below the
// work of another body.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include <tauto/signed.hpp>

namespace tauto::detail {

// A scope's number, as long as it lasts; then the next one on its member may have it.
using scope = std::uint32_t;
inline constexpr scope no_scope = 0;  // outside of all bodies: everything is within it
// Of a member in more scopes than are counted: nothing is within it, and it is in none but the outermost.
inline constexpr scope empty_scope = ~scope{0};

class scopes {
  public:
    explicit scopes(int members) : own_(std::make_unique<own_scopes[]>(usize(members))) {}

    // Called by a member that enters a scope which is within `around`. empty_scope where it is in too many.
    [[nodiscard]] scope enter(int rank, scope around) noexcept {
        own_scopes& own = at(own_, rank);
        if (own.entered == most) return empty_scope;
        own.around[own.entered].store(around, std::memory_order_relaxed);
        return 1 + static_cast<scope>(rank) * most + own.entered++;
    }
    // In the opposite order. What was made in the scope has ended.
    void leave(int rank, scope left) noexcept {
        if (left != empty_scope) --at(own_, rank).entered;
    }

    // Called with the scope of something that has not ended when the answer counts: so it lasts, and all
    // around it do. Otherwise the answer may be wrong.
    [[nodiscard]] bool is_within(scope one, scope other) const noexcept {
        if (other == no_scope) return true;
        if (other == empty_scope) return false;
        for (int steps = 0; one != other; ++steps) {
            if (one == no_scope || one == empty_scope || steps == most_steps) return false;
            // Relaxed: it was written before the thing was shared.
            one = own_[(one - 1) / most].around[(one - 1) % most].load(std::memory_order_relaxed);
        }
        return true;
    }

  private:
    static constexpr scope most = 15;      // of a member at a time
    static constexpr int most_steps = 64;  // wrong ones could go round in a circle
    struct alignas(128) own_scopes {
        scope entered = 0;
        std::array<std::atomic<scope>, most> around{};
    };
    std::unique_ptr<own_scopes[]> own_;
};

}  // namespace tauto::detail
