#pragma once
// The simulated machine: what a machine file says, in units that the simulator counts in.
//
// Times are integer nanoseconds, energies integer picojoules (a milliwatt for a nanosecond), so that both add
// up exactly. Rates are doubles that see nothing but + - * /, which IEEE 754 rounds alike everywhere; the
// simulator is compiled without contraction to fused operations.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "event_queue.hpp"

namespace tauto::sim {

using json = nlohmann::ordered_json;

// What was asked cannot be simulated; what() says what was asked, what was found and what to do.
struct input_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What part of a working set a cache still holds when it is read again: shares at ascending sizes of the set,
// straight lines between them.
struct retention {
    std::vector<double> set_bytes;
    std::vector<double> share;

    [[nodiscard]] bool known() const noexcept { return !set_bytes.empty(); }
    [[nodiscard]] double at(double bytes) const;
};

// One kind of cores. "core" is a physical core, with one or more hardware threads.
struct core_kind {
    std::string name;
    int cores = 1;
    int threads_per_core = 1;
    std::vector<double> turbo_hertz;   // with 1, 2, … active cores of the kind; the last holds for more
    std::vector<double> turbo_spread;  // clock of core 0, 1, … against the kind's; 1 beyond
    double min_hertz = 0;
    double smt_yield = 1;  // what a core with all its threads busy does against one thread alone
    double stream_cycles_per_byte = 1;
    double single_row_cycles_per_byte = 1;  // the same where each call of a loop's body is one row
    double single_row_last_level_bytes_per_second = 0;  // 0: as last_level_bytes_per_second
    double single_row_memory_bytes_per_second = 0;
    double row_cycles = 20;  // of a row beside its elements: the call, its first and last instruction
    double hash_cycles_per_byte = 1;
    double pair_cycles = 1;     // acceleration and jerk of one particle by another
    double predict_cycles = 1;  // one particle
    double correct_cycles = 1;  // one particle
    double l2_bytes = 0;        // of one L2 cache
    int l2_shared_by_cores = 1;
    retention l2_retention;                      // measured; where it is empty, retained() stands for it
    double l2_bytes_per_cycle = 1;               // of one L2 cache, all its cores together
    double last_level_bytes_per_second = 1;      // one core
    double memory_bytes_per_second = 1;          // one core
    double cluster_memory_bytes_per_second = 0;  // the cores of one L2 cache together; 0: no such limit
    // An emulated slow core: of each turn of this length a thief takes `stolen_share`. 0: nobody steals.
    nanoseconds stolen_turn = 0;
    double stolen_share = 0;
    double outstanding_lines = 1;            // a core's part of a full memory bus is in proportion
    std::vector<double> state_hertz;         // ascending
    std::vector<double> state_active_watts;  // one core working at each of them
    double spinning_share = 1;               // watts of a core that spins, of those of one that works
    double idle_watts = 0;
    double sleeping_watts = 0;  // once asleep for longer than deep_idle_after

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
    bool whole_package = false;  // looks at the busiest core of the package, not at each core
    nanoseconds sampling = 10'000'000;
    double headroom = 1.25;  // proportional: clock = headroom · utilisation · highest clock
    double up = 0.8;         // thresholds: one state higher above, one lower below
    double down = 0.6;
};

struct machine {
    std::string name;
    std::vector<core_kind> kinds;
    double last_level_bytes = 0;     // all of them together
    retention last_level_retention;  // of the L2 caches and the last level together, measured
    double last_level_bytes_per_second = 0;
    bool last_level_inclusive = false;
    double foreign_bytes_per_second = 0;  // that others bring into the last level, on a shared host
    double slow_ring_share = 1;  // of the last level's bandwidth while a core of a slower kind is active
    double memory_bytes_per_second = 0;
    double copy_bytes_per_second = 0;  // between processes, all cores together
    int line_bytes = 64;

    nanoseconds line_transfer = 50;           // one line from one core to another
    nanoseconds line_transfer_siblings = 5;   // between the hardware threads of a core
    nanoseconds line_transfer_slow = 50;      // to or from a core of a slower kind
    nanoseconds line_transfer_packages = 50;  // between packages
    int packages = 1;

    int cost_members = 2;  // team size at which these were measured
    nanoseconds fork_join = 1000;
    nanoseconds fork_join_openmp = 2000;
    nanoseconds fork_join_libomp = 2000;
    // Of a member's time for one chunk of schedule(dynamic) with cost_members asking; 0: what the lines need.
    nanoseconds dequeue_openmp = 0;
    nanoseconds dequeue_libomp = 0;
    nanoseconds barrier = 500;
    nanoseconds wake_caller = 3000;
    nanoseconds wake_sleeper = 20'000;
    nanoseconds deep_idle_exit = 0;
    nanoseconds deep_idle_after = 0;  // 0: there is no deep idle state
    nanoseconds lock_hold = 300;      // a short critical section with an allocation in it
    nanoseconds task_overhead = 100;  // of a task: made, taken off a queue or from another thread

    governor frequency;
    std::int64_t uncore_active_milliwatts = 0;
    std::int64_t uncore_idle_milliwatts = 0;
    std::int64_t platform_milliwatts = 0;

    nanoseconds migration_period = 0;  // the system moves a lone busy thread this often; 0: never
    nanoseconds migration_cost = 0;
    nanoseconds quantum = 20'000'000;
    bool locked_waits_for_stores = true;  // only then it asks for its own line
    bool mutex_handover = false;          // a mutex that is let go belongs to its longest sleeper

    double message_latency = 500;  // between two processes of a node, ns, as all of these
    double message_overhead = 200;
    double rendezvous_latency = 1000;
    double message_bytes_per_second = 3e9;  // one pair alone
    double eager_bytes = 4096;

    [[nodiscard]] int cores() const;
    [[nodiscard]] int hardware_threads() const;
};

// Reads a machine as the lab hands it over. Throws input_error that names the key.
machine read_machine(const json& source);

// One hardware thread of the machine.
struct hardware_thread {
    int kind = 0;
    int core = 0;          // in the machine
    int core_of_kind = 0;  // in its kind
    int thread = 0;        // of its core
    int cluster = 0;       // L2 cache, in the machine
};

// All hardware threads: first one of each core, fast kinds first, then their siblings.
std::vector<hardware_thread> hardware_threads(const machine& of);

// A selection: all, cores (one thread a core), a kind's name (all its threads), KIND:n (n of its cores).
std::vector<hardware_thread> select(const machine& of, const std::string& placement);

inline nanoseconds to_nanoseconds(double seconds) {
    return static_cast<nanoseconds>(seconds * 1e9 + 0.5);
}

// ⌈log2(n)⌉ for n ≥ 1: the depth of a tree.
constexpr int depth_of(int n) noexcept {
    int depth = 0;
    while ((1 << depth) < n) ++depth;
    return depth;
}

// A cost measured with `measured` members, for another number of them: it grows with the depth of a tree.
inline nanoseconds scaled_to(nanoseconds cost, int measured, int members) {
    if (members <= 1) return 0;
    const int depth = measured > 1 ? depth_of(measured) : 1;
    return cost * depth_of(members) / (depth > 0 ? depth : 1);
}

}  // namespace tauto::sim
