#pragma once
// Map and reduce of short tasks in virtual time: tautochrone, oneTBB, OpenMP and QtConcurrent, under a
// frequency governor that follows the load of each core.

#include <string>
#include <vector>

#include "ledger.hpp"
#include "machine.hpp"

namespace tauto::sim {

struct tasks_request {
    int tasks = 50;
    double bytes = 400'000;  // that one task hashes
    int threads = 1;         // one on each core, then on their siblings
    std::string runtime = "tbb";
    std::string schedule = "dynamic";  // of openmp: static, dynamic, guided
    double seconds = 0.4;              // virtual time to run for; the first quarter is not counted
    bool timeline = false;
};

struct tasks_result {
    nanoseconds repetition = 0;  // one map/reduce: mean
    nanoseconds alone = 0;       // all tasks in sequence on one core at its highest clock
    double task_seconds = 0;     // one task inside: mean
    double waiting_share = 0;    // of the threads' time that is not spent inside a task
    double load = 0;             // busy cores' share of time, as the governor sees it
    double mean_hertz = 0;       // over the time spent inside tasks
    double joules = 0;           // of one repetition
    std::int64_t repetitions = 0;
    std::int64_t sleeps = 0;  // a repetition
    std::int64_t events = 0;
    std::vector<hardware_thread> where;
    ledger accounts{0, 0, false};
};

tasks_result simulate_tasks(const machine& on, const tasks_request& asked);

}  // namespace tauto::sim
