"""Rows of a loop study as a store holds them, made from a small model of a machine: deterministic, for tests.

Two machines: ``two_cpus`` (a virtual machine with two equal CPUs, CPU 1 slowed by emulation) and ``hybrid``
(8 P-cores and 16 E-cores). Some runs fail, there are no counters and no energy meter, and both say why.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import study_fakes
from tautochrone.measuring.sampler import LoadSample
from tautochrone.results.context import NotMeasured, Peer
from tautochrone.results.row import Row, read_row, refused
from tautochrone.studies.loop.analysis import analyse
from tautochrone.studies.loop.findings import CpuLoad, LoopAnalysis, LoopContext

CHUNKS = (1, 2, 4, 8, 16, 32, 64)
QUICK_SIZES = (500, 1000, 2000, 4000)
FULL_SIZES = (500, 1000, 1500, 2000, 3000, 4000, 6000, 8000)
COUNTERS_REASON = "the kernel offers no hardware counters in this virtual machine"
COUNTERS_REMEDY = "Run on the bare machine, or let the hypervisor pass the performance counters through."

# seconds for one fork and join, and for handing out one chunk
_FORK_JOIN = {"libgomp": 2.4e-6, "libomp": 2.1e-6, "tbb": 4.5e-6, "stdpar": 5.0e-6, "openblas": 3e-6}
_DEQUEUE = {"libgomp": 6e-8, "libomp": 5e-8, "tbb": 1.3e-7, "stdpar": 1.3e-7, "openblas": 1e-7}
_LIBRARY_VERSION = {
    "libgomp": "12.2.0",
    "libomp": "14.0.6",
    "tbb": "2021.8",
    "stdpar": "12.2.0",
    "openblas": "0.3.21",
}


def machine(kind: str = "two_cpus") -> dict[str, Any]:
    """The machine's JSON as tauto-probe writes it."""
    hybrid = kind == "hybrid"
    kinds = ["P"] * 8 + ["E"] * 16 if hybrid else ["core"] * 2
    found = study_fakes.machine(len(kinds), kinds)
    cpus, every = found["cpus"], found["allowed_cpus"]
    for cpu in cpus:
        slow = cpu["kind"] == "E"
        cpu |= {
            "max_hertz": (4.4e9 if slow else 6.0e9) if hybrid else None,
            "l1d_bytes": (32 if slow else 48) * 1024,
            "l2_bytes": (4 if slow else 2) * 1024**2,
            "l3_bytes": 36 * 1024**2,
        }
    return found | {
        "machine": "4f1c0de5a11e" if hybrid else "0ddba11f00d5",
        "name": "Intel Core i9-14900K" if hybrid else "Intel Xeon Processor, 2 CPUs (virtual machine)",
        "cpu_model": "Intel Core i9-14900K" if hybrid else "Intel Xeon Processor",
        "kernel": "6.14.0" if hybrid else "6.1.0",
        "hypervisor": None if hybrid else "kvm",
        "kinds": [
            {
                "kind": name,
                "cpus": [c["cpu"] for c in cpus if c["kind"] == name],
                "hardware_threads_per_core": 1,
            }
            for name in dict.fromkeys(kinds)
        ],
        "caches": [
            {"level": 3, "type": "unified", "size_bytes": 36 * 1024**2, "line_bytes": 64, "cpus": every}
        ],
        "numa": [{"node": 0, "cpus": every, "memory_bytes": 32 * 1024**3 if hybrid else 8 * 1024**3}],
        "quota_cpus": None if hybrid else 2.0,
        "quota_source": None if hybrid else "cgroup v2 cpu.max",
        "cpuset": None,
        "memory_bytes": 32 * 1024**3 if hybrid else 8 * 1024**3,
        "available_memory_bytes": 24 * 1024**3 if hybrid else 6 * 1024**3,
        "governor": "powersave" if hybrid else None,
        "frequency_driver": "intel_pstate" if hybrid else None,
        "turbo": True if hybrid else None,
        "smt_active": False,
        "counters": {"status": "unavailable", "reason": COUNTERS_REASON, "remedy": COUNTERS_REMEDY},
        "energy": {"status": "unavailable", "reason": "no meter", "remedy": "Run on the bare machine."},
        "measured": {
            "when": "2026-01-05T10:00:00Z",
            "cpus": [
                {
                    "cpu": cpu["cpu"],
                    "compute_per_second": 4.1e9 * (0.26 if cpu["kind"] == "E" else 1.0),
                    "cache_bytes_per_second": 6.2e10 * (0.3 if cpu["kind"] == "E" else 1.0),
                    "memory_bytes_per_second": 1.15e10 * (0.5 if cpu["kind"] == "E" else 1.0),
                    "noise_largest_gap_seconds": 2.1e-4 + 1e-5 * cpu["cpu"],
                    "noise_p99_gap_seconds": 9e-7,
                    "steal_fraction": None if hybrid else 0.003,
                }
                for cpu in cpus
            ],
            "triad": [
                {"members": m, "bytes_per_second": _triad(kind, m)}
                for m in (1, 2, 4, 8, 24)
                if m <= len(every)
            ],
            "latency_seconds": [[None if a == b else 1.7e-7 for a in every] for b in every],
            "round_trip_seconds": 3.4e-7,
            "fork_join_seconds": {"tautochrone": 5.2e-7, "libgomp": 1.9e-6},
            "barrier_seconds": 4e-7,
            "futex_wake_seconds": {"waker": 2.2e-6, "wakee": 7e-6},
            "moves": [{"from": every[0], "to": every[-1], "bytes": 0, "seconds": 1.2e-5}],
        },
    }


def _triad(kind: str, members: int) -> float:
    peak = 7.6e10 if kind == "hybrid" else 1.9e10
    return peak * (1 - math.exp(-members / (4 if kind == "hybrid" else 1.1)))


class _Model:
    """Seconds of one loop iteration: the work over the speeds, or the memory, and what a schedule costs."""

    def __init__(self, kind: str, factor: float) -> None:
        self.kind, self.factor = kind, factor
        fast, slow, one_slow = (8, 16, 0.26) if kind == "hybrid" else (1, 1, 1.0 / factor)
        self.fast_speeds = [1.15e10] * fast
        self.slow_speeds = [1.15e10 * one_slow] * slow

    def speeds(self, placement: str) -> list[float]:
        return {"fast": self.fast_speeds, "slow": self.slow_speeds}.get(
            placement, self.fast_speeds + self.slow_speeds
        )

    def seconds(self, runtime: str, schedule: str, chunk: int, placement: str, size: int) -> float:
        speeds = self.speeds(placement)
        work = 4.0 * size * size
        in_cache = 1.7 if work < 3.0e7 else 1.0
        balanced = work / (sum(speeds) * in_cache)
        if work > 3.6e7:
            balanced = max(balanced, work / (1.05 * _triad(self.kind, len(speeds))))
        serial_part = 2.1e-9 * size
        if runtime == "serial":
            return work / (max(speeds) * in_cache) + serial_part
        if runtime == "tautochrone":
            shared = balanced * 1.004 + 6e-7
            fast_only = work / (sum(self.fast_speeds) * in_cache) + 4e-7
            return min(shared, fast_only) + serial_part
        fork = _FORK_JOIN[runtime] * (1 + math.log2(max(2, len(speeds))) / 4)
        if schedule in ("pragma", "static", "static_chunk", "sgemv"):
            return max(work / len(speeds) / (min(speeds) * in_cache), balanced) + fork + serial_part
        handing = _DEQUEUE[runtime] * size / chunk * (1.9 if chunk == 1 else 1.0)
        tail = 2e-9 * size * chunk / len(speeds)
        return balanced * 1.01 + fork + handing + tail + serial_part


def _configurations(quick: bool) -> list[dict[str, Any]]:
    found: list[tuple[str, str, str, int | None, str]] = [("serial", "serial", "serial", None, "fast")]
    for library in ("libgomp", "libomp"):
        found.append(("openmp", library, "pragma", None, "all"))
        found += [("openmp", library, "static", None, placement) for placement in ("fast", "slow")]
    schedules = ("dynamic",) if quick else ("dynamic", "guided")
    for library in ("libgomp", "libomp"):
        for chunk in (1, 2, 8, 32) if quick else CHUNKS:
            found += [("openmp", library, schedule, chunk, "all") for schedule in schedules]
    found += [("tbb", "tbb", schedule, None, "all") for schedule in ("auto", "static")]
    found += [("stdpar", "stdpar", "par", None, "all"), ("openblas", "openblas", "sgemv", None, "all")]
    for schedule, chunk in (("adaptive", None), ("static", None), ("dynamic", 8)):
        found.append(("tautochrone", "tautochrone", schedule, chunk, "all"))
    names = ("runtime", "library", "schedule", "chunk", "placement")
    return [dict(zip(names, one, strict=True)) | {"wait": "default"} for one in found]


def loop_rows(
    kind: str = "two_cpus",
    *,
    sizes: Sequence[int] | None = None,
    factors: Sequence[float] = (1, 2, 4),
    rounds: int = 10,
    quick: bool = True,
) -> list[Row]:
    """Rows of a whole study in the order in which they would have been measured: rounds, shuffled inside."""
    chance = random.Random(20260105)
    rows: list[Row] = []
    for size in sizes or (QUICK_SIZES if quick else FULL_SIZES):
        for factor in factors if kind == "two_cpus" else (1,):
            model = _Model(kind, factor)
            plan = _configurations(quick)
            for number in range(rounds):
                chance.shuffle(plan)
                drift = 1 + 0.02 * number / rounds
                for position, one in enumerate(plan):
                    rows.append(_row(model, one, size, (number, position), drift, chance))
                    if one["runtime"] == "stdpar" and size == 2000 and factor == 2:
                        message = "2 workers asked, 1 did work: <CPU 0>"
                        rows[-1] = refused(rows[-1], "missing_worker", message)
    return rows


def _row(
    model: _Model,
    one: Mapping[str, Any],
    size: int,
    place: tuple[int, int],
    drift: float,
    chance: random.Random,
) -> Row:
    """The row of a configuration at a place: its round, and its position in there."""
    kind, factor = model.kind, model.factor
    round_number, position = place
    runtime = one["library"]
    threads = 1 if runtime == "serial" else len(model.speeds(one["placement"]))
    ideal = model.seconds(runtime, one["schedule"], one["chunk"] or 8, one["placement"], size)
    spike = 1.04 if chance.random() < 0.04 else 1.0
    seconds = ideal * drift * spike * math.exp(chance.gauss(0, 0.008))
    fast, slow = len(model.fast_speeds), len(model.slow_speeds)
    first = fast if one["placement"] == "slow" else 0
    cpus = list(range(first, first + threads))
    cores = {"core": threads}
    if kind == "hybrid":
        on_slow = slow if one["placement"] != "fast" and threads > 1 else 0
        cores = {"P": threads - on_slow, "E": on_slow}
    config = dict(one) | {
        "threads": threads,
        "cores": cores,
        "cpus": cpus,
        "size": size,
        "emulated": {} if factor == 1 else {"1": float(factor)},
    }
    identity = hashlib.sha256(repr(sorted(config.items())).encode()).hexdigest()[:12]
    record = {
        "schema": "tautochrone.row/1",
        "run": f"{identity}-{round_number}",
        "study": "loop",
        "source": "measured",
        "config": config,
        "config_id": identity,
        "round": round_number,
        "position": position,
        "started": f"2026-01-05T10:{round_number % 60:02d}:{position % 60:02d}Z",
        "seconds": seconds,
        "elapsed_seconds": 0.2 + seconds,
        "user_seconds": 0.2 * threads,
        "system_seconds": 0.004,
        "max_rss_bytes": 4 * size * size + 9_000_000,
        "voluntary_switches": 12,
        "involuntary_switches": 3,
        "migrations": None,
        "load_before": 0.1,
        "steal_seconds": 0.0,
        "energy": {"status": "unavailable", "joules": None, "reason": "no meter"},
        "counters": None,
        "counters_reason": COUNTERS_REASON,
        "check": {"passed": True, "relative_residual": 4e-6, "relative_error": 0.0, "tolerance": 1e-4},
        "workers": [{"cpu": cpu, "rows": size // threads} for cpu in cpus],
        "detail": {
            "library_version": _LIBRARY_VERSION.get(runtime, "0.1.0"),
            "iterations": 400,
            "bytes_per_iteration": 4.0 * size * size,
        },
        "machine": machine(kind)["machine"],
        "error": None,
    }
    return read_row(record)


def loop_analysis(rows: Sequence[Row], kind: str = "two_cpus", *, quick: bool = True) -> LoopAnalysis:
    """The study's own analysis of the rows, with what it knows beside them."""
    peers = {
        "libgomp": "OpenMP, GCC's libgomp",
        "libomp": "OpenMP, LLVM's libomp",
        "tbb": "oneTBB",
        "stdpar": "std::execution::par",
        "openblas": "OpenBLAS sgemv",
    }
    context = LoopContext(
        quick=quick,
        peers=tuple(
            Peer(runtime=key, name=name, version=_LIBRARY_VERSION[key], wait_policies=("default", "active"))
            for key, name in peers.items()
        ),
        not_measured=(
            NotMeasured(what="cache misses", why=COUNTERS_REASON, remedy=COUNTERS_REMEDY),
            NotMeasured(
                what="energy", why="there is no meter that answers", remedy="Run on the bare machine."
            ),
        ),
        machine_advice=("CPU 1 was interrupted for up to 0.22 ms at a time: close other programs.",),
        cpu_load=tuple(_loads(rows, 24 if kind == "hybrid" else 2)),
    )
    return analyse(rows, machine(kind), context)


def _loads(rows: Sequence[Row], cpus: int) -> list[CpuLoad]:
    chance = random.Random(7)
    loads: list[CpuLoad] = []
    for runtime, name in (
        ("libgomp", "libgomp pragma, all cores"),
        ("tautochrone", "tautochrone adaptive, all cores"),
    ):
        samples = []
        for step, cpu in product(range(1, 41), range(cpus)):
            waits = runtime == "libgomp" and cpu < max(1, cpus // 3)
            busy = (0.35 if waits else 0.97) + chance.uniform(-0.03, 0.03)
            running = 3 <= step <= 37
            hertz = 5.2e9 - 3e7 * cpu if cpus > 2 else None
            samples.append(
                LoadSample(cpu=cpu, seconds=0.1 * step, busy=busy if running else 0.02, hertz=hertz)
            )
        state = {"size": rows[-1].config["size"], "emulated": rows[-1].config["emulated"]}
        loads.append(CpuLoad(configuration=name, runtime=runtime, samples=tuple(samples), **state))
    return loads
