"""What only the collective study's page has: the findings by name, its charts, segments and table."""

from __future__ import annotations

from tautochrone.report import spent, text
from tautochrone.report.collective import charts, datasets, figures
from tautochrone.report.collective.analysis_types import CollectiveAnalysis, FittedSegment, OperationCurve
from tautochrone.report.parts import Column, Filter, Parts
from tautochrone.report.tables import Record

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


def parts(analysis: CollectiveAnalysis) -> Parts:
    """The page's parts from an analysis."""
    data = datasets.build(analysis)
    specifications = charts.build(data)
    records = _records(analysis)
    return Parts(
        template="collective.html.j2",
        tables=data.tables,
        charts=specifications,
        figures=figures.build(analysis, data, specifications),
        situations=[{}],
        runtimes=data.runtimes,
        configurations=records,
        columns=(*_FIRST_COLUMNS, *spent.columns(records), *_LAST_COLUMNS),
        filters=_filters(analysis),
        more={"segments": _segments(analysis), "words_text": datasets.length_text},
    )


def _filters(analysis: CollectiveAnalysis) -> list[Filter]:
    """One length at first: times of different ones in one list say nothing."""
    operations = list(dict.fromkeys(curve.operation for curve in analysis.curves))
    words = sorted({point.words for curve in analysis.curves for point in curve.points})
    lengths: list[tuple[object, str]] = [(one, f"{one:,}") for one in words]
    return [
        Filter(
            "operation", "Operation", [(one, one) for one in operations], operations[0] if operations else ""
        ),
        Filter("words", "Words", lengths, _middle(words) if words else ""),
    ]


def _middle(words: list[int]) -> int:
    return words[len(words) // 2]


def _settings(curve: OperationCurve) -> str:
    """What follows the library's name: "eager 64 KiB"."""
    return curve.label.partition(", ")[2] or "none"


def _records(analysis: CollectiveAnalysis) -> list[Record]:
    """The table of all configurations."""
    fastest: dict[tuple[str, int], float] = {}
    for curve in analysis.curves:
        for point in curve.points:
            key = (curve.operation, point.words)
            fastest[key] = min(point.seconds, fastest.get(key, point.seconds))
    return [
        {
            "operation": curve.operation,
            "words": point.words,
            "runtime": curve.runtime,
            "settings": _settings(curve),
            "seconds": point.seconds,
            "low": point.low,
            "high": point.high,
            "relative": point.seconds / fastest[curve.operation, point.words],
            "launches": point.launches,
        }
        | spent.record(point.spent)
        for curve in analysis.curves
        for point in curve.points
    ]


Row = tuple[str, str, FittedSegment, str, str, str]


def _segments(analysis: CollectiveAnalysis) -> list[tuple[str, list[Row]]]:
    """For each operation the fitted segments: library, lengths, and the two figures with their intervals."""
    found = []
    for operation in datasets.OPERATIONS:
        rows: list[Row] = []
        for curve in analysis.curves:
            if curve.is_default and curve.operation == operation:
                rows += [_segment_row(curve, segment) for segment in curve.segments]
        if rows:
            found.append((operation, rows))
    return found


def _segment_row(curve: OperationCurve, segment: FittedSegment) -> Row:
    rates = (segment.rate_low, segment.rate_high)
    rate_interval = ""
    if None not in rates:
        rate_interval = " to ".join(text.quantity(rate, "B/s") for rate in rates)
    return (
        curve.runtime,
        f"{segment.first_words:,} to {segment.last_words:,}",
        segment,
        text.seconds_interval(segment.latency_low, segment.latency_high),
        text.quantity(segment.bytes_per_second, "B/s")
        if segment.bytes_per_second is not None
        else "not told",
        rate_interval,
    )
