// The loop study on tautochrone.

#include <variant>

#include <tauto/tauto.hpp>

#include "runners/common/run_loop.hpp"
#include "runners/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

class tautochrone_adapter {
  public:
    static constexpr std::string_view executable = "tauto-loop-tautochrone";

    static description describe() {
        description tautochrone = tautochrone_description();
        tautochrone.schedules = {{"adaptive", false}, {"static", false}, {"static_chunk", true},
                                 {"dynamic", true},   {"guided", true},  {"weighted", false}};
        tautochrone.default_chunk = default_chunk_rows;
        return tautochrone;
    }

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
        if (loop_.report != nullptr) widths_.count(report_);
    }

    // Timed loops are not asked for a report: a caller who wants none has the shorter way.
    void begin_account() { loop_.report = &report_; }

    void complete(json& row) const { widths_.complete(row, threads_); }

    /// The two schedules that learn decide themselves who takes part: a learned share may be no row at all.
    bool may_drop_workers() const {
        return std::holds_alternative<tauto::adaptive>(loop_.schedule) ||
               std::holds_alternative<tauto::weighted>(loop_.schedule);
    }

    std::string diagnosis() const { return diagnosis_of(team_); }

  private:
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
    loop_widths widths_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<tautochrone_adapter>(argc, argv);
}
