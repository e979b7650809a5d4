// B1, the peers: an empty OpenMP parallel region, hot. GCC builds it against libgomp; with LLVM's libomp
// preloaded the same binary runs on that one. Each is pinned in its own way; runners/loop_openmp.cpp tells
// what goes wrong otherwise.

#include <dlfcn.h>
#include <omp.h>
#include <sched.h>

#include <set>

#include "benchmarks/program.hpp"
#include "runners/common/environment.hpp"

namespace {

using namespace tauto::bench;
namespace runner = tauto::runner;

constexpr int regions_a_batch = 100;

bool is_libomp() {
    return dlsym(RTLD_DEFAULT, "kmp_get_blocktime") != nullptr;
}

// Both libraries read these once, when they are loaded.
runner::environment_changes environment(const options& asked) {
    runner::environment_changes changes;
    for (const char* name : {"OMP_PLACES", "OMP_PROC_BIND", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT",
                             "OMP_DYNAMIC", "OMP_WAIT_POLICY", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",
                             "KMP_AFFINITY", "KMP_HW_SUBSET", "KMP_BLOCKTIME", "KMP_LIBRARY"})
        changes.emplace_back(name, std::nullopt);
    if (is_libomp()) {
        changes.emplace_back("KMP_AFFINITY",
                             "granularity=fine,explicit,proclist=[" + runner::cpus_text(asked.cpus) + "]");
        if (asked.wait == "active") changes.emplace_back("KMP_BLOCKTIME", "infinite");
        if (asked.wait == "passive") changes.emplace_back("KMP_BLOCKTIME", "0");
    } else {
        changes.emplace_back("OMP_PLACES", "{" + runner::cpus_text(asked.cpus, "},{") + "}");
        changes.emplace_back("OMP_PROC_BIND", "true");
    }
    if (asked.wait != "default") changes.emplace_back("OMP_WAIT_POLICY", asked.wait);
    return changes;
}

json run(const options& asked) {
    omp_set_dynamic(0);
    omp_set_num_threads(static_cast<int>(asked.cpus.size()));
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
    row["library"] = is_libomp() ? "libomp" : "libgomp";
    row["wait"] = asked.wait;
    row["cpus"] = ran_on;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(
        argc, argv, "tauto-bench-fork-openmp", "Time of an empty OpenMP parallel region.", [](CLI::App&) {},
        [argv](const options& asked) {
            if (!runner::restarted()) runner::restart_with(environment(asked), asked.cpus, argv);
            return run(asked);
        });
}
