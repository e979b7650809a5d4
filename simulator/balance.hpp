#pragma once
// `tauto balance` in virtual time: threads with equal shares of a region each, on cores of unequal speed. All
// wait for the last at the region's end, asleep. The rule is that of real threads (balance/placing.hpp).

#include <string>
#include <vector>

#include "ledger.hpp"
#include "machine.hpp"

namespace tauto::sim {

struct balance_request {
    double region_seconds = 0.05;  // of each thread, on the fastest core
    int threads = 0;               // 0: one for each hardware thread of the placement
    std::string placement = "cores";
    std::string policy = "balanced";  // pinned, linux, balanced: see balance_policies()
    int noisy_cores = 0;              // the last ones, of which others take half
    int regions = 20;
    double look_seconds = 1e-3;  // balanced: the longest time between two looks
    double pull_seconds = 4e-3;  // linux: how often an idle core looks for a thread on a slower one
    double move_seconds =
        30e-6;  // what a thread loses when it is moved; in a row the machine's, if not given
    bool timeline = false;
};

struct balance_result {
    nanoseconds region = 0;  // the mean, without the first, in which the threads are not known yet
    double bound = 0;        // ns: all cores busy until the end
    double moves = 0;        // in a region
    double waiting_share = 0;
    double joules = 0;  // a region
    std::vector<hardware_thread> where;
    ledger accounts{0, 0, false};
};

const std::vector<std::string>& balance_policies();

// Runs the regions one after the other, and checks that every thread did its share. Throws input_error if
// the request cannot be simulated, and std::logic_error if a check fails.
balance_result simulate_balance(const machine& on, const balance_request& asked);

}  // namespace tauto::sim
