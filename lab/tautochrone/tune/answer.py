"""What ``tauto tune`` hands to the report, and what of a search its rows do not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec

from tautochrone.report.analysis import Analysis
from tautochrone.results.context import StudyContext
from tautochrone.results.spent import Spent
from tautochrone.verdicts import Ratio

Role = Literal["default", "winner", "finalist", "screened"]


class CandidateResult(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate. ``figure``: the median, of the final's rounds if it was there, as the program has it.

    ``ratio`` is its figure by the default's in the same rounds, with the verdict "faster" if that is better;
    None outside the final.
    """

    name: str
    words: str
    settings: Mapping[str, str]
    role: Role
    is_expert: bool
    figure: float | None
    written: str  # the figure for people
    low: float | None
    high: float | None
    rounds: int
    ratio: Ratio | None
    stopped: bool = False  # it took longer than 1.3 times the best, and no run of it was finished
    remark: str = ""  # why it left the race, or how it failed
    spent: Spent | None = None


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What one value of a knob does to the figure, all else equal: a factor, from a fit over all candidates.

    ``error`` is the standard error of the factor's logarithm; ``resolved`` where it is beyond two of them.
    """

    knob: str
    value: str
    factor: float
    error: float
    resolved: bool


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A knob that was tried or not, and the reason."""

    knob: str
    values: tuple[str, ...]
    because: str


class TuneAnalysis(Analysis, frozen=True, kw_only=True):
    """The answer of a search. ``settings`` of the winner; empty: leave it as it is."""

    PAGE: ClassVar[str] = "tautochrone.tune.page"

    program: str
    objective: str
    better: str  # "faster": what a ratio below 1 is
    unit: str  # heading of the figures: "time", "memory", …
    largest: bool = False  # whether a ratio above 1 is better
    winner: str
    settings: Mapping[str, str]
    candidates: tuple[CandidateResult, ...]
    effects: tuple[Effect, ...] = ()
    tried: tuple[Finding, ...] = ()
    left_out: tuple[Finding, ...] = ()
    looks: tuple[int, ...] = ()
    rounds: int = 0
    runs: int = 0
    ended: str = ""
    notices: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()  # what the kernel gave to the winner's processes, in one more run

    def of_role(self, role: Role) -> CandidateResult | None:
        return next((candidate for candidate in self.candidates if candidate.role == role), None)


SCHEMA = "tautochrone.tune/1"


class TuneContext(StudyContext, kw_only=True):
    """What is known of a search besides its rows; kept in study.json next to them."""

    schema: str = SCHEMA
    command: str = "tauto tune"
    program: tuple[str, ...] = ()
    arguments: tuple[tuple[str, ...], ...] = ()
    has_openmp: bool = False
    working_folder: str = ""  # where the command was started; empty: unknown
    mpi_launcher: str | None = None
    objective: str = "time"
    expert: str | None = None
    base: Mapping[str, str] = {}
    tried: tuple[Finding, ...] = ()
    left_out: tuple[Finding, ...] = ()
    finalists: tuple[str, ...] = ()  # config_ids; empty: the final is not planned yet
    looks: tuple[int, ...] = ()
    eliminated: Mapping[str, str] = {}
    most_candidates: int | None = None  # as many as were to be tried, by the request or for want of budget
    ended: str = ""
    seen: tuple[str, ...] = ()  # of the winner, in one more run: its processes, their threads and CPUs
