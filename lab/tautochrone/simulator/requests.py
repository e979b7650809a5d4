"""Each study's requests to the simulator and its charts' axes; the runs of the published studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NotRequired, TypedDict

import msgspec

from tautochrone.errors import TautoError
from tautochrone.simulator.engine import Row
from tautochrone.simulator.findings import Axis
from tautochrone.simulator.machines import Machine

RANKS = 16
PARTICLES = 2048
MPI = "ompi-1.6"
ACTIVE = (1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 200, 256, 400, 512, 1024, 2048)
WORDS = tuple(
    sorted(
        {2**k for k in range(17)} | {96, 192, 384, 513, 768, 1249, 1250, 1536, 3072, 6144, 8191, 8193, 12288}
    )
)
REGIONS_SECONDS = (0.3e-3, 1e-3, 3e-3, 0.01, 0.03, 0.05, 0.1)
NOISY_CORES = 2  # where all cores are equal: others take half of these
LOOP_SIZES = (500, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 12000, 16000)
# One thread does the physics. The rendering thread works "10 to 20 %" of that time, as the study says of
# unequal threads.
RENDER_PACE = 0.15


class ThreadRequest(TypedDict):
    """A thread of the power study. ``pace``: the share of each frame in which it works."""

    name: str
    seconds: float
    pace: NotRequired[float]
    core: NotRequired[int]


class _Request(TypedDict):
    study: str
    timeline: NotRequired[bool]
    accounts: NotRequired[bool]


class LoopRequest(_Request, total=False):
    """A loop on a matrix of order ``size``; what is missing has the simulator's default."""

    size: int
    runtime: str
    library: str
    schedule: str
    chunk: int
    placement: str
    wait: str
    repetitions: int


class MapReduceRequest(_Request, total=False):
    """Map and reduce of short tasks, repeated for ``seconds`` of virtual time."""

    tasks: int
    bytes: float
    threads: int
    runtime: str
    schedule: str
    seconds: float


class PowerRequest(_Request, total=False):
    """Threads, and idle cores until ``until_seconds`` where the threads end before."""

    threads: list[ThreadRequest]
    until_seconds: float


class NbodyRequest(_Request, total=False):
    """One block timestep."""

    particles: int
    active: int
    ranks: int
    scheme: str
    engine: str


class CollectiveRequest(_Request, total=False):
    """One collective operation of ``words`` words."""

    operation: str
    library: str
    words: int
    ranks: int


class BalanceRequest(_Request, total=False):
    """Regions of a program whose threads all have ``region_seconds`` of work on the fastest core."""

    region_seconds: float
    threads: int
    placement: str
    policy: str
    noisy_cores: int
    regions: int
    look_seconds: float
    pull_seconds: float
    move_seconds: float


Request = LoopRequest | MapReduceRequest | PowerRequest | NbodyRequest | CollectiveRequest | BalanceRequest

SERIAL: list[ThreadRequest] = [{"name": "encrypt", "seconds": 50.0}]
BALANCED: list[ThreadRequest] = [
    {"name": "encrypt 1", "seconds": 25.0},
    {"name": "encrypt 2", "seconds": 25.0},
]
UNBALANCED: list[ThreadRequest] = [
    {"name": "physics", "seconds": 64.0},
    {"name": "render", "seconds": 64.0 * RENDER_PACE * 0.9, "pace": RENDER_PACE},
]


def placed(first: int, second: int) -> list[ThreadRequest]:
    """Two office programs that are busy for a part of the time. Core -1: the system chooses."""
    return [
        {"name": "program 1", "seconds": 20.0, "pace": 0.35, "core": first},
        {"name": "program 2", "seconds": 15.0, "pace": 0.25, "core": second},
    ]


def power(threads: list[ThreadRequest], until_seconds: float = 0.0) -> PowerRequest:
    return {"study": "power", "threads": threads, "until_seconds": until_seconds}


def block(active: int, scheme: str, engine: str = MPI, ranks: int = RANKS) -> NbodyRequest:
    return {
        "study": "nbody",
        "particles": PARTICLES,
        "active": active,
        "ranks": ranks,
        "scheme": scheme,
        "engine": engine,
    }


def collective(operation: str, library: str, words: int, ranks: int = RANKS) -> CollectiveRequest:
    return {"study": "collective", "operation": operation, "library": library, "words": words, "ranks": ranks}


class Point(msgspec.Struct, frozen=True):
    """One run: its request, its series in the chart, and its place on the x axis."""

    series: str
    x: float
    request: Request


class Sweep(msgspec.Struct, frozen=True):
    """A study: its runs, its axes, the value to draw, and the run whose timeline is drawn.

    `less`: a smaller value is better.
    """

    points: Sequence[Point]
    x: Axis
    y: Axis
    value: Callable[[Row], float]
    timeline: Request | None = None
    less: bool = True


_TIME = Axis(field="y", title="time", logarithmic=True, seconds=True)
_SPEED_UP = Axis(field="y", title="speed-up over one core")


def _seconds(row: Row) -> float:
    return float(row["seconds"])


def _speed_up_of_tasks(row: Row) -> float:
    return float(row["alone_seconds"]) / float(row["seconds"])


def _speed_up_of_block(row: Row) -> float:
    return float(row["serial_seconds"]) / float(row["seconds"])


def _time_by_bound(row: Row) -> float:
    return float(row["seconds"]) / float(row["bound_seconds"])


def _loop(machine: Machine) -> Sweep:
    def request(size: int, runtime: str, schedule: str, chunk: int | None, placement: str) -> LoopRequest:
        asked: LoopRequest = {"study": "loop", "size": size, "runtime": runtime, "schedule": schedule}
        if chunk is not None:
            asked["chunk"] = chunk
        asked["placement"] = placement
        return asked

    ways: dict[str, tuple[str, str, int | None, str]] = {
        "serial": ("serial", "static", None, "all"),
        "OpenMP static": ("openmp", "static", None, "all"),
        "OpenMP dynamic": ("openmp", "dynamic", 1, "all"),
        "OpenMP dynamic,2": ("openmp", "dynamic", 2, "all"),
        "OpenMP guided": ("openmp", "guided", None, "all"),
        "tbb": ("tbb", "auto", None, "all"),
        "tautochrone": ("tautochrone", "adaptive", None, "all"),
    }
    if len(machine.kind) > 1:
        for kind in machine.kind:
            ways[f"OpenMP static {kind.kind}"] = ("openmp", "static", None, kind.kind)
    points = [
        Point(name, size, request(size, *settings)) for size in LOOP_SIZES for name, settings in ways.items()
    ]
    shown: LoopRequest = {**request(3000, *ways["OpenMP static"]), "repetitions": 2, "timeline": True}
    return Sweep(
        points, Axis(field="x", title="order of the matrix", logarithmic=True), _TIME, _seconds, shown
    )


def _mapreduce(machine: Machine) -> Sweep:
    threads = machine.hardware_threads

    def request(name: str, count: int) -> MapReduceRequest:
        runtime = "openmp" if name == "libgomp" else name
        return {"study": "mapreduce", "tasks": 50, "bytes": 400_000, "threads": count, "runtime": runtime}

    points = [
        Point(name, count, request(name, count))
        for name in ("tbb", "qt", "libgomp", "tautochrone")
        for count in sorted({1, *range(2, min(threads, 32) + 1), threads})
    ]
    shown: MapReduceRequest = {**request("qt", threads), "seconds": 0.01, "timeline": True}
    return Sweep(points, Axis(field="x", title="threads"), _SPEED_UP, _speed_up_of_tasks, shown, less=False)


def _power(machine: Machine) -> Sweep:
    if machine.cores < 2:
        raise TautoError("study power needs two cores", "Choose another machine")
    runs = {
        "one thread": SERIAL,
        "two threads": BALANCED,
        "physics and rendering": UNBALANCED,
        "two programs": placed(-1, -1),
        "two programs, pinned": placed(0, 1),
    }
    points = [
        Point(name, until, power(threads, until)) for name, threads in runs.items() for until in (0, 50, 130)
    ]
    shown: PowerRequest = {**power([{**thread, "seconds": 2.0} for thread in UNBALANCED]), "timeline": True}
    x = Axis(field="x", title="idle until, seconds (0: to the end of the work)")
    y = Axis(field="y", title="energy, joules")
    return Sweep(points, x, y, lambda row: float(row["energy"]["common_joules"]), shown)


def _nbody(machine: Machine) -> Sweep:
    series = {
        f"{engine}, {scheme}": (scheme, engine)
        for engine in ("ompi-1.6", "mvapich2-1.9", "threads")
        for scheme in ("i", "j")
    }
    series |= {"OpenMP loops, i": ("i", "openmp_loops"), "OpenMP region, i": ("i", "openmp_region")}
    points = [
        Point(name, active, block(active, scheme, engine, machine.cores))
        for name, (scheme, engine) in series.items()
        for active in ACTIVE
    ]
    x = Axis(field="x", title="active particles of 2048", logarithmic=True)
    return Sweep(points, x, _SPEED_UP, _speed_up_of_block, less=False)


def _collective(machine: Machine) -> Sweep:
    points = [
        Point(f"{library} {operation}", words, collective(operation, library, words, machine.cores))
        for library in ("ompi-1.6", "mvapich2-1.9", "threads")
        for operation in ("all_reduce", "all_gather")
        for words in WORDS
    ]
    return Sweep(points, Axis(field="x", title="words", logarithmic=True), _TIME, _seconds)


def _balance(machine: Machine) -> Sweep:
    noisy = NOISY_CORES if len(machine.kind) == 1 and machine.cores > NOISY_CORES else 0

    def request(seconds: float, policy: str) -> BalanceRequest:
        return {"study": "balance", "region_seconds": seconds, "policy": policy, "noisy_cores": noisy}

    policies = {"pinned": "pinned", "Linux alone": "linux", "tauto balance": "balanced"}
    points = [
        Point(name, seconds, request(seconds, policy))
        for name, policy in policies.items()
        for seconds in REGIONS_SECONDS
    ]
    shown: BalanceRequest = {**request(0.05, "balanced"), "regions": 2, "timeline": True}
    x = Axis(field="x", title="region length", logarithmic=True, seconds=True)
    y = Axis(field="y", title="time over the bound")
    return Sweep(points, x, y, _time_by_bound, shown)


STUDIES: Mapping[str, Callable[[Machine], Sweep]] = {
    "loop": _loop,
    "mapreduce": _mapreduce,
    "power": _power,
    "nbody": _nbody,
    "collective": _collective,
    "balance": _balance,
}


def representative(machine: Machine, study: str) -> list[Point]:
    """The runs to repeat while a key of the machine is swept: one or two of each series."""
    points = STUDIES[study](machine).points
    most_threads = max(point.x for point in points)
    chosen = {
        "loop": (3000, 8000),
        "power": (0,),
        "nbody": (16, 1024),
        "collective": (64, 8192),
        "balance": (0.01,),
    }
    return [
        Point(f"{point.series}, {point.x:g}", point.x, point.request)
        for point in points
        if point.x in chosen.get(study, (most_threads,))
    ]
