#pragma once
// Packages, cores, hardware threads, caches and memory nodes, as hwloc finds them.

#include <vector>

#include <tauto/machine.hpp>

#include "machine_files.hpp"
#include "machine_kinds.hpp"

namespace tauto::detail {

struct topology {
    std::vector<cpu_record> cpus;  // ascending
    std::vector<cache_record> caches;
    std::vector<numa_record> numa;
    cpu_kinds kinds;  // from the processor's own identification; empty where it says nothing
};

// Includes CPUs that this process may not use. Throws tauto::error where no CPU is found.
topology read_topology(const file_tree& files);

}  // namespace tauto::detail
