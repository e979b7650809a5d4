"""Made-up simulators: for each claim one whose rows bear it out, and changed ones whose rows do not.

A world answers a request as the simulator does, from a few figures. What is changed is named in the words
that say what makes the claim false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tautochrone.simulator.machines import Machine

Request = Mapping[str, Any]
World = Callable[[Machine, Request], dict[str, Any]]


@dataclass(frozen=True)
class Worlds:
    """One in which a claim holds, and by what is wrong in them the others."""

    holds: World
    false: Mapping[str, World]


def both(holds: Callable[..., World], **false: Mapping[str, Any]) -> Worlds:
    """Worlds of one maker: as it is, and with each of these changes."""
    return Worlds(holds(), {name: holds(**changes) for name, changes in false.items()})


# -- H: loops. Times are multiples of the fast cores' alone; the slow cores take twice as long --

FAST, SLOW, STATIC, BOUND = 1.0, 2.0, 1.4, 2 / 3
CPUS = {"all": range(32), "fast": range(16), "fast-cores": range(0, 16, 2), "slow": range(16, 32)}


@dataclass(frozen=True)
class Loops:
    """``of``: way → its time at a size; else as the claims say it was."""

    of: Mapping[str, Callable[[int], float]] = field(default_factory=dict)
    cpus: Mapping[str, Any] = field(default_factory=dict)
    misses: Callable[[int, str], float] | None = None
    says: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, machine: Machine, request: Request) -> dict[str, Any]:
        size, placement = request["size"], request["placement"]
        chunk = f",{request['chunk']}" if request["schedule"] == "dynamic" and request["chunk"] > 1 else ""
        way = f"{request['schedule']}{chunk} {placement}"
        cpus = list(self.cpus.get(placement, CPUS[placement]))
        seconds = self.of[way](size) if way in self.of else published_time(way, size)
        misses = (self.misses or published_misses)(size, placement)
        return {
            "seconds": seconds * size * size * 1e-9,
            "cpus": cpus,
            "threads": len(CPUS[placement]),
            "cores": {"P": 8, "E": 16},
            "memory_bytes": 1e6,
            "miss_ratio": misses,
            **self.says,
        }


def published_time(way: str, size: int) -> float:
    """As the study has it."""
    if way.endswith("fast"):
        return 0.97 if way.startswith("dynamic") else FAST
    if way == "static fast-cores":
        return 1.9
    if way == "static slow":
        return SLOW
    if size >= 8000:
        return {"static all": 1.14, "dynamic,2 all": 0.97}.get(way, 1.0)
    if way in ("static all", "guided all"):
        return STATIC if way == "static all" else 1.2
    if size <= 2000:
        return 1.2 if way == "dynamic all" else 1.1
    if way == "dynamic all":
        return 1.06 * BOUND
    return BOUND * (0.98 if size == 4000 else 1.0)


def published_misses(size: int, placement: str) -> float:
    more = 3000 <= size <= 5000
    return 0.5 if placement != "fast" else 0.6 if more else 0.4


def same(value: float) -> Callable[[int], float]:
    return lambda size: value


def equal_shares(machine: Machine, request: Request, lose: bool = True) -> dict[str, Any]:
    """Each thread has an equal part of the rows of its placement, and the slowest one decides."""
    fast, slow = machine.kind
    of_fast = [fast.turbo_hertz[-1] / fast.chain_cycles_per_byte] * (
        fast.cores * fast.hardware_threads_per_core
    )
    of_slow = [slow.turbo_hertz[-1] / slow.chain_cycles_per_byte] * slow.cores
    speeds = {"all": of_fast + of_slow, "fast": of_fast, "slow": of_slow}[request["placement"]]
    slowest = min(speeds) if lose else max(speeds)
    return {"seconds": 1e12 / len(speeds) / slowest, "threads": len(speeds)}


# -- M: short tasks. Speed-ups by threads --


@dataclass(frozen=True)
class Tasks:
    """Speed-ups on 1 to 32 threads, waiting shares and clocks, by (runtime, bytes)."""

    speedups: Mapping[tuple[str, int], Callable[[int], float]] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    hertz: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, machine: Machine, request: Request) -> dict[str, Any]:
        runtime, size, threads = request["runtime"], int(request["bytes"]), request["threads"]
        speed = self.speedups.get((runtime, size), lambda count: published_speed_up(runtime, size, count))
        return {
            "seconds": 1 / speed(threads),
            "alone_seconds": 1.0,
            "waiting_share": self.waits.get(runtime, {"qt": 0.6, "tbb": 0.3}.get(runtime, 0.1)),
            "mean_hertz": self.hertz.get(runtime, 2e9 if runtime == "qt" else 4e9),
        }


def law(threads: int) -> float:
    return 50 / -(-50 // threads)


def published_speed_up(runtime: str, size: int, threads: int) -> float:
    if runtime == "qt" and size == 400_000:
        return min(threads, 22 - threads) * 0.6 if threads < 20 else 1.0
    if runtime == "qt" and size == 1_000_000:
        return 0.4 * threads
    return law(threads) * (0.97 if threads <= 16 else 0.92)


# -- P: the power of threads. Seconds and joules by the work and the policy --


@dataclass(frozen=True)
class Power:
    """``serial`` to ``grown``: seconds of the runs; ``joules``: by the same names."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    joules: Mapping[str, float] = field(default_factory=dict)
    meetings: float = 1.2

    def __call__(self, machine: Machine, request: Request) -> dict[str, Any]:
        if request["study"] == "mapreduce":
            return {"seconds": self.meetings * 1e-6 if request["bytes"] == 1000 else 1e-3}
        threads = request["threads"]
        run = self._run(machine, threads)
        usual = sum(one["seconds"] for one in threads) if run == "other" else USUAL_SECONDS.get(run, 0.0)
        if run == "other" and len(threads) > 1:
            usual = max(one["seconds"] for one in threads)
        common = self.joules.get(run, USUAL_MWH.get(run, 100.0)) * 3.6
        calibrated = (machine.power.uncore_active_watts - 23.0) * USUAL_SECONDS.get(run, 0.0)
        return {
            "seconds": self.seconds.get(run, usual),
            "thread_seconds": [usual],
            "migrations": 500 if run == "adaptive" else 0,
            "energy": {
                "joules": common,
                "common_joules": common + calibrated,
                "platform_common_joules": 2 * common + calibrated,
            },
        }

    def _run(self, machine: Machine, threads: list[dict[str, Any]]) -> str:
        names = [one["name"] for one in threads]
        if names == ["encrypt"]:
            return "serial"
        if names == ["encrypt 1", "encrypt 2"]:
            return "shared"
        if "render" in names:
            if "woken_by" not in threads[-1]:
                return "unmoved"
            policy = machine.governor
            return (
                "maximum"
                if policy.policy == "maximum"
                else ("adaptive" if policy.scope == "core" else "package")
            )
        if "program 1" in names:
            cores = threads[0]["core"], threads[-1]["core"]
            run = {(-1, -1): "free", (0, 1): "pinned", (0, -1): "one pinned"}[cores]
            return run if len(threads) == 4 or run != "pinned" else "pinned, one thread"
        return "other"


USUAL_SECONDS = {
    "serial": 50.0,
    "shared": 25.0,
    "maximum": 64.0,
    "adaptive": 120.0,
    "package": 64.5,
    "unmoved": 65.0,
    "free": 60.0,
    "pinned": 60.1,
    "pinned, one thread": 60.0,
    "one pinned": 60.2,
}
USUAL_MWH = {
    "serial": 160.0,  # at 23 W beside the cores; the calibration takes 10 mWh away
    "shared": 115.0,  # and half of that here
    "maximum": 200.0,
    "adaptive": 250.0,
    "package": 201.0,
    "free": 100.0,
    "pinned": 101.0,
    "pinned, one thread": 100.0,
}


# -- N: blocks and collectives --


@dataclass(frozen=True)
class Blocks:
    """Seconds of a block of 2048 particles by engine and scheme, and of a collective by its bandwidth."""

    engines: Mapping[str, float] = field(default_factory=dict)  # speed-up with many active
    fork: float = 30.0
    crossing: float = 100.0
    latency: float = 0.02  # of the exchange
    exchange: float = 0.4  # of the block
    by_both: tuple[float, float] = (0.95, 0.5)  # time over shared and over own buses
    received: float = 0.5
    peaks: tuple[int, ...] = (1024, 8192)
    short: float = 1.4  # MVAPICH2's 512 words by 1024

    def __call__(self, machine: Machine, request: Request) -> dict[str, Any]:
        if request["study"] == "collective":
            return self._collective(machine, request)
        engine, active, scheme = request["engine"], request["active"], request["scheme"]
        usual = {"ompi-1.6": 8.2, "threads": 11.0, "openmp_loops": 10.0, "openmp_region": 10.5}
        seconds = active / {**usual, **self.engines}.get(engine, 8.0)
        if scheme == "j":
            seconds *= active / self.crossing
        scaled = self.exchange * (
            self.latency * machine.mpi.message_latency_seconds / LATENCY
            + (1 - self.latency) * COPIES / machine.memory.copy_bytes_per_second
        )
        return {
            "seconds": seconds,
            "serial_seconds": float(active),
            "fork_join_seconds": seconds * min(0.9, self.fork / (self.fork + active)),
            "exchange_seconds": seconds * scaled,
        }

    def _collective(self, machine: Machine, request: Request) -> dict[str, Any]:
        words, ranks, library = request["words"], request["ranks"], request["library"]
        if ranks == 4:
            shared = machine.memory.copy_bytes_per_second < COPIES / 2
            return {"seconds": self.by_both[0 if shared else 1] / 2, "bytes_moved": self.received / 2 * 4}
        if request["operation"] == "all_gather":
            return {"seconds": 1.0, "bytes_moved": 16.0}
        if library == "mvapich2-1.9":
            return {"seconds": self.short if words == 512 else 1.0, "bytes_moved": 1.0}
        return {"seconds": 1e-6 * (10 + words / 100) * (3 if words in self.peaks else 1), "bytes_moved": 1.0}


LATENCY, COPIES = 0.35e-6, 70e9
