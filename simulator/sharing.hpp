#pragma once
// Sharing of resources: bandwidth, weighted max-min fair, and room in caches.

#include <span>
#include <vector>

namespace tauto::sim {

// One member that streams bytes. Of each byte, the part `last_level` passes the shared cache's port and the
// part `memory` the memory's.
struct flow {
    double limit = 0;   // bytes a second if nothing were shared; 0: takes no part
    double weight = 1;  // its part of a full bus is proportional to this
    double last_level = 0;
    double memory = 0;
    double rate = 0;  // the answer
};

// Fills in the rates, weighted max-min fair: no rate can grow without reducing another whose rate by weight
// is not larger. If only one bus is full, more bandwidth never reduces a rate. O(flows · log flows). Source:
// the progressive filling of Bertsekas and Gallager, Data Networks, 6.5.2.
void share_fairly(std::span<flow> flows, double last_level_bytes_per_second, double memory_bytes_per_second);

// The part of a working set that is still cached when it is read again in the same order, with random
// replacement: h = exp(-(1 - h) · set / capacity), or 1 if the set fits. (Strict least-recently-used
// replacement would give 0 or 1; today's caches use neither, and lose their content gradually.)
double retained(double set_bytes, double capacity_bytes);

// e to the -x for x ≥ 0, computed with + - * / only, so that every system gives the same result.
double exp_minus(double x);

}  // namespace tauto::sim
