#pragma once
// An empty parallel loop, launched and joined again and again: the least that any parallel loop costs.

#include <optional>
#include <string>
#include <vector>

namespace tauto::probe {

// tautochrone's team on these CPUs, hot; median seconds.
double tautochrone_fork_join_seconds(const std::vector<int>& cpus, double seconds);

// GCC's OpenMP library, loaded for this: its members are pinned to the same CPUs and wait as it likes best.
// Absent, with the reason in `why_not`, where the library is not installed or gives fewer threads.
std::optional<double> libgomp_fork_join_seconds(const std::vector<int>& cpus, double seconds,
                                                std::string& why_not);

}  // namespace tauto::probe
