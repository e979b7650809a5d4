"""The parts of a tuned program's page: the final against the default, all candidates, what matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from tautochrone.report import spent
from tautochrone.report.drawing import (
    INK,
    TIME_LABEL,
    Layers,
    color,
    finished,
    line_at_one,
    numbers,
    padded,
    parameters,
    shape,
    shown,
)
from tautochrone.report.figure import Figure, View, legend
from tautochrone.report.palette import styles
from tautochrone.report.parts import Column, Filter, Parts
from tautochrone.report.tables import Record
from tautochrone.report.text import ratio as ratio_text
from tautochrone.report.tune.analysis_types import TuneAnalysis

_ROLES = {
    "winner": "the answer",
    "default": "as it is",
    "finalist": "in the final",
    "screened": "screened only",
}
_MOST_EFFECTS = 16
_ROW_HEIGHT = 26
_WIDE = 2.5  # beyond it the ticks of a logarithmic axis are dense enough to read


def parts(analysis: TuneAnalysis) -> Parts:
    """Tables, charts and figures from the analysis."""
    tables: dict[str, Sequence[Record]] = {
        "final": _final_records(analysis),
        "candidates": _candidate_records(analysis),
        "effects": _effect_records(analysis),
    }
    makers = {"final": _final, "candidates": _candidates, "effects": _effects}
    charts: dict[str, dict[str, Any]] = {}
    figures: list[Figure] = []
    for name, make in makers.items():
        if tables[name]:
            charts[name] = finished(make(tables[name], analysis))
            figures.append(_figure(name, analysis, tables[name]))
    records = _rows(analysis)
    return Parts(
        template="tune.html.j2",
        tables={name: table for name, table in tables.items() if table},
        charts=charts,
        figures=figures,
        situations=[{}],
        runtimes=sorted({str(record["runtime"]) for record in tables["candidates"]}),
        configurations=records,
        columns=_columns(analysis, records),
        filters=[Filter("role", "Role", [(role, role) for role in _ROLES.values()])],
    )


def _columns(analysis: TuneAnalysis, records: Sequence[Record]) -> tuple[Column, ...]:
    figure = "time" if analysis.objective == "time" else "number"
    return (
        ("role", "role", "text"),
        ("label", "settings", "text"),
        ("figure", f"{analysis.unit}, median", figure),
        *((("low", "interval", "interval"),) if figure == "time" else ()),
        ("relative", "by now", "relative"),
        *spent.columns(records),
        ("rounds", "rounds of the final", "number"),
        ("status", "status", "status"),
    )


def _rows(analysis: TuneAnalysis) -> list[Record]:
    now = next((one.figure for one in analysis.candidates if one.role == "default"), None)
    return [
        {
            "situation": 0,
            "role": _ROLES[one.role] + (" (expert rule)" if one.is_expert else ""),
            "label": one.name,
            "figure": one.figure,
            "low": one.low,
            "high": one.high,
            "relative": one.figure / now if one.figure is not None and now else None,
            "rounds": one.rounds or None,
            "status": f"failed: {one.remark}" if one.figure is None and not one.stopped else one.remark,
        }
        | spent.record(one.spent)
        for one in analysis.candidates
    ]


def _figure(name: str, analysis: TuneAnalysis, records: Sequence[Record]) -> Figure:
    headings = {
        "final": f"The final: {analysis.unit} by that of the program as it is",
        "candidates": f"All {len(records)} candidates, best first",
        "effects": "Which settings matter",
    }
    explanations = {
        "final": (
            "The ratio of the two runs of a round, its median over the rounds and the interval of the exact "
            f"sign test. {'Right' if analysis.largest else 'Left'} of 1 is better than now; where the bar "
            "crosses 1, no difference is resolved."
        ),
        "candidates": (
            "Medians. Those of the screening rest on few runs and only chose the finalists: a lucky one "
            "among them means nothing."
            + (
                " What was stopped at 1.3 times the best time is not drawn."
                if analysis.objective == "time"
                else ""
            )
        ),
        "effects": (
            "What each value does against leaving its knob alone, all else alike: a fit over all candidates, "
            "with two standard errors. A description of the whole space, not a verdict on one candidate."
        ),
    }
    return Figure(
        name=name,
        heading=headings[name],
        explanation=explanations[name],
        views=[View("", {"situation": 0}, f"{headings[name]}, of {analysis.program}")],
        legend=legend(records) if name == "candidates" else [],
        line_legend=[("solid", "as it is")] if name != "candidates" else [],
    )


def _final_records(analysis: TuneAnalysis) -> list[Record]:
    return [
        {
            "situation": 0,
            "runtime": _ROLES[one.role],
            "label": one.name,
            "ratio": one.ratio.value,
            "low": one.ratio.low,
            "high": one.ratio.high,
            "ratio_text": ratio_text(one.ratio),
            "verdict": analysis.better if one.ratio.verdict == "faster" else one.ratio.verdict,
            "rounds": one.ratio.rounds,
        }
        for one in analysis.candidates
        if one.ratio is not None and one.ratio.value is not None
    ]


def _candidate_records(analysis: TuneAnalysis) -> list[Record]:
    return [
        {
            "situation": 0,
            "runtime": _ROLES[one.role],
            "label": one.name,
            "place": place,
            "figure": one.figure,
            "written": one.written,
            "rounds": one.rounds,
        }
        for place, one in enumerate(
            sorted(
                (one for one in analysis.candidates if one.figure),
                key=lambda one: one.figure or 0.0,
                reverse=analysis.largest,
            )
        )
    ]


def _effect_records(analysis: TuneAnalysis) -> list[Record]:
    return [
        {
            "situation": 0,
            "label": f"{one.knob}={one.value}",
            "factor": one.factor,
            "low": one.factor * math.exp(-2 * one.error),
            "high": one.factor * math.exp(2 * one.error),
            "verdict": "resolved" if one.resolved else "not resolved",
        }
        for one in analysis.effects[:_MOST_EFFECTS]
    ]


def _labels(records: Sequence[Record]) -> alt.Y:
    return alt.Y(
        "label:N",
        sort=[str(record["label"]) for record in records],
        axis=alt.Axis(title=None, domain=False, ticks=False, labelLimit=520, labelOverlap=False),
    )


def _interval_chart(
    name: str, records: Sequence[Record], field: str, title: str, tooltip: list[alt.Tooltip]
) -> Layers:
    """A line a record: its interval as a bar, its value as a dot, and the line at 1."""
    every = [*numbers(records, field, "low", "high"), 1.0]
    wide = max(every) > _WIDE * min(every)
    scale = alt.Scale(type="log" if wide else "linear", domain=padded(every, 1.02), nice=False)
    axis = alt.Axis(title=title, format="~g", grid=True)
    x = alt.X(f"{field}:Q", scale=scale, axis=axis)
    low = alt.X("low:Q", scale=scale, axis=axis)
    y = _labels(records)
    here = shown(name)
    quiet = alt.condition("indexof(['no difference resolved', 'not resolved', 'not measured'], "
                          "datum.verdict) >= 0", alt.value(0.45), alt.value(1.0))  # fmt: skip
    layers = [
        line_at_one(x),
        here.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2.4, stroke=INK)
        .encode(x=low, x2="high:Q", y=y, opacity=quiet),
        here.mark_point(filled=True, size=90, stroke="var(--page)", strokeWidth=1, color=INK).encode(
            x=x, y=y, opacity=quiet, tooltip=tooltip
        ),
    ]
    height = max(90, _ROW_HEIGHT * len(records))
    return alt.layer(*layers).properties(height=height).add_params(*parameters())


def _final(records: Sequence[Record], analysis: TuneAnalysis) -> Layers:
    tooltip = [
        alt.Tooltip("label:N", title="settings"),
        alt.Tooltip("ratio_text:N", title="by now"),
        alt.Tooltip("verdict:N", title="it is"),
        alt.Tooltip("rounds:Q", title="paired rounds"),
    ]
    return _interval_chart("final", records, "ratio", f"{analysis.unit} / {analysis.unit} now", tooltip)


def _effects(records: Sequence[Record], analysis: TuneAnalysis) -> Layers:
    tooltip = [
        alt.Tooltip("label:N", title="setting"),
        alt.Tooltip("factor:Q", title="factor", format=".3f"),
        alt.Tooltip("verdict:N", title="it is"),
    ]
    return _interval_chart("effects", records, "factor", f"× {analysis.unit}", tooltip)


def _candidates(records: Sequence[Record], analysis: TuneAnalysis) -> Layers:
    look = styles({str(record["runtime"]) for record in records})
    axis = alt.Axis(title=f"{analysis.unit}, median", grid=True)
    if analysis.objective == "time":
        axis = alt.Axis(title="time, median", labelExpr=TIME_LABEL, grid=True)
    scale = alt.Scale(domain=padded(numbers(records, "figure"), 1.03), nice=False)
    tooltip = [
        alt.Tooltip("label:N", title="settings"),
        alt.Tooltip("written:N", title="median"),
        alt.Tooltip("runtime:N", title="role"),
    ]
    points = (
        shown("candidates")
        .mark_point(filled=True, size=80, opacity=1, stroke="var(--page)", strokeWidth=1)
        .encode(
            x=alt.X("figure:Q", scale=scale, axis=axis),
            y=_labels(records),
            color=color(look),
            shape=shape(look),
            tooltip=tooltip,
        )
    )
    height = max(120, 18 * len(records))
    return alt.layer(points).properties(height=height).add_params(*parameters())
