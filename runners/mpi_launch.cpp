#include "runners/mpi_launch.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "runners/common/error.hpp"

namespace tauto::runner {

namespace {

// What a launcher calls them: Open MPI's own, Hydra's (MPICH, Intel MPI), Slurm's with PMIx.
struct place_names {
    const char* rank;
    const char* ranks;
    const char* local_rank;
    const char* local_ranks;
};

constexpr std::array launchers{
    place_names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                "OMPI_COMM_WORLD_LOCAL_SIZE"},
    place_names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    place_names{"PMIX_RANK", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
};

int number_in(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace

bool launched_by_mpi() {
    return std::ranges::any_of(launchers,
                               [](const auto& one) { return std::getenv(one.rank) != nullptr; });
}

rank_place place_of_rank() {
    rank_place place;
    for (const auto& one : launchers) {
        if (std::getenv(one.rank) == nullptr) continue;
        place.rank = number_in(one.rank, 0);
        place.ranks = number_in(one.ranks, 1);
        place.local_rank = number_in(one.local_rank, place.rank);
        place.local_ranks = number_in(one.local_ranks, place.ranks);
        break;
    }
    return place;
}

void launch_ranks(const mpi_launcher& launcher, int ranks, char** argv) {
    std::error_code error;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
    const char* named = std::getenv("TAUTO_MPIEXEC");
    std::vector<std::string> words{named != nullptr ? named : launcher.program};
    if (launcher.is_openmpi) {
        // Its messages about a rank's exit code would bury the rank's own.
        words.insert(words.end(), {"--quiet", "--oversubscribe", "--bind-to", "none"});
        if (::geteuid() == 0) words.push_back("--allow-run-as-root");
    }
    words.insert(words.end(), {"-n", std::to_string(ranks), error ? argv[0] : self});
    for (char** word = argv + 1; *word != nullptr; ++word) words.emplace_back(*word);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp(arguments.front(), arguments.data());
    throw input_error("could not start the launcher " + words.front() + ": " + std::strerror(errno) +
                      "; install it, or name another one in TAUTO_MPIEXEC");
}

void end_with_parent() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace tauto::runner
