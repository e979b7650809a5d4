#pragma once
// How many parts of one region each runner of a row (part_row.hpp) has, learned from its runs.

#include <array>
#include <cstdint>
#include <span>

#include "balance/waits/part_row.hpp"

namespace tauto::balance {

/// Times are in ns. Each runner shall end at the same time, with what is known of its speed and of how late
/// it begins.
class part_counts {
  public:
    /// With this speed for each runner, the first of which is the thread that forks.
    void begin(std::uint32_t parts, std::span<const double> speeds) noexcept;

    std::uint32_t parts() const noexcept { return parts_; }
    std::uint32_t runners() const noexcept { return runners_; }
    std::span<const std::uint32_t> of_runners() const noexcept { return {counts_.data(), runners_}; }
    /// By the first's.
    std::span<const double> speeds() const noexcept { return {speeds_.data(), runners_}; }
    /// The first runner would take so long with all parts, or with a phase of them; 0: not known.
    double alone() const noexcept { return alone_; }

    /// A run with these counts took so long, in so many phases.
    void note(double took, std::span<const runner_seen> seen, std::uint32_t phases) noexcept;
    /// The parts share out loops among those that run at the same time: each runner has one to begin with,
    /// and how long it takes tells nothing.
    void parts_share_out() noexcept;

  private:
    void learn(std::span<const runner_seen> seen) noexcept;
    void share_out() noexcept;
    double ends(std::uint32_t runner, std::uint32_t parts) const noexcept;
    double ends(const std::array<std::uint32_t, most_runners>& counts) const noexcept;

    std::uint32_t parts_ = 0;
    std::uint32_t runners_ = 0;
    bool shares_out_ = false;
    double alone_ = 0;
    std::uint32_t first_runs_ = 0;
    std::uint32_t since_shared_ = 0;             // runs
    std::uint32_t counted_runs_ = 0;             // with these counts
    double counted_ = 0;                         // how long they took
    double part_of_first_ = 0;                   // of one part on the first runner; 0: not known
    std::array<double, most_runners> speeds_{};  // the first has 1
    std::array<double, most_runners> told_{};    // likewise, as they were at the begin
    std::array<double, most_runners> late_{};
    std::array<std::uint32_t, most_runners> idle_{};  // runs in which it had none
    std::array<std::uint32_t, most_runners> counts_{};
};

}  // namespace tauto::balance
