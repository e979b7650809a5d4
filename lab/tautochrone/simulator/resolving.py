"""Completes a machine file: each value is as given, else derived from others, else typical."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Required, TypedDict

from tautochrone.machine.schema import HEAD, KIND, SCHEMA, Tables
from tautochrone.simulator.caches import (
    Again,
    Core,
    Level,
    Reads,
    again_alone,
    again_together,
    again_with_pauses,
    foreign_rate,
    private_level,
    retention,
    shared_level,
)

_ELEMENT_BYTES = 4
_DEFAULT_HERTZ = 3e9
_DEFAULT_LAST_LEVEL_RATE = 20e9  # of one core
_DEFAULT_MEMORY_RATE = 10e9  # of all cores
_DEFAULT_HASH_CYCLES = 4.0
_DEFAULT_ROW_CYCLES = 20.0
_SHORTEST_TURN = 1e-6  # seconds
_NEAR_L2 = 4  # times its size: no part of a larger set is kept


class _Reading(TypedDict, total=False):
    """The measured reads of a table [[kind]] or [memory]."""

    read_set_bytes: list[float]
    read_bytes_per_second: list[float]


class _KindTable(_Reading, total=False):
    """The keys of a table [[kind]] that other figures are derived from; ``schema.toml`` explains them."""

    cores: Required[int]
    hardware_threads_per_core: int
    max_hertz: float
    turbo_hertz: list[float]
    min_hertz: float
    cpu_relative_speed: list[float]
    dot_cycles_per_element: float
    chain_cycles_per_element: float
    hash_bytes_per_second: float
    l2_bytes: float
    l2_shared_by_cores: int
    cache_bytes_per_second: float
    memory_bytes_per_second: float
    single_row_bytes_per_second: float
    single_row_last_level_bytes_per_second: float
    single_row_memory_bytes_per_second: float
    pause_set_bytes: float
    pause_seconds: list[float]
    pause_read_bytes_per_second: list[float]


class _MemoryTable(_Reading, total=False):
    """The same of the table [memory]."""

    last_level_cache_bytes: float
    last_level_caches: int
    memory_bytes_per_second: float
    triad_bytes_per_second: list[float]
    foreign_bytes_per_second: float


def completed(tables: Tables) -> Tables:
    """The tables of ``simulator.machines.Machine``; ``tables``: a checked machine file's."""
    given: list[_KindTable] = tables[KIND]
    memory: _MemoryTable = tables.get("memory", {})
    caches = _Caches(given, memory)
    bandwidth = (
        memory.get("memory_bytes_per_second")
        or (caches.whole.far if caches.whole else max(memory.get("triad_bytes_per_second", []), default=0.0))
        or _DEFAULT_MEMORY_RATE
    )
    kinds = [_kind(kind, caches, bandwidth) for kind in given]
    derived: dict[str, Tables] = {
        "memory": _memory(memory, caches, bandwidth, kinds),
        "costs": {"members": max(2, sum(kind["cores"] for kind in kinds))},
    }
    whole = _filled(HEAD, tables, {})
    whole |= {
        table: _filled(table, tables.get(table, {}), derived.get(table, {}))
        for table in SCHEMA.table
        if table not in (HEAD, KIND)
    }
    # A turn that ends at once would stop virtual time.
    whole["system"]["quantum_seconds"] = max(_SHORTEST_TURN, whole["system"]["quantum_seconds"])
    return {**whole, KIND: kinds}


def _filled(table: str, given: Mapping[str, object], derived: Mapping[str, object]) -> Tables:
    """Each key as given, else as derived, else its default, else the value of the key that it is ``like``."""
    keys = SCHEMA.table[table]
    values = {name: given.get(name, derived.get(name, key.default)) for name, key in keys.items()}
    for name, key in keys.items():
        if values[name] is None and key.like:
            values[name] = values[key.like]
    return {**derived, **values}


def _taken(table: str, name: str, given: Mapping[str, object]) -> float:
    """A number as given, else its default."""
    value = given.get(name, SCHEMA.table[table][name].default)
    assert isinstance(value, int | float)
    return value


class _Caches:
    """The caches that follow from the measured reads of a file, if it has any."""

    def __init__(self, kinds: list[_KindTable], memory: _MemoryTable) -> None:
        self.last_level_bytes = _taken("memory", "last_level_cache_bytes", memory) * _taken(
            "memory", "last_level_caches", memory
        )
        self.kinds = kinds
        self.whole = self._shared(memory)

    def own(self, kind: _KindTable) -> Level | None:
        """The L2 cache of a kind, if it was measured."""
        reads = _reads(kind)
        if reads is None or not 0 < reads.set_bytes[0] <= _NEAR_L2 * _taken(KIND, "l2_bytes", kind):
            return None
        return private_level(reads, kind["l2_bytes"], self.last_level_bytes)

    def _shared(self, memory: _MemoryTable) -> Level | None:
        """All caches as one level; on one core, from the reads of that core."""
        reads = _reads(memory) or (_reads(self.kinds[0]) if len(self.kinds) == 1 else None)
        private = sum(
            _taken(KIND, "l2_bytes", kind) * kind["cores"] / _taken(KIND, "l2_shared_by_cores", kind)
            for kind in self.kinds
        )
        # If --set made the caches larger than every measured set, no read shows what they hold.
        if reads is None or not 0 < _NEAR_L2 * private <= reads.set_bytes[-1]:
            return None
        return shared_level(reads, private, [self._core(kind) for kind in self.kinds])

    def _core(self, kind: _KindTable) -> Core:
        """One core's own rates; if none were measured, they are infinite and limit nothing."""
        reads, level = _reads(kind), self.own(kind)
        if reads is None or level is None:
            return Core(math.inf, math.inf, kind["cores"])
        return Core(level.far, min(level.far, reads.rates[-1]), kind["cores"])

    def memory_rate(self, kind: _KindTable, level: Level | None) -> float | None:
        """One core's rate from memory: from its largest set, less the part that was still cached."""
        reads = _reads(kind)
        if reads is None or level is None or self.whole is None:
            return None
        left = self.whole.at(reads.set_bytes[-1])
        remote = 1 / reads.rates[-1] - left / level.far
        return min(level.far, (1 - left) / remote) if remote > 0 and left < 1 else None

    def again(self) -> list[tuple[Again, ...]]:
        """What was read again out of the last-level cache: by all cores, by one of each kind, with pauses."""
        if self.whole is None:
            return []
        groups = [again_together(self.whole)]
        for kind in self.kinds:
            reads, level = _reads(kind), self.own(kind)
            memory = self.memory_rate(kind, level)
            if reads is None or level is None or memory is None:
                continue
            groups.append(again_alone(reads, kind["l2_bytes"], level.far, memory))
            if kind.keys() >= {"pause_set_bytes", "pause_seconds"}:
                pauses = list(zip(kind["pause_seconds"], kind["pause_read_bytes_per_second"], strict=True))
                groups.append(again_with_pauses(kind["pause_set_bytes"], pauses, level.far, memory))
        # A kind that was made of a part of another one has its reads, and tells nothing new.
        return [group for group in dict.fromkeys(groups) if group]


def _reads(table: _Reading) -> Reads | None:
    sets, rates = table.get("read_set_bytes"), table.get("read_bytes_per_second")
    return Reads.of(sets, rates) if sets and rates else None


def _memory(given: _MemoryTable, caches: _Caches, bandwidth: float, kinds: list[Tables]) -> Tables:
    again = caches.again()
    foreign = foreign_rate(again)
    alone = sum(kind["core_last_level_bytes_per_second"] * kind["cores"] for kind in kinds)
    return {
        "last_level_bytes": caches.last_level_bytes,
        "last_level_bytes_per_second": caches.whole.near if caches.whole else alone,
        "retention": retention([point for group in again for point in group], foreign),
        "foreign_bytes_per_second": foreign,
        "memory_bytes_per_second": bandwidth,
    }


def _kind(given: _KindTable, caches: _Caches, bandwidth: float) -> Tables:
    turbo = given.get("turbo_hertz") or [given.get("max_hertz") or _DEFAULT_HERTZ]
    hertz = turbo[-1]
    threads = int(_taken(KIND, "hardware_threads_per_core", given))
    level = caches.own(given)
    near = level.near if level else given.get("cache_bytes_per_second")
    far = level.far if level else near
    # The study's kernel is vectorised. Without given cycles it streams as fast as the cache probe.
    dot = given.get("dot_cycles_per_element")
    stream = dot / _ELEMENT_BYTES if dot else hertz / near if near else 1.0
    hashed = given.get("hash_bytes_per_second")
    out = _filled(
        KIND,
        given,
        {
            "turbo_hertz": turbo,
            # One hardware thread of each core was measured.
            "turbo_spread": given.get("cpu_relative_speed", [])[::threads],
            "stream_cycles_per_byte": stream,
            "single_row_cycles_per_byte": stream,
            "chain_cycles_per_byte": given.get("chain_cycles_per_element", 0.0) / _ELEMENT_BYTES,
            # Whole calls were measured: the costs of a row besides its elements are included.
            "row_cycles": 0.0 if level else _DEFAULT_ROW_CYCLES,
            "hash_cycles_per_byte": hertz / hashed if hashed else _DEFAULT_HASH_CYCLES,
            "l2_bytes_per_cycle": 2.0 * max(1.0, 1 / stream) * _taken(KIND, "l2_shared_by_cores", given),
            "retention": list(zip(level.set_bytes, level.shares, strict=True)) if level else [],
            "core_last_level_bytes_per_second": far or _DEFAULT_LAST_LEVEL_RATE,
            "core_memory_bytes_per_second": caches.memory_rate(given, level)
            or given.get("memory_bytes_per_second", bandwidth),
            "state_hertz": [hertz],
        },
    )
    out["min_hertz"] = min(given.get("min_hertz", hertz), hertz)
    for name in ("smt_yield", "chain_smt_yield"):
        out[name] = min(out[name], threads)
    for name in ("stolen_share", "stolen_reading_share"):
        out[name] = out[name] if out["stolen_turn_seconds"] > 0 else 0.0
    # Calls of one row were measured together with the reads; they apply only if the reads do.
    for name in ("single_row_last_level_bytes_per_second", "single_row_memory_bytes_per_second"):
        out[name] = given.get(name, 0.0) if level else 0.0
    if level and "single_row_bytes_per_second" in given:
        out["single_row_cycles_per_byte"] = hertz / given["single_row_bytes_per_second"]
    return out
