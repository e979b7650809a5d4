// The mapreduce study on tautochrone.

#include <variant>

#include <tauto/map_reduce.hpp>
#include <tauto/tauto.hpp>

#include "runners/common/run_mapreduce.hpp"
#include "runners/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

class tautochrone_adapter {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-tautochrone";

    static description describe() {
        description tautochrone = tautochrone_description();
        tautochrone.schedules = {{"adaptive", false},
                                 {"static", false},
                                 {"dynamic", true},
                                 {"guided", true},
                                 {"unordered", false}};
        return tautochrone;
    }

    explicit tautochrone_adapter(const mapreduce_request& asked)
        : threads_{asked.threads}, team_{team_options_of(asked)} {
        reduction_.schedule = named(asked);
        reduction_.site = &site_;
        reduction_.grain = 1;
        reduction_.unordered = asked.schedule == "unordered";
    }

    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        const std::uint64_t sum = tauto::map_reduce(
            team_, tasks, hash, [](std::uint64_t& result, const std::uint64_t& value) { result += value; },
            reduction_);
        if (reduction_.report != nullptr) widths_.count(report_);
        return sum;
    }

    // Timed repetitions are not asked for a report: a caller who wants none has the shorter way.
    void begin_account() { reduction_.report = &report_; }

    void complete(json& row) const { widths_.complete(row, threads_); }

    bool may_drop_workers() const { return std::holds_alternative<tauto::adaptive>(reduction_.schedule); }

    std::string diagnosis() const { return diagnosis_of(team_); }

  private:
    static tauto::schedule named(const options& asked) {
        if (asked.schedule == "static") return tauto::static_{};
        if (asked.schedule == "dynamic") return tauto::dynamic{asked.chunk.value_or(1)};
        if (asked.schedule == "guided") return tauto::guided{asked.chunk.value_or(1)};
        return tauto::adaptive{};
    }

    int threads_;
    tauto::team team_;
    tauto::site site_;
    tauto::reduce_options reduction_;
    tauto::loop_report report_;
    loop_widths widths_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<tautochrone_adapter>(argc, argv);
}
