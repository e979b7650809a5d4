#pragma once
// The simulated machine: the values of a machine file, in the simulator's units.
//
// Times are integer nanoseconds, energies integer picojoules (a milliwatt for a nanosecond), so that both add
// up exactly. Rates are doubles that are only added, subtracted, multiplied and divided. IEEE 754 rounds
// these operations equally everywhere; the simulator is compiled without contraction to fused operations.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "event_queue.hpp"
#include "fields.hpp"
#include "noise.hpp"

namespace tauto::sim {

// The part of a working set that a cache still holds when it is read again: pairs of the set's bytes,
// ascending, and the share; linear in between.
struct retention {
    std::vector<std::pair<double, double>> points;

    [[nodiscard]] bool known() const noexcept { return !points.empty(); }
    [[nodiscard]] double at(double bytes) const;
};

// One kind of core: physical cores with one or more hardware threads. lab/tautochrone/machine/schema.toml
// explains each value; the laboratory fills in all of them.
struct core_kind {
    std::string name;
    int cores = 0;
    int threads_per_core = 0;
    std::vector<double> turbo_hertz;
    std::vector<double> turbo_spread;
    double min_hertz = 0;
    double smt_yield = 0;
    double stream_cycles_per_byte = 0;
    double single_row_cycles_per_byte = 0;
    double chain_cycles_per_byte = 0;  // where each addition waits for the one before; 0: unknown
    double chain_smt_yield = 0;
    double single_row_last_level_bytes_per_second = 0;
    double single_row_memory_bytes_per_second = 0;
    double row_cycles = 0;
    double hash_cycles_per_byte = 0;
    double pair_cycles = 0;
    double predict_cycles = 0;
    double correct_cycles = 0;
    double l2_bytes = 0;
    int l2_shared_by_cores = 0;
    retention l2_retention;  // if it is empty, retained() is used
    double l2_bytes_per_cycle = 0;
    double last_level_bytes_per_second = 0;  // of one core, as the next two
    double memory_bytes_per_second = 0;
    double cluster_memory_bytes_per_second = 0;
    nanoseconds stolen_turn = 0;
    double stolen_share = 0;
    double stolen_reading_share = 0;
    double outstanding_lines = 0;
    std::vector<double> state_hertz;
    std::vector<double> state_active_watts;
    double spinning_share = 0;
    double idle_watts = 0;
    double sleeping_watts = 0;

    [[nodiscard]] double turbo(int active) const;
    [[nodiscard]] double spread(int core) const;
    // Of one core at a clock, in milliwatts.
    [[nodiscard]] std::int64_t active_milliwatts(double hertz) const;
    [[nodiscard]] std::int64_t spinning_milliwatts(double hertz) const;
    [[nodiscard]] std::int64_t idle_milliwatts() const {
        return static_cast<std::int64_t>(idle_watts * 1000 + 0.5);
    }
    [[nodiscard]] std::int64_t sleeping_milliwatts() const {
        return static_cast<std::int64_t>(sleeping_watts * 1000 + 0.5);
    }
};

struct governor {
    enum class policy { maximum, proportional, thresholds };
    policy rule = policy::maximum;
    bool whole_package = false;
    nanoseconds sampling = 0;
    double headroom = 0;
    double up = 0;
    double down = 0;
};

NLOHMANN_JSON_SERIALIZE_ENUM(governor::policy, {{governor::policy::maximum, "maximum"},
                                                {governor::policy::proportional, "proportional"},
                                                {governor::policy::thresholds, "thresholds"}})

// One hardware thread of the machine.
struct hardware_thread {
    int kind = 0;
    int core = 0;          // in the machine
    int core_of_kind = 0;  // in its kind
    int thread = 0;        // of its core
    int cluster = 0;       // L2 cache, in the machine
};

// Times in nanoseconds, rates in bytes a second.
struct machine {
    std::string name;
    int packages = 0;
    std::vector<core_kind> kinds;

    double last_level_bytes = 0;
    retention last_level_retention;
    double last_level_bytes_per_second = 0;
    bool last_level_inclusive = false;
    double foreign_bytes_per_second = 0;
    double slow_ring_share = 0;
    double memory_bytes_per_second = 0;
    double copy_bytes_per_second = 0;
    int line_bytes = 0;

    nanoseconds line_transfer = 0;
    nanoseconds line_transfer_siblings = 0;
    nanoseconds line_transfer_slow = 0;
    nanoseconds line_transfer_packages = 0;

    int cost_members = 0;
    nanoseconds fork_join = 0;
    nanoseconds fork_join_libgomp = 0;
    nanoseconds fork_join_libomp = 0;
    nanoseconds fork_join_cold = 0;
    nanoseconds fork_join_cold_libgomp = 0;
    nanoseconds fork_join_cold_libomp = 0;
    nanoseconds dequeue_libgomp = 0;
    nanoseconds dequeue_libomp = 0;
    nanoseconds barrier = 0;
    nanoseconds wake_caller = 0;
    nanoseconds wake_sleeper = 0;
    nanoseconds move = 0;
    nanoseconds idle_exit = 0;
    nanoseconds idle_after = 0;
    nanoseconds deep_idle_exit = 0;
    nanoseconds deep_idle_after = 0;
    nanoseconds lock_hold = 0;
    nanoseconds task_overhead = 0;

    governor frequency;

    bool woken_takes_core = false;
    nanoseconds migration_cost = 0;
    nanoseconds quantum = 0;
    bool locked_waits_for_stores = false;
    bool mutex_handover = false;

    noise ticks;

    std::int64_t uncore_active_milliwatts = 0;
    std::int64_t uncore_idle_milliwatts = 0;
    std::int64_t platform_milliwatts = 0;

    double message_latency = 0;
    double message_overhead = 0;
    double rendezvous_latency = 0;
    double message_bytes_per_second = 0;
    double eager_bytes = 0;

    [[nodiscard]] int cores() const;
    [[nodiscard]] int hardware_threads() const;
    // The time that a cache line takes from one hardware thread to another.
    [[nodiscard]] nanoseconds transfer(const hardware_thread& from, const hardware_thread& to) const;
};

// Reads the laboratory's description of a machine: the tables and keys of a complete machine file. Values are
// not checked, because the laboratory has checked them. Throws input_error that names a missing key.
machine read_machine(const json& source);

// All hardware threads: first one for each core, fast kinds first, then their siblings.
std::vector<hardware_thread> hardware_threads(const machine& of);

// The number that Linux gives a hardware thread of such a machine: kind by kind, the threads of a core
// neighbours.
int cpu_number(const machine& of, const hardware_thread& one);

// A selection, named as in the laboratory: all, cores (one thread a core), fast (all threads of the first
// kind), fast-cores (one a core of it), slow (all threads of the other kinds), CPUs (0-3,8), a kind's name
// (all its threads), KIND:n (n of its cores). Throws input_error for another.
std::vector<hardware_thread> select(const machine& of, const std::string& placement);

// ⌈log2(n)⌉ for n ≥ 1: the depth of a tree.
constexpr int depth_of(int n) noexcept {
    int depth = 0;
    while ((1 << depth) < n) ++depth;
    return depth;
}

// A core fetches this many lines of others in the time of one transfer, because loads overlap: 63 lines of a
// vector took 0.2 to 0.5 µs on an AMD EPYC, where one takes 47 ns.
inline constexpr int overlapping_transfers = 8;

// A cost measured with `measured` members, for another number of them: it grows with the depth of a tree.
inline nanoseconds scaled_to(nanoseconds cost, int measured, int members) {
    if (members <= 1) return 0;
    const int depth = measured > 1 ? depth_of(measured) : 1;
    return cost * depth_of(members) / (depth > 0 ? depth : 1);
}

}  // namespace tauto::sim
