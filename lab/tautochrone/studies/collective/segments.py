"""A curve in segments, each with a latency and a time of a word.

One line for a whole curve is useless where a library changes its algorithm with the length. The number of
segments and their ends come from the data: dynamic programming over all divisions, each segment at the cost
that the Bayesian information criterion gives to its three parameters (latency, time of a word, where it
begins; G. Schwarz, Annals of Statistics 6 (1978) 461). Residuals are those of the logarithm, so a
microsecond is as precise as a millisecond, and no single length counts for more than three standard
deviations: an outlier is no segment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_POINTS = 3
"""Of a segment: two points lie on any line."""

NOISE_FLOOR = 0.03
"""Standard deviation of a point's logarithm, at least: caches bend a curve by that much without a step."""

_PARAMETERS = 3
_OUTLIER = 3.0  # standard deviations


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds of an operation on a number of words: ``latency_seconds + words * seconds_per_word``."""

    latency_seconds: float
    seconds_per_word: float

    def at(self, words: float) -> float:
        """Seconds at that many words."""
        return self.latency_seconds + words * self.seconds_per_word


@dataclass(frozen=True, slots=True)
class Segment:
    """The points ``first`` to ``last`` (both inside) of a curve, and their line."""

    first: int
    last: int
    line: Line


def segmented(words: Sequence[float], seconds: Sequence[float], noise: float = 0.0) -> list[Segment]:
    """The best division of a curve into segments, in the order of ``words``, which ascend.

    ``noise`` is the standard deviation of a point's logarithm as it was seen; :data:`NOISE_FLOOR` is the
    least that is believed. Fewer than six points are one segment. O(n³) in the number of points.
    """
    count = len(words)
    if count == 0:
        return []
    sigma = max(noise, NOISE_FLOOR)
    penalty = _PARAMETERS * math.log(count)
    best = [0.0] + [math.inf] * count  # of the first points
    begin = [0] * (count + 1)
    lines: dict[tuple[int, int], Line] = {}
    for end in range(1, count + 1):
        for start in range(end):
            if end - start < min(LEAST_POINTS, count) or best[start] == math.inf:
                continue
            x, t = words[start:end], seconds[start:end]
            line = fit(x, t, sigma)
            cost = best[start] + _misfit(line, x, t, sigma) + penalty
            if cost < best[end]:
                best[end], begin[end] = cost, start
                lines[start, end] = line
    found: list[Segment] = []
    end = count
    while end > 0:
        start = begin[end]
        found.append(Segment(start, end - 1, lines[start, end]))
        end = start
    return found[::-1]


def fit(words: Sequence[float], seconds: Sequence[float], sigma: float) -> Line:
    """The line of least relative squares, with no negative time of a word.

    Its latency may be negative where a curve bends upwards: then it is only where the line begins.
    What lies further than three ``sigma`` from it is left out of a second fit, as long as most points stay.
    """
    line = _least_squares(words, seconds)
    for _ in range(2):
        residuals = _residuals(line, words, seconds)
        inside = [at for at, residual in enumerate(residuals) if residual <= _OUTLIER * sigma]
        if len(inside) == len(words) or 2 * len(inside) <= len(words):
            break
        line = _least_squares([words[at] for at in inside], [seconds[at] for at in inside])
    return line


def _least_squares(x: Sequence[float], t: Sequence[float]) -> Line:
    """Weights are inverse times: relative residuals are, to first order, those of the logarithm."""
    sw = swx = swt = swxx = swxt = 0.0
    for words, seconds in zip(x, t, strict=True):
        weight = 1.0 / (seconds * seconds)
        sw += weight
        swx += weight * words
        swt += weight * seconds
        swxx += weight * words * words
        swxt += weight * words * seconds
    determinant = sw * swxx - swx * swx
    flat = Line(swt / sw, 0.0)
    if determinant <= 1e-12 * sw * swxx:
        return flat
    slope = (sw * swxt - swx * swt) / determinant
    latency = (swt - slope * swx) / sw
    if slope < 0.0:
        return flat
    return Line(latency, slope)


def _residuals(line: Line, x: Sequence[float], t: Sequence[float]) -> list[float]:
    latency, slope, log = line.latency_seconds, line.seconds_per_word, math.log
    return [
        abs(log(seconds / max(latency + words * slope, 1e-300))) for words, seconds in zip(x, t, strict=True)
    ]


def _misfit(line: Line, x: Sequence[float], t: Sequence[float], sigma: float) -> float:
    return sum(min(residual / sigma, _OUTLIER) ** 2 for residual in _residuals(line, x, t))
