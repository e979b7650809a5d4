"""Launches for the collective study that cost no time: curves with a latency, a bandwidth, and steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from study_fakes import FakeExecutor, laboratories
from tautochrone.studies.collective.study import CollectiveRequest

SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "openmpi": ("native", "member"),
    "mpich": ("native", "member"),
    "intelmpi": ("native", "member"),
    "tautochrone": ("member",),
}
Model = Callable[[str, int], float]


def smooth(operation: str, words: int) -> float:
    """A curve without a step: 0.45 µs and 14 GB/s."""
    return 4.5e-7 + words * 5.6e-10


def stepping(operation: str, words: int) -> float:
    """Open MPI as it is: up by 70 % from 512 words on, and a peak of all_reduce from 1000 to 2100 words."""
    seconds = 8e-7 + words * 1.1e-9
    if operation in ("all_reduce", "all_gather") and words >= 512:
        seconds *= 1.7
    if operation == "all_reduce" and 1000 <= words < 2100:
        seconds *= 1.9
    return seconds


def one_step(operation: str, words: int) -> float:
    """MPICH as it is: slower than the others, a step at 16 KiB."""
    return (1.1e-6 + words * 1.2e-9) * (1.5 if words >= 2048 else 1.0)


MODELS: Mapping[str, Model] = {
    "openmpi": stepping,
    "mpich": one_step,
    "intelmpi": smooth,
    "tautochrone": smooth,
}


@dataclass
class ModelExecutor(FakeExecutor):
    """Points of a launch from a model, with noise of the launch and of each point.

    ``faster``: variant → factor of its times. ``noise``: the standard deviation of a point's logarithm.
    """

    answer: ClassVar[str] = ""
    launch_seconds: ClassVar[float] = 0.5
    models: Mapping[str, Model] = field(default_factory=lambda: MODELS)
    faster: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.02

    def record(self, settings: dict[str, Any]) -> dict[str, Any]:
        library, ranks = settings["library"], settings["threads"]
        launch = math.exp(self.noise * self.chance.gauss(0, 1))
        points = []
        for operation in settings["operations"]:
            lengths = settings["lengths"]
            if operation in ("all_gather", "gather_broadcast"):
                lengths = sorted({-(-words // ranks) * ranks for words in lengths})
            for words in lengths:
                seconds = self.models[library](operation, words) * self.faster.get(settings["variant"], 1.0)
                if operation in ("reduce_broadcast", "gather_broadcast"):
                    seconds *= 1.3
                seconds *= launch * math.exp(self.noise * self.chance.gauss(0, 1))
                points.append({"operation": operation, "words": words, "seconds": seconds, "late": 1})
        logs = [math.log(point["seconds"]) for point in points]
        return {
            "runtime": settings["runtime"],
            "library": library,
            "library_version": "4.0",
            "seconds": math.exp(sum(logs) / len(logs)),
            "clock_seconds": 3e-8,
            "points": points,
            "workers": [{"thread": rank, "cpu": rank} for rank in range(ranks)],
            "check": {"passed": True, "wrong_repetitions": 0},
        }


laboratory = laboratories(ModelExecutor, "collective", SCHEDULES, absent=("intelmpi",))


def request(folder: Path, **changes: Any) -> CollectiveRequest:
    """A quick study without a report."""
    asked: dict[str, Any] = {"output": folder, "quick": True, "report": False}
    return CollectiveRequest(**(asked | changes))
