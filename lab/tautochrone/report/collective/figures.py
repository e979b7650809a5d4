"""The figures of the collective study's page: what each chart shows, said before it is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tautochrone.report import text
from tautochrone.report.collective.analysis_types import CollectiveAnalysis, OperationCurve
from tautochrone.report.collective.charts import CHART_OF
from tautochrone.report.collective.datasets import OPERATIONS, Datasets
from tautochrone.report.figure import Choice, Figure, View, legend
from tautochrone.report.palette import styles


def build(analysis: CollectiveAnalysis, data: Datasets, specifications: Mapping[str, Any]) -> list[Figure]:
    """The figures whose charts have something to draw, in the order of the page."""
    found = [_times(analysis, data, one) for one in OPERATIONS if CHART_OF[one] in specifications]
    if "ratio" in specifications:
        found.append(_ratio(analysis, data))
    if "pairs" in specifications:
        found.append(_pairs(analysis, data))
    return found


def _name(runtime: str) -> str:
    return styles([runtime])[0].name


def _curves(analysis: CollectiveAnalysis, operation: str) -> list[OperationCurve]:
    return [one for one in analysis.curves if one.is_default and one.operation == operation and one.points]


def _times(analysis: CollectiveAnalysis, data: Datasets, operation: str) -> Figure:
    curves = _curves(analysis, operation)
    steps = [(abs(step.factor - 1), step, one) for one in curves for step in one.steps if step.factor > 1]
    heading = f"{operation} against its length: no step up was resolved"
    if steps:
        _, step, one = max(steps, key=lambda each: each[0])
        heading = (
            f"{_name(one.runtime)}’s {operation} takes {text.percent(step.factor - 1)} longer from one "
            f"length to the next at {step.above_words:,} words"
        )
    what = (
        "each rank brings as many words, and all get their sums"
        if operation == "all_reduce"
        else ("each rank brings its part, and all get the whole")
    )
    return Figure(
        name=CHART_OF[operation],
        heading=heading,
        explanation=(
            f"The published chart, measured here with {text.count(analysis.ranks, 'rank')}: {what}. A point "
            "is the median over the launches of a launch’s median call, from the common start to the last "
            "rank’s end, on data that were written just before. The broad lines are fitted: latency plus "
            "length by bandwidth, a new line where the data demand one. A ring marks a step."
        ),
        views=[View("", {"situation": 0}, f"Time of {operation} against its length.")],
        legend=legend(data.tables[f"{operation}_points"]),
    )


def _operation_choice(records: list[dict[str, object]]) -> Choice:
    options: list[tuple[object, str]] = [
        (one, one) for one in OPERATIONS if any(record["operation"] == one for record in records)
    ]
    return Choice("operation", "Show", options, options[0][0])


def _ratio(analysis: CollectiveAnalysis, data: Datasets) -> Figure:
    records = data.tables["ratios"]
    slower = [one for one in records if one["verdict"] == "slower"]
    faster = [one for one in records if one["verdict"] == "faster"]
    heading = (
        f"tautochrone is faster than the better MPI at {len(faster)} of {text.count(len(records), 'length')}"
        + (f", slower at {len(slower)}" if slower else "")
    )
    return Figure(
        name="ratio",
        heading=heading,
        explanation=(
            "Our time divided by that of whichever MPI is faster at that length, in the same rounds: below "
            "the line at 1 we are faster. The bar is the interval of the paired median."
        ),
        views=[
            View("", {"situation": 0}, "Ratio of tautochrone's time to the better MPI's against the length.")
        ],
        legend=legend(records),
        line_legend=[("solid", "equal times")],
        choice=_operation_choice(records),
    )


def _pairs(analysis: CollectiveAnalysis, data: Datasets) -> Figure:
    broken = [
        (one.factor, one, curve)
        for curve in analysis.curves
        for one in curve.guidelines
        if curve.is_default
        and one.kind in ("dearer than reduce and broadcast", "dearer than gather and broadcast")
    ]
    heading = "No library’s single call takes longer than the pair of calls that does the same"
    if broken:
        factor, one, curve = max(broken, key=lambda each: each[0])
        heading = (
            f"{_name(curve.runtime)}’s {one.operation} of {one.words:,} words takes "
            f"{text.significant(factor)} times as long as its own {one.kind.removeprefix('dearer than ')}"
        )
    records = data.tables["pairs"]
    return Figure(
        name="pairs",
        heading=heading,
        explanation=(
            "A reduction to one rank and a broadcast from there do what all_reduce does. A library whose one "
            "call takes longer chose the wrong algorithm for that length: above the line, ringed. Medians; "
            "the sentences below name what the paired launches resolve."
        ),
        views=[
            View("", {"situation": 0}, "Time of one call by that of the pair of calls against the length.")
        ],
        legend=legend(records),
        line_legend=[("solid", "equal times")],
        choice=_operation_choice(records),
    )
