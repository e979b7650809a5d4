"""Two sittings: identical programs on a machine that changes between them, and what is said of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from tautochrone.results.sittings import TimedRun, compare_sittings
from tautochrone.verdicts import FASTER, NO_DIFFERENCE, NOT_MEASURED, SLOWER, compare_unpaired

TRIALS = 150
GAPS = (0.2, 1.0, 10.0, 50.0)
"""The time between two sittings, in lengths of one."""

State = tuple[float, float, float]
"""By how much (a logarithm) the program is slowed, the bridge is, and how many CPUs others keep busy."""


class Walks:
    """Both drift together by up to 10 % a sitting, and apart by half as much."""

    def __init__(self, chance: random.Random, rounds: int) -> None:
        self.chance = chance
        self.step = chance.choice([0.002, 0.01, 0.03, 0.1]) / math.sqrt(rounds)
        self.both = self.program = self.bridge = 0.0

    def after_a_round(self) -> State:
        self.both += self.chance.gauss(0.0, self.step)
        self.program += self.chance.gauss(0.0, 0.5 * self.step)
        self.bridge += self.chance.gauss(0.0, 0.5 * self.step)
        return self.both + self.program, self.both + self.bridge, 0.0


class Steps:
    """Now and then all becomes slower or faster at once, the program and the bridge by different amounts."""

    def __init__(self, chance: random.Random, rounds: int) -> None:
        self.chance = chance
        self.often = chance.choice([0.2, 1.0, 3.0]) / rounds
        self.size = chance.choice([0.002, 0.01, 0.03, 0.1])
        self.program = self.bridge = 0.0

    def after_a_round(self) -> State:
        if self.chance.random() < self.often:
            step = self.chance.gauss(0.0, self.size)
            self.program += step * self.chance.uniform(0.5, 1.5)
            self.bridge += step * self.chance.uniform(0.5, 1.5)
        return self.program, self.bridge, 0.0


class Neighbour:
    """Another program comes and goes. It slows program and bridge by up to half, each in its own way."""

    def __init__(self, chance: random.Random, rounds: int) -> None:
        self.chance = chance
        self.often = chance.choice([0.1, 0.3, 1.0, 4.0]) / rounds
        self.there = chance.random() < 0.5
        self.program, self.bridge = (
            math.log1p(chance.uniform(0.0, 0.5) * chance.choice([0.1, 1.0])) for _ in "ab"
        )

    def after_a_round(self) -> State:
        if self.chance.random() < self.often:
            self.there = not self.there
        return (self.program, self.bridge, 1.0) if self.there else (0.0, 0.0, 0.0)


World = Callable[[random.Random, int], Walks | Steps | Neighbour]


def two_sittings(
    world: World, seed: int, rounds: int, gap: float, factor: float = 1.0
) -> tuple[list[TimedRun], list[TimedRun]]:
    """A program and then one that takes `factor` times as long; a run of 1 s a round, with spikes."""
    chance = random.Random(seed)
    machine = world(chance, rounds)
    noise = chance.choice([0.003, 0.01, 0.03])

    def once() -> float:
        spike = chance.expovariate(5.0) if chance.random() < 0.05 else 0.0
        return chance.gauss(0.0, noise) + spike

    def sitting(begin: int, true: float) -> list[TimedRun]:
        runs = []
        for number in range(rounds):
            program, bridge, others = machine.after_a_round()
            seconds = true * math.exp(program + once())
            runs.append(
                TimedRun(
                    begin + number, seconds, {"bridge": math.exp(bridge + once())}, seconds, others * seconds
                )
            )
        return runs

    first = sitting(0, 1.0)
    away = round(gap * rounds)
    for _ in range(away):
        machine.after_a_round()
    return first, sitting(rounds + away, factor)


def verdicts_of(world: World, rounds: int, factor: float = 1.0) -> list[str]:
    found = []
    for gap in GAPS:
        for seed in range(TRIALS):
            first, second = two_sittings(world, seed, rounds, gap, factor)
            found.append(compare_sittings(second, first, ["bridge"])[0].verdict)
    return found


@pytest.mark.parametrize("rounds", [8, 25])
@pytest.mark.parametrize("world", [Walks, Steps, Neighbour])
def test_identical_programs_differ_in_less_than_one_percent_of_two_sittings(
    world: World, rounds: int
) -> None:
    found = verdicts_of(world, rounds)
    wrong = sum(verdict != NO_DIFFERENCE for verdict in found)
    assert wrong < 0.01 * len(found), f"{wrong} false words in {len(found)} pairs of sittings"


@pytest.mark.parametrize("world", [Walks, Steps])
def test_without_the_drift_one_in_ten_words_is_wrong(world: World) -> None:
    wrong = 0
    for seed in range(TRIALS):
        first, second = two_sittings(world, seed, 25, 1.0)
        plain = compare_unpaired([run.figure for run in second], [run.figure for run in first])
        wrong += plain.verdict != NO_DIFFERENCE
    assert wrong > 0.1 * TRIALS


def test_twice_the_time_is_found_though_the_machine_drifts() -> None:
    found = verdicts_of(Steps, 25, factor=2.0)
    assert FASTER not in found
    assert found.count(SLOWER) > 0.6 * len(found)


def steady(seconds: float, begin: float, rounds: int = 12, bridge: float = 1.0) -> list[TimedRun]:
    chance = random.Random(f"{seconds}")
    return [
        TimedRun(begin + number, seconds * chance.uniform(0.999, 1.001), {"bridge": bridge})
        for number in range(rounds)
    ]


def test_the_longer_between_the_sittings_the_wider() -> None:
    widths = [
        compare_sittings(steady(1.0, begin), steady(1.0, 0.0), ["bridge"])[1].within
        for begin in (20.0, 2_000.0, 200_000.0)
    ]
    assert widths[0] * 9 < widths[1] < widths[2] / 9


def test_a_bridge_that_moved_widens_by_as_much() -> None:
    still, _ = compare_sittings(steady(1.0, 20.0), steady(1.0, 0.0), ["bridge"])
    moved, drift = compare_sittings(steady(1.1, 20.0, bridge=1.1), steady(1.0, 0.0), ["bridge"])
    assert drift is not None
    assert drift.moved["bridge"] == pytest.approx(math.log(1.1))
    assert moved.ratio == pytest.approx(1.0, abs=0.002)
    assert math.log(moved.high) == pytest.approx(math.log(still.high) + math.log(1.1), abs=0.01)


def test_the_time_that_others_took_in_one_sitting_is_in_the_interval() -> None:
    def beside(runs: Sequence[TimedRun], share: float) -> list[TimedRun]:
        return [TimedRun(one.at, one.figure, one.bridges, 10.0, 10.0 * share) for one in runs]

    quiet, busy = beside(steady(1.0, 0.0), 0.0), beside(steady(1.3, 20.0), 0.5)
    comparison, drift = compare_sittings(busy, quiet, ["bridge"])
    assert drift is not None
    assert drift.others == pytest.approx(math.log(1.5), abs=0.05)
    assert comparison.verdict == NO_DIFFERENCE
    both, drift = compare_sittings(busy, beside(quiet, 0.5), ["bridge"])
    assert drift is not None
    assert (both.verdict, drift.others) == (SLOWER, 0.0)


def test_too_few_runs_have_no_drift_either() -> None:
    comparison, drift = compare_sittings(steady(1.0, 0.0, rounds=7), steady(1.0, 20.0), ["bridge"])
    assert (comparison.verdict, drift) == (NOT_MEASURED, None)
