"""What an analysis of the nbody study hands to the report.

A block moves the particles whose steps end at one time; its active count is how many those are. Times are in
seconds of a block; medians over the rounds.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from tautochrone.report.analysis import Analysis
from tautochrone.results.context import StudyContext
from tautochrone.results.spent import Spent
from tautochrone.verdicts import Ratio


class BlockPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The blocks of one configuration whose active count lies between two powers of two."""

    active: float  # their median count
    blocks: int  # in a run
    seconds: float
    low: float | None
    high: float | None
    predicted: float | None  # by the model that was fitted before the run; OpenMP: see analysis
    shared_share: float  # of the time in collectives, or in starting, joining and waiting
    rounds: int


class BlockCurve(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration with one number of particles."""

    runtime: str  # the key of the colour
    label: str
    scheme: str
    kind: str  # what is shared: serial, targets, sources, both, chosen
    wait: str
    is_ordinary: bool  # the first thing that one writes with that engine
    particles: int
    order: int
    members: int
    points: tuple[BlockPoint, ...]
    seconds: float  # of a mean block
    low: float | None
    high: float | None
    to_serial: Ratio | None  # its time by that of one core; None for one core
    unit_seconds: float | None  # for one N-body unit of time
    energy_error: float | None  # relative, over a run
    pairs_per_second: float | None
    shared_share: float | None
    spent: Spent | None = None


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """From how many active particles on sharing the targets is faster than sharing the sources."""

    runtime: str
    particles: int
    members: int
    active: float | None  # None: it never is
    low: float | None
    high: float | None
    rounds: int


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What the model says of more cores like these."""

    particles: int
    members: int
    speed_up: float
    crossing: float | None  # active count from which on sharing the targets is faster
    speed_up_of_many: float  # of a block in which all move
    energy_error: float | None = None  # relative, of the measured run that the model is of


class SimulatedRanks(msgspec.Struct, frozen=True, kw_only=True):
    """So many ranks under SMPI with a library's collectives, in virtual time."""

    library: str  # ompi, mpich, mvapich2
    particles: int
    ranks: int
    speed_up_by_scheme: dict[str, float]  # i, j, grid, auto; mean blocks, against one core
    crossing: float | None  # active count from which on sharing the targets is faster
    exchange_share: float  # of the time, at best
    energy_error: float  # relative, the largest of the schemes'
    blocks: int  # that were simulated, from the start on


class Rectangle(msgspec.Struct, frozen=True, kw_only=True):
    """So many ranks under SMPI that share targets and sources at once (grid), in virtual time."""

    ranks: int
    slices: int  # of the sources
    particles: int
    speed_up: float  # mean blocks, against one core
    energy_error: float  # relative
    same_bits: bool  # as that many ranks that share the sources alone


class BlockCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often a block moves that number of particles, on one core."""

    particles: int
    active: float
    share_of_blocks: float
    share_of_time: float


class NbodyAnalysis(Analysis, frozen=True, kw_only=True):
    """The nbody study's findings."""

    PAGE: ClassVar[str] = "tautochrone.studies.nbody.page"

    members: int
    curves: tuple[BlockCurve, ...]
    crossings: tuple[Crossing, ...] = ()
    forecasts: tuple[Forecast, ...] = ()
    simulated: tuple[SimulatedRanks, ...] = ()
    rectangles: tuple[Rectangle, ...] = ()
    measured_speed_ups: tuple[tuple[int, Ratio], ...] = ()  # particles, ours by one core
    counts: tuple[BlockCount, ...] = ()
    failed: tuple[str, ...] = ()


class NbodyContext(StudyContext, kw_only=True):
    """Everything about an nbody study that its rows do not hold."""

    simulated: tuple[SimulatedRanks, ...] = ()
    rectangles: tuple[Rectangle, ...] = ()
