#pragma once
// The machine as this process may use it: CPUs and their kinds, caches, memory, and the limits set on us.
//
// Nothing here measures; `tauto-probe` does. A kind is only a starting weight: speeds are learned.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tauto/error.hpp>

namespace tauto {

// One hardware thread. Identifiers are the kernel's CPU numbers; core, package and numa count from 0.
struct cpu_record {
    int cpu = 0;
    int core = 0;                   // unique in the whole machine
    int package = 0;                // socket
    int numa = 0;                   // the kernel's node number
    std::string kind = "core";      // "P", "E" or "LP"; "core" where all are equal
    std::vector<int> smt_siblings;  // the other hardware threads of this core
    std::optional<int> capacity;    // the kernel's cpu_capacity, at most 1024
    std::optional<double> max_hertz;
    bool allowed = true;  // online, in the affinity mask and in the cpuset
    std::optional<std::int64_t> l1d_bytes;
    std::optional<std::int64_t> l2_bytes;
    std::optional<std::int64_t> l3_bytes;
};

struct kind_record {
    std::string kind;
    std::vector<int> cpus;
    int hardware_threads_per_core = 1;
};

struct cache_record {
    int level = 1;
    std::string type;  // "data", "instruction" or "unified"
    std::int64_t size_bytes = 0;
    int line_bytes = 64;
    std::vector<int> cpus;  // which share it
};

struct numa_record {
    int node = 0;
    std::vector<int> cpus;
    std::int64_t memory_bytes = 0;
};

struct machine_record {
    std::vector<cpu_record> cpus;    // ascending by CPU number
    std::vector<kind_record> kinds;  // fastest first
    std::string kind_source;         // what told the kinds apart
    std::vector<cache_record> caches;
    std::vector<numa_record> numa;

    std::vector<int> allowed_cpus;
    std::vector<int> offline_cpus;           // present, but switched off; they have no cpu_record
    std::vector<int> affinity;               // the scheduler's mask of this process
    std::optional<std::vector<int>> cpuset;  // absent: no cpuset restricts us
    std::string cpuset_source;
    std::optional<double> quota_cpus;  // CPU seconds a second; absent: no limit
    std::string quota_source;
    int usable_members = 1;  // min(|allowed|, quota rounded up)

    std::int64_t memory_bytes = 0;
    std::int64_t available_memory_bytes = 0;         // never more than the cgroup's limit
    std::optional<std::int64_t> memory_limit_bytes;  // of the cgroup

    // The record of a CPU, or null where there is none of that number. O(log CPUs).
    [[nodiscard]] const cpu_record* find_cpu(int cpu) const noexcept;
};

struct machine_options {
    // A root other than "/" reads a tree of files that describes a machine, this one or another. Then
    // nothing is asked of the running system: the affinity mask is read from proc/self/status of the tree.
    std::filesystem::path root = "/";
};

// Topology, kinds and limits as files and hwloc tell them; takes some milliseconds.
// Throws tauto::error where the tree describes no CPU.
machine_record read_machine(const machine_options& options = {});

// CPU numbers for a selection written as text, comma-joined from:
//   all     every allowed CPU, no more than usable_members
//   cores   one hardware thread of each allowed core, no more than usable_members
//   P E LP  the allowed CPUs of a kind; P:4 is four of them
//   0-3,8   CPU numbers and ranges
// The result has no duplicates and is ordered: one hardware thread of each core before second ones, within
// that fast kinds first, then by package and number. Only `all` and `cores` are cut by the quota.
// Throws tauto::error for an unknown word, a CPU that does not exist or is not allowed,
// more CPUs of a kind than there are, and an empty selection; the message says what there is.
std::vector<int> select_cpus(const machine_record& machine, std::string_view selection);

// The CPUs that the calling thread may run on: affinity mask and cpuset, ascending. Reads a few files, no
// hwloc. A thread that a team has pinned sees its own CPU only.
std::vector<int> allowed_cpus();

// min(|allowed_cpus()|, cgroup quota rounded up), at least 1. Reads a few files, no hwloc.
int usable_members();

// select_cpus(read_machine(options), "cores"), which a team uses by default. Kinds and siblings come from a
// few files, no hwloc. Empty where no CPU is described.
std::vector<int> usable_cores(const machine_options& options = {});

// "0-3,8" for {0, 1, 2, 3, 8}; "none" for an empty list.
std::string cpu_list_text(const std::vector<int>& cpus);

}  // namespace tauto
