"""The page of the collective study: its charts, the fitted segments, and the table of all configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import altair as alt

from tautochrone import text
from tautochrone.report import spent
from tautochrone.report.charts import Chart, compared, page_parts, single_view, table_row, timed
from tautochrone.report.drawing import (
    Layers,
    color,
    distinct,
    interval,
    layered,
    line_at_one,
    line_with_points,
    log_axis,
    numbers,
    padded,
    powers_axis,
    ratio_axis,
    shape,
    shown,
    tips,
)
from tautochrone.report.palette import RuntimeStyle, name_of
from tautochrone.report.parts import Choice, Column, Filter, Parts, Record
from tautochrone.studies.collective.configurations import PAIRS, WORD_BYTES
from tautochrone.studies.collective.findings import CollectiveAnalysis, FittedSegment, OperationCurve

_FIRST_COLUMNS: tuple[Column, ...] = (
    ("operation", "operation", "text"),
    ("words", "words", "number"),
    ("runtime", "library", "runtime"),
    ("settings", "settings", "text"),
    ("seconds", "median", "time"),
    ("low", "interval", "interval"),
    ("relative", "by the fastest", "relative"),
)
_LAST_COLUMNS: tuple[Column, ...] = (("launches", "launches", "number"),)
_LENGTHS = {
    "all_reduce": "length of each rank’s data (8-byte words)",
    "all_gather": "length of the whole result (8-byte words)",
}
_DOES = {
    "all_reduce": "each rank brings as many words, and all get their sums",
    "all_gather": "each rank brings its part, and all get the whole",
}
_PLACES_A_SEGMENT = 16


def parts(analysis: CollectiveAnalysis) -> Parts:
    records = _configurations(analysis)
    return page_parts(
        "collective.html.j2",
        _charts(analysis),
        situations=[{}],
        runtimes={curve.runtime for curve in analysis.curves},
        configurations=records,
        columns=(*_FIRST_COLUMNS, *spent.columns(records), *_LAST_COLUMNS),
        filters=_filters(analysis),
        segments=_segments(analysis),
    )


def _charts(analysis: CollectiveAnalysis) -> Iterator[Chart]:
    drawn = {operation: _curves(analysis, operation) for operation in PAIRS}
    for operation, curves in drawn.items():
        yield _times_chart(analysis, operation, curves)
    every = [curve for curves in drawn.values() for curve in curves]
    yield _ratio_chart([record for curve in every for record in _ratios(curve)])
    yield _pairs_chart(analysis, [record for curve in every for record in _pairs(curve, analysis.curves)])


def _curves(analysis: CollectiveAnalysis, operation: str) -> list[OperationCurve]:
    """What the charts draw: each library with no settings."""
    return [
        curve
        for curve in analysis.curves
        if curve.is_default and curve.operation == operation and curve.points
    ]


def _length(words: int) -> str:
    """1024 → "1,024 words, 8 KiB"."""
    return f"{text.count(words, 'word')}, {text.binary_bytes(words * WORD_BYTES)}"


def _place(curve: OperationCurve) -> Record:
    return {"situation": 0, "runtime": curve.runtime, "operation": curve.operation}


# -- time against length --


def _points(curve: OperationCurve) -> Iterator[Record]:
    for point in curve.points:
        yield _place(curve) | {
            "configuration": curve.label,
            "words": point.words,
            "length": _length(point.words),
            **timed(point, "too few launches"),
            "launches": point.launches,
        }


def _lines(curve: OperationCurve) -> Iterator[Record]:
    """The fitted lines, as enough places to look straight where both axes are logarithmic."""
    for number, segment in enumerate(curve.segments):
        for words in _places(segment):
            yield _place(curve) | {
                "segment": number,
                "words": words,
                "seconds": segment.latency_seconds + words * segment.seconds_per_word,
                "fit": _fit(segment),
            }


def _places(segment: FittedSegment) -> list[float]:
    quotient = segment.last_words / segment.first_words
    if quotient == 1:
        return [float(segment.first_words)]
    steps = range(_PLACES_A_SEGMENT)
    return [segment.first_words * quotient ** (step / (_PLACES_A_SEGMENT - 1)) for step in steps]


def _fit(segment: FittedSegment) -> str:
    """Latency and bandwidth of a segment: "1.20 µs + length / (4.20 GB/s)"."""
    latency = text.seconds(segment.latency_seconds)
    if segment.bytes_per_second is None:
        return f"{latency}, whatever the length"
    return f"{latency} + length / ({text.quantity(segment.bytes_per_second, 'B/s')})"


def _steps(curve: OperationCurve) -> Iterator[Record]:
    seconds = {point.words: point.seconds for point in curve.points}
    for step in curve.steps:
        yield _place(curve) | {
            "words": step.above_words,
            "seconds": seconds.get(step.above_words),
            "step": f"{'up' if step.factor > 1 else 'down'} by a factor of {step.factor:.2f}",
            "between": f"{_length(step.below_words)} and {_length(step.above_words)}",
        }


def _times_chart(analysis: CollectiveAnalysis, operation: str, curves: Sequence[OperationCurve]) -> Chart:
    steps = [(step, curve) for curve in curves for step in curve.steps if step.factor > 1]
    heading = f"{operation} against its length: no step up was resolved"
    if steps:
        step, curve = max(steps, key=lambda pair: pair[0].factor)
        heading = (
            f"{name_of(curve.runtime)}’s {operation} takes {text.percent(step.factor - 1)} longer from one "
            f"length to the next at {step.above_words:,} words"
        )
    points = [record for curve in curves for record in _points(curve)]
    rings = [record for curve in curves for record in _steps(curve)]
    return Chart(
        name=operation.replace("_", ""),
        table=f"{operation}_points",
        records=points,
        beside={
            f"{operation}_lines": [record for curve in curves for record in _lines(curve)],
            f"{operation}_steps": rings,
        },
        draw=partial(_draw_times, operation, points, bool(rings)),
        heading=heading,
        explanation=(
            f"The published chart, measured here with {text.count(analysis.ranks, 'rank')}: "
            f"{_DOES[operation]}. A point is the median over the launches of a launch’s median call, from "
            "the common start to the last rank’s end, on data that were written just before. The broad lines "
            "are fitted: latency plus length by bandwidth, a new line where the data demand one. A ring "
            "marks a step."
        ),
        views=single_view(f"Time of {operation} against its length."),
    )


def _draw_times(
    operation: str, points: Sequence[Record], has_steps: bool, look: list[RuntimeStyle]
) -> Layers:
    y = log_axis(alt.Y, "seconds", numbers(points, "seconds", "low", "high"), "time of a call")
    x = powers_axis(points, "words", _LENGTHS[operation])
    tooltip = tips(
        "configuration:N library",
        "length:N length",
        "time:N median",
        "interval:N interval",
        "launches:Q launches",
    )
    fits = shown(f"{operation}_lines").mark_line(strokeWidth=5, opacity=0.28, clip=True)
    layers = [fits.encode(x=x, y=y, color=color(look), detail=["runtime:N", "segment:N"])]
    if has_steps:
        ring = shown(f"{operation}_steps").mark_point(size=420, strokeWidth=2, filled=False, opacity=0.9)
        layers.append(
            ring.encode(x=x, y=y, color=color(look), tooltip=tips("step:N step", "between:N between"))
        )
    measured = shown(f"{operation}_points")
    return layered(
        *layers,
        interval(measured, look, x, y),
        *line_with_points(measured, look, x, y, tooltip),
        height=360,
    )


# -- ours by the better MPI's, and one call by the pair that does the same --


def _operation_choice(records: Sequence[Record]) -> Choice | None:
    options = [(operation, operation) for operation in distinct(records, "operation")]
    return Choice("operation", "Show", options, options[0][0]) if options else None


def _by_length(records: Sequence[Record], table: str, title: str) -> tuple[alt.X, alt.Y, alt.Chart]:
    """The axes of the length and of the ratio, and the table's records of the operation that was chosen."""
    every = [*numbers(records, "ratio", "low", "high"), 1.0]
    scale = alt.Scale(type="log", domain=padded(every, 1.08), nice=False)
    y = alt.Y("ratio:Q", scale=scale, axis=ratio_axis(title, every))
    x = powers_axis(records, "words", "length (8-byte words)")
    return x, y, shown(table).transform_filter("datum.operation === operation")


def _ratios(curve: OperationCurve) -> Iterator[Record]:
    for point in curve.points:
        ratio = point.to_better_mpi
        if ratio is not None and ratio.value is not None:
            yield _place(curve) | {
                "words": point.words,
                "length": _length(point.words),
                **compared(ratio),
            }


def _ratio_chart(records: Sequence[Record]) -> Chart:
    verdicts = [record["verdict"] for record in records]
    faster, slower = verdicts.count("faster"), verdicts.count("slower")
    return Chart(
        name="ratio",
        table="ratios",
        records=records,
        draw=partial(_draw_ratio, records),
        heading=(
            f"tautochrone is faster than the better MPI at {faster} of {text.count(len(records), 'length')}"
            + (f", slower at {slower}" if slower else "")
        ),
        explanation=(
            "Our time divided by that of whichever MPI is faster at that length, in the same rounds: below "
            "the line at 1 we are faster. The bar is the interval of the paired median."
        ),
        views=single_view("Ratio of tautochrone's time to the better MPI's against the length."),
        line_legend=[("solid", "equal times")],
        choice=_operation_choice(records),
    )


def _draw_ratio(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    x, y, chosen = _by_length(records, "ratios", "our time / time of the better MPI")
    tooltip = tips(
        "operation:N operation",
        "length:N length",
        "ratio_text:N ratio",
        "verdict:N ours is",
        "rounds:Q paired launches",
    )
    return layered(
        line_at_one(y),
        interval(chosen, look, x, y),
        *line_with_points(chosen, look, x, y, tooltip),
        height=290,
        operation=records[0]["operation"],
    )


def _pairs(curve: OperationCurve, every: Sequence[OperationCurve]) -> Iterator[Record]:
    """The operation by the pair that does the same, of the same configuration."""
    key = (curve.label, PAIRS[curve.operation])
    partner = next((other for other in every if (other.label, other.operation) == key), None)
    if partner is None:
        return
    seconds = {point.words: point.seconds for point in partner.points}
    for point in curve.points:
        if point.words in seconds:
            ratio = point.seconds / seconds[point.words]
            yield _place(curve) | {
                "words": point.words,
                "length": _length(point.words),
                "ratio": ratio,
                "ratio_text": text.significant(ratio),
                "time": text.seconds(point.seconds),
                "other": text.seconds(seconds[point.words]),
            }


def _pairs_chart(analysis: CollectiveAnalysis, records: Sequence[Record]) -> Chart:
    broken = [
        (guideline, curve)
        for curve in analysis.curves
        for guideline in curve.guidelines
        if curve.is_default and guideline.pair_of_calls
    ]
    heading = "No library’s single call takes longer than the pair of calls that does the same"
    if broken:
        guideline, curve = max(broken, key=lambda pair: pair[0].factor)
        heading = (
            f"{name_of(curve.runtime)}’s {guideline.operation} of {guideline.words:,} words takes "
            f"{text.significant(guideline.factor)} times as long as its own {guideline.cheaper}"
        )
    return Chart(
        name="pairs",
        records=records,
        draw=partial(_draw_pairs, records),
        heading=heading,
        explanation=(
            "A reduction to one rank and a broadcast from there do what all_reduce does. A library whose one "
            "call takes longer chose the wrong algorithm for that length: above the line, ringed. Medians; "
            "the sentences below name what the paired launches resolve."
        ),
        views=single_view("Time of one call by that of the pair of calls against the length."),
        line_legend=[("solid", "equal times")],
        choice=_operation_choice(records),
    )


def _draw_pairs(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    x, y, chosen = _by_length(records, "pairs", "one call / the pair of calls")
    tooltip = tips(
        "runtime:N library", "length:N length", "ratio_text:N ratio", "time:N one call", "other:N the pair"
    )
    above = chosen.transform_filter("datum.ratio > 1.03")
    rings = above.mark_point(size=260, strokeWidth=1.6, filled=False)
    return layered(
        line_at_one(y),
        rings.encode(x=x, y=y, color=color(look), shape=shape(look)),
        *line_with_points(chosen, look, x, y, tooltip),
        height=290,
        operation=records[0]["operation"],
    )


# -- the table of all configurations, and the segments --


def _filters(analysis: CollectiveAnalysis) -> list[Filter]:
    """One length at first: times of different ones in one list say nothing."""
    operations = list(dict.fromkeys(curve.operation for curve in analysis.curves))
    lengths = sorted({point.words for curve in analysis.curves for point in curve.points})
    return [
        Filter(
            "operation",
            "Operation",
            [(operation, operation) for operation in operations],
            operations[0] if operations else "",
        ),
        Filter(
            "words",
            "Words",
            [(words, f"{words:,}") for words in lengths],
            lengths[len(lengths) // 2] if lengths else "",
        ),
    ]


def _configurations(analysis: CollectiveAnalysis) -> list[Record]:
    fastest: dict[tuple[str, int], float] = {}
    for curve in analysis.curves:
        for point in curve.points:
            key = (curve.operation, point.words)
            fastest[key] = min(point.seconds, fastest.get(key, point.seconds))
    return [
        table_row(
            point,
            (*_FIRST_COLUMNS, *_LAST_COLUMNS),
            operation=curve.operation,
            runtime=curve.runtime,
            settings=curve.label.partition(", ")[2] or "none",
            relative=point.seconds / fastest[curve.operation, point.words],
        )
        | spent.record(point.spent)
        for curve in analysis.curves
        for point in curve.points
    ]


SegmentRow = tuple[str, str, FittedSegment, str, str, str]


def _segments(analysis: CollectiveAnalysis) -> list[tuple[str, list[SegmentRow]]]:
    """For each operation the fitted segments: library, lengths, and the two figures with their intervals."""
    rows = {
        operation: [
            _segment_row(curve, segment)
            for curve in analysis.curves
            if curve.is_default and curve.operation == operation
            for segment in curve.segments
        ]
        for operation in PAIRS
    }
    return [(operation, found) for operation, found in rows.items() if found]


def _segment_row(curve: OperationCurve, segment: FittedSegment) -> SegmentRow:
    rates = [rate for rate in (segment.rate_low, segment.rate_high) if rate is not None]
    rate = segment.bytes_per_second
    return (
        curve.runtime,
        f"{segment.first_words:,} to {segment.last_words:,}",
        segment,
        text.seconds_interval(segment.latency_low, segment.latency_high),
        "not told" if rate is None else text.quantity(rate, "B/s"),
        " to ".join(text.quantity(end, "B/s") for end in rates) if len(rates) == 2 else "",
    )
