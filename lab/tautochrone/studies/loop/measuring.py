"""The runs of the loop study: configurations as commands, and the state of the machine that each needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.executor import Executor, RunResult
from tautochrone.row import Row
from tautochrone.runners import PeerState
from tautochrone.studies.loop.configurations import Candidate, candidates, group_name
from tautochrone.studies.loop.placements import Cpu, Layout, layout
from tautochrone.studies.loop.request import Emulation, LoopRequest

_RESUME_TRIES = 12
_START_SECONDS = 0.03  # a process, its libraries, its threads
_PASSES_OVER_THE_MATRIX = 10.0  # filling it once, the solve that is checked, the accounting pass
_MATRIX_BYTES_PER_SECOND = 4e9


@dataclass(frozen=True, slots=True)
class Times:
    """How long a run warms up and is timed, and in how many rounds; the same for the screening."""

    warmup_seconds: float
    timed_seconds: float
    rounds: int
    screening: Times | None = None


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
    asked: list[Emulation] = [{}, *(one for one in emulations if one)]
    cells: list[StudyCell] = []
    for emulation in asked:
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
    slowed = "".join(f", CPU {cpu} {factor:g}× slower" for cpu, factor in sorted(cell.emulation.items()))
    arguments = candidate.arguments(cell.size, times.warmup_seconds, times.timed_seconds)
    if duration_seconds is not None:
        arguments += ["--duration", f"{duration_seconds:g}"]
    return Configuration(
        name=f"{candidate.label}, n = {cell.size}{slowed}",
        command=[str(candidate.state.path), *arguments],
        environment=candidate.state.environment,
        settings=candidate.settings(cell.size, cell.emulation),
        group=cell.group,
    )


def estimated_run_seconds(size: int, times: Times) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    passes = _PASSES_OVER_THE_MATRIX * 4.0 * size * size / _MATRIX_BYTES_PER_SECOND
    return _START_SECONDS + times.warmup_seconds + times.timed_seconds + passes


class Slowdown(Protocol):
    """Some CPUs made slower, switched on and off without calibrating again."""

    @property
    def factors(self) -> Mapping[int, float]:
        """CPU → how many times slower it really is."""
        ...

    def pause(self) -> None:
        """The CPUs are as they are, once this returns."""
        ...

    def resume(self) -> None:
        """The CPUs are slow, once this returns."""
        ...


class StateExecutor:
    """An executor that brings the machine into the state that a configuration needs before it runs.

    One slowdown a state lives as long as the study; all but the one that is needed are paused, so the others'
    threads sleep. Configurations of one group come together, so the state seldom changes.
    """

    def __init__(self, inner: Executor, slowdowns: Mapping[str, Slowdown]) -> None:
        self._inner = inner
        self._slowdowns = slowdowns
        self._current: str | None = None

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Switch the machine's state if needed, then run."""
        self.enter_state(state_key(configuration.settings["emulated"]))
        return self._inner.run(configuration, time_limit)

    def factors(self) -> dict[str, dict[str, float]]:
        """For each state the factor that calibration reached on each slowed CPU."""
        return {
            key: {str(cpu): factor for cpu, factor in slowdown.factors.items()}
            for key, slowdown in self._slowdowns.items()
        }

    def enter_state(self, key: str) -> None:
        """Pause what is on, then resume what is needed; the empty state needs nothing."""
        if key == self._current:
            return
        if self._current:
            self._slowdowns[self._current].pause()
        self._current = None
        if key:
            _resume(self._slowdowns[key])
        self._current = key


def _resume(slowdown: Slowdown) -> None:
    """Resume; while another emulation holds the CPU (each try waits some seconds for it), try again."""
    for _ in range(_RESUME_TRIES - 1):
        with suppress(TautoError):
            return slowdown.resume()
    return slowdown.resume()


def state_key(emulated: object) -> str:
    """{"1": 4.0} → "1:4"; the machine as it is → ""."""
    assert isinstance(emulated, Mapping)
    return "+".join(f"{cpu}:{factor:g}" for cpu, factor in sorted(emulated.items()))


def is_serial(row: Row) -> bool:
    """True for the rows whose answer is the reference."""
    return bool(row["config"]["runtime"] == "serial")


def sums_in_its_own_order(row: Row) -> bool:
    """True for OpenBLAS: its answer is checked by norms in the runner, its bits differ rightly."""
    return bool(row["config"]["runtime"] == "openblas")
