// B11, a peer: an OpenMP reduction, on libgomp or, preloaded, on LLVM's libomp.

#include <omp.h>

#include "benchmarks/sum.hpp"
#include "runners/common/environment.hpp"
#include "runners/openmp_library.hpp"

namespace {

using namespace tauto::bench;
namespace runner = tauto::runner;

json run(const options& asked, const sum_options& wanted) {
    runner::use_openmp_threads(static_cast<int>(asked.cpus.size()));
    json row = timed_sum(asked, wanted, [](const std::vector<double>& values) {
        const double* const data = values.data();
        const auto n = static_cast<std::ptrdiff_t>(values.size());
        double sum = 0;
#pragma omp parallel for simd reduction(+ : sum) schedule(static)
        for (std::ptrdiff_t i = 0; i < n; ++i) sum += data[i];
        return sum;
    });
    row["library"] = runner::openmp_description().library;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    sum_options wanted;
    return run_program(
        argc, argv, "tauto-bench-sum-openmp", "Time of a sum of doubles through an OpenMP reduction.",
        [&](arguments& app) { add_sum_options(app, wanted); },
        [&](const options& asked) {
            if (!runner::restarted())
                runner::restart_with(runner::openmp_environment(asked.cpus, asked.wait), asked.cpus, argv);
            return run(asked, wanted);
        });
}
