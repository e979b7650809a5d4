"""Joules from a model where there is no meter: only when asked for, labelled, and never ranked.

The model is power = idle + active watts times busy CPUs, fitted on a machine that has a meter; its error is
that of predicting each point of the fit from the others.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from tautochrone.energy.meter import Meter, Unavailable
from tautochrone.energy.recorder import EnergyRecorder, no_energy
from tautochrone.errors import TautoError, explained
from tautochrone.files import read_whole, write_whole
from tautochrone.results.spent import ESTIMATED

MODEL_SCHEMA = "tautochrone.energy_model/1"
_FEWEST_POINTS = 3
_MOST_BYTES = 1 << 20
_POINT_SECONDS = 2.0
_SETTLING_SECONDS = 0.3


@dataclass(frozen=True)
class Model:
    """``error_percent``: the root mean square of the relative errors, each point left out in turn."""

    machine: str
    source: str
    idle_watts: float
    watts_per_busy_cpu: float
    error_percent: float
    points: tuple[tuple[float, float], ...]  # busy CPUs, watts
    schema: str = MODEL_SCHEMA

    def joules(self, seconds: float, cpu_seconds: float) -> float:
        return self.idle_watts * seconds + self.watts_per_busy_cpu * cpu_seconds


def fit(machine: str, source: str, points: Sequence[tuple[float, float]]) -> Model:
    """Least squares over (busy CPUs, watts). TautoError for too few different points, and for no power."""
    if len(points) < _FEWEST_POINTS or len({busy for busy, _ in points}) < 2:
        raise TautoError(
            f"{len(points)} points of power do not make a model", f"Measure {_FEWEST_POINTS} loads or more"
        )
    dead = next((busy for busy, watts in points if not watts > 0.0), None)
    if dead is not None:
        raise TautoError(
            f"{source} showed no power with {dead:g} busy CPUs, so it is no meter to fit a model to",
            "Fit it on another machine: tauto energy --fit-model FILE",
        )
    idle, active = _line(points)
    errors: list[float] = []
    for index, (busy, watts) in enumerate(points):
        others = [*points[:index], *points[index + 1 :]]
        if len({load for load, _ in others}) < 2:
            continue
        intercept, slope = _line(others)
        errors.append((intercept + slope * busy - watts) / watts)
    error = 100.0 * math.sqrt(statistics.fmean(relative * relative for relative in errors))
    return Model(machine, source, idle, active, error, tuple(points))


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Intercept and slope."""
    slope, intercept = statistics.linear_regression(*zip(*points, strict=True))
    return intercept, slope


def measure_points(meter: Meter) -> list[tuple[float, float]]:
    """Watts with none to all of the allowed CPUs busy, twice each, up and down."""
    cpus = len(os.sched_getaffinity(0))
    steps = sorted({round(cpus * step / 4) for step in range(5)})
    points: list[tuple[float, float]] = []
    for busy in (*steps, *reversed(steps)):
        spinners = [
            subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) for _ in range(busy)
        ]
        try:
            time.sleep(max(_SETTLING_SECONDS, meter.lag_seconds))
            with EnergyRecorder(meter) as recording:
                time.sleep(_POINT_SECONDS)
        finally:
            for spinner in spinners:
                spinner.kill()
                spinner.wait()
        if recording.joules is not None:
            points.append((float(busy), recording.joules / recording.seconds))
    return points


def save(model: Model, path: Path) -> None:
    """Write a model. TautoError where the file cannot be written."""
    with explained(f"the energy model {path} cannot be written", "Choose another place"):
        write_whole(path, json.dumps(asdict(model), indent=1) + "\n")


def load(path: Path) -> Model:
    """Read a model. TautoError for a file that holds none."""
    remedy = "Make one on a machine with a meter: tauto energy --fit-model FILE"
    try:
        record = json.loads(read_whole(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise TautoError(f"the energy model {path} cannot be read: {error}", remedy) from error
    if not isinstance(record, dict) or record.get("schema") != MODEL_SCHEMA:
        raise TautoError(f"{path} is no energy model of the schema {MODEL_SCHEMA}", remedy)
    try:
        return msgspec.convert(record, Model)
    except msgspec.ValidationError as error:
        raise TautoError(f"the energy model {path} is not complete: {error}", remedy) from error


def estimated_energy(model: Model, seconds: float, cpu_seconds: float, why: Unavailable) -> dict[str, object]:
    """A model's figure as a row's `energy`. Its joules have a name of their own: they were not measured."""
    return {
        **no_energy(why),
        "status": ESTIMATED,
        "estimated_joules": model.joules(seconds, cpu_seconds),
        "error_percent": model.error_percent,
        "model": f"fitted on {model.machine} with {model.source}",
    }
