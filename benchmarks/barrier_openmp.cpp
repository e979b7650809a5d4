// B15, the peers: an OpenMP barrier in one parallel region. GCC builds it against libgomp; with LLVM's libomp
// preloaded the same binary runs on that one.

#include <omp.h>
#include <sched.h>

#include "benchmarks/collective.hpp"
#include "benchmarks/openmp_program.hpp"

namespace {

using namespace tauto::bench;

// A thread of the region, with what the loop of collective.hpp calls.
struct openmp_member {
    double* shared;

    static void barrier() {
#pragma omp barrier
    }
    void broadcast(std::span<double> value) const {
        if (omp_get_thread_num() == 0) *shared = value[0];
#pragma omp barrier
        value[0] = *shared;
#pragma omp barrier
    }
};

json run(const options& asked) {
    std::vector<int> ran_on(asked.cpus.size(), -1);
    std::vector<double> batches;
    double shared = 0;
#pragma omp parallel
    {
        const int rank = omp_get_thread_num();
        ran_on[static_cast<std::size_t>(rank)] = sched_getcpu();
        openmp_member me{&shared};
        std::vector<double> mine = barrier_seconds(me, asked);
        if (rank == 0) batches = std::move(mine);
    }
    require_every_cpu(asked, ran_on);
    json row = timed(batches);
    row["operation"] = "barrier";
    row["members"] = ran_on.size();
    add_openmp(row, asked, ran_on);
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(
        argc, argv, "tauto-bench-barrier-openmp", "Time of an OpenMP barrier.", [](arguments&) {},
        [argv](const options& asked) {
            start_with_openmp(asked, argv);
            return run(asked);
        });
}
