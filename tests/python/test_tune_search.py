"""The search on a mock executor and a virtual clock: who wins, when it ends, what it may cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from measuring import configuration, open_store
from measuring import row as made_row
from mock_executor import MockExecutor
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.measure import Plan
from tautochrone.measuring.progress import SilentProgress
from tautochrone.results.row import SCREENING, Row, seconds_of
from tautochrone.results.store import Store
from tautochrone.tune.analysis import analyse
from tautochrone.tune.answer import TuneContext
from tautochrone.tune.search import (
    KILL_FACTOR,
    MOST_LOOKS,
    MOST_ROUNDS,
    Decision,
    FinalPlan,
    Limits,
    Setup,
    known,
    places_in_the_final,
    planned_looks,
    search,
    seconds_of_a_round,
    verdict,
)
from tautochrone.tune.space import DEFAULT
from tune_fakes import memory_store


class Race:
    """A folder, a clock and an executor for one search."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self.executor = MockExecutor(self.clock)
        self.planned: FinalPlan | None = None

    def run(self, *cells: Configuration, limits: Limits | None = None, cap: bool = True) -> Decision:
        """As often as it is called: a search that goes on."""
        plan = Plan("tune", cells, 1, machine={"machine": "m"}, time_limit_seconds=100)
        with open_store(self.folder, plan, self.clock) as store:
            setup = Setup(
                plan=plan,
                store=store,
                executor=self.executor,
                clock=self.clock,
                progress=SilentProgress(),
                limits=limits or Limits(None),
                cap_runs=cap,
            )
            return search(setup, self.planned, self._keep)

    def _keep(self, planned: FinalPlan) -> None:
        self.planned = planned


@pytest.fixture
def race(tmp_path: Path) -> Race:
    return Race(tmp_path / "results")


def rising(count: int, start: float = 1.0, step: float = 0.01) -> list[float]:
    return [start + step * number for number in range(count)]


def field(*seconds: float, default: float = 1.0, noise: str = "noise 0.3%") -> list[Configuration]:
    return [
        configuration("default", f"seconds {default:g} {noise}"),
        *(configuration(f"c{number}", f"seconds {one:g} {noise}") for number, one in enumerate(seconds)),
    ]


def test_the_best_wins_when_it_is_better_than_the_default(race: Race) -> None:
    found = race.run(*field(0.8, *rising(12, 0.9, 0.02)))
    assert found.winner.name == "c0"
    assert found.comparisons[found.winner.config_id].verdict == "faster"
    assert len(found.finalists) == 4
    assert "default" in [one.name for one in found.finalists]


def test_the_default_stays_where_nothing_is_better(race: Race) -> None:
    found = race.run(*field(*rising(10), default=0.98))
    assert found.winner.name == "default"


def test_the_default_reaches_the_final_however_slow_it_is(race: Race) -> None:
    found = race.run(*field(1.0, 1.01, 1.02, 1.03, 1.04, 1.05, default=5.0))
    assert "default" in [one.name for one in found.finalists]
    assert found.winner.name == "c0"


def test_the_final_ends_when_the_lead_is_known_within_a_hundredth(race: Race) -> None:
    found = race.run(*field(0.8, 0.9, 0.95, noise="noise 0.1%"))
    assert found.ended == "lead"
    assert found.lead is not None
    assert known(found.lead)
    assert found.rounds == found.looks[0]


def test_a_noisy_final_goes_on_to_its_last_planned_look(race: Race) -> None:
    found = race.run(*field(0.97, 0.98, 0.99, noise="noise 4%"), limits=Limits(None, runs=200))
    assert found.ended == "budget"
    assert found.rounds == found.looks[-1] <= 50


@pytest.mark.parametrize("limits", [Limits(None, runs=160), Limits(90.0)], ids=["runs", "seconds"])
def test_screening_leaves_about_half_of_the_runs_and_of_the_time_to_the_final(
    race: Race, limits: Limits
) -> None:
    race.run(*field(*rising(24, step=0.001), noise="noise 10%"), limits=limits)
    rows = Store.read(race.folder).rows(SCREENING)
    seconds = sum(row.elapsed_seconds for row in rows)
    assert 70 <= len(rows) <= 80 if limits.runs else 45.0 <= seconds <= 60.0


def test_a_slow_candidate_is_stopped_at_the_kill_factor_times_the_best_so_far(race: Race) -> None:
    race.run(*field(0.5, 0.51, 0.52, 0.53, 0.54, 9.0, 9.0, default=0.6))
    stopped: Counter[str] = Counter()
    good: dict[str, list[float]] = {}
    for row in Store.read(race.folder).rows(SCREENING):
        if row.error is None:
            good.setdefault(row.name, []).append(row.elapsed_seconds)
        else:
            stopped[row.name] += 1
            best = min(median(seconds) for seconds in good.values())
            assert row.elapsed_seconds == pytest.approx(KILL_FACTOR * best)
    # Stopped once, it may have been kept waiting by others: it has one more run.
    assert stopped == {"c5": 2, "c6": 2}


def test_the_best_survives_a_first_run_that_others_disturbed(race: Race) -> None:
    race.executor = MockExecutor(race.clock, instead={("c0", 0): "seconds 2.4"})
    found = race.run(*field(0.8, *rising(12, 0.95, 0.02)))
    assert found.winner.name == "c0"


@pytest.mark.parametrize("fate", ["fail", "hang", "wrong", "fail after 3"])
def test_what_fails_never_wins(race: Race, fate: str) -> None:
    bad = configuration("bad", f"seconds 0.1 {fate}")
    found = race.run(*field(0.9, 1.1, 1.2, 1.3), bad, cap=False)
    assert found.winner.name != "bad"
    assert "bad" not in [one.name for one in found.finalists] or found.winner.name == "default"


def test_a_default_that_fails_leaves_the_default_in_charge(race: Race) -> None:
    found = race.run(configuration("default", "fail"), *field(0.9, 1.1)[1:])
    assert found.winner.name == "default"


def test_a_budget_of_runs_is_kept(race: Race) -> None:
    race.run(*field(*rising(39), noise="noise 2%"), limits=Limits(None, runs=150))
    assert len(race.executor.ran) <= 150


def test_a_budget_of_time_is_kept_within_a_round(race: Race) -> None:
    race.run(*field(*rising(15), noise="noise 2%"), limits=Limits(90.0))
    assert race.clock.monotonic() < 100


def test_the_budget_holds_also_where_so_few_race_that_none_is_screened(race: Race) -> None:
    race.run(*field(0.9, 1.1, noise="noise 4%"), limits=Limits(30.0, first_seconds=1.0))
    assert 15 < race.clock.monotonic() < 36


@pytest.mark.parametrize("count", [2, 12])
def test_a_budget_holds_what_each_run_takes_beside_its_own_time(race: Race, count: int) -> None:
    class Checked(MockExecutor):
        """Each run is looked at for two seconds once it has ended."""

        def run(self, configuration: Configuration, time_limit: float) -> RunResult:
            result = super().run(configuration, time_limit)
            race.clock.advance(2.0)
            return result

    race.executor = Checked(race.clock)
    limits = Limits(200.0, first_seconds=1.0, beside_seconds=2.0)
    race.run(*field(*rising(count), noise="noise 4%"), limits=limits)
    assert 100 < race.clock.monotonic() < 210


def test_fewer_reach_the_final_where_less_is_left(race: Race) -> None:
    found = race.run(*field(0.8, *rising(14, 0.9)), limits=Limits(None, runs=45))
    assert len(found.finalists) < 4
    assert found.winner.name == "c0"
    assert len(race.executor.ran) <= 45


def test_who_is_dropped_for_lack_of_time_is_chosen_by_runs(race: Race) -> None:
    # 25 s are 6 rounds of four: too few for a verdict on three rivals, enough for one on the best of them.
    cells = field(1.1, 1.05, 0.7, noise="noise 1%")
    found = race.run(*cells, limits=Limits(25.0, first_seconds=1.0))
    assert found.winner.name == "c2"
    assert race.clock.monotonic() < 28


def test_runs_at_a_time_on_several_nodes_are_counted_once() -> None:
    four = field(0.9, 1.0, 1.1)
    rows = memory_store()
    limits = Limits(60.0, first_seconds=1.0, at_once=4)
    assert places_in_the_final(four, limits) == 4
    assert places_in_the_final(four, replace(limits, seconds=6.0)) == 2
    assert seconds_of_a_round(rows, four, limits) == 1.0
    assert seconds_of_a_round(rows, four, replace(limits, at_once=2)) == 2.0


def test_a_search_that_was_killed_goes_on_and_decides_the_same(race: Race, tmp_path: Path) -> None:
    cells = field(0.8, *rising(8, 0.9, 0.02))
    other = Race(tmp_path / "whole")
    whole = other.run(*cells)

    race.executor = MockExecutor(race.clock, interrupt_at=30)
    with pytest.raises(KeyboardInterrupt):
        race.run(*cells)
    before = len(Store.read(race.folder).rows(None))
    race.executor = MockExecutor(race.clock)
    found = race.run(*cells)
    assert before == 30
    assert found.winner.name == whole.winner.name == "c0"
    assert len(race.executor.ran) + before == len(other.executor.ran)


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("noise", ["noise 4%", "noise 10%"])
@pytest.mark.parametrize("limits", [Limits(None, runs=160), Limits(90.0)], ids=["runs", "seconds"])
def test_a_search_that_is_over_runs_nothing_more_and_says_the_same(
    race: Race, seed: int, limits: Limits, noise: str
) -> None:
    """At its first look it saw rounds that came later, and its screening had its time once more."""
    race.executor = MockExecutor(race.clock, seed=seed)
    cells = field(*rising(12, 0.9), noise=noise)
    first = race.run(*cells, limits=limits)
    ran = len(race.executor.ran)
    again = race.run(*cells, limits=limits)
    assert len(race.executor.ran) == ran
    assert (again.winner, again.rounds, again.ended) == (first.winner, first.rounds, first.ended)


@pytest.mark.parametrize("seed", [1, 5, 6])
def test_the_answer_names_the_winner_of_the_search(race: Race, seed: int) -> None:
    race.executor = MockExecutor(race.clock, seed=seed)
    found = race.run(*field(0.8, 0.8, 0.801, noise="noise 3%"), limits=Limits(None, runs=160))
    with Store.read(race.folder) as store:
        answer = analyse(store.rows(None), {}, TuneContext(program=("p",), looks=tuple(found.looks)))
    assert answer.winner == found.winner.name
    assert found.winner.name != "default"


def test_who_left_the_final_as_worse_does_not_win_when_the_machine_gets_slower() -> None:
    """Its times were those of the quick rounds alone, and the one that beat it in all of them lost."""

    def rows(name: str, seconds: float, rounds: range) -> list[Row]:
        return [made_row(name, number, seconds * (1 if number < 20 else 1.5)) for number in rounds]

    final = [
        *rows("default", 1.5, range(20)),
        *rows("left", 1.0, range(20)),
        *rows("stayed", 0.9, range(60)),
        *rows("also", 0.95, range(59)),  # the last round was cut off
    ]
    ids = {one.name: one.config_id for one in final}
    found = verdict(final, list(ids.values()), ids["default"], seconds_of, 3)
    assert found.winner == ids["stayed"]
    assert list(found.ranked) == [ids[name] for name in ("stayed", "also", "left", "default")]


@pytest.mark.parametrize(
    ("seconds", "cpu", "winner"),
    [
        (0.935, 0.95, "thrifty"),  # as fast as can be told, with half of the CPU time
        (0.935, 1.80, "spinning"),  # not clearly less
        (0.990, 0.95, "spinning"),  # too slow to be called alike
    ],
)
def test_of_those_that_are_alike_the_one_with_the_least_cpu_time_wins(
    seconds: float, cpu: float, winner: str
) -> None:
    def rows(name: str, seconds: float, cpu: float) -> list[Row]:
        noise = [0.0, 0.02, -0.02, 0.01, -0.01, 0.03]
        return [
            made_row(
                name,
                number,
                seconds * (1 + noise[(number + len(name)) % 6]),
                user_seconds=cpu,
                system_seconds=0.0,
            )
            for number in range(30)
        ]

    found = [*rows("spinning", 0.93, 1.86), *rows("thrifty", seconds, cpu), *rows(DEFAULT, 1.2, 2.0)]
    assert verdict(found, ["spinning", "thrifty", DEFAULT], DEFAULT, seconds_of, 2).winner == winner


def test_looks_are_planned_from_what_is_left() -> None:
    four = field(1, 1, 1)
    assert planned_looks(Limits(None), four, 1.0)[-1] == MOST_ROUNDS
    assert len(planned_looks(Limits(None), four, 1.0)) == MOST_LOOKS
    assert planned_looks(Limits(12.0), four, 1.0) == [12]
    assert planned_looks(Limits(None, runs=20), four, 1.0) == [5]
    for rounds in range(1, 61):
        looks = planned_looks(Limits(float(rounds)), four, 1.0)
        assert looks == sorted(set(looks))
        assert looks[-1] == rounds
