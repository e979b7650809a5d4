#pragma once
// Starting an MPI program by itself: called plainly, it calls its own launcher.

#include <string>
#include <string_view>

namespace tauto::runner {

/// True in a process that an MPI launcher started.
bool launched_by_mpi();

/// Where the launcher put this process; its environment says so before MPI has started.
struct rank_place {
    int rank = 0;
    int ranks = 1;
    int local_rank = 0;  ///< among those on this machine
    int local_ranks = 1;
};

/// The only one of all where no launcher started it.
rank_place place_of_rank();

/// An MPI and the program that starts its processes.
struct mpi_launcher {
    std::string program;  ///< "mpirun.openmpi"; TAUTO_MPIEXEC names another one
    bool is_openmpi;
};

/// Starts the launcher with `ranks` of this program and the same arguments, and waits for it. Ranks bind
/// themselves. Returns their exit code; where they did not end by themselves, `executable` says how they
/// ended. Throws input_error where there is no launcher.
int launch_ranks(const mpi_launcher& launcher, int ranks, char** argv, std::string_view executable);

/// This process ends when the process that started it ends: so a launcher that was killed leaves no rank
/// behind that spins for ever.
void end_with_parent();

}  // namespace tauto::runner
