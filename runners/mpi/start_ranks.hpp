#pragma once
// How a runner on an MPI begins and ends whose processes are all on one machine, one thread each. Includes
// <mpi.h>: for the runners' own files only.

#include <mpi.h>

#include <exception>
#include <span>
#include <string>

#include "runners/mpi/launch.hpp"
#include "runners/mpi/library.hpp"
#include "runners/shared/cpus.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/start_runner.hpp"

namespace tauto::runner {

namespace detail {

template <class Adapter>
void require_the_ranks_asked_for(const options& asked, int ranks) {
    if (ranks != asked.threads)
        throw input_error("the launcher started " + std::to_string(ranks) + " ranks and --threads is " +
                          std::to_string(asked.threads) + "; give both the same number, or start " +
                          std::string{Adapter::executable} + " without a launcher");
}

inline void require_one_machine(int ranks) {
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    int together = 0;
    MPI_Comm_size(here, &together);
    MPI_Comm_free(&here);
    if (together != ranks)
        throw input_error("the " + std::to_string(ranks) + " ranks are on more than one machine (" +
                          std::to_string(together) +
                          " here); their times need one clock, so start them all on one");
}

// As one of the processes that the launcher started.
template <class Adapter, class Run>
int be_a_rank(const options& asked, Run&& run) {
    end_with_parent();
    const int cpu = asked.cpu_of(place_of_rank().rank);
    pin_to(std::span<const int>{&cpu, 1});  // before MPI makes its threads and its memory
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int code = exit_ok;
    try {
        require_the_ranks_asked_for<Adapter>(asked, ranks);
        require_one_machine(ranks);
        code = run(rank);
    } catch (const input_error& error) {  // the same on all ranks
        if (rank == 0) complain<Adapter>(error.what());
        code = exit_bad_input;
    } catch (const std::exception& error) {
        complain<Adapter>("rank " + std::to_string(rank) + ": " + error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return code;
}

}  // namespace detail

/// The main function of such a runner: `parse` makes the request of the command line, and run(request, rank)
/// returns the exit code of a process. Called plainly, it calls its launcher.
template <class Adapter, class Parse, class Run>
int start_ranks(int argc, char** argv, Parse&& parse, Run&& run) {
    try {
        const description mpi = Adapter::describe();
        const auto asked = parse(argc, argv, Adapter::executable, mpi);
        if (asked.describe) {
            print_description(mpi);
            return exit_ok;
        }
        if (launched_by_mpi())
            return detail::be_a_rank<Adapter>(asked, [&](int rank) { return run(asked, rank); });
        return launch_ranks(this_launcher(), asked.threads, argv, Adapter::executable);
    } catch (const std::exception& error) {
        complain<Adapter>(error.what());
    }
    return exit_bad_input;
}

}  // namespace tauto::runner
