"""What an analysis of the loop study hands to the report.

The study fills these structures from its rows; the report only draws them. Every time is in seconds of
one loop iteration of the study (lower is better) unless a name says otherwise. ``None`` always means
"not measured" and is never drawn as 0. All structures are plain data: ``msgspec.json.encode`` writes
them, ``msgspec.convert(obj, LoopAnalysis)`` reads them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Verdict = Literal["faster", "slower", "no difference resolved", "not measured"]
PeerRole = Literal["best", "default"]


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """Our time divided by another's: below 1 we are faster. ``low``/``high`` bound the paired median.

    ``value``, ``low`` and ``high`` are None exactly when the verdict is "not measured" for want of rounds
    or of a partner; ``confidence`` is what the sign-test interval really covers (0.95 … ), not the wish.
    """

    value: float | None
    low: float | None
    high: float | None
    confidence: float | None
    rounds: int
    verdict: Verdict


class ConfigurationTime(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration in one cell: the median of its rounds, the median's interval, every round."""

    label: str  # for people: "libgomp dynamic, chunk 2, all cores"
    runtime: str  # the key of the colour: serial, libgomp, libomp, tbb, stdpar, openblas, tautochrone
    library: str
    schedule: str
    chunk: int | None
    placement: str  # all, fast, slow, 0-3 …
    wait: str  # default, active, passive
    threads: int
    cores: Mapping[str, int]  # {"P": 8, "E": 16}; {"core": 2} where all are alike
    seconds: float | None  # None: every run of it failed, see `error`
    low: float | None
    high: float | None
    points: tuple[float, ...] = ()  # seconds of every round, in the order of rounds
    rounds: int = 0
    is_default: bool = False  # what one gets without setting anything
    is_finalist: bool = True  # False: only screened, dropped before the rounds that are reported
    error: str | None = None


class PeerRatio(msgspec.Struct, frozen=True, kw_only=True):
    """tautochrone adaptive, with no settings, against one configuration of one peer in the same rounds."""

    runtime: str
    configuration: str  # label of the peer's configuration
    role: PeerRole  # the peer's best in this cell, or what it does with no settings
    ratio: Ratio


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


class ChunkPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Time of a schedule at one chunk (rows of the matrix handed out at a time)."""

    runtime: str
    schedule: str
    chunk: int
    size: int
    emulated: Mapping[str, float]
    seconds: float
    low: float | None
    high: float | None


class BandwidthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Memory traffic of one configuration: bytes the loop must read, by the time it took.

    ``triad_share`` is the part of the triad's bandwidth at ``members`` members, measured in the same
    study; it can pass 1 where the matrix fits a cache, since the triad reads memory only.
    """

    configuration: str
    runtime: str
    size: int
    emulated: Mapping[str, float]
    members: int
    bytes_per_second: float
    triad_share: float | None


class CpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """One CPU over one sampling interval that ends ``seconds`` after the run began."""

    cpu: int
    seconds: float
    busy: float  # 0 … 1
    hertz: float | None = None


class CpuLoad(msgspec.Struct, frozen=True, kw_only=True):
    """The load of each CPU over the time of one run."""

    configuration: str
    runtime: str
    size: int
    emulated: Mapping[str, float]
    samples: tuple[CpuSample, ...]


class CoresUsed(msgspec.Struct, frozen=True, kw_only=True):
    """How many cores of which kind were asked for, and where the work really ran."""

    configuration: str
    runtime: str
    asked: Mapping[str, int]  # {"P": 8, "E": 16}
    asked_cpus: tuple[int, ...]
    ran_on_cpus: tuple[int, ...]
    rows_share: Mapping[str, float] = {}  # share of the matrix's rows by CPU number as text
    note: str | None = None  # "dropped core 1: it did not pay"


class MissRatio(msgspec.Struct, frozen=True, kw_only=True):
    """cache-misses / cache-references, and LLC-load-misses / LLC-loads, of one configuration."""

    configuration: str
    runtime: str
    size: int
    emulated: Mapping[str, float]
    cache_miss_ratio: float | None
    llc_load_miss_ratio: float | None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to paste into a shell or a program."""

    label: str  # "OpenMP program, GCC's libgomp"
    language: str  # shell, cpp, python, cmake
    text: str
    why: str = ""  # one sentence: when to use these, what they gave here


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A runtime that was measured beside ours, and the settings that it was given."""

    runtime: str
    name: str
    version: str
    wait_policies: tuple[str, ...]
    schedules: tuple[str, ...] = ()
    settings: str = ""  # "pinned with OMP_PLACES={0},{1}; hot team; no nested regions"


class NotMeasured(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader may look for and not find."""

    what: str
    why: str
    remedy: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A published claim beside what was found here; ``holds`` is None where it cannot be tested here."""

    id: str  # H1 … H12
    published: str
    ours: str
    holds: bool | None
    note: str = ""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A line that repeats the study or a part of it."""

    label: str
    text: str


class LoopAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """The loop study's findings. Only ``verdict_sentences`` and ``cells`` are needed for a report."""

    verdict_sentences: tuple[str, ...]  # the first: "On this machine … use …"
    cells: tuple[Cell, ...]
    chunk_series: tuple[ChunkPoint, ...] = ()
    bandwidth: tuple[BandwidthPoint, ...] = ()
    cpu_load: tuple[CpuLoad, ...] = ()
    cores_used: tuple[CoresUsed, ...] = ()
    miss_ratios: tuple[MissRatio, ...] | None = None
    miss_ratios_reason: str | None = None  # why there are none
    miss_ratios_remedy: str | None = None
    settings_to_paste: tuple[Settings, ...] = ()
    peers: tuple[Peer, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    claims: tuple[Claim, ...] = ()
    commands: tuple[Command, ...] = ()
    advice: tuple[str, ...] = ()  # about the machine: governor, quota, noisy core
    quick: bool = False  # fewer sizes and rounds than a full study
