// B11, a peer: std::reduce with the policy that may vectorise and reorder.

#include <execution>
#include <numeric>

#include "benchmarks/sum.hpp"
#include "benchmarks/tbb_program.hpp"

namespace {

using namespace tauto::bench;

json run(const options& asked, const sum_options& wanted) {
    return on_tbb_team(asked, "std::execution", [&] {
        return timed_sum(asked, wanted, [](const std::vector<double>& values) {
            return std::reduce(std::execution::par_unseq, values.begin(), values.end(), 0.0);
        });
    });
}

}  // namespace

int main(int argc, char** argv) {
    sum_options wanted;
    return run_program(
        argc, argv, "tauto-bench-sum-stdpar", "Time of a sum of doubles through std::reduce(par_unseq).",
        [&](arguments& app) { add_sum_options(app, wanted); },
        [&](const options& asked) { return run(asked, wanted); });
}
