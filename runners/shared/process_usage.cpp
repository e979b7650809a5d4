#include "runners/shared/process_usage.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

constexpr double least_share = 0.02;  // of the busiest thread's time: less is not work

double seconds_of(const timeval& time) {
    return as_double(time.tv_sec) + 1e-6 * as_double(time.tv_usec);
}

// CPU seconds of every thread of this process.
std::map<int, double> thread_seconds() {
    std::map<int, double> found;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::ifstream file{task.path() / "schedstat"};
        double nanoseconds = 0.0;
        if (file >> nanoseconds) found[std::stoi(task.path().filename().string())] = 1e-9 * nanoseconds;
    }
    return found;
}

// The CPU that a thread of this process ran on last: field 39 of its stat, behind a name that may have
// spaces.
int last_cpu_of(int thread) {
    std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
    std::string text;
    std::getline(file, text);
    std::istringstream fields{text.substr(text.rfind(')') + 1)};
    for (int field = 3; field < 39; ++field) fields >> text;
    int cpu = -1;
    fields >> cpu;
    return cpu;
}

}  // namespace

process_usage usage_now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), usage.ru_nvcsw, usage.ru_nivcsw};
}

double thread_cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return as_double(now.tv_sec) + 1e-9 * as_double(now.tv_nsec);
}

void process_threads::forget() {
    before_ = thread_seconds();
}

std::vector<busy_worker> process_threads::workers(const std::string& does, bool works_too) const {
    std::vector<busy_worker> found;
    double most = 0.0;
    for (auto [thread, seconds] : thread_seconds()) {
        if (!works_too && thread == ::getpid()) continue;
        if (const auto known = before_.find(thread); known != before_.end()) seconds -= known->second;
        found.push_back({int_size(found), last_cpu_of(thread), does, seconds});
        most = std::max(most, seconds);
    }
    std::erase_if(found, [&](const busy_worker& worker) { return worker.busy_seconds < least_share * most; });
    return found;
}

}  // namespace tauto::runner
