"""What a loop study knows beside its rows."""

from __future__ import annotations

from collections.abc import Mapping

from tautochrone.report.loop.analysis_types import CpuLoad
from tautochrone.studies.context import StudyContext


class LoopContext(StudyContext, kw_only=True):
    """Everything about a loop study that its rows do not hold."""

    schema: str = "tautochrone.loop/1"
    command: str = "tauto study loop"
    folder: str = "tautochrone-results/loop"
    cpu_load: tuple[CpuLoad, ...] = ()
    sampler_cpu_seconds: float | None = None
    measured_factors: Mapping[str, Mapping[str, float]] = {}  # asked "1:4" → {"1": 3.97} as calibrated
    measured_turns: Mapping[str, Mapping[str, float]] = {}  # asked "1:4" → {"1": 5e-5}, seconds
