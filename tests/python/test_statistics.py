"""Verdicts: exact where counting can check it, by simulation with fixed seeds elsewhere."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache
from itertools import product

import pytest

from tautochrone.verdicts import (
    FASTER,
    MINIMUM_ROUNDS,
    MOST_COUNTED_ROUNDS,
    NO_DIFFERENCE,
    NOT_MEASURED,
    SLOWER,
    Comparison,
    compare,
    compare_drawn,
    compare_unpaired,
    geometric_mean,
    median_interval,
    rounds_needed,
    sign_interval_coverage,
    sign_interval_rank,
    signed_rank_interval_coverage,
    signed_rank_interval_rank,
)

TRIALS = 1000


class Machine:
    """Times of programs on a machine with 1 % noise, spikes and drift; every run moves the session on."""

    def __init__(self, seed: int, runs: int, *, spikes: float = 0.03, drift: float = 0.03) -> None:
        self.chance = random.Random(seed)
        self.runs = runs
        self.spikes = spikes
        self.drift = drift
        self.ran = 0

    def seconds(self, true: float) -> float:
        slow = 1.0 + self.drift * self.ran / self.runs
        self.ran += 1
        spike = 1.3 if self.chance.random() < self.spikes else 1.0
        return true * math.exp(self.chance.gauss(0.0, 0.01)) * slow * spike

    def interleaved(self, candidate: float, reference: float, rounds: int) -> list[tuple[float, float]]:
        pairs = []
        for _ in range(rounds):
            if self.chance.random() < 0.5:
                first = self.seconds(candidate)
                pairs.append((first, self.seconds(reference)))
            else:
                first = self.seconds(reference)
                pairs.append((self.seconds(candidate), first))
        return pairs


def share_of(verdicts: Sequence[str], *wanted: str) -> float:
    return sum(verdict in wanted for verdict in verdicts) / len(verdicts)


@pytest.mark.parametrize("rounds", [8, 10, 14, 20, 30])
def test_identical_programs_on_a_drifting_machine_differ_in_at_most_two_percent(rounds: int) -> None:
    machines = [Machine(seed, 2 * rounds) for seed in range(TRIALS)]
    verdicts = [compare(machine.interleaved(1.0, 1.0, rounds)).verdict for machine in machines]
    assert share_of(verdicts, FASTER, SLOWER) <= 0.02
    assert share_of(verdicts, NOT_MEASURED) == 0.0


def test_a_difference_of_three_percent_is_found_in_twenty_rounds() -> None:
    machines = [Machine(seed, 40, spikes=0.0, drift=0.0) for seed in range(TRIALS)]
    found = [compare(machine.interleaved(1.03, 1.0, 20)).verdict for machine in machines]
    assert share_of(found, SLOWER) >= 0.95
    assert share_of(found, FASTER) == 0.0


def test_a_difference_of_three_percent_is_found_among_spikes_and_drift_too() -> None:
    found = [compare(Machine(seed, 40).interleaved(1.0, 1.03, 20)).verdict for seed in range(TRIALS)]
    assert share_of(found, FASTER) >= 0.95


def test_blocked_order_would_call_identical_programs_different() -> None:
    # Why runs are interleaved at all: the same machine, all of A and then all of B.
    wrong = []
    for seed in range(200):
        machine = Machine(seed, 40, spikes=0.0)
        first = [machine.seconds(1.0) for _ in range(20)]
        wrong.append(compare(zip(first, [machine.seconds(1.0) for _ in range(20)], strict=True)).verdict)
    assert share_of(wrong, FASTER, SLOWER) > 0.5


@pytest.mark.parametrize("rounds", [8, 13, 20])
def test_the_interval_covers_the_true_ratio_as_often_as_it_says(rounds: int) -> None:
    true, covered, coverage = 1.05, 0, 0.0
    for seed in range(TRIALS):
        found = compare(Machine(seed, 2 * rounds).interleaved(true, 1.0, rounds))
        coverage = found.coverage
        covered += found.low <= true <= found.high
    allowed = 3 * math.sqrt(coverage * (1 - coverage) / TRIALS)
    assert coverage >= 0.99
    assert abs(covered / TRIALS - coverage) <= allowed


def test_the_interval_of_a_skewed_difference_covers_its_median() -> None:
    # The candidate has a tail that the reference lacks: a mean or a symmetric test would be off.
    chance = random.Random(7)
    logs = [chance.expovariate(1 / 0.05) for _ in range(20 * TRIALS)]
    centre = math.exp(0.05 * math.log(2.0))
    covered = 0
    for trial in range(TRIALS):
        found = compare((math.exp(one), 1.0) for one in logs[20 * trial : 20 * trial + 20])
        covered += found.low <= centre <= found.high
    assert covered / TRIALS >= 0.985


@pytest.mark.parametrize("count", range(1, 13))
@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.75, 0.9, 0.95, 0.99])
def test_the_rank_is_the_largest_that_keeps_the_confidence_by_counting_all_signs(
    count: int, confidence: float
) -> None:
    # Each value lies above or below the true median by a coin's toss: count the tosses in which the
    # interval covers.
    def covered(rank: int) -> float:
        signs = product((0, 1), repeat=count)
        return sum(rank <= sum(above) <= count - rank for above in signs) / 2**count

    # At rank (n + 1) / 2 of an odd n the interval is one point, which covers with probability 0 by this
    # count.
    ranks = [rank for rank in range(1, (count + 1) // 2 + 1) if covered(rank) >= confidence]
    assert sign_interval_rank(count, confidence) == max(ranks, default=0)


@pytest.mark.parametrize(("count", "rank"), [(8, 1), (9, 2), (12, 3)])
def test_the_coverage_is_what_counting_all_signs_gives(count: int, rank: int) -> None:
    signs = list(product((0, 1), repeat=count))
    counted = sum(rank <= sum(above) <= count - rank for above in signs) / len(signs)
    assert sign_interval_coverage(count, rank) == pytest.approx(counted, abs=1e-12)


def test_a_confidence_that_is_met_exactly_counts_as_met() -> None:
    assert sign_interval_rank(8, 1 - 2 / 2**8) == 1
    assert sign_interval_rank(2, 0.5) == 1


def test_too_many_rounds_for_exact_arithmetic_are_refused() -> None:
    assert sign_interval_rank(999, 0.99) > 400
    with pytest.raises(ValueError, match="999"):
        sign_interval_rank(1000, 0.99)


def test_eight_rounds_are_the_fewest_for_a_verdict() -> None:
    assert MINIMUM_ROUNDS == 8
    assert rounds_needed() == 8
    assert rounds_needed(confidence=0.5) == 8
    seven, eight = compare([(1.1, 1.0)] * 7), compare([(1.1, 1.0)] * 8)
    assert seven == Comparison(pytest.approx(1.1), None, None, 0.99, 7, NOT_MEASURED, None, True)
    assert eight.verdict == SLOWER
    assert eight.coverage == pytest.approx(1 - 2 / 256)


def test_seven_rounds_would_break_the_two_percent_rule_with_the_usual_confidence() -> None:
    # The number behind 99 %: at 95 % some round counts err in more than 2 % of identical pairs, at 99 %
    # none does.
    def error(count: int, confidence: float) -> float:
        return 1 - sign_interval_coverage(count, sign_interval_rank(count, confidence))

    assert max(error(count, 0.95) for count in range(8, 60)) > 0.045
    assert max(error(count, 0.99) for count in range(8, 60)) <= 0.01


def test_a_ratio_below_one_is_faster_and_above_one_slower() -> None:
    faster, slower = compare([(0.9, 1.0)] * 8), compare([(1.0, 0.9)] * 8)
    assert (faster.verdict, faster.ratio) == (FASTER, pytest.approx(0.9))
    assert (slower.verdict, slower.ratio) == (SLOWER, pytest.approx(1 / 0.9))


def test_swapping_the_two_inverts_the_ratio_and_the_interval() -> None:
    pairs = Machine(3, 20).interleaved(1.0, 1.2, 10)
    one, other = compare(pairs), compare((b, a) for a, b in pairs)
    assert (other.ratio, other.low, other.high) == pytest.approx((1 / one.ratio, 1 / one.high, 1 / one.low))


def test_the_centre_is_the_median_of_the_logarithms() -> None:
    assert compare([(0.5, 1.0)] * 4 + [(2.0, 1.0)] * 4).ratio == pytest.approx(1.0)
    odd = compare([(x, 1.0) for x in (1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.0, 5.0)])
    assert odd.ratio == pytest.approx(5.0)


def test_the_bounds_are_the_order_statistics_of_the_rank() -> None:
    eight = compare([(x, 1.0) for x in (8.0, 1.0, 7.0, 2.0, 6.0, 3.0, 5.0, 4.0)])
    assert (eight.low, eight.high) == pytest.approx((1.0, 8.0))
    twelve = compare([(float(x), 1.0) for x in range(12, 0, -1)])
    assert (twelve.low, twelve.high) == pytest.approx((2.0, 11.0))


def test_equal_times_are_no_difference() -> None:
    assert compare([(1.0, 1.0)] * 20).verdict == NO_DIFFERENCE
    # One bound exactly at 1 does not exclude 1.
    assert compare([(1.0, 1.0)] + [(1.1, 1.0)] * 7).verdict == NO_DIFFERENCE
    assert compare([(1.0, 1.0)] + [(0.9, 1.0)] * 7).verdict == NO_DIFFERENCE


def test_no_pair_is_not_measured() -> None:
    assert compare([]) == Comparison(None, None, None, 0.99, 0, NOT_MEASURED, None, True)
    assert compare([(3.0, 2.0)]).ratio == pytest.approx(1.5)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_not_positive_and_finite_is_refused(seconds: float) -> None:
    for pair in ((seconds, 1.0), (1.0, seconds)):
        with pytest.raises(ValueError, match="positive and finite"):
            compare([pair] * 8)


def test_a_family_of_verdicts_shares_the_error() -> None:
    pairs = [(1.1, 1.0)] * 10
    alone, family = compare(pairs), compare(pairs, comparisons=10)
    assert alone.verdict == SLOWER
    assert (family.verdict, family.confidence) == (NOT_MEASURED, pytest.approx(0.999))
    assert compare([*pairs, (1.1, 1.0)], comparisons=10).verdict == SLOWER
    assert rounds_needed(comparisons=10) == 11
    with pytest.raises(ValueError, match="smallest has 1"):
        compare(pairs, comparisons=0)


def test_the_resolution_is_the_longer_arm_of_the_interval() -> None:
    found = Comparison(2.0, 1.0, 2.2, 0.99, 8, SLOWER)
    assert found.resolution() == pytest.approx(1.0)
    assert Comparison(2.0, 1.9, 4.0, 0.99, 8, SLOWER).resolution() == pytest.approx(1.0)
    assert compare([(1.0, 1.0)] * 7).resolution() is None


def test_a_difference_of_twice_the_resolution_is_nearly_always_found() -> None:
    machines = [Machine(seed, 40, spikes=0.0) for seed in range(400)]
    alike = [compare(machine.interleaved(1.0, 1.0, 20)) for machine in machines[:200]]
    typical = sorted(one.resolution() or 0.0 for one in alike)[100]
    apart = [compare(machine.interleaved(1.0 + 2 * typical, 1.0, 20)) for machine in machines[200:]]
    assert share_of([one.verdict for one in apart], SLOWER) >= 0.95


def test_the_geometric_mean_is_taken_over_cells_round_by_round() -> None:
    halves = [(0.5, 1.0)] * 8
    found = geometric_mean([halves, [(2.0, 1.0)] * 8])
    assert (found.ratio, found.verdict) == (pytest.approx(1.0), NO_DIFFERENCE)
    faster = geometric_mean([halves, [(1.0, 1.0)] * 9, halves, [(1.0, 1.0)] * 12])
    assert (faster.ratio, faster.verdict, faster.rounds) == (pytest.approx(2**-0.5), FASTER, 8)


def test_the_geometric_mean_needs_eight_rounds_in_every_cell() -> None:
    assert geometric_mean([]).verdict == NOT_MEASURED
    assert geometric_mean([[(0.5, 1.0)] * 20, [(0.5, 1.0)] * 7]).verdict == NOT_MEASURED


def test_the_interval_of_the_geometric_mean_covers_with_spikes_in_every_cell() -> None:
    covered = wrong = 0
    for seed in range(TRIALS // 2):
        machine = Machine(seed, 2 * 10 * 5)
        cells = [machine.interleaved(true, 1.0, 10) for true in (0.9, 1.0, 1.1, 0.95, 1.05)]
        true = (0.9 * 1.1 * 0.95 * 1.05) ** 0.2
        found = geometric_mean(cells)
        covered += found.low <= true <= found.high
        wrong += found.verdict == SLOWER
    assert covered / (TRIALS // 2) >= 0.98
    assert wrong <= 5


@pytest.mark.parametrize("rounds", [8, 20])
def test_unpaired_sets_of_a_steady_machine_differ_in_at_most_two_percent(rounds: int) -> None:
    verdicts = []
    for seed in range(TRIALS // 4):
        machine = Machine(seed, 2 * rounds, drift=0.0)
        first, second = ([machine.seconds(1.0) for _ in range(rounds)] for _ in range(2))
        verdicts.append(compare_unpaired(first, second).verdict)
    assert share_of(verdicts, FASTER, SLOWER) <= 0.02


def test_unpaired_sets_that_differ_are_told_apart() -> None:
    chance = random.Random(5)
    first, second = ([true * chance.uniform(0.99, 1.01) for _ in range(10)] for true in (0.9, 1.0))
    found = compare_unpaired(first, second)
    assert found.ratio == pytest.approx(0.9, rel=0.01)
    assert (found.verdict, found.rounds, found.paired) == (FASTER, 10, False)
    assert compare_unpaired(second, first).verdict == SLOWER


def test_unpaired_ranks_are_the_exact_ones_of_the_mann_whitney_table() -> None:
    # Critical U for n = m = 8 at 1 % two-sided is 7 in the published tables: the bounds are the 8th ratios.
    first = [2.0**power for power in range(8)]
    found = compare_unpaired(first, [1.0] * 8)
    ratios = sorted(a for a in first for _ in range(8))
    assert (found.low, found.high) == pytest.approx((ratios[7], ratios[-8]))
    assert found.coverage == pytest.approx(1 - 2 * _mann_whitney_below(8, 8, 7))
    assert found.coverage >= 0.99


def _mann_whitney_below(first: int, second: int, critical: int) -> float:
    """P(U <= critical), by counting arrangements one after the other."""
    ways: dict[tuple[int, int], dict[int, int]] = {}

    def count(m: int, n: int) -> dict[int, int]:
        if m == 0 or n == 0:
            return {0: 1}
        if (m, n) not in ways:
            found: dict[int, int] = {}
            for u, number in count(m - 1, n).items():
                found[u + n] = found.get(u + n, 0) + number
            for u, number in count(m, n - 1).items():
                found[u] = found.get(u, 0) + number
            ways[m, n] = found
        return ways[m, n]

    table = count(first, second)
    return sum(number for u, number in table.items() if u <= critical) / math.comb(first + second, first)


def test_unpaired_sets_need_eight_runs_each() -> None:
    found = compare_unpaired([1.0] * 7, [2.0] * 20)
    assert (found.verdict, found.ratio, found.rounds) == (NOT_MEASURED, pytest.approx(0.5), 7)
    assert found.paired is False
    assert compare_unpaired([1.0] * 8, [2.0] * 20).verdict == FASTER
    assert compare_unpaired([], [1.0] * 8).ratio is None


def test_an_interval_to_draw_needs_six_values() -> None:
    six = median_interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])
    assert (six.median, six.low, six.high, six.confidence, six.count) == (3.5, 1.0, 6.0, 0.95, 6)
    five = median_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (five.median, five.low, five.high) == (3.0, None, None)
    nine = median_interval([float(value) for value in range(9)])
    assert (nine.low, nine.high) == (1.0, 7.0)
    with pytest.raises(ValueError, match="no values"):
        median_interval([])


@pytest.mark.parametrize("rounds", [8, 10, 14, 20, 30])
def test_identical_programs_in_drawn_order_differ_as_often_as_the_signed_ranks_allow(rounds: int) -> None:
    allowed, found = 0.0, []
    for seed in range(TRIALS):
        one = compare_drawn(Machine(seed, 2 * rounds, spikes=0.2).interleaved(1.0, 1.0, rounds))
        allowed = 1.0 - one.coverage
        found.append(one.verdict)
    assert allowed <= 0.01
    assert share_of(found, FASTER, SLOWER) <= allowed + 3 * math.sqrt(allowed * (1 - allowed) / TRIALS)


def test_signed_ranks_find_what_the_sign_test_misses_in_the_same_rounds() -> None:
    rounds = [Machine(seed, 80).interleaved(1.012, 1.0, 40) for seed in range(TRIALS)]
    by_sign = share_of([compare(one).verdict for one in rounds], SLOWER)
    by_rank = share_of([compare_drawn(one).verdict for one in rounds], SLOWER)
    assert by_rank > by_sign + 0.05


@pytest.mark.parametrize("rounds", [8, 13, 20])
def test_the_signed_rank_interval_covers_the_true_ratio_as_often_as_it_says(rounds: int) -> None:
    true, covered, coverage = 1.05, 0, 0.0
    for seed in range(TRIALS):
        found = compare_drawn(Machine(seed, 2 * rounds).interleaved(true, 1.0, rounds))
        coverage = found.coverage
        covered += found.low <= true <= found.high
    assert coverage >= 0.99
    assert abs(covered / TRIALS - coverage) <= 3 * math.sqrt(coverage * (1 - coverage) / TRIALS)


@pytest.mark.parametrize("count", range(1, 13))
@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.75, 0.9, 0.95, 0.99])
def test_the_signed_rank_is_the_largest_that_keeps_the_confidence_by_counting_all_signs(
    count: int, confidence: float
) -> None:
    sums = sorted(
        sum(rank for rank, sign in enumerate(signs, 1) if sign) for signs in product((0, 1), repeat=count)
    )
    rank = signed_rank_interval_rank(count, confidence)

    def outside(of: int) -> float:
        return 2 * sum(one < of for one in sums) / 2**count

    assert outside(rank) <= 1.0 - confidence + 1e-12
    if 2 * (rank + 1) <= count * (count + 1) // 2 + 1:
        assert outside(rank + 1) > 1.0 - confidence
    assert signed_rank_interval_coverage(count, rank) == pytest.approx(1.0 - outside(rank))


@cache
def chances_of_sums(count: int) -> list[float]:
    """How likely each sum of the ranks 1 to `count` is, where each rank counts by a coin's toss."""
    chances = [1.0]
    for step in range(1, count + 1):
        longer = [*chances, *[0.0] * step]
        for at, one in enumerate(chances):
            longer[at + step] += one
        chances = [one / 2 for one in longer]
    return chances


@pytest.mark.parametrize("count", [MOST_COUNTED_ROUNDS + 1, 150, 300])
@pytest.mark.parametrize("confidence", [0.95, 0.99, 0.999, 1 - 0.005 / 57])
def test_ranks_that_are_not_counted_allow_no_more_than_counting(count: int, confidence: float) -> None:
    rank = signed_rank_interval_rank(count, confidence)
    outside = 2 * math.fsum(chances_of_sums(count)[:rank])
    assert 0.7 * (1.0 - confidence) < outside <= 1.0 - confidence


def test_the_signed_rank_interval_of_equal_ratios_is_that_ratio() -> None:
    found = compare_drawn([(2.0, 1.0)] * 9)
    assert (found.ratio, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert found.verdict == SLOWER
    assert compare_drawn([(1.0, 1.0)] * 9).verdict == NO_DIFFERENCE
    assert compare_drawn([(2.0, 1.0)] * 7).verdict == NOT_MEASURED
    assert compare_drawn([]).ratio is None
    for refused in ({"pairs": [(1.0, 0.0)]}, {"pairs": [(1.0, 1.0)] * 1000}, {"pairs": [], "comparisons": 0}):
        with pytest.raises(ValueError, match=r"cannot be compared|are more than|smallest has 1"):
            compare_drawn(**refused)
