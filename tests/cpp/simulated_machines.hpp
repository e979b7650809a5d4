#pragma once
// Machines for the simulator's tests.

#include <string>

#include "machine.hpp"

namespace tauto::testing {

using sim::json;

// Complete, as the laboratory describes machines.
inline json kind_json(const std::string& name, int cores, double hertz, double cycles_per_byte) {
    return {{"kind", name},
            {"cores", cores},
            {"hardware_threads_per_core", 1},
            {"turbo_hertz", {hertz}},
            {"turbo_spread", json::array()},
            {"min_hertz", hertz},
            {"smt_yield", 1},
            {"stream_cycles_per_byte", cycles_per_byte},
            {"single_row_cycles_per_byte", cycles_per_byte},
            {"chain_cycles_per_byte", 2 * cycles_per_byte},
            {"chain_smt_yield", 1},
            {"single_row_last_level_bytes_per_second", 0},
            {"single_row_memory_bytes_per_second", 0},
            {"row_cycles", 20},
            {"hash_cycles_per_byte", 4},
            {"pair_cycles", 8},
            {"predict_cycles", 12},
            {"correct_cycles", 60},
            {"l2_bytes", 1'000'000},
            {"l2_shared_by_cores", 1},
            {"l2_bytes_per_cycle", 32},
            {"retention", json::array()},
            {"core_last_level_bytes_per_second", 40e9},
            {"core_memory_bytes_per_second", 20e9},
            {"cluster_memory_bytes_per_second", 0},
            {"outstanding_lines", 1},
            {"state_hertz", {1e9, hertz}},
            {"state_active_watts", {2, 8}},
            {"spinning_share", 1},
            {"idle_watts", 0.5},
            {"sleeping_watts", 0.5},
            {"stolen_turn_seconds", 0},
            {"stolen_share", 0},
            {"stolen_reading_share", 0}};
}

inline json without_ticks() {
    return {{"ticks_per_second", 0}, {"tick_seconds", json::array()}, {"tick_shares", json::array()}};
}

inline json machine_json() {
    return {{"name", "two kinds"},
            {"packages", 1},
            {"kind", {kind_json("P", 4, 4e9, 0.25), kind_json("E", 4, 2e9, 0.5)}},
            {"memory",
             {{"last_level_bytes", 16'000'000},
              {"last_level_inclusive", false},
              {"last_level_bytes_per_second", 200e9},
              {"retention", json::array()},
              {"slow_ring_share", 1},
              {"foreign_bytes_per_second", 0},
              {"line_bytes", 64},
              {"memory_bytes_per_second", 50e9},
              {"copy_bytes_per_second", 50e9}}},
            {"latency",
             {{"line_one_way_seconds", 50e-9},
              {"line_between_siblings_seconds", 50e-9},
              {"line_slow_kind_seconds", 50e-9},
              {"line_between_packages_seconds", 50e-9}}},
            {"costs",
             {{"members", 8},
              {"fork_join_seconds", 1e-6},
              {"fork_join_libgomp_seconds", 2e-6},
              {"fork_join_libomp_seconds", 2e-6},
              {"fork_join_cold_seconds", 1e-6},
              {"fork_join_cold_libgomp_seconds", 2e-6},
              {"fork_join_cold_libomp_seconds", 2e-6},
              {"dequeue_libgomp_seconds", 0},
              {"dequeue_libomp_seconds", 0},
              {"barrier_seconds", 5e-7},
              {"wake_caller_seconds", 3e-6},
              {"wake_sleeper_seconds", 2e-5},
              {"move_seconds", 3e-5},
              {"idle_exit_seconds", 0},
              {"idle_after_seconds", 0},
              {"deep_idle_exit_seconds", 0},
              {"deep_idle_after_seconds", 0},
              {"lock_hold_seconds", 3e-7},
              {"task_overhead_seconds", 1e-7}}},
            {"governor",
             {{"policy", "maximum"},
              {"scope", "core"},
              {"sampling_seconds", 0.01},
              {"headroom", 1.25},
              {"up_utilisation", 0.8},
              {"down_utilisation", 0.6}}},
            {"system",
             {{"woken_takes_core", false},
              {"migration_cost_seconds", 0},
              {"quantum_seconds", 0.02},
              {"locked_waits_for_stores", true},
              {"mutex_handover", false}}},
            {"noise", without_ticks()},
            {"power", {{"uncore_active_watts", 10}, {"uncore_idle_watts", 2}, {"platform_watts", 20}}},
            {"mpi",
             {{"message_latency_seconds", 5e-7},
              {"message_overhead_seconds", 2e-7},
              {"rendezvous_latency_seconds", 1e-6},
              {"message_bytes_per_second", 3e9},
              {"eager_bytes", 4096}}}};
}

// The same machine with cores of one kind.
inline json cores_json(int cores, double hertz, double cycles_per_byte) {
    json made = machine_json();
    made["kind"] = json::array({kind_json("core", cores, hertz, cycles_per_byte)});
    return made;
}

}  // namespace tauto::testing
