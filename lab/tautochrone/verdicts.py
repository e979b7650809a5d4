"""Verdicts on pairs of runs, with an exact interval and no assumption about the noise.

The runs of a comparison are interleaved, so the two runs of a round share whatever the machine was doing
then. What is analysed is therefore the logarithm of the ratio within each round: drift that lasts longer
than a round cancels, and "twice as fast" weighs as much as "half as fast". The centre is the median. The
interval is the one that the sign test inverts to: two order statistics of the log-ratios (W. J. Conover,
Practical Nonparametric Statistics, section 3.2; H. A. David and H. N. Nagaraja, Order Statistics, section
7.1). Its coverage is a binomial sum, exact for any continuous noise, skewed and spiked noise too.

Why 99 % and 8 rounds. A 95 % interval calls up to 5 % of identical pairs different (n = 9: 3.9 %, n = 17:
4.9 %); the house rule is at most 2 % at *every* number of rounds, so verdicts use 99 %. Eight rounds are
the fewest that can carry a 99 % statement at all: eight equal signs have probability 2 / 2^8 = 0.78 %,
seven have 1.6 %.

`tauto compare` uses more of what the same rounds tell: `compare_drawn` has the signed-rank interval, which
is exact where the log-ratios are symmetric. For identical programs they are, because lot decides which of
the two runs first. In normal noise it resolves what the sign test needs half as many rounds again for.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, combinations_with_replacement
from typing import Literal, NamedTuple, Self

import msgspec

Verdict = Literal[
    "faster", "slower", "no difference resolved", "not measured", "cannot be told from two sittings"
]

FASTER: Verdict = "faster"
SLOWER: Verdict = "slower"
NO_DIFFERENCE: Verdict = "no difference resolved"
NOT_MEASURED: Verdict = "not measured"
CANNOT_TELL: Verdict = "cannot be told from two sittings"
"""There are runs enough, but nothing shows how the machine changed between the two sittings."""

VERDICT_CONFIDENCE = 0.99
MINIMUM_ROUNDS = 8
MOST_COUNTED_ROUNDS = 100
"""Of the signed-rank interval: above it, its ranks are those of the normal distribution."""

PLOT_CONFIDENCE = 0.95
_ROUNDING = 1.0 + 1e-12
"""Far below any real step; it keeps a confidence such as 1 - 2/256 from missing equality."""


@dataclass(frozen=True)
class Comparison:
    """How the candidate's time relates to the reference's.

    `ratio` is candidate / reference (below 1: the candidate is faster), the median over rounds; `low` and
    `high` bound it with probability of at least `confidence`. `coverage` is the exact probability, which
    steps with the number of rounds. `ratio` is None without any pair; `low`, `high` and `coverage` are
    None when there is no verdict. `paired` is False when the two were not interleaved: two sittings, see
    `results.sittings`.
    """

    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    rounds: int
    verdict: Verdict
    coverage: float | None = None
    paired: bool = True

    def resolution(self) -> float | None:
        """The smallest relative difference that these rounds could have resolved (0.01 = 1 %), or None.

        The larger arm of the interval: a true difference of this size is found about every second time,
        one of twice this size nearly always.
        """
        if self.ratio is None or self.low is None or self.high is None:
            return None
        return max(self.high / self.ratio, self.ratio / self.low) - 1.0


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """Our time divided by another's: below 1 we are faster. ``low``/``high`` bound the paired median.

    ``value``, ``low`` and ``high`` are None exactly when the verdict is "not measured" for want of rounds
    or of a partner; ``confidence`` is what the sign-test interval really covers (0.95 … ), not the wish.
    """

    value: float | None
    low: float | None
    high: float | None
    confidence: float | None
    rounds: int
    verdict: Verdict

    def inverse(self) -> Self:
        """The other's time divided by ours, which is a speed-up: its ends and its verdict change places."""
        turned: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}
        return type(self)(
            value=None if self.value is None else 1.0 / self.value,
            low=None if self.high is None else 1.0 / self.high,
            high=None if self.low is None else 1.0 / self.low,
            confidence=self.confidence,
            rounds=self.rounds,
            verdict=turned.get(self.verdict, self.verdict),
        )


@dataclass(frozen=True)
class Interval:
    """Median of some values with an interval, in their unit; no bounds (None) for too few values."""

    median: float
    low: float | None
    high: float | None
    confidence: float
    count: int


def as_ratio(comparison: Comparison) -> Ratio:
    """A comparison in the report's terms: without a verdict there is no figure either."""
    measured = comparison.verdict != NOT_MEASURED
    return Ratio(
        value=comparison.ratio if measured else None,
        low=comparison.low,
        high=comparison.high,
        confidence=comparison.coverage,
        rounds=comparison.rounds,
        verdict=comparison.verdict,
    )


def compare(
    pairs: Iterable[tuple[float, float]], *, confidence: float = VERDICT_CONFIDENCE, comparisons: int = 1
) -> Comparison:
    """Compare the (candidate seconds, reference seconds) of each round.

    `comparisons` is the number of verdicts that are read together (a winner picked among N rivals has N -
    1 of them): the error allowed is divided by it (Bonferroni), so that the whole family errs in at most
    1 - confidence. Fewer than `MINIMUM_ROUNDS` pairs: "not measured". ValueError for times that are not
    positive and finite. O(n log n) in the number of pairs.
    """
    logs = [_log_ratio(candidate, reference) for candidate, reference in pairs]
    return _judge(logs, len(logs), confidence, comparisons, _SIGNS)


def compare_drawn(
    pairs: Iterable[tuple[float, float]], *, confidence: float = VERDICT_CONFIDENCE, comparisons: int = 1
) -> Comparison:
    """`compare` for two programs whose order in each round was drawn, by the signed-rank interval.

    Centre: the median of the means of all pairs of log-ratios, each with itself too (Hodges and Lehmann).
    Interval: order statistics of these means with ranks from the exact distribution of Wilcoxon's signed
    ranks (Tukey): M. Hollander, D. A. Wolfe and E. Chicken, Nonparametric Statistical Methods, sections 3.1
    to 3.3. It is exact where the log-ratios are symmetric about their centre. Identical programs' are,
    whatever the noise, since the drawn order gives each sign the same chance; so this bounds the words on
    identical programs. Where one program has a tail that the other lacks, the centre lies between the median
    and the mean. As few rounds as for `compare` carry a verdict. O(n² log n).
    """
    logs = [_log_ratio(candidate, reference) for candidate, reference in pairs]
    means = [(one + other) / 2.0 for one, other in combinations_with_replacement(logs, 2)]
    return _judge(means, len(logs), confidence, comparisons, _SIGNED_RANKS)


def geometric_mean(
    cells: Sequence[Sequence[tuple[float, float]]], *, confidence: float = VERDICT_CONFIDENCE
) -> Comparison:
    """The geometric mean of the ratio over cells (sizes, factors, ...), judged as one comparison.

    Each cell is a sequence of (candidate, reference) pairs in the order of its rounds. The k-th rounds of
    all cells are one draw of the geometric mean, and the sign-test interval is put on those draws: exact
    for any noise and any dependence between cells. (A percentile bootstrap of the cells' medians was the
    alternative; with 8 to 20 rounds a resampled median takes few values, and the bootstrap's coverage is
    only asymptotic: B. Efron and R. Tibshirani, An Introduction to the Bootstrap, section 13.3 and
    chapter 14.) Cells with more rounds than the shortest one give their first rounds. No cell, or a cell
    with fewer than `MINIMUM_ROUNDS`: "not measured".
    """
    rounds = min((len(cell) for cell in cells), default=0)
    logs = [[_log_ratio(*pair) for pair in cell[:rounds]] for cell in cells]
    draws = [math.fsum(column) / len(cells) for column in zip(*logs, strict=True)]
    return _judge(draws, rounds, confidence, 1, _SIGNS)


def compare_unpaired(
    candidate: Sequence[float], reference: Sequence[float], *, confidence: float = VERDICT_CONFIDENCE
) -> Comparison:
    """Compare two sets of seconds that were not interleaved. Drift between the two sets is *not* removed.

    Centre: the median of all candidate / reference ratios (Hodges and Lehmann). Interval: order
    statistics of those ratios with ranks from the exact Mann-Whitney distribution (Moses), which assumes
    that the two noises differ by a factor only: M. Hollander, D. A. Wolfe and E. Chicken, Nonparametric
    Statistical Methods, sections 4.1 to 4.3. `rounds` of the result is the smaller number of runs; fewer
    than `MINIMUM_ROUNDS`: "not measured". O(n m (n + m)) for the ranks.
    """
    logs = sorted(_log_ratio(a, b) for a in candidate for b in reference)
    rounds = min(len(candidate), len(reference))
    rank, coverage = 0, 0.0
    if rounds >= MINIMUM_ROUNDS:
        rank, coverage = _mann_whitney_rank(len(candidate), len(reference), confidence)
    return _verdict_of(logs, rank, coverage, confidence, rounds, paired=False)


def median_interval(values: Sequence[float], *, confidence: float = PLOT_CONFIDENCE) -> Interval:
    """Median of unpaired values with its order-statistic interval, to draw; ValueError without values.

    Six values are the fewest for a 95 % interval; below that `low` and `high` are None. Never a ground
    for a verdict: two overlapping intervals say little about a difference that the rounds share.
    """
    if not values:
        raise ValueError("the median of no values was asked for")
    ordered = sorted(values)
    rank = sign_interval_rank(len(ordered), confidence)
    low, high = (ordered[rank - 1], ordered[-rank]) if rank > 0 else (None, None)
    return Interval(statistics.median(ordered), low, high, confidence, len(ordered))


@lru_cache(maxsize=4096)
def sign_interval_rank(count: int, confidence: float) -> int:
    """The largest k for which [k-th smallest, k-th largest] of `count` values covers their median.

    "Covers" with at least `confidence`; 0 when there are too few values for that. Exact: binomial counts are
    summed as integers. ValueError above 999 values, where powers of two leave the range of a double.
    """
    _check(count)
    allowed = (1.0 - confidence) * 2.0**count / 2.0 * _ROUNDING
    rank = 0
    outside = 0
    while 2 * (rank + 1) <= count + 1:
        outside += math.comb(count, rank)
        if outside > allowed:
            break
        rank += 1
    return rank


def sign_interval_coverage(count: int, rank: int) -> float:
    """Exact probability that [rank-th smallest, rank-th largest] of `count` values covers their median."""
    outside = sum(math.comb(count, below) for below in range(rank))
    return float(1.0 - 2.0 * outside / 2.0**count)


@lru_cache(maxsize=4096)
def signed_rank_interval_rank(count: int, confidence: float) -> int:
    """The largest k for which [k-th smallest, k-th largest] of the means of `count` values covers the centre.

    "Covers" with at least `confidence`; 0 where there are too few values. Of the count (count + 1) / 2 means
    of two values, each with itself too. ValueError above 999 values, as for the sign test.
    """
    _check(count)
    allowed = (1.0 - confidence) / 2.0 * _ROUNDING
    low, high = 0, (count * (count + 1) // 2 + 1) // 2 + 1  # the first rank is allowed, the last is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _signed_rank_outside(count, middle) <= allowed else (low, middle)
    return low


def signed_rank_interval_coverage(count: int, rank: int) -> float:
    """The probability that [rank-th smallest, rank-th largest] of the means covers the centre.

    Exact up to MOST_COUNTED_ROUNDS values. Above, it is the normal distribution's, which is less than the
    exact one where it is 95 % or more.
    """
    return 1.0 - 2.0 * _signed_rank_outside(count, rank)


def _check(count: int) -> None:
    if count > 999:
        raise ValueError(f"{count} rounds are more than the exact tests are meant for (999)")


def _signed_rank_outside(count: int, rank: int) -> float:
    """The probability that fewer than `rank` of the means lie below the centre."""
    if rank == 0:
        return 0.0
    if count <= MOST_COUNTED_ROUNDS:
        return _signed_rank_sums(count)[rank - 1]
    deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    return 0.5 * math.erfc((count * (count + 1) / 4 - rank + 0.5) / deviation / math.sqrt(2.0))


@lru_cache(maxsize=MOST_COUNTED_ROUNDS)
def _signed_rank_sums(count: int) -> tuple[float, ...]:
    """The probabilities that the sum of the positive ranks is at most 0, 1, … up to its middle."""
    ways = [1] + [0] * (count * (count + 1) // 4)
    for step in range(1, count + 1):
        for total in range(len(ways) - 1, step - 1, -1):
            ways[total] += ways[total - step]
    return tuple(below / 2**count for below in accumulate(ways))


def rounds_needed(confidence: float = VERDICT_CONFIDENCE, comparisons: int = 1) -> int:
    """The fewest rounds that can carry a verdict at this confidence (never fewer than `MINIMUM_ROUNDS`)."""
    needed = MINIMUM_ROUNDS
    while sign_interval_rank(needed, 1.0 - (1.0 - confidence) / comparisons) == 0:
        needed += 1
    return needed


class _Test(NamedTuple):
    """The rank of an interval of so many rounds, at a confidence, and what that interval covers."""

    rank: Callable[[int, float], int]
    coverage: Callable[[int, int], float]


_SIGNS = _Test(sign_interval_rank, sign_interval_coverage)
_SIGNED_RANKS = _Test(signed_rank_interval_rank, signed_rank_interval_coverage)


def _judge(
    values: Iterable[float], rounds: int, confidence: float, comparisons: int, test: _Test
) -> Comparison:
    if comparisons < 1:
        raise ValueError(f"a family of {comparisons} comparisons was asked for; the smallest has 1")
    ordered = sorted(values)
    strict = 1.0 - (1.0 - confidence) / comparisons
    rank = test.rank(rounds, strict) if rounds >= MINIMUM_ROUNDS else 0
    return _verdict_of(ordered, rank, test.coverage(rounds, rank), strict, rounds, paired=True)


def _verdict_of(
    ordered: Sequence[float], rank: int, coverage: float, confidence: float, rounds: int, *, paired: bool
) -> Comparison:
    """The verdict of the interval with that rank; "not measured" where it is 0: too few rounds for any."""
    ratio = math.exp(statistics.median(ordered)) if ordered else None
    if rank == 0:
        return Comparison(ratio, None, None, confidence, rounds, NOT_MEASURED, None, paired)
    low, high = ordered[rank - 1], ordered[-rank]
    verdict = FASTER if high < 0.0 else SLOWER if low > 0.0 else NO_DIFFERENCE
    return Comparison(
        ratio=ratio,
        low=math.exp(low),
        high=math.exp(high),
        confidence=confidence,
        rounds=rounds,
        verdict=verdict,
        coverage=coverage,
        paired=paired,
    )


def _log_ratio(candidate: float, reference: float) -> float:
    for seconds in (candidate, reference):
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise ValueError(f"a time of {seconds} s cannot be compared: it must be positive and finite")
    return math.log(candidate / reference)


@lru_cache(maxsize=256)
def _mann_whitney_rank(first: int, second: int, confidence: float) -> tuple[int, float]:
    """Rank k and coverage of [k-th smallest, k-th largest] of all first * second ratios; 0 if none."""
    ways = _mann_whitney_counts(first, second)
    total = math.comb(first + second, first)
    rank = 0
    outside = 0
    while 2 * rank < len(ways):
        outside_next = outside + ways[rank]
        if outside_next > (1.0 - confidence) / 2.0 * total:
            break
        outside = outside_next
        rank += 1
    return rank, float(1.0 - 2.0 * outside / total)


def _mann_whitney_counts(first: int, second: int) -> list[int]:
    """The number of arrangements for each U = 0 ... first * second: a Gaussian binomial's coefficients."""
    ways = [1] + [0] * (first * second)
    for step in range(1, first + 1):
        # Multiply by (1 - q^(second + step)), then divide by (1 - q^step).
        for u in range(first * second, second + step - 1, -1):
            ways[u] -= ways[u - second - step]
        for u in range(step, first * second + 1):
            ways[u] += ways[u - step]
    return ways
