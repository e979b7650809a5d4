"""The loop study's findings, from its rows: everything that the report draws and says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tautochrone import models
from tautochrone.report.loop.analysis_types import (
    BandwidthPoint,
    ChunkPoint,
    CoresUsed,
    LoopAnalysis,
    MissRatio,
)
from tautochrone.row import Row
from tautochrone.statistics import median_interval
from tautochrone.studies.loop.cells import CellRuns, Contender, collect, report_cell
from tautochrone.studies.loop.claims import claims
from tautochrone.studies.loop.context import LoopContext
from tautochrone.studies.loop.paste import settings_to_paste
from tautochrone.studies.loop.sentences import verdict_sentences


def analyse(rows: Iterable[Row], machine: Mapping[str, Any], context: LoopContext) -> LoopAnalysis:
    """The analysis of rows of the study (measured and screening). Linear in the number of rows.

    ``machine`` is a record of tautochrone.machine/1: its triad gives the share of the memory's bandwidth.
    """
    cells = collect(rows)
    misses = tuple(_miss_ratios(cells))
    reason = _no_counters_reason(cells)
    return LoopAnalysis(
        verdict_sentences=verdict_sentences(cells),
        cells=tuple(report_cell(cell) for cell in cells),
        chunk_series=tuple(_chunk_points(cells)),
        bandwidth=tuple(_bandwidth(cells, machine)),
        cpu_load=context.cpu_load,
        cores_used=tuple(_cores_used(cells)),
        miss_ratios=misses or None,
        miss_ratios_reason=None if misses else reason,
        miss_ratios_remedy=None if misses else _counters_remedy(machine),
        settings_to_paste=settings_to_paste(cells),
        peers=context.peers,
        not_measured=context.not_measured,
        claims=claims(cells, hybrid=_is_hybrid(machine)),
        commands=context.commands,
        advice=(*context.machine_advice, *context.notices),
        quick=context.quick,
    )


def _is_hybrid(machine: Mapping[str, Any]) -> bool:
    return len({str(cpu.get("kind")) for cpu in machine.get("cpus") or ()}) > 1


def _chunk_points(cells: Sequence[CellRuns]) -> Iterator[ChunkPoint]:
    """Schedules that hand out chunks, over all cores with the default wait policy, screened ones included."""
    for cell in cells:
        for one in cell.contenders:
            if one.chunk is None or one.placement != "all" or one.wait != "default":
                continue
            if one.any_seconds is None:
                continue
            points = list(one.by_round.values())
            interval = median_interval(points) if points else None
            yield ChunkPoint(
                runtime=one.peer,
                schedule=one.schedule,
                chunk=one.chunk,
                size=cell.size,
                emulated=cell.emulated,
                seconds=one.any_seconds,
                low=interval.low if interval is not None else None,
                high=interval.high if interval is not None else None,
            )


def _shown(cell: CellRuns) -> list[Contender]:
    """The few contenders whose bandwidth, cores and misses are shown: ours, the best, the defaults."""
    best = cell.best_peer
    return [one for one in cell.finalists if one is cell.ours or one is best or one.is_default]


def _bandwidth(cells: Sequence[CellRuns], machine: Mapping[str, Any]) -> Iterator[BandwidthPoint]:
    triad = _triad(machine)
    for cell in cells:
        for one in _shown(cell):
            read = (one.last or {}).get("detail", {}).get("bytes_per_iteration")
            if not read or one.seconds is None:
                continue
            members = _width(one)
            limit = triad.get(members)
            yield BandwidthPoint(
                configuration=one.label,
                runtime=one.peer,
                size=cell.size,
                emulated=cell.emulated,
                members=members,
                bytes_per_second=models.bytes_per_second(float(read), one.seconds),
                triad_share=models.triad_share(float(read), one.seconds, limit) if limit else None,
            )


def _triad(machine: Mapping[str, Any]) -> dict[int, float]:
    measured = machine.get("measured") or {}
    return {
        int(point["members"]): float(point["bytes_per_second"])
        for point in measured.get("triad") or ()
        if point.get("bytes_per_second")
    }


def _width(one: Contender) -> int:
    """How many members really took part."""
    last = one.last or {}
    workers = last.get("workers") or ()
    return int(last.get("detail", {}).get("width") or len(workers) or one.config["threads"])


def _cores_used(cells: Sequence[CellRuns]) -> Iterator[CoresUsed]:
    """In each cell for ours and the fastest other: asked for, and where the rows were really computed."""
    for cell in cells:
        for one in _shown(cell):
            workers = (one.last or {}).get("workers") or ()
            rows_of: dict[int, int] = {}
            for worker in workers:
                rows_of[int(worker["cpu"])] = rows_of.get(int(worker["cpu"]), 0) + int(worker["rows"])
            total = sum(rows_of.values())
            dropped = (one.last or {}).get("detail", {}).get("dropped")
            idle = [cpu for cpu in one.config["cpus"] if not rows_of.get(cpu)]
            yield CoresUsed(
                configuration=f"{one.label}, n = {cell.size}{_slowed(cell)}",
                runtime=one.peer,
                asked=one.config.get("cores") or {},
                asked_cpus=tuple(one.config["cpus"]),
                ran_on_cpus=tuple(sorted(cpu for cpu, rows in rows_of.items() if rows)),
                rows_share={str(cpu): rows / total for cpu, rows in sorted(rows_of.items())} if total else {},
                note=f"left out CPU {', '.join(map(str, idle))}: it did not pay"
                if dropped and idle
                else None,
            )


def _slowed(cell: CellRuns) -> str:
    return "".join(f", CPU {cpu} {factor:g}× slower" for cpu, factor in sorted(cell.emulated.items()))


def _share(counters: Mapping[str, Any], part: str, whole: str) -> float | None:
    if counters.get(part) is None or not counters.get(whole):
        return None
    return float(counters[part]) / float(counters[whole])


def _miss_ratios(cells: Sequence[CellRuns]) -> Iterator[MissRatio]:
    for cell in cells:
        for one in cell.finalists:
            counters = (one.last or {}).get("counters")
            if not counters:
                continue
            yield MissRatio(
                configuration=one.label,
                runtime=one.peer,
                size=cell.size,
                emulated=cell.emulated,
                cache_miss_ratio=_share(counters, "cache_misses", "cache_references"),
                llc_load_miss_ratio=_share(counters, "llc_load_misses", "llc_loads"),
            )


def _no_counters_reason(cells: Sequence[CellRuns]) -> str | None:
    for cell in cells:
        for one in cell.contenders:
            reason = (one.last or {}).get("counters_reason")
            if reason:
                return str(reason)
    return None


def _counters_remedy(machine: Mapping[str, Any]) -> str | None:
    remedy = (machine.get("counters") or {}).get("remedy")
    return str(remedy) if remedy else None
