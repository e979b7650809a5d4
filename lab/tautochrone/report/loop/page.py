"""What only the loop study's page has: its scoreboard, its charts, its table of configurations."""

from __future__ import annotations

import json

from tautochrone.report import spent, text
from tautochrone.report.figure import verdict_counts
from tautochrone.report.loop import charts, datasets, figures
from tautochrone.report.loop.analysis_types import Cell, LoopAnalysis
from tautochrone.report.palette import runtime_key
from tautochrone.report.parts import Column, Filter, Parts
from tautochrone.report.tables import Record

_FIRST_COLUMNS: tuple[Column, ...] = (
    ("size", "n", "number"),
    ("situation", "machine", "situation"),
    ("runtime", "runtime", "runtime"),
    ("schedule", "schedule", "text"),
    ("chunk", "chunk", "number"),
    ("placement", "placement", "text"),
    ("cores", "cores", "text"),
    ("wait", "wait", "text"),
    ("seconds", "median", "time"),
    ("low", "interval", "interval"),
    ("relative", "× best", "relative"),
)
_LAST_COLUMNS: tuple[Column, ...] = (
    ("rounds", "rounds", "number"),
    ("status", "status", "status"),
)


def parts(analysis: LoopAnalysis) -> Parts:
    """The page's parts from an analysis."""
    data = datasets.build(analysis)
    specifications = charts.build(data)
    records = _configuration_records(analysis, data)
    return Parts(
        template="loop.html.j2",
        tables=data.tables,
        charts=specifications,
        figures=figures.build(analysis, data, specifications),
        situations=data.situations,
        runtimes=data.runtimes,
        configurations=records,
        columns=(*_FIRST_COLUMNS, *spent.columns(records), *_LAST_COLUMNS),
        filters=_filters(data),
        more={
            "scoreboard": _scoreboard(analysis, data),
            "counts": verdict_counts(cell.ratio for cell in analysis.cells),
            "sizes": data.sizes,
        },
    )


def _filters(data: datasets.Datasets) -> list[Filter]:
    """One cell at first: times of different sizes in one list say nothing."""
    places = [(index, text.situation(emulated)) for index, emulated in enumerate(data.situations)]
    return [
        Filter("size", "Size", [(size, str(size)) for size in data.sizes], max(data.sizes, default="")),
        Filter("situation", "Machine", places, len(places) - 1 if places else ""),
    ]


def _scoreboard(analysis: LoopAnalysis, data: datasets.Datasets) -> list[tuple[str, list[Cell | None]]]:
    """One line a situation, one cell a size; None where that pair was not studied."""
    by_place = {(json.dumps(dict(cell.emulated), sort_keys=True), cell.size): cell for cell in analysis.cells}
    return [
        (
            text.situation(emulated),
            [by_place.get((json.dumps(emulated, sort_keys=True), size)) for size in data.sizes],
        )
        for emulated in data.situations
    ]


def _configuration_records(analysis: LoopAnalysis, data: datasets.Datasets) -> list[Record]:
    """The table of all configurations: every cell, fastest first."""
    records: list[Record] = []
    for cell in analysis.cells:
        measured = [one.seconds for one in cell.configurations if one.seconds is not None]
        best = min(measured, default=None)
        for one in sorted(cell.configurations, key=lambda each: (each.seconds is None, each.seconds or 0.0)):
            status = "" if one.is_finalist else "screened only"
            records.append(
                {
                    "situation": data.situations.index(dict(cell.emulated)),
                    "size": cell.size,
                    "runtime": runtime_key(one.runtime, one.library),
                    "schedule": one.schedule,
                    "chunk": one.chunk,
                    "placement": one.placement,
                    "wait": one.wait,
                    "cores": text.cores(one.cores),
                    "seconds": one.seconds,
                    "low": one.low,
                    "high": one.high,
                    "relative": one.seconds / best if one.seconds is not None and best else None,
                    "rounds": one.rounds or len(one.points),
                    "status": f"failed: {one.error}" if one.error else status,
                }
                | spent.record(one.spent)
            )
    return records
