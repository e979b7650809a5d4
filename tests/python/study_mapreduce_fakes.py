"""Processes for the map/reduce study that cost no time: they follow a model of handing tasks out."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from study_fakes import Laboratory, of_laboratory
from tautochrone.clock import VirtualClock
from tautochrone.configuration import Configuration
from tautochrone.executor import RunError, RunResult
from tautochrone.models import whole_tasks_seconds
from tautochrone.studies.mapreduce.request import MapReduceRequest
from tautochrone.studies.mapreduce.workloads import Workload

SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "serial": ("serial",),
    "qt": ("unordered", "ordered"),
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
RIGHT_SUM = "a" * 16


@dataclass
class ModelExecutor:
    """Seconds of a repetition from the law and the price of handing tasks out; answers like a runner.

    ``interrupt_at``: Ctrl-C instead of that run (probes do not count). ``errors``: text in a name → error
    kind.
    ``wrong``: text in a name → the sum it gives. ``seconds_per_byte`` is this machine's.
    """

    clock: VirtualClock
    interrupt_at: int | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    seconds_per_byte: float = SECONDS_PER_BYTE
    noise: float = 0.002  # of a run's time, at most
    others: float = 0.0  # share of the CPU time that other programs take, of two CPUs
    collapse: bool = False  # Qt gets slower with every thread from 11 on
    ran: list[str] = field(default_factory=list)
    probes: int = 0
    commands: list[Sequence[str]] = field(default_factory=list)
    on: set[str] = field(default_factory=set)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Answer; a run with --trace writes a file."""
        if configuration.settings.get("probe"):
            self.probes += 1
            return RunResult(1.0, 0.1, record={"task_seconds": self.seconds_per_byte * 100_000})
        if self.interrupt_at is not None and len(self.ran) == self.interrupt_at:
            raise KeyboardInterrupt
        command = list(configuration.command)
        traced = "--trace" in command
        if not traced:
            self.ran.append(configuration.name)
            self.commands.append(command)
        self.clock.advance(0.1)
        for text, kind in self.errors.items():
            if text in configuration.name:
                return RunResult(None, 0.1, error=RunError(kind, f"it was told to end with {kind}"))
        if traced:
            Path(command[-1]).write_text('{"traceEvents":[]}')
        answer = next((wrong for text, wrong in self.wrong.items() if text in configuration.name), RIGHT_SUM)
        record = self._record(configuration.settings) | {"check": {"passed": True, "sum": answer}}
        return RunResult(record["seconds"], 0.1, record=record, others_cpu_seconds=0.2 * self.others)

    def _record(self, settings: Mapping[str, Any]) -> dict[str, Any]:
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
            "schema": "tautochrone.runner/1",
            "library": settings["library"],
            "library_version": "1.0",
            "seconds": seconds,
            "task_seconds": alone,
            "useful_seconds": tasks * alone,
            "waiting_share": max(0.0, 1 - tasks * alone / (len(cpus) * seconds)),
            "cpu_load": 0.9,
            "voluntary_switches": spent * 1e6,
            "involuntary_switches": max(0, threads - len(cpus)),
            "workers": [{"thread": n, "cpu": cpu, "tasks": 1} for n, cpu in enumerate(cpus)],
        }


def laboratory(**changes: Any) -> Laboratory:
    """A laboratory on a virtual clock; `changes` go to it where it has such a field, else to the executor."""
    own = {"illustrations": True} | of_laboratory(changes)
    return Laboratory(ModelExecutor(VirtualClock(), **changes), "mapreduce", SCHEDULES, **own)


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
