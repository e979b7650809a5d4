"""Where sharing the targets overtakes sharing the sources, from the classes of both, round by round."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tautochrone import statistics
from tautochrone.studies.nbody.runs import Contender


def crossing_of_round(points: Sequence[tuple[float, float]]) -> float | None:
    """The active count from which on the targets' scheme stays ahead; None where it never does.

    ``points``: (active count, log of the targets' seconds by the sources'), ascending. Linear in the
    logarithms between two points; the first point's count where the targets' scheme is always ahead.
    """
    if not points or points[-1][1] >= 0:
        return None
    place = len(points) - 1
    while place > 0 and points[place - 1][1] < 0:
        place -= 1
    if place == 0:
        return points[0][0]
    (low, above), (high, below) = points[place - 1], points[place]
    share = above / (above - below)
    return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))


def crossing(by_targets: Contender, by_sources: Contender) -> statistics.Interval | None:
    """The crossing's median over rounds; None where most rounds have none."""
    rounds = sorted(by_targets.classes_by_round.keys() & by_sources.classes_by_round.keys())
    found = [crossing_of_round(list(_points(by_targets, by_sources, number))) for number in rounds]
    known = [one for one in found if one is not None]
    return statistics.median_interval(known) if 2 * len(known) > len(found) else None


def _points(by_targets: Contender, by_sources: Contender, number: int) -> Iterator[tuple[float, float]]:
    mine, other = by_targets.classes_by_round[number], by_sources.classes_by_round[number]
    for low in sorted(mine.keys() & other.keys()):
        yield mine[low].active, math.log(mine[low].seconds / other[low].seconds)
