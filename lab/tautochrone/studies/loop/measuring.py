"""The runs of the loop study: configurations as commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tautochrone.configuration import Configuration
from tautochrone.row import Row
from tautochrone.runners import PeerState
from tautochrone.studies.loop.configurations import Candidate, candidates, group_name
from tautochrone.studies.loop.request import LoopRequest
from tautochrone.studies.options import Emulation, Times
from tautochrone.studies.placements import Cpu, Layout, layout
from tautochrone.studies.preparing import states_of
from tautochrone.studies.runner_setup import slowed_words

_START_SECONDS = 0.03  # a process, its libraries, its threads
_PASSES_OVER_THE_MATRIX = 10.0  # filling it once, the solve that is checked, the accounting pass
_MATRIX_BYTES_PER_SECOND = 4e9

QUICK = Times(0.03, 0.06, 12, screening=Times(0.01, 0.02, 1))
FULL = Times(0.05, 0.1, 15, screening=Times(0.03, 0.06, 2))


def times_of(request: LoopRequest) -> Times:
    """The times that were asked for, or those of the kind of study."""
    kind = QUICK if request.quick else FULL
    return replace(kind, rounds=request.rounds or kind.rounds)


@dataclass(frozen=True, slots=True)
class StudyCell:
    """One size on one state of the machine, and all that is compared there."""

    size: int
    emulation: Emulation
    layout: Layout
    candidates: tuple[Candidate, ...]

    @property
    def group(self) -> str:
        """The name of the group that its rows are compared in."""
        return group_name(self.size, self.emulation)


def study_cells(
    request: LoopRequest,
    sizes: Sequence[int],
    emulations: Sequence[Emulation],
    cpus: Sequence[Cpu],
    usable_members: int | None,
    states: Sequence[PeerState],
) -> list[StudyCell]:
    """Every size on every state of the machine; the machine as it is comes first and is always there."""
    cells: list[StudyCell] = []
    for emulation in states_of(emulations):
        seen_by_cell = layout(cpus, emulation, usable_members)
        found = candidates(
            states,
            seen_by_cell,
            request.chunks,
            placements=request.placements,
            threads=request.threads,
            quick=request.quick,
        )
        cells += [StudyCell(size, emulation, seen_by_cell, tuple(found)) for size in sizes]
    return cells


def configuration(
    cell: StudyCell, candidate: Candidate, times: Times, duration_seconds: float | None = None
) -> Configuration:
    """A candidate in a cell as something to measure, or with a duration as something to watch."""
    arguments = candidate.arguments(cell.size, times)
    if duration_seconds is not None:
        arguments += ["--duration", f"{duration_seconds:g}"]
    return Configuration(
        name=f"{candidate.label}, n = {cell.size}{slowed_words(cell.emulation)}",
        command=[str(candidate.state.path), *arguments],
        environment=candidate.state.environment,
        settings=candidate.settings(cell.size, cell.emulation),
        group=cell.group,
    )


def estimated_run_seconds(size: int, times: Times) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    passes = _PASSES_OVER_THE_MATRIX * 4.0 * size * size / _MATRIX_BYTES_PER_SECOND
    return _START_SECONDS + times.warmup_seconds + times.timed_seconds + passes


def sums_in_its_own_order(row: Row) -> bool:
    """True for OpenBLAS: its answer is checked by norms in the runner, its bits differ rightly."""
    return bool(row["config"]["runtime"] == "openblas")
