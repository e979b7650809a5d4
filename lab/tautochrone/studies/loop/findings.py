"""What an analysis of the loop study hands to the report.

Every time is in seconds of one loop iteration of the study (lower is better) unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from tautochrone.measuring.sampler import LoadSample
from tautochrone.report.analysis import Analysis
from tautochrone.results.context import StudyContext
from tautochrone.results.runs import PeerRatio
from tautochrone.studies.cells import Measured
from tautochrone.verdicts import Ratio


class ConfigurationTime(Measured, frozen=True, kw_only=True):
    """One configuration in one cell; its runtime is one of the study's peers."""

    library: str
    schedule: str
    chunk: int | None
    placement: str  # all, fast, slow, 0-3 …
    wait: str  # default, active, passive
    threads: int
    cores: Mapping[str, int]  # {"P": 8, "E": 16}; {"core": 2} where all are alike
    waiting_share: float | None = None  # of its workers' time in the loops
    is_finalist: bool = True  # False: only screened, dropped before the rounds that are reported


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """All that was compared with each other: one matrix size on one state of the machine.

    The bound: with T_fast and T_slow the times on the fast and on the slow cores alone, work split so that
    all finish together takes T* = T_fast T_slow / (T_fast + T_slow), so the speed-up over one fast core
    cannot pass S = T_seq (T_fast + T_slow) / (T_fast T_slow) unless caches or memory help (claim H4).
    """

    size: int  # rows = columns of the matrix
    emulated: Mapping[str, float]  # {"1": 4.0}: CPU 1 made four times slower; {} as the machine is
    best_peer: str | None  # label of the fastest peer configuration
    best_peer_seconds: float | None
    tautochrone_seconds: float | None  # adaptive, no settings
    ratio: Ratio  # tautochrone adaptive / best peer
    bound_seconds: float | None  # T*
    bound_speedup: float | None  # S
    sequential_seconds: float | None  # T_seq
    fast_seconds: float | None  # T_P: the fast cores alone
    slow_seconds: float | None  # T_E: the slow cores alone
    configurations: tuple[ConfigurationTime, ...]
    peer_ratios: tuple[PeerRatio, ...] = ()


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Of one runtime, at one matrix size on one state of the machine."""

    runtime: str
    size: int
    emulated: Mapping[str, float]


class ChunkPoint(Placed, frozen=True, kw_only=True):
    """Time of a schedule at one chunk (rows of the matrix handed out at a time)."""

    schedule: str
    chunk: int
    seconds: float
    low: float | None
    high: float | None


class BandwidthPoint(Placed, frozen=True, kw_only=True):
    """Memory traffic of one configuration: bytes the loop must read, by the time it took.

    ``triad_share`` is the part of the triad's bandwidth at ``members`` members, measured in the same
    study; it can pass 1 where the matrix fits a cache, since the triad reads memory only.
    """

    configuration: str
    members: int
    bytes_per_second: float
    triad_share: float | None


class LoopWork(msgspec.Struct, frozen=True, kw_only=True):
    """One loop, from before its fork until after its join: its seconds, and those of each CPU in the body."""

    seconds: float
    working: Mapping[str, float]


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Work and waiting of each CPU in so many loops; who spins waits. ``first``: the first loops."""

    loops: int
    seconds: float  # of all these loops
    working: Mapping[str, float]  # CPU → seconds of it in which it worked
    first: tuple[LoopWork, ...]

    def share(self, cpu: str) -> float:
        """The part of the loops' time in which a CPU waited."""
        return max(0.0, 1 - self.working[cpu] / self.seconds)

    @property
    def whole_share(self) -> float:
        """The same of all CPUs together."""
        return sum(map(self.share, self.working)) / len(self.working)


class CpuLoad(Placed, frozen=True, kw_only=True):
    """The load of each CPU over the time of one run, and who waited in its loops where that is known."""

    configuration: str
    samples: tuple[LoadSample, ...]
    waiting: Waiting | None = None


class CoresUsed(msgspec.Struct, frozen=True, kw_only=True):
    """How many cores of which kind were asked for, and where the work really ran."""

    configuration: str
    runtime: str
    asked: Mapping[str, int]  # {"P": 8, "E": 16}
    asked_cpus: tuple[int, ...]
    ran_on_cpus: tuple[int, ...]
    rows_share: Mapping[str, float] = {}  # share of the matrix's rows by CPU number as text
    note: str | None = None  # "dropped core 1: it did not pay"


class MissRatio(Placed, frozen=True, kw_only=True):
    """cache-misses / cache-references, and LLC-load-misses / LLC-loads, of one configuration."""

    configuration: str
    cache_miss_ratio: float | None
    llc_load_miss_ratio: float | None


class LoopAnalysis(Analysis, frozen=True, kw_only=True):
    """The loop study's findings. Only ``verdict_sentences`` and ``cells`` are needed for a report."""

    PAGE: ClassVar[str] = "tautochrone.studies.loop.page"

    cells: tuple[Cell, ...]
    kernel: str = "tuned"  # or published: what computed a row
    chunk_series: tuple[ChunkPoint, ...] = ()
    bandwidth: tuple[BandwidthPoint, ...] = ()
    cpu_load: tuple[CpuLoad, ...] = ()
    cores_used: tuple[CoresUsed, ...] = ()
    miss_ratios: tuple[MissRatio, ...] | None = None
    miss_ratios_reason: str | None = None  # why there are none
    miss_ratios_remedy: str | None = None


class LoopContext(StudyContext, kw_only=True):
    """Everything about a loop study that its rows do not hold."""

    cpu_load: tuple[CpuLoad, ...] = ()
    sampler_cpu_seconds: float | None = None
