"""Time against energy, with the Pareto front: a part that any study's page can hold.

Drawn from rows with measured joules alone; estimates never get here. Without such rows there is a
sentence that says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import altair as alt
import msgspec

from tautochrone import text
from tautochrone.report.charts import Chart
from tautochrone.report.drawing import (
    INK,
    Layers,
    color,
    finished,
    layered,
    log_axis,
    marks,
    numbers,
    shape,
    tips,
)
from tautochrone.report.palette import RuntimeStyle, runtime_key, styles
from tautochrone.report.parts import Choice, Figure, Record, View
from tautochrone.results.row import SCREENING, Row, seconds_of
from tautochrone.results.runs import median_known
from tautochrone.results.spent import measured_joules, platform_joules, why_not_measured

NAME = "energy"
_PLATFORM = " Filled marks are the processor’s energy, the hollow ones above them the whole machine’s."
_ENERGY_LABEL = "replace(format(datum.value, '~s'), /([0-9.]+)/, '$1 ') + 'J'"


class Point(msgspec.Struct, frozen=True):
    """A configuration: medians over its rows. ``front``: nothing in its group beats it in both."""

    group: str
    label: str
    runtime: str
    seconds: float
    joules: float
    runs: int
    platform: float | None = None  # of the whole machine, where `joules` are its packages'
    front: bool = False


class EnergyPart(msgspec.Struct, frozen=True):
    """What a page adds to its own: tables, charts, figures; or the sentence that stands in their place."""

    sentence: str
    tables: dict[str, list[Record]] = {}
    charts: dict[str, Any] = {}
    figures: list[Figure] = []


def points(rows: Sequence[Row]) -> list[Point]:
    """The configurations with measured joules, with the front of each group marked."""
    kept: dict[tuple[str, str], list[tuple[Row, float]]] = {}
    for row in rows:
        joules = measured_joules(row)
        if joules is not None and row.seconds and row.source != SCREENING:
            kept.setdefault((str(row.group or ""), str(row.config_id)), []).append((row, joules))
    found: list[Point] = []
    for (group, _), of_one in kept.items():
        row, config = of_one[0][0], of_one[0][0].config
        found.append(
            Point(
                group=group,
                label=row.name or row.config_id,
                runtime=runtime_key(str(config.get("runtime", "unknown")), str(config.get("library") or "")),
                seconds=median(seconds_of(one) for one, _ in of_one),
                joules=median(joules for _, joules in of_one),
                runs=len(of_one),
                platform=median_known(platform_joules(one) for one, _ in of_one),
            )
        )
    return [msgspec.structs.replace(one, front=_is_front(one, found)) for one in found]


def build(rows: Sequence[Row]) -> EnergyPart:
    """The part of a page for these rows."""
    found = points(rows)
    if not found:
        return EnergyPart(why_not_measured(rows))
    groups = list(dict.fromkeys(one.group for one in found))
    table = [_record(one, groups.index(one.group)) for one in found]
    chart = Chart(
        name=NAME,
        records=table,
        draw=lambda look: _draw(table, look),
        heading=_heading(found),
        explanation=(
            "Each mark is a configuration: to the left is faster, further down takes less energy. The line "
            "joins the Pareto front: what lies on it cannot be beaten in one without losing in the other."
            + (_PLATFORM if numbers(table, "platform") else "")
        ),
        views=[View("", {"situation": 0, "cell": 0}, "Energy against time of each configuration")],
        line_legend=[("dashed", "Pareto front")],
        choice=Choice("cell", "Work", [(index, name or "all") for index, name in enumerate(groups)], 0),
    )
    look = styles({str(record["runtime"]) for record in table})
    return EnergyPart("", {NAME: table}, {NAME: finished(chart.draw(look))}, [chart.figure([], look)])


def _is_front(one: Point, all_points: Sequence[Point]) -> bool:
    return not any(
        other.seconds <= one.seconds
        and other.joules <= one.joules
        and (other.seconds < one.seconds or other.joules < one.joules)
        for other in all_points
        if other.group == one.group
    )


def _heading(found: Sequence[Point]) -> str:
    groups = {one.group: [other for other in found if other.group == one.group] for one in found}
    agree = sum(
        min(of_one, key=lambda one: one.seconds).joules <= min(one.joules for one in of_one)
        for of_one in groups.values()
    )
    if agree == len(groups):
        return "The fastest configuration also takes the least energy"
    if agree == 0:
        return "The fastest configuration does not take the least energy"
    return f"The fastest configuration also takes the least energy in {agree} of {len(groups)} cases"


def _record(one: Point, cell: int) -> Record:
    return {
        "cell": cell,
        "configuration": one.label,
        "runtime": one.runtime,
        "seconds": one.seconds,
        "joules": one.joules,
        "seconds_text": text.seconds(one.seconds),
        "joules_text": text.quantity(one.joules, "J"),
        "watts_text": text.quantity(one.joules / one.seconds, "W"),
        "runs": one.runs,
        "front": one.front,
        "platform": one.platform,
        "platform_text": text.UNKNOWN if one.platform is None else text.quantity(one.platform, "J"),
    }


def _draw(table: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    x = log_axis(alt.X, "seconds", numbers(table, "seconds"), "time", padding=1.2)
    every = [*numbers(table, "joules"), *numbers(table, "platform")]
    y = log_axis(alt.Y, "joules", every, "energy", label=_ENERGY_LABEL, padding=1.2)
    here = alt.Chart(alt.NamedData(name=NAME)).transform_filter("datum.cell === cell")
    beside = ["platform_text:N of the platform"] if numbers(table, "platform") else []
    tooltip = tips(
        "configuration:N configuration",
        "seconds_text:N time",
        "joules_text:N energy",
        *beside,
        "watts_text:N mean power",
        "runs:Q runs",
    )
    front = here.transform_filter("datum.front").mark_line(
        interpolate="step-after", stroke=INK, strokeDash=[6, 4], strokeWidth=1.5, opacity=0.7
    )
    drawn = here.transform_filter("indexof(hidden, datum.runtime) < 0")
    layers = [
        front.encode(x=x, y=y, order=alt.Order("seconds:Q")),
        marks(drawn, look, 90, x=x, y=y, tooltip=tooltip),
    ]
    if beside:
        known = drawn.transform_filter("isValid(datum.platform)")
        whole = known.mark_point(filled=False, size=90, strokeWidth=1.5)
        line = known.mark_rule(strokeWidth=1, opacity=0.5)
        up = log_axis(alt.Y, "platform", every, "energy", label=_ENERGY_LABEL, padding=1.2)
        layers.append(line.encode(x=x, y=y, y2="platform:Q", color=color(look)))
        layers.append(whole.encode(x=x, y=up, color=color(look), shape=shape(look), tooltip=tooltip))
    return layered(*layers, height=360, cell=0)
