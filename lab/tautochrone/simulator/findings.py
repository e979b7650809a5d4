"""The findings of `tauto simulate` for the report: charts described by their axes, and their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from tautochrone.report.analysis import Analysis
from tautochrone.report.parts import Record


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the records and how it is drawn."""

    field: str
    title: str
    logarithmic: bool = False
    seconds: bool = False  # ticks read 10 µs instead of 0.00001
    percent: bool = False


class LineChart(msgspec.Struct, frozen=True, kw_only=True):
    """Lines, one a value of ``runtime`` in the records."""

    name: str
    heading: str
    explanation: str
    x: Axis
    y: Axis
    records: tuple[Record, ...]  # x, y, runtime, text; situation if there are several
    beside: tuple[Record, ...] = ()  # dashed: the simulated values, where `records` are measured


class ErrorLine(msgspec.Struct, frozen=True, kw_only=True):
    """The error of the predictions for a runtime's schedule."""

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
    rest_joules: float = 0.0  # of everything but the members: caches, memory, platform, unused cores
    joules: float = 0.0  # of the whole machine


class SimulatedAnalysis(Analysis, frozen=True, kw_only=True):
    """The findings of one simulated study."""

    PAGE: ClassVar[str] = "tautochrone.simulator.page"
    WHERE: ClassVar[str] = "Simulated on"

    study: str
    machine_name: str
    method: str = (
        "with the scheduling code of real threads and models of the other libraries; the times, the work and "
        "the energies of every run were checked to add up"
    )
    charts: tuple[LineChart, ...] = ()
    rows: tuple[Record, ...] = ()  # of the table; by default those of the first chart
    timelines: tuple[Timeline, ...] = ()
    facts: Mapping[str, str] = {}
    situations: tuple[Mapping[str, float], ...] = ({},)  # the states of the machine: CPU → slowdown factor
    errors: tuple[ErrorLine, ...] = ()
