#pragma once
// Collectives among the processes of one node, message by message, with the algorithms of MPI libraries; and
// among threads, which read each other's data directly.

#include <cstdint>
#include <string>
#include <vector>

#include "machine.hpp"

namespace tauto::sim {

struct collective_request {
    std::string operation = "all_reduce";  // all_reduce, all_gather, barrier
    std::string library = "ompi-1.6";      // ompi-1.6, mvapich2-1.9, threads
    int ranks = 16;
    // Words of 8 bytes: of each rank's operand (all_reduce), of all ranks' parts together (all_gather).
    std::int64_t words = 1;
};

struct collective_result {
    double seconds = 0;
    std::string algorithm;
    std::int64_t messages = 0;
    double bytes_moved = 0;
};

collective_result simulate_collective(const machine& on, const collective_request& asked);

}  // namespace tauto::sim
