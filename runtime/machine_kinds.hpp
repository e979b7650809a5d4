#pragma once
// Which kind of core each CPU is, from what Linux tells in files.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "machine_files.hpp"

namespace tauto::detail {

struct cpu_kinds {
    std::map<int, std::string> of;  // by CPU; empty where all are equal
    std::string source;

    [[nodiscard]] std::string kind(int cpu) const;
};

// "P", "E" and "LP" from, in this order: Intel's per-kind PMUs (the only source that names the kinds; an Atom
// core without the L3 that others have is "LP"), cpu_capacity, the largest clock frequency. In the last two
// CPUs within a sixth of the fastest of a group belong to it: favoured cores differ by up to 7 %, kinds by
// a quarter and more.
cpu_kinds read_kinds(const file_tree& files, const std::vector<int>& cpus);

// True where this processor says that its cores are of several kinds, which a virtual machine's files may
// hide.
bool is_hybrid_processor() noexcept;

// 0 for the fastest.
int kind_rank(std::string_view kind);

// The folder in which the kernel describes a CPU, with '/' at the end.
std::string cpu_folder(int cpu);

// A CPU and what decides when a selection takes it.
struct candidate {
    int cpu = 0;
    int kind = 0;  // kind_rank
    int package = 0;
    std::vector<int> siblings;  // all hardware threads of its core
};

// CPU numbers: one hardware thread of each core first (among the candidates), then by kind, package, number.
std::vector<int> in_order_of_use(std::vector<candidate> candidates);

}  // namespace tauto::detail
