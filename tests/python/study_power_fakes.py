"""Processes for the power study that cost no time: they follow a model of threads that work and wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from study_fakes import FakeExecutor, laboratories
from tautochrone.studies.power.study import PowerRequest

SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "encryption": ("serial", "blocks", "files"),
    "compression": ("serial", "workers"),
    "video": ("serial", "frames", "slices", "clips"),
    "physics": ("serial", "domain", "functional"),
    "together": ("free", "pinned", "one_pinned", "nice", "same", "same_nice", "weight", "same_weight"),
}
JOB_SECONDS = {"encryption": 0.02, "compression": 0.1, "video": 0.15}
COLLIDE_SECONDS, DRAW_SECONDS, MOVE_SECONDS = 0.008, 0.02, 0.001
TOGETHER_SECONDS = 0.25
EXTRA = 0.01  # of the work, that sharing adds
METERLESS = {"status": "unavailable", "joules": None, "reason": "a virtual machine", "remedy": "use the host"}
IDLE_WATTS, BUSY_WATTS = 5.0, 10.0  # of the machine, and of each busy CPU beside


@dataclass
class ModelExecutor(FakeExecutor):
    """Answers like the runners.

    ``pinning``: a set-up's time by that with no affinity. ``joules``: a meter is there. ``stretch``: how much
    longer the expensive function takes in a thread that may move. ``awake_watts``: what the machine draws
    beside the busy CPUs while any is busy.
    """

    pinning: Mapping[str, float] = field(default_factory=dict)
    joules: bool = False
    stretch: float = 1.0
    awake_watts: float = 0.0

    def probed(self, settings: dict[str, Any]) -> dict[str, Any]:
        functions = {"collide_seconds": COLLIDE_SECONDS, "draw_seconds": DRAW_SECONDS}
        return {"seconds": JOB_SECONDS.get(settings["job"], sum(functions.values())), **functions}

    def right(self, settings: dict[str, Any]) -> str:
        """Two programs at once give none."""
        return "" if settings["job"] == "together" else super().right(settings)

    def beside(self, record: dict[str, Any]) -> dict[str, Any]:
        energy = dict(METERLESS)
        if self.joules:
            busy = sum(worker["busy_seconds"] for worker in record.get("workers", ())) or record["seconds"]
            watts = IDLE_WATTS + self.awake_watts + BUSY_WATTS * busy / record["seconds"]
            energy = {"status": "measured", "joules": watts, "reason": None, "mean_watts": watts}
            energy |= {"idle_watts": IDLE_WATTS, "idle_spread_watts": 0.1, "seconds": 1.0}
        return {"migrations": 3, "user_seconds": 0.1, "system_seconds": 0.0, "energy": energy}

    def record(self, settings: dict[str, Any]) -> dict[str, Any]:
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


laboratory = laboratories(ModelExecutor, "power", SCHEDULES)


def request(folder: Path, **changes: Any) -> PowerRequest:
    """A quick study in as few rounds as can be."""
    asked: dict[str, Any] = {"output": folder, "quick": True, "report": False, "rounds": 8}
    return PowerRequest(**(asked | changes))
