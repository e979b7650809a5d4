#pragma once
// Whether threads sleep, and what they used, as the kernel says: no test has to wait "long enough" for that.

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace tauto::testing {

// True as soon as every other thread of this process sleeps; false if that does not happen within a minute.
inline bool others_fall_asleep() {
    const std::string own = std::to_string(syscall(SYS_gettid));
    const auto all_asleep = [&] {
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            if (task.path().filename() == own) continue;
            std::string stat;
            std::getline(std::ifstream(task.path() / "stat"), stat);
            // "number (name) state ...", and the name may hold anything.
            const std::size_t state = stat.rfind(')') + 2;
            if (state < stat.size() && stat[state] != 'S') return false;
        }
        return true;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < end) {
        if (all_asleep()) return true;
        std::this_thread::yield();
    }
    return false;
}

// How often a thread of this process has gone to sleep.
inline long sleeps_of(pid_t thread) {
    std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
    for (std::string line; std::getline(status, line);) {
        constexpr std::string_view name = "voluntary_ctxt_switches:";
        if (line.starts_with(name)) return std::stol(line.substr(name.size()));
    }
    return 0;
}

// Of this process.
inline double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

}  // namespace tauto::testing
