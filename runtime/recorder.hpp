#pragma once
// What a team knows of its loops: what a launch costs, and what each call site has taught.

#include <atomic>
#include <memory>
#include <vector>

#include <tauto/team.hpp>

#include "launcher.hpp"

namespace tauto::detail {

class recorder {
  public:
    // Times launch and join for each width that can matter. Once, before the first loop.
    void measure_launches(launcher& members, const std::vector<int>& cpus);
    // Of launching and joining all members, at best.
    [[nodiscard]] double fork_ticks() const noexcept { return fork_ticks_; }
    [[nodiscard]] double microsecond() const noexcept { return options_.microsecond; }

    // The model of loops of n at the site whose record `slot` points to; the first call makes both.
    loop_model& model_of(std::atomic<site_record*>& slot, index n);

  private:
    loop_model_options options_;
    double fork_ticks_ = 0;
    std::vector<std::unique_ptr<site_record>> records_;
    std::vector<std::unique_ptr<loop_model>> models_;
};

}  // namespace tauto::detail
