"""What stood in the way of a comparison: other programs, a trend, two modes, cold first runs, outliers.

None of it changes the verdict: rounds are paired, and the interval holds for any noise. It tells why an
interval is wide, and what would make it narrower.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from tautochrone import text
from tautochrone.comparing.result import Side
from tautochrone.measuring.objective import Objective
from tautochrone.measuring.session import LOAD_NOTICED
from tautochrone.results.row import Row

_LEAST_POINTS = 8
_TREND_NOTICED = 0.01  # from the first quarter to the last
_TREND_DEVIATIONS = 3.5
_FAR = 7.0  # median distances from the median: an outlier
_OUTLIERS_NOTICED = 0.05
_COLD = 1.05
_APART = 6.0  # the gap between two modes, by the spread inside them
_SMALLEST_MODE = 0.15
_LEAST_TICKS_SECONDS = 0.1  # the kernel tells CPU time in ticks of 10 ms on each CPU


def remarks(
    by_name: Mapping[str, Sequence[Row]], sides: Sequence[Side], objective: Objective, cpus: int
) -> list[str]:
    """Sentences without a full stop, the weightiest first."""
    found = [*_load([row for rows in by_name.values() for row in rows], cpus)]
    for side in sides:
        if len(side.points) >= _LEAST_POINTS:
            found += [*_modes(side, objective), *_trend(side), *_cold(side), *_outliers(side)]
    return found


def _load(rows: Sequence[Row], cpus: int) -> list[str]:
    """The share of the rounds in which others took part of the machine, as far as the kernel's ticks tell."""
    taken: dict[int, float] = {}
    elapsed: dict[int, float] = {}
    for row in rows:
        if row.others_cpu_seconds is not None:
            others = row.others_cpu_seconds + (row.steal_seconds or 0.0)
            taken[row.round] = taken.get(row.round, 0.0) + others
            elapsed[row.round] = elapsed.get(row.round, 0.0) + row.elapsed_seconds
    total, whole = sum(taken.values()), sum(elapsed.values())
    if not whole or total < max(_LEAST_TICKS_SECONDS, LOAD_NOTICED * cpus * whole):
        return []
    busy = sum(
        seconds > max(0.01, LOAD_NOTICED * cpus * elapsed[number]) for number, seconds in taken.items()
    )
    return [
        f"Other programs took {text.percent(total / (cpus * whole))} of the CPU time of this machine, in "
        f"{busy} of {len(taken)} rounds: close them for a narrower interval"
    ]


def _trend(side: Side) -> list[str]:
    """A drift over the rounds, by Mann and Kendall's test of its direction."""
    points = side.points
    count = len(points)
    signs = sum(
        (later > earlier) - (later < earlier)
        for place, earlier in enumerate(points)
        for later in points[place + 1 :]
    )
    deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    quarter = max(2, count // 4)
    change = statistics.median(points[-quarter:]) / statistics.median(points[:quarter]) - 1.0
    if abs(signs) < _TREND_DEVIATIONS * deviation or abs(change) < _TREND_NOTICED:
        return []
    return [
        f"{side.name} changed by {100 * change:+.1f} % from the first rounds to the last: pairs take that "
        "out of the ratio, but not out of the times"
    ]


def _modes(side: Side, objective: Objective) -> list[str]:
    """Two clusters: parted at the widest gap, each of some size and narrow beside the gap."""
    ordered = sorted(map(math.log, side.points))
    least = max(3, math.ceil(_SMALLEST_MODE * len(ordered)))
    if len(ordered) < 2 * least + 2:
        return []
    at = max(range(least, len(ordered) - least + 1), key=lambda place: ordered[place] - ordered[place - 1])
    low, high = ordered[:at], ordered[at:]
    gap = high[0] - low[-1]
    inside = max(_usual_gap(low), _usual_gap(high))
    if gap < math.log1p(0.02) or gap < _APART * max(inside, 1e-9):
        return []
    shares = [100 * len(part) / len(ordered) for part in (low, high)]
    ends = [objective.written(math.exp(statistics.median(part))) for part in (low, high)]
    return [
        f"{side.name} has two modes: {shares[0]:.0f} % of its runs near {ends[0]}, {shares[1]:.0f} % near "
        f"{ends[1]}: see what differs (placement, memory, a cache that is filled)"
    ]


def _usual_gap(ordered: Sequence[float]) -> float:
    """The spread of a cluster: its middle half."""
    quarter = len(ordered) // 4
    return ordered[-1 - quarter] - ordered[quarter]


def _cold(side: Side) -> list[str]:
    first, others = side.points[0], side.points[1:]
    if first <= max(others) or first < _COLD * statistics.median(others):
        return []
    return [
        f"The first run of {side.name} took {first / statistics.median(others):.2f} times as much as the "
        "others: it was cold. --warmup 3 leaves such runs out"
    ]


def _outliers(side: Side) -> list[str]:
    centre = statistics.median(side.points)
    usual = statistics.median(abs(point - centre) for point in side.points)
    far = sum(abs(point - centre) > _FAR * usual for point in side.points) if usual > 0 else 0
    if far < max(2, _OUTLIERS_NOTICED * len(side.points)):
        return []
    return [f"{far} of {len(side.points)} runs of {side.name} are far from the others"]
