#pragma once
// Whether the parts of one region are run in a row (part_row.hpp), and how many of them by each runner,
// learned from its runs.

#include <array>
#include <cstdint>
#include <span>

#include "balance/waits/part_row.hpp"

namespace tauto::balance {

/// Each region is tried both ways, in turns, and the shorter one is kept; all parts by the first runner, too,
/// where that promises something. Then the others are tried again, ever more seldom. Times are in ns;
/// `phases`: 1 + the number of barriers in the run.
class part_choice {
  public:
    /// With this speed for each runner, the first of which is the thread that forks.
    void begin(std::uint32_t parts, std::span<const double> speeds) noexcept;

    std::uint32_t parts() const noexcept { return parts_; }
    std::uint32_t runners() const noexcept { return runners_; }
    /// For the run that comes.
    bool in_a_row() const noexcept { return way_ != threads; }
    /// For a run in a row: of each runner that shall take part.
    std::span<const std::uint32_t> counts() const noexcept {
        return way_ == alone ? std::span{&parts_, 1} : std::span{counts_.data(), runners_};
    }
    std::span<const double> speeds() const noexcept { return {speeds_.data(), counts().size()}; }
    /// Each part needs a stack of its own there.
    bool on_stacks() const noexcept { return on_stacks_; }
    /// Of a phase in the last runs in a row; 0: none yet.
    double length() const noexcept { return length_; }

    /// A run took so long with a thread for each part.
    void note_threads(double took, std::uint32_t phases = 1) noexcept;
    /// One in a row did.
    void note_row(double took, std::span<const runner_seen> seen, std::uint32_t phases = 1) noexcept;
    /// Its parts wait for each other: it is looked at anew, with stacks for them.
    void parts_meet() noexcept;
    /// Its parts share out loops among those that run at the same time: each runner has a part to begin with,
    /// and how long it takes tells nothing.
    void parts_share_out() noexcept;
    /// It is never run in a row again.
    void refuse() noexcept { step_ = step::refused, way_ = threads; }

  private:
    enum class step : std::uint8_t { looks, tries, keeps, refused };
    enum way : std::uint8_t { threads, row, alone };
    static constexpr std::size_t ways = 3;
    static constexpr int blocks_each_way = 3;  // of a trial

    void learn(std::span<const runner_seen> seen) noexcept;
    void share_out() noexcept;
    double ends(std::uint32_t runner, std::uint32_t parts) const noexcept;
    double ends(const std::array<std::uint32_t, most_runners>& counts) const noexcept;
    void note(double took, std::uint32_t phases) noexcept;
    void begin_block(way which) noexcept;
    void begin_trial() noexcept;
    void end_trial() noexcept;
    bool alone_promises() const noexcept;
    bool settles() const noexcept;
    double longest() const noexcept;

    std::uint32_t parts_ = 0;
    std::uint32_t runners_ = 0;
    step step_ = step::looks;
    way way_ = threads;
    way keeps_ = threads;
    bool on_stacks_ = false;
    bool shares_out_ = false;
    struct {
        int settling = 0;  // runs
        int runs = 0;
        double settled = 0;  // so long
        double took = 0;
        double phases = 0;
    } block_;
    int blocks_left_ = 0;
    double trial_took_ = 0;
    double until_trial_ = 0;     // time
    double between_trials_ = 0;  // in times of a trial
    double length_ = 0;
    struct samples {
        std::array<double, blocks_each_way> took{};  // a phase
        std::size_t count = 0;
        double least() const noexcept;
    };
    std::array<samples, ways> took_{};
    double alone_ = 0;                // of a phase, if one runner did what all did in the last runs in a row
    std::uint32_t rows_ = 0;          // the first runs in a row
    std::uint32_t since_shared_ = 0;  // runs
    std::uint32_t counted_runs_ = 0;  // with these counts
    double counted_ = 0;              // how long they took
    double part_of_first_ = 0;        // ns of one part on the first runner; 0: not known
    std::array<double, most_runners> speeds_{};  // the first has 1
    std::array<double, most_runners> told_{};    // likewise, as they were at the begin
    std::array<double, most_runners> late_{};
    std::array<std::uint32_t, most_runners> idle_{};  // runs in which it had none
    std::array<std::uint32_t, most_runners> counts_{};
};

}  // namespace tauto::balance
