// B14, a peer: oneTBB's parallel_for.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "benchmarks/gap.hpp"
#include "benchmarks/tbb_program.hpp"

namespace {

using namespace tauto::bench;

json run(const options& asked, const gap_options& wanted) {
    return on_tbb_team(asked, "oneTBB", [&] {
        return timed_gaps(asked, wanted, [](std::vector<float>& values) {
            // Parts below a thousand floats would measure the cutting.
            tbb::parallel_for(tbb::blocked_range<float*>(values.data(), values.data() + values.size(), 1000),
                              [](const tbb::blocked_range<float*>& part) {
                                  for (float& value : part) value *= 1.0000001F;
                              });
        });
    });
}

}  // namespace

int main(int argc, char** argv) {
    gap_options wanted;
    return run_program(
        argc, argv, "tauto-bench-gap-tbb", "Loops with pauses between them through tbb::parallel_for.",
        [&](arguments& app) { add_gap_options(app, wanted); },
        [&](const options& asked) { return run(asked, wanted); });
}
