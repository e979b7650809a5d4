#pragma once
// A job: the same work again and again, shared among threads as its request says. run_job.hpp measures it.

#include <memory>
#include <string>
#include <vector>

#include "runners/shared/process_usage.hpp"
#include "runners/shared/row.hpp"

namespace tauto::runner {

/// Is the result right? `answer` is the same for every way to share the work.
struct job_answer {
    bool passed;
    std::string answer;
    std::string reason;  ///< why not
};

class job {
  public:
    job() = default;
    job(const job&) = delete;
    job& operator=(const job&) = delete;
    virtual ~job() = default;

    /// One repetition.
    virtual void repeat() = 0;
    /// Untimed, after the last repetition.
    virtual job_answer check() = 0;
    /// How many threads the library sees; for the message that one is missing.
    virtual std::string diagnosis() const = 0;

    /// Fields of the row that only this job has. `repetitions` were counted since the account was cleared.
    virtual json detail(double) const;
    /// What was done so far does not count.
    virtual void forget_account() { threads_.forget(); }
    /// All threads that worked since; by default the threads of this process that used CPU time.
    virtual std::vector<busy_worker> workers() const { return threads_.workers("works"); }
    /// Is it all right that a thread does nothing, or is not on its CPU?
    virtual bool may_drop_workers() const { return false; }

  protected:
    process_threads threads_;
};

/// The busiest worker's time over the mean; 1 where all are alike, or none worked.
double imbalance_of(const std::vector<busy_worker>& workers);

/// The row of a job. Workers' seconds are for one repetition.
finished_row job_row(const description& runtime, const options& asked, const timing& timed,
                     const process_usage& usage, const std::vector<busy_worker>& workers, const job& work,
                     const job_answer& answer);

}  // namespace tauto::runner
