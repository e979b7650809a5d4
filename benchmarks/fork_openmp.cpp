// B1, the peers: an empty OpenMP parallel region, hot. GCC builds it against libgomp; with LLVM's libomp
// preloaded the same binary runs on that one. Each is pinned in its own way; runners/openmp_library.hpp tells
// what goes wrong otherwise.

#include <omp.h>
#include <sched.h>

#include <set>

#include "benchmarks/program.hpp"
#include "runners/common/environment.hpp"
#include "runners/openmp_library.hpp"

namespace {

using namespace tauto::bench;
namespace runner = tauto::runner;

constexpr int regions_a_batch = 100;

json run(const options& asked) {
    runner::use_openmp_threads(static_cast<int>(asked.cpus.size()));
    std::vector<int> ran_on(asked.cpus.size(), -1);
#pragma omp parallel
    ran_on[static_cast<std::size_t>(omp_get_thread_num())] = sched_getcpu();
    if (std::set<int>(ran_on.begin(), ran_on.end()) != std::set<int>(asked.cpus.begin(), asked.cpus.end()))
        throw missing_worker("not every CPU of " + asked.cpus_text + " took part; the library sees " +
                             std::to_string(omp_get_num_procs()) + " CPUs");

    json row = timed(batch_seconds(asked, regions_a_batch, [] {
#pragma omp parallel
        asm volatile("" ::: "memory");
    }));
    row["library"] = runner::openmp_description().library;
    row["wait"] = asked.wait;
    row["cpus"] = ran_on;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(
        argc, argv, "tauto-bench-fork-openmp", "Time of an empty OpenMP parallel region.", [](arguments&) {},
        [argv](const options& asked) {
            if (!runner::restarted())
                runner::restart_with(runner::openmp_environment(asked.cpus, asked.wait), asked.cpus, argv);
            return run(asked);
        });
}
