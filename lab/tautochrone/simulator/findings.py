"""What `tauto simulate` hands to the report: charts described by their axes, and the rows behind them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tautochrone.report.analysis_types import Analysis
from tautochrone.report.tables import Record


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the records and how it is drawn."""

    field: str
    title: str
    logarithmic: bool = False
    seconds: bool = False  # ticks read 10 µs and not 0.00001
    percent: bool = False


class LineChart(msgspec.Struct, frozen=True, kw_only=True):
    """Lines, one a value of ``runtime`` in the records."""

    name: str
    heading: str
    explanation: str
    x: Axis
    y: Axis
    records: tuple[Record, ...]  # x, y, runtime, text; situation, where there are several
    beside: tuple[Record, ...] = ()  # the same, dashed: what was simulated of what `records` measured


class ErrorLine(msgspec.Struct, frozen=True, kw_only=True):
    """How far the predictions for a runtime's schedule are off."""

    runtime: str
    schedule: str
    count: int
    median: float
    p90: float
    bias: float


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds and energy of one member or core over the whole run."""

    member: str
    working: float
    waiting: float
    idle: float
    joules: float


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What each member did, as slices of virtual time."""

    name: str
    heading: str
    explanation: str
    records: tuple[Record, ...]  # member, what, begin, end (seconds), watts, joules
    members: tuple[str, ...]
    accounts: tuple[Account, ...] = ()
    rest_joules: float = 0.0  # of all that is no member: caches, memory, platform, cores not used
    joules: float = 0.0  # of the whole machine


class SimulatedAnalysis(Analysis, frozen=True, kw_only=True):
    """The findings of one simulated study."""

    study: str
    machine_name: str
    method: str = (
        "with the schedules that real threads run and models of the other libraries; in each run time, work "
        "and energy were checked to add up"
    )
    charts: tuple[LineChart, ...] = ()
    rows: tuple[Record, ...] = ()  # of the table; else those of the first chart
    timelines: tuple[Timeline, ...] = ()
    facts: Mapping[str, str] = {}
    situations: tuple[Mapping[str, float], ...] = ({},)  # the states of the machine: CPU → times slower
    errors: tuple[ErrorLine, ...] = ()
