"""What a map/reduce study knows beside its rows."""

from __future__ import annotations

from tautochrone.report.mapreduce.analysis_types import Trace
from tautochrone.studies.context import StudyContext


class MapReduceContext(StudyContext, kw_only=True):
    """Everything about a map/reduce study that its rows do not hold."""

    schema: str = "tautochrone.mapreduce/1"
    command: str = "tauto study mapreduce"
    folder: str = "tautochrone-results/mapreduce"
    seconds_per_byte: float | None = None  # of the probe that chose how many bytes a task of 1 µs has
    traces: tuple[Trace, ...] = ()
