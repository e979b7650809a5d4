"""What is wrong with a curve: it steps, a longer operation is cheaper, or two others do it in less time.

A step stands between two segments whose lines do not meet between them. It is named when they are a tenth
apart where they are closest, and the interval of that quotient over the launches leaves out 1.

The performance guidelines are those that a library's user takes for granted (J. L. Träff, W. D. Gropp and R.
Thakur, IEEE Transactions on Parallel and Distributed Systems 21 (2010) 698): more data do not cost less,
all_reduce no more than a reduction and a broadcast, all_gather no more than an all_reduce of the same length.
One is called broken when the paired launches resolve it by more than 3 %, each verdict at a confidence that
lets all of a curve's together err in one of a hundred.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from tautochrone import verdicts
from tautochrone.studies.collective.configurations import WORD_BYTES, Gap
from tautochrone.studies.collective.curves import Curve, Runs, common_words, pairs_at
from tautochrone.studies.collective.findings import FittedSegment, Guideline, Step
from tautochrone.studies.collective.segments import NOISE_FLOOR, Line, Segment, fit
from tautochrone.verdicts import as_ratio

LEAST_STEP = 1.10
"""What is called a step, up or down: a tenth."""

LEAST_UNEVEN = 1.12
"""Neighbours that differ by so much from what one line says, and by more than noise: look closer."""

_BEYOND_NOISE = 6.0  # standard errors of a median

MARGIN = 1.03
"""A guideline is broken when it is missed by more than this."""


# -- segments and steps --


def fitted_segments(curve: Curve) -> tuple[FittedSegment, ...]:
    """The segments of a curve, their latency and bandwidth with the interval over the launches."""
    return tuple(_fitted(curve, segment) for segment in curve.segments)


def _fitted(curve: Curve, segment: Segment) -> FittedSegment:
    lines = [
        fit(list(launch), list(launch.values()), NOISE_FLOOR) for launch in curve.segment_launches(segment)
    ]
    latency = verdicts.median_interval([line.latency_seconds for line in lines]) if lines else None
    word = verdicts.median_interval([line.seconds_per_word for line in lines]) if lines else None
    return FittedSegment(
        first_words=curve.words[segment.first],
        last_words=curve.words[segment.last],
        latency_seconds=segment.line.latency_seconds,
        latency_low=latency.low if latency is not None else None,
        latency_high=latency.high if latency is not None else None,
        seconds_per_word=segment.line.seconds_per_word,
        bytes_per_second=_rate(segment.line.seconds_per_word),
        rate_low=_rate(word.high) if word is not None and word.high is not None else None,
        rate_high=_rate(word.low) if word is not None and word.low is not None else None,
    )


def _rate(seconds_per_word: float) -> float | None:
    """Bytes a second; None for a segment whose time does not grow, or not so that it could be told."""
    return WORD_BYTES / seconds_per_word if seconds_per_word > 0 else None


def steps(curve: Curve) -> tuple[Step, ...]:
    """Where one segment ends and the next begins at another time than the first would have come to."""
    return tuple(
        step
        for before, after in itertools.pairwise(curve.segments)
        if (step := _step(curve, before, after)) is not None
    )


def _step(curve: Curve, left: Segment, other: Segment) -> Step | None:
    below, above = curve.words[left.last], curve.words[other.first]
    pairs = _step_pairs(curve, left, other, _closest(left.line, other.line, below, above))
    ratio = as_ratio(verdicts.compare(pairs))
    if ratio.value is None or ratio.verdict not in (verdicts.SLOWER, verdicts.FASTER):
        return None
    if 1 / LEAST_STEP < ratio.value < LEAST_STEP:
        return None
    return Step(below_words=below, above_words=above, factor=ratio.value, low=ratio.low, high=ratio.high)


def _closest(left: Line, right: Line, below: float, above: float) -> float:
    """How far apart two lines are in the gap between their segments, where they are closest: 1 if they meet.

    Lines that meet there are a curve that bends, and what stands between them no step.
    """
    ends = [right.at(words) / left.at(words) for words in (below, above)]
    if min(left.at(below), right.at(below)) <= 0 or min(ends) <= 1 <= max(ends):
        return 1.0
    return min(ends, key=lambda end: abs(math.log(end)))


def _step_pairs(curve: Curve, one: Segment, other: Segment, apart: float) -> list[tuple[float, float]]:
    """Time above the step and below it in each launch, by the lines, which are ``apart`` by a factor.

    Each is the geometric middle of the two nearest lengths on its side.
    """
    left = curve.words[max(one.first, one.last - 1) : one.last + 1]
    right = curve.words[other.first : min(other.last, other.first + 1) + 1]
    found = []
    for launch in curve.launches.values():
        before = [launch[words] / one.line.at(words) for words in left if words in launch]
        after = [launch[words] / other.line.at(words) for words in right if words in launch]
        if before and after and min(*before, *after) > 0:
            found.append((apart * _geometric(after), _geometric(before)))
    return found


def _geometric(values: Sequence[float]) -> float:
    return float(math.prod(values) ** (1.0 / len(values)))


def gaps(curves: Iterable[Curve]) -> Iterator[Gap]:
    """Neighbouring lengths between which some curve steps: what is worth a closer look."""
    for curve in curves:
        for step in steps(curve):
            yield Gap(step.below_words, step.above_words, step.factor)
        for segment in curve.segments:
            yield from _uneven(curve, segment)


def _uneven(curve: Curve, segment: Segment) -> Iterator[Gap]:
    """Neighbours in one segment between which a step may hide: too few lengths for a segment.

    Either they lie apart from its line, or the time grows by more than the length: no latency and bandwidth
    do that, but a step does that a line was laid through.
    """
    least = max(math.log(LEAST_UNEVEN), _BEYOND_NOISE * curve.noise)
    inside = curve.words[segment.first : segment.last + 1]
    for below, above in itertools.pairwise(inside):
        grown = math.log(curve.medians[above] / curve.medians[below])
        expected = math.log(max(segment.line.at(above), 1e-300) / max(segment.line.at(below), 1e-300))
        beyond = grown - math.log(above / below)
        if abs(grown - expected) > least or beyond > least:
            yield Gap(below, above, math.exp(max(abs(grown - expected), beyond)))


# -- guidelines --


def larger_is_cheaper(curve: Curve) -> Iterator[Guideline]:
    """Each length that takes longer than a larger one: a peak, or the end of a slow algorithm."""
    family = max(1, len(curve.words) - 1)
    for place, words in enumerate(curve.words[:-1]):
        cheapest = min(curve.words[place + 1 :], key=lambda larger: curve.medians[larger])
        if curve.medians[words] > MARGIN * curve.medians[cheapest]:
            yield from _resolved("larger is cheaper", curve, words, curve, cheapest, family)


def costlier_than(curve: Curve, other: Curve, kind: str) -> Iterator[Guideline]:
    """Each length at which an operation takes longer than another that does at least as much."""
    shared = common_words(curve, other)
    for words in shared:
        if curve.medians[words] > MARGIN * other.medians[words]:
            yield from _resolved(kind, curve, words, other, words, len(shared))


def _resolved(
    kind: str, curve: Curve, words: int, other: Curve, other_words: int, family: int
) -> Iterator[Guideline]:
    """The broken guideline, where it is resolved among `family` comparisons that the margin is exceeded.

    Too few launches for that confidence (12 carry a family of 20): all must then exceed the margin, which
    eight fair coins do once in 256 times, and differences of 3 % by noise are no fair coins.
    """
    pairs = pairs_at(curve, other, words, other_words)
    with_margin = [(mine, MARGIN * theirs) for mine, theirs in pairs]
    strict = verdicts.compare(with_margin, comparisons=family)
    if strict.verdict == verdicts.NOT_MEASURED:
        strict = verdicts.compare(with_margin)
        if any(mine <= limit for mine, limit in with_margin):
            return
    ratio = as_ratio(verdicts.compare(pairs))
    if strict.verdict == verdicts.SLOWER and ratio.value is not None:
        yield Guideline(
            kind=kind,
            operation=curve.operation,
            words=words,
            other_words=other_words,
            factor=ratio.value,
            low=ratio.low,
            high=ratio.high,
            rounds=ratio.rounds,
        )


_NO_DEARER = (
    ("all_reduce", "reduce_broadcast", "dearer than reduce and broadcast"),
    ("all_gather", "gather_broadcast", "dearer than gather and broadcast"),
    ("all_gather", "all_reduce", "dearer than all_reduce"),
)


def guidelines(runs: Runs, curve: Curve) -> Iterator[Guideline]:
    """Every guideline that one of a library's two operations breaks with what it was measured with."""
    yield from larger_is_cheaper(curve)
    for operation, other, kind in _NO_DEARER:
        if operation == curve.operation and (against := runs.curves.get(other)) is not None:
            yield from costlier_than(curve, against, kind)
