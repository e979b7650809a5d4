#pragma once
// What was done and what it brought, in words and as JSON.

#include <cstdint>
#include <string>
#include <vector>

#include "balance/controller.hpp"

namespace tauto::balance {

struct answered_cpu {
    cpu_speed at_end;
    cpu_speed at_start;
};

struct answer {
    std::string name;
    account what;
    paired_ratio ratio;          // time balanced over time left alone
    bool estimated = false;      // by the CPU time of threads
    bool kept = false;           // it was seen to help
    double spun = 0;             // of the CPU time with Linux alone: waits that nobody told of
    std::uint64_t in_a_row = 0;  // regions whose parts a thread for each CPU ran, one after the other
    std::string reason;          // why it is left alone now
    std::vector<std::string> waits;
    std::string not_preloaded;  // why; empty: the library was named to the command
    std::vector<answered_cpu> cpus;
    nanoseconds longest_move = 0;
    nanoseconds average_move = 0;
    int exit_status = 0;

    void fill(const controller& from);
};

std::string in_words(const answer& found);
// Schema "tautochrone.balance/1".
std::string to_json(const answer& found);

}  // namespace tauto::balance
