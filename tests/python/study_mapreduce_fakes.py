"""Processes for the map/reduce study that cost no time: they follow a model of handing tasks out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from study_fakes import FakeExecutor, laboratories
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.studies.mapreduce.configurations import Workload
from tautochrone.studies.mapreduce.study import MapReduceRequest
from tautochrone.studies.models import whole_tasks_seconds

SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "serial": ("serial",),
    "qt": ("unordered", "ordered", "unpinned"),
    "tbb": ("auto", "simple", "static", "deterministic"),
    "libgomp": ("dynamic", "static", "guided", "tasks"),
    "libomp": ("dynamic", "static", "guided", "tasks"),
    "stdpar": ("par",),
    "async": ("async",),
    "tautochrone": ("adaptive", "static", "dynamic", "guided", "unordered"),
}
HANDING_SECONDS: dict[str, float] = {
    "qt": 4e-6,
    "tbb": 3e-7,
    "libgomp": 1e-7,
    "libomp": 1e-7,
    "stdpar": 3e-7,
    "async": 1e-7,
    "tautochrone": 5e-8,
}
START_SECONDS: dict[str, float] = {"qt": 2e-5, "async": 6e-5, "tautochrone": 1e-6}
OTHERS_START_SECONDS = 3e-6
SECONDS_PER_BYTE = 1.02e-9


@dataclass
class ModelExecutor(FakeExecutor):
    """Seconds of a repetition from the law and the price of handing tasks out.

    ``seconds_per_byte`` is this machine's. ``collapse``: Qt gets slower with every thread from 11 on.
    """

    answer: ClassVar[str] = "sum"
    seconds_per_byte: float = SECONDS_PER_BYTE
    collapse: bool = False
    sleeps: list[dict[str, Any]] = field(default_factory=list)
    waits: dict[str, float] = field(default_factory=dict)  # the share by library; else the model's
    stretch: float = 1.0  # of a task beside others
    hertz: dict[str, float] = field(default_factory=dict)  # by library, of the clock; else it is not counted

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Answer; a run with --trace writes a file, and is none that is measured."""
        result = super().run(configuration, time_limit)
        if "--trace" in configuration.command:
            self.configurations.pop()
            if result.error is None:
                Path(configuration.command[-1]).write_text('{"traceEvents":[]}')
            result = msgspec.structs.replace(result, record={**result.record, "sleeps": self.sleeps})
        hertz = self.hertz.get(str(configuration.settings.get("library")))
        if hertz is not None:
            counters = {"cycles": round(0.5 * hertz), "scope": "user and kernel"}
            result = msgspec.structs.replace(
                result, counters=counters, user_seconds=0.375, system_seconds=0.125
            )
        return result

    def probed(self, settings: dict[str, Any]) -> dict[str, Any]:
        return {"task_seconds": self.seconds_per_byte * 100_000}

    def record(self, settings: dict[str, Any]) -> dict[str, Any]:
        tasks, cpus, threads = settings["tasks"], settings["cpus"], settings["threads"]
        slowed = {int(cpu): factor for cpu, factor in settings["emulated"].items()}
        alone = settings["bytes"] * self.seconds_per_byte
        ideal = whole_tasks_seconds(tasks, [alone * slowed.get(cpu, 1.0) for cpu in cpus])
        spent = 0.0
        if settings["runtime"] != "serial":
            library = settings["library"]
            handing = HANDING_SECONDS[library] * (1 + (self.collapse and library == "qt") * threads**2)
            spent = START_SECONDS.get(library, OTHERS_START_SECONDS) + handing * tasks / len(cpus)
        seconds = (ideal + spent) * (1 + self.noise * self.chance.random())
        return {
            "library": settings["library"],
            "library_version": "1.0",
            "seconds": seconds,
            "task_seconds": alone,
            "useful_seconds": tasks * alone * (self.stretch if settings["runtime"] != "serial" else 1.0),
            "waiting_share": (
                waiting := self.waits.get(
                    settings["library"], max(0.0, 1 - tasks * alone / (len(cpus) * seconds))
                )
            ),
            "starting_share": 0.25 * waiting,
            "between_share": 0.125 * waiting,
            "unfed_share": 0.125 * waiting,
            "ending_share": 0.25 * waiting,
            "returning_share": 0.25 * waiting,
            "cpu_load": 0.9,
            "voluntary_switches": spent * 1e6,
            "involuntary_switches": max(0, threads - len(cpus)),
            "workers": [{"thread": n, "cpu": cpu, "tasks": 1} for n, cpu in enumerate(cpus)],
        }


laboratory = laboratories(ModelExecutor, "mapreduce", SCHEDULES, illustrations=True)


def request(folder: Path, **changes: Any) -> MapReduceRequest:
    """A small quick study in as few rounds as can be: 50 tasks of 1 µs, 100 µs and 400 kB."""
    works = (Workload(50, seconds=1e-6), Workload(50, seconds=1e-4), Workload(50, bytes=400_000))
    asked: dict[str, Any] = {
        "output": folder,
        "quick": True,
        "workloads": works,
        "report": False,
        "rounds": 8,
    }
    return MapReduceRequest(**(asked | changes))
