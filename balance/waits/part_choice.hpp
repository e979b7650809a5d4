#pragma once
// Whether the parts of one region are run in a row (part_row.hpp), learned from its runs.

#include <array>
#include <cstdint>
#include <span>

#include "balance/waits/part_counts.hpp"

namespace tauto::balance {

/// Each region is tried both ways, in turns, and the shorter one is kept; all parts by the first runner, too,
/// where that promises something. Then the others are tried again, ever more seldom. Times are in ns;
/// `phases`: 1 + the number of barriers in the run.
class part_choice {
  public:
    /// With this speed for each runner, the first of which is the thread that forks.
    void begin(std::uint32_t parts, std::span<const double> speeds) noexcept;

    std::uint32_t parts() const noexcept { return shared_.parts(); }
    std::uint32_t runners() const noexcept { return shared_.runners(); }
    /// For the run that comes.
    bool in_a_row() const noexcept { return way_ != threads; }
    /// For a run in a row: of each runner that shall take part.
    std::span<const std::uint32_t> counts() const noexcept {
        return way_ == alone ? std::span{&all_, 1} : shared_.of_runners();
    }
    std::span<const double> speeds() const noexcept { return shared_.speeds().first(counts().size()); }
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
    /// See part_counts.
    void parts_share_out() noexcept { shared_.parts_share_out(); }
    /// It is never run in a row again.
    void refuse() noexcept { step_ = step::refused, way_ = threads; }

  private:
    enum class step : std::uint8_t { looks, tries, keeps, refused };
    enum way : std::uint8_t { threads, row, alone };
    static constexpr std::size_t ways = 3;
    static constexpr int blocks_each_way = 3;  // of a trial

    void note(double took, std::uint32_t phases) noexcept;
    void begin_block(way which) noexcept;
    void begin_trial() noexcept;
    void end_trial() noexcept;
    bool alone_promises() const noexcept;
    bool settles() const noexcept;
    double longest() const noexcept;

    part_counts shared_;
    std::uint32_t all_ = 0;  // parts
    step step_ = step::looks;
    way way_ = threads;
    way keeps_ = threads;
    bool on_stacks_ = false;
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
};

}  // namespace tauto::balance
