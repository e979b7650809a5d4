// The loop study on tautochrone.

#include <algorithm>
#include <map>
#include <variant>

#include <tauto/tauto.hpp>

#include "runners/common/run_loop.hpp"

namespace {

using namespace tauto::runner;

class tautochrone_adapter {
  public:
    static constexpr std::string_view executable = "tauto-loop-tautochrone";

    static description describe() {
        description tautochrone;
        tautochrone.runtime = "tautochrone";
        tautochrone.library = "tautochrone";
        tautochrone.library_version = TAUTO_VERSION;
        tautochrone.schedules = {{"adaptive", false}, {"static", false}, {"static_chunk", true},
                                 {"dynamic", true},   {"guided", true},  {"weighted", false}};
        tautochrone.wait_policies = {"default", "active", "passive"};
        return tautochrone;
    }

    static environment_changes environment(const options&) { return {}; }

    explicit tautochrone_adapter(const options& asked)
        : threads_{asked.threads},
          team_{team_options_of(asked)},
          loop_{.schedule = named(asked), .site = &site_} {}

    template <class Body>
    void for_rows(std::size_t n, Body&& body) {
        tauto::parallel_for(
            team_, static_cast<tauto::index>(n),
            [&body](tauto::range rows) {
                body(static_cast<std::size_t>(rows.begin), static_cast<std::size_t>(rows.end));
            },
            loop_);
        if (loop_.report != nullptr) ++loops_of_width_[members_at_work()];
    }

    // Timed loops are not asked for a report: a caller who wants none has the shorter way.
    void begin_account() { loop_.report = &report_; }

    /// The width that most loops had. The adaptive schedule leaves out members that do not pay, on purpose.
    void complete(json& row) const {
        const auto usual =
            std::ranges::max_element(loops_of_width_, {}, [](const auto& entry) { return entry.second; });
        if (usual == loops_of_width_.end()) return;
        row["width"] = usual->first;
        row["dropped"] = usual->first < threads_;
    }

    /// The two schedules that learn decide themselves who takes part: a learned share may be no row at all.
    bool may_drop_workers() const {
        return std::holds_alternative<tauto::adaptive>(loop_.schedule) ||
               std::holds_alternative<tauto::weighted>(loop_.schedule);
    }

    std::string diagnosis() const {
        std::string text = "the team has " + std::to_string(team_.size()) + " members";
        for (const auto& note : team_.notes()) text += "; " + note;
        return text;
    }

  private:
    // Of the loop just run: those that had a share. The report has nothing by member where no loop was
    // forked.
    int members_at_work() const {
        const auto& iterations = report_.iterations;
        if (iterations.empty()) return report_.width;
        return static_cast<int>(
            std::ranges::count_if(iterations, [](tauto::index rows) { return rows > 0; }));
    }

    static tauto::team_options team_options_of(const options& asked) {
        // Said here, so that TAUTO_WAIT in the environment does not decide.
        tauto::team_options team{
            .cpus = asked.cpus, .size = asked.threads, .wait = tauto::wait_policy::balanced};
        if (asked.wait == "active") team.wait = tauto::wait_policy::active;
        if (asked.wait == "passive") team.wait = tauto::wait_policy::passive;
        return team;
    }

    static tauto::schedule named(const options& asked) {
        const auto chunk = asked.chunk.value_or(1);
        if (asked.schedule == "static") return tauto::static_{};
        if (asked.schedule == "static_chunk") return tauto::static_chunk{chunk};
        if (asked.schedule == "dynamic") return tauto::dynamic{chunk};
        if (asked.schedule == "guided") return tauto::guided{chunk};
        if (asked.schedule == "weighted") return tauto::weighted{};
        return tauto::adaptive{};
    }

    int threads_;
    tauto::team team_;
    tauto::site site_;  // the timed loop and the accounting one are one site
    tauto::loop_options loop_;
    tauto::loop_report report_;
    std::map<int, int> loops_of_width_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<tautochrone_adapter>(argc, argv);
}
