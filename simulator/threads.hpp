#pragma once
// Threads with a given amount of work, placed and moved by the system, under a frequency governor: the power
// study in virtual time.

#include <string>
#include <vector>

#include "ledger.hpp"
#include "machine.hpp"

namespace tauto::sim {

// A thread runs `seconds` of work (at the highest clock of the first kind). With `pace` below 1 the thread
// works for that share of each frame and sleeps for the rest. An irregular one has longer and shorter frames,
// and more and less work in them: each is drawn evenly from nothing to twice its mean, the same in every run.
struct thread_request {
    std::string name;
    double seconds = 1;
    double pace = 1;
    int core = -1;              // pinned to; -1: where the system puts it
    std::string woken_by = {};  // at each frame, by that thread; empty: by a clock
    bool irregular = false;
};

struct threads_request {
    std::vector<thread_request> threads;
    double until_seconds = 0;  // idle time is added until here if the work ends before
    bool timeline = false;
};

struct threads_result {
    nanoseconds finished = 0;   // the last thread's end
    nanoseconds end = 0;        // of the account: finished, or until_seconds
    double package_joules = 0;  // to `end`
    double platform_joules = 0;
    double package_joules_to_finish = 0;
    double mean_hertz = 0;  // while working
    std::int64_t migrations = 0;
    std::int64_t events = 0;
    std::vector<nanoseconds> finished_each;
    ledger accounts{0, 0, false};
};

threads_result simulate_threads(const machine& on, const threads_request& asked);

}  // namespace tauto::sim
