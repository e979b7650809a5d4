// tauto-nbody: the nbody study's runner for the engine that is asked for, or that the launcher calls for.
//
//   tauto-nbody --particles 4096                    threads of this machine
//   tauto-nbody --engine openmpi --threads 2        processes that it launches itself
//   mpirun -n 4 tauto-nbody --particles 4096        one of the launcher's processes

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "runners/mpi/launch.hpp"
#include "runners/shared/error.hpp"

namespace {

using namespace tauto::runner;

struct engine {
    std::string_view name;
    std::string_view runner;   ///< the end of the executable's name
    std::string_view missing;  ///< what to do where it was not built
};

constexpr std::array<engine, 5> engines{{
    {"serial", "serial", "build it again (make)"},
    {"threads", "tautochrone", "build it again (make)"},
    {"openmp", "openmp", "build it again with a compiler that has OpenMP"},
    {"openmpi", "openmpi", "install Open MPI (Debian: libopenmpi-dev) and build again (make)"},
    {"mpich", "mpich", "install MPICH (Debian: libmpich-dev) and build again (make)"},
}};

std::string names() {
    std::string text;
    for (const auto& one : engines) text += (text.empty() ? "" : ", ") + std::string{one.name};
    return text;
}

const engine& engine_named(std::string_view name) {
    const auto found = std::ranges::find(engines, name, &engine::name);
    if (found == engines.end())
        throw input_error("there is no engine '" + std::string{name} + "'; there are " + names());
    return *found;
}

// Takes --engine out of the words. Empty where it was not there.
std::string take_engine(std::vector<std::string>& words) {
    std::string name;
    for (auto word = words.begin(); word != words.end();) {
        if (word->starts_with("--engine=")) {
            name = word->substr(std::string_view{"--engine="}.size());
            word = words.erase(word);
        } else if (*word == "--engine") {
            if (word + 1 == words.end()) throw input_error("--engine has no value; there are " + names());
            name = *(word + 1);
            word = words.erase(word, word + 2);
        } else {
            ++word;
        }
    }
    return name;
}

// Open MPI's launcher names its ranks so; all others speak to MPICH's kind.
const engine& engine_of_the_launcher() {
    const bool openmpi = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
    return engine_named(openmpi ? "openmpi" : "mpich");
}

const engine& chosen(const std::string& name) {
    if (!launched_by_mpi()) return engine_named(name.empty() ? "threads" : name);
    const engine& launched = engine_of_the_launcher();
    if (!name.empty() && engine_named(name).name != launched.name)
        throw input_error("the launcher starts ranks of engine '" + std::string{launched.name} +
                          "' and --engine is '" + name + "'; leave --engine out, or the launcher");
    return launched;
}

[[noreturn]] void become(const engine& which, const std::vector<std::string>& words) {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string path = (folder / ("tauto-nbody-" + std::string{which.runner})).string();
    std::vector<std::string> all{path};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    for (auto& word : all) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(path.c_str(), arguments.data());
    throw input_error("engine '" + std::string{which.name} + "' could not be started: " + path + ": " +
                      std::strerror(errno) + "; " + std::string{which.missing});
}

}  // namespace

int main(int argc, char** argv) {
    try {
        std::vector<std::string> words{argv + 1, argv + argc};
        const std::string name = take_engine(words);
        const engine& which = chosen(name);
        if (std::ranges::find(words, "--help") != words.end() && place_of_rank().rank == 0)
            std::cout << "tauto-nbody [--engine NAME] …: NAME is one of " << names()
                      << ";\nwithout it threads, or under mpirun the launcher's MPI. The options of '"
                      << which.name << "':\n\n"
                      << std::flush;
        become(which, words);
    } catch (const std::exception& error) {
        if (place_of_rank().rank == 0) std::cerr << "tauto-nbody: error: " << error.what() << '\n';
    }
    return exit_bad_input;
}
