#pragma once
// What every runner on SMPI does as a rank: all ranks are in one process, which smpirun started.

#include <mpi.h>

#include <simgrid/version.h>

#include <exception>
#include <string>
#include <utility>

#include "runners/shared/error.hpp"
#include "runners/shared/start_runner.hpp"

namespace tauto::runner {

/// Operations that a host of the platform does in a second; work is charged by its seconds.
constexpr double operations_per_second = 1e9;

/// SMPI as a runtime under test; the schedules are the study's.
inline description smpi_description() {
    description smpi;
    smpi.runtime = "smpi";
    smpi.library = "simgrid";
    int major = 0, minor = 0, patch = 0;
    sg_version_get(&major, &minor, &patch);
    smpi.library_version = std::to_string(major) + "." + std::to_string(minor);
    smpi.has_costs = true;
    return smpi;
}

/// Between MPI_Init and MPI_Finalize: as start_runner, but for CPUs, which are simulated. run(request, rank)
/// returns the exit code.
template <class Adapter, class Parse, class Run>
int start_smpi_rank(int argc, char** argv, Parse&& parse, Run&& run) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        const description smpi = Adapter::describe();
        auto asked = parse(argc, argv, Adapter::executable, smpi);
        if (asked.describe) {
            if (rank == 0) print_description(smpi);
            return exit_ok;
        }
        if (asked.threads != ranks)
            throw input_error("smpirun started " + std::to_string(ranks) + " ranks and --threads is " +
                              std::to_string(asked.threads) + "; give both the same number");
        return run(std::move(asked), rank);
    } catch (const std::exception& error) {
        // Mostly the same on all ranks, which end one after the other.
        complain<Adapter>(error.what());
        return exit_bad_input;
    }
}

}  // namespace tauto::runner
