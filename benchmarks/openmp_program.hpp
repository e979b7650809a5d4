#pragma once
// What the suite's OpenMP programs share: the environment that pins each library in its own way, and the
// check that every CPU took part.

#include <omp.h>

#include <set>
#include <string>
#include <vector>

#include "benchmarks/program.hpp"
#include "runners/common/environment.hpp"
#include "runners/openmp_library.hpp"

namespace tauto::bench {

/// Begins the program anew in the environment that the library reads at its start, unless that has been done.
inline void start_with_openmp(const options& asked, char** argv) {
    if (!runner::restarted())
        runner::restart_with(runner::openmp_environment(asked.cpus, asked.wait), asked.cpus, argv);
    runner::use_openmp_threads(static_cast<int>(asked.cpus.size()));
}

/// ran_on: the CPU of each thread.
inline void require_every_cpu(const options& asked, const std::vector<int>& ran_on) {
    if (std::set<int>(ran_on.begin(), ran_on.end()) != std::set<int>(asked.cpus.begin(), asked.cpus.end()))
        throw missing_worker("not every CPU of " + asked.cpus_text + " took part; the library sees " +
                             std::to_string(omp_get_num_procs()) + " CPUs");
}

inline void add_openmp(json& row, const options& asked, const std::vector<int>& ran_on) {
    row["library"] = runner::openmp_description().library;
    row["wait"] = asked.wait;
    row["cpus"] = ran_on;
}

}  // namespace tauto::bench
