"""The parts of the page of all claims: a chapter a source, its figures redrawn, its claims below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from tautochrone.report.charts import Chart, page_parts
from tautochrone.report.drawing import (
    INK,
    TIME_LABEL,
    Layers,
    color,
    decade_ticks,
    layered,
    numbers,
    padded,
    shape,
    shown,
    tips,
)
from tautochrone.report.parts import Column, Filter, Parts, Record
from tautochrone.simulator.findings import Axis
from tautochrone.studies.claims_report import ClaimsAnalysis
from tautochrone.studies.figures import Drawn, published_records, records_of

COLUMNS: tuple[Column, ...] = (
    ("figure", "figure", "text"),
    ("runtime", "curve", "runtime"),
    ("origin", "source", "text"),
    ("x", "at", "number"),
    ("name", "of", "text"),
    ("y", "value", "number"),
)
_HEIGHT = 320
_PUBLISHED: dict[str, Any] = {"color": INK, "opacity": 0.16}


def parts(analysis: ClaimsAnalysis) -> Parts:
    drawn = [figure for chapter in analysis.chapters for figure in chapter.figures]
    rows = [{"figure": each.of, **record} for each in drawn for record in records_of(each)]
    figures = [(each.of, each.of) for each in drawn]
    return page_parts(
        "claims.html.j2",
        map(_chart, drawn),
        situations=[{}],
        configurations=rows,
        columns=COLUMNS,
        filters=[Filter("figure", "Figure", figures, drawn[0].of if drawn else "")],
        chapters={chapter.figures[0].name: chapter for chapter in analysis.chapters if chapter.figures},
        drawn={each.name: each for each in drawn},
        verdicts={verdict.id: verdict for verdict in analysis.verdicts},
        words={True: "holds", False: "does not hold", None: "open"},
    )


def _chart(drawn: Drawn) -> Chart:
    records, published = records_of(drawn), published_records(drawn)
    origins = {str(record["origin"]) for record in records}
    legend = [("solid", "simulated")] + ([("dashed", "measured here")] if "measured" in origins else [])
    legend += [("broad", "published")] if published else []
    return Chart(
        name=drawn.name,
        records=records,
        beside={f"{drawn.name}-published": published},
        draw=lambda look: _bars(drawn, look) if drawn.names else _lines(drawn, records, published, look),
        heading=drawn.heading,
        explanation=drawn.explanation,
        shows=drawn.of,
        line_legend=legend,
    )


def _scale(axis: Axis, values: Sequence[float]) -> dict[str, Any]:
    """Of an axis that holds all values, with its ticks."""
    drawn: dict[str, Any] = {"title": axis.title or None}
    if axis.seconds:
        drawn["labelExpr"] = TIME_LABEL
    if axis.percent:
        drawn["format"] = ".0%"
    if axis.logarithmic:
        scale = alt.Scale(type="log", domain=padded(values, 1.08), nice=False)
        return {
            "scale": scale,
            "axis": alt.Axis(**drawn, values=decade_ticks(min(values), max(values)), grid=False),
        }
    return {"scale": alt.Scale(zero=axis.field == "y", nice=True), "axis": alt.Axis(**drawn, tickCount=6)}


def _lines(drawn: Drawn, records: Sequence[Record], published: Sequence[Record], look: Any) -> Layers:
    every = [*numbers(records, "x"), *numbers(published, "x", "x2")]
    x = alt.X("x:Q", **_scale(drawn.x, every))
    y = alt.Y("y:Q", **_scale(drawn.y, [*numbers(records, "y"), *numbers(published, "y", "y2")]))
    says = tips("says:N published")
    ranges = shown(f"{drawn.name}-published")
    area = ranges.transform_filter("datum.x !== datum.x2 || datum.y !== datum.y2")
    areas = area.mark_rect(**_PUBLISHED, stroke=INK, strokeWidth=1, strokeOpacity=0.5).encode(
        x=x, x2="x2:Q", y=y, y2="y2:Q", tooltip=says
    )
    points = ranges.transform_filter("datum.x === datum.x2 && datum.y === datum.y2").mark_point(
        shape="cross", size=170, filled=True, color=INK, angle=45
    )
    tooltip = tips("runtime:N what", "origin:N source", f"x:Q {drawn.x.title}", f"y:Q,.3~g {drawn.y.title}")
    here = shown(drawn.name)
    dash = alt.StrokeDash(
        "origin:N", scale=alt.Scale(domain=["simulated", "measured"], range=[[1, 0], [6, 4]]), legend=None
    )
    lines = here.mark_line(strokeWidth=1.8).encode(
        x=x, y=y, color=color(look), detail=["runtime:N", "origin:N"], strokeDash=dash
    )
    marks = here.mark_point(filled=True, size=46, opacity=1, stroke="var(--page)", strokeWidth=0.8).encode(
        x=x, y=y, color=color(look), shape=shape(look), tooltip=tooltip
    )
    cross = points.encode(x=x, y=y, tooltip=says)
    return layered(areas, lines, marks, cross, height=_HEIGHT)


def _bars(drawn: Drawn, look: Any) -> Layers:
    """Values by name: bars, with the published figure as a cross."""
    x = alt.X("name:N", sort=list(drawn.names), axis=alt.Axis(title=None, labelAngle=0))
    y = alt.Y("y:Q", **_scale(drawn.y, [0.0, 1.0]))
    tooltip = tips("name:N what", "runtime:N source", f"y:Q,.3~g {drawn.y.title}")
    offset = alt.XOffset("runtime:N", scale=alt.Scale(paddingInner=0.1))
    bars = shown(drawn.name).mark_bar().encode(x=x, xOffset=offset, y=y, color=color(look), tooltip=tooltip)
    crosses = (
        shown(f"{drawn.name}-published")
        .mark_point(shape="cross", size=170, filled=True, color=INK, angle=45)
        .encode(x=x, y=y, tooltip=tips("says:N published", "y:Q value"))
    )
    return layered(bars, crosses, height=260)
