"""The load of each CPU over time, from a longer run of a few configurations after all rounds are measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone.configuration import Configuration
from tautochrone.report.loop.analysis_types import CpuLoad, CpuSample
from tautochrone.sampler import CpuSampler, SampledLoad
from tautochrone.studies.loop.cells import CellRuns, Contender
from tautochrone.studies.loop.measuring import StudyCell, configuration
from tautochrone.studies.options import Times
from tautochrone.studies.slowdowns import StateExecutor

RUN_SECONDS = 1.2
_TIME_LIMIT_SECONDS = 60.0


def chosen(runs: CellRuns) -> list[Contender]:
    """A plain loop, the best of the others, and ours: once each."""
    wanted = (runs.plain_openmp, runs.best_peer, runs.ours)
    return list({one.label: one for one in wanted if one is not None}.values())


def cells_to_sample(cells: Sequence[CellRuns]) -> list[CellRuns]:
    """One cell for each state of the machine: the middle one of its sizes."""
    states: dict[tuple[tuple[str, float], ...], list[CellRuns]] = {}
    for cell in sorted(cells, key=lambda one: one.size):
        if cell.ours is not None:
            states.setdefault(tuple(sorted(cell.emulated.items())), []).append(cell)
    return [of_state[len(of_state) // 2] for of_state in states.values()]


def sample_loads(
    cells: Sequence[CellRuns], studied: Sequence[StudyCell], executor: StateExecutor, times: Times
) -> tuple[list[CpuLoad], float]:
    """The load samples of the chosen runs, and the CPU seconds that taking them cost.

    A run that fails is left out: its rounds have been measured, and the samples only illustrate them.
    """
    loads: list[CpuLoad] = []
    cost = 0.0
    for runs, contender, longer in _runs(cells, studied, times):
        with CpuSampler(_usable(studied, runs)) as sampled:
            result = executor.run(longer, _TIME_LIMIT_SECONDS)
        cost += sampled.sampler_cpu_seconds
        if result.error is None and sampled.samples:
            loads.append(_load(runs, contender, sampled))
    return loads, cost


def _runs(
    cells: Sequence[CellRuns], studied: Sequence[StudyCell], times: Times
) -> Iterator[tuple[CellRuns, Contender, Configuration]]:
    for runs in cells_to_sample(cells):
        cell = _studied(studied, runs)
        for contender in chosen(runs):
            candidate = next((one for one in cell.candidates if one.label == contender.label), None)
            if candidate is not None:
                yield runs, contender, configuration(cell, candidate, times, duration_seconds=RUN_SECONDS)


def _studied(studied: Sequence[StudyCell], runs: CellRuns) -> StudyCell:
    emulated = {int(cpu): factor for cpu, factor in runs.emulated.items()}
    return next(cell for cell in studied if cell.size == runs.size and dict(cell.emulation) == emulated)


def _usable(studied: Sequence[StudyCell], runs: CellRuns) -> list[int]:
    layout = _studied(studied, runs).layout
    return sorted(cpu.number for cpu in layout.fast + layout.slow)


def _load(runs: CellRuns, contender: Contender, sampled: SampledLoad) -> CpuLoad:
    samples = tuple(
        CpuSample(cpu=one.cpu, seconds=one.seconds, busy=one.busy, hertz=one.hertz) for one in sampled.samples
    )
    return CpuLoad(
        configuration=contender.label,
        runtime=contender.peer,
        size=runs.size,
        emulated=runs.emulated,
        samples=samples,
    )
