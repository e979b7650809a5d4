#pragma once
// Loops inside of bodies: members with nothing to do join them.
//
// A member that comes to such a loop opens it at its place: it has all iterations in its share, and who joins
// steals from there as in any adaptive loop (schedule.hpp). Nobody is called, so a loop that nobody joins
// costs its member half a microsecond.
//
// clang-format off
// | variable       | what it says                                         | who changes it                   |
// |----------------|------------------------------------------------------|----------------------------------|
// | place.loop     | the open loop, or null                               | the place's member               |
// | place.inside   | members that look at the loop or run parts of it     | they: up before they look at     |
// |                |                                                      | `loop`, down when they have left |
// | place.has_more | a hint that the loop has iterations to give          | anybody in it                    |
// clang-format on
//
// Invariant: a loop lives in the frame of its member, which leaves it only once `inside` is 0 after `loop`
// was set to null. Two fences, between a member's count and its look at `loop`, and between the null and the
// look at `inside`, let the one see null or the other the count (Dekker's pattern; verify/join.pml has the
// same names). Who counts itself out releases what it wrote; the loop's member acquires that with the 0.
//
// A member that waits for those inside runs parts of its own loop, and of what is in its bodies (scopes.hpp):
// the scope of each body is within the loop's. So no body begins on a member in the middle of another one,
// but where the latter waits for it; and no loop's end waits for what has no part in it.

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <tauto/idle_members.hpp>
#include <tauto/range.hpp>
#include <tauto/scopes.hpp>
#include <tauto/signed.hpp>

namespace tauto::detail {

struct loop_call;
class open_loop;

// The loops that are open in one outermost call at a time.
class open_loops {
  public:
    open_loops(int members, idle_members& idle, scopes& all);
    open_loops(const open_loops&) = delete;
    open_loops& operator=(const open_loops&) = delete;
    ~open_loops();

    // Before the outermost call, when no loop is open. `speeds`: of the members by rank, relative, each > 0;
    // none: as if equal.
    void begin(std::vector<double> speeds);

    // Called by the member `rank` with a loop in a body that it runs. True when every iteration ran. Rethrows
    // what the lowest iteration that threw has thrown.
    [[nodiscard]] bool run(const loop_call& call, int rank);
    // The same for the outermost loop: each member has a share of it from the start.
    [[nodiscard]] bool run_dealt(const loop_call& call);
    // True if a loop was opened by run since then.
    [[nodiscard]] bool any_opened() const noexcept { return any_opened_.load(std::memory_order_relaxed); }

    // Called by a member with nothing to do. Runs parts of an open loop that is within a scope; false where
    // none had any.
    bool join(int rank, scope within) noexcept;

    // For the explorer of verify/, which names it: of a member's outermost loop.
    [[nodiscard]] const std::atomic<int>& inside(int rank) noexcept { return place_of(rank, 0).inside; }

  private:
    friend class open_loop;
    // Loops as deep as that are open; deeper ones stay where they are.
    static constexpr int most_deep = 4;
    struct alignas(128) line {
        std::atomic<std::uint64_t> share{0};
        index iterations = 0;  // of the loop that is open: what its rank did, and how often it stole
        int steals = 0;
    };
    struct alignas(128) place {
        std::atomic<open_loop*> loop{nullptr};
        std::atomic<int> inside{0};
        std::atomic<bool> has_more{false};
        std::unique_ptr<line[]> lines;  // by rank; made for the first loop at this place
    };
    // What a member alone touches.
    struct alignas(128) own_state {
        int deep = 0;  // its open loops
    };

    bool open(const loop_call& call, int rank, bool dealt);
    bool report(const loop_call& call, const place& here) const;
    bool join_at(place& there, int rank, scope within) noexcept;
    void await_others(open_loop& loop, place& here, int rank) noexcept;
    [[nodiscard]] place& place_of(int rank, int deep) noexcept {
        return at(places_, rank * most_deep + deep);
    }

    int members_;
    std::vector<double> speeds_;
    idle_members& idle_;
    scopes& scopes_;
    std::unique_ptr<place[]> places_;
    std::unique_ptr<own_state[]> own_;
    // Both change seldom and in one direction, so they stay in every member's cache.
    alignas(128) std::atomic<int> depth_{0};  // places of a member that were in use
    std::atomic<bool> any_opened_{false};
};

}  // namespace tauto::detail
