"""The charts as Vega-Lite, built with Altair: what is drawn, on which axes, and what its tooltip says.

A chart is described once and drawn once for each state of the machine: the page sets the parameter
``situation``. The parameter ``hidden`` lists the runtimes that the reader has switched off. No colour is a
literal: all are CSS variables of the page, so one drawing serves light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair as alt
from altair.typing import ChartType as Layers

from tautochrone.report.datasets import Datasets, Record
from tautochrone.report.palette import RuntimeStyle, styles

_INK = "var(--ink)"
_QUIET = "var(--quiet)"
_SIZE_TITLE = "matrix size n (rows = columns)"
_TIME_LABEL = "replace(format(datum.value, '~s'), /([0-9.]+)/, '$1 ') + 's'"
_RATIO_TICKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
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
        if records and not (name == "speedup" and not _numbers(records, "speedup")):
            specifications[name] = _finished(make(data, look))
    return specifications


def _finished(chart: Layers) -> dict[str, Any]:
    """The specification with the page's looks: text as large as the page's, hair lines, no frame."""
    axis = {"labelFontSize": 14, "titleFontSize": 14, "titleFontWeight": 500, "titlePadding": 10}
    quiet = {"gridColor": "var(--hair)", "domainColor": "var(--line)", "tickColor": "var(--line)"}
    config = {
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
        "background": None,
        "view": {"stroke": None},
        "axis": axis
        | quiet
        | {"labelColor": _QUIET, "titleColor": _QUIET, "labelOverlap": "greedy", "labelSeparation": 8},
    }
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("$schema", None)
    spec["config"] = config
    spec["width"] = "container"
    return spec


def _numbers(records: Iterable[Record], *names: str) -> list[float]:
    found = (record.get(name) for record in records for name in names)
    return [float(value) for value in found if isinstance(value, int | float)]


def _padded(values: Sequence[float], factor: float) -> list[float]:
    """A domain for a logarithmic axis; also right for one value, where a plain minimum has no width."""
    return [min(values) / factor, max(values) * factor]


def _decade_ticks(low: float, high: float) -> list[float]:
    """At most about eight ticks: 1, 2, 5 of each decade, or 1 alone where there are many decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        # written and read, so that 5 times 1e-6 is 5e-06 and not its neighbour
        ticks = [float(f"{step}e{decade}") for decade in range(first, last + 1) for step in steps]
        inside = [tick for tick in ticks if low / 1.3 <= tick <= high * 1.3]
        if len(inside) <= 8:
            break
    return inside


def _parameters(**values: Any) -> list[alt.Parameter]:
    return [
        alt.param(name=name, value=value) for name, value in ({"situation": 0, "hidden": []} | values).items()
    ]


def _shown(table: str) -> alt.Chart:
    """A table, less the other situations and the runtimes that are switched off."""
    here = alt.Chart(alt.NamedData(name=table)).transform_filter("datum.situation === situation")
    return here.transform_filter("!datum.runtime || indexof(hidden, datum.runtime) < 0")


def _color(look: list[RuntimeStyle]) -> alt.Color:
    scale = alt.Scale(domain=[one.key for one in look], range=[f"var({one.variable})" for one in look])
    return alt.Color("runtime:N", scale=scale, legend=None)


def _shape(look: list[RuntimeStyle]) -> alt.Shape:
    scale = alt.Scale(domain=[one.key for one in look], range=[one.shape for one in look])
    return alt.Shape("runtime:N", scale=scale, legend=None)


def _size_axis(data: Datasets) -> alt.X:
    return alt.X(
        "size:Q",
        scale=alt.Scale(type="log", domain=_padded(data.sizes, 1.18), nice=False),
        axis=alt.Axis(title=_SIZE_TITLE, values=data.sizes, format="d", grid=False),
    )


def _line_with_points(
    shown: alt.Chart, look: list[RuntimeStyle], x: alt.X, y: alt.Y, tooltip: list[alt.Tooltip]
) -> list[alt.Chart]:
    """Lines and marks of the runtimes; ours is thicker. The mark is large, so a finger finds the tooltip."""
    ours = alt.condition("datum.runtime === 'tautochrone'", alt.value(3), alt.value(1.6))
    lines = shown.mark_line(opacity=0.9).encode(
        x=x, y=y, color=_color(look), detail="runtime:N", strokeWidth=ours
    )
    size = alt.condition("datum.runtime === 'tautochrone'", alt.value(110), alt.value(70))
    marks = shown.mark_point(filled=True, opacity=1, stroke="var(--page)", strokeWidth=1).encode(
        x=x, y=y, color=_color(look), shape=_shape(look), size=size, tooltip=tooltip
    )
    return [lines, marks]


def _raw(look: list[RuntimeStyle], x: alt.X, y: alt.Y) -> alt.Chart:
    dots: alt.Chart = _shown("points").mark_circle(size=14, opacity=0.35).encode(x=x, y=y, color=_color(look))
    return dots


def _interval(shown: alt.Chart, look: list[RuntimeStyle], x: alt.X, low: alt.Y, high: str) -> alt.Chart:
    bars: alt.Chart = shown.mark_rule(strokeWidth=2).encode(x=x, y=low, y2=high, color=_color(look))
    return bars


def _time(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    times, bounds = data.tables["times"], data.tables["bounds"]
    every = _numbers(times, "seconds", "low", "high") + _numbers(bounds, "seconds")
    every += _numbers(data.tables["points"], "seconds")
    scale = alt.Scale(type="log", domain=_padded(every, 1.3), nice=False)
    axis = alt.Axis(
        title="time of one iteration", values=_decade_ticks(min(every), max(every)), labelExpr=_TIME_LABEL
    )
    x, y = _size_axis(data), alt.Y("seconds:Q", scale=scale, axis=axis)
    tooltip = [
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("size:Q", title="size", format="d"),
        alt.Tooltip("time:N", title="median"),
        alt.Tooltip("interval:N", title="interval"),
        alt.Tooltip("rounds:Q", title="rounds"),
    ]
    shown = _shown("times")
    layers = [
        _bound(x, y, "time:N", "no division can take less than"),
        _raw(look, x, y),
        _interval(shown.transform_filter("isValid(datum.low)"), look, x, _again(y, "low:Q"), "high:Q"),
        *_line_with_points(shown, look, x, y, tooltip),
    ]
    return alt.layer(*layers).properties(height=330).add_params(*_parameters())


def _again(y: alt.Y, field: str) -> alt.Y:
    """The same axis for another field."""
    copy: alt.Y = y.copy(deep=True)
    copy.shorthand = field
    return copy


def _bound(x: alt.X, y: alt.Y, value: str, title: str) -> alt.Chart:
    tooltip = [
        alt.Tooltip("size:Q", title="size", format="d"),
        alt.Tooltip(value, title=title),
        alt.Tooltip("fast:N", title="fast cores alone"),
        alt.Tooltip("slow:N", title="slow cores alone"),
    ]
    point = alt.OverlayMarkDef(shape="stroke", size=120, color=_INK)
    lines = _shown("bounds").mark_line(
        point=point, strokeDash=[7, 4], strokeWidth=2, stroke=_INK, opacity=0.75
    )
    bound: alt.Chart = lines.encode(x=x, y=y, tooltip=tooltip)
    return bound


def _speedup(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    times = data.tables["times"]
    every = _numbers(times, "speedup", "speedup_high") + _numbers(data.tables["bounds"], "speedup")
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
    shown = _shown("times").transform_filter("isValid(datum.speedup) && datum.runtime !== 'serial'")
    raw = _raw(look, x, y).transform_filter("isValid(datum.speedup) && datum.runtime !== 'serial'")
    layers = [
        _bound(x, y, "speedup_text:N", "bound S").transform_filter("isValid(datum.speedup)"),
        raw,
        _interval(
            shown.transform_filter("isValid(datum.speedup_low)"),
            look,
            x,
            _again(y, "speedup_low:Q"),
            "speedup_high:Q",
        ),
        *_line_with_points(shown, look, x, y, tooltip),
    ]
    return alt.layer(*layers).properties(height=330).add_params(*_parameters())


def _ratio(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    records = data.tables["ratios"]
    every = [*_numbers(records, "ratio", "low", "high"), 1.0]
    scale = alt.Scale(type="log", domain=_padded(every, 1.06), nice=False)
    axis = alt.Axis(title="our time / their time", format="~g", grid=True)
    inside = [tick for tick in _RATIO_TICKS if min(every) <= tick <= max(every)]
    if len(inside) >= 4:
        axis.values = inside
    x = alt.X("ratio:Q", scale=scale, axis=axis)
    low = alt.X("low:Q", scale=scale, axis=axis)
    y = alt.Y("size:O", sort="ascending", axis=alt.Axis(title="matrix size n", domain=False, ticks=False))
    runtimes = [one.key for one in look if one.key in {record["runtime"] for record in records}]
    offset = alt.YOffset("runtime:N", scale=alt.Scale(domain=runtimes, paddingOuter=0.6))
    shown = _shown("ratios").transform_filter("datum.role === role")
    tooltip = [
        alt.Tooltip("configuration:N", title="against"),
        alt.Tooltip("size:O", title="size"),
        alt.Tooltip("ratio_text:N", title="ratio"),
        alt.Tooltip("verdict:N", title="ours is"),
        alt.Tooltip("rounds:Q", title="paired rounds"),
    ]
    one = alt.Chart(alt.InlineData(values=[{"one": 1}])).mark_rule(strokeWidth=1.5, stroke=_INK, opacity=0.7)
    layers = [
        one.encode(x=alt.X("one:Q", scale=scale, axis=axis)),
        shown.mark_rule(strokeWidth=2.4).encode(x=low, x2="high:Q", y=y, yOffset=offset, color=_color(look)),
        shown.mark_point(filled=True, size=80, opacity=1, stroke="var(--page)", strokeWidth=1).encode(
            x=x, y=y, yOffset=offset, color=_color(look), shape=_shape(look), tooltip=tooltip
        ),
    ]
    height = max(140, len(data.sizes) * max(34, 15 * len(runtimes) + 10))
    return alt.layer(*layers).properties(height=height).add_params(*_parameters(role="best"))


def _chunk(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    records = data.tables["chunks"]
    chunks = sorted(set(_numbers(records, "chunk")))
    x = alt.X(
        "chunk:Q",
        scale=alt.Scale(type="log", base=2, domain=_padded(chunks, 1.25), nice=False),
        axis=alt.Axis(title="chunk (rows handed out at a time)", values=chunks, format="d", grid=False),
    )
    # the time's range depends on the size that the reader picks, so this axis fits what is shown
    y = alt.Y(
        "seconds:Q",
        scale=alt.Scale(type="log", nice=False, padding=16),
        axis=alt.Axis(title="time of one iteration", tickCount=5, labelExpr=_TIME_LABEL),
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
    shown = _shown("chunks").transform_filter("datum.size === size")
    layers = [
        _interval(shown.transform_filter("isValid(datum.low)"), look, x, _again(y, "low:Q"), "high:Q"),
        shown.mark_line(strokeWidth=1.8).encode(
            x=x, y=y, color=_color(look), strokeDash=dash, detail=["runtime:N", "schedule:N"]
        ),
        shown.mark_point(filled=True, size=64, opacity=1, stroke="var(--page)", strokeWidth=1).encode(
            x=x, y=y, color=_color(look), shape=_shape(look), tooltip=tooltip
        ),
    ]
    sizes = sorted({int(size) for size in _numbers(records, "size")})
    return alt.layer(*layers).properties(height=290).add_params(*_parameters(size=sizes[len(sizes) // 2]))


def _bandwidth(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    shares = _numbers(data.tables["bandwidth"], "share")
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
        strokeDash=[7, 4], strokeWidth=2, stroke=_INK, opacity=0.75
    )
    layers = [limit.encode(y=y), *_line_with_points(_shown("bandwidth"), look, x, y, tooltip)]
    return alt.layer(*layers).properties(height=290).add_params(*_parameters())


def _load(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    cpus = list(dict.fromkeys(str(record["cpu"]) for record in data.tables["load"]))
    cpus.sort(key=lambda name: int(name.split()[1]))
    tooltip = [
        alt.Tooltip("cpu:N", title="CPU"),
        alt.Tooltip("end:Q", title="at (s)", format=".2f"),
        alt.Tooltip("busy_text:N", title="busy"),
        alt.Tooltip("clock:N", title="clock"),
    ]
    shown = alt.Chart(alt.NamedData(name="load")).transform_filter("datum.run === run")
    y = alt.Y(
        "cpu:N",
        sort=cpus,
        scale=alt.Scale(paddingInner=0.12),
        axis=alt.Axis(title=None, domain=False, ticks=False, labelOverlap="parity"),
    )
    x = alt.X("begin:Q", axis=alt.Axis(title="time since the start (s)", grid=False, tickCount=5))
    busy = alt.Opacity("busy:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 1]), legend=None)
    height = max(90, len(cpus) * (26 if len(cpus) <= 12 else 16))
    strips = shown.mark_rect(fill="var(--load)").encode(x=x, x2="end:Q", y=y, opacity=busy, tooltip=tooltip)
    return alt.layer(strips).properties(height=height).add_params(alt.param(name="run", value=0))


def _misses(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    x = _size_axis(data)
    scale = alt.Scale(domain=[0, max([*_numbers(data.tables["misses"], "ratio"), 1.0])], nice=False)
    y = alt.Y("ratio:Q", scale=scale, axis=alt.Axis(title="misses / accesses", format=".0%", tickCount=5))
    tooltip = [
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("size:Q", title="size", format="d"),
        alt.Tooltip("counter:N", title="counters"),
        alt.Tooltip("ratio_text:N", title="ratio"),
    ]
    shown = _shown("misses").transform_filter("datum.counter === counter")
    layers = [
        shown.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=_color(look), detail=["runtime:N", "configuration:N"]
        ),
        shown.mark_point(filled=True, size=70, opacity=1, stroke="var(--page)", strokeWidth=1).encode(
            x=x, y=y, color=_color(look), shape=_shape(look), tooltip=tooltip
        ),
    ]
    first = str(data.tables["misses"][0]["counter"])
    return alt.layer(*layers).properties(height=270).add_params(*_parameters(counter=first))
