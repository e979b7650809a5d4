// B1, the peers: an empty OpenMP parallel region, hot. GCC builds it against libgomp; with LLVM's libomp
// preloaded the same binary runs on that one. Each is pinned in its own way; runners/openmp_library.hpp tells
// what goes wrong otherwise.

#include <omp.h>
#include <sched.h>

#include "benchmarks/openmp_program.hpp"

namespace {

using namespace tauto::bench;

constexpr int regions_a_batch = 100;

json run(const options& asked) {
    std::vector<int> ran_on(asked.cpus.size(), -1);
#pragma omp parallel
    ran_on[static_cast<std::size_t>(omp_get_thread_num())] = sched_getcpu();
    require_every_cpu(asked, ran_on);

    json row = timed(batch_seconds(asked, regions_a_batch, [] {
#pragma omp parallel
        asm volatile("" ::: "memory");
    }));
    add_openmp(row, asked, ran_on);
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(
        argc, argv, "tauto-bench-fork-openmp", "Time of an empty OpenMP parallel region.", [](arguments&) {},
        [argv](const options& asked) {
            start_with_openmp(asked, argv);
            return run(asked);
        });
}
