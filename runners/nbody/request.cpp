#include "runners/nbody/request.hpp"

#include <cmath>

#include "kernels/nbody/snapshot.hpp"
#include "runners/nbody/cost.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/memory.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

// Each member has all particles, their prediction, the packed targets and the buffers of the collectives.
constexpr double bytes_a_particle = 8.0 * (21 + 10 + 9 + 20 + 9 + 2 * 19);
// Of those buffers, for each slice of a grid.
constexpr double bytes_a_slice = 8.0 * 9;

// Of the grids that the scheme may use; at most.
double most_slices(const nbody_request& asked) {
    if (asked.schedule == "auto") return asked.threads / 2.0;
    if (asked.schedule != "grid") return 0.0;
    return as_double(asked.threads) / groups_of_grid(asked.threads);
}

void require_enough_particles(const nbody_request& asked) {
    if (asked.particles < asked.threads)
        throw input_error(std::to_string(asked.particles) + " particles for " +
                          std::to_string(asked.threads) +
                          " threads; use --threads up to the number of particles");
}

void require_memory_for(const nbody_request& asked) {
    const double each = (bytes_a_particle + bytes_a_slice * most_slices(asked)) * asked.threads;
    require_memory(
        each * as_double(asked.particles),
        std::to_string(asked.particles) + " particles on " + std::to_string(asked.threads) + " threads",
        [&](double there) { return "use --particles up to about " + whole_number(there / each); });
}

void check(const nbody_request& asked) {
    require_from_one("--particles", asked.particles);
    if (!(asked.end_time > 0.0) || !std::isfinite(asked.end_time))
        throw input_error("--end-time must be a number above 0");
    require_from_one("--blocks", asked.blocks);
    kernels::nbody::require_valid(asked.hermite);
}

}  // namespace

nbody_request parse_nbody(int argc, char** argv, std::string_view executable, const description& runtime) {
    nbody_request chosen;
    command_line line{"Gravitating particles with block individual timesteps", "Targets", executable, runtime,
                      chosen};
    std::optional<double> softening;
    std::optional<double> eta;
    auto& hermite = chosen.hermite;
    line.add("--scheme", chosen.schedule, "The same as --schedule");
    line.add("--particles", chosen.particles, "Particles of a Plummer sphere");
    line.add("--order", hermite.order, "Order of the Hermite scheme: 4 or 6");
    line.add("--end-time", chosen.end_time, "Length of a run in N-body time units");
    line.add("--blocks", chosen.blocks, "Stop after this many blocks");
    line.add("--softening", softening, "Softening length (default: 4 / particles)");
    line.add("--eta", eta, "Accuracy of the steps (default: 0.1 of order 4, 0.5 of order 6)");
    line.add("--largest-step", hermite.largest_step, "Largest step, a power of two");
    line.add("--seed", chosen.seed, "Of the Plummer sphere");
    line.add("--snapshot", chosen.snapshot, "Start from the particles in this file");
    line.add("--write-snapshot", chosen.snapshot_to_write, "Write the particles at the end to this file");
    line.add("--log", chosen.log_file, "Write a line for each block of the last run to this file (CSV)");
    if (runtime.has_costs)
        line.add_required("--costs", chosen.costs,
                          "What work costs in virtual time: NAME=SECONDS,… as in the rows' model");
    if (!line.parse(argc, argv)) return chosen;
    if (eta) hermite.accuracy = *eta;
    check(chosen);
    line.check();
    if (chosen.snapshot) {
        hermite.softening = softening.value_or(-1.0);
    } else {
        hermite.softening = softening.value_or(4.0 / as_double(chosen.particles));
        require_enough_particles(chosen);
        require_memory_for(chosen);
    }
    if (softening) kernels::nbody::require_valid(hermite);
    return chosen;
}

nbody_start start_of(nbody_request& asked) {
    if (!asked.snapshot)
        return {kernels::nbody::plummer(usize(asked.particles), static_cast<std::uint64_t>(asked.seed)), 0.0};
    auto read = kernels::nbody::read_snapshot(*asked.snapshot);
    asked.particles = std::ssize(read.bodies);
    require_enough_particles(asked);
    require_memory_for(asked);
    // Not given: the same rule as for a Plummer sphere of as many.
    if (asked.hermite.softening < 0.0) asked.hermite.softening = 4.0 / as_double(asked.particles);
    return {std::move(read.bodies), read.time};
}

}  // namespace tauto::runner
