"""What an analysis of the power study hands to the report.

Times are in seconds of one repetition of a job; of two programs at once, until both are over. Joules are None
wherever no meter was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from tautochrone.report.analysis import Analysis
from tautochrone.results.context import StudyContext
from tautochrone.results.row import Seconds
from tautochrone.results.spent import Joules
from tautochrone.studies.cells import Timed
from tautochrone.verdicts import Ratio


class BusyThread(msgspec.Struct, frozen=True, kw_only=True):
    """A thread of a job and its CPU time in the work itself, without waiting."""

    thread: int
    does: str
    seconds: float


class SharedJob(Timed, frozen=True, kw_only=True):
    """One way to share a job on a number of threads."""

    way: str
    threads: int
    to_serial: Ratio  # its time by that of one thread
    imbalance: float | None  # the busiest thread's time over the mean
    busy: tuple[BusyThread, ...] = ()
    cpu_seconds: float | None = None
    core_seconds: float | None = None
    migrations: float | None = None  # of a whole run
    energy: Joules | None = None

    @property
    def speedup(self) -> float | None:
        return self.to_serial.inverse().value

    @property
    def speedup_low(self) -> float | None:
        return self.to_serial.inverse().low

    @property
    def speedup_high(self) -> float | None:
        return self.to_serial.inverse().high


class JobCell(msgspec.Struct, frozen=True, kw_only=True):
    """A job and all ways to share it; of the physics with one ratio of its functions' costs."""

    job: str
    title: str
    ratio: float | None
    shared: tuple[SharedJob, ...]


class ProgramTime(msgspec.Struct, frozen=True, kw_only=True):
    """One of two programs at once."""

    job: str
    seconds: float
    cpu_seconds: float | None
    migrations: float | None  # None: the kernel does not tell


class Setup(Timed, frozen=True, kw_only=True):
    """Two programs in one set-up: until both are over."""

    name: str
    to_free: Ratio  # by the time with no affinity
    programs: tuple[ProgramTime, ...] = ()
    energy: Joules | None = None


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """What the published study advises, and whether these rows support it; None: they do not tell."""

    published: str
    here: str
    supported: bool | None
    rows: tuple[str, ...] = ()  # the figures that it rests on


class PowerAnalysis(Analysis, frozen=True, kw_only=True):
    """The power study's findings."""

    PAGE: ClassVar[str] = "tautochrone.studies.power.page"

    jobs: tuple[JobCell, ...]
    setups: tuple[Setup, ...] = ()
    pair: str = ""  # "encryption and physics"
    recommendations: tuple[Recommendation, ...] = ()
    imbalance_advice: tuple[str, ...] = ()
    no_energy: str = ""  # why there are no joules; empty where there are


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What was tried before the first run, once for a folder: from it sizes and times are chosen.

    ``job_seconds`` and the functions of the physics are those of one repetition on one thread.
    ``metered``: runs come with joules.
    """

    collide_seconds: Seconds | None = None  # the physics' functions; None where the physics is not measured
    draw_seconds: Seconds | None = None
    job_seconds: Mapping[str, Seconds] = {}
    metered: bool = False


class PowerContext(StudyContext, kw_only=True):
    """Everything about a power study that its rows do not hold."""

    probe: Probe | None = None
    knobs: Mapping[str, str] = {}  # the frequency policy under which it ran, as far as the machine shows one
    policies: tuple[str, ...] = ()  # the folders beside each other of the same study, one for each policy
