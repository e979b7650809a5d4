"""The parts of a simulated study's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from tautochrone.report.drawing import (
    TIME_LABEL,
    Layers,
    color,
    decade_ticks,
    finished,
    line_with_points,
    numbers,
    padded,
    parameters,
    shown,
)
from tautochrone.report.figure import Figure, View, legend, views
from tautochrone.report.palette import styles
from tautochrone.report.parts import Column, Filter, Parts
from tautochrone.report.simulated.analysis_types import Axis, LineChart, SimulatedAnalysis, Timeline
from tautochrone.report.tables import Record

_HEIGHT = 300
# What a member does: the house's colours for work, its warning colour, and paper.
_ACTIVITIES = {"working": "#228833", "waiting": "#d1420a", "idle": "#a4abb6"}

COLUMNS: tuple[Column, ...] = (
    ("runtime", "what", "runtime"),
    ("label", "configuration", "text"),
    ("x", "at", "number"),
    ("seconds", "time", "time"),
    ("waiting", "waiting", "percent"),
    ("joules", "joules", "number"),
)


def parts(analysis: SimulatedAnalysis) -> Parts:
    """Tables, charts and figures from the analysis."""
    tables: dict[str, Sequence[Record]] = {}
    charts: dict[str, dict[str, Any]] = {}
    figures: list[Figure] = []
    names: set[str] = set()
    for chart in analysis.charts:
        records = [{"situation": 0, **record} for record in chart.records]
        names |= {str(record["runtime"]) for record in records}
        tables[chart.name] = records
        beside = [{"situation": 0, **record} for record in chart.beside]
        if beside:
            tables[f"{chart.name}-simulated"] = beside
        charts[chart.name] = finished(_lines(chart, records, beside))
        figures.append(
            Figure(
                name=chart.name,
                heading=chart.heading,
                explanation=chart.explanation,
                views=views(records, analysis.situations, f"{chart.y.title} against {chart.x.title}"),
                legend=legend(records),
                line_legend=[("dashed", "simulated")] if chart.beside else [],
            )
        )
    for timeline in analysis.timelines:
        tables[timeline.name] = [{"situation": 0, **record} for record in timeline.records]
        charts[timeline.name] = finished(_slices(timeline))
        figures.append(
            Figure(
                name=timeline.name,
                heading=timeline.heading,
                explanation=timeline.explanation,
                views=[View("", {"situation": 0}, "What each member did over time, simulated")],
                legend=[],
            )
        )
    rows = analysis.rows or [record for chart in analysis.charts[:1] for record in chart.records]
    return Parts(
        template="simulated.html.j2",
        tables=tables,
        charts=charts,
        figures=figures,
        situations=[dict(state) for state in analysis.situations],
        runtimes=sorted(names),
        configurations=[_configuration(record) for record in rows],
        columns=COLUMNS,
        filters=[Filter("runtime", "What", [(name, name) for name in sorted(names)])],
        more={
            "facts": list(analysis.facts.items()),
            "machine_name": analysis.machine_name,
            "method": analysis.method,
            "errors": analysis.errors,
            "timelines": {timeline.name: timeline for timeline in analysis.timelines},
        },
    )


def _configuration(record: Record) -> Record:
    fields = ("runtime", "label", "x", "seconds", "waiting", "joules")
    return {field: record.get(field) for field in fields} | {"situation": record.get("situation", 0)}


def _encoded(channel: type[alt.X] | type[alt.Y], axis: Axis, records: Sequence[Record]) -> Any:
    values = [value for value in numbers(records, axis.field) if value > 0 or not axis.logarithmic]
    drawn: dict[str, Any] = {"title": axis.title}
    if axis.seconds:
        drawn["labelExpr"] = TIME_LABEL
    if axis.percent:
        drawn["format"] = ".0%"
    if not axis.logarithmic or not values:
        scale = alt.Scale(zero=channel is alt.Y)
        return channel(f"{axis.field}:Q", scale=scale, axis=alt.Axis(**drawn, tickCount=7))
    ticks = decade_ticks(min(values), max(values))
    scale = alt.Scale(type="log", domain=padded(values, 1.15), nice=False)
    return channel(f"{axis.field}:Q", scale=scale, axis=alt.Axis(**drawn, values=ticks))


def _lines(chart: LineChart, records: Sequence[Record], beside: Sequence[Record]) -> Layers:
    look = styles({str(record["runtime"]) for record in records})
    tooltip = [
        alt.Tooltip("runtime:N", title="what"),
        alt.Tooltip(f"{chart.x.field}:Q", title=chart.x.title),
        alt.Tooltip(f"{chart.y.field}:Q", title=chart.y.title, format=".4~g"),
    ]
    here = shown(chart.name).transform_filter(f"isValid(datum.{chart.y.field})")
    everything = [*records, *beside]
    x, y = _encoded(alt.X, chart.x, everything), _encoded(alt.Y, chart.y, everything)
    layers = line_with_points(here, look, x, y, tooltip)
    if beside:
        dashed = shown(f"{chart.name}-simulated").mark_line(strokeDash=[6, 4], strokeWidth=1.6)
        layers.append(dashed.encode(x=x, y=y, color=color(look), detail="runtime:N", tooltip=tooltip))
    return alt.layer(*layers).properties(height=_HEIGHT).add_params(*parameters())


def _slices(timeline: Timeline) -> Layers:
    scale = alt.Scale(domain=list(_ACTIVITIES), range=list(_ACTIVITIES.values()))
    bars = shown(timeline.name).mark_bar(height=alt.RelativeBandSize(0.8))
    chart = bars.encode(
        x=alt.X(
            "begin:Q", axis=alt.Axis(title="virtual time", labelExpr=TIME_LABEL), scale=alt.Scale(zero=False)
        ),
        x2="end:Q",
        y=alt.Y("member:O", sort=list(timeline.members), axis=alt.Axis(title=None)),
        color=alt.Color("what:N", scale=scale, legend=alt.Legend(orient="top", title=None)),
        tooltip=[
            alt.Tooltip("member:N"),
            alt.Tooltip("what:N"),
            alt.Tooltip("begin:Q"),
            alt.Tooltip("end:Q"),
            alt.Tooltip("watts:Q", format=".3~g"),
            alt.Tooltip("joules:Q", format=".3~g"),
        ],
    )
    height = max(120, 14 * len(timeline.members))
    return alt.layer(chart).properties(height=height).add_params(*parameters())
