"""The loop study's findings, from its rows: everything that the report draws and says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tautochrone.measuring.sampler import CpuSampler
from tautochrone.results.row import Row
from tautochrone.results.states import by_state, state_suffix
from tautochrone.simulator.requests import TUNED
from tautochrone.studies import models
from tautochrone.studies.loop.cells import CellRuns, Contender, collect, report_cell, waiting_of
from tautochrone.studies.loop.claims import claims
from tautochrone.studies.loop.configurations import Candidate, StudyCell, configuration
from tautochrone.studies.loop.findings import (
    BandwidthPoint,
    ChunkPoint,
    CoresUsed,
    CpuLoad,
    LoopAnalysis,
    LoopContext,
    MissRatio,
)
from tautochrone.studies.loop.first import first_screen
from tautochrone.studies.loop.sentences import settings_to_paste, verdict_sentences
from tautochrone.studies.request import Times
from tautochrone.studies.states import StateExecutor


def analyse(rows: Iterable[Row], machine: Mapping[str, Any], context: LoopContext) -> LoopAnalysis:
    """The analysis of rows of the study (measured and screening). Linear in the number of rows.

    ``machine`` is a record of tautochrone.machine/1: its triad gives the share of the memory's bandwidth.
    """
    cells = collect(rows)
    misses = tuple(_miss_ratios(cells))
    counters = machine.get("counters") or {}
    settings = settings_to_paste(cells)
    kinds = {str(cpu.get("kind")) for cpu in machine.get("cpus") or ()}
    return LoopAnalysis(
        verdict_sentences=verdict_sentences(cells),
        cells=tuple(report_cell(cell) for cell in cells),
        kernel=cells[0].kernel if cells else TUNED,
        chunk_series=tuple(_chunk_points(cells)),
        bandwidth=tuple(_bandwidth(cells, machine)),
        cpu_load=context.cpu_load,
        cores_used=tuple(_cores_used(cells)),
        miss_ratios=misses or None,
        miss_ratios_reason=None if misses else _no_counters_reason(cells),
        miss_ratios_remedy=None if misses else counters.get("remedy") or None,
        first=first_screen(cells, settings),
        settings_to_paste=settings,
        claims=claims(cells, hybrid=len(kinds) > 1),
        **context.reported,
    )


def _chunk_points(cells: Sequence[CellRuns]) -> Iterator[ChunkPoint]:
    """Schedules that hand out chunks, over all cores with the default wait policy, screened ones included."""
    for cell in cells:
        for contender in cell.contenders:
            chunk, seconds = contender.chunk, contender.any_seconds
            where = contender.placement, contender.wait
            if chunk is None or seconds is None or where != ("all", "default"):
                continue
            yield ChunkPoint(
                runtime=contender.peer,
                schedule=contender.schedule,
                chunk=chunk,
                size=cell.size,
                emulated=cell.emulated,
                seconds=seconds,
                low=contender.low,
                high=contender.high,
            )


def _shown(cells: Sequence[CellRuns]) -> Iterator[tuple[CellRuns, Contender]]:
    """The few contenders whose bandwidth and cores are shown: ours, the best, the defaults."""
    for cell in cells:
        for contender in cell.finalists:
            if contender is cell.ours or contender is cell.best_peer or contender.is_default:
                yield cell, contender


def _bandwidth(cells: Sequence[CellRuns], machine: Mapping[str, Any]) -> Iterator[BandwidthPoint]:
    triad = _triad(machine)
    for cell, contender in _shown(cells):
        read, seconds = contender.detail.get("bytes_per_iteration"), contender.seconds
        if not read or seconds is None:
            continue
        # that really took part
        members = int(contender.detail.get("width") or len(contender.workers) or contender.threads)
        limit = triad.get(members)
        yield BandwidthPoint(
            configuration=contender.label,
            runtime=contender.peer,
            size=cell.size,
            emulated=cell.emulated,
            members=members,
            bytes_per_second=models.bytes_per_second(float(read), seconds),
            triad_share=models.triad_share(float(read), seconds, limit) if limit else None,
        )


def _triad(machine: Mapping[str, Any]) -> dict[int, float]:
    """Members → bytes per second."""
    measured = machine.get("measured") or {}
    return {
        int(point["members"]): float(point["bytes_per_second"])
        for point in measured.get("triad") or ()
        if point.get("bytes_per_second")
    }


def _cores_used(cells: Sequence[CellRuns]) -> Iterator[CoresUsed]:
    """In each cell for ours and the fastest other: asked for, and where the rows were really computed."""
    for cell, contender in _shown(cells):
        rows_of: Counter[int] = Counter()
        for worker in contender.workers:
            rows_of[int(worker["cpu"])] += int(worker["rows"])
        asked, total = contender.config["cpus"], rows_of.total()
        idle = ", ".join(str(cpu) for cpu in asked if not rows_of[cpu])
        yield CoresUsed(
            configuration=f"{contender.label}, n = {cell.size}{state_suffix(cell.emulated)}",
            runtime=contender.peer,
            asked=contender.config.get("cores") or {},
            asked_cpus=tuple(asked),
            ran_on_cpus=tuple(sorted(cpu for cpu, rows in rows_of.items() if rows)),
            rows_share={str(cpu): rows / total for cpu, rows in sorted(rows_of.items())} if total else {},
            note=f"left out CPU {idle}: it did not pay" if contender.detail.get("dropped") and idle else None,
        )


def _miss_ratios(cells: Sequence[CellRuns]) -> Iterator[MissRatio]:
    for cell in cells:
        for contender in cell.finalists:
            counters = contender.last.counters if contender.last is not None else None
            if not counters:
                continue
            yield MissRatio(
                configuration=contender.label,
                runtime=contender.peer,
                size=cell.size,
                emulated=cell.emulated,
                cache_miss_ratio=_share(counters, "cache_misses", "cache_references"),
                llc_load_miss_ratio=_share(counters, "llc_load_misses", "llc_loads"),
            )


def _share(counters: Mapping[str, Any], part: str, whole: str) -> float | None:
    if counters.get(part) is None or not counters.get(whole):
        return None
    return float(counters[part]) / float(counters[whole])


def _no_counters_reason(cells: Sequence[CellRuns]) -> str | None:
    lasts = (contender.last for cell in cells for contender in cell.contenders)
    return next((last.counters_reason for last in lasts if last is not None and last.counters_reason), None)


# -- the load of each CPU over time, from longer runs of a few configurations after all rounds --

_SAMPLED_SECONDS = 0.8
_TIME_LIMIT_SECONDS = 60.0


def sample_loads(
    cells: Sequence[CellRuns], studied: Sequence[StudyCell], executor: StateExecutor, times: Times
) -> tuple[list[CpuLoad], float]:
    """The load samples of the chosen runs, and the CPU seconds that taking them cost.

    Of each state of the machine the middle one of its sizes.
    A run that fails is left out: its rounds have been measured, and the samples only illustrate them.
    """
    loads: list[CpuLoad] = []
    cost = 0.0
    with_ours = sorted((cell for cell in cells if cell.ours is not None), key=lambda cell: cell.size)
    for of_state in by_state(with_ours).values():
        runs = of_state[len(of_state) // 2]
        emulated = {int(cpu): factor for cpu, factor in runs.emulated.items()}
        cell = next(one for one in studied if one.size == runs.size and dict(one.state) == emulated)
        cpus = sorted(cpu.number for cpu in cell.layout.fast + cell.layout.slow)
        for candidate in _sampled_candidates(cell, runs):
            longer = configuration(cell, candidate, times, duration_seconds=_SAMPLED_SECONDS)
            with CpuSampler(cpus) as sampled:
                result = executor.run(longer, _TIME_LIMIT_SECONDS)
            cost += sampled.sampler_cpu_seconds
            if result.error is None and sampled.samples:
                loads.append(
                    CpuLoad(
                        configuration=candidate.label,
                        runtime=candidate.peer,
                        size=runs.size,
                        emulated=runs.emulated,
                        samples=tuple(sampled.samples),
                        waiting=waiting_of(result.record),
                    )
                )
    return loads, cost


def _sampled_candidates(cell: StudyCell, runs: CellRuns) -> Iterator[Candidate]:
    """A plain loop, the best of the others, and ours: once each."""
    wanted = (runs.plain_openmp, runs.best_peer, runs.ours)
    candidates = {candidate.label: candidate for candidate in cell.candidates}
    for label in dict.fromkeys(contender.label for contender in wanted if contender is not None):
        if label in candidates:
            yield candidates[label]
