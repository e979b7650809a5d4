#pragma once
// A program that is started as often as wanted: all that the child needs is made before it is there.

#include <sys/types.h>

#include <string>
#include <vector>

#include "timer/request.hpp"

namespace tauto::timer {

// The environment of this process with these variables laid over it, a "NAME=VALUE" each.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::optional<std::string>>>& variables);

// The file that execvp(3) would execute for `word` in `folder` with this PATH; nullptr: the system's own.
// Empty with errno in `error` where there is none. A script without #! is such a file; no shell is given it.
std::string found_program(const std::string& word, const char* path, const std::string& folder, int& error);

// Where a program's standard streams lead to.
struct streams {
    int input;
    int output;
    int errors;
};

struct started {
    pid_t pid = 0;
    int error = 0;                 // errno where it did not start
    const char* failed = nullptr;  // of what: "folder", "cpus", "nice", "command"
};

class program {
  public:
    explicit program(const request& asked);
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    // Starts it in a process group of its own, which dies with this process, and returns when the program has
    // replaced the child. The parent's memory is shared until then, so its size costs nothing.
    [[nodiscard]] started start(const streams& to) const;

  private:
    std::vector<std::string> words_;
    std::vector<std::string> variables_;
    std::vector<char*> arguments_;
    std::vector<char*> environment_;
    std::vector<unsigned long> cpus_;  // a bit each
    std::string file_;
    std::string folder_;
    int not_found_ = 0;
    int nice_;
    int priority_ = 0;
};

}  // namespace tauto::timer
