// B15, the peers: an OpenMP barrier in one parallel region. GCC builds it against libgomp; with LLVM's libomp
// preloaded the same binary runs on that one.

#include <omp.h>
#include <sched.h>

#include <set>

#include "benchmarks/collective.hpp"
#include "runners/common/environment.hpp"
#include "runners/openmp_library.hpp"

namespace {

using namespace tauto::bench;
namespace runner = tauto::runner;

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
    runner::use_openmp_threads(static_cast<int>(asked.cpus.size()));
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
    if (std::set<int>(ran_on.begin(), ran_on.end()) != std::set<int>(asked.cpus.begin(), asked.cpus.end()))
        throw missing_worker("not every CPU of " + asked.cpus_text + " took part; the library sees " +
                             std::to_string(omp_get_num_procs()) + " CPUs");
    json row = timed(batches);
    row["operation"] = "barrier";
    row["members"] = ran_on.size();
    row["library"] = runner::openmp_description().library;
    row["wait"] = asked.wait;
    row["cpus"] = ran_on;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(
        argc, argv, "tauto-bench-barrier-openmp", "Time of an OpenMP barrier.", [](arguments&) {},
        [argv](const options& asked) {
            if (!runner::restarted())
                runner::restart_with(runner::openmp_environment(asked.cpus, asked.wait), asked.cpus, argv);
            return run(asked);
        });
}
