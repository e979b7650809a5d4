"""What an analysis of the power study hands to the report.

Times are in seconds of one repetition of a job; of two programs at once, until both are over. Joules are None
wherever no meter was read.
"""

from __future__ import annotations

import msgspec

from tautochrone.report.analysis_types import Analysis, Joules, Ratio


class BusyThread(msgspec.Struct, frozen=True, kw_only=True):
    """A thread of a job and its CPU time in the work itself, without waiting."""

    thread: int
    does: str
    seconds: float


class SharedJob(msgspec.Struct, frozen=True, kw_only=True):
    """One way to share a job on so many threads. Medians over the rounds."""

    label: str
    way: str
    threads: int
    seconds: float | None  # None: every run of it failed, see `error`
    low: float | None
    high: float | None
    rounds: int
    to_serial: Ratio  # its time by that of one thread
    imbalance: float | None  # the busiest thread's time over the mean
    busy: tuple[BusyThread, ...] = ()
    cpu_seconds: float | None = None
    core_seconds: float | None = None
    migrations: float | None = None  # of a whole run
    energy: Joules | None = None
    error: str | None = None

    @property
    def speedup(self) -> float | None:
        """How many times as fast as one thread."""
        return self.to_serial.inverse().value

    @property
    def speedup_low(self) -> float | None:
        """The low end of its interval."""
        return self.to_serial.inverse().low

    @property
    def speedup_high(self) -> float | None:
        """The high end."""
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


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """Two programs in one set-up: until both are over."""

    name: str
    label: str
    seconds: float | None
    low: float | None
    high: float | None
    rounds: int
    to_free: Ratio  # by the time with no affinity
    programs: tuple[ProgramTime, ...] = ()
    energy: Joules | None = None
    error: str | None = None


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """What the published study advises, and whether these rows support it; None: they do not tell."""

    published: str
    here: str
    supported: bool | None
    rows: tuple[str, ...] = ()  # the figures that it rests on


class PowerAnalysis(Analysis, frozen=True, kw_only=True):
    """The power study's findings."""

    jobs: tuple[JobCell, ...]
    setups: tuple[Setup, ...] = ()
    pair: str = ""  # "encryption and physics"
    recommendations: tuple[Recommendation, ...] = ()
    imbalance_advice: tuple[str, ...] = ()
    no_energy: str = ""  # why there are no joules; empty where there are
