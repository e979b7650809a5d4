#pragma once
// The one line of JSON that an nbody runner prints.

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/nbody/invariants.hpp"
#include "runners/nbody/block_log.hpp"
#include "runners/nbody/cost.hpp"
#include "runners/nbody/request.hpp"
#include "runners/shared/row.hpp"
#include "runners/shared/timing.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// A run from the start to the end.
struct nbody_pass {
    std::vector<block_sample> blocks;
    double start_seconds = 0.0;  ///< forces at the start, and the model where it was fitted
    double seconds = 0.0;        ///< of all blocks
    kernels::nbody::invariants after{};
    std::uint64_t state_hash = 0;     ///< of positions and velocities
    bool logged = false;              ///< its blocks are in the log already
    std::optional<cost_model> model;  ///< that the predictions were made of
};

struct nbody_result {
    timing timed;  ///< an iteration is a block, a batch is a run
    kernels::nbody::invariants before{};
    nbody_pass last;
    std::int64_t different_runs = 0;  ///< runs of a fixed scheme that ended with other bits than the first
    std::vector<worker_share> workers;
};

/// Largest relative error of the energy that passes: steps of eta cost about eta^order.
double energy_tolerance(const nbody_request& asked);

bool passed(const nbody_request& asked, const nbody_result& seen);

finished_row nbody_row(const description& runtime, const nbody_request& asked, const nbody_result& seen);

}  // namespace tauto::runner
