"""What an analysis of the collective study hands to the report.

Lengths are in 8-byte words: of a rank's data for all_reduce, of the whole result for all_gather. Times are in
seconds from the common start of all ranks to the end of the last one; medians over the launches.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from tautochrone.report.analysis import Analysis
from tautochrone.results.context import StudyContext
from tautochrone.results.spent import Spent
from tautochrone.verdicts import Ratio


class LengthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of one configuration at one length."""

    words: int
    seconds: float
    low: float | None
    high: float | None
    launches: int
    to_better_mpi: Ratio | None = None  # our time by that of the faster MPI at this length; only ours has it
    spent: Spent | None = None


class FittedSegment(msgspec.Struct, frozen=True, kw_only=True):
    """Lengths on which one line fits: latency + words × time of a word, with intervals over the launches."""

    first_words: int
    last_words: int
    latency_seconds: float
    latency_low: float | None
    latency_high: float | None
    seconds_per_word: float
    bytes_per_second: float | None  # None: the time does not grow with the length
    rate_low: float | None
    rate_high: float | None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Between two lengths the time jumps by a factor, below 1 it falls; the interval is over launches."""

    below_words: int
    above_words: int
    factor: float
    low: float | None
    high: float | None


class Guideline(msgspec.Struct, frozen=True, kw_only=True):
    """A length at which an operation takes longer than something that does at least as much."""

    kind: str  # "larger is cheaper", "dearer than reduce and broadcast", …
    operation: str
    words: int
    other_words: int  # of what it is compared with
    factor: float  # its time by the other's, above 1
    low: float | None
    high: float | None
    rounds: int

    @property
    def cheaper(self) -> str:
        """What takes less time, of those that are not the same operation on more words: "all_reduce"."""
        return self.kind.removeprefix("dearer than ")

    @property
    def pair_of_calls(self) -> bool:
        """Whether that is a pair of calls that does the same."""
        return " and " in self.kind


class OperationCurve(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of one configuration at all lengths."""

    runtime: str  # the key of the colour
    label: str
    is_default: bool  # what one gets without setting anything
    operation: str
    points: tuple[LengthPoint, ...]
    segments: tuple[FittedSegment, ...] = ()
    steps: tuple[Step, ...] = ()
    guidelines: tuple[Guideline, ...] = ()


class Overall(msgspec.Struct, frozen=True, kw_only=True):
    """Our time by another's, as the geometric mean over all lengths."""

    operation: str
    against: str  # a runtime's key, or "the better MPI"
    ratio: Ratio
    lengths: int


class CollectiveAnalysis(Analysis, frozen=True, kw_only=True):
    """The collective study's findings."""

    PAGE: ClassVar[str] = "tautochrone.studies.collective.page"

    ranks: int
    curves: tuple[OperationCurve, ...]
    overall: tuple[Overall, ...] = ()
    remarks: tuple[str, ...] = ()  # every step, peak and broken guideline, a sentence each
    refined_words: tuple[int, ...] = ()
    clock_seconds: float | None = None  # what an operation that does nothing seems to take
    late: int = 0
    failed: tuple[str, ...] = ()


class CollectiveContext(StudyContext, kw_only=True):
    """Everything about a collective study that its rows do not hold."""

    refined: tuple[int, ...] = ()  # lengths that were added where curves step
