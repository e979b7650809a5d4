#pragma once
// What every runner of the nbody study is asked.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/nbody/hermite.hpp"
#include "runners/nbody/cost.hpp"
#include "runners/shared/options.hpp"

namespace tauto::runner {

struct nbody_request : options {
    std::int64_t particles = 1024;
    kernels::nbody::hermite_options hermite;
    double end_time = 1.0;
    std::optional<std::int64_t> blocks;  ///< stop after this many
    std::int64_t seed = 1;
    std::optional<std::string> snapshot;  ///< start from this file, not from a Plummer sphere
    std::optional<std::string> snapshot_to_write;
    std::optional<std::string> log_file;
    std::optional<std::string> costs;  ///< of work in virtual time: "pair_seconds=1e-9,…"
    std::vector<int> own_cpus;         ///< of this process' members, where there are several processes
};

/// Where a run starts.
struct nbody_start {
    kernels::nbody::particles bodies;
    double time;
    std::optional<cost_model> model{};  ///< of an earlier run; where there is none, one is fitted
};

/// Parses and checks everything that can be known before a runtime starts. Throws input_error. Prints the
/// help text and exits the process with 0 on --help.
nbody_request parse_nbody(int argc, char** argv, std::string_view executable, const description& runtime);

/// The particles that were asked for. Throws kernels::nbody::error for a snapshot that cannot be used, and
/// input_error for fewer particles than workers.
nbody_start start_of(nbody_request& asked);

}  // namespace tauto::runner
