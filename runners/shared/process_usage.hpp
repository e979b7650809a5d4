#pragma once
// What the kernel counted for this process and its threads.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
process_usage usage_now();

/// CPU seconds of the calling thread.
double thread_cpu_seconds();

/// A thread that worked.
struct busy_worker {
    int thread;                 ///< its rank
    int cpu;                    ///< where it was seen last
    std::string does;           ///< "collides", or what all do
    double busy_seconds = 0.0;  ///< CPU time in the work itself, without waiting
};

/// The threads of this process by CPU time, for libraries that do not say who worked.
class process_threads {
  public:
    /// What they did so far does not count.
    void forget();

    /// Those that used CPU time since, and at least 2 % of the busiest one's; the calling thread only where
    /// it `works_too`.
    std::vector<busy_worker> workers(const std::string& does, bool works_too = true) const;

  private:
    std::map<int, double> before_;  // CPU seconds by thread
};

}  // namespace tauto::runner
