"""The machine file: a machine as the simulator takes it, in TOML, every figure with its source.

Keys carry their unit; a figure that was not measured is left out and a comment says so.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Sequence

from tautochrone.errors import TautoError
from tautochrone.machine_record import Cpu, Kind, Machine, Measured, MeasuredCpu

MACHINE_FILE_SCHEMA = "tautochrone.machine-file/1"
Value = str | int | float | Sequence[int] | Sequence[float]


def export_toml(machine: Machine) -> str:
    """The machine file of a measured machine.

    Raises TautoError when nothing was measured: the simulator needs speeds, not names.
    """
    measured = machine.measured
    if measured is None:
        raise TautoError(
            f"a machine file of {machine.name} needs measured speeds, and nothing was measured",
            "Use --measure quick or --measure full, on the machine itself",
        )
    blocks = [
        _head(machine, measured),
        *(_kind(machine, measured, kind) for kind in machine.kinds if _measured_of(measured, kind)),
        _memory(machine, measured),
        _latency(measured),
        _costs(measured),
        *([_AMD] if "AMD" in machine.cpu_model else []),
        _noise(measured),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _line(key: str, value: Value | None, source: str) -> str:
    if value is None:
        return f"# {key} is missing: not measured ({source})"
    return f"{key} = {_value(value)}  # {source}"


def _value(value: Value) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # TOML wants a point or an exponent in a float.
        short = f"{value:.6g}"
        return short if any(mark in short for mark in ".en") else f"{short}.0"
    return f"[{', '.join(_value(item) for item in value)}]"


def _head(machine: Machine, measured: Measured) -> list[str]:
    effort = f"tauto-probe --measure {measured.effort or 'quick'}"
    lines = [
        "# Machine file: what the simulator needs to know of a machine.",
        _line("schema", MACHINE_FILE_SCHEMA, "of this file"),
        _line("name", machine.name, "/proc/cpuinfo"),
        _line("machine", machine.machine, "hash of the hardware's stable facts"),
        _line("architecture", machine.architecture, "uname"),
        _line("measured_when", measured.when, f"UTC, by {effort}"),
        _line("packages", len({cpu.package for cpu in machine.cpus}), "hwloc"),
        _line("numa_nodes", max(1, len(machine.numa)), "hwloc"),
        _line("usable_members", machine.usable_members, "affinity mask, cpuset and quota when measured"),
    ]
    if machine.hypervisor:
        lines.append(_line("hypervisor", machine.hypervisor, "CPUID; speeds include what the host takes"))
    lines.extend(
        f"# CPU {slowed.cpu} was made {slowed.factor:g} times slower by tauto emulate."
        for slowed in machine.emulated or ()
    )
    return lines


def _measured_of(measured: Measured, kind: Kind) -> list[MeasuredCpu]:
    return [cpu for cpu in measured.cpus if cpu.cpu in kind.cpus]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _relative(value: float | None, reference: float | None) -> float | None:
    return None if value is None or not reference else value / reference


_SPEEDS: tuple[tuple[str, str, Callable[[MeasuredCpu], float | None]], ...] = (
    ("compute", "compute_per_second", lambda cpu: cpu.compute_per_second),
    ("cache", "cache_bytes_per_second", lambda cpu: cpu.cache_bytes_per_second),
    ("memory", "memory_bytes_per_second", lambda cpu: cpu.memory_bytes_per_second),
)
_SPEED_SOURCES = {
    "compute": "multiply and add in double precision, one thread",
    "cache": "read from half of the L2 cache, one thread",
    "memory": "read from beyond the last cache, one thread",
}


def _kind(machine: Machine, measured: Measured, kind: Kind) -> list[str]:
    members = _measured_of(measured, kind)
    first = machine.cpu(kind.cpus[0])
    lines = [
        "[[kind]]",
        _line("kind", kind.kind, machine.kind_source or "all cores are equal"),
        _line("cores", machine.cores(kind), "hwloc"),
        _line("hardware_threads_per_core", kind.hardware_threads_per_core, "hwloc"),
        _line("cpus", list(kind.cpus), "the kernel's numbers"),
        _line("max_hertz", _fastest_clock(machine, kind), "cpufreq"),
        _line("l1d_bytes", first.l1d_bytes, "hwloc, each core"),
        _line("l2_bytes", first.l2_bytes, "hwloc, each L2 cache"),
        _line("l2_shared_by_cores", _cores_of_cache(machine, first, 2), "hwloc"),
    ]
    for name, key, read in _SPEEDS:
        value = _median([read(cpu) for cpu in members])
        best = _fastest_kind_value(machine, measured, read)
        lines.append(
            _line(f"relative_{name}_speed", _relative(value, best), f"{key} against the fastest kind")
        )
        lines.append(_line(key, value, f"measured: {_SPEED_SOURCES[name]}, median of {len(members)} CPUs"))
    hashed = _median([cpu.hash_bytes_per_second for cpu in members])
    lines.append(_line("hash_bytes_per_second", hashed, "measured: FNV-1a of 64 bits, one thread"))
    lines += _reads(measured, kind.kind, f"one {kind.kind} core")
    speeds = [cpu.compute_per_second for cpu in members]
    fastest = max((speed for speed in speeds if speed is not None), default=None)
    if fastest and None not in speeds:
        each = [speed / fastest for speed in speeds if speed is not None]
        lines.append(_line("measured_cpus", [cpu.cpu for cpu in members], "those that were allowed"))
        lines.append(_line("cpu_relative_speed", each, "measured: compute, in the order of measured_cpus"))
    return lines


# The loop study with chunks of 1 and 2 on an EPYC of family 26: a row costs one line's way, not two.
_AMD = [
    "[system]",
    "locked_waits_for_stores = false  # a locked instruction fetches its line while stores are under way",
]
_SINGLE_ROWS = (
    ("single_row_bytes_per_second", "the L2 cache"),
    ("single_row_last_level_bytes_per_second", "the last level"),
    ("single_row_memory_bytes_per_second", "memory"),
)


def _reads(measured: Measured, kind: str | None, who: str) -> list[str]:
    """The points of a kind, or those of all cores together (None)."""
    points = [point for point in measured.reads if point.kind == kind and point.bytes_per_second]
    several = [point for point in points if point.rows_at_once > 1 and not point.pause_seconds]
    if not several:
        return []
    rates = [point.bytes_per_second or 0.0 for point in several]
    source = f"measured: {who}, the loop study's rows out of sets of read_set_bytes, read again and again"
    lines = [
        _line("read_set_bytes", [point.bytes for point in several], "by all that read together"),
        _line("read_bytes_per_second", rates, source),
    ]
    singles = sorted((point for point in points if point.rows_at_once == 1), key=lambda point: point.bytes)
    lines += [
        _line(key, point.bytes_per_second, f"measured: a row a call, from {where}")
        for (key, where), point in zip(_SINGLE_ROWS, singles, strict=False)
    ]
    if paused := [point for point in points if point.pause_seconds]:
        pauses = [point.pause_seconds for point in paused]
        rates = [point.bytes_per_second or 0.0 for point in paused]
        lines += [
            _line("pause_set_bytes", paused[0].bytes, "half of the last level"),
            _line("pause_seconds", pauses, "waited in all while such a set was read, a part after each call"),
            _line("pause_read_bytes_per_second", rates, "measured: as above, without the pauses"),
        ]
    return lines


def _fastest_kind_value(
    machine: Machine, measured: Measured, read: Callable[[MeasuredCpu], float | None]
) -> float | None:
    medians = (_median([read(cpu) for cpu in _measured_of(measured, kind)]) for kind in machine.kinds)
    return max((value for value in medians if value is not None), default=None)


def _fastest_clock(machine: Machine, kind: Kind) -> float | None:
    clocks = [cpu.max_hertz for cpu in machine.cpus if cpu.kind == kind.kind and cpu.max_hertz is not None]
    return max(clocks, default=None)


def _cores_of_cache(machine: Machine, cpu: Cpu, level: int) -> int | None:
    for cache in machine.caches:
        if cache.level == level and cache.type != "instruction" and cpu.cpu in cache.cpus:
            return len({machine.cpu(number).core for number in cache.cpus})
    return None


def _memory(machine: Machine, measured: Measured) -> list[str]:
    last = [cache for cache in machine.caches if cache.level == max(c.level for c in machine.caches)]
    points = [point for point in measured.triad if point.bytes_per_second is not None]
    megabytes = (measured.triad_array_bytes or 0) // 2**20
    source = f"measured: triad a = b + s c, 24 bytes an element, arrays of {megabytes} MiB together"
    return [
        "[memory]",
        _line("memory_bytes", machine.memory_bytes, "/proc/meminfo"),
        _line("last_level_cache_bytes", last[0].size_bytes if last else None, "hwloc, each"),
        _line("last_level_caches", len(last), "hwloc"),
        _line("line_bytes", last[0].line_bytes if last else None, "hwloc"),
        _line("triad_members", [point.members for point in points], "in order of use, fast cores first"),
        _line("triad_bytes_per_second", [point.bytes_per_second or 0.0 for point in points], source),
        *_reads(measured, None, "all cores together"),
    ]


def _pairs(measured: Measured) -> Iterator[float]:
    for row in measured.latency_seconds:
        yield from (cell for cell in row if cell is not None)


def _latency(measured: Measured) -> list[str]:
    pairs = list(_pairs(measured))
    source = "measured: one way between two CPUs, half of a ping-pong on two lines"
    return [
        "[latency]",
        _line("line_one_way_seconds", _median(pairs), f"{source}, median of all pairs"),
        _line("line_one_way_smallest_seconds", min(pairs, default=None), "measured: the nearest pair"),
        _line("line_one_way_largest_seconds", max(pairs, default=None), "measured: the farthest pair"),
        _line(
            "round_trip_seconds", measured.round_trip_seconds, "measured: the first two CPUs in order of use"
        ),
    ]


def _costs(measured: Measured) -> list[str]:
    wake = measured.futex_wake_seconds
    where = f"measured: {measured.fork_join_members or 0} members, hot"
    return [
        "[costs]",
        _line("members", measured.fork_join_members, "one hardware thread of each core"),
        _line("fork_join_seconds", measured.fork_join_seconds.tautochrone, f"{where}, tautochrone"),
        _line("fork_join_libgomp_seconds", measured.fork_join_seconds.libgomp, f"{where}, GCC's OpenMP"),
        _line("fork_join_libomp_seconds", measured.fork_join_seconds.libomp, f"{where}, LLVM's OpenMP"),
        _line("dequeue_libgomp_seconds", measured.dequeue_seconds.libgomp, f"{where}, all asking for chunks"),
        _line("dequeue_libomp_seconds", measured.dequeue_seconds.libomp, f"{where}, all asking for chunks"),
        _line("task_overhead_seconds", 67e-9, "oneTBB on one thread (ConorWilliams/libfork)"),
        _line("barrier_seconds", measured.barrier_seconds, f"{where}, one counter and one flag"),
        _line("wake_caller_seconds", wake.waker if wake else None, "measured: FUTEX_WAKE with one sleeper"),
        _line("wake_sleeper_seconds", wake.wakee if wake else None, "measured: from the call until it runs"),
    ]


def _noise(measured: Measured) -> list[str]:
    gaps = _median([cpu.noise_p99_gap_seconds for cpu in measured.cpus])
    largest = [cpu.noise_largest_gap_seconds for cpu in measured.cpus if cpu.noise_largest_gap_seconds]
    steal = _median([cpu.steal_fraction for cpu in measured.cpus])
    return [
        "[noise]",
        _line("p99_gap_seconds", gaps, "measured: largest gap in a millisecond of spinning, 99th percentile"),
        _line(
            "largest_gap_seconds", max(largest, default=None), "measured: the longest interruption of any CPU"
        ),
        _line("steal_fraction", steal, "/proc/stat, median of the CPUs, while measuring"),
    ]
