"""What each study simulates: its requests, and what is drawn of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tautochrone.errors import TautoError
from tautochrone.report.simulated.analysis_types import Axis
from tautochrone.simulator import requests
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine


class Point(msgspec.Struct, frozen=True):
    """One run: its request, the series that it belongs to and where it stands there."""

    series: str
    x: float
    request: Mapping[str, Any]


class Sweep(msgspec.Struct, frozen=True):
    """A study: its runs, its axes, what is looked at, and the run whose timeline is drawn."""

    points: Sequence[Point]
    x: Axis
    y: Axis
    value: Callable[[Row], float | None]
    timeline: Mapping[str, Any] | None = None


_TIME = Axis(field="y", title="time", logarithmic=True, seconds=True)


def _seconds(row: Row) -> float | None:
    return float(row["seconds"])


def _speedup_of_tasks(row: Row) -> float | None:
    return float(row["alone_seconds"]) / float(row["seconds"])


def _speedup_of_block(row: Row) -> float | None:
    return float(row["serial_seconds"]) / float(row["seconds"])


def _common_joules(row: Row) -> float | None:
    return float(row["energy"]["common_joules"])


LOOP_SIZES = (500, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 12000, 16000)


def _loop(machine: Machine) -> Sweep:
    kinds = [str(kind["kind"]) for kind in machine["kind"]]
    ways: list[tuple[str, dict[str, Any]]] = [
        ("serial", {"runtime": "serial", "schedule": "static", "placement": "all"}),
        ("OpenMP static", {"runtime": "openmp", "schedule": "static", "placement": "all"}),
        ("OpenMP dynamic", {"runtime": "openmp", "schedule": "dynamic", "chunk": 1, "placement": "all"}),
        ("OpenMP dynamic,2", {"runtime": "openmp", "schedule": "dynamic", "chunk": 2, "placement": "all"}),
        ("OpenMP guided", {"runtime": "openmp", "schedule": "guided", "placement": "all"}),
        ("tbb", {"runtime": "tbb", "schedule": "auto", "placement": "all"}),
        ("tautochrone", {"runtime": "tautochrone", "schedule": "adaptive", "placement": "all"}),
    ]
    if len(kinds) > 1:
        ways += [
            (f"OpenMP static {kind}", {"runtime": "openmp", "schedule": "static", "placement": kind})
            for kind in kinds
        ]
    points = [
        Point(name, size, {"study": "loop", "size": size, **way}) for size in LOOP_SIZES for name, way in ways
    ]
    chosen = {"study": "loop", "size": 3000, **ways[1][1], "repetitions": 2, "timeline": True}
    axis = Axis(field="x", title="order of the matrix", logarithmic=True)
    return Sweep(points, axis, _TIME, _seconds, chosen)


def _mapreduce(machine: Machine) -> Sweep:
    threads = sum(kind["cores"] * kind.get("hardware_threads_per_core", 1) for kind in machine["kind"])
    counts = sorted({1, *range(2, min(threads, 32) + 1), threads})
    points = [
        Point(
            runtime,
            count,
            {"study": "mapreduce", "tasks": 50, "bytes": 400_000, "threads": count, "runtime": name},
        )
        for runtime, name in (
            ("tbb", "tbb"),
            ("qt", "qt"),
            ("libgomp", "openmp"),
            ("tautochrone", "tautochrone"),
        )
        for count in counts
    ]
    chosen = {**points[-1].request, "runtime": "qt", "seconds": 0.01, "timeline": True}
    y = Axis(field="y", title="speed-up over one core")
    return Sweep(points, Axis(field="x", title="threads"), y, _speedup_of_tasks, chosen)


def _power(machine: Machine) -> Sweep:
    runs = {
        "one thread": requests.SERIAL,
        "two threads": requests.BALANCED,
        "physics and rendering": requests.UNBALANCED,
        "two programs": requests.placed(-1, -1),
        "two programs, pinned": requests.placed(0, 1),
    }
    if sum(kind["cores"] for kind in machine["kind"]) < 2:
        raise TautoError("study power needs two cores", "Choose another machine")
    points = [
        Point(name, until, requests.power(threads, until))
        for name, threads in runs.items()
        for until in (0, 50, 130)
    ]
    chosen = {
        **requests.power([{**one, "seconds": 2.0} for one in requests.UNBALANCED]),
        "timeline": True,
    }
    x = Axis(field="x", title="idle until, seconds (0: to the end of the work)")
    return Sweep(points, x, Axis(field="y", title="energy, joules"), _common_joules, chosen)


def _nbody(machine: Machine) -> Sweep:
    cores = sum(kind["cores"] for kind in machine["kind"])
    series = [
        (f"{engine}, {scheme}", engine, scheme)
        for engine in ("ompi-1.6", "mvapich2-1.9", "threads")
        for scheme in ("i", "j")
    ] + [("OpenMP loops, i", "openmp_loops", "i"), ("OpenMP region, i", "openmp_region", "i")]
    points = [
        Point(name, active, requests.block(active, scheme, engine, cores))
        for name, engine, scheme in series
        for active in requests.ACTIVE
    ]
    x = Axis(field="x", title="active particles of 2048", logarithmic=True)
    return Sweep(points, x, Axis(field="y", title="speed-up over one core"), _speedup_of_block)


def _collective(machine: Machine) -> Sweep:
    cores = sum(kind["cores"] for kind in machine["kind"])
    points = [
        Point(f"{library} {operation}", words, requests.collective(operation, library, words, cores))
        for library in ("ompi-1.6", "mvapich2-1.9", "threads")
        for operation in ("all_reduce", "all_gather")
        for words in requests.WORDS
    ]
    return Sweep(points, Axis(field="x", title="words", logarithmic=True), _TIME, _seconds)


STUDIES: Mapping[str, Callable[[Machine], Sweep]] = {
    "loop": _loop,
    "mapreduce": _mapreduce,
    "power": _power,
    "nbody": _nbody,
    "collective": _collective,
}


def representative(machine: Machine, study: str) -> list[Point]:
    """The runs that are looked at when the machine itself is swept: one or two of each series."""
    points = STUDIES[study](machine).points
    wanted = {"loop": {3000, 8000}, "power": {0}, "nbody": {16, 1024}, "collective": {64, 8192}}.get(study)
    if wanted is None:
        top = max(point.x for point in points)
        wanted = {int(top)}
    return [
        Point(f"{point.series}, {point.x:g}", point.x, point.request) for point in points if point.x in wanted
    ]
