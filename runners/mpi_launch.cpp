#include "runners/mpi_launch.hpp"

#include <sys/prctl.h>
#include <unistd.h>

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

bool launched_by_mpi() {
    constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (const char* name : names)
        if (std::getenv(name) != nullptr) return true;
    return false;
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
