"""The parts of a simulated study's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from tautochrone.report.charts import Chart, page_parts, single_view
from tautochrone.report.drawing import (
    TIME_LABEL,
    Layers,
    color,
    decade_ticks,
    layered,
    line_with_points,
    numbers,
    padded,
    shown,
    tips,
)
from tautochrone.report.palette import styles
from tautochrone.report.parts import Column, Filter, Parts, Record
from tautochrone.simulator.findings import Axis, LineChart, SimulatedAnalysis, Timeline

_HEIGHT = 300
# What a member does: the colour of work in all charts, the warning colour, and grey.
_ACTIVITIES = {"working": "#2f66b0", "waiting": "#d1420a", "idle": "#a4abb6"}

COLUMNS: tuple[Column, ...] = (
    ("runtime", "what", "runtime"),
    ("label", "configuration", "text"),
    ("x", "at", "number"),
    ("seconds", "time", "time"),
    ("waiting", "waiting", "percent"),
    ("joules", "joules", "number"),
)


def parts(analysis: SimulatedAnalysis) -> Parts:
    rows = analysis.rows or [record for chart in analysis.charts[:1] for record in chart.records]
    names = sorted({str(record["runtime"]) for chart in analysis.charts for record in chart.records})
    return page_parts(
        "simulated.html.j2",
        [*map(_line_chart, analysis.charts), *map(_timeline_chart, analysis.timelines)],
        situations=[dict(state) for state in analysis.situations],
        runtimes=names,
        configurations=[_configuration(record) for record in rows],
        columns=COLUMNS,
        filters=[Filter("runtime", "What", [(name, name) for name in names])],
        facts=list(analysis.facts.items()),
        machine_name=analysis.machine_name,
        method=analysis.method,
        errors=analysis.errors,
        timelines={timeline.name: timeline for timeline in analysis.timelines},
    )


def _line_chart(chart: LineChart) -> Chart:
    records = [{"situation": 0, **record} for record in chart.records]
    simulated = [{"situation": 0, **record} for record in chart.beside]
    return Chart(
        name=chart.name,
        records=records,
        beside={f"{chart.name}-simulated": simulated} if simulated else {},
        draw=lambda _: _lines(chart, records, simulated),
        heading=chart.heading,
        explanation=chart.explanation,
        shows=f"{chart.y.title} against {chart.x.title}",
        line_legend=[("dashed", "simulated")] if simulated else [],
    )


def _timeline_chart(timeline: Timeline) -> Chart:
    return Chart(
        name=timeline.name,
        records=[{"situation": 0, **record} for record in timeline.records],
        draw=lambda _: _slices(timeline),
        heading=timeline.heading,
        explanation=timeline.explanation,
        views=single_view("What each member did over time, simulated"),
        has_legend=False,
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
    tooltip = tips(
        "runtime:N what", f"{chart.x.field}:Q {chart.x.title}", f"{chart.y.field}:Q,.4~g {chart.y.title}"
    )
    drawn = shown(chart.name).transform_filter(f"isValid(datum.{chart.y.field})")
    everything = [*records, *beside]
    x, y = _encoded(alt.X, chart.x, everything), _encoded(alt.Y, chart.y, everything)
    layers = line_with_points(drawn, look, x, y, tooltip)
    if beside:
        dashed = shown(f"{chart.name}-simulated").mark_line(strokeDash=[6, 4], strokeWidth=1.6)
        layers.append(dashed.encode(x=x, y=y, color=color(look), detail="runtime:N", tooltip=tooltip))
    return layered(*layers, height=_HEIGHT)


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
    return layered(chart, height=height)
