#pragma once
// A parallel loop in virtual time: the conjugate gradients of the loop study. The rows are distributed by the
// scheduling code of real threads, or by models of the other runtimes.

#include <string>
#include <vector>

#include "ledger.hpp"
#include "machine.hpp"

namespace tauto::sim {

struct loop_request {
    std::int64_t size = 1000;         // order of the matrix: rows, and floats in a row
    std::string runtime = "openmp";   // openmp, tbb, tautochrone, mpi, serial
    std::string library = "libgomp";  // of openmp: libgomp, libomp
    std::string schedule = "static";  // see loop_schedules()
    std::int64_t chunk = 1;           // oneTBB's grain
    std::string placement = "all";
    std::string kernel = "tuned";  // published: one chain of additions a row, as in the study of hybrid CPUs
    std::string wait = "default";  // passive: waiting members sleep and are woken for each loop
    int repetitions = 0;           // iterations of the solver; 0: as many as the schedule needs
    bool timeline = false;
};

struct loop_result {
    nanoseconds iteration = 0;    // one iteration of the solver in the steady state: median
    nanoseconds loop = 0;         // the parallel loop of it alone
    nanoseconds fork_join = 0;    // of one iteration
    double memory_bytes = 0;      // read from memory by one loop
    double last_level_bytes = 0;  // that passed the shared cache's port
    double joules = 0;            // one iteration
    double waiting_share = 0;     // of the members' time, working and waiting
    std::int64_t events = 0;
    std::int64_t steals = 0;      // of one loop
    std::int64_t early_ends = 0;  // members that left work to the others, in all adaptive loops
    int members = 0;
    int width = 0;                   // members that took part in the last loop
    std::vector<std::int64_t> rows;  // by member, in the last loop
    std::vector<hardware_thread> threads;
    ledger accounts{0, 0, false};

    [[nodiscard]] double miss_ratio() const {
        return last_level_bytes > 0 ? memory_bytes / last_level_bytes : 0;
    }
};

// Runs the request, and checks that every row was done once and that time and energy add up. Throws
// input_error if the request cannot be simulated, and std::logic_error if a check fails.
loop_result simulate_loop(const machine& on, const loop_request& asked);

// The schedules of a runtime.
std::vector<std::string> loop_schedules(const std::string& runtime);
bool loop_schedule_has_chunk(const std::string& runtime, const std::string& schedule);

}  // namespace tauto::sim
