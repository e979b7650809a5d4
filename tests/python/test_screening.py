"""Screening that only chooses, and finals that are measured anew: on a mock executor and a virtual clock."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from measuring import configuration, open_store, plan, row
from mock_executor import MockExecutor
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.measure import Plan, equal_answers, run_plan
from tautochrone.measuring.progress import SilentProgress
from tautochrone.measuring.screening import (
    MOST_SCREENING_ROUNDS,
    Rules,
    Screened,
    Standing,
    best_of_each,
    fastest_first,
    median_seconds,
    screen,
)
from tautochrone.measuring.session import CheckRows
from tautochrone.results.row import Row
from tautochrone.results.store import Store


class Search:
    """A folder, a clock and an executor for one search."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self.executor = MockExecutor(self.clock, seed)
        self.progress = SilentProgress()
        self.runs = 0  # of the last screening

    def screen(self, what: Plan, rules: Rules, **options: Any) -> Screened:
        with open_store(self.folder, what, self.clock) as store:
            before = len(store.rows("screening"))
            screened = screen(what, store, self.executor, self.clock, self.progress, rules, **options)
        self.runs = len(self.rows("screening")) - before
        return screened

    def run_final(self, what: Plan, screened: Screened, check_rows: CheckRows | None = None) -> None:
        """Measure the finalists in fresh rounds."""
        chosen = [member for members in screened.finalists.values() for member in members]
        with open_store(self.folder, what, self.clock) as store:
            final = replace(what, configurations=chosen, order="latin")
            run_plan(final, store, self.executor, self.clock, self.progress, check_rows=check_rows)

    def rows(self, source: str | None = "measured") -> list[Row]:
        return Store.read(self.folder).rows(source)

    def screened(self) -> Counter[str]:
        return Counter(row.name for row in self.rows("screening"))


@pytest.fixture
def search(tmp_path: Path) -> Search:
    return Search(tmp_path / "results")


def ladder(count: int, step: float = 0.02, words: str = "") -> list[Configuration]:
    """c0 is the fastest, each other one is `step` slower than the one before."""
    commands = (f"seconds {1 + step * number:g} {words}".strip() for number in range(count))
    return [configuration(f"c{number}", command) for number, command in enumerate(commands)]


def names(found: Screened, group: str = "cell") -> list[str]:
    return [one.name for one in found.finalists[group]]


def test_the_fastest_reach_the_final_best_first(search: Search) -> None:
    found = search.screen(plan(*ladder(16)), Rules(finalists=3))
    assert names(found) == ["c0", "c1", "c2"]


def test_each_stage_lets_the_better_half_go_on(search: Search) -> None:
    search.screen(plan(*ladder(16, step=0.01)), Rules(finalists=2, stage_rounds=(1, 2, 3)))
    # 16 run once, 8 twice more, 4 three times more: then 2 are left.
    assert sorted(search.screened().values()) == [1] * 8 + [3] * 4 + [6] * 4
    assert search.runs == 16 + 16 + 12


def test_what_is_far_slower_than_the_best_is_killed_at_once(search: Search) -> None:
    slow = [configuration(f"slow{number}", "seconds 1.5") for number in range(6)]
    found = search.screen(plan(*ladder(6, 0.01), *slow), Rules(finalists=2, kill_factor=1.3))
    assert all(search.screened()[one.name] == 1 for one in slow)
    reasons = {found.eliminated[one.config_id] for one in slow}
    assert reasons == {"killed: 1.50 times the best after stage 1"}


def test_what_is_not_in_the_better_half_is_told_so(search: Search) -> None:
    cells = ladder(4, 0.01)
    found = search.screen(plan(*cells), Rules(finalists=2))
    assert found.eliminated[cells[3].config_id] == "not in the better half: 1.03 times the best after stage 1"


def test_those_that_must_be_kept_are_finalists_and_count_as_such(search: Search) -> None:
    found = search.screen(plan(*ladder(12, step=0.2)), Rules(finalists=3, must_keep={"c11", "c7"}))
    assert names(found) == ["c0", "c7", "c11"]


def test_more_that_must_be_kept_than_places_are_all_kept(search: Search) -> None:
    found = search.screen(plan(*ladder(8)), Rules(finalists=2, must_keep={"c5", "c6", "c7"}))
    assert names(found) == ["c5", "c6", "c7"]


def test_the_final_is_measured_on_fresh_balanced_rounds(search: Search) -> None:
    what = plan(*ladder(12), rounds=8)
    search.run_final(what, search.screen(what, Rules(finalists=4)))
    final = search.rows()
    assert Counter(row.name for row in final) == {f"c{number}": 8 for number in range(4)}
    assert set(Counter((row.name, row.position) for row in final).values()) == {2}
    last_screened = max(row.started for row in search.rows("screening"))
    assert min(row.started for row in final) > last_screened


def test_a_lucky_run_in_the_screening_is_not_reported(search: Search) -> None:
    search.executor = MockExecutor(search.clock, instead={("c9", 0): "seconds 0.9"})
    what = plan(*ladder(10))
    screened = search.screen(what, Rules(finalists=3, stage_rounds=(1,)))
    assert "c9" in names(screened)
    search.run_final(what, screened)
    fresh = [row.seconds for row in search.rows() if row.name == "c9"]
    assert fresh == pytest.approx([1.18] * 8)


def test_identical_programs_show_no_winners_curse_in_the_final(tmp_path: Path) -> None:
    # The best of 32 identical programs in the screening looks about 2 % fast; in the final it is as fast
    # as it is.
    lucky, honest = [], []
    for seed in range(11):
        search = Search(tmp_path / str(seed), seed)
        what = plan(*ladder(32, step=0.0, words="noise 1%"), seed=seed)
        found = search.screen(what, Rules(finalists=2, stage_rounds=(1,)))
        search.run_final(what, found)
        best = found.finalists["cell"][0].config_id
        lucky.append(min(row.seconds for row in search.rows("screening") if row.config_id == best))
        honest.append(median(row.seconds for row in search.rows() if row.config_id == best))
    assert median(lucky) < 0.99
    assert median(honest) == pytest.approx(1.0, abs=0.004)


def test_rank_alone_drops_nobody_who_is_within_the_noise_of_the_best(search: Search) -> None:
    # 5 % of noise hides steps of 0.2 %: the stages go on until the runs are used.
    cells = ladder(12, 0.002, "noise 5%")
    rules = Rules(finalists=2, stage_rounds=(1,), doubt=3.0)
    found = search.screen(plan(*cells), rules, max_runs=60)
    assert 48 < search.runs <= 60
    assert min(search.screened().values()) >= 2
    again = search.screen(plan(*cells), rules, max_runs=60)
    assert (names(again), search.runs) == (names(found), 0)


def test_without_noise_doubt_costs_one_round(search: Search) -> None:
    rules = Rules(finalists=2, stage_rounds=(1,), doubt=1.0)
    found = search.screen(plan(*ladder(16, 0.05)), rules, max_runs=200)
    assert names(found) == ["c0", "c1"]
    # Two rounds show that there is no noise, then half goes at each stage.
    assert search.runs == 16 + 16 + 7 + 4


def test_a_screening_in_doubt_ends_where_nothing_bounds_it(search: Search) -> None:
    search.screen(plan(*ladder(4, 0.0, "noise 1%")), Rules(finalists=2, stage_rounds=(1,), doubt=9.0))
    assert max(search.screened().values()) == MOST_SCREENING_ROUNDS


def test_what_a_whole_round_suffers_is_no_difference_between_candidates(tmp_path: Path) -> None:
    class Drifting(MockExecutor):
        """Every other round takes twice as long."""

        def run(self, one: Configuration, time_limit: float) -> RunResult:
            result = super().run(one, time_limit)
            factor = 1.0 + Counter(self.ran)[one.name] % 2
            return RunResult(result.seconds * factor, result.elapsed_seconds * factor)

    search = Search(tmp_path)
    search.executor = Drifting(search.clock, 1)
    rules = Rules(finalists=2, stage_rounds=(1,), doubt=1.0)
    found = search.screen(plan(*ladder(8, 0.03, "noise 0.1%")), rules, max_runs=200)
    assert names(found) == ["c0", "c1"]
    assert search.runs <= 8 * 2 + 4


def test_a_forgiven_stop_counts_as_a_run_of_that_length(search: Search) -> None:
    rules = Rules(finalists=2, cap_runs=True, stage_rounds=(1,), doubt=1.0, stops_forgiven=1)
    slow = [configuration(f"slow{number}", "seconds 50") for number in range(3)]
    found = search.screen(plan(*ladder(4), *slow), rules, max_runs=50)
    # One may have run before there was anything to stop it at: then it scatters, and has a run more.
    assert all(search.screened()[one.name] <= 4 for one in slow)
    assert all(one.config_id in found.eliminated for one in slow)
    assert names(found)[0] == "c0"


def test_a_candidate_with_good_runs_survives_stops(search: Search) -> None:
    search.executor = MockExecutor(search.clock, instead=dict.fromkeys([("c0", 1), ("c0", 3)], "seconds 10"))
    rules = Rules(finalists=2, cap_runs=True, stage_rounds=(6,), doubt=1.0, stops_forgiven=1)
    found = search.screen(plan(*ladder(6, 0.05)), rules, max_runs=200)
    assert names(found)[0] == "c0"
    assert len([row for row in search.rows("screening") if row.error]) >= 2


def test_a_run_that_hangs_has_no_figure_where_that_is_not_time(search: Search) -> None:
    """Its seconds were taken for bytes, of which nobody had fewer: all others were out."""
    rules = Rules(
        finalists=2, stage_rounds=(1,), stops_forgiven=1, figure=lambda row: 1e7 * float(row.seconds)
    )
    found = search.screen(plan(*ladder(4), configuration("hangs", "hang")), rules)
    assert names(found) == ["c0", "c1"]


def test_each_group_has_its_own_finalists(search: Search) -> None:
    small = [configuration(f"s{n}", f"seconds {1 + 0.02 * n}", "size=1") for n in range(8)]
    large = [configuration(f"l{n}", f"seconds {10 - 0.2 * n}", "size=2") for n in range(8)]
    found = search.screen(plan(*small, *large), Rules(finalists=2))
    assert names(found, "size=1") == ["s0", "s1"]
    assert names(found, "size=2") == ["l7", "l6"]


def test_a_small_group_is_not_screened(search: Search) -> None:
    found = search.screen(plan(*ladder(3)), Rules(finalists=4))
    assert (names(found), search.runs) == (["c0", "c1", "c2"], 0)
    assert search.rows(None) == []


def test_screening_runs_are_shuffled_in_every_round(search: Search) -> None:
    search.screen(plan(*ladder(8, 0.01)), Rules(finalists=4, stage_rounds=(6,)))
    rows = search.rows("screening")
    orders = {tuple(row.name for row in rows if row.round == number) for number in range(6)}
    assert len(orders) == 6


def test_capped_runs_are_stopped_at_a_multiple_of_the_shortest(search: Search) -> None:
    slow = [configuration(f"slow{number}", "seconds 50") for number in range(8)]
    found = search.screen(plan(*ladder(4), *slow), Rules(finalists=2, cap_runs=True, kill_factor=1.5))
    capped = [limit for limit in search.executor.limits if limit < 10]
    assert capped
    assert max(capped) <= 1.5 * 1.06
    stopped = [row for row in search.rows("screening") if row.error]
    assert all(row.error.kind == "timeout" and row.seconds is None for row in stopped)
    assert any(reason.startswith("stopped after") for reason in found.eliminated.values())
    assert search.clock.monotonic() < 600


def test_a_runner_that_measures_for_a_fixed_time_is_not_capped(search: Search) -> None:
    search.screen(plan(*ladder(8, words="elapsed 5")), Rules(finalists=2))
    assert set(search.executor.limits) == {600.0}


def test_what_fails_in_the_screening_is_no_finalist(search: Search) -> None:
    cells = [*ladder(4), configuration("gone", "missing"), configuration("bad", "fail")]
    found = search.screen(plan(*cells), Rules(finalists=4, must_keep={"gone"}))
    assert names(found) == ["c0", "c1", "c2", "c3"]
    assert "it was told to be missing" in found.eliminated[cells[4].config_id]
    assert cells[5].config_id in found.eliminated


def test_a_wrong_answer_is_no_finalist_however_fast(search: Search) -> None:
    check = equal_answers(lambda row: row.name == "c0")
    cheat = configuration("cheat", "seconds 0.1 answer nonsense")
    found = search.screen(plan(*ladder(6), cheat), Rules(finalists=2, must_keep={"c0"}), check_rows=check)
    assert names(found) == ["c0", "c1"]
    assert found.eliminated[cheat.config_id] == "gave a wrong answer"


@pytest.mark.parametrize("seed", range(4))
def test_runs_that_a_wrong_answer_stopped_are_run_again(tmp_path: Path, seed: int) -> None:
    check = equal_answers(lambda row: row.name == "c0")
    cheat = configuration("a cheat", "seconds 0.01 answer nonsense")
    rules = Rules(finalists=2, must_keep={"c0"}, cap_runs=True, stops_forgiven=1, doubt=2.0)
    what = replace(plan(cheat, *ladder(6)), seed=seed)
    found = Search(tmp_path).screen(what, rules, check_rows=check)
    assert names(found) == ["c0", "c1"]
    assert found.eliminated[cheat.config_id] == "gave a wrong answer"


def test_nothing_that_works_leaves_no_finalist(search: Search) -> None:
    found = search.screen(plan(*(configuration(name, "missing") for name in "abcdef")), Rules(finalists=2))
    assert (found.finalists, found.interrupted) == ({"cell": []}, False)


def test_a_search_that_was_interrupted_goes_on_to_the_same_finalists(tmp_path: Path) -> None:
    what = plan(*ladder(16))
    whole = Search(tmp_path / "whole")
    expected = whole.screen(what, Rules(finalists=3))
    broken = Search(tmp_path / "broken")
    broken.executor = MockExecutor(broken.clock, interrupt_at=10)
    first = broken.screen(what, Rules(finalists=3))
    assert (first.interrupted, broken.runs) == (True, 10)
    broken.executor = MockExecutor(broken.clock)
    second = broken.screen(what, Rules(finalists=3))
    assert names(second) == names(expected)
    assert broken.runs == whole.runs - 10
    keys = [(row.source, row.config_id, row.round) for row in broken.rows(None)]
    assert len(keys) == len(set(keys))
    assert broken.screened() == whole.screened()


def test_screening_ends_with_its_time(search: Search) -> None:
    found = search.screen(plan(*ladder(32, 0.001)), Rules(finalists=2), max_seconds=40.0)
    assert search.runs == 32 + 16 * 2
    assert len(names(found)) == 2
    assert search.clock.monotonic() < 70
    assert "time for the screening was over" in found.eliminated.values()


def test_forty_eight_candidates_cost_a_third_of_measuring_all_and_lose_little(tmp_path: Path) -> None:
    regrets = []
    for seed in range(6):
        chance = random.Random(seed)
        true = {f"c{number}": 1 + 0.2 * abs(chance.gauss(0, 1)) for number in range(48)}
        noise = "noise 1.5% spikes 3% of 30%"
        cells = [configuration(name, f"seconds {seconds} {noise}") for name, seconds in true.items()]
        search = Search(tmp_path / str(seed), seed)
        what = plan(*cells, seed=seed)
        found = search.screen(what, Rules(finalists=4, must_keep={"c0"}))
        assert search.runs <= 160
        search.run_final(what, found)
        rows = search.rows()
        measured = {name: median(row.seconds for row in rows if row.name == name) for name in names(found)}
        winner = min(measured, key=lambda name: measured[name])
        regrets.append(true[winner] / min(true.values()) - 1)
    assert sum(regrets) / len(regrets) < 0.005
    assert max(regrets) < 0.02


@pytest.mark.parametrize(
    "rules", [{"finalists": 0}, {"stage_rounds": ()}, {"stage_rounds": (1, 0)}, {"kill_factor": 1.0}]
)
def test_rules_that_cannot_work_are_refused(rules: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="halving needs"):
        Rules(**rules)  # type: ignore[arg-type]


def test_the_best_of_each_kind_and_of_all_are_chosen() -> None:
    rows = [row("a1", 0, 1.0), row("a2", 0, 1.1), row("a3", 0, 1.2), row("b1", 0, 5.0), row("c1", 0, None)]
    kinds = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "c1": "c"}
    assert best_of_each(kinds, rows, best_of_all=2) == {"a1", "a2", "b1"}


def test_a_configuration_without_a_good_row_has_no_rank() -> None:
    fast, slow, broken = (configuration(name) for name in ("fast", "slow", "broken"))
    rows = [
        *(row(slow.config_id, number, seconds) for number, seconds in enumerate((9.0, 2.0, 2.0))),
        *(row(fast.config_id, number, seconds) for number, seconds in enumerate((1.0, 1.0, 8.0))),
        row(broken.config_id, 0, None),
    ]
    assert median_seconds(rows) == {slow.config_id: 2.0, fast.config_id: 1.0}
    assert fastest_first([slow, broken, fast], rows) == [fast, slow]


# -- who is ahead, and how much doubt the scatter of the runs leaves --


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
    speeds = {f"c{number}": 1.0 + 0.01 * number for number in range(9)}
    calm = {name: [one, one + 0.01, one] for name, one in speeds.items()}
    before = Standing(logs(**calm)).times_in_doubt("c0", 1.0)
    standing = Standing(logs(**{**calm, "c8": [1.08, 9.0, 1.08]}))
    assert standing.times_in_doubt("c0", 1.0) < 1.05 * before
    assert standing.times_in_doubt("c8", 1.0) > 1.3
