"""From an analysis of the collective study to the small tables that its charts draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tautochrone.report import text
from tautochrone.report.collective.analysis_types import CollectiveAnalysis, FittedSegment, OperationCurve
from tautochrone.report.tables import Record

OPERATIONS = ("all_reduce", "all_gather")
PAIR_OF = {"all_reduce": "reduce_broadcast", "all_gather": "gather_broadcast"}
WORD_BYTES = 8
_PLACES_A_SEGMENT = 16


class Datasets(msgspec.Struct, frozen=True):
    """The tables by name, and what the charts must know before they are drawn."""

    tables: dict[str, list[Record]]
    runtimes: list[str]
    words: list[int]


def build(analysis: CollectiveAnalysis) -> Datasets:
    """All tables of an analysis. Linear in the number of points."""
    shown = [curve for curve in analysis.curves if curve.is_default and curve.points]
    tables: dict[str, list[Record]] = {"ratios": [], "pairs": []}
    for operation in OPERATIONS:
        of_operation = [curve for curve in shown if curve.operation == operation]
        tables[f"{operation}_points"] = [one for curve in of_operation for one in _points(curve)]
        tables[f"{operation}_lines"] = [one for curve in of_operation for one in _lines(curve)]
        tables[f"{operation}_steps"] = [one for curve in of_operation for one in _steps(curve)]
        tables["ratios"] += [one for curve in of_operation for one in _ratios(curve)]
        tables["pairs"] += [one for curve in of_operation for one in _pairs(curve, analysis.curves)]
    return Datasets(
        tables=tables,
        runtimes=sorted({curve.runtime for curve in analysis.curves}),
        words=sorted({point.words for curve in shown for point in curve.points}),
    )


def length_text(words: int) -> str:
    """1024 → "1,024 words, 8 KiB"."""
    return f"{text.count(words, 'word')}, {text.binary_bytes(words * WORD_BYTES)}"


def _place(curve: OperationCurve) -> Record:
    return {"situation": 0, "runtime": curve.runtime, "operation": curve.operation}


def _points(curve: OperationCurve) -> Iterator[Record]:
    for point in curve.points:
        yield _place(curve) | {
            "configuration": curve.label,
            "words": point.words,
            "length": length_text(point.words),
            "seconds": point.seconds,
            "low": point.low,
            "high": point.high,
            "time": text.seconds(point.seconds),
            "interval": text.seconds_interval(point.low, point.high) or "too few launches",
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
                "fit": fit_text(segment),
            }


def _places(segment: FittedSegment) -> list[float]:
    quotient = segment.last_words / segment.first_words
    if quotient == 1:
        return [float(segment.first_words)]
    return [
        segment.first_words * quotient ** (place / (_PLACES_A_SEGMENT - 1))
        for place in range(_PLACES_A_SEGMENT)
    ]


def fit_text(segment: FittedSegment) -> str:
    """Latency and bandwidth of a segment: "1.20 µs + 8 B / (4.20 GB/s) a word"."""
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
            "between": f"{length_text(step.below_words)} and {length_text(step.above_words)}",
        }


def _ratios(curve: OperationCurve) -> Iterator[Record]:
    for point in curve.points:
        ratio = point.to_better_mpi
        if ratio is not None and ratio.value is not None:
            yield _place(curve) | {
                "words": point.words,
                "length": length_text(point.words),
                "ratio": ratio.value,
                "low": ratio.low,
                "high": ratio.high,
                "ratio_text": text.ratio(ratio),
                "verdict": ratio.verdict,
                "rounds": ratio.rounds,
            }


def _pairs(curve: OperationCurve, every: Sequence[OperationCurve]) -> Iterator[Record]:
    """The operation by the pair that does the same, of the same configuration."""
    partner = next(
        (one for one in every if one.label == curve.label and one.operation == PAIR_OF[curve.operation]), None
    )
    if partner is None:
        return
    seconds = {point.words: point.seconds for point in partner.points}
    for point in curve.points:
        if point.words in seconds:
            ratio = point.seconds / seconds[point.words]
            yield _place(curve) | {
                "words": point.words,
                "length": length_text(point.words),
                "ratio": ratio,
                "ratio_text": text.significant(ratio),
                "time": text.seconds(point.seconds),
                "other": text.seconds(seconds[point.words]),
            }
