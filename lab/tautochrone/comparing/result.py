"""What a comparison found, as plain data: one reference, its rivals, each with figures and intervals."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tautochrone import verdicts
from tautochrone.results.context import StudyContext
from tautochrone.verdicts import Ratio, Verdict

RESULT_SCHEMA = "tautochrone.compared/1"
CONTEXT_SCHEMA = "tautochrone.compare-context/1"

FIGURES: Mapping[str, str] = {
    "seconds": "time",
    "cpu_seconds": "CPU time",
    "max_rss_bytes": "peak memory",
    "switches": "context switches",
    "faults": "page faults",
    "joules": "energy",
    "instructions": "instructions",
    "cycles": "cycles",
    "branch_misses": "branch misses",
    "cache_misses": "cache misses",
}
"""The figures of a run beside the one that is compared, and their names for people."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One of the commands: its name, its words, and where it runs (empty: in the lab's own folder)."""

    name: str
    words: tuple[str, ...]
    folder: str = ""


class CompareContext(StudyContext, kw_only=True):
    """What a comparison knows beside its rows."""

    schema: str = CONTEXT_SCHEMA
    commands_compared: tuple[Asked, ...] = ()
    objective: str = "time"
    looks: tuple[int, ...] = ()
    precision: float = 0.01
    start_seconds: Mapping[str, float] = {}  # what starting each command costs, where it was asked for
    own_seconds: Mapping[str, float | None] = {}  # what each takes by itself; None where it cannot be told
    remarks: tuple[str, ...] = ()  # of the runs before the first round
    ended: str = ""
    usual_seconds: Mapping[str, float] = {}  # of a run, by name, before the first round


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One command: its medians (None: not told), and its ratio to the reference's by figure.

    `figure` is what is compared, in the unit of the objective; `low` and `high` bound its median (95 %).
    `points` are its values in the order of the rounds, `others` the medians of `FIGURES`. The reference has
    no ratios. `own_seconds`: from the begin of `main` to the exit, a median of runs before the first round.
    """

    name: str
    words: tuple[str, ...]
    figure: float | None
    low: float | None
    high: float | None
    points: tuple[float, ...] = ()
    others: Mapping[str, float | None] = {}
    ratio: Ratio | None = None
    ratios: Mapping[str, Ratio] = {}
    error: str = ""
    start_seconds: float | None = None
    own_seconds: float | None = None
    runs: int = 0

    @property
    def verdict(self) -> Verdict:
        return self.ratio.verdict if self.ratio is not None else verdicts.NOT_MEASURED


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer. The first of `sides` is the reference; ratios are rival / reference.

    `answer` is one sentence; `remarks` are what stood in the way; `less` are the words for a ratio below and
    above 1, `confidence` that of all verdicts together.
    """

    schema: str = RESULT_SCHEMA
    answer: str
    sides: tuple[Side, ...]
    objective: str
    less: tuple[str, str]
    rounds: int
    looks: tuple[int, ...]
    confidence: float
    remarks: tuple[str, ...] = ()
    folder: str = ""

    @property
    def reference(self) -> Side:
        return self.sides[0]

    @property
    def rivals(self) -> tuple[Side, ...]:
        return self.sides[1:]

    @property
    def told(self) -> bool:
        """Whether each rival has a verdict or a bound on the difference."""
        return all(side.verdict != verdicts.NOT_MEASURED for side in self.rivals)
