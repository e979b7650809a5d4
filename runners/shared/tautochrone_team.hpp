#pragma once
// tautochrone's team as a runner uses it. For the runners of all studies.

#include <algorithm>
#include <map>
#include <string>
#include <variant>

#include <tauto/tauto.hpp>

#include "runners/shared/options.hpp"
#include "runners/shared/row.hpp"

namespace tauto::runner {

/// Without its schedules.
inline description tautochrone_description() {
    description tautochrone;
    tautochrone.runtime = "tautochrone";
    tautochrone.library = "tautochrone";
    tautochrone.library_version = TAUTO_VERSION;
    tautochrone.wait_policies = {"default", "active", "passive"};
    return tautochrone;
}

inline tauto::team_options team_options_of(const options& asked) {
    // Said here, so that TAUTO_WAIT in the environment does not decide.
    tauto::team_options team{.cpus = asked.cpus, .size = asked.threads, .wait = tauto::wait_policy::balanced};
    if (asked.wait == "active") team.wait = tauto::wait_policy::active;
    if (asked.wait == "passive") team.wait = tauto::wait_policy::passive;
    return team;
}

inline std::string diagnosis_of(const tauto::team& team) {
    std::string text = "the team has " + std::to_string(team.size()) + " members";
    for (const auto& note : team.notes()) text += "; " + note;
    return text;
}

/// The team's schedule of the same name; adaptive for a name that is none of its own.
inline tauto::schedule schedule_named(const options& asked) {
    const auto chunk = asked.chunk.value_or(1);
    if (asked.schedule == "static") return tauto::static_{};
    if (asked.schedule == "static_chunk") return tauto::static_chunk{chunk};
    if (asked.schedule == "dynamic") return tauto::dynamic{chunk};
    if (asked.schedule == "guided") return tauto::guided{chunk};
    if (asked.schedule == "weighted") return tauto::weighted{};
    return tauto::adaptive{};
}

/// Counts how many members loops were given to, from their reports.
class loop_widths {
  public:
    /// `learned`: by a schedule that leaves out members on purpose, by shares that are empty. With any other
    /// a member without a share is one that came too late for it.
    void count(const tauto::loop_report& report, bool learned) {
        ++loops_of_width_[learned ? members_at_work(report) : report.width];
    }

    /// Writes the width that most loops had.
    void complete(json& row, int threads) const {
        const auto usual =
            std::ranges::max_element(loops_of_width_, {}, [](const auto& entry) { return entry.second; });
        if (usual == loops_of_width_.end()) return;
        set_field(row, "width", usual->first);
        set_field(row, "dropped", usual->first < threads);
    }

  private:
    // Those that had a share. The report has nothing by member where no loop was forked.
    static int members_at_work(const tauto::loop_report& report) {
        const auto& iterations = report.iterations;
        if (iterations.empty()) return report.width;
        return static_cast<int>(
            std::ranges::count_if(iterations, [](tauto::index share) { return share > 0; }));
    }

    std::map<int, int> loops_of_width_;
};

/// What the adapters of loops on a team have in common. Options is tauto's, of a loop or a reduction.
template <class Options>
class tautochrone_loops {
  public:
    explicit tautochrone_loops(const options& asked)
        : threads_{asked.threads},
          team_{team_options_of(asked)},
          loop_{.schedule = schedule_named(asked), .site = &site_} {}
    tautochrone_loops(const tautochrone_loops&) = delete;
    tautochrone_loops& operator=(const tautochrone_loops&) = delete;

    // Timed loops are not asked for a report: a caller who wants none has the shorter way.
    void begin_account() { loop_.report = &report_; }

    void complete(json& row) const { widths_.complete(row, threads_); }

    /// The two schedules that learn decide themselves who takes part: a learned share may be empty.
    bool may_drop_workers() const {
        return std::holds_alternative<tauto::adaptive>(loop_.schedule) ||
               std::holds_alternative<tauto::weighted>(loop_.schedule);
    }

    std::string diagnosis() const { return diagnosis_of(team_); }

  protected:
    /// After each loop.
    void count_width() {
        if (loop_.report != nullptr) widths_.count(report_, may_drop_workers());
    }

    int threads_;
    tauto::team team_;
    tauto::site site_;  // timed loops and accounting ones are one site
    Options loop_;
    tauto::loop_report report_;
    loop_widths widths_;
};

}  // namespace tauto::runner
