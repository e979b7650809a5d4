// B15 to B18, ours: the collectives of a team's members.

#include "benchmarks/collective.hpp"

#include <tauto/tauto.hpp>

namespace {

using namespace tauto::bench;

json run(const options& asked, const collective_options& wanted) {
    tauto::team_options options{.cpus = asked.cpus};
    if (asked.wait != "default") options.wait = tauto::wait_policy_from(asked.wait);
    tauto::team team{options};
    std::vector<std::vector<double>> seconds;
    team.run([&](tauto::member& me) {
        auto mine = run_collective(me, asked, wanted);
        if (me.rank() == 0) seconds = std::move(mine);
    });
    json row = collective_row(asked, wanted, team.size(), seconds);
    row["library"] = "tautochrone";
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    collective_options wanted;
    return run_program(
        argc, argv, "tauto-bench-collective-threads", "Time of collectives between threads, on fresh data.",
        [&](arguments& app) { add_collective_options(app, wanted); },
        [&](const options& asked) { return run(asked, wanted); });
}
