"""The bounds and shares, against cases computed by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tautochrone.studies import models

speeds = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=12)


def test_fast_and_slow_groups_add_their_rates() -> None:
    # 2 s alone and 6 s alone: rates 1/2 + 1/6 = 2/3 of the loop a second.
    assert models.bound_seconds(2.0, 6.0) == pytest.approx(1.5)
    # The published machine. One fast core needs 8 s, eight 1 s, sixteen slow ones (four to one fast) 2 s.
    assert 8.0 / models.bound_seconds(1.0, 2.0) == pytest.approx(12.0)
    # Groups of a single core: the sum of the speeds.
    assert models.bound_seconds(1.0, 4.0) == pytest.approx(models.ideal_seconds_from_times_alone([1.0, 4.0]))


def test_no_core_waits_in_the_ideal() -> None:
    assert models.ideal_seconds_from_times_alone([2.0, 2.0, 4.0]) == pytest.approx(0.8)


@pytest.mark.parametrize(("fast", "slow", "ratio"), [(8, 16, 3.0), (6, 8, 7 / 3), (8, 8, 2.0)])
def test_ratio_above_which_equal_ranges_lose(fast: int, slow: int, ratio: float) -> None:
    assert models.equal_split_threshold(fast, slow) == pytest.approx(ratio)


@given(st.floats(0.1, 20.0), st.floats(0.1, 20.0), st.integers(1, 16), st.integers(1, 16))
def test_the_inequality_says_the_same_as_the_two_predicted_times(
    fast_speed: float, slow_speed: float, fast: int, slow: int
) -> None:
    if slow_speed > fast_speed:
        return
    equal, alone = 1.0 / (fast + slow) / slow_speed, 1.0 / (fast * fast_speed)
    if not math.isclose(equal, alone, rel_tol=1e-9):
        loses = fast_speed / slow_speed > models.equal_split_threshold(fast, slow)
        assert loses == (equal > alone)


def test_slow_cores_that_one_fast_core_is_worth() -> None:
    # Eight fast cores need 1 s, sixteen slow ones 2 s: 8 core-seconds against 32.
    assert models.slow_cores_worth_one_fast(1.0, 2.0, 8, 16) == pytest.approx(4.0)


def test_share_of_the_triad() -> None:
    # 16 MB in 2 ms are 8 GB/s, of 10 GB/s.
    assert models.triad_share(16e6, 2e-3, 10e9) == pytest.approx(0.8)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: models.bound_seconds(x, 1.0),
        lambda x: models.ideal_seconds_from_times_alone([x]),
        lambda x: models.triad_share(1.0, 1.0, x),
    ],
)
def test_a_missing_measurement_is_refused(call: Callable[[float], float], bad: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        call(bad)


def test_no_cores_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one core"):
        models.ideal_seconds_from_times_alone([])


@pytest.mark.parametrize(("threads", "share"), [(1, 50), (16, 4), (17, 3), (24, 3), (25, 2), (50, 1)])
def test_whole_tasks_step_where_the_published_chart_does(threads: int, share: int) -> None:
    assert models.whole_tasks_seconds(50, [1.0] * threads) == pytest.approx(share)


# In 8 s the fast core does 8 tasks and the slow one 2.
@pytest.mark.parametrize(("tasks", "seconds"), [(10, 8.0), (9, 8.0), (8, 7.0)])
def test_whole_tasks_go_to_the_core_that_ends_first(tasks: int, seconds: float) -> None:
    assert models.whole_tasks_seconds(tasks, [1.0, 4.0]) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("tasks", "alone", "idle"),
    [(50, [1.0] * 2, 0.0), (50, [1.0] * 3, 1.0), (1, [1.0] * 4, 3.0), (5, [1.0, 4.0], 0.0)],
)
def test_what_whole_tasks_leave_idle_is_what_no_core_has_a_task_for(
    tasks: int, alone: list[float], idle: float
) -> None:
    assert models.whole_tasks_idle_seconds(tasks, alone) == pytest.approx(idle)


@given(st.integers(1, 200), speeds)
def test_whole_tasks_never_beat_divided_ones(tasks: int, each: list[float]) -> None:
    alone = [1.0 / speed for speed in each]
    divided = tasks * models.ideal_seconds_from_times_alone(alone)
    assert models.whole_tasks_seconds(tasks, alone) >= divided * (1 - 1e-9)


@pytest.mark.parametrize(("tasks", "alone"), [(0, [1.0]), (1, []), (1, [0.0])])
def test_whole_tasks_need_tasks_and_cores(tasks: int, alone: list[float]) -> None:
    with pytest.raises(ValueError):
        models.whole_tasks_seconds(tasks, alone)
