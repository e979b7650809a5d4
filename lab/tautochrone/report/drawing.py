"""How charts are drawn: Vega-Lite built with Altair, the same looks in every study.

A chart is described once and drawn once for each state of the machine: the page sets the parameter
``situation``. The parameter ``hidden`` lists the runtimes that the reader has switched off. No colour is a
literal: all are CSS variables of the page, so one drawing serves light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import altair as alt
from altair.typing import ChartType as Layers

from tautochrone.report.palette import RuntimeStyle
from tautochrone.report.parts import Record

__all__ = ["Layers"]

Channel = TypeVar("Channel", alt.X, alt.Y)

INK = "var(--ink)"
QUIET = "var(--quiet)"
DASHED: dict[str, Any] = {"strokeDash": [7, 4], "strokeWidth": 2, "stroke": INK, "opacity": 0.75}
"""The looks of a line that marks a limit."""
TIMES_LABEL = "datum.label + '×'"
PERCENT_LABEL = "format(datum.value, '.0%')"
TIME_LABEL = "replace(format(datum.value, '~s'), /([0-9.]+)/, '$1 ') + 's'"
_MOST_POWERS = 8  # as ticks of an axis

_ROW_HEIGHT = 26
_WIDE = 2.5  # beyond it the ticks of a logarithmic axis are dense enough to read


def finished(chart: Layers) -> dict[str, Any]:
    """The specification with the page's looks: text as large as the page's, hair lines, no frame."""
    axis = {"labelFontSize": 14, "titleFontSize": 14, "titleFontWeight": 500, "titlePadding": 10}
    quiet = {"gridColor": "var(--hair)", "domainColor": "var(--line)", "tickColor": "var(--line)"}
    config = {
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
        "background": None,
        "view": {"stroke": None},
        "axis": axis
        | quiet
        | {"labelColor": QUIET, "titleColor": QUIET, "labelOverlap": "greedy", "labelSeparation": 8},
    }
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("$schema", None)
    spec["config"] = config
    spec["width"] = "container"
    return spec


def numbers(records: Iterable[Record], *names: str) -> list[float]:
    """The numbers among some fields of the records."""
    found = (record.get(name) for record in records for name in names)
    return [float(value) for value in found if isinstance(value, int | float)]


def padded(values: Sequence[float], factor: float) -> list[float]:
    """A domain for a logarithmic axis; also right for one value, where a plain minimum has no width."""
    return [min(values) / factor, max(values) * factor]


def decade_ticks(low: float, high: float) -> list[float]:
    """At most about eight ticks: 1, 2, 5 of each decade, or 1 alone where there are many decades."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        # written and read, so that 5 times 1e-6 is 5e-06 and not its neighbour
        ticks = [float(f"{step}e{decade}") for decade in range(first, last + 1) for step in steps]
        inside = [tick for tick in ticks if low / 1.3 <= tick <= high * 1.3]
        if len(inside) <= 8:
            break
    return inside


_RATIOS = (
    *(1.0, 0.5, 2.0, 0.1, 10.0, 0.01, 100.0, 1000.0, 0.2, 5.0, 0.02, 20.0, 50.0, 0.05),
    *(0.8, 1.25, 0.7, 1.5, 0.3, 3.0, 0.9, 1.1, 0.95, 1.05, 0.98, 1.02, 0.99, 1.01, 0.6, 1.2, 0.4, 0.85),
)
"""Where an axis of ratios may have a tick, those that are wanted most first."""
_MOST_RATIOS = 6


def ratio_ticks(every: Sequence[float]) -> list[float]:
    """Ticks from the least to the largest of `every` and of 1: with 1, and so far apart that all are read."""
    low, high = min([*every, 1.0]), max([*every, 1.0])
    apart = math.log(high / low) / _MOST_RATIOS
    ticks: list[float] = []
    for ratio in _RATIOS:
        if low <= ratio <= high and all(abs(math.log(ratio / tick)) >= apart for tick in ticks):
            ticks.append(ratio)
    return sorted(ticks)


def ratio_axis(title: str, every: Sequence[float]) -> alt.Axis:
    """An axis of ratios that always has its 1, where both are equal."""
    return alt.Axis(title=title, format="~g", grid=True, values=ratio_ticks(every), labelOverlap=False)


def log_axis(
    channel: type[Channel],
    field: str,
    every: Sequence[float],
    title: str,
    *,
    label: str = TIME_LABEL,
    padding: float = 1.25,
    grid: bool = True,
) -> Channel:
    """A logarithmic axis that holds `every` value: of times, or of what `label` writes."""
    ticks = decade_ticks(min(every), max(every))
    lines = alt.Undefined if grid else False
    return channel(
        f"{field}:Q",
        scale=alt.Scale(type="log", domain=padded(every, padding), nice=False),
        axis=alt.Axis(title=title, values=ticks, labelExpr=label, grid=lines),
    )


def powers_axis(records: Iterable[Record], field: str, title: str) -> alt.X:
    """A logarithmic axis of counts, with powers of two at its ticks."""
    domain = padded(numbers(records, field), 1.25)
    powers = [1 << power for power in range(27) if domain[0] <= 1 << power <= domain[1]]
    ticks = powers[:: len(powers) // _MOST_POWERS + 1]
    axis = alt.Axis(title=title, values=ticks, format=",d", grid=False)
    return alt.X(f"{field}:Q", scale=alt.Scale(type="log", domain=domain, nice=False), axis=axis)


def axis_from_zero(
    channel: type[Channel],
    field: str,
    every: Sequence[float],
    title: str,
    *,
    padding: float = 1.06,
    least: float = 1.0,
    **look: Any,
) -> Channel:
    """An axis from 0 to the largest of ``every``, at least to ``least``; ``look`` goes to Altair's axis."""
    scale = alt.Scale(domain=[0, max([*every, least]) * padding], nice=False)
    return channel(f"{field}:Q", scale=scale, axis=alt.Axis(title=title, **look))


def names_axis(field: str, names: Sequence[str], widest: int, **look: Any) -> alt.Y:
    """A line of the chart for each name, in their order; labels are cut at ``widest`` pixels."""
    axis = alt.Axis(title=None, domain=False, ticks=False, labelLimit=widest, **look)
    return alt.Y(field, sort=list(names), axis=axis)


def distinct(records: Iterable[Record], field: str) -> list[str]:
    """The texts in a field, each once, in the order in which they first come."""
    return list(dict.fromkeys(str(record[field]) for record in records))


def line_at_one(along: alt.X | alt.Y) -> alt.Chart:
    """The line of equal times in a chart that has ratios along this axis."""
    at = along.copy(deep=True)
    at.shorthand = "one:Q"
    one = alt.Chart(alt.InlineData(values=[{"one": 1}])).mark_rule(strokeWidth=1.5, stroke=INK, opacity=0.7)
    line: alt.Chart = one.encode(x=at) if isinstance(at, alt.X) else one.encode(y=at)
    return line


def shown(table: str) -> alt.Chart:
    """A table, less the other situations and the runtimes that are switched off."""
    here = alt.Chart(alt.NamedData(name=table)).transform_filter("datum.situation === situation")
    return here.transform_filter("!datum.runtime || indexof(hidden, datum.runtime) < 0")


def tips(*fields: str) -> list[alt.Tooltip]:
    """Tooltips, each "field:type title" or "field:type,format title"."""
    found = []
    for spec in fields:
        what, _, title = spec.partition(" ")
        field, _, form = what.partition(",")
        found.append(alt.Tooltip(field, title=title, format=form or alt.Undefined))
    return found


def layered(*layers: alt.Chart, height: int, **values: Any) -> Layers:
    """The layers as one chart, with the parameters that every chart has and those that the page may set."""
    every: dict[str, Any] = {"situation": 0, "hidden": []} | values
    parameters = [alt.param(name=name, value=value) for name, value in every.items()]
    return alt.layer(*layers).properties(height=height).add_params(*parameters)


def marks(here: alt.Chart, look: list[RuntimeStyle], size: int = 80, **channels: Any) -> alt.Chart:
    """Marks of the runtimes. They are large, so that a finger finds the tooltip."""
    points = here.mark_point(filled=True, size=size, opacity=1, stroke="var(--page)", strokeWidth=1)
    found: alt.Chart = points.encode(color=color(look), shape=shape(look), **channels)
    return found


def color(look: list[RuntimeStyle]) -> alt.Color:
    """A runtime's colour, the same in every chart."""
    scale = alt.Scale(
        domain=[style.key for style in look], range=[f"var({style.variable})" for style in look]
    )
    return alt.Color("runtime:N", scale=scale, legend=None)


def shape(look: list[RuntimeStyle]) -> alt.Shape:
    """A runtime's shape, so that colour is never alone in carrying the meaning."""
    scale = alt.Scale(domain=[style.key for style in look], range=[style.shape for style in look])
    return alt.Shape("runtime:N", scale=scale, legend=None)


def line_with_points(
    here: alt.Chart, look: list[RuntimeStyle], x: alt.X, y: alt.Y, tooltip: list[alt.Tooltip]
) -> list[alt.Chart]:
    """Lines and marks of the runtimes; ours is thicker. The mark is large, so a finger finds the tooltip."""
    ours = alt.condition("datum.runtime === 'tautochrone'", alt.value(3), alt.value(1.6))
    lines = here.mark_line(opacity=0.9).encode(
        x=x, y=y, color=color(look), detail="runtime:N", strokeWidth=ours
    )
    size = alt.condition("datum.runtime === 'tautochrone'", alt.value(110), alt.value(70))
    marks = here.mark_point(filled=True, opacity=1, stroke="var(--page)", strokeWidth=1).encode(
        x=x, y=y, color=color(look), shape=shape(look), size=size, tooltip=tooltip
    )
    return [lines, marks]


def interval(
    here: alt.Chart, look: list[RuntimeStyle], x: alt.X, y: alt.Y, low: str = "low", high: str = "high"
) -> alt.Chart:
    """Bars from the low to the high end of intervals, where there are any."""
    there = here.transform_filter(f"isValid(datum.{low})")
    start = y.copy(deep=True)
    start.shorthand = f"{low}:Q"
    bars: alt.Chart = there.mark_rule(strokeWidth=2).encode(x=x, y=start, y2=f"{high}:Q", color=color(look))
    return bars


def bars(drawn: alt.Chart, x: alt.X, low: str = "low", high: str = "high", **channels: Any) -> alt.Chart:
    """Bars from the low to the high end of intervals, lying; ``channels`` say where and how they look."""
    start = x.copy(deep=True)
    start.shorthand = f"{low}:Q"
    stroke = alt.Undefined if "color" in channels else INK
    lying = drawn.transform_filter(f"isValid(datum.{low})").mark_rule(strokeWidth=2.4, stroke=stroke)
    found: alt.Chart = lying.encode(x=start, x2=f"{high}:Q", **channels)
    return found


def per_runtime(look: list[RuntimeStyle], records: Iterable[Record]) -> tuple[alt.YOffset, int]:
    """The place of each runtime of the records inside a line of the chart, and how many there are."""
    present = {record["runtime"] for record in records}
    runtimes = [style.key for style in look if style.key in present]
    return alt.YOffset("runtime:N", scale=alt.Scale(domain=runtimes, paddingOuter=0.6)), len(runtimes)


def intervals_by_name(
    table: str, records: Sequence[Record], field: str, title: str, tooltip: list[alt.Tooltip]
) -> Layers:
    """A line for each record: its interval as a bar, its value as a dot, and the line at 1."""
    every = [*numbers(records, field, "low", "high"), 1.0]
    wide = max(every) > _WIDE * min(every)
    scale = alt.Scale(type="log" if wide else "linear", domain=padded(every, 1.02), nice=False)
    x = alt.X(f"{field}:Q", scale=scale, axis=ratio_axis(title, every))
    y = labels(records)
    drawn = shown(table)
    quiet = alt.condition("indexof(['no difference resolved', 'not resolved', 'not measured'], "
                          "datum.verdict) >= 0", alt.value(0.45), alt.value(1.0))  # fmt: skip
    return layered(
        line_at_one(x),
        bars(drawn, x, y=y, opacity=quiet),
        drawn.mark_point(filled=True, size=90, stroke="var(--page)", strokeWidth=1, color=INK).encode(
            x=x, y=y, opacity=quiet, tooltip=tooltip
        ),
        height=max(90, _ROW_HEIGHT * len(records)),
    )


def labels(records: Sequence[Record]) -> alt.Y:
    return names_axis("label:N", [str(record["label"]) for record in records], 520, labelOverlap=False)
