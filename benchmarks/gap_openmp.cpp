// B14, peers: a parallel for on libgomp or, preloaded, on LLVM's libomp.

#include <omp.h>

#include "benchmarks/gap.hpp"
#include "benchmarks/openmp_program.hpp"

namespace {

using namespace tauto::bench;
namespace runner = tauto::runner;

json run(const options& asked, const gap_options& wanted) {
    json row = timed_gaps(asked, wanted, [](std::vector<float>& values) {
        float* const data = values.data();
        const auto n = static_cast<std::ptrdiff_t>(values.size());
#pragma omp parallel for simd schedule(static)
        for (std::ptrdiff_t i = 0; i < n; ++i) data[i] *= 1.0000001F;
    });
    row["library"] = runner::openmp_description().library;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    gap_options wanted;
    return run_program(
        argc, argv, "tauto-bench-gap-openmp", "Loops with pauses between them through OpenMP.",
        [&](arguments& app) { add_gap_options(app, wanted); },
        [&](const options& asked) {
            start_with_openmp(asked, argv);
            return run(asked, wanted);
        });
}
