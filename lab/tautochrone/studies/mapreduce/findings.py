"""What an analysis of the map/reduce study hands to the report.

Times are in seconds of one repetition (all tasks, shared out, done and reduced) unless a name says otherwise;
speed-ups are over the serial loop in the same rounds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, Self

import msgspec

from tautochrone.report.analysis import Analysis
from tautochrone.results.context import StudyContext
from tautochrone.results.row import Seconds
from tautochrone.results.runs import PeerRatio
from tautochrone.studies.cells import Measured

Pays = Literal["yes", "no", "not resolved"]


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the CPUs' time without a task; together they are ``waiting_share``, up to medians.

    ``waking_up``: until a thread's first task, and from the last task's end until the caller goes on.
    ``taking_tasks``: between two tasks of a thread, in the queue and for its lock. The others: no task is
    left for a CPU, because tasks are not divided (``whole_tasks``), or because another has more (``uneven``).
    """

    waking_up: float
    taking_tasks: float
    whole_tasks: float
    uneven: float


class TaskConfiguration(Measured, frozen=True, kw_only=True):
    """One runtime with one setting on a number of threads, in one cell. Medians over the rounds."""

    library: str
    schedule: str
    chunk: int | None
    wait: str
    threads: int
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    ideal_speedup: float | None = None  # what whole tasks on these CPUs allow
    share_of_ideal: float | None = None  # speedup / ideal_speedup
    pays: Pays | None = None  # faster than the serial loop, and enough of the ideal; None: too few rounds
    waiting_share: float | None = None  # of the threads' time, outside all tasks
    waiting: Waiting | None = None  # its parts; None where threads shared CPUs
    cpu_load: float | None = None  # CPU time by the time that the CPUs had
    voluntary_switches: float | None = None  # context switches of one repetition
    involuntary_switches: float | None = None
    stretch: float | None = None  # how many times longer a task takes beside the others than alone
    stretch_by_clock: float | None = None  # of that, by a lower clock; the rest are caches and memory
    clock_hertz: float | None = None  # while the program ran; None: cycles are not counted


class LawPoint(msgspec.Struct, frozen=True):
    """What so many threads could reach: tasks / ceil(tasks / threads) on equal CPUs."""

    threads: int
    speedup: float


class TaskCell(msgspec.Struct, frozen=True, kw_only=True):
    """All that was compared with each other: so many tasks of one length, on one state of the machine."""

    tasks: int
    bytes: int  # that each task hashes
    length: str  # as it was asked for: "400 kB", "10 µs"
    task_seconds: float | None  # of one task alone, warm
    emulated: Mapping[str, float]
    cpus: int  # how many CPUs there are to use
    serial_seconds: float | None
    configurations: tuple[TaskConfiguration, ...]
    law: tuple[LawPoint, ...] = ()
    peer_ratios: tuple[PeerRatio, ...] = ()

    @property
    def name(self) -> str:
        """For people: "50 × 400 kB"."""
        return f"{self.tasks} × {self.length}"


class Payoff(msgspec.Struct, frozen=True, kw_only=True):
    """From which task length on a runtime with no settings pays, with all CPUs.

    ``from_seconds`` is the shortest length at which it is resolved to pay, with none above at which it is
    resolved not to; None where there is no such length. ``not_at_seconds`` is the next shorter length, and
    ``because`` whether it does not pay there or noise leaves it open; both are None where there is none.
    """

    runtime: str
    tasks: int
    emulated: Mapping[str, float]
    from_seconds: float | None
    not_at_seconds: float | None
    because: Pays | None


class SleepingPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where in a library threads slept: ``threads`` on average, at ``addresses`` locks or conditions."""

    place: str  # the innermost function that is not the C library's; its library where that has no name
    threads: float
    addresses: int


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A timeline for Perfetto: one track a thread, a slice a task, a slice for each wait between tasks."""

    runtime: str
    label: str
    file: str  # relative to the folder of the results; in a report to that of the page
    sleeps: tuple[SleepingPlace, ...] = ()  # most threads first


class MapReduceAnalysis(Analysis, frozen=True, kw_only=True):
    """The map/reduce study's findings."""

    PAGE: ClassVar[str] = "tautochrone.studies.mapreduce.page"

    cells: tuple[TaskCell, ...]
    payoffs: tuple[Payoff, ...] = ()
    share_that_pays: float  # of the ideal speed-up, from which on sharing is said to pay
    traces: tuple[Trace, ...] = ()

    def seen_from(self, results: Path, page: Path) -> Self:
        """The same with the traces' files named relative to the page's folder."""
        moved = (
            msgspec.structs.replace(trace, file=os.path.relpath(results / trace.file, page.parent))
            for trace in self.traces
        )
        return msgspec.structs.replace(self, traces=tuple(moved))


class MapReduceContext(StudyContext, kw_only=True):
    """Everything about a map/reduce study that its rows do not hold."""

    seconds_per_byte: Seconds | None = None  # of the probe that chose how many bytes a task of 1 µs has
    traces: tuple[Trace, ...] = ()
