// B11, a peer: an OpenMP reduction, on libgomp or, preloaded, on LLVM's libomp.

#include <omp.h>

#include "benchmarks/openmp_program.hpp"
#include "benchmarks/sum.hpp"

namespace {

using namespace tauto::bench;
namespace runner = tauto::runner;

json run(const options& asked, const sum_options& wanted) {
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
            start_with_openmp(asked, argv);
            return run(asked, wanted);
        });
}
