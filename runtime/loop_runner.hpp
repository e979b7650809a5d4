#pragma once
// One loop from its call to its report, under each schedule.

#include <span>
#include <vector>

#include <tauto/team.hpp>

#include "launcher.hpp"

namespace tauto::detail {

// Runs the loop on the calling thread alone, as this member. True when every iteration ran, as all below.
[[nodiscard]] bool run_inline(const loop_call& call, int rank);

// An adaptive loop that the model wants run on the calling thread alone. It needs no member.
[[nodiscard]] inline bool runs_alone(const loop_call& call, const loop_model& model) noexcept {
    return model.width() == 1 || call.n == 1;
}
// Such a loop took so many ticks.
void record_alone(const loop_call& call, loop_model& model, std::int64_t elapsed);

class loop_runner {
  public:
    explicit loop_runner(launcher& members);
    // static_, static_chunk, dynamic and guided: all members, nothing learned.
    [[nodiscard]] bool run_schedule(const loop_call& call);
    // One member a CPU, with shares by the speeds in the model, which learns from this call.
    [[nodiscard]] bool run_weighted(const loop_call& call, loop_model& model);
    // As many members as the model says, one a CPU at most. Not where runs_alone().
    [[nodiscard]] bool run_adaptive(const loop_call& call, loop_model& model);

  private:
    void run_shared(const loop_call& call, std::span<const int> ranks, std::span<const double> speeds);
    void prepare(const loop_call& call, std::span<const int> ranks);
    // A model's ranks are places in members_.one_a_cpu. `own_starts`: of the members, who noted them.
    void record_members(loop_model& model, std::span<const int> places, std::int64_t end,
                        bool own_starts) const;
    // Of a timed call.
    void record_chunks(loop_model& model, std::span<const int> places, index n) const;
    // Reports the loop; true when every iteration of it ran.
    [[nodiscard]] bool finish(const loop_call& call) const;

    launcher& members_;
    worksharing shared_;
    std::vector<double> equal_speeds_;
};

}  // namespace tauto::detail
