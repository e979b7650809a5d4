"""The charts of the collective study: what is drawn, on which axes, and what the tooltips say."""

from __future__ import annotations

from typing import Any

import altair as alt

from tautochrone.report.collective.datasets import OPERATIONS, Datasets
from tautochrone.report.drawing import (
    Layers,
    color,
    finished,
    interval,
    line_at_one,
    line_with_points,
    log_axis,
    numbers,
    padded,
    parameters,
    powers_axis,
    shape,
    shown,
)
from tautochrone.report.palette import RuntimeStyle, styles
from tautochrone.report.tables import Record

CHART_OF = {"all_reduce": "allreduce", "all_gather": "allgather"}
_TITLE = {
    "all_reduce": "length of each rank’s data (8-byte words)",
    "all_gather": "length of the whole result (8-byte words)",
}
_RATIO_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)


def build(data: Datasets) -> dict[str, dict[str, Any]]:
    """Every chart that has something to draw: its name on the page and its Vega-Lite specification."""
    look = styles(data.runtimes)
    found: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        if data.tables[f"{operation}_points"]:
            found[CHART_OF[operation]] = finished(_times(data, look, operation))
    if data.tables["ratios"]:
        found["ratio"] = finished(_ratio(data, look))
    if data.tables["pairs"]:
        found["pairs"] = finished(_pairs(data, look))
    return found


def _times(data: Datasets, look: list[RuntimeStyle], operation: str) -> Layers:
    """Time against length, the fitted lines below the points, a ring around what a step leads to."""
    points = data.tables[f"{operation}_points"]
    every = numbers(points, "seconds", "low", "high")
    y = log_axis(alt.Y, "seconds", every, "time of a call")
    x = powers_axis(points, "words", _TITLE[operation])
    tooltip = [
        alt.Tooltip("configuration:N", title="library"),
        alt.Tooltip("length:N", title="length"),
        alt.Tooltip("time:N", title="median"),
        alt.Tooltip("interval:N", title="interval"),
        alt.Tooltip("launches:Q", title="launches"),
    ]
    fits = shown(f"{operation}_lines").mark_line(strokeWidth=5, opacity=0.28, clip=True)
    here = shown(f"{operation}_points")
    layers = [
        fits.encode(x=x, y=y, color=color(look), detail=["runtime:N", "segment:N"]),
        interval(here, look, x, y),
        *line_with_points(here, look, x, y, tooltip),
    ]
    if data.tables[f"{operation}_steps"]:
        ring = shown(f"{operation}_steps").mark_point(size=420, strokeWidth=2, filled=False, opacity=0.9)
        about = [alt.Tooltip("step:N", title="step"), alt.Tooltip("between:N", title="between")]
        layers.insert(1, ring.encode(x=x, y=y, color=color(look), tooltip=about))
    return alt.layer(*layers).properties(height=360).add_params(*parameters())


def _ratio_axis(records: list[Record], title: str) -> alt.Y:
    every = [*numbers(records, "ratio", "low", "high"), 1.0]
    inside = [tick for tick in _RATIO_TICKS if min(every) / 1.05 <= tick <= max(every) * 1.05]
    axis = alt.Axis(title=title, format="~g", values=inside) if len(inside) > 2 else alt.Axis(title=title)
    return alt.Y("ratio:Q", scale=alt.Scale(type="log", domain=padded(every, 1.08), nice=False), axis=axis)


def _ratio(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    records = data.tables["ratios"]
    x = powers_axis(records, "words", "length (8-byte words)")
    y = _ratio_axis(records, "our time / time of the better MPI")
    here = shown("ratios").transform_filter("datum.operation === operation")
    tooltip = [
        alt.Tooltip("operation:N", title="operation"),
        alt.Tooltip("length:N", title="length"),
        alt.Tooltip("ratio_text:N", title="ratio"),
        alt.Tooltip("verdict:N", title="ours is"),
        alt.Tooltip("rounds:Q", title="paired launches"),
    ]
    layers = [line_at_one(y), interval(here, look, x, y), *line_with_points(here, look, x, y, tooltip)]
    operation = str(records[0]["operation"])
    return alt.layer(*layers).properties(height=290).add_params(*parameters(operation=operation))


def _pairs(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    records = data.tables["pairs"]
    x = powers_axis(records, "words", "length (8-byte words)")
    y = _ratio_axis(records, "one call / the pair of calls")
    here = shown("pairs").transform_filter("datum.operation === operation")
    tooltip = [
        alt.Tooltip("runtime:N", title="library"),
        alt.Tooltip("length:N", title="length"),
        alt.Tooltip("ratio_text:N", title="ratio"),
        alt.Tooltip("time:N", title="one call"),
        alt.Tooltip("other:N", title="the pair"),
    ]
    marks = line_with_points(here, look, x, y, tooltip)
    above = here.transform_filter("datum.ratio > 1.03").mark_point(size=260, strokeWidth=1.6, filled=False)
    layers = [line_at_one(y), above.encode(x=x, y=y, color=color(look), shape=shape(look)), *marks]
    operation = str(records[0]["operation"])
    return alt.layer(*layers).properties(height=290).add_params(*parameters(operation=operation))
