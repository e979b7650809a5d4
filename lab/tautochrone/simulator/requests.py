"""Each study's requests to the simulator and its charts' axes; the runs of the published studies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NotRequired, TypedDict

import msgspec

from tautochrone import text
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
    """A thread of the power study. ``pace``: the share of each frame in which it works.

    ``woken_by``: the thread that wakes it for each frame. ``irregular``: frames and work of any length, as
    of a program that waits for people.
    """

    name: str
    seconds: float
    pace: NotRequired[float]
    core: NotRequired[int]
    woken_by: NotRequired[str]
    irregular: NotRequired[bool]


class _Request(TypedDict):
    study: str
    timeline: NotRequired[bool]
    accounts: NotRequired[bool]


class LoopRequest(_Request, total=False):
    """A loop on a matrix of order ``size``; what is missing has the simulator's default."""

    size: int
    runtime: str
    library: str
    kernel: str
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
    {
        "name": "render",
        "seconds": 64.0 * RENDER_PACE * 0.9,
        "pace": RENDER_PACE,
        "woken_by": "physics",
    },
]


SECOND_THREAD = 0.2
"""Of an office program's work."""


def placed(first: int, second: int, beside: float = SECOND_THREAD) -> list[ThreadRequest]:
    """Two office programs that are busy for a part of the time. Core -1: the system chooses.

    ``beside``: the part of its work that each does in a second thread.
    """
    return [*_office("program 1", 0.35, first, beside), *_office("program 2", 0.25, second, beside)]


def _office(name: str, pace: float, core: int, beside: float) -> list[ThreadRequest]:
    parts = {name: 1 - beside, f"{name}, second thread": beside}
    return [
        {"name": thread, "seconds": 60 * pace * part, "pace": pace * part, "core": core, "irregular": True}
        for thread, part in parts.items()
        if part > 0
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

    `less`: a smaller value is better. `at` says the last place on the axis in words, `told` a value.
    `compared`: the series that do the same work, of which one may be called the best; None: all.
    `shown`: of which run the timeline is.
    """

    points: Sequence[Point]
    x: Axis
    y: Axis
    value: Callable[[Row], float]
    timeline: Request | None = None
    less: bool = True
    at: str = "at {x:g}"
    told: Callable[[float], str] = text.seconds
    compared: tuple[str, ...] | None = None
    shown: str = ""


_TIME = Axis(field="y", title="time", logarithmic=True, seconds=True)
_SPEED_UP = Axis(field="y", title="speed-up over one core")


def _times_one_core(value: float) -> str:
    return f"{value:.3g} times one core"


def _seconds(row: Row) -> float:
    return float(row["seconds"])


def _speed_up_of_tasks(row: Row) -> float:
    return float(row["alone_seconds"]) / float(row["seconds"])


def _speed_up_of_block(row: Row) -> float:
    return float(row["serial_seconds"]) / float(row["seconds"])


def _time_by_bound(row: Row) -> float:
    return float(row["seconds"]) / float(row["bound_seconds"])


TUNED, PUBLISHED = "tuned", "published"
KERNELS = (TUNED, PUBLISHED)


def usual_kernel(machine: Machine) -> str:
    """The published one, where the machine file says how fast it is."""
    return PUBLISHED if all(kind.chain_cycles_per_byte > 0 for kind in machine.kind) else TUNED


def with_kernel(points: Sequence[Point], kernel: str) -> list[Point]:
    """The same runs of the loop with that kernel."""
    changed: list[Point] = []
    for point in points:
        request: Request = {**point.request, "kernel": kernel}  # type: ignore[assignment]
        changed.append(msgspec.structs.replace(point, request=request))
    return changed


def _loop(machine: Machine) -> Sweep:
    kernel = usual_kernel(machine)

    def request(size: int, runtime: str, schedule: str, chunk: int | None, placement: str) -> LoopRequest:
        asked: LoopRequest = {"study": "loop", "size": size, "runtime": runtime, "schedule": schedule}
        asked["kernel"] = kernel
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
        for placement in ("fast", "fast-cores", "slow"):
            ways[f"OpenMP static, {placement}"] = ("openmp", "static", None, placement)
    points = [
        Point(name, size, request(size, *settings)) for size in LOOP_SIZES for name, settings in ways.items()
    ]
    shown: LoopRequest = {**request(3000, *ways["OpenMP static"]), "repetitions": 2, "timeline": True}
    x = Axis(field="x", title="order of the matrix", logarithmic=True)
    rows = "with a matrix of {x:g} rows"
    return Sweep(points, x, _TIME, _seconds, shown, at=rows, shown="OpenMP static, 3000 rows")


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
    return Sweep(
        points,
        Axis(field="x", title="threads"),
        _SPEED_UP,
        _speed_up_of_tasks,
        shown,
        less=False,
        at="with {x:g} threads",
        told=_times_one_core,
        shown=f"QtConcurrent, {threads} threads",
    )


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
    return Sweep(
        points,
        x,
        y,
        lambda row: float(row["energy"]["common_joules"]),
        shown,
        at="until second {x:g}, idle time included",
        told=lambda value: text.quantity(value, "J"),
        compared=("one thread", "two threads"),
        shown="physics and rendering",
    )


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
    moving = "where {x:g} of 2048 particles move"
    return Sweep(points, x, _SPEED_UP, _speed_up_of_block, less=False, at=moving, told=_times_one_core)


def _collective(machine: Machine) -> Sweep:
    points = [
        Point(f"{library} {operation}", words, collective(operation, library, words, machine.cores))
        for library in ("ompi-1.6", "mvapich2-1.9", "threads")
        for operation in ("all_reduce", "all_gather")
        for words in WORDS
    ]
    x = Axis(field="x", title="words", logarithmic=True)
    reducing = tuple({point.series: None for point in points if point.series.endswith("all_reduce")})
    return Sweep(points, x, _TIME, _seconds, at="for {x:g} words", compared=reducing)


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
    return Sweep(
        points,
        x,
        y,
        _time_by_bound,
        shown,
        at="with regions of {seconds}",
        told=lambda value: f"{value:.3g} times the bound",
        shown="tauto balance, regions of 50 ms",
    )


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
