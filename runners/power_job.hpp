#pragma once
// A job of the power study: the same work again and again, shared among threads as its request says.

#include <time.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runners/common/row.hpp"

namespace tauto::runner {

/// CPU seconds of the calling thread.
inline double thread_cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A thread that worked.
struct busy_worker {
    int thread;                 ///< its rank
    int cpu;                    ///< where it was seen last
    std::string does;           ///< "collides", or what all do
    double busy_seconds = 0.0;  ///< CPU time in the work itself, without waiting
};

/// Is the result right? `answer` is the same for every way to share the work.
struct job_answer {
    bool passed;
    std::string answer;
    std::string reason;  ///< why not
};

class power_job {
  public:
    power_job() = default;
    power_job(const power_job&) = delete;
    power_job& operator=(const power_job&) = delete;
    virtual ~power_job() = default;

    /// One repetition.
    virtual void repeat() = 0;
    /// What was done so far does not count.
    virtual void forget_account() = 0;
    /// All threads that worked since.
    virtual std::vector<busy_worker> workers() const = 0;
    /// Untimed, after the last repetition.
    virtual job_answer check() = 0;
    /// Fields of the row that only this job has. `repetitions` were counted since the account was cleared.
    virtual json detail(double repetitions) const = 0;
    /// Is it no mistake when a thread does nothing, or is not on its CPU?
    virtual bool may_miss_workers() const { return false; }
    /// How many threads the library sees; for the message that one is missing.
    virtual std::string diagnosis() const = 0;
};

/// A job by its name, on one thread, for running beside another. Throws input_error for a name that is none,
/// and for one whose library was not there when this was built.
std::unique_ptr<power_job> serial_job(std::string_view name, const std::vector<int>& cpus);

/// The names that serial_job knows here.
std::vector<std::string> jobs_here();

}  // namespace tauto::runner
