"""The charts of the map/reduce study: what is drawn, on which axes, and what the tooltips say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from tautochrone.report.drawing import (
    INK,
    Layers,
    color,
    finished,
    interval,
    line_with_points,
    log_axis,
    numbers,
    parameters,
    ratio_chart,
    shown,
)
from tautochrone.report.mapreduce.datasets import Datasets
from tautochrone.report.palette import RuntimeStyle, styles
from tautochrone.report.tables import Record

_HEIGHT = 290
_MOST_TICKS = 9
_SWITCH_TICKS = (0, 0.1, 1, 10, 100, 1000, 10000)


def build(data: Datasets, share_that_pays: float) -> dict[str, dict[str, Any]]:
    """Every chart that has something to draw: its name on the page and its Vega-Lite specification."""
    look = styles(data.runtimes)
    lengths, found = data.tables["lengths"], {}
    if numbers(lengths, "share"):
        found["pays"] = _against_length(data, look, "share", "share of the ideal speed-up", share_that_pays)
    if data.tables["speedups"]:
        found["speedup"] = _speedup(data, look)
    if data.tables["ratios"]:
        names = [name for name in data.workloads if any(one["name"] == name for one in data.tables["ratios"])]
        found["ratio"] = ratio_chart(data.tables["ratios"], look, "name", "tasks", names)
    if numbers(lengths, "waiting"):
        found["waiting"] = _against_length(data, look, "waiting", "time spent waiting")
    if numbers(lengths, "load"):
        found["busy"] = _against_length(data, look, "load", "load of the CPUs")
    if data.tables["switches"]:
        found["switches"] = _switches(data, look)
    return {name: finished(chart) for name, chart in found.items()}


def _length_axis(records: Sequence[Record]) -> alt.X:
    return log_axis(alt.X, "length", numbers(records, "length"), "length of one task, alone", grid=False)


def _tooltip(*more: alt.Tooltip) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("work:N", title="tasks"),
        alt.Tooltip("length_text:N", title="one task takes"),
        *more,
        alt.Tooltip("speedup_text:N", title="speed-up"),
        alt.Tooltip("time:N", title="median time"),
        alt.Tooltip("interval:N", title="interval"),
    ]


def _series_parameter(data: Datasets) -> dict[str, str]:
    return {"series": data.series[0].key}


def _against_length(
    data: Datasets, look: list[RuntimeStyle], field: str, title: str, limit: float | None = None
) -> Layers:
    """A share of 1 against the length of a task, with a dashed line at ``limit``."""
    records = data.tables["lengths"]
    top = max([*numbers(records, field), 1.0])
    y = alt.Y(
        f"{field}:Q",
        scale=alt.Scale(domain=[0, top * 1.04], nice=False),
        axis=alt.Axis(title=title, format=".0%", tickCount=6),
    )
    here = shown("lengths").transform_filter(f"datum.series === series && isValid(datum.{field})")
    tooltip = _tooltip(alt.Tooltip(f"{field}_text:N", title=title))
    layers = line_with_points(here, look, _length_axis(records), y, tooltip)
    if limit is not None:
        line = alt.Chart(alt.InlineData(values=[{field: limit}]))
        layers.insert(
            0, line.mark_rule(strokeDash=[7, 4], strokeWidth=2, stroke=INK, opacity=0.75).encode(y=y)
        )
    shape = alt.layer(*layers).properties(height=_HEIGHT)
    return shape.add_params(*parameters(**_series_parameter(data)))


def _speedup(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """The published chart: speed-up against threads, one view for each kind of tasks, with the law."""
    records, laws = data.tables["speedups"], data.tables["laws"]
    threads = sorted({int(one) for one in numbers(records, "threads")})
    ticks = threads if len(threads) <= _MOST_TICKS else threads[:: len(threads) // _MOST_TICKS + 1]
    x = alt.X(
        "threads:Q",
        scale=alt.Scale(domain=[threads[0] - 0.25, threads[-1] + 0.25], nice=False),
        axis=alt.Axis(title="threads", values=ticks, format="d", grid=False),
    )
    top = max([*numbers(records, "speedup", "speedup_high"), *numbers(laws, "speedup"), 1.0])
    y = alt.Y(
        "speedup:Q",
        scale=alt.Scale(domain=[0, top * 1.06], nice=False),
        axis=alt.Axis(title="speed-up over the serial loop", labelExpr="datum.label + '×'", tickCount=6),
    )
    here = shown("speedups").transform_filter("datum.workload === workload")
    law = shown("laws").transform_filter("datum.workload === workload")
    tooltip = [
        alt.Tooltip("threads:Q", title="threads", format="d"),
        alt.Tooltip("speedup_text:N", title="no sharing of whole tasks passes"),
    ]
    layers = [
        law.mark_line(strokeDash=[7, 4], strokeWidth=2, stroke=INK, opacity=0.75).encode(
            x=x, y=y, tooltip=tooltip
        ),
        interval(here, look, x, y, "speedup_low", "speedup_high"),
        *line_with_points(here, look, x, y, _tooltip(alt.Tooltip("waiting_text:N", title="waiting"))),
    ]
    return alt.layer(*layers).properties(height=260).add_params(*parameters(workload=0))


def _switches(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """Context switches of one repetition; the scale shows 0 and a thousand side by side."""
    records = data.tables["switches"]
    y = alt.Y(
        "switches:Q",
        scale=alt.Scale(type="symlog", constant=0.1, nice=False),
        axis=alt.Axis(title="context switches of one repetition", values=_SWITCH_TICKS, format="~g"),
    )
    here = shown("switches").transform_filter("datum.series === series")
    tooltip = _tooltip(
        alt.Tooltip("kind:N", title="kind"), alt.Tooltip("switches_text:N", title="switches of a repetition")
    )
    x = _length_axis(records)
    dash = alt.StrokeDash(
        "kind:N", scale=alt.Scale(domain=["voluntary", "involuntary"], range=[[1, 0], [3, 3]]), legend=None
    )
    marks = line_with_points(here, look, x, y, tooltip)[1]
    lines = here.mark_line(strokeWidth=1.8, opacity=0.9).encode(
        x=x, y=y, color=color(look), strokeDash=dash, detail=["runtime:N", "kind:N"]
    )
    chart = alt.layer(lines, marks).properties(height=_HEIGHT)
    return chart.add_params(*parameters(**_series_parameter(data)))
