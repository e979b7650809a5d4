"""A machine file as ``tauto-simulate`` takes it: every figure there, measured before derived."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tautochrone.simulator.machines import Machine
from tautochrone.simulator.reading import Core, Level, Reads, foreign_rate, private_level, shared_level

# Where a file says nothing: what is typical of a core of its time, so that an exported file can be simulated.
_ELEMENT_BYTES = 4
_DEFAULT_HERTZ = 3e9
_NEAR_L2 = 4  # times its size: no part of a larger set is kept
_AS_WRITTEN = (
    *("spinning_share", "idle_watts", "sleeping_watts", "row_cycles", "stolen_turn_seconds", "stolen_share"),
)


def resolved(machine: Machine) -> dict[str, Any]:
    """The machine as ``tauto-simulate`` takes it: every figure there, measured before derived."""
    memory, latency, costs = (machine.get(name, {}) for name in ("memory", "latency", "costs"))
    triad = max(memory.get("triad_bytes_per_second", [0.0]), default=0.0)
    last_level = memory.get("last_level_cache_bytes", 0) * memory.get("last_level_caches", 1)
    whole = _whole_level(memory, machine["kind"])
    bandwidth = memory.get("memory_bytes_per_second") or (whole.far if whole else triad) or 10e9
    kinds = [_kind(kind, bandwidth, last_level, whole) for kind in machine["kind"]]
    foreign = memory.get("foreign_bytes_per_second")
    if foreign is None:
        foreign = _foreign(machine["kind"], kinds, whole)
    cores = sum(kind["cores"] for kind in kinds)
    reach = sum(kind["core_last_level_bytes_per_second"] * kind["cores"] for kind in kinds)
    if whole:
        reach = whole.near
    out: dict[str, Any] = {
        "name": machine["name"],
        "kinds": kinds,
        "packages": machine.get("packages", 1),
        "last_level_bytes": last_level,
        "last_level_bytes_per_second": memory.get("last_level_bytes_per_second", reach),
        "last_level_inclusive": memory.get("last_level_inclusive", False),
        "slow_ring_share": memory.get("slow_ring_share", 1.0),
        "foreign_bytes_per_second": foreign,
        "line_bytes": memory.get("line_bytes", 64),
        "memory_bytes_per_second": bandwidth,
        "copy_bytes_per_second": memory.get("copy_bytes_per_second", bandwidth),
        **_retention(whole.among_others(foreign) if whole else None),
        "cost_members": costs.get("members", max(2, cores)),
    }
    for key in ("line_one_way", "line_between_siblings", "line_slow_kind", "line_between_packages"):
        out[f"{key}_seconds"] = latency.get(f"{key}_seconds")
    for key, value in costs.items():
        if key.endswith("_seconds"):
            out["fork_join_openmp_seconds" if key == "fork_join_libgomp_seconds" else key] = value
    for table in ("system", "power", "mpi"):
        out |= machine.get(table, {})
    if "governor" in machine:
        out["governor"] = machine["governor"]
    return {key: value for key, value in out.items() if value is not None}


def _reads(table: Mapping[str, Any]) -> Reads | None:
    sets, rates = table.get("read_set_bytes"), table.get("read_bytes_per_second")
    return Reads.of(sets, rates) if sets and rates else None


def _own_level(kind: Mapping[str, Any], last_level_bytes: float) -> Level | None:
    """The L2 cache as measured, where it was: which part of a set it keeps, and how fast it is."""
    reads = _reads(kind)
    if reads is None or not 0 < reads.set_bytes[0] <= _NEAR_L2 * kind.get("l2_bytes", 0):
        return None
    return private_level(reads, kind["l2_bytes"], last_level_bytes)


def _foreign(
    given: Sequence[Mapping[str, Any]], kinds: Sequence[Mapping[str, Any]], whole: Level | None
) -> float:
    """What others bring into the last level, from sets that were read slowly; 0 where none was."""
    for kind, out in zip(given, kinds, strict=True):
        reads = _reads(kind)
        if reads is not None and whole is not None and kind.keys() >= {"pause_set_bytes", "pause_seconds"}:
            pauses = zip(kind["pause_seconds"], kind["pause_read_bytes_per_second"], strict=True)
            memory = out["core_memory_bytes_per_second"]
            return foreign_rate(whole, kind["pause_set_bytes"], reads, memory, list(pauses))
    return 0.0


def _whole_level(memory: Mapping[str, Any], kinds: Sequence[Mapping[str, Any]]) -> Level | None:
    """All caches together as measured; on one core, what that core reads."""
    reads = _reads(memory) or (_reads(kinds[0]) if len(kinds) == 1 else None)
    private = sum(
        kind.get("l2_bytes", 0) * kind["cores"] / kind.get("l2_shared_by_cores", 1) for kind in kinds
    )
    # Where the caches were made larger than all that was read, no read says what they hold.
    if reads is None or not 0 < _NEAR_L2 * private <= reads.set_bytes[-1]:
        return None
    last_level = memory.get("last_level_cache_bytes", 0) * memory.get("last_level_caches", 1)
    return shared_level(reads, private, [_core(kind, last_level) for kind in kinds])


def _core(kind: Mapping[str, Any], last_level_bytes: float) -> Core:
    """One core's own rates; where none were measured, it is no limit."""
    reads, level = _reads(kind), _own_level(kind, last_level_bytes)
    if reads is None or level is None:
        return Core(math.inf, math.inf, kind["cores"])
    return Core(level.far, min(level.far, reads.rates[-1]), kind["cores"])


def _retention(level: Level | None) -> dict[str, Any]:
    if level is None:
        return {}
    return {"retained_set_bytes": list(level.set_bytes), "retained_shares": list(level.shares)}


def _hash_cycles(kind: Mapping[str, Any], hertz: float) -> float:
    rate = kind.get("hash_bytes_per_second")
    return hertz / rate if rate else 4.0


def _core_memory(kind: Mapping[str, Any], level: Level | None, whole: Level | None) -> float | None:
    """What one core alone gets from memory: of the largest set that it read, less what was still there."""
    reads = _reads(kind)
    if reads is None or level is None or whole is None:
        return None
    left = whole.at(reads.set_bytes[-1])
    remote = 1 / reads.rates[-1] - left / level.far
    return min(level.far, (1 - left) / remote) if remote > 0 and left < 1 else None


def _kind(
    kind: Mapping[str, Any],
    bandwidth: float,
    last_level_bytes: float,
    whole: Level | None,
) -> dict[str, Any]:
    turbo = kind.get("turbo_hertz") or [kind.get("max_hertz") or _DEFAULT_HERTZ]
    hertz = turbo[-1]
    cache_rate = kind.get("cache_bytes_per_second")
    dot = kind.get("dot_cycles_per_element")
    # The study's own kernel is vectorised: it streams as the cache probe does, where no cycles are named.
    level = _own_level(kind, last_level_bytes)
    fastest = level.near if level else cache_rate
    stream = dot / _ELEMENT_BYTES if dot else hertz / fastest if fastest else 1.0
    if level:
        cache_rate = level.far
    l2_rate = kind.get("l2_bytes_per_cycle") or 2.0 * max(1.0, 1 / stream) * kind.get("l2_shared_by_cores", 1)
    out = {
        "kind": kind["kind"],
        "cores": kind["cores"],
        "hardware_threads_per_core": kind.get("hardware_threads_per_core", 1),
        "turbo_hertz": turbo,
        "turbo_spread": kind.get("turbo_spread") or _spread(kind),
        "min_hertz": min(kind.get("min_hertz", hertz), hertz),
        "smt_yield": min(kind.get("smt_yield", 1.25), kind.get("hardware_threads_per_core", 1)),
        "stream_cycles_per_byte": stream,
        "hash_cycles_per_byte": kind.get("hash_cycles_per_byte") or _hash_cycles(kind, hertz),
        "pair_cycles": kind.get("pair_cycles", 10.0),
        "predict_cycles": kind.get("predict_cycles", 12.0),
        "correct_cycles": kind.get("correct_cycles", 60.0),
        "l2_bytes": kind.get("l2_bytes", 0),
        "l2_shared_by_cores": kind.get("l2_shared_by_cores", 1),
        "l2_bytes_per_cycle": l2_rate,
        "core_last_level_bytes_per_second": kind.get("core_last_level_bytes_per_second", cache_rate or 20e9),
        "core_memory_bytes_per_second": kind.get("core_memory_bytes_per_second")
        or _core_memory(kind, level, whole)
        or kind.get("memory_bytes_per_second", bandwidth),
        "cluster_memory_bytes_per_second": kind.get("cluster_memory_bytes_per_second", 0),
        "outstanding_lines": kind.get("outstanding_lines", 10),
        "state_hertz": kind.get("state_hertz", [hertz]),
        "state_active_watts": kind.get("state_active_watts", [5.0]),
    }
    if level:
        # What was measured are whole calls: what a row costs beside its elements is in it.
        out |= {"row_cycles": 0.0, **_retention(level)}
        if "single_row_bytes_per_second" in kind:
            out["single_row_cycles_per_byte"] = hertz / kind["single_row_bytes_per_second"]
        for key in ("single_row_last_level_bytes_per_second", "single_row_memory_bytes_per_second"):
            out |= {key: kind[key]} if key in kind else {}
    for key in _AS_WRITTEN:
        if key in kind:
            out[key] = kind[key]
    return out


def _spread(kind: Mapping[str, Any]) -> list[float]:
    """Clock by core from what was measured, one hardware thread of each core."""
    each = kind.get("cpu_relative_speed") or []
    return [float(value) for value in each[:: kind.get("hardware_threads_per_core", 1)]]
