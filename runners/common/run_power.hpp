#pragma once
// What every runner of one job does, given an adapter: parse, make the job, warm up, time, account for the
// workers, check the result, print the row.
//
// An adapter implements
//   static constexpr std::string_view executable;            its name in messages
//   static description describe();                           the library, and the ways to share the work
//   static Request parse(int, char**, std::string_view, const description&);
//   static std::unique_ptr<power_job> make(const Request&);

#include <algorithm>
#include <memory>
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
                      const process_usage& usage, const power_job& job, const job_answer& answer) {
    const auto repetitions = static_cast<double>(timed.iterations);
    json row = row_of(runtime, asked, timed);
    json workers = json::array();
    double busy_seconds = 0.0;
    for (const auto& one : job.workers()) {
        workers.push_back({{"thread", one.thread},
                           {"cpu", one.cpu},
                           {"does", one.does},
                           {"busy_seconds", one.busy_seconds / repetitions}});
        busy_seconds += one.busy_seconds / repetitions;
    }
    row.update(
        {{"busy_seconds", busy_seconds},
         {"imbalance", imbalance_of(job.workers())},
         {"cpu_load", usage.cpu_seconds / (timed.timed_seconds * static_cast<double>(asked.cpus.size()))},
         {"voluntary_switches", static_cast<double>(usage.voluntary_switches) / repetitions},
         {"involuntary_switches", static_cast<double>(usage.involuntary_switches) / repetitions},
         {"width", job.workers().size()},
         {"workers", workers}});
    row.update(job.detail(repetitions));
    row["check"] = {{"passed", answer.passed}, {"answer", answer.answer}};
    return row;
}

/// The main function of a runner. Returns the exit code.
template <class Adapter>
int run_power(int argc, char** argv) {
    return start_runner<Adapter>(argc, argv, Adapter::parse, [](const auto& asked) {
        const std::unique_ptr<power_job> job = Adapter::make(asked);
        process_usage before;
        const timing timed = time_batches(
            {asked.warmup_seconds, asked.min_seconds, asked.max_iterations},
            [&](std::int64_t count) {
                for (; count > 0; --count) job->repeat();
            },
            monotonic_seconds,
            [&] {
                job->forget_account();
                before = usage_now();
            });
        const process_usage usage = usage_now() - before;
        const job_answer answer = job->check();
        std::cout << power_row(Adapter::describe(), asked, timed, usage, *job, answer).dump() << std::endl;
        if (!answer.passed) {
            complain<Adapter>("wrong answer: " + answer.reason);
            return exit_wrong_answer;
        }
        std::vector<worker_share> shares;
        for (const auto& one : job->workers()) shares.push_back({one.thread, one.cpu, 1});
        const auto reason = missing_workers(asked, static_cast<std::size_t>(asked.threads), "worked", shares);
        if (!reason || job->may_miss_workers()) return exit_ok;
        complain<Adapter>(*reason + "; " + job->diagnosis());
        return exit_missing_worker;
    });
}

}  // namespace tauto::runner
