// B1 and B2, ours: an empty parallel_for over all members, hot. `static_` forks always; `adaptive` would
// learn that an empty loop is not worth it.

#include <sched.h>

#include <set>

#include <tauto/tauto.hpp>

#include "benchmarks/program.hpp"

namespace {

using namespace tauto::bench;

constexpr int launches_a_batch = 100;

tauto::wait_policy policy(const std::string& wait) {
    if (wait == "active") return tauto::wait_policy::active;
    if (wait == "passive") return tauto::wait_policy::passive;
    return tauto::wait_policy::balanced;
}

json run(const options& asked) {
    tauto::team members{tauto::team_options{.cpus = asked.cpus, .wait = policy(asked.wait)}};
    const auto n = static_cast<tauto::index>(members.size());
    const tauto::loop_options forked{.schedule = tauto::static_{}};

    std::vector<int> ran_on(asked.cpus.size(), -1);
    tauto::parallel_for(
        members, n, [&](tauto::range, int rank) { ran_on[static_cast<std::size_t>(rank)] = sched_getcpu(); },
        forked);
    if (std::set<int>(ran_on.begin(), ran_on.end()) != std::set<int>(asked.cpus.begin(), asked.cpus.end()))
        throw missing_worker("not every CPU of " + asked.cpus_text + " took part");

    json row = timed(batch_seconds(asked, launches_a_batch, [&] {
        tauto::parallel_for(
            members, n, [](tauto::range) {}, forked);
    }));
    row["library"] = "tautochrone";
    row["wait"] = asked.wait;
    row["cpus"] = ran_on;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(
        argc, argv, "tauto-bench-fork-tautochrone", "Time of an empty parallel_for.", [](arguments&) {}, run);
}
