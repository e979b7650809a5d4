#pragma once
// The suite's programs on oneTBB: a pinned team, entered once.

#include <string>
#include <utility>

#include "benchmarks/program.hpp"
#include "runners/tbb_team.hpp"

namespace tauto::bench {

/// The row that `measure()` returns, run inside a team with a member on each of the CPUs.
template <class Measure>
json on_tbb_team(const options& asked, const std::string& library, Measure&& measure) {
    runner::options of_team;
    of_team.cpus = asked.cpus;
    of_team.threads = static_cast<int>(asked.cpus.size());
    runner::tbb_team team{of_team};
    json row;
    team.run([&] { row = measure(); });
    row["library"] = library;
    return row;
}

}  // namespace tauto::bench
