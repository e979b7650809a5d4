"""The charts of the nbody study: what is drawn, on which axes, and what the tooltips say."""

from __future__ import annotations

from typing import Any

import altair as alt

from tautochrone.report.drawing import (
    INK,
    QUIET,
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
from tautochrone.report.nbody.datasets import Datasets
from tautochrone.report.palette import RuntimeStyle, styles
from tautochrone.report.tables import Record

_BAR_SHARE = 0.03  # of the chart's height, for the bar of each engine
_ACTIVE = "active particles in a block"


def build(data: Datasets) -> dict[str, dict[str, Any]]:
    """Every chart that has something to draw: its name on the page and its Vega-Lite specification."""
    look = styles(data.runtimes)
    drawn = {
        "blocks": (_blocks, "blocks"),
        "sharing": (_sharing, "blocks"),
        "schemes": (_schemes, "schemes"),
        "speedup": (_speed_up, "speeds"),
        "forecast": (_forecast, "forecasts"),
        "counts": (_counts, "counts"),
        "accuracy": (_accuracy, "accuracy"),
    }
    return {name: finished(draw(data, look)) for name, (draw, table) in drawn.items() if data.tables[table]}


def _time_axis(records: list[Record], title: str, *fields: str) -> alt.Y:
    return log_axis(alt.Y, fields[0], numbers(records, *fields), title)


def _here(table: str) -> alt.Chart:
    """The number of particles that the view shows."""
    return shown(table).transform_filter("datum.particles === particles")


def _in_view(table: str) -> alt.Chart:
    return _here(table).transform_filter("datum.view === view")


def _first(records: list[Record]) -> dict[str, Any]:
    return {"particles": records[0]["particles"]}


def _blocks(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """Time of a block against its active count; the broad lines are what the model expected."""
    records = data.tables["blocks"]
    x = powers_axis(records, "active", _ACTIVE)
    y = _time_axis(records, "time of a block", "seconds", "low", "high")
    tooltip = [
        alt.Tooltip("configuration:N", title="engine"),
        alt.Tooltip("active:Q", title="active", format=".0f"),
        alt.Tooltip("time:N", title="median"),
        alt.Tooltip("interval:N", title="interval"),
        alt.Tooltip("share_text:N", title="not computing"),
        alt.Tooltip("blocks:Q", title="blocks in a run"),
        alt.Tooltip("energy:N", title="energy error"),
    ]
    here = _in_view("blocks")
    models = _in_view("models").mark_line(strokeWidth=6, opacity=0.28, clip=True)
    layers = [
        models.encode(x=x, y=y, color=color(look), detail="runtime:N"),
        interval(here, look, x, y),
        *line_with_points(here, look, x, y, tooltip),
    ]
    return (
        alt.layer(*layers).properties(height=320).add_params(*parameters(view="ordinary", **_first(records)))
    )


def _sharing(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """The share of a block that is not computing."""
    records = data.tables["blocks"]
    x = powers_axis(records, "active", _ACTIVE)
    axis = alt.Axis(title="share of the time", format="%", tickCount=5)
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)
    tooltip = [
        alt.Tooltip("configuration:N", title="engine"),
        alt.Tooltip("active:Q", title="active", format=".0f"),
        alt.Tooltip("share_text:N", title="not computing"),
        alt.Tooltip("time:N", title="block"),
    ]
    here = _in_view("blocks").transform_filter("datum.runtime !== 'serial'")
    marks = line_with_points(here, look, x, y, tooltip)
    return (
        alt.layer(*marks).properties(height=280).add_params(*parameters(view="ordinary", **_first(records)))
    )


def _schemes(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """Sharing the targets by sharing the sources; a bar below is the interval of the crossing."""
    records = data.tables["schemes"]
    x = powers_axis(records, "active", _ACTIVE)
    bottom, top = padded([*numbers(records, "ratio"), 1.0], 1.08)
    engines = sorted({str(record["runtime"]) for record in data.tables["crossings"]})
    bottom *= (bottom / top) ** (_BAR_SHARE * len(engines))  # room for the bars
    y = alt.Y(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=[bottom, top], nice=False),
        axis=alt.Axis(title="sharing targets / sharing sources", format="~g", tickCount=5),
    )
    tooltip = [
        alt.Tooltip("runtime:N", title="engine"),
        alt.Tooltip("active:Q", title="active", format=".0f"),
        alt.Tooltip("targets:N", title="sharing the targets"),
        alt.Tooltip("sources:N", title="sharing the sources"),
    ]
    layers = [line_at_one(y)]
    if data.tables["crossings"]:
        about = [
            alt.Tooltip("runtime:N", title="engine"),
            alt.Tooltip("crossing:N", title="targets win"),
            alt.Tooltip("rounds:Q", title="rounds"),
        ]
        rule = _here("crossings").mark_rule(strokeWidth=2, strokeDash=[5, 4], opacity=0.8)
        layers.append(rule.encode(x=x, color=color(look), tooltip=about))
        low, at = x.copy(deep=True), y.copy(deep=True)
        low.shorthand, at.shorthand = "low:Q", "place:Q"
        place = f"{bottom} * pow({top / bottom}, {_BAR_SHARE} * (0.5 + indexof({engines}, datum.runtime)))"
        bars = _here("crossings").transform_filter("isValid(datum.low)").transform_calculate(place=place)
        bars = bars.mark_rule(strokeWidth=4, clip=True)
        layers.append(bars.encode(x=low, x2="high:Q", y=at, color=color(look), tooltip=about))
    layers += line_with_points(_here("schemes"), look, x, y, tooltip)
    return alt.layer(*layers).properties(height=280).add_params(*parameters(**_first(records)))


def _speed_up(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """One core's time by each engine's best, against the number of particles."""
    records = data.tables["speeds"]
    x = powers_axis(records, "particles", "particles")
    every = [*numbers(records, "speed_up", "low", "high"), 1.0]
    y = alt.Y(
        "speed_up:Q",
        scale=alt.Scale(domain=[0, max(every) * 1.05]),
        axis=alt.Axis(title="times as fast as one core", tickCount=5),
    )
    tooltip = [
        alt.Tooltip("configuration:N", title="fastest way"),
        alt.Tooltip("particles:Q", title="particles", format=",d"),
        alt.Tooltip("speed_up:Q", title="times as fast", format=".2f"),
        alt.Tooltip("time:N", title="block"),
        alt.Tooltip("energy:N", title="energy error"),
        alt.Tooltip("rounds:Q", title="paired rounds"),
    ]
    here = shown("speeds")
    layers = [
        line_at_one(y),
        interval(here, look, x, y),
        *line_with_points(here, look, x, y, tooltip),
    ]
    return alt.layer(*layers).properties(height=300).add_params(*parameters())


def _forecast(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """What the model expects of more cores, one line for each number of particles; a ring is measured."""
    records = data.tables["forecasts"]
    x = powers_axis(records, "members", "cores")
    every = [*numbers(records, "speed_up", "members"), *numbers(data.tables["measured"], "speed_up")]
    y = alt.Y(
        "speed_up:Q",
        scale=alt.Scale(type="log", domain=padded(every, 1.2), nice=False),
        axis=alt.Axis(title="times as fast as one core", values=[1, 2, 4, 8, 16, 32], format="~g"),
    )
    order = list(dict.fromkeys(str(record["name"]) for record in records))
    opacity = alt.Opacity("name:O", sort=order, scale=alt.Scale(range=[0.35, 1.0]), legend=None)
    tooltip = [
        alt.Tooltip("name:N", title="particles"),
        alt.Tooltip("members:Q", title="cores"),
        alt.Tooltip("speed_up:Q", title="expected", format=".1f"),
        alt.Tooltip("many:N", title="where all move"),
        alt.Tooltip("energy:N", title="energy error"),
        alt.Tooltip("crossing:N", title="targets win"),
    ]
    measured = [
        alt.Tooltip("name:N", title="particles"),
        alt.Tooltip("speed_up:Q", title="measured here", format=".2f"),
        alt.Tooltip("energy:N", title="energy error"),
    ]
    ours = f"var({styles(['tautochrone'])[0].variable})"
    here = shown("forecasts")
    ends = max(numbers(records, "members"))
    ideal = alt.Chart(alt.InlineData(values=[{"members": one, "speed_up": one} for one in (2, ends)]))
    labels = here.transform_filter(f"datum.members === {ends:g}")
    layers = [
        ideal.mark_line(stroke=QUIET, strokeDash=[4, 4]).encode(x=x, y=y),
        here.mark_line(stroke=ours, strokeWidth=2.4).encode(x=x, y=y, detail="name:N", opacity=opacity),
        here.mark_point(filled=True, size=80, fill=ours).encode(x=x, y=y, opacity=opacity, tooltip=tooltip),
        labels.mark_text(align="left", dx=9, fontSize=14, fill=QUIET).encode(x=x, y=y, text="name:N"),
        shown("measured")
        .mark_point(size=190, filled=False, strokeWidth=2, stroke=INK)
        .encode(x=x, y=y, tooltip=measured),
    ]
    return alt.layer(*layers).properties(height=340).add_params(*parameters())


def _counts(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """Which blocks there are, and which of them take the time."""
    records = data.tables["counts"]
    x = powers_axis(records, "active", _ACTIVE)
    axis = alt.Axis(title="share", format="%", tickCount=5)
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, max(numbers(records, "share")) * 1.1]), axis=axis)
    tooltip = [
        alt.Tooltip("active:Q", title="active", format=".0f"),
        alt.Tooltip("of:N", title="of all"),
        alt.Tooltip("share_text:N", title="share"),
    ]
    here = _here("counts")
    layers: list[alt.Chart] = []
    for of, dash, stroke in (("blocks", [6, 4], QUIET), ("time", [1, 0], INK)):
        mine = here.transform_filter(f"datum.of === '{of}'")
        layers.append(mine.mark_line(strokeWidth=2, strokeDash=dash, stroke=stroke).encode(x=x, y=y))
        layers.append(mine.mark_point(filled=True, size=60, fill=stroke).encode(x=x, y=y, tooltip=tooltip))
    return alt.layer(*layers).properties(height=240).add_params(*parameters(**_first(records)))


def _accuracy(data: Datasets, look: list[RuntimeStyle]) -> Layers:
    """Energy error against the time for a unit of time: left is fast, low is right."""
    records = data.tables["accuracy"]
    times, errors = numbers(records, "unit_seconds"), numbers(records, "energy_error")
    title = "time for an N-body unit of time"
    x = log_axis(alt.X, "unit_seconds", times, title, padding=1.3, grid=False)
    y = alt.Y(
        "energy_error:Q",
        scale=alt.Scale(type="log", domain=padded(errors, 1.6), nice=False),
        axis=alt.Axis(title="relative energy error", format=".0e", tickCount=5),
    )
    tooltip = [
        alt.Tooltip("configuration:N", title="engine"),
        alt.Tooltip("particles:Q", title="particles", format=",d"),
        alt.Tooltip("time:N", title="unit of time"),
        alt.Tooltip("error_text:N", title="energy error"),
    ]
    here = _here("accuracy")
    size = alt.condition("datum.order === 'order 6'", alt.value(190), alt.value(80))
    marks = here.mark_point(filled=True, opacity=0.9, stroke="var(--page)", strokeWidth=1).encode(
        x=x, y=y, color=color(look), shape=shape(look), size=size, tooltip=tooltip
    )
    return alt.layer(marks).properties(height=260).add_params(*parameters(**_first(records)))
