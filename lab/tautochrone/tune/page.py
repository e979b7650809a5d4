"""The page of a tuned program: the final against the default, all candidates, and what matters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from tautochrone.report import spent
from tautochrone.report.charts import Chart, compared, page_parts
from tautochrone.report.drawing import (
    TIME_LABEL,
    Layers,
    intervals_by_name,
    labels,
    layered,
    marks,
    numbers,
    padded,
    shown,
    tips,
)
from tautochrone.report.palette import RuntimeStyle
from tautochrone.report.parts import Column, Filter, Parts, Record
from tautochrone.tune.answer import CandidateResult, TuneAnalysis

_ROLES = {
    "winner": "the answer",
    "default": "as it is",
    "finalist": "in the final",
    "screened": "screened only",
}
_AS_IT_IS = [("solid", "as it is")]
_MOST_EFFECTS = 16


def parts(analysis: TuneAnalysis) -> Parts:
    default = analysis.of_role("default")
    now = default.figure if default is not None else None
    records = [_row(candidate, now) for candidate in analysis.candidates]
    return page_parts(
        "tune.html.j2",
        [_final(analysis), _candidates(analysis), _effects(analysis)],
        situations=[{}],
        runtimes=(),
        configurations=records,
        columns=_columns(analysis, records),
        filters=[Filter("role", "Role", [(role, role) for role in _ROLES.values()])],
    )


# -- the final --


def _final(analysis: TuneAnalysis) -> Chart:
    records: list[Record] = [
        {
            "situation": 0,
            "runtime": _ROLES[candidate.role],
            "label": candidate.name,
            **compared(candidate.ratio),
            "verdict": analysis.better if candidate.ratio.verdict == "faster" else candidate.ratio.verdict,
        }
        for candidate in analysis.candidates
        if candidate.ratio is not None and candidate.ratio.value is not None
    ]
    title = f"{analysis.unit} / {analysis.unit} now"
    tooltip = tips("label:N settings", "ratio_text:N by now", "verdict:N it is", "rounds:Q paired rounds")
    heading = f"The final: {analysis.unit} relative to the program as it is"
    return Chart(
        name="final",
        records=records,
        draw=lambda look: intervals_by_name("final", records, "ratio", title, tooltip),
        heading=heading,
        explanation=(
            "The ratio of the two runs of a round, its median over the rounds and the interval of the exact "
            f"sign test. {'Right' if analysis.largest else 'Left'} of 1 is better than now; where the bar "
            "crosses 1, no difference is resolved."
        ),
        shows=f"{heading}, of {analysis.program}",
        line_legend=_AS_IT_IS,
        has_legend=False,
    )


# -- all candidates --


def _candidates(analysis: TuneAnalysis) -> Chart:
    in_order = sorted(
        (candidate for candidate in analysis.candidates if candidate.figure),
        key=lambda candidate: candidate.figure or 0.0,
        reverse=analysis.largest,
    )
    records: list[Record] = [
        {
            "situation": 0,
            "runtime": _ROLES[candidate.role],
            "label": candidate.name,
            "place": place,
            "figure": candidate.figure,
            "written": candidate.written,
            "rounds": candidate.rounds,
        }
        for place, candidate in enumerate(in_order)
    ]
    heading = f"All {len(records)} candidates, best first"
    stopped = " Candidates that were stopped at 1.3 times the best time are not drawn."
    return Chart(
        name="candidates",
        records=records,
        draw=lambda look: _draw_candidates(analysis, records, look),
        heading=heading,
        explanation=(
            "Medians. Those of the screening rest on few runs and only chose the finalists: a good one among "
            f"them may be luck.{stopped if analysis.objective == 'time' else ''}"
        ),
        shows=f"{heading}, of {analysis.program}",
    )


def _draw_candidates(analysis: TuneAnalysis, records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    axis = alt.Axis(title=f"{analysis.unit}, median", grid=True)
    if analysis.objective == "time":
        axis = alt.Axis(title="time, median", labelExpr=TIME_LABEL, grid=True)
    scale = alt.Scale(domain=padded(numbers(records, "figure"), 1.03), nice=False)
    x = alt.X("figure:Q", scale=scale, axis=axis)
    tooltip = tips("label:N settings", "written:N median", "runtime:N role")
    return layered(
        marks(shown("candidates"), look, x=x, y=labels(records), tooltip=tooltip),
        height=max(120, 18 * len(records)),
    )


# -- what matters --


def _effects(analysis: TuneAnalysis) -> Chart:
    records: list[Record] = [
        {
            "situation": 0,
            "label": f"{effect.knob}={effect.value}",
            "factor": effect.factor,
            "low": effect.factor * math.exp(-2 * effect.error),
            "high": effect.factor * math.exp(2 * effect.error),
            "verdict": "resolved" if effect.resolved else "not resolved",
        }
        for effect in analysis.effects[:_MOST_EFFECTS]
    ]
    heading = "Which settings matter"
    tooltip = tips("label:N setting", "factor:Q,.3f factor", "verdict:N it is")
    return Chart(
        name="effects",
        records=records,
        draw=lambda look: intervals_by_name("effects", records, "factor", f"× {analysis.unit}", tooltip),
        heading=heading,
        explanation=(
            "The effect of each value against leaving its knob alone, all else equal: a fit over all "
            "candidates, with two standard errors. It describes the whole space, not any one candidate."
        ),
        shows=f"{heading}, of {analysis.program}",
        line_legend=_AS_IT_IS,
        has_legend=False,
    )


# -- the table of all candidates --


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


def _row(candidate: CandidateResult, now: float | None) -> Record:
    failed = candidate.figure is None and not candidate.stopped
    return {
        "situation": 0,
        "role": _ROLES[candidate.role] + (" (expert rule)" if candidate.is_expert else ""),
        "label": candidate.name,
        "figure": candidate.figure,
        "low": candidate.low,
        "high": candidate.high,
        "relative": candidate.figure / now if candidate.figure is not None and now else None,
        "rounds": candidate.rounds or None,
        "status": f"failed: {candidate.remark}" if failed else candidate.remark,
    } | spent.record(candidate.spent)
