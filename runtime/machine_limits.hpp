#pragma once
// What this process may use of the machine: affinity mask, cpuset, CPU quota, memory limit.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine_files.hpp"

namespace tauto::detail {

struct limits {
    std::vector<int> online;
    std::vector<int> offline;
    std::vector<int> affinity;
    std::optional<std::vector<int>> cpuset;
    std::string cpuset_source;
    std::optional<double> quota_cpus;
    std::string quota_source;
    std::vector<int> allowed;  // the intersection
    int usable_members = 1;
};

// The CPUs of the calling thread's affinity mask, on any number of CPUs; empty where the kernel does not
// tell.
std::vector<int> affinity_of_caller();
// The same of another thread of this process.
std::vector<int> affinity_of(pid_t thread);

// Affinity of the calling thread (of proc/self/status in a tree that is not live), cpuset and quota of the
// cgroup and of every group above it, versions 1 and 2; of several quotas the smallest holds.
limits read_limits(const file_tree& files);
// The same for a thread with this mask.
limits read_limits(const file_tree& files, std::vector<int> affinity);

// CPU seconds a second: the smallest quota of the cgroup and the groups above it.
std::optional<double> read_quota(const file_tree& files);

// The smallest memory limit of the cgroup and the groups above it.
std::optional<std::int64_t> read_memory_limit(const file_tree& files);

}  // namespace tauto::detail
