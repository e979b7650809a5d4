"""A study that says what it runs, and no more: cells, verdict and page are the same for all such studies.

For experiments that ask which way takes the least time, and by how much: a work is done in several ways, one
of which is the reference. A study with findings of its own is a `Study` instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from tautochrone import text, verdicts
from tautochrone.machine.runners import PeerState
from tautochrone.options import State
from tautochrone.report.analysis import Analysis
from tautochrone.results.context import StudyContext
from tautochrone.results.row import Row
from tautochrone.results.runs import pairs
from tautochrone.results.states import state_suffix, state_title
from tautochrone.studies import row_types
from tautochrone.studies.cells import Contender, Measured, contenders_of, measured_fields
from tautochrone.studies.request import SlowingRequest, peers_option
from tautochrone.studies.setup import RunnerSetup, joined_label
from tautochrone.studies.study import Run, Study
from tautochrone.verdicts import Ratio, as_ratio

REFERENCE = "serial"
"""The schedule of the runs that all others are compared with, and whose answer is right."""


class PlainConfiguration(Measured, frozen=True, kw_only=True):
    """One way to do a work. ``to_reference``: its time by the reference's in the same rounds."""

    threads: int
    is_reference: bool
    to_reference: Ratio


class PlainCell(msgspec.Struct, frozen=True, kw_only=True):
    """One work in one state of the machine; the ways to do it are sorted by their time, failed ones last."""

    work: str
    emulated: Mapping[str, float]  # CPU → how many times slower it was made
    configurations: tuple[PlainConfiguration, ...]


class PlainAnalysis(Analysis, frozen=True, kw_only=True):
    """What rows of a plain study tell."""

    PAGE: ClassVar[str] = "tautochrone.studies.plain.page"

    cells: tuple[PlainCell, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRequest(SlowingRequest):
    """The options of every plain study. A subclass adds its own, and says where its rows go."""

    peers: Annotated[
        tuple[str, ...] | None, peers_option("The peers to measure. Default: all that are here.")
    ] = None


Asked = TypeVar("Asked", bound=PlainRequest)


class WorkConfig(row_types.Config, kw_only=True):
    """What such a study reads of a row's ``config``."""

    work: str
    emulated: dict[row_types.CpuWord, row_types.Factor]


class PlainStudy(Study[Asked, StudyContext, PlainAnalysis]):
    """A subclass names its runners (PEERS), how long they run (QUICK, FULL), and the runs."""

    CONTEXT = StudyContext
    ROWS = row_types.RowTypes(config=WorkConfig)

    @property
    def work(self) -> str:
        return "; ".join(dict.fromkeys(str(run.configuration.settings["work"]) for run in self.runs()))

    def one_run(
        self,
        peer: PeerState,
        schedule: str,
        work: str,
        arguments: Sequence[str],
        *,
        threads: int,
        state: State,
        seconds: float,
    ) -> Run:
        """A way to do `work`: what `arguments` ask the peer's runner for. `seconds`: a run's rough time."""
        setup = RunnerSetup(
            state=peer, schedule=schedule, placement=self.layout(state).placement("cores", threads)
        )
        suffix = state_suffix(state)
        configuration = setup.configuration(
            f"{work}, {_label(setup.peer, schedule, threads)}{suffix}",
            f"{work}{suffix}",
            self.times,
            arguments=arguments,
            settings={"work": work},
            emulation=state,
        )
        return Run(setup, configuration, seconds)

    def is_reference(self, row: Row) -> bool:
        return bool(row.config["schedule"] == REFERENCE)

    @classmethod
    def analyse(cls, rows: Sequence[Row], machine: Mapping[str, Any], context: StudyContext) -> PlainAnalysis:
        """The cells, and a sentence on the fastest way in each. Linear in the number of rows."""
        cells = tuple(_cells(rows))
        return PlainAnalysis(verdict_sentences=tuple(_sentences(cells)), cells=cells, **context.reported)


class _Way(Contender):
    @property
    def label(self) -> str:
        return _label(self.peer, self.schedule, self.threads)


def _label(peer: str, schedule: str, threads: int) -> str:
    return joined_label(peer, schedule, text.count(threads, "thread"))


def _cells(rows: Sequence[Row]) -> Iterator[PlainCell]:
    def cell_of(row: Row) -> tuple[str, str]:
        return str(row.config["work"]), str(sorted(row.config["emulated"].items()))

    for ways in contenders_of(rows, cell_of, _Way).values():
        reference = next((way for way in ways if way.schedule == REFERENCE), None)
        longest = max((way.seconds or 0.0 for way in ways), default=0.0)
        found = [
            PlainConfiguration(
                **measured_fields(way, longest),
                threads=way.threads,
                is_reference=way is reference,
                to_reference=_compared(way, reference, len(ways) - 1),
            )
            for way in ways
        ]
        found.sort(key=lambda way: float("inf") if way.seconds is None else way.seconds)
        config = ways[0].config
        yield PlainCell(work=config["work"], emulated=config["emulated"], configurations=tuple(found))


def _compared(way: _Way, reference: _Way | None, comparisons: int) -> Ratio:
    """Judged as one of all comparisons in its cell, because the fastest is picked among them."""
    if reference is None or way is reference:
        return as_ratio(verdicts.compare([]))
    return as_ratio(verdicts.compare(pairs(way, reference), comparisons=max(1, comparisons)))


def _sentences(cells: Sequence[PlainCell]) -> Iterator[str]:
    """One sentence a cell; what would make it false is the interval that it names."""
    if not cells:
        yield "On this machine nothing was measured yet."
    for number, cell in enumerate(cells):
        slowed = f" with {state_title(cell.emulated)}" if cell.emulated else ""
        work = cell.work if number == 0 else cell.work[:1].upper() + cell.work[1:]
        yield f"{'' if number else 'On this machine, '}{work}{slowed}: {_verdict(cell)}."


def _verdict(cell: PlainCell) -> str:
    reference = next((way for way in cell.configurations if way.is_reference), None)
    judged = [way for way in cell.configurations if way.to_reference.low is not None]
    if reference is None or reference.seconds is None:
        return "there is no verdict, because no run of the reference succeeded"
    if not judged:
        rounds = min(way.rounds for way in cell.configurations)
        needed = verdicts.rounds_needed(comparisons=len(cell.configurations) - 1)
        return f"there is no verdict yet: {rounds} complete rounds are fewer than the {needed} that it needs"
    best = judged[0]
    if best.to_reference.verdict == verdicts.NO_DIFFERENCE:
        bound = text.unresolved(best.to_reference)
        return f"no difference between {best.label} and {reference.label} is resolved ({bound})"
    evidence = text.count(best.to_reference.rounds, "round")
    words = text.less_time(best.to_reference, than=f"with {reference.label}", evidence=evidence)
    if best.to_reference.verdict == verdicts.SLOWER:
        return f"nothing is faster than {reference.label}; the next is {best.label}: {words}"
    return f"{best.label} is the fastest: {words}"
