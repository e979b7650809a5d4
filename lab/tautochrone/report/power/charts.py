"""The charts of the power study: what is drawn, on which axes, and what the tooltips say."""

from __future__ import annotations

from typing import Any

import altair as alt

from tautochrone.report.drawing import (
    INK,
    TIME_LABEL,
    Layers,
    color,
    finished,
    interval,
    line_at_one,
    line_with_points,
    numbers,
    parameters,
    shape,
    shown,
)
from tautochrone.report.palette import RuntimeStyle, styles
from tautochrone.report.power.datasets import Datasets


def build(data: Datasets) -> dict[str, dict[str, Any]]:
    """Every chart that has something to draw: its name on the page and its Vega-Lite specification."""
    look, found = styles(data.runtimes), {}
    if data.tables["speedups"]:
        found["speedup"] = _speedup(data, look)
    if len({one["ratio"] for one in data.tables["costs"]}) > 1:
        found["cost"] = _cost(data, look)
    if data.tables["busy"]:
        found["busy"] = _busy(data, look)
    if len(data.tables["setups"]) > 1:
        found["together"] = _together(data)
    return {name: finished(chart) for name, chart in found.items()}


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("job:N", title="job"),
        alt.Tooltip("configuration:N", title="shared"),
        alt.Tooltip("speedup_text:N", title="speed-up"),
        alt.Tooltip("verdict:N", title="against one thread"),
        alt.Tooltip("time:N", title="median time"),
        alt.Tooltip("imbalance_text:N", title="imbalance"),
        alt.Tooltip("rounds:Q", title="paired rounds"),
    ]


def _speedup(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """A line of the chart for each job, a mark with its interval for each way to share it."""
    records = data.tables["speedups"]
    top = max([*numbers(records, "speedup", "high"), 1.0])
    scale = alt.Scale(domain=[0, top * 1.05], nice=False)
    axis = alt.Axis(title="speed-up over one thread", labelExpr="datum.label + '×'", tickCount=6)
    x = alt.X("speedup:Q", scale=scale, axis=axis)
    low = alt.X("low:Q", scale=scale, axis=axis)
    labels = alt.Axis(title=None, domain=False, ticks=False, labelLimit=220)
    y = alt.Y("job:O", sort=data.jobs, axis=labels)
    ways = [one.key for one in look if one.key in {record["runtime"] for record in records}]
    offset = alt.YOffset("runtime:N", scale=alt.Scale(domain=ways, paddingOuter=0.6))
    here = shown("speedups")
    layers = [
        line_at_one(x),
        here.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2.4)
        .encode(x=low, x2="high:Q", y=y, yOffset=offset, color=color(look)),
        here.mark_point(filled=True, size=90, opacity=1, stroke="var(--page)", strokeWidth=1).encode(
            x=x, y=y, yOffset=offset, color=color(look), shape=shape(look), tooltip=_tooltip()
        ),
    ]
    height = max(140, 56 * len(data.jobs))
    return alt.layer(*layers).properties(height=height).add_params(*parameters())


def _cost(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """What each split of the physics keeps of its speed-up when one function gets dearer."""
    records = data.tables["costs"]
    ratios = sorted({float(one) for one in numbers(records, "ratio")})
    x = alt.X(
        "ratio:Q",
        scale=alt.Scale(type="log", base=2, domain=[ratios[0] / 1.15, ratios[-1] * 1.15], nice=False),
        axis=alt.Axis(title="cost of one function by the other", values=ratios, format="~g", grid=False),
    )
    top = max([*numbers(records, "speedup", "high"), 1.0])
    y = alt.Y(
        "speedup:Q",
        scale=alt.Scale(domain=[0, top * 1.06], nice=False),
        axis=alt.Axis(title="speed-up over one thread", labelExpr="datum.label + '×'", tickCount=6),
    )
    here = shown("costs")
    layers = [interval(here, look, x, y), *line_with_points(here, look, x, y, _tooltip())]
    return alt.layer(*layers).properties(height=290).add_params(*parameters())


def _busy(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """A bar for each thread: how long it worked in one repetition."""
    axis = alt.Axis(title="work of each thread in one repetition", labelExpr=TIME_LABEL, tickCount=6)
    tooltip = [
        alt.Tooltip("configuration:N", title="shared"),
        alt.Tooltip("thread:Q", title="thread"),
        alt.Tooltip("does:N", title="it"),
        alt.Tooltip("busy_text:N", title="worked"),
        alt.Tooltip("imbalance_text:N", title="imbalance"),
    ]
    labels = alt.Axis(title=None, domain=False, ticks=False, labelLimit=260)
    bars = shown("busy").mark_bar(height=9)
    chart: alt.Chart = bars.encode(
        x=alt.X("busy:Q", axis=axis),
        y=alt.Y("configuration:O", sort=data.busy, axis=labels),
        yOffset=alt.YOffset("thread:O", scale=alt.Scale(paddingOuter=0.8)),
        color=color(look),
        tooltip=tooltip,
    )
    sized: alt.Chart = chart.properties(height=max(140, 38 * len(data.busy))).add_params(*parameters())
    return sized


def _together(data: Datasets) -> Layers:
    """The time until both programs are over, by that with no affinity."""
    records = data.tables["setups"]
    every = [*numbers(records, "relative", "low", "high"), 1.0]
    low, high = min(every), max(every)
    scale = alt.Scale(domain=[low - 0.05 * (high - low) - 0.01, high * 1.03], nice=False)
    axis = alt.Axis(title="time of both by that with no affinity", tickCount=6)
    x = alt.X("relative:Q", scale=scale, axis=axis)
    start = alt.X("low:Q", scale=scale, axis=axis)
    labels = alt.Axis(title=None, domain=False, ticks=False, labelLimit=330)
    y = alt.Y("setup:O", sort=data.setups, axis=labels)
    tooltip = [
        alt.Tooltip("setup:N", title="set-up"),
        alt.Tooltip("ratio_text:N", title="by no affinity"),
        alt.Tooltip("verdict:N", title="verdict"),
        alt.Tooltip("time:N", title="median time"),
    ]
    here = shown("setups")
    layers = [
        line_at_one(x),
        here.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2.4, stroke=INK)
        .encode(x=start, x2="high:Q", y=y),
        here.mark_point(filled=True, size=90, opacity=1, color=INK).encode(x=x, y=y, tooltip=tooltip),
    ]
    return alt.layer(*layers).properties(height=max(140, 34 * len(data.setups))).add_params(*parameters())
