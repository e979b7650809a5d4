// B11, a peer: std::reduce with the policy that may vectorise and reorder.

#include <execution>
#include <numeric>

#include "benchmarks/sum.hpp"
#include "runners/tbb_team.hpp"

namespace {

using namespace tauto::bench;

json run(const options& asked, const sum_options& wanted) {
    tauto::runner::options team_options;
    team_options.cpus = asked.cpus;
    team_options.threads = static_cast<int>(asked.cpus.size());
    tauto::runner::tbb_team team{team_options};
    json row;
    team.run([&] {
        row = timed_sum(asked, wanted, [](const std::vector<double>& values) {
            return std::reduce(std::execution::par_unseq, values.begin(), values.end(), 0.0);
        });
    });
    row["library"] = "std::execution";
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    sum_options wanted;
    return run_program(
        argc, argv, "tauto-bench-sum-stdpar", "Time of a sum of doubles through std::reduce(par_unseq).",
        [&](CLI::App& app) { add_sum_options(app, wanted); },
        [&](const options& asked) { return run(asked, wanted); });
}
