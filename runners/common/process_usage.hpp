#pragma once
// What the kernel counted for this process.

#include <sys/resource.h>

#include <cstdint>

namespace tauto::runner {

struct process_usage {
    double cpu_seconds = 0.0;  ///< user and system, of all threads
    std::int64_t voluntary_switches = 0;
    std::int64_t involuntary_switches = 0;

    process_usage operator-(const process_usage& before) const {
        return {cpu_seconds - before.cpu_seconds, voluntary_switches - before.voluntary_switches,
                involuntary_switches - before.involuntary_switches};
    }
};

/// Since the process began.
inline process_usage usage_now() {
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_nvcsw, usage.ru_nivcsw};
}

}  // namespace tauto::runner
