"""The machine file of a measured machine, in TOML: every figure with its source.

Its keys are in ``schema.toml``. A value that was not measured is left out, with a comment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tautochrone.errors import TautoError
from tautochrone.machine.record import Cpu, Kind, Machine, Measured, MeasuredCpu
from tautochrone.machine.schema import HEAD, KIND, SCHEMA
from tautochrone.results.runs import median_known

Value = str | bool | int | float | Sequence[int] | Sequence[float]
Entry = tuple[str, Value | None, str]
"""A key, its value and the source of the value."""


def export_toml(machine: Machine) -> str:
    """The machine file of a measured machine.

    Raises TautoError if nothing was measured, because the simulator needs speeds.
    """
    measured = machine.measured
    if measured is None:
        raise TautoError(
            f"a machine file of {machine.name} needs measured speeds, and nothing was measured",
            "Use --measure quick or --measure full, on the machine itself",
        )
    tables = [(HEAD, _head(machine, measured))]
    tables += [(KIND, _kind(machine, measured, kind)) for kind in machine.kinds if _cpus_of(measured, kind)]
    tables += [
        ("memory", _memory(machine, measured)),
        ("latency", _latency(measured)),
        ("costs", _costs(measured)),
        ("system", _system(machine, measured)),
        ("noise", _noise(measured)),
    ]
    blocks = ["\n".join(_lines(table, entries)) for table, entries in tables]
    for slow in machine.emulated or ():
        blocks[0] += f"\n# CPU {slow.cpu} was made {slow.factor:g} times slower by tauto emulate."
    return "\n\n".join(blocks) + "\n"


def _lines(table: str, entries: Sequence[Entry]) -> Iterator[str]:
    if table == HEAD:
        yield "# Machine file: what the simulator needs to know of a machine."
    else:
        yield f"[[{table}]]" if table == KIND else f"[{table}]"
    for key, value, source in entries:
        if key not in SCHEMA.table[table]:
            raise KeyError(f"[{table}] has no {key}: add it to schema.toml")
        if value is None:
            yield f"# {key} is missing: not measured ({source})"
        else:
            yield f"{key} = {_value(value)}  # {source}"


def _value(value: Value) -> str:
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # TOML wants a point or an exponent in a float.
        short = f"{value:.6g}"
        return short if any(mark in short for mark in ".en") else f"{short}.0"
    return f"[{', '.join(_value(item) for item in value)}]"


def _head(machine: Machine, measured: Measured) -> list[Entry]:
    effort = f"tauto-probe --measure {measured.effort or 'quick'}"
    entries: list[Entry] = [
        ("schema", SCHEMA.table[HEAD]["schema"].choices[0], "of this file"),
        ("name", machine.name, "/proc/cpuinfo"),
        ("machine", machine.machine, "hash of the hardware's stable facts"),
        ("architecture", machine.architecture, "uname"),
        ("measured_when", measured.when, f"UTC, by {effort}"),
        ("packages", len({cpu.package for cpu in machine.cpus}), "hwloc"),
        ("numa_nodes", max(1, len(machine.numa)), "hwloc"),
        ("usable_members", machine.usable_members, "affinity mask, cpuset and quota when measured"),
    ]
    if machine.hypervisor:
        entries.append(("hypervisor", machine.hypervisor, "CPUID; speeds include what the host takes"))
    return entries


def _cpus_of(measured: Measured, kind: Kind) -> list[MeasuredCpu]:
    return [cpu for cpu in measured.cpus if cpu.cpu in kind.cpus]


# A relative speed, the speed itself (its name in file and record), and how it was measured.
_SPEEDS = (
    ("relative_compute_speed", "compute_per_second", "multiply and add in double precision"),
    ("relative_cache_speed", "cache_bytes_per_second", "read from half of the L2 cache"),
    ("relative_memory_speed", "memory_bytes_per_second", "read from memory"),
)


def _median_speed(measured: Measured, kind: Kind, name: str) -> float | None:
    return median_known(getattr(cpu, name) for cpu in _cpus_of(measured, kind))


def _kind(machine: Machine, measured: Measured, kind: Kind) -> list[Entry]:
    cpus = _cpus_of(measured, kind)
    first = machine.cpu(kind.cpus[0])
    clocks = [cpu.max_hertz for cpu in machine.cpus if cpu.kind == kind.kind and cpu.max_hertz is not None]
    entries: list[Entry] = [
        ("kind", kind.kind, machine.kind_source or "all cores are equal"),
        ("cores", machine.cores(kind), "hwloc"),
        ("hardware_threads_per_core", kind.hardware_threads_per_core, "hwloc"),
        ("cpus", list(kind.cpus), "the kernel's numbers"),
        ("max_hertz", max(clocks, default=None), "cpufreq"),
        ("l1d_bytes", first.l1d_bytes, "hwloc, each core"),
        ("l2_bytes", first.l2_bytes, "hwloc, each L2 cache"),
        ("l2_shared_by_cores", _cores_of_cache(machine, first, 2), "hwloc"),
    ]
    for relative, key, source in _SPEEDS:
        value = _median_speed(measured, kind, key)
        medians = [_median_speed(measured, other, key) for other in machine.kinds]
        best = max((median for median in medians if median is not None), default=None)
        part = value / best if value is not None and best else None
        entries.append((relative, part, f"{key} against the fastest kind"))
        entries.append((key, value, f"measured: {source}, one thread, median of {len(cpus)} CPUs"))
    hashed = median_known(cpu.hash_bytes_per_second for cpu in cpus)
    entries.append(("hash_bytes_per_second", hashed, "measured: FNV-1a of 64 bits, one thread"))
    entries += _reads(measured, kind.kind, f"one {kind.kind} core")
    speeds = [cpu.compute_per_second for cpu in cpus]
    known = [speed for speed in speeds if speed is not None]
    if known and len(known) == len(speeds) and max(known):
        each = [speed / max(known) for speed in known]
        entries.append(("measured_cpus", [cpu.cpu for cpu in cpus], "those that were allowed"))
        entries.append(("cpu_relative_speed", each, "measured: compute, in the order of measured_cpus"))
    return entries


# The loop study with chunks of 1 and 2 on an EPYC of family 26: a row costs one line transfer, not two.
_AMD: list[Entry] = [
    ("locked_waits_for_stores", False, "a locked instruction fetches its line while stores are under way"),
]


def _system(machine: Machine, measured: Measured) -> list[Entry]:
    lost = measured.lost_by_moves()
    again = lost[max(lost)] - lost[0] if 0 in lost else None
    source = "measured: a change of CPU with half of the L2 cache in use, less one with no data"
    return [
        ("migration_cost_seconds", None if again is None else max(again, 0.0), source),
        *(_AMD if "AMD" in machine.cpu_model else []),
    ]


_SINGLE_ROWS = (
    ("single_row_bytes_per_second", "the L2 cache"),
    ("single_row_last_level_bytes_per_second", "the last-level cache"),
    ("single_row_memory_bytes_per_second", "memory"),
)


def _reads(measured: Measured, kind: str | None, who: str) -> list[Entry]:
    """The read points of a kind, or (None) of all cores together."""
    points = [point for point in measured.reads if point.kind == kind and point.bytes_per_second]
    several = sorted(
        (point for point in points if point.rows_at_once > 1 and not point.pause_seconds),
        key=lambda point: point.bytes,
    )
    if not several:
        return []
    rates = [point.bytes_per_second or 0.0 for point in several]
    source = f"measured: {who}, the loop study's rows out of sets of read_set_bytes, read again and again"
    entries: list[Entry] = [
        ("read_set_bytes", [point.bytes for point in several], "by all that read together"),
        ("read_bytes_per_second", rates, source),
    ]
    singles = sorted((point for point in points if point.rows_at_once == 1), key=lambda point: point.bytes)
    entries += [
        (key, point.bytes_per_second, f"measured: a row a call, from {where}")
        for (key, where), point in zip(_SINGLE_ROWS, singles, strict=False)
    ]
    if paused := [point for point in points if point.pause_seconds]:
        pauses = [point.pause_seconds for point in paused]
        rates = [point.bytes_per_second or 0.0 for point in paused]
        entries += [
            ("pause_set_bytes", paused[0].bytes, "a set that the last-level cache still holds"),
            ("pause_seconds", pauses, "total pause while such a set was read, a part after each call"),
            ("pause_read_bytes_per_second", rates, "measured: as above, without the pauses"),
        ]
    return entries


def _cores_of_cache(machine: Machine, cpu: Cpu, level: int) -> int | None:
    for cache in machine.caches:
        if cache.level == level and cache.type != "instruction" and cpu.cpu in cache.cpus:
            return len({machine.cpu(number).core for number in cache.cpus})
    return None


def _memory(machine: Machine, measured: Measured) -> list[Entry]:
    last = [cache for cache in machine.caches if cache.level == max(c.level for c in machine.caches)]
    points = [point for point in measured.triad if point.bytes_per_second is not None]
    megabytes = (measured.triad_array_bytes or 0) // 2**20
    source = f"measured: triad a = b + s c, 24 bytes an element, arrays of {megabytes} MiB together"
    return [
        ("memory_bytes", machine.memory_bytes, "/proc/meminfo"),
        ("last_level_cache_bytes", last[0].size_bytes if last else None, "hwloc, each"),
        ("last_level_caches", len(last), "hwloc"),
        ("line_bytes", last[0].line_bytes if last else None, "hwloc"),
        ("triad_members", [point.members for point in points], "in order of use, fast cores first"),
        ("triad_bytes_per_second", [point.bytes_per_second or 0.0 for point in points], source),
        *_reads(measured, None, "all cores together"),
    ]


def _latency(measured: Measured) -> list[Entry]:
    pairs = [cell for row in measured.latency_seconds for cell in row if cell is not None]
    source = "measured: one way between two CPUs, half of a ping-pong on two lines, median of all pairs"
    return [
        ("line_one_way_seconds", median_known(pairs), source),
        ("line_one_way_smallest_seconds", min(pairs, default=None), "measured: the nearest pair"),
        ("line_one_way_largest_seconds", max(pairs, default=None), "measured: the farthest pair"),
        ("round_trip_seconds", measured.round_trip_seconds, "measured: the first two CPUs in order of use"),
    ]


def _costs(measured: Measured) -> list[Entry]:
    wake, fork_join = measured.futex_wake_seconds, measured.fork_join_seconds
    cold = measured.fork_join_cold_seconds
    dequeue = measured.dequeue_seconds
    members = f"measured: {measured.fork_join_members or 0} members"
    where = f"{members}, hot"
    large = f"{members}, each reading more than its L2 cache holds"
    return [
        ("members", measured.fork_join_members, "one hardware thread of each core"),
        ("fork_join_seconds", fork_join.tautochrone, f"{where}, tautochrone"),
        ("fork_join_libgomp_seconds", fork_join.libgomp, f"{where}, GCC's OpenMP"),
        ("fork_join_libomp_seconds", fork_join.libomp, f"{where}, LLVM's OpenMP"),
        ("fork_join_cold_seconds", cold.tautochrone, f"{large}, tautochrone"),
        ("fork_join_cold_libgomp_seconds", cold.libgomp, f"{large}, GCC's OpenMP"),
        ("fork_join_cold_libomp_seconds", cold.libomp, f"{large}, LLVM's OpenMP"),
        ("dequeue_libgomp_seconds", dequeue.libgomp, f"{where}, all asking for chunks"),
        ("dequeue_libomp_seconds", dequeue.libomp, f"{where}, all asking for chunks"),
        ("task_overhead_seconds", 67e-9, "oneTBB on one thread (ConorWilliams/libfork)"),
        ("barrier_seconds", measured.barrier_seconds, f"{where}, one counter and one flag"),
        ("wake_caller_seconds", wake.waker if wake else None, "measured: FUTEX_WAKE with one sleeper"),
        ("wake_sleeper_seconds", wake.wakee if wake else None, "measured: from the call until it runs"),
        ("move_seconds", measured.lost_by_moves().get(0), "measured: by its own mask, median of all pairs"),
    ]


def _noise(measured: Measured) -> list[Entry]:
    gaps = median_known([cpu.noise_p99_gap_seconds for cpu in measured.cpus])
    longest = [cpu.noise_largest_gap_seconds for cpu in measured.cpus if cpu.noise_largest_gap_seconds]
    steal = median_known([cpu.steal_fraction for cpu in measured.cpus])
    source = "measured: largest gap in a millisecond of spinning, 99th percentile"
    return [
        ("p99_gap_seconds", gaps, source),
        ("largest_gap_seconds", max(longest, default=None), "measured: the longest interruption of any CPU"),
        ("steal_fraction", steal, "/proc/stat, median of the CPUs, while measuring"),
    ]
