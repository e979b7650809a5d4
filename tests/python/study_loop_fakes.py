"""Processes for the loop study that cost no time: they follow a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from study_fakes import FakeExecutor, laboratories
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.studies.loop.study import LoopRequest

SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "serial": ("serial",),
    "libgomp": ("pragma", "static", "static_chunk", "dynamic", "guided", "auto"),
    "libomp": ("pragma", "static", "static_chunk", "dynamic", "guided", "auto"),
    "tbb": ("auto", "simple", "static", "affinity"),
    "stdpar": ("par",),
    "openblas": ("sgemv",),
    "openmpi": ("static",),
    "mpich": ("static",),
    "tautochrone": ("static", "static_chunk", "dynamic", "guided", "weighted", "adaptive"),
}
FORK_SECONDS = 2e-6
DEQUEUE_SECONDS = 5e-8
SECONDS_AN_ELEMENT = 1e-10


@dataclass
class ModelExecutor(FakeExecutor):
    """Seconds of a run from the speeds of its CPUs. ``states``: of each run, the asked and the real one."""

    answer: ClassVar[str] = "solution_fnv1a"
    states: list[tuple[str, frozenset[str]]] = field(default_factory=list)

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        result = super().run(configuration, time_limit)
        self.states.append((configuration.group, frozenset(self.on)))
        return result

    def right(self, settings: dict[str, Any]) -> str:
        """OpenBLAS adds in an order of its own."""
        return ("b" if settings["runtime"] == "openblas" else "a") * 16

    def record(self, settings: dict[str, Any]) -> dict[str, Any]:
        cpus, size = settings["cpus"], settings["size"]
        return {
            "library": settings["library"],
            "library_version": "1.0",
            "seconds": model_seconds(settings) * (1 + self.noise * self.chance.random()),
            "bytes_per_iteration": 4 * size * size,
            "width": len(cpus),
            "dropped": False,
            "workers": [{"cpu": cpu, "rows": size} for cpu in cpus],
        }


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


laboratory = laboratories(ModelExecutor, "loop", SCHEDULES)


def request(folder: Path, **changes: Any) -> LoopRequest:
    """A small quick study."""
    asked: dict[str, Any] = {"output": folder, "quick": True, "sizes": (400, 2000), "report": False}
    return LoopRequest(**(asked | changes))
