"""Segments, steps and guidelines on curves whose truth is known, with noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tautochrone.studies.collective.configurations import Gap, base_lengths, refined
from tautochrone.studies.collective.curves import Curve
from tautochrone.studies.collective.gaps import costlier_than, fitted_segments, gaps, larger_is_cheaper, steps
from tautochrone.studies.collective.segments import Line, fit, segmented

WORDS = base_lengths()
CURVES = 100  # of a simulation: enough to tell 1 % from 10 %


def noisy(
    truth: Callable[[int], float],
    noise: float,
    launches: int,
    chance: random.Random,
    words: tuple[int, ...] = WORDS,
) -> Curve:
    """Launches of a curve: each launch is off by some, each of its points by some more."""
    curve = Curve("all_reduce")
    for number in range(launches):
        launch = math.exp(noise * chance.gauss(0, 1))
        curve.launches["sweep", number] = {
            one: truth(one) * launch * math.exp(noise * chance.gauss(0, 1)) for one in words
        }
    return curve


def straight(words: int) -> float:
    return 5e-7 + words * 6e-10


def stepping(at: int, factor: float) -> Callable[[int], float]:
    return lambda words: straight(words) * (factor if words >= at else 1.0)


def test_a_line_is_found_exactly() -> None:
    line = fit([1, 10, 1000], [straight(words) for words in (1, 10, 1000)], 0.03)
    assert line.latency_seconds == pytest.approx(5e-7)
    assert line.seconds_per_word == pytest.approx(6e-10)


def test_no_line_falls() -> None:
    assert fit([1, 2, 4], [4e-6, 2e-6, 1e-6], 0.03).seconds_per_word == 0.0


def test_one_wild_point_moves_no_line() -> None:
    seconds = [straight(words) for words in WORDS]
    seconds[7] *= 4
    assert [(one.first, one.last) for one in segmented(WORDS, seconds)] == [(0, len(WORDS) - 1)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_few_points_are_one_segment(count: int) -> None:
    words = WORDS[:count]
    found = segmented(words, [straight(one) for one in words])
    assert [(one.first, one.last) for one in found] == ([(0, count - 1)] if count else [])


def test_an_exact_step_is_found_where_it_is() -> None:
    found = segmented(WORDS, [stepping(512, 1.5)(words) for words in WORDS])
    assert [WORDS[one.first] for one in found] == [1, 512]
    assert found[0].line.latency_seconds == pytest.approx(5e-7, rel=1e-6)
    assert found[1].line.at(512) == pytest.approx(1.5 * straight(512), rel=1e-6)


def test_a_bend_is_two_segments_and_no_step() -> None:
    def bent(words: int) -> float:
        return straight(words) + max(0, words - 4096) * 4e-9

    curve = noisy(bent, 0.01, 12, random.Random(1))
    assert len(curve.segments) >= 2
    assert steps(curve) == ()


@pytest.mark.parametrize(("noise", "launches"), [(0.01, 8), (0.03, 12), (0.08, 12), (0.08, 20)])
def test_false_steps_are_rare(noise: float, launches: int) -> None:
    chance = random.Random(f"{noise} {launches}")
    curves = [noisy(straight, noise, launches, chance) for _ in range(CURVES)]
    assert sum(bool(steps(curve)) for curve in curves) <= 0.03 * CURVES
    assert sum(bool(tuple(larger_is_cheaper(curve))) for curve in curves) <= 0.03 * CURVES


@pytest.mark.parametrize(("factor", "noise"), [(1.3, 0.02), (1.7, 0.05), (0.75, 0.02)])
def test_a_step_is_found_in_noise_at_its_place_and_of_its_size(factor: float, noise: float) -> None:
    chance = random.Random(f"{factor} {noise}")
    found = 0
    for _ in range(25):
        curve = noisy(stepping(1024, factor), noise, 12, chance)
        hits = [one for one in steps(curve) if one.below_words < 1024 <= one.above_words]
        found += bool(hits) and abs(math.log(hits[0].factor / factor)) < 0.12
    assert found >= 24


def test_equal_curves_rarely_break_a_guideline() -> None:
    chance = random.Random(3)
    broken = 0
    for _ in range(CURVES):
        one, other = (noisy(straight, 0.04, 12, chance) for _ in range(2))
        broken += bool(tuple(costlier_than(one, other, "dearer than itself")))
    assert broken <= 0.03 * CURVES


def test_a_peak_and_a_costlier_operation_are_found_with_their_size() -> None:
    def peaked(words: int) -> float:
        return straight(words) * (2.5 if 1000 <= words < 1100 else 1.0)

    chance = random.Random(4)
    curve, plain = noisy(peaked, 0.02, 12, chance), noisy(straight, 0.02, 12, chance)
    peaks = tuple(larger_is_cheaper(curve))
    assert {one.words for one in peaks} == {1023, 1024, 1025}
    assert all(one.other_words > one.words and one.factor > 1.5 for one in peaks)
    costlier = tuple(costlier_than(curve, plain, "dearer than reduce and broadcast"))
    assert {one.words for one in costlier} == {1023, 1024, 1025}
    assert costlier[0].factor == pytest.approx(2.5, rel=0.05)


def test_segments_tell_latency_and_bandwidth_with_intervals() -> None:
    (segment,) = fitted_segments(noisy(straight, 0.02, 20, random.Random(5)))
    assert segment.latency_low <= 5e-7 <= segment.latency_high
    assert segment.bytes_per_second == pytest.approx(8 / 6e-10, rel=0.05)
    assert segment.rate_low <= 8 / 6e-10 <= segment.rate_high


def test_flat_segment_has_no_bandwidth() -> None:
    (segment,) = fitted_segments(noisy(lambda words: 1e-6, 0.0, 8, random.Random(6)))
    assert segment.bytes_per_second is None
    assert segment.latency_seconds == pytest.approx(1e-6)


def test_refinement_goes_between_the_lengths_of_a_step() -> None:
    curve = noisy(stepping(300, 1.6), 0.01, 12, random.Random(7))
    found = list(gaps([curve]))
    assert [(one.below, one.above) for one in found] == [(256, 511)]
    lengths = refined(found, WORDS, 8)
    assert {256, 511} <= set(lengths)
    assert len([words for words in lengths if 256 < words < 511]) == 3


def test_refinement_takes_the_largest_steps_and_ends_when_all_is_fine() -> None:
    many = [Gap(1 << power, 2 << power, 1.2 + power / 10) for power in range(3, 10)]
    assert max(refined(many, WORDS, 1)) > 512
    assert refined([Gap(512, 513, 1.7), Gap(1000, 1040, 1.7)], WORDS, 8) == ()


def test_lengths_are_powers_and_the_neighbours_of_switches() -> None:
    assert {1, 2, 65_536, 511, 512, 513, 1249, 1250, 1251, 4095, 4097} <= set(WORDS)
    assert set(base_lengths(quick=True)) < set(WORDS)


def test_line_predicts_seconds() -> None:
    assert Line(1e-6, 1e-9).at(1000) == pytest.approx(2e-6)
