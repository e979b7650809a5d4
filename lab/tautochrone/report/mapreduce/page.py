"""What only the map/reduce study's page has: where each library pays, its charts and its table."""

from __future__ import annotations

from tautochrone.report import spent, text
from tautochrone.report.mapreduce import charts, datasets, figures
from tautochrone.report.mapreduce.analysis_types import MapReduceAnalysis, TaskCell, TaskConfiguration
from tautochrone.report.palette import runtime_key, styles
from tautochrone.report.parts import Column, Filter, Parts
from tautochrone.report.tables import Record

_FIRST_COLUMNS: tuple[Column, ...] = (
    ("work", "tasks", "text"),
    ("situation", "machine", "situation"),
    ("threads", "threads", "number"),
    ("runtime", "runtime", "runtime"),
    ("schedule", "schedule", "text"),
    ("wait", "wait", "text"),
    ("seconds", "median", "time"),
    ("low", "interval", "interval"),
    ("speedup", "speed-up", "number"),
    ("share", "of the ideal", "percent"),
    ("waiting", "waiting", "percent"),
    ("load", "CPU load", "percent"),
    ("voluntary", "sleeps", "number"),
    ("involuntary", "displaced", "number"),
    ("stretch", "task × alone", "number"),
)
_LAST_COLUMNS: tuple[Column, ...] = (
    ("rounds", "rounds", "number"),
    ("status", "status", "status"),
)


def parts(analysis: MapReduceAnalysis) -> Parts:
    """The page's parts from an analysis."""
    data = datasets.build(analysis)
    specifications = charts.build(data, analysis.share_that_pays)
    records = _configuration_records(analysis, data)
    return Parts(
        template="mapreduce.html.j2",
        tables=data.tables,
        charts=specifications,
        figures=figures.build(analysis, data, specifications),
        situations=data.situations,
        runtimes=data.runtimes,
        configurations=records,
        columns=(*_FIRST_COLUMNS, *spent.columns(records), *_LAST_COLUMNS),
        filters=_filters(data),
        more={"scoreboards": _scoreboards(analysis, data)},
    )


def _filters(data: datasets.Datasets) -> list[Filter]:
    """One kind of tasks at first: times of different ones in one list say nothing."""
    places = [(index, text.situation(emulated)) for index, emulated in enumerate(data.situations)]
    work = [(name, name) for name in data.workloads]
    return [
        Filter("work", "Tasks", work, data.workloads[0] if work else ""),
        Filter("situation", "Machine", places, 0),
    ]


Scoreboard = tuple[str, list[TaskCell], list[tuple[str, list[TaskConfiguration | None]]]]


def _scoreboards(analysis: MapReduceAnalysis, data: datasets.Datasets) -> list[Scoreboard]:
    """For each state and number of tasks: a line a runtime, a cell a task length, with all CPUs."""
    boards: list[Scoreboard] = []
    for emulated in data.situations:
        here = [cell for cell in analysis.cells if dict(cell.emulated) == emulated]
        for tasks in sorted({cell.tasks for cell in here}):
            cells = sorted((cell for cell in here if cell.tasks == tasks), key=lambda cell: cell.bytes)
            columns = [_with_all_cpus(cell) for cell in cells]
            present = {runtime for column in columns for runtime in column} - {"serial"}
            lines = [(style.key, [column.get(style.key) for column in columns]) for style in styles(present)]
            if lines:
                boards.append((f"{tasks} tasks. {text.situation(emulated)}", cells, lines))
    return boards


def _with_all_cpus(cell: TaskCell) -> dict[str, TaskConfiguration]:
    """What each runtime does there with no settings."""
    return {
        runtime_key(one.runtime): one
        for one in cell.configurations
        if one.is_default and one.threads == cell.cpus
    }


def _configuration_records(analysis: MapReduceAnalysis, data: datasets.Datasets) -> list[Record]:
    """The table of all configurations."""
    return [
        {
            "work": cell.name,
            "situation": data.situations.index(dict(cell.emulated)),
            "threads": one.threads,
            "runtime": runtime_key(one.runtime),
            "schedule": one.schedule + (f", chunk {one.chunk}" if one.chunk is not None else ""),
            "wait": one.wait,
            "seconds": one.seconds,
            "low": one.low,
            "high": one.high,
            "speedup": _short(one.speedup),
            "share": one.share_of_ideal,
            "waiting": one.waiting_share,
            "load": one.cpu_load,
            "voluntary": _short(one.voluntary_switches),
            "involuntary": _short(one.involuntary_switches),
            "stretch": _short(one.stretch),
            "rounds": one.rounds,
            "status": f"failed: {one.error}" if one.error else "",
        }
        | spent.record(one.spent)
        for cell in analysis.cells
        for one in cell.configurations
    ]


def _short(value: float | None) -> float | None:
    """Three significant digits are enough to read."""
    return None if value is None else float(f"{value:.3g}")
