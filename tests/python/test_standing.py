"""Who is best after rounds that all ran together, and how much doubt the scatter of the runs leaves."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import pytest

from tautochrone.standing import Standing


def logs(**seconds: Sequence[float]) -> Mapping[str, Mapping[int, float]]:
    return {
        name: {number: math.log(one) for number, one in enumerate(found)} for name, found in seconds.items()
    }


def test_the_order_is_that_of_the_figures() -> None:
    standing = Standing(logs(slow=[3.0, 3.0, 3.0], fast=[1.0, 1.0, 1.0], middle=[2.0, 2.0, 2.0]))
    assert standing.order() == ["fast", "middle", "slow"]
    assert standing.times_the_best("fast") == 1.0
    assert standing.times_the_best("slow") == pytest.approx(3.0)


def test_a_round_in_which_all_were_slow_changes_nothing() -> None:
    calm = Standing(logs(a=[1.0, 1.1, 1.0], b=[1.2, 1.2, 1.3]))
    restless = Standing(logs(a=[1.0, 11.0, 1.0], b=[1.2, 12.0, 1.3]))
    assert restless.times_the_best("b") == pytest.approx(calm.times_the_best("b"))
    assert restless.times_in_doubt("b", 1.0) == pytest.approx(calm.times_in_doubt("b", 1.0))


def test_of_two_runs_the_shorter_one_counts() -> None:
    standing = Standing(logs(a=[1.0, 3.0], b=[1.1, 1.1], c=[1.2, 1.2]))
    assert standing.order()[0] == "a"


def test_one_round_says_nothing_of_the_scatter() -> None:
    assert Standing(logs(a=[1.0], b=[2.0])).times_in_doubt("b", 1.0) == math.inf


def test_runs_that_do_not_scatter_leave_no_doubt() -> None:
    assert Standing(logs(a=[1.0] * 4, b=[2.0] * 4, c=[3.0] * 4)).times_in_doubt("b", 2.0) == 1.0


def test_the_doubt_is_the_standard_error_of_a_ratio_of_medians() -> None:
    chance = random.Random(1)
    names = [f"c{number}" for number in range(40)]
    rounds = 9
    found = {name: [math.exp(chance.gauss(0.0, 0.05)) for _ in range(rounds)] for name in names}
    expected = 1.2533 * 0.05 * math.sqrt(2 / rounds)
    doubts = sorted(math.log(Standing(logs(**found)).times_in_doubt(name, 1.0)) for name in names)
    assert doubts[20] == pytest.approx(expected, rel=0.25)


def test_one_wild_run_is_the_doubt_of_its_own_configuration_alone() -> None:
    calm = {
        f"c{number}": [1.0 + 0.01 * number, 1.01 + 0.01 * number, 1.0 + 0.01 * number] for number in range(9)
    }
    before = Standing(logs(**calm)).times_in_doubt("c0", 1.0)
    standing = Standing(logs(**{**calm, "c8": [1.08, 9.0, 1.08]}))
    assert standing.times_in_doubt("c0", 1.0) < 1.05 * before
    assert standing.times_in_doubt("c8", 1.0) > 1.3
