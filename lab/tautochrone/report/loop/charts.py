"""The charts of the loop study: what is drawn, on which axes, and what the tooltips say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

from tautochrone.report.drawing import (
    INK,
    TIME_LABEL,
    Layers,
    color,
    finished,
    interval,
    line_with_points,
    log_axis,
    numbers,
    padded,
    parameters,
    ratio_chart,
    shape,
    shown,
)
from tautochrone.report.loop.datasets import Datasets
from tautochrone.report.palette import RuntimeStyle, styles

_SIZE_TITLE = "matrix size n (rows = columns)"
_SCHEDULE_DASHES = {"dynamic": [1, 0], "guided": [6, 3], "static_chunk": [2, 3]}


def build(data: Datasets) -> dict[str, dict[str, Any]]:
    """Every chart that has something to draw: its name on the page and its Vega-Lite specification."""
    look = styles(data.runtimes)
    makers: dict[str, tuple[str, Callable[[Datasets, list[RuntimeStyle]], Layers]]] = {
        "time": ("times", _time),
        "speedup": ("times", _speedup),
        "ratio": ("ratios", _ratio),
        "chunk": ("chunks", _chunk),
        "bandwidth": ("bandwidth", _bandwidth),
        "load": ("load", _load),
        "misses": ("misses", _misses),
    }
    specifications: dict[str, dict[str, Any]] = {}
    for name, (table, make) in makers.items():
        records = data.tables[table]
        if records and not (name == "speedup" and not numbers(records, "speedup")):
            specifications[name] = finished(make(data, look))
    return specifications


def _size_axis(data: Datasets) -> alt.X:
    return alt.X(
        "size:Q",
        scale=alt.Scale(type="log", domain=padded(data.sizes, 1.18), nice=False),
        axis=alt.Axis(title=_SIZE_TITLE, values=data.sizes, format="d", grid=False),
    )


def _raw(look: list[RuntimeStyle], x: alt.X, y: alt.Y) -> alt.Chart:
    dots: alt.Chart = shown("points").mark_circle(size=14, opacity=0.35).encode(x=x, y=y, color=color(look))
    return dots


def _time(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    times, bounds = data.tables["times"], data.tables["bounds"]
    every = numbers(times, "seconds", "low", "high") + numbers(bounds, "seconds")
    every += numbers(data.tables["points"], "seconds")
    x, y = _size_axis(data), log_axis(alt.Y, "seconds", every, "time of one iteration", padding=1.3)
    tooltip = [
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("size:Q", title="size", format="d"),
        alt.Tooltip("time:N", title="median"),
        alt.Tooltip("interval:N", title="interval"),
        alt.Tooltip("rounds:Q", title="rounds"),
    ]
    here = shown("times")
    layers = [
        _bound(x, y, "time:N", "no division can take less than"),
        _raw(look, x, y),
        interval(here, look, x, y),
        *line_with_points(here, look, x, y, tooltip),
    ]
    return alt.layer(*layers).properties(height=330).add_params(*parameters())


def _bound(x: alt.X, y: alt.Y, value: str, title: str) -> alt.Chart:
    tooltip = [
        alt.Tooltip("size:Q", title="size", format="d"),
        alt.Tooltip(value, title=title),
        alt.Tooltip("fast:N", title="fast cores alone"),
        alt.Tooltip("slow:N", title="slow cores alone"),
    ]
    point = alt.OverlayMarkDef(shape="stroke", size=120, color=INK)
    lines = shown("bounds").mark_line(point=point, strokeDash=[7, 4], strokeWidth=2, stroke=INK, opacity=0.75)
    bound: alt.Chart = lines.encode(x=x, y=y, tooltip=tooltip)
    return bound


def _speedup(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    times = data.tables["times"]
    every = numbers(times, "speedup", "speedup_high") + numbers(data.tables["bounds"], "speedup")
    scale = alt.Scale(domain=[0, max([*every, 1.0]) * 1.06], nice=False)
    axis = alt.Axis(title="speed-up over one fast core", labelExpr="datum.label + '×'", tickCount=6)
    x, y = _size_axis(data), alt.Y("speedup:Q", scale=scale, axis=axis)
    tooltip = [
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("size:Q", title="size", format="d"),
        alt.Tooltip("speedup_text:N", title="speed-up"),
        alt.Tooltip("time:N", title="median time"),
        alt.Tooltip("interval:N", title="interval"),
    ]
    here = shown("times").transform_filter("isValid(datum.speedup) && datum.runtime !== 'serial'")
    raw = _raw(look, x, y).transform_filter("isValid(datum.speedup) && datum.runtime !== 'serial'")
    layers = [
        _bound(x, y, "speedup_text:N", "bound S").transform_filter("isValid(datum.speedup)"),
        raw,
        interval(here, look, x, y, "speedup_low", "speedup_high"),
        *line_with_points(here, look, x, y, tooltip),
    ]
    return alt.layer(*layers).properties(height=330).add_params(*parameters())


def _ratio(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    return ratio_chart(data.tables["ratios"], look, "size", "matrix size n", data.sizes)


def _chunk(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    records = data.tables["chunks"]
    chunks = sorted(set(numbers(records, "chunk")))
    x = alt.X(
        "chunk:Q",
        scale=alt.Scale(type="log", base=2, domain=padded(chunks, 1.25), nice=False),
        axis=alt.Axis(title="chunk (rows handed out at a time)", values=chunks, format="d", grid=False),
    )
    # the time's range depends on the size that the reader picks, so this axis fits what is shown
    y = alt.Y(
        "seconds:Q",
        scale=alt.Scale(type="log", nice=False, padding=16),
        axis=alt.Axis(title="time of one iteration", tickCount=5, labelExpr=TIME_LABEL),
    )
    tooltip = [
        alt.Tooltip("runtime:N", title="runtime"),
        alt.Tooltip("schedule:N", title="schedule"),
        alt.Tooltip("chunk:Q", title="chunk", format="d"),
        alt.Tooltip("time:N", title="median"),
        alt.Tooltip("interval:N", title="interval"),
    ]
    schedules = sorted({str(record["schedule"]) for record in records})
    dashes = [_SCHEDULE_DASHES.get(schedule, [8, 3, 2, 3]) for schedule in schedules]
    dash = alt.StrokeDash("schedule:N", scale=alt.Scale(domain=schedules, range=dashes), legend=None)
    here = shown("chunks").transform_filter("datum.size === size")
    layers = [
        interval(here, look, x, y),
        here.mark_line(strokeWidth=1.8).encode(
            x=x, y=y, color=color(look), strokeDash=dash, detail=["runtime:N", "schedule:N"]
        ),
        here.mark_point(filled=True, size=64, opacity=1, stroke="var(--page)", strokeWidth=1).encode(
            x=x, y=y, color=color(look), shape=shape(look), tooltip=tooltip
        ),
    ]
    sizes = sorted({int(size) for size in numbers(records, "size")})
    return alt.layer(*layers).properties(height=290).add_params(*parameters(size=sizes[len(sizes) // 2]))


def _bandwidth(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    shares = numbers(data.tables["bandwidth"], "share")
    scale = alt.Scale(domain=[0, max([*shares, 1.0]) * 1.05], nice=False)
    x = _size_axis(data)
    y = alt.Y(
        "share:Q",
        scale=scale,
        axis=alt.Axis(title="share of the triad's bandwidth", format=".0%", tickCount=6),
    )
    tooltip = [
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("size:Q", title="size", format="d"),
        alt.Tooltip("rate_text:N", title="achieved"),
        alt.Tooltip("share_text:N", title="share of the triad"),
        alt.Tooltip("members:Q", title="members"),
    ]
    limit = alt.Chart(alt.InlineData(values=[{"share": 1}])).mark_rule(
        strokeDash=[7, 4], strokeWidth=2, stroke=INK, opacity=0.75
    )
    layers = [limit.encode(y=y), *line_with_points(shown("bandwidth"), look, x, y, tooltip)]
    return alt.layer(*layers).properties(height=290).add_params(*parameters())


def _load(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    cpus = list(dict.fromkeys(str(record["cpu"]) for record in data.tables["load"]))
    cpus.sort(key=lambda name: int(name.split()[1]))
    tooltip = [
        alt.Tooltip("cpu:N", title="CPU"),
        alt.Tooltip("end:Q", title="at (s)", format=".2f"),
        alt.Tooltip("busy_text:N", title="busy"),
        alt.Tooltip("clock:N", title="clock"),
    ]
    here = alt.Chart(alt.NamedData(name="load")).transform_filter("datum.run === run")
    y = alt.Y(
        "cpu:N",
        sort=cpus,
        scale=alt.Scale(paddingInner=0.12),
        axis=alt.Axis(title=None, domain=False, ticks=False, labelOverlap="parity"),
    )
    x = alt.X("begin:Q", axis=alt.Axis(title="time since the start (s)", grid=False, tickCount=5))
    busy = alt.Opacity("busy:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 1]), legend=None)
    height = max(90, len(cpus) * (26 if len(cpus) <= 12 else 16))
    strips = here.mark_rect(fill="var(--load)").encode(x=x, x2="end:Q", y=y, opacity=busy, tooltip=tooltip)
    return alt.layer(strips).properties(height=height).add_params(alt.param(name="run", value=0))


def _misses(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    x = _size_axis(data)
    scale = alt.Scale(domain=[0, max([*numbers(data.tables["misses"], "ratio"), 1.0])], nice=False)
    y = alt.Y("ratio:Q", scale=scale, axis=alt.Axis(title="misses / accesses", format=".0%", tickCount=5))
    tooltip = [
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("size:Q", title="size", format="d"),
        alt.Tooltip("counter:N", title="counters"),
        alt.Tooltip("ratio_text:N", title="ratio"),
    ]
    here = shown("misses").transform_filter("datum.counter === counter")
    layers = [
        here.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=color(look), detail=["runtime:N", "configuration:N"]
        ),
        here.mark_point(filled=True, size=70, opacity=1, stroke="var(--page)", strokeWidth=1).encode(
            x=x, y=y, color=color(look), shape=shape(look), tooltip=tooltip
        ),
    ]
    first = str(data.tables["misses"][0]["counter"])
    return alt.layer(*layers).properties(height=270).add_params(*parameters(counter=first))
