#pragma once
// An empty parallel loop, launched and joined repeatedly: the minimum cost of a parallel loop.

#include <optional>
#include <string>
#include <vector>

namespace tauto::probe {

// tautochrone's team on these CPUs, warmed up; median seconds.
double tautochrone_fork_join_seconds(const std::vector<int>& cpus, double seconds);

// The costs of an OpenMP library.
struct openmp_costs {
    std::optional<double> fork_join_seconds;
    // Of a member's time, for one chunk of schedule(dynamic) of a microsecond of work, all of them asking.
    std::optional<double> dequeue_seconds;
    std::string why_not;  // if both are missing
};

// Loads and measures an OpenMP library. Its members are pinned to the same CPUs and wait by its default
// policy. `names` are tried in order; `package`: the Debian package, for the message if none is found.
openmp_costs measure_openmp(const std::vector<std::string>& names, const std::string& package,
                            const std::vector<int>& cpus, double seconds);

}  // namespace tauto::probe
