#pragma once
// Whether the parts of one region are run in a row (part_row.hpp), and how many of them by each runner,
// learned from its runs.

#include <array>
#include <cstdint>
#include <span>

#include "balance/waits/part_row.hpp"

namespace tauto::balance {

/// Each region is tried both ways, in turns, and the shorter one is kept. Then the other one is tried again,
/// after ever more runs. Times are in ns.
class part_choice {
  public:
    /// With this speed for each runner, the first of which is the thread that forks.
    void begin(std::uint32_t parts, std::span<const double> speeds) noexcept;

    std::uint32_t parts() const noexcept { return parts_; }
    /// For the run that comes.
    bool in_a_row() const noexcept { return row_; }
    /// For a run in a row: of each runner.
    std::span<const std::uint32_t> counts() const noexcept { return {counts_.data(), runners_}; }
    std::span<const double> speeds() const noexcept { return {speeds_.data(), runners_}; }
    /// Of the last runs in a row; 0: none yet.
    double length() const noexcept { return length_; }

    /// A run took so long with a thread for each part.
    void note_threads(double took) noexcept;
    /// One in a row did.
    void note_row(double took, std::span<const runner_seen> seen) noexcept;
    /// Its parts wait for each other, so it is never run in a row again.
    void refuse() noexcept { step_ = step::refused, row_ = false; }

  private:
    enum class step : std::uint8_t { looks, tries, keeps, refused };
    static constexpr int most_samples = 12;

    void learn(std::span<const runner_seen> seen) noexcept;
    void share_out() noexcept;
    double ends(std::uint32_t runner, std::uint32_t parts) const noexcept;
    double ends(const std::array<std::uint32_t, most_runners>& counts) const noexcept;
    void note(double took) noexcept;
    void begin_trial() noexcept;
    void end_trial() noexcept;

    std::uint32_t parts_ = 0;
    std::uint32_t runners_ = 0;
    step step_ = step::looks;
    bool row_ = false;
    bool keeps_row_ = false;
    int in_block_ = 0;  // runs
    int blocks_left_ = 0;
    std::uint32_t until_trial_ = 0;  // runs
    std::uint32_t between_trials_ = 0;
    double length_ = 0;
    struct samples {
        std::array<float, most_samples> took{};
        int count = 0;
        double middle() const noexcept;
    };
    std::array<samples, 2> took_{};              // with threads, in a row
    std::uint32_t rows_ = 0;                     // the first runs in a row
    std::uint32_t since_shared_ = 0;             // runs
    double part_of_first_ = 0;                   // ns of one part on the first runner; 0: not known
    std::array<double, most_runners> speeds_{};  // the first has 1
    std::array<double, most_runners> late_{};
    std::array<std::uint32_t, most_runners> idle_{};  // runs in which it had none
    std::array<std::uint32_t, most_runners> counts_{};
};

}  // namespace tauto::balance
