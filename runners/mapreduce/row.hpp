#pragma once
// The one line of JSON that a mapreduce runner prints.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runners/mapreduce/request.hpp"
#include "runners/mapreduce/sleeps.hpp"
#include "runners/mapreduce/waiting.hpp"
#include "runners/shared/process_usage.hpp"
#include "runners/shared/row.hpp"
#include "runners/shared/timing.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// What was seen of a runtime.
struct mapreduce_result {
    timing timed;                 ///< an iteration is a repetition of all tasks
    process_usage usage;          ///< during the timed part
    double task_seconds = 0.0;    ///< of one task alone, on the first CPU
    std::uint64_t right_sum = 0;  ///< of the hashes, computed serially
    std::uint64_t sum = 0;        ///< that the runtime gave: the first wrong one, if any was
    std::int64_t wrong_repetitions = 0;
    // Untimed repetitions in which the clock was read at both ends of every task.
    std::int64_t accounted_repetitions = 0;
    double accounted_seconds = 0.0;  ///< of all of them
    double tick_seconds = 0.0;
    std::optional<waiting_parts> waiting;               ///< absent where threads shared CPUs
    std::optional<std::vector<sleeping_place>> sleeps;  ///< where a trace was asked for
    std::vector<worker_share> workers;  ///< their tasks and ticks, of all accounted repetitions
};

/// Seconds that the tasks need when each CPU takes ceil(tasks / CPUs) of them, one after the other.
double ideal_seconds(const mapreduce_request& asked, double task_seconds);

/// Share of the CPUs' time in which they ran no task. Never below 0, which it would be where threads share
/// a CPU: the clock goes on in a task that was interrupted.
double waiting_share(double useful_seconds, double accounted_seconds, std::size_t cpus);

finished_row mapreduce_row(const description& runtime, const mapreduce_request& asked,
                           const mapreduce_result& seen);

}  // namespace tauto::runner
