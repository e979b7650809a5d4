#include "runners/shared/environment.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runners/shared/cpus.hpp"
#include "runners/shared/error.hpp"

namespace tauto::runner {

bool restarted() {
    return std::getenv(cpus_before_restart) != nullptr;
}

void restart_with(const environment_changes& changes, std::span<const int> cpus, char** argv) {
    for (const auto& [name, value] : changes) {
        if (value)
            ::setenv(name.c_str(), value->c_str(), 1);
        else
            ::unsetenv(name.c_str());
    }
    ::setenv(cpus_before_restart, cpus_text(cpus_at_start()).c_str(), 1);
    pin_to(cpus);
    ::execv("/proc/self/exe", argv);
    throw input_error(std::string{"could not restart with the library's settings: "} + std::strerror(errno));
}

}  // namespace tauto::runner
