#pragma once
// What a team knows of its loops: what a launch costs, and what each call site has taught.

#include <atomic>
#include <forward_list>

#include <tauto/team.hpp>

#include "launcher.hpp"

namespace tauto::detail {

class recorder {
  public:
    // Times launch and join for each width that can matter. Once, before the first loop.
    void measure_launches(launcher& members);
    // Of launching and joining all members, one a CPU at most, at best.
    [[nodiscard]] double fork_ticks() const noexcept { return fork_ticks_; }

    // The model of loops of n at the site whose record `slot` points to; the first call makes both.
    loop_model& model_of(std::atomic<site_record*>& slot, index n);

  private:
    loop_model_options options_;
    double fork_ticks_ = 0;
    // Lists, whose one change is a store of their head: a child may have been forked at any moment of a call.
    std::forward_list<site_record> records_;
    std::forward_list<loop_model> models_;
};

}  // namespace tauto::detail
