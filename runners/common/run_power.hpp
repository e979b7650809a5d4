#pragma once
// What every runner of one job does: parse, make the job, warm up, time, account for the workers, check the
// result, print the row.
//
// An adapter implements
//   static constexpr std::string_view executable;            its name in messages
//   static description describe();                           the library, and the ways to share the work

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runners/common/missing_workers.hpp"
#include "runners/common/process_usage.hpp"
#include "runners/common/start_runner.hpp"
#include "runners/common/timing.hpp"
#include "runners/power_job.hpp"

namespace tauto::runner {

/// The busiest worker's time over the mean; 1 where all are alike, or nobody worked.
inline double imbalance_of(const std::vector<busy_worker>& workers) {
    double most = 0.0;
    double sum = 0.0;
    for (const auto& one : workers) {
        most = std::max(most, one.busy_seconds);
        sum += one.busy_seconds;
    }
    return sum > 0.0 ? most * static_cast<double>(workers.size()) / sum : 1.0;
}

/// The row of a job. Workers' seconds are those of one repetition.
inline json power_row(const description& runtime, const options& asked, const timing& timed,
                      const process_usage& usage, const std::vector<busy_worker>& workers,
                      const power_job& job, const job_answer& answer) {
    const auto repetitions = static_cast<double>(timed.iterations);
    json row = row_of(runtime, asked, timed);
    json each = json::array();
    double busy_seconds = 0.0;
    for (const auto& one : workers) {
        each.push_back({{"thread", one.thread},
                        {"cpu", one.cpu},
                        {"does", one.does},
                        {"busy_seconds", one.busy_seconds / repetitions}});
        busy_seconds += one.busy_seconds / repetitions;
    }
    row.update(
        {{"busy_seconds", busy_seconds},
         {"imbalance", imbalance_of(workers)},
         {"cpu_load", usage.cpu_seconds / (timed.timed_seconds * static_cast<double>(asked.cpus.size()))},
         {"voluntary_switches", static_cast<double>(usage.voluntary_switches) / repetitions},
         {"involuntary_switches", static_cast<double>(usage.involuntary_switches) / repetitions},
         {"width", workers.size()},
         {"workers", each}});
    row.update(job.detail(repetitions));
    row["check"] = {{"passed", answer.passed}, {"answer", answer.answer}};
    return row;
}

/// The main function of a runner; `parse` makes the job's request of the command line. Returns the exit code.
template <class Adapter, class Job, class Parse>
int run_power(int argc, char** argv, Parse&& parse) {
    return start_runner<Adapter>(argc, argv, parse, [](const auto& asked) {
        Job job{asked};
        process_usage before;
        const timing timed = time_batches(
            {asked.warmup_seconds, asked.min_seconds, asked.max_iterations},
            [&](std::int64_t count) {
                for (; count > 0; --count) job.repeat();
            },
            monotonic_seconds,
            [&] {
                job.forget_account();
                before = usage_now();
            });
        const process_usage usage = usage_now() - before;
        const std::vector<busy_worker> workers = job.workers();  // before the check, which works too
        const job_answer answer = job.check();
        std::cout << power_row(Adapter::describe(), asked, timed, usage, workers, job, answer).dump()
                  << std::endl;
        if (!answer.passed) {
            complain<Adapter>("wrong answer: " + answer.reason);
            return exit_wrong_answer;
        }
        std::vector<worker_share> shares;
        for (const auto& one : workers) shares.push_back({one.thread, one.cpu, 1});
        const auto reason = missing_workers(asked, static_cast<std::size_t>(asked.threads), "worked", shares);
        if (!reason || job.may_miss_workers()) return exit_ok;
        complain<Adapter>(*reason + "; " + job.diagnosis());
        return exit_missing_worker;
    });
}

}  // namespace tauto::runner
