"""The page of a comparison: each command against the first, and all runs in their order."""

from __future__ import annotations

import altair as alt

from tautochrone.comparing.analysis import objective_of
from tautochrone.comparing.answer import CompareAnalysis
from tautochrone.comparing.printing import FALSIFIER
from tautochrone.comparing.result import FIGURES, Side
from tautochrone.report.charts import Chart, compared, page_parts
from tautochrone.report.drawing import (
    TIME_LABEL,
    Layers,
    intervals_by_name,
    labels,
    layered,
    numbers,
    padded,
    shown,
    tips,
)
from tautochrone.report.parts import Column, Parts, Record

_ROW_HEIGHT = 46
_OTHERS = {**FIGURES, "max_rss_bytes": "peak memory, MiB"}


def parts(analysis: CompareAnalysis) -> Parts:
    records = [_row(side) for side in analysis.found.sides]
    return page_parts(
        "compare.html.j2",
        [_ratios(analysis), _runs(analysis)],
        situations=[{}],
        runtimes=(),
        configurations=records,
        columns=_columns(analysis, records),
        filters=[],
    )


def _ratios(analysis: CompareAnalysis) -> Chart:
    found = analysis.found
    what = "time" if found.objective == "time" else "the figure"
    records: list[Record] = [
        {"situation": 0, "label": side.name, **compared(side.ratio)}
        for side in found.rivals
        if side.ratio is not None and side.ratio.low is not None
    ]
    tooltip = tips(
        "label:N command", "ratio_text:N by the first", "verdict:N it is", "rounds:Q paired rounds"
    )
    heading = f"Each command by {found.reference.name}"
    title = f"{what} / {what} of {found.reference.name}"
    return Chart(
        name="ratios",
        records=records,
        draw=lambda look: intervals_by_name("ratios", records, "ratio", title, tooltip),
        heading=heading,
        explanation=f"The ratio of two runs of a round, its median and its interval. {FALSIFIER}.",
        shows=heading,
        line_legend=[("solid", found.reference.name)],
        has_legend=False,
    )


def _runs(analysis: CompareAnalysis) -> Chart:
    found = analysis.found
    objective = objective_of(found.objective)
    records: list[Record] = [
        {
            "situation": 0,
            "label": side.name,
            "figure": point,
            "written": objective.written(point),
            "turn": turn,
        }
        for side in found.sides
        for turn, point in enumerate(side.points, 1)
    ]
    heading = "All runs"
    return Chart(
        name="runs",
        records=records,
        draw=lambda look: _draw_runs(records, found.objective),
        heading=heading,
        explanation="One stroke for each run that counts. Clusters, a tail or a shift are seen here first.",
        shows=f"{heading} of each command",
        has_legend=False,
    )


def _draw_runs(records: list[Record], objective: str) -> Layers:
    is_time = objective in ("time", "cpu")
    axis = (
        alt.Axis(title="time of a run", labelExpr=TIME_LABEL, grid=True) if is_time else alt.Axis(grid=True)
    )
    scale = alt.Scale(domain=padded(numbers(records, "figure"), 1.01), nice=False)
    ticks = shown("runs").mark_tick(thickness=1.5, size=_ROW_HEIGHT - 20, opacity=0.45)
    names: list[Record] = [{"label": name} for name in dict.fromkeys(str(one["label"]) for one in records)]
    return layered(
        ticks.encode(
            x=alt.X("figure:Q", scale=scale, axis=axis),
            y=labels(names),
            tooltip=tips("label:N command", "written:N run", "turn:Q round"),
        ),
        height=_ROW_HEIGHT * len(names),
    )


def _columns(analysis: CompareAnalysis, records: list[Record]) -> tuple[Column, ...]:
    kind = "time" if analysis.found.objective in ("time", "cpu") else "number"
    known = [name for name in _OTHERS if any(record[name] is not None for record in records)]
    times = ("seconds", "cpu_seconds")
    if analysis.found.objective == "time":  # it is the median
        known = [name for name in known if name != "seconds"]
    return (
        ("label", "command", "text"),
        ("figure", "median", kind),
        ("relative", "by the first", "relative"),
        *((name, _OTHERS[name], "time" if name in times else "number") for name in known),
        ("rounds", "rounds", "number"),
        ("status", "status", "status"),
    )


def _row(side: Side) -> Record:
    memory = side.others.get("max_rss_bytes")
    return {
        "situation": 0,
        "label": side.name,
        "figure": side.figure,
        "relative": side.ratio.value if side.ratio is not None else 1.0,
        **{name: side.others.get(name) for name in FIGURES},
        "max_rss_bytes": None if memory is None else memory / (1 << 20),
        "rounds": len(side.points),
        "status": side.error,
    }
