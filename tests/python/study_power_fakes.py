"""Processes for the power study that cost no time: they follow a model of threads that work and wait."""

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
from tautochrone.studies.power.request import PowerRequest

SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "encryption": ("serial", "blocks", "files"),
    "compression": ("serial", "workers"),
    "physics": ("serial", "domain", "functional"),
    "together": ("free", "pinned", "one_pinned", "nice", "same", "same_nice", "weight", "same_weight"),
}
JOB_SECONDS = {"encryption": 0.02, "compression": 0.1}
COLLIDE_SECONDS, DRAW_SECONDS, MOVE_SECONDS = 0.008, 0.02, 0.001
TOGETHER_SECONDS = 0.25
EXTRA = 0.01  # of the work, that sharing adds
METERLESS = {"status": "unavailable", "joules": None, "reason": "a virtual machine", "remedy": "use the host"}
IDLE_WATTS, BUSY_WATTS = 5.0, 10.0  # of the machine, and of each busy CPU beside


@dataclass
class ModelExecutor:
    """Answers like the runners. ``errors``: text in a name → error kind; ``wrong``: → its answer.

    ``pinning``: a set-up's time by that with no affinity. ``joules``: a meter is there. ``stretch``: how much
    longer the dear function takes in a thread that may move. ``awake_watts``: what the machine draws
    beside the busy CPUs while any is busy. ``noise``: the part of the time by which runs differ.
    ``others``: the share of the CPU time that other programs take.
    """

    clock: VirtualClock
    errors: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    pinning: Mapping[str, float] = field(default_factory=dict)
    interrupt_at: int | None = None
    joules: bool = False
    stretch: float = 1.0
    awake_watts: float = 0.0
    noise: float = 0.002
    others: float = 0.0
    probes: int = 0
    ran: list[str] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=list)
    on: set[str] = field(default_factory=set)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Answer."""
        settings = configuration.settings
        if settings.get("probe"):
            self.probes += 1
            functions = {"collide_seconds": COLLIDE_SECONDS, "draw_seconds": DRAW_SECONDS}
            probed = {"seconds": JOB_SECONDS.get(str(settings["job"]), sum(functions.values())), **functions}
            energy = {"status": "measured", "joules": 1.0} if self.joules else METERLESS
            return RunResult(probed["seconds"], 0.1, record=probed, energy=energy)
        if self.interrupt_at is not None and len(self.ran) == self.interrupt_at:
            raise KeyboardInterrupt
        self.ran.append(configuration.name)
        self.commands.append(list(configuration.command))
        self.clock.advance(0.1)
        for text, kind in self.errors.items():
            if text in configuration.name:
                return RunResult(None, 0.1, error=RunError(kind, f"it was told to end with {kind}"))
        record = self._record(settings)
        answer = next((wrong for text, wrong in self.wrong.items() if text in configuration.name), "a" * 16)
        record["check"] = {"passed": True, "answer": answer}
        energy = dict(METERLESS)
        if self.joules:
            busy = sum(one["busy_seconds"] for one in record.get("workers", ())) or record["seconds"]
            watts = IDLE_WATTS + self.awake_watts + BUSY_WATTS * busy / record["seconds"]
            energy = {"status": "measured", "joules": watts, "reason": None, "mean_watts": watts}
            energy |= {"idle_watts": IDLE_WATTS, "idle_spread_watts": 0.1, "seconds": 1.0}
        return RunResult(
            record["seconds"],
            0.1,
            record=record,
            migrations=3,
            user_seconds=0.1,
            system_seconds=0.0,
            others_cpu_seconds=0.2 * self.others,
            energy=energy,
        )

    def _record(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        noisy = 1 + self.noise * self.chance.random()
        if settings["job"] == "together":
            seconds = TOGETHER_SECONDS * self.pinning.get(settings["runtime"], 1.0) * noisy
            programs = [
                {"job": job, "seconds": seconds, "cpu_seconds": TOGETHER_SECONDS, "migrations": 1}
                for job in (settings["first"], settings["second"])
            ]
            return {"seconds": seconds, "programs": programs}
        threads, way = settings["threads"], settings["runtime"]
        extra = 1 + (EXTRA if threads > 1 else 0.0)
        if settings["job"] != "physics":
            each = JOB_SECONDS[settings["job"]] * extra / threads
            return _shared([("works", each)] * threads, each * noisy, threads)
        collide = COLLIDE_SECONDS * settings["collide_passes"]
        draw = DRAW_SECONDS * settings["draw_passes"]
        detail = {"collide_seconds": collide * noisy, "draw_seconds": draw}
        if way == "serial":
            whole = collide + draw + MOVE_SECONDS
            return _shared([("does all", whole)], whole * noisy, 1) | detail
        if way == "domain":
            each = (collide + draw + MOVE_SECONDS) * extra / threads
            return (
                _shared([("works on its part of the bodies", each)] * threads, each * noisy, threads) | detail
            )
        if way == "functional_free":
            collide *= self.stretch
            detail["collide_seconds"] *= self.stretch
        seconds = (max(collide, draw) + MOVE_SECONDS) * noisy
        both = [("collides", collide), ("moves and draws", draw + MOVE_SECONDS)]
        return _shared(both, seconds, 2) | detail


def _shared(busy: list[tuple[str, float]], seconds: float, cpus: int) -> dict[str, Any]:
    workers = [
        {"thread": number, "cpu": number, "does": does, "busy_seconds": one}
        for number, (does, one) in enumerate(busy)
    ]
    times = [one for _, one in busy]
    return {
        "seconds": seconds,
        "workers": workers,
        "imbalance": max(times) * len(times) / sum(times),
        "cpu_load": sum(times) / (cpus * seconds),
    }


def laboratory(**changes: Any) -> Laboratory:
    """A laboratory on a virtual clock; `changes` go to it where it has such a field, else to the executor."""
    own = of_laboratory(changes)
    return Laboratory(ModelExecutor(VirtualClock(), **changes), "power", SCHEDULES, **own)


def request(folder: Path, **changes: Any) -> PowerRequest:
    """A quick study in as few rounds as can be."""
    asked: dict[str, Any] = {"output": folder, "quick": True, "report": False, "rounds": 8}
    return PowerRequest(**(asked | changes))
