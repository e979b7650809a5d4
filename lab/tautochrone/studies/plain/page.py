"""The page of a plain study: the time of each way, its ratio to the reference, and the table of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from tautochrone import text
from tautochrone.report import spent
from tautochrone.report.charts import Chart, page_parts, table_row
from tautochrone.report.drawing import (
    TIME_LABEL,
    Layers,
    bars,
    color,
    distinct,
    layered,
    line_at_one,
    marks,
    names_axis,
    shown,
    tips,
)
from tautochrone.report.palette import RuntimeStyle, runtime_key
from tautochrone.report.parts import LAST_COLUMNS, Choice, Column, Filter, Parts, Record
from tautochrone.results.states import states_of
from tautochrone.studies.plain.study import PlainAnalysis, PlainCell, PlainConfiguration

_COLUMNS: tuple[Column, ...] = (
    ("work", "work", "text"),
    ("situation", "machine", "situation"),
    ("runtime", "runtime", "runtime"),
    ("configuration", "configuration", "text"),
    ("threads", "threads", "number"),
    ("seconds", "median", "time"),
    ("low", "interval", "interval"),
    ("ratio", "by the reference", "relative"),
)
_TIPS = tips(
    "configuration:N configuration",
    "time:N median time",
    "ratio_text:N by the reference",
    "verdict:N against the reference",
    "rounds:Q rounds",
)


def parts(analysis: PlainAnalysis) -> Parts:
    situations = states_of(analysis.cells)
    records = [
        _record(cell, way, situations.index(dict(cell.emulated)))
        for cell in analysis.cells
        for way in cell.configurations
    ]
    works = list(dict.fromkeys(cell.work for cell in analysis.cells))
    return page_parts(
        "report.html.j2",
        _charts(records, works),
        situations=situations,
        configurations=records,
        columns=(*_COLUMNS, *spent.columns(records), *LAST_COLUMNS),
        filters=[Filter("work", "Work", [(work, work) for work in works])],
    )


def _record(cell: PlainCell, way: PlainConfiguration, situation: int) -> Record:
    ratio = way.to_reference
    record = table_row(
        way,
        (*_COLUMNS, *LAST_COLUMNS),
        situation=situation,
        work=cell.work,
        runtime=runtime_key(way.runtime),
        configuration=way.label,
        time=text.seconds(way.seconds),
        ratio=ratio.value,
        ratio_low=ratio.low,
        ratio_high=ratio.high,
        ratio_text="it is the reference" if way.is_reference else text.ratio(ratio),
        verdict="" if way.is_reference else ratio.verdict,
    )
    return record | spent.record(way.spent)


def _charts(records: Sequence[Record], works: Sequence[str]) -> Iterator[Chart]:
    choice = Choice("work", "Work", [(work, work) for work in works], works[0] if works else "")
    timed = [record for record in records if record["seconds"] is not None]
    compared = [record for record in records if record["ratio_low"] is not None]
    yield Chart(
        name="time",
        table="times",
        records=timed,
        draw=lambda look: _draw(timed, look, "times", ("seconds", "low", "high"), "time of the work"),
        heading="How long each way takes",
        explanation="The median over the rounds. The bar is its interval.",
        shows="Median time of each way to do the work",
        choice=choice,
    )
    yield Chart(
        name="ratio",
        table="ratios",
        records=compared,
        draw=lambda look: _draw(
            compared, look, "ratios", ("ratio", "ratio_low", "ratio_high"), "time / time of the reference"
        ),
        heading="Each way against the reference",
        explanation=(
            "Its time divided by the reference’s in the same rounds: left of the line at 1 it is faster. "
            "The bar is the interval of the paired median; where it crosses 1, no difference is resolved."
        ),
        shows="Ratio of each way’s time to the reference’s",
        choice=choice,
    )


def _draw(
    records: Sequence[Record], look: list[RuntimeStyle], table: str, fields: tuple[str, str, str], title: str
) -> Layers:
    """A line of the chart for each way, with a mark and its interval."""
    middle, low, high = fields
    is_time = middle == "seconds"
    # The scale is that of the work that is shown: the works may differ by orders of magnitude.
    scale = alt.Scale(zero=True) if is_time else alt.Scale(type="log")
    axis = alt.Axis(title=title, tickCount=6, format=alt.Undefined if is_time else "~g")
    if is_time:
        axis.labelExpr = TIME_LABEL
    x = alt.X(f"{middle}:Q", scale=scale, axis=axis)
    ways = distinct(records, "configuration")
    y = names_axis("configuration:O", ways, 220)
    drawn = shown(table).transform_filter("datum.work === work")
    layers = [
        bars(drawn, x, low, high, y=y, color=color(look)),
        marks(drawn, look, 90, x=x, y=y, tooltip=_TIPS),
    ]
    if not is_time:
        layers.insert(0, line_at_one(x))
    return layered(*layers, height=max(140, 30 * len(ways)), work=records[0]["work"])
