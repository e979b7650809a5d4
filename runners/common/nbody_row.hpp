#pragma once
// The one line of JSON that an nbody runner prints, and the log of its blocks.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/nbody/invariants.hpp"
#include "runners/common/nbody_request.hpp"
#include "runners/common/row.hpp"
#include "runners/common/timing.hpp"
#include "runners/common/work_account.hpp"

namespace tauto::runner {

/// One block of a run.
struct block_sample {
    double time;
    std::size_t active;
    std::string scheme;
    double seconds;
    double shared_seconds;     ///< of it in collectives, or in starting, joining and waiting for threads
    double predicted_seconds;  ///< 0: nothing was predicted
};

/// A run from the start to the end.
struct nbody_pass {
    std::vector<block_sample> blocks;
    double start_seconds = 0.0;  ///< forces at the start, model
    double seconds = 0.0;        ///< of all blocks
    kernels::nbody::invariants after{};
    std::uint64_t state_hash = 0;  ///< of positions and velocities
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

json nbody_row(const description& runtime, const nbody_request& asked, const nbody_result& seen);

/// CSV with a header: time, active, scheme, predicted_seconds (empty where nothing was predicted), seconds,
/// shared_seconds.
std::string block_log(const std::vector<block_sample>& blocks);

}  // namespace tauto::runner
