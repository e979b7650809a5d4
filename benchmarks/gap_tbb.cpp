// B14, a peer: oneTBB's parallel_for.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "benchmarks/gap.hpp"
#include "runners/tbb_team.hpp"

namespace {

using namespace tauto::bench;

json run(const options& asked, const gap_options& wanted) {
    tauto::runner::options team_options;
    team_options.cpus = asked.cpus;
    team_options.threads = static_cast<int>(asked.cpus.size());
    tauto::runner::tbb_team team{team_options};
    json row;
    team.run([&] {
        row = timed_gaps(asked, wanted, [](std::vector<float>& values) {
            // Parts below a thousand floats would measure the cutting.
            tbb::parallel_for(tbb::blocked_range<float*>(values.data(), values.data() + values.size(), 1000),
                              [](const tbb::blocked_range<float*>& part) {
                                  for (float& value : part) value *= 1.0000001F;
                              });
        });
    });
    row["library"] = "oneTBB";
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    gap_options wanted;
    return run_program(
        argc, argv, "tauto-bench-gap-tbb", "Loops with pauses between them through tbb::parallel_for.",
        [&](CLI::App& app) { add_gap_options(app, wanted); },
        [&](const options& asked) { return run(asked, wanted); });
}
