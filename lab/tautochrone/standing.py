"""How configurations stand against each other after rounds that they ran together.

What a round did to all of its runs (a clock that fell, a neighbour that came) is no difference between them:
each run is held against the middle of its round, on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, hypot, inf, sqrt
from statistics import fmean, median, median_low

_USUAL = 3.0  # times the median: a larger deviation is a disturbance, and counts as one of this size
_OF_DEVIATIONS = 1.2533  # the standard deviation against the mean of absolute deviations
_OF_A_MEDIAN = 1.2533  # the standard error of a median against that of a mean


class Standing:
    """Of figures by configuration and round, as logarithms; smaller is better."""

    def __init__(self, logs: Mapping[str, Mapping[int, float]]) -> None:
        of_round: dict[int, list[float]] = {}
        for found in logs.values():
            for number, value in found.items():
                of_round.setdefault(number, []).append(value)
        middle = {number: median(values) for number, values in of_round.items()}
        self._rounds = len(of_round)
        self._deviations = {
            name: [value - middle[number] for number, value in found.items()] for name, found in logs.items()
        }
        self._scatter = {
            name: [value - median(found) for value in found]
            for name, found in self._deviations.items()
            if len(found) > 1
        }
        # Others only ever make a run longer, so of two runs the shorter one tells more.
        self._level = {name: median_low(found) for name, found in self._deviations.items()}

    def order(self) -> list[str]:
        """Best first."""
        return sorted(self._level, key=self._level.__getitem__)

    def times_the_best(self, name: str) -> float:
        """How many times the best one's figure a configuration's is: 1 or more."""
        return exp(self._level[name] - min(self._level.values()))

    def times_in_doubt(self, name: str, errors: float) -> float:
        """How many times the best a configuration may be and still be it, by so many standard errors.

        Runs of one configuration can scatter more than those of others: it is given the doubt that this
        leaves, and never less than the doubt of all together. Infinite after one round.
        """
        scatter = [abs(one) for found in self._scatter.values() for one in found]
        if not scatter:
            return inf
        usual = _USUAL * median(scatter)
        common = fmean(min(one, usual) for one in scatter)
        own = max(common, fmean(map(abs, self._scatter.get(name) or [0.0])))
        of_a_median = _OF_A_MEDIAN if self._rounds > 2 else 1.0
        return exp(errors * of_a_median * _OF_DEVIATIONS * hypot(common, own) / sqrt(self._rounds - 1))
