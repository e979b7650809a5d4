#pragma once
// An empty parallel loop, launched and joined again and again: the least that any parallel loop costs.

#include <optional>
#include <string>
#include <vector>

namespace tauto::probe {

// tautochrone's team on these CPUs, hot; median seconds.
double tautochrone_fork_join_seconds(const std::vector<int>& cpus, double seconds);

// What an OpenMP library costs.
struct openmp_costs {
    std::optional<double> fork_join_seconds;
    // Of a member's time, for one chunk of schedule(dynamic) of a microsecond of work, all of them asking.
    std::optional<double> dequeue_seconds;
    std::string why_not;  // where both are absent
};

// An OpenMP library, loaded for this: its members are pinned to the same CPUs and wait as it likes best.
// `names` are tried in their order; `package` is Debian's, for the reason where none is there.
openmp_costs measure_openmp(const std::vector<std::string>& names, const std::string& package,
                            const std::vector<int>& cpus, double seconds);

}  // namespace tauto::probe
