#include "runners/mpi/launch.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <vector>

#include "runners/shared/error.hpp"

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
    return std::ranges::any_of(launchers, [](const auto& one) { return std::getenv(one.rank) != nullptr; });
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

namespace {

std::vector<std::string> command_of(const mpi_launcher& launcher, int ranks, char** argv) {
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
    return words;
}

// Becomes the launcher. Where that fails the reason goes through `failure`, which a successful start closes.
[[noreturn]] void become(std::vector<std::string>& words, int failure) {
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    end_with_parent();
    ::execvp(arguments.front(), arguments.data());
    const int reason = errno;
    if (::write(failure, &reason, sizeof reason) < 0) ::_exit(126);
    ::_exit(127);
}

// A rank that is ended from outside says nothing; Open MPI's launcher ends with 128 and its signal, MPICH's
// with the signal alone.
std::string story_of(int status, const std::string& launcher) {
    const int signal = status > 128 ? status - 128 : status;
    const bool is_signal = status > 128 || signal == SIGABRT || signal == SIGKILL || signal == SIGSEGV ||
                           signal == SIGBUS || signal == SIGTERM;
    const std::string end =
        is_signal ? "a rank was ended by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")"
                  : "the launcher " + launcher + " ended with status " + std::to_string(status);
    return end + " before the run was over, and all ranks with it; nothing was measured";
}

}  // namespace

int launch_ranks(const mpi_launcher& launcher, int ranks, char** argv, std::string_view executable) {
    std::vector<std::string> words = command_of(launcher, ranks, argv);
    std::array<int, 2> failure{};
    if (::pipe2(failure.data(), O_CLOEXEC) != 0)
        throw input_error(std::string{"could not make a pipe: "} + std::strerror(errno));
    const pid_t child = ::fork();
    if (child < 0) throw input_error(std::string{"could not start a process: "} + std::strerror(errno));
    if (child == 0) become(words, failure[1]);
    ::close(failure[1]);
    std::signal(SIGINT, SIG_IGN);  // the launcher has it as well, and ends its ranks in order
    int reason = 0;
    const bool failed = ::read(failure[0], &reason, sizeof reason) == sizeof reason;
    ::close(failure[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (failed)
        throw input_error("could not start the launcher " + words.front() + ": " + std::strerror(reason) +
                          "; install it, or name another one in TAUTO_MPIEXEC");
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (code != exit_ok && (code < exit_bad_input || code > exit_missing_library))
        std::cerr << executable << ": error: " << story_of(code, words.front()) << '\n';
    return code;
}

void end_with_parent() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace tauto::runner
