"""Every key of a machine file: its unit is in its name, and each has a range that a real machine stays in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Shape = Literal["text", "flag", "count", "number", "numbers", "counts"]


@dataclass(frozen=True, slots=True)
class Key:
    """What may stand behind a key."""

    shape: Shape
    least: float = 0.0
    most: float = 1e18
    needed: bool = False
    choices: tuple[str, ...] = ()


_TEXT, _FLAG = Key("text"), Key("flag")
_NEEDED_TEXT = Key("text", needed=True)
_HERTZ = Key("number", 1e6, 1e11)
_HERTZ_LIST = Key("numbers", 1e6, 1e11)
_BYTES = Key("count", 0, 1e15)
_RATE = Key("number", 1e3, 1e16)
_RATES = Key("numbers", 1e3, 1e16)
_SET_BYTES = Key("counts", 1, 1e15)
_CYCLES = Key("number", 1e-6, 1e6)
_SECONDS = Key("number", 0, 3600)
_WATTS = Key("number", 0, 1e5)
_SHARE = Key("number", 0, 1)

HEAD: Mapping[str, Key] = {
    "schema": Key("text", needed=True, choices=("tautochrone.machine-file/1",)),
    "name": _NEEDED_TEXT,
    "machine": _TEXT,
    "architecture": _TEXT,
    "measured_when": _TEXT,
    "packages": Key("count", 1, 10_000),
    "numa_nodes": Key("count", 1, 10_000),
    "usable_members": Key("count", 1, 10_000_000),
    "hypervisor": _TEXT,
}

KIND: Mapping[str, Key] = {
    "kind": _NEEDED_TEXT,
    "cores": Key("count", 1, 10_000_000, needed=True),
    "hardware_threads_per_core": Key("count", 1, 8),
    "cpus": Key("counts", 0, 10_000_000),
    "max_hertz": _HERTZ,
    "turbo_hertz": _HERTZ_LIST,
    "turbo_spread": Key("numbers", 0.01, 10),
    "min_hertz": _HERTZ,
    "smt_yield": Key("number", 0.5, 8),
    "dot_cycles_per_element": _CYCLES,
    "row_cycles": _CYCLES,
    "hash_cycles_per_byte": _CYCLES,
    "hash_bytes_per_second": _RATE,
    "pair_cycles": _CYCLES,
    "predict_cycles": _CYCLES,
    "correct_cycles": _CYCLES,
    "l1d_bytes": _BYTES,
    "l2_bytes": _BYTES,
    "l2_shared_by_cores": Key("count", 1, 10_000_000),
    "l2_bytes_per_cycle": _CYCLES,
    "core_last_level_bytes_per_second": _RATE,
    "core_memory_bytes_per_second": _RATE,
    "cluster_memory_bytes_per_second": _RATE,
    "outstanding_lines": Key("number", 1, 1e6),
    "state_hertz": _HERTZ_LIST,
    "state_active_watts": Key("numbers", 0, 1e4),
    "spinning_share": Key("number", 0, 1.5),
    "idle_watts": _WATTS,
    "sleeping_watts": _WATTS,
    # What `tauto machine --export` measures.
    "relative_compute_speed": Key("number", 1e-6, 1e6),
    "compute_per_second": _RATE,
    "relative_cache_speed": Key("number", 1e-6, 1e6),
    "cache_bytes_per_second": _RATE,
    "relative_memory_speed": Key("number", 1e-6, 1e6),
    "memory_bytes_per_second": _RATE,
    "measured_cpus": Key("counts", 0, 10_000_000),
    "cpu_relative_speed": Key("numbers", 1e-6, 1e6),
    "read_set_bytes": _SET_BYTES,
    "read_bytes_per_second": _RATES,
    "single_row_bytes_per_second": _RATE,
    "single_row_last_level_bytes_per_second": _RATE,
    "single_row_memory_bytes_per_second": _RATE,
    "pause_set_bytes": _BYTES,
    "pause_seconds": Key("numbers", 1e-9, 1e3),
    "pause_read_bytes_per_second": _RATES,
    # What `tauto emulate` does to a core.
    "stolen_turn_seconds": _SECONDS,
    "stolen_share": Key("number", 0, 0.99),
}

MEMORY: Mapping[str, Key] = {
    "memory_bytes": _BYTES,
    "last_level_cache_bytes": _BYTES,
    "last_level_caches": Key("count", 0, 1_000_000),
    "last_level_inclusive": _FLAG,
    "last_level_bytes_per_second": _RATE,
    "slow_ring_share": Key("number", 0.01, 1),
    "foreign_bytes_per_second": Key("number", 0, 1e16),
    "line_bytes": Key("count", 8, 4096),
    "memory_bytes_per_second": _RATE,
    "copy_bytes_per_second": _RATE,
    "triad_members": Key("counts", 1, 10_000_000),
    "triad_bytes_per_second": Key("numbers", 0, 1e16),
    "read_set_bytes": _SET_BYTES,
    "read_bytes_per_second": _RATES,
}

LATENCY: Mapping[str, Key] = {
    "line_one_way_seconds": _SECONDS,
    "line_one_way_smallest_seconds": _SECONDS,
    "line_one_way_largest_seconds": _SECONDS,
    "line_between_siblings_seconds": _SECONDS,
    "line_slow_kind_seconds": _SECONDS,
    "line_between_packages_seconds": _SECONDS,
    "round_trip_seconds": _SECONDS,
}

COSTS: Mapping[str, Key] = {
    "members": Key("count", 1, 10_000_000),
    "fork_join_seconds": _SECONDS,
    "fork_join_libgomp_seconds": _SECONDS,
    "fork_join_libomp_seconds": _SECONDS,
    "dequeue_libgomp_seconds": _SECONDS,
    "dequeue_libomp_seconds": _SECONDS,
    "barrier_seconds": _SECONDS,
    "wake_caller_seconds": _SECONDS,
    "wake_sleeper_seconds": _SECONDS,
    "deep_idle_exit_seconds": _SECONDS,
    "deep_idle_after_seconds": _SECONDS,
    "lock_hold_seconds": _SECONDS,
    "task_overhead_seconds": _SECONDS,
}

GOVERNOR: Mapping[str, Key] = {
    "policy": Key("text", needed=True, choices=("maximum", "proportional", "thresholds")),
    "scope": Key("text", needed=True, choices=("core", "package")),
    "sampling_seconds": Key("number", 1e-6, 100),
    "headroom": Key("number", 0.1, 10),
    "up_utilisation": _SHARE,
    "down_utilisation": _SHARE,
}

SYSTEM: Mapping[str, Key] = {
    "migration_seconds": _SECONDS,
    "migration_cost_seconds": _SECONDS,
    "quantum_seconds": _SECONDS,
    "mutex_handover": _FLAG,
    "locked_waits_for_stores": _FLAG,
}

POWER: Mapping[str, Key] = {
    "uncore_active_watts": _WATTS,
    "uncore_idle_watts": _WATTS,
    "platform_watts": _WATTS,
}

MPI: Mapping[str, Key] = {
    "message_latency_seconds": _SECONDS,
    "message_overhead_seconds": _SECONDS,
    "rendezvous_latency_seconds": _SECONDS,
    "message_bytes_per_second": _RATE,
    "eager_bytes": _BYTES,
}

NETWORK: Mapping[str, Key] = {
    "latency_seconds": _SECONDS,
    "bytes_per_second": _RATE,
}

NOISE: Mapping[str, Key] = {
    "p99_gap_seconds": _SECONDS,
    "largest_gap_seconds": _SECONDS,
    "steal_fraction": _SHARE,
}

TABLES: Mapping[str, Mapping[str, Key]] = {
    "": HEAD,
    "kind": KIND,
    "memory": MEMORY,
    "latency": LATENCY,
    "costs": COSTS,
    "governor": GOVERNOR,
    "system": SYSTEM,
    "power": POWER,
    "mpi": MPI,
    "network": NETWORK,
    "noise": NOISE,
}
