// libstdc++'s parallel algorithms on oneTBB, a peer: std::reduce with the policy that may vectorise and
// reorder. A program of its own: tbb.cpp's -fopenmp-simd would change the library's loops.

#include <execution>
#include <numeric>

#include "benchmarks/programs/works.hpp"
#include "runners/shared/tbb_team.hpp"

namespace {

using namespace tauto::bench;

json sum(const options& asked, const amounts& wanted) {
    tauto::runner::options of_team;
    of_team.cpus = asked.cpus;
    of_team.threads = static_cast<int>(asked.cpus.size());
    tauto::runner::tbb_team team{of_team};
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
    std::string work;
    amounts wanted;
    return run_program(
        argc, argv, "tauto-bench-stdpar", "libstdc++'s parallel algorithms at one of the suite's works.",
        [&](arguments& app) {
            app.work(work, {"sum"});
            add_amounts(app, wanted);
        },
        [&](const options& asked) { return sum(asked, wanted); });
}
