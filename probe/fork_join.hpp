#pragma once
// A parallel loop, launched and joined repeatedly: what it costs besides its work.
//
// Hot: the loop is empty, and all that a library needs is near. Cold: each member reads more than its L2
// cache holds in each loop, as loops over large data do, so that the library's own data comes from farther
// away.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tauto::probe {

// Median seconds.
struct fork_join_costs {
    std::optional<double> hot;
    std::optional<double> cold;
};

// tautochrone's team on these CPUs, warmed up. `l2_bytes`: of the largest of their L2 caches.
fork_join_costs tautochrone_fork_join(const std::vector<int>& cpus, std::int64_t l2_bytes, double seconds);

// The costs of an OpenMP library.
struct openmp_costs {
    fork_join_costs fork_join;
    // Of a member's time, for one chunk of schedule(dynamic) of a microsecond of work, all of them asking.
    std::optional<double> dequeue_seconds;
    std::string why_not;  // if all are missing
};

// Loads and measures an OpenMP library. Its members are pinned to the same CPUs and wait by its default
// policy. `names` are tried in order; `package`: the Debian package, for the message if none is found.
openmp_costs measure_openmp(const std::vector<std::string>& names, const std::string& package,
                            const std::vector<int>& cpus, std::int64_t l2_bytes, double seconds);

}  // namespace tauto::probe
