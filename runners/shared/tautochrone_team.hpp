#pragma once
// tautochrone's team as a runner uses it. For the runners of all studies.

#include <algorithm>
#include <map>
#include <string>

#include <tauto/tauto.hpp>

#include "runners/common/options.hpp"
#include "runners/common/row.hpp"

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

/// Counts how many members loops were given to, from their reports. The adaptive schedule leaves out members
/// that do not pay, on purpose.
class loop_widths {
  public:
    void count(const tauto::loop_report& report) { ++loops_of_width_[members_at_work(report)]; }

    /// Writes the width that most loops had.
    void complete(json& row, int threads) const {
        const auto usual =
            std::ranges::max_element(loops_of_width_, {}, [](const auto& entry) { return entry.second; });
        if (usual == loops_of_width_.end()) return;
        row["width"] = usual->first;
        row["dropped"] = usual->first < threads;
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

}  // namespace tauto::runner
