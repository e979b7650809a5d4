"""Runs of the nbody study that cost no time: blocks by the model, a collective for each engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from study_fakes import FakeExecutor, laboratories
from tautochrone.studies.nbody.model import ALONE, Model, Scheme, from_record
from tautochrone.studies.nbody.study import NbodyRequest

MEMBER = ("auto", "serial", "i", "j", "grid")
OPENMP = ("loops-i", "loops-j", "region-i", "region-j")
SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "serial": ("serial",),
    "libgomp": OPENMP,
    "libomp": OPENMP,
    "openmpi": MEMBER,
    "mpich": MEMBER,
    "intelmpi": MEMBER,
    "tautochrone": MEMBER,
}
LATENCY = {"tautochrone": 2e-7, "libgomp": 8e-7, "libomp": 9e-7, "openmpi": 2e-6, "mpich": 2.5e-6}
"""Of a collective, or of a barrier."""
FORKS = 3  # of an ordinary parallel loop, a latency each


def model_record(latency: float, members: int = 2) -> dict[str, Any]:
    """The field ``model`` of a runner's row: 1 ns a pair, a gather costs more a word than a reduction."""
    return {
        "members": members,
        "pair_seconds": 1e-9,
        "target_force_seconds": 2e-8,
        "source_seconds": 3e-9,
        "target_seconds": 3e-8,
        "put_seconds": 8e-9,
        "scan_seconds": 1e-9,
        "block_seconds": 2e-7,
        "changed_words": 13.0,
        "force_words": 6.0,
        "gather": [] if members < 2 else [[2, latency], [20_000, latency + 1e-5]],
        "reduce": [] if members < 2 else [[2, latency], [20_000, latency + 6e-5]],
    }


def model_of(library: str, particles: int) -> Model:
    """The model that the runs of a library follow."""
    return from_record(model_record(LATENCY.get(library, 2e-7)), particles)


@dataclass
class BlockExecutor(FakeExecutor):
    """Rows of blocks from the model. ``noise``: the standard deviation of a class' logarithm."""

    answer: ClassVar[str] = "state_fnv1a"
    launch_seconds: ClassVar[float] = 0.5
    noise: float = 0.01

    def record(self, settings: dict[str, Any]) -> dict[str, Any]:
        classes = [self._class(settings, low) for low in _lows(int(settings["particles"]))]
        total = sum(blocks_of["total_seconds"] for blocks_of in classes)
        blocks = sum(blocks_of["blocks"] for blocks_of in classes)
        library = settings["library"]
        predicts = library not in ("libgomp", "libomp")
        return {
            "runtime": settings["runtime"],
            "library": library,
            "library_version": "4.0",
            "seconds": total / blocks,
            "blocks": blocks,
            "pairs_per_second": 1e9,
            "shared_share": 0.2,
            "classes": classes,
            "model": model_record(LATENCY.get(library, 2e-7), settings["threads"]) if predicts else None,
            "workers": [{"thread": rank, "cpu": rank} for rank in range(settings["threads"])],
            "check": {"passed": True, "energy_error": 3e-9 if settings["order"] == 4 else 4e-10},
        }

    def right(self, settings: dict[str, Any]) -> str:
        """Ways to share that add in other orders end with other bits."""
        scheme = settings["schedule"]
        kind = "b" if scheme.endswith("j") else "c" if scheme in ("auto", "grid") else "a"
        return kind * 15 + str(settings["order"])

    def _class(self, settings: Mapping[str, Any], low: int) -> dict[str, Any]:
        seconds, shared = _seconds(settings, 1.4 * low)
        noisy = seconds * math.exp(self.noise * self.chance.gauss(0, 1))
        blocks = 4 + int(300 / low)
        return {
            "active_from": low,
            "active_below": 2 * low,
            "blocks": blocks,
            "median_active": 1.4 * low,
            "median_seconds": noisy,
            "total_seconds": blocks * noisy,
            "predicted_median_seconds": None if settings["runtime"] == "openmp" else seconds,
            "shared_share": shared,
            "schemes": {str(settings["schedule"]): blocks},
        }


def _lows(particles: int) -> list[int]:
    return [1 << power for power in range(particles.bit_length() - 1)]


def _seconds(settings: Mapping[str, Any], active: float) -> tuple[float, float]:
    """Seconds of a block, and the share of them that is no computing."""
    library, scheme = str(settings["library"]).removesuffix("-hybrid"), str(settings["schedule"])
    model = model_of(library, int(settings["particles"]))
    if scheme == "serial":
        return model.seconds(active, ALONE), 0.0
    if scheme == "auto":
        shape, seconds = model.cheapest(active, 2)
        return seconds, 0.0 if shape == ALONE else LATENCY[library] / seconds
    shape = Scheme(1, 2) if scheme.endswith("j") else Scheme(2, 1)
    extra = FORKS * 4 * LATENCY[library] if scheme.startswith("loops") else 0.0
    seconds = model.seconds(active, shape) + extra
    return seconds, (LATENCY[library] + extra) / seconds


laboratory = laboratories(BlockExecutor, "nbody", SCHEDULES, absent=("intelmpi",))


def request(folder: Path, **changes: Any) -> NbodyRequest:
    """A quick study without a report."""
    asked: dict[str, Any] = {"output": folder, "quick": True, "report": False}
    return NbodyRequest(**(asked | changes))
