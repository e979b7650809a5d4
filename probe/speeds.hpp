#pragma once
// How fast each CPU computes, reads its cache and reads memory; how fast several read and write memory
// together.

#include <cstdint>
#include <functional>
#include <vector>

#include <tauto/machine.hpp>

#include "probe/measured.hpp"

namespace tauto::probe {

// Bytes of all arrays together: more than a last-level cache holds, within the effort and a quarter of the
// free memory. Throws tauto::error if that leaves less than 16 MiB.
std::int64_t array_bytes(const machine_record& machine, const effort& effort);

// Fills the three speeds of each CPU, one CPU at a time. `step` is called before each CPU.
void measure_speeds(const machine_record& machine, const effort& effort, std::int64_t bytes,
                    std::vector<cpu_measurement>& cpus, const std::function<void(int cpu)>& step);

// Triad a = b + s c with the first k of `cpus` (in order of use), for k = 1 … n, or powers of two and n if n
// > 8. Each member touches its own part first.
std::vector<triad_point> measure_triad(const std::vector<int>& cpus, const effort& effort, std::int64_t bytes,
                                       const std::function<void(int members)>& step);

}  // namespace tauto::probe
