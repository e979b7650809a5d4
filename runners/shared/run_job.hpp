#pragma once
// The runner of a job: parse, make the job, warm up, time, account for the workers, check the result, print
// the row. That is a whole runner, for a study whose work is one body that is repeated.
//
// A Job is a `job` (job.hpp) with
//   static constexpr std::string_view executable;             its name in messages
//   static description describe();                            the library, and the ways to share the work
//   static environment_changes environment(const options&);   what its library must find; may be absent
//   explicit Job(const Request&);                             of the request that `parse` makes

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runners/shared/command_line.hpp"
#include "runners/shared/job.hpp"
#include "runners/shared/missing_workers.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/start_runner.hpp"
#include "runners/shared/timing.hpp"

namespace tauto::runner {

/// The main function; `parse` makes the job's request of the command line. Returns the exit code.
template <class Job, class Parse>
int run_job(int argc, char** argv, Parse&& parse) {
    return start_runner<Job>(argc, argv, parse, [](const auto& asked) {
        Job work{asked};
        process_usage before;
        const auto repeat = [&](std::int64_t count) {
            for (; count > 0; --count) work.repeat();
        };
        const timing timed = time_batches(asked, repeat, monotonic_seconds, [&] {
            work.forget_account();
            before = usage_now();
        });
        const process_usage usage = usage_now() - before;
        const std::vector<busy_worker> workers = work.workers();  // before the check, which works too
        const job_answer answer = work.check();
        std::vector<worker_share> shares;
        for (const auto& worker : workers) shares.push_back({worker.thread, worker.cpu, 1});
        return finish(work, job_row(Job::describe(), asked, timed, usage, workers, work, answer),
                      answer.passed ? std::nullopt : std::optional{answer.reason},
                      missing_workers(asked, usize(asked.threads), "worked", shares));
    });
}

}  // namespace tauto::runner
