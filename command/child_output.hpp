#pragma once
// What another program prints, started by this process and waited for.

#include <functional>
#include <string>

namespace tauto::command {

/// How a child ended: its exit code, as a shell has it where a signal ended it, and its standard output.
struct ended_child {
    int code = 0;
    std::string output;
};

/// Forks, and lets the child become another program by `become`, which returns an exit code only where that
/// fails. Its standard input is empty, and its standard error this process's own. Throws std::runtime_error
/// where no child can be had.
[[nodiscard]] ended_child output_of(const std::function<int()>& become);

}  // namespace tauto::command
