#pragma once
// One block of individual timesteps, in virtual time: predict, forces on the active particles, exchange,
// correct.

#include <string>

#include "collective.hpp"
#include "machine.hpp"

namespace tauto::sim {

struct nbody_request {
    int particles = 2048;
    int active = 100;
    int ranks = 16;
    std::string scheme = "i";         // serial, i, j
    std::string engine = "ompi-1.6";  // ompi-1.6, mvapich2-1.9, threads, openmp_loops, openmp_region
};

struct nbody_result {
    double seconds = 0;  // one block
    double serial_seconds = 0;
    double force_seconds = 0;
    double predict_seconds = 0;
    double exchange_seconds = 0;
    double exchange_latency_seconds = 0;  // the same exchange with nothing in it
    double fork_join_seconds = 0;
    double correct_seconds = 0;
};

nbody_result simulate_nbody(const machine& on, const nbody_request& asked);

}  // namespace tauto::sim
