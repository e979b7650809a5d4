"""Rows of a loop study as a store holds them, made from a small model of a machine: deterministic, for tests.

Two machines: ``two_cpus`` (a virtual machine with two equal CPUs, CPU 1 slowed by emulation) and ``hybrid``
(8 P-cores and 16 E-cores). Some runs fail, there are no counters and no energy meter, and both say why.
"""

from __future__ import annotations

import hashlib
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from tautochrone.report.analysis_types import Claim, Command, NotMeasured, Peer, PeerRatio, Ratio, Settings
from tautochrone.report.loop.analysis_types import (
    BandwidthPoint,
    Cell,
    ChunkPoint,
    ConfigurationTime,
    CoresUsed,
    CpuLoad,
    CpuSample,
    LoopAnalysis,
)

Row = dict[str, Any]
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
    kinds = [("P", 8), ("E", 16)] if hybrid else [("core", 2)]
    cpus: list[dict[str, Any]] = []
    for name, number in kinds:
        for _ in range(number):
            cpu = len(cpus)
            speed = 0.26 if name == "E" else 1.0
            cpus.append(
                {
                    "cpu": cpu,
                    "core": cpu,
                    "package": 0,
                    "numa": 0,
                    "kind": name,
                    "smt_siblings": [cpu],
                    "capacity": None,
                    "max_hertz": (6.0e9 if speed == 1.0 else 4.4e9) if hybrid else None,
                    "allowed": True,
                    "l1d_bytes": 48 * 1024 if speed == 1.0 else 32 * 1024,
                    "l2_bytes": (2 if speed == 1.0 else 4) * 1024**2,
                    "l3_bytes": 36 * 1024**2,
                }
            )
    every = [cpu["cpu"] for cpu in cpus]
    return {
        "schema": "tautochrone.machine/1",
        "machine": "4f1c0de5a11e" if hybrid else "0ddba11f00d5",
        "name": "Intel Core i9-14900K" if hybrid else "Intel Xeon Processor, 2 CPUs (virtual machine)",
        "cpu_model": "Intel Core i9-14900K" if hybrid else "Intel Xeon Processor",
        "architecture": "x86_64",
        "kernel": "6.14.0" if hybrid else "6.1.0",
        "hypervisor": None if hybrid else "kvm",
        "emulated": None,
        "cpus": cpus,
        "kinds": [
            {
                "kind": name,
                "cpus": [c["cpu"] for c in cpus if c["kind"] == name],
                "hardware_threads_per_core": 1,
            }
            for name, _ in kinds
        ],
        "caches": [
            {"level": 3, "type": "unified", "size_bytes": 36 * 1024**2, "line_bytes": 64, "cpus": every}
        ],
        "numa": [{"node": 0, "cpus": every, "memory_bytes": 32 * 1024**3 if hybrid else 8 * 1024**3}],
        "allowed_cpus": every,
        "quota_cpus": None if hybrid else 2.0,
        "quota_source": None if hybrid else "cgroup v2 cpu.max",
        "cpuset": None,
        "usable_members": len(every),
        "memory_bytes": 32 * 1024**3 if hybrid else 8 * 1024**3,
        "available_memory_bytes": 24 * 1024**3 if hybrid else 6 * 1024**3,
        "governor": "powersave" if hybrid else None,
        "frequency_driver": "intel_pstate" if hybrid else None,
        "turbo": True if hybrid else None,
        "smt_active": False,
        "counters": {"status": "unavailable", "reason": COUNTERS_REASON, "remedy": COUNTERS_REMEDY},
        "energy_meters": [],
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
        },
    }


def _triad(kind: str, members: int) -> float:
    peak = 7.6e10 if kind == "hybrid" else 1.9e10
    return peak * (1 - math.exp(-members / (4 if kind == "hybrid" else 1.1)))


class _Model:
    """Seconds of one loop iteration: the work over the speeds, or the memory, and what a schedule costs."""

    def __init__(self, kind: str, factor: float) -> None:
        self.kind = kind
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
    found: list[dict[str, Any]] = []

    def add(
        runtime: str, library: str, schedule: str, chunk: int | None, placement: str, wait: str = "default"
    ) -> None:
        found.append(
            {
                "runtime": runtime,
                "library": library,
                "schedule": schedule,
                "chunk": chunk,
                "placement": placement,
                "wait": wait,
            }
        )

    add("serial", "serial", "serial", None, "fast")
    for placement in ("all", "fast", "slow"):
        for library in ("libgomp", "libomp"):
            add("openmp", library, "pragma", None, placement)
    for library in ("libgomp", "libomp"):
        for chunk in CHUNKS if not quick else (1, 2, 8, 32):
            add("openmp", library, "dynamic", chunk, "all", "active")
            if not quick:
                add("openmp", library, "guided", chunk, "all", "active")
    for schedule in ("auto", "static"):
        add("tbb", "tbb", schedule, 16, "all")
    add("stdpar", "stdpar", "par", None, "all")
    add("openblas", "openblas", "sgemv", None, "all")
    for schedule in ("adaptive", "static", "dynamic"):
        add("tautochrone", "tautochrone", schedule, 8 if schedule == "dynamic" else None, "all")
    return found


def loop_rows(
    kind: str = "two_cpus",
    *,
    sizes: Sequence[int] | None = None,
    factors: Sequence[float] = (1, 2, 4),
    rounds: int = 10,
    quick: bool = True,
    errors: bool = True,
    seed: int = 20260105,
) -> list[Row]:
    """Rows of a whole study in the order in which they would have been measured: rounds, shuffled inside."""
    chance = random.Random(seed)
    rows: list[Row] = []
    for size in sizes or (QUICK_SIZES if quick else FULL_SIZES):
        for factor in factors if kind == "two_cpus" else (1,):
            model = _Model(kind, factor)
            plan = _configurations(quick)
            for round_number in range(rounds):
                chance.shuffle(plan)
                drift = 1 + 0.02 * round_number / rounds
                for position, one in enumerate(plan):
                    rows.append(_row(kind, model, one, size, factor, round_number, position, drift, chance))
                    if errors and one["runtime"] == "stdpar" and size == 2000 and factor == 2:
                        rows[-1] |= {
                            "seconds": None,
                            "error": {
                                "kind": "missing_worker",
                                "message": "2 workers asked, 1 did work: <CPU 0>",
                            },
                        }
    return rows


def _row(
    kind: str,
    model: _Model,
    one: Mapping[str, Any],
    size: int,
    factor: float,
    round_number: int,
    position: int,
    drift: float,
    chance: random.Random,
) -> Row:
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
        "size": size,
        "emulated": {} if factor == 1 else {"1": float(factor)},
    }
    identity = hashlib.sha256(repr(sorted(config.items())).encode()).hexdigest()[:12]
    return {
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
        "detail": {"library_version": _LIBRARY_VERSION.get(runtime, "0.1.0"), "iterations": 400},
        "machine": machine(kind)["machine"],
        "error": None,
    }


def label(config: Mapping[str, Any]) -> str:
    """A configuration's name for people."""
    chunk = f", chunk {config['chunk']}" if config["chunk"] else ""
    where = "all cores" if config["placement"] == "all" else f"{config['placement']} cores"
    return f"{config['library']} {config['schedule']}{chunk}, {where}"


def loop_analysis(rows: Sequence[Row], kind: str = "two_cpus", *, quick: bool = True) -> LoopAnalysis:
    """An analysis with every section filled, made from the rows in the simplest way that is not wrong."""
    groups: dict[tuple[float, int], list[Row]] = {}
    for row in rows:
        emulated = row["config"]["emulated"]
        groups.setdefault((emulated.get("1", 1.0), row["config"]["size"]), []).append(row)
    cells = [_cell(size, group) for (_, size), group in sorted(groups.items())]
    first_rows = {label(row["config"]): row for row in rows if row["round"] == 0 and not row["error"]}
    best = min(cells, key=lambda cell: cell.ratio.value or math.inf)
    return LoopAnalysis(
        verdict_sentences=(
            "On this machine, use tautochrone's adaptive schedule on all cores: with no settings it is as "
            "fast as the best hand-tuned peer where the cores are equal, and faster where they are not.",
            f"The largest gain over the best peer is at n = {best.size}: {best.best_peer} takes "
            f"{1 / (best.ratio.value or 1):.2f} times as long.",
            "If you must stay with OpenMP, use schedule(dynamic, 8) where one core is slower than another.",
        ),
        cells=tuple(cells),
        chunk_series=tuple(
            ChunkPoint(
                runtime=one.runtime,
                schedule=one.schedule,
                chunk=one.chunk,
                size=cell.size,
                emulated=cell.emulated,
                seconds=one.seconds,
                low=one.low,
                high=one.high,
            )
            for cell in cells
            for one in cell.configurations
            if one.chunk and one.seconds and one.runtime in ("libgomp", "libomp")
        ),
        bandwidth=tuple(
            BandwidthPoint(
                configuration=one.label,
                runtime=one.runtime,
                size=cell.size,
                emulated=cell.emulated,
                members=one.threads,
                bytes_per_second=4 * cell.size**2 / one.seconds,
                triad_share=4 * cell.size**2 / one.seconds / _triad(kind, one.threads),
            )
            for cell in cells
            for one in cell.configurations
            if one.seconds and one.placement == "all"
        ),
        cpu_load=tuple(_loads(cells[-1], 24 if kind == "hybrid" else 2)),
        cores_used=tuple(
            CoresUsed(
                configuration=name,
                runtime=row["config"]["library"],
                asked=row["config"]["cores"],
                asked_cpus=tuple(worker["cpu"] for worker in row["workers"]),
                ran_on_cpus=tuple(worker["cpu"] for worker in row["workers"]),
                rows_share={str(w["cpu"]): w["rows"] / row["config"]["size"] for w in row["workers"]},
            )
            for name, row in sorted(first_rows.items())
            if row["config"]["chunk"] in (None, 2)
        ),
        miss_ratios=None,
        miss_ratios_reason=COUNTERS_REASON,
        miss_ratios_remedy=COUNTERS_REMEDY,
        settings_to_paste=(
            Settings(
                label="C++, tautochrone",
                language="cpp",
                text="#include <tauto/tauto.hpp>\n\ntauto::team team;\n"
                "tauto::parallel_for(team, n, [&](tauto::range r) { /* rows r.begin to r.end */ });",
                why="Nothing to set: the schedule learns the speed of each core.",
            ),
            Settings(
                label="OpenMP program that you can recompile",
                language="cpp",
                text="#pragma omp parallel for schedule(dynamic, 8)",
                why="The best peer wherever one core is slower.",
            ),
            Settings(
                label="OpenMP program with schedule(runtime)",
                language="shell",
                text='export OMP_SCHEDULE="dynamic,8"\nexport OMP_PLACES="{0},{1}"\n'
                "export OMP_PROC_BIND=close",
                why="Without recompiling.",
            ),
        ),
        peers=tuple(
            Peer(
                runtime=key,
                name=name,
                version=_LIBRARY_VERSION[key],
                wait_policies=("default", "active"),
                settings="one pinned thread a CPU, hot",
            )
            for key, name in (
                ("libgomp", "OpenMP, GCC's libgomp"),
                ("libomp", "OpenMP, LLVM's libomp"),
                ("tbb", "oneTBB"),
                ("stdpar", "std::execution::par"),
                ("openblas", "OpenBLAS sgemv"),
            )
        ),
        not_measured=(
            NotMeasured(what="cache misses", why=COUNTERS_REASON, remedy=COUNTERS_REMEDY),
            NotMeasured(
                what="energy", why="there is no meter that answers", remedy="Run on the bare machine."
            ),
        ),
        claims=(
            Claim(
                id="H5",
                published="Chunk 2 instead of 1 is clearly faster; larger chunks add almost nothing.",
                ours="Chunk 2 takes 0.93 of the time of chunk 1 at n = 500.",
                holds=True,
            ),
            Claim(
                id="H10",
                published="One P-core is worth about four E-cores.",
                ours="There is one kind of core here.",
                holds=None,
                note="needs a hybrid machine",
            ),
            Claim(
                id="H2",
                published="Up to about n = 2000 static on the fast cores is fastest.",
                ours="Here dynamic wins from n = 1000 on.",
                holds=False,
            ),
        ),
        commands=(
            Command(label="The study again", text="tauto study loop --quick --emulate 1:4"),
            Command(label="This report again", text="tauto report tautochrone-results/loop"),
        ),
        advice=(
            "CPU 1 was interrupted for up to 0.22 ms at a time: close other programs and measure again.",
        ),
        quick=quick,
    )


def _cell(size: int, rows: Sequence[Row]) -> Cell:
    by_config: dict[str, list[Row]] = {}
    for row in rows:
        by_config.setdefault(row["config_id"], []).append(row)
    times = [_configuration(group) for group in by_config.values()]
    measured = [one for one in times if one.seconds is not None]

    def fastest(**wanted: str) -> ConfigurationTime | None:
        found = [
            one for one in measured if all(getattr(one, name) == value for name, value in wanted.items())
        ]
        return min(found, key=lambda one: one.seconds or math.inf, default=None)

    ours = next((one for one in measured if one.runtime == "tautochrone" and one.is_default), None)
    peers = [one for one in measured if one.runtime not in ("tautochrone", "serial")]
    best = min(peers, key=lambda one: one.seconds or math.inf, default=None)
    serial, fast, slow = fastest(runtime="serial"), fastest(placement="fast"), fastest(placement="slow")
    t_seq, t_fast, t_slow = (one.seconds if one else None for one in (serial, fast, slow))
    bound = t_fast * t_slow / (t_fast + t_slow) if t_fast and t_slow else None
    peer_ratios: list[PeerRatio] = []
    for runtime in sorted({one.runtime for one in peers}):
        theirs = [one for one in peers if one.runtime == runtime]
        defaults = [one for one in theirs if one.is_default]
        if ours:
            winner = min(theirs, key=lambda one: one.seconds or math.inf)
            peer_ratios.append(
                PeerRatio(
                    runtime=runtime, configuration=winner.label, role="best", ratio=_ratio(ours, winner)
                )
            )
            if defaults:
                peer_ratios.append(
                    PeerRatio(
                        runtime=runtime,
                        configuration=defaults[0].label,
                        role="default",
                        ratio=_ratio(ours, defaults[0]),
                    )
                )
    return Cell(
        size=size,
        emulated=rows[0]["config"]["emulated"],
        best_peer=best.label if best else None,
        best_peer_seconds=best.seconds if best else None,
        tautochrone_seconds=ours.seconds if ours else None,
        ratio=_ratio(ours, best),
        bound_seconds=bound,
        bound_speedup=t_seq / bound if t_seq and bound else None,
        sequential_seconds=t_seq,
        fast_seconds=t_fast,
        slow_seconds=t_slow,
        configurations=tuple(times),
        peer_ratios=tuple(peer_ratios),
    )


def _configuration(rows: Sequence[Row]) -> ConfigurationTime:
    config = rows[0]["config"]
    points = [
        row["seconds"] for row in sorted(rows, key=lambda row: row["round"]) if row["seconds"] is not None
    ]
    ordered = sorted(points)
    enough = len(ordered) >= 8
    return ConfigurationTime(
        label=label(config),
        runtime=config["library"],
        library=config["library"],
        schedule=config["schedule"],
        chunk=config["chunk"],
        placement=config["placement"],
        wait=config["wait"],
        threads=config["threads"],
        cores=config["cores"],
        seconds=statistics.median(points) if points else None,
        low=ordered[1] if enough else None,
        high=ordered[-2] if enough else None,
        points=tuple(points),
        rounds=len(points),
        is_default=config["placement"] == "all"
        and config["schedule"] in ("pragma", "auto", "par", "sgemv", "adaptive", "serial"),
        error=None if points else rows[0]["error"]["message"],
    )


def _ratio(ours: ConfigurationTime | None, theirs: ConfigurationTime | None) -> Ratio:
    pairs = sorted(a / b for a, b in zip(ours.points, theirs.points, strict=False)) if ours and theirs else []
    if len(pairs) < 8:
        return Ratio(
            value=None, low=None, high=None, confidence=None, rounds=len(pairs), verdict="not measured"
        )
    low, high = pairs[1], pairs[-2]
    return Ratio(
        value=statistics.median(pairs),
        low=low,
        high=high,
        confidence=1 - 2 * (1 + len(pairs)) / 2 ** len(pairs),
        rounds=len(pairs),
        verdict="faster" if high < 1 else "slower" if low > 1 else "no difference resolved",
    )


def _loads(cell: Cell, cpus: int) -> list[CpuLoad]:
    chance = random.Random(7)
    loads: list[CpuLoad] = []
    for runtime, name in (
        ("libgomp", "libgomp pragma, all cores"),
        ("tautochrone", "tautochrone adaptive, all cores"),
    ):
        samples = []
        for step in range(1, 41):
            for cpu in range(cpus):
                waits = runtime == "libgomp" and cpu < max(1, cpus // 3)
                busy = (0.35 if waits else 0.97) + chance.uniform(-0.03, 0.03)
                running = 3 <= step <= 37
                hertz = 5.2e9 - 3e7 * cpu if cpus > 2 else None
                samples.append(
                    CpuSample(cpu=cpu, seconds=0.1 * step, busy=busy if running else 0.02, hertz=hertz)
                )
        loads.append(
            CpuLoad(
                configuration=name,
                runtime=runtime,
                size=cell.size,
                emulated=cell.emulated,
                samples=tuple(samples),
            )
        )
    return loads
