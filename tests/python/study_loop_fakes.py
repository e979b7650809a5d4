"""Processes for the loop study that cost no time: they follow a model."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from study_fakes import Laboratory, of_laboratory
from tautochrone.clock import VirtualClock
from tautochrone.configuration import Configuration
from tautochrone.executor import RunError, RunResult
from tautochrone.studies.loop.request import LoopRequest

SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "serial": ("serial",),
    "libgomp": ("pragma", "static", "static_chunk", "dynamic", "guided", "auto"),
    "libomp": ("pragma", "static", "static_chunk", "dynamic", "guided", "auto"),
    "tbb": ("auto", "simple", "static", "affinity"),
    "stdpar": ("par",),
    "openblas": ("sgemv",),
    "tautochrone": ("static", "static_chunk", "dynamic", "guided", "weighted", "adaptive"),
}
FORK_SECONDS = 2e-6
DEQUEUE_SECONDS = 5e-8
SECONDS_AN_ELEMENT = 1e-10


@dataclass
class ModelExecutor:
    """Seconds of a run from the speeds of its CPUs; answers like a runner.

    ``interrupt_at``: Ctrl-C instead of that run (counted from 0). ``errors``: text in a name → error kind.
    ``wrong``: text in a name → the answer it gives.
    """

    clock: VirtualClock
    interrupt_at: int | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    on: set[str] = field(default_factory=set)  # what the fake slowdowns have switched on
    states: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Note what runs in which state, and answer."""
        if self.interrupt_at is not None and len(self.ran) == self.interrupt_at:
            raise KeyboardInterrupt
        self.ran.append(configuration.name)
        self.states.append((configuration.group, frozenset(self.on)))
        self.clock.advance(0.1)
        for text, kind in self.errors.items():
            if text in configuration.name:
                return RunResult(None, 0.1, error=RunError(kind, f"it was told to end with {kind}"))
        settings = configuration.settings
        seconds = model_seconds(settings) * (1 + 0.002 * self.chance.random())
        cpus = settings["cpus"]
        assert isinstance(cpus, list)
        answer = next((wrong for text, wrong in self.wrong.items() if text in configuration.name), "a" * 16)
        if settings["runtime"] == "openblas":
            answer = "b" * 16
        size = settings["size"]
        assert isinstance(size, int)
        record = {
            "schema": "tautochrone.runner/1",
            "library": settings["library"],
            "library_version": "1.0",
            "seconds": seconds,
            "bytes_per_iteration": 4 * size * size,
            "width": len(cpus),
            "dropped": False,
            "workers": [{"cpu": cpu, "rows": size} for cpu in cpus],
            "check": {"passed": True, "solution_fnv1a": answer},
        }
        return RunResult(seconds, 0.1, record=record, counters_reason="no counters in a model")


def model_seconds(settings: Mapping[str, Any]) -> float:
    """Time of one iteration: work by speeds, a fork, and a price for each chunk."""
    slowed = {int(cpu): factor for cpu, factor in settings["emulated"].items()}
    speeds: list[float] = [1 / slowed.get(cpu, 1.0) for cpu in settings["cpus"]]
    work = SECONDS_AN_ELEMENT * float(settings["size"]) ** 2
    if settings["runtime"] == "serial":
        return work / speeds[0]
    fork = FORK_SECONDS if len(speeds) > 1 else 0.0
    if settings["schedule"] == "adaptive":
        return 0.999 * min(work / sum(speeds) + fork, work / max(speeds))
    if settings["schedule"] in ("dynamic", "guided", "weighted", "simple", "auto"):
        chunks = float(settings["size"]) / (settings["chunk"] or 64)
        return work / sum(speeds) * 1.02 + fork + DEQUEUE_SECONDS * chunks / len(speeds)
    return work / len(speeds) / min(speeds) + fork


def laboratory(**changes: Any) -> Laboratory:
    """A laboratory on a virtual clock; `changes` go to it where it has such a field, else to the executor."""
    own = of_laboratory(changes)
    return Laboratory(ModelExecutor(VirtualClock(), **changes), "loop", SCHEDULES, **own)


def request(folder: Path, **changes: Any) -> LoopRequest:
    """A small quick study."""
    asked: dict[str, Any] = {"output": folder, "quick": True, "sizes": (400, 2000), "report": False}
    return LoopRequest(**(asked | changes))
