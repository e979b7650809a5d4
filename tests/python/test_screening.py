"""Screening that only chooses, and finals that are measured anew: on a mock executor and a virtual clock."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from measuring import configuration, open_store, plan
from tautochrone.clock import VirtualClock
from tautochrone.configuration import Configuration
from tautochrone.executor import RunResult
from tautochrone.halving import MOST_SCREENING_ROUNDS, HalvingOutcome, Rules, halving
from tautochrone.measure import Plan, equal_answers
from tautochrone.mock_executor import MockExecutor
from tautochrone.progress import SilentProgress
from tautochrone.row import Row
from tautochrone.store import Store


class Search:
    """A folder, a clock and an executor for one search."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self.executor = MockExecutor(self.clock, seed)
        self.progress = SilentProgress()

    def run(self, what: Plan, rules: Rules, **options: object) -> HalvingOutcome:
        with open_store(self.folder, what, self.clock) as store:
            return halving(
                what,
                store,
                self.executor,
                self.clock,
                self.progress,
                rules=rules,
                **options,  # type: ignore[arg-type]
            )

    def rows(self, source: str | None = "measured") -> list[Row]:
        return Store.read(self.folder).rows(source)

    def screened(self) -> Counter[str]:
        return Counter(row["name"] for row in self.rows("screening"))


@pytest.fixture
def search(tmp_path: Path) -> Search:
    return Search(tmp_path / "results")


def ladder(count: int, step: float = 0.02, words: str = "") -> list[Configuration]:
    """c0 is the fastest, each other one is `step` slower than the one before."""
    commands = (f"seconds {1 + step * number:g} {words}".strip() for number in range(count))
    return [configuration(f"c{number}", command) for number, command in enumerate(commands)]


def names(found: HalvingOutcome, group: str = "cell") -> list[str]:
    return [one.name for one in found.finalists[group]]


def test_the_fastest_reach_the_final_best_first(search: Search) -> None:
    found = search.run(plan(*ladder(16)), Rules(finalists=3))
    assert names(found) == ["c0", "c1", "c2"]


def test_each_stage_lets_the_better_half_go_on(search: Search) -> None:
    found = search.run(plan(*ladder(16, step=0.01)), Rules(finalists=2, stage_rounds=(1, 2, 3)))
    # 16 run once, 8 twice more, 4 three times more: then 2 are left.
    assert sorted(search.screened().values()) == [1] * 8 + [3] * 4 + [6] * 4
    assert found.screening_runs == 16 + 16 + 12


def test_what_is_far_slower_than_the_best_is_killed_at_once(search: Search) -> None:
    slow = [configuration(f"slow{number}", "seconds 1.5") for number in range(6)]
    found = search.run(plan(*ladder(6, 0.01), *slow), Rules(finalists=2, kill_factor=1.3))
    assert all(search.screened()[one.name] == 1 for one in slow)
    reasons = {found.eliminated[one.config_id] for one in slow}
    assert reasons == {"killed: 1.50 times the best after stage 1"}


def test_what_is_not_in_the_better_half_is_told_so(search: Search) -> None:
    cells = ladder(4, 0.01)
    found = search.run(plan(*cells), Rules(finalists=2))
    assert found.eliminated[cells[3].config_id] == "not in the better half: 1.03 times the best after stage 1"


def test_those_that_must_be_kept_are_finalists_and_count_as_such(search: Search) -> None:
    found = search.run(plan(*ladder(12, step=0.2)), Rules(finalists=3, must_keep={"c11", "c7"}))
    assert names(found) == ["c0", "c7", "c11"]


def test_more_that_must_be_kept_than_places_are_all_kept(search: Search) -> None:
    found = search.run(plan(*ladder(8)), Rules(finalists=2, must_keep={"c5", "c6", "c7"}))
    assert names(found) == ["c5", "c6", "c7"]


def test_the_final_is_measured_on_fresh_balanced_rounds(search: Search) -> None:
    found = search.run(plan(*ladder(12), rounds=8), Rules(finalists=4))
    assert found.outcome is not None
    assert (found.outcome.finished, found.outcome.rounds, found.interrupted) == (True, 8, False)
    final = search.rows()
    assert Counter(row["name"] for row in final) == {f"c{number}": 8 for number in range(4)}
    assert set(Counter((row["name"], row["position"]) for row in final).values()) == {2}
    last_screened = max(row["started"] for row in search.rows("screening"))
    assert min(row["started"] for row in final) > last_screened


def test_a_lucky_run_in_the_screening_is_not_reported(search: Search) -> None:
    class Lucky(MockExecutor):
        """The first run of c9 is five times too short."""

        def run(self, configuration: Configuration, time_limit: float) -> RunResult:
            first = configuration.name == "c9" and "c9" not in self.ran
            return super().run(Configuration("c9", ["seconds 0.9"]) if first else configuration, time_limit)

    search.executor = Lucky(search.clock)
    found = search.run(plan(*ladder(10)), Rules(finalists=2, stage_rounds=(1,)))
    assert "c9" in names(found) or found.eliminated
    assert all(row["seconds"] == pytest.approx(1.18) for row in search.rows() if row["name"] == "c9")


def test_identical_programs_show_no_winners_curse_in_the_final(tmp_path: Path) -> None:
    # The best of 32 identical programs in the screening looks about 2 % fast; in the final it is as fast
    # as it is.
    lucky, honest = [], []
    for seed in range(11):
        search = Search(tmp_path / str(seed), seed)
        what = plan(*ladder(32, step=0.0, words="noise 1%"), seed=seed)
        found = search.run(what, Rules(finalists=2, stage_rounds=(1,)))
        best = found.finalists["cell"][0].config_id
        lucky.append(min(row["seconds"] for row in search.rows("screening") if row["config_id"] == best))
        honest.append(median(row["seconds"] for row in search.rows() if row["config_id"] == best))
    assert median(lucky) < 0.99
    assert median(honest) == pytest.approx(1.0, abs=0.004)


def test_rank_alone_drops_nobody_who_is_within_the_noise_of_the_best(search: Search) -> None:
    # 5 % of noise hides steps of 0.2 %: the stages go on until half of the runs are used.
    cells = ladder(12, 0.002, "noise 5%")
    rules = Rules(finalists=2, stage_rounds=(1,), doubt=3.0)
    found = search.run(plan(*cells), rules, max_runs=120)
    assert 48 < found.screening_runs <= 60
    assert min(search.screened().values()) >= 2
    again = search.run(plan(*cells), rules, max_runs=120)
    assert (names(again), again.screening_runs) == (names(found), 0)


def test_without_noise_doubt_costs_one_round(search: Search) -> None:
    rules = Rules(finalists=2, stage_rounds=(1,), doubt=1.0)
    found = search.run(plan(*ladder(16, 0.05)), rules, max_runs=400)
    assert names(found) == ["c0", "c1"]
    # Two rounds show that there is no noise, then half goes at each stage.
    assert found.screening_runs == 16 + 16 + 7 + 4


def test_a_screening_in_doubt_ends_where_nothing_bounds_it(search: Search) -> None:
    search.run(plan(*ladder(4, 0.0, "noise 1%")), Rules(finalists=2, stage_rounds=(1,), doubt=9.0))
    assert max(search.screened().values()) == MOST_SCREENING_ROUNDS


def test_what_a_whole_round_suffers_is_no_difference_between_candidates(tmp_path: Path) -> None:
    class Drifting(MockExecutor):
        """Every other round takes twice as long."""

        def run(self, one: Configuration, time_limit: float) -> RunResult:
            result = super().run(one, time_limit)
            factor = 1.0 + Counter(self.ran)[one.name] % 2
            assert result.seconds is not None
            return RunResult(result.seconds * factor, result.elapsed_seconds * factor)

    search = Search(tmp_path)
    search.executor = Drifting(search.clock, 1)
    rules = Rules(finalists=2, stage_rounds=(1,), doubt=1.0)
    found = search.run(plan(*ladder(8, 0.03, "noise 0.1%")), rules, max_runs=400)
    assert names(found) == ["c0", "c1"]
    assert found.screening_runs <= 8 * 2 + 4


def test_a_forgiven_stop_counts_as_a_run_of_that_length(search: Search) -> None:
    rules = Rules(finalists=2, cap_runs=True, stage_rounds=(1,), doubt=1.0, stops_forgiven=1)
    slow = [configuration(f"slow{number}", "seconds 50") for number in range(3)]
    found = search.run(plan(*ladder(4), *slow), rules, max_runs=100)
    # One may have run before there was anything to stop it at: then it scatters, and has a run more.
    assert all(search.screened()[one.name] <= 4 for one in slow)
    assert all(one.config_id in found.eliminated for one in slow)
    assert names(found)[0] == "c0"


def test_a_candidate_with_good_runs_survives_stops(search: Search) -> None:
    class Disturbed(MockExecutor):
        """The second and the fourth run of c0 take ten times as long."""

        def run(self, one: Configuration, time_limit: float) -> RunResult:
            again = Counter(self.ran)[one.name] in (1, 3) and one.name == "c0"
            return super().run(Configuration("c0", ["seconds 10"]) if again else one, time_limit)

    search.executor = Disturbed(search.clock)
    rules = Rules(finalists=2, cap_runs=True, stage_rounds=(6,), doubt=1.0, stops_forgiven=1)
    found = search.run(plan(*ladder(6, 0.05)), rules, max_runs=200)
    assert names(found)[0] == "c0"
    assert len([row for row in search.rows("screening") if row["error"]]) >= 2


def test_a_run_that_hangs_has_no_figure_where_that_is_not_time(search: Search) -> None:
    """Its seconds were taken for bytes, of which nobody had fewer: all others were out."""
    rules = Rules(
        finalists=2, stage_rounds=(1,), stops_forgiven=1, figure=lambda row: 1e7 * float(row["seconds"])
    )
    found = search.run(plan(*ladder(4), configuration("hangs", "hang")), rules)
    assert names(found) == ["c0", "c1"]


def test_each_group_has_its_own_finalists(search: Search) -> None:
    small = [configuration(f"s{n}", f"seconds {1 + 0.02 * n}", "size=1") for n in range(8)]
    large = [configuration(f"l{n}", f"seconds {10 - 0.2 * n}", "size=2") for n in range(8)]
    found = search.run(plan(*small, *large), Rules(finalists=2))
    assert names(found, "size=1") == ["s0", "s1"]
    assert names(found, "size=2") == ["l7", "l6"]


def test_a_small_group_goes_to_the_final_unscreened(search: Search) -> None:
    found = search.run(plan(*ladder(3)), Rules(finalists=4))
    assert (names(found), found.screening_runs) == (["c0", "c1", "c2"], 0)
    assert search.rows("screening") == []
    assert len(search.rows()) == 3 * 8


def test_screening_runs_are_shuffled_in_every_round(search: Search) -> None:
    search.run(plan(*ladder(8, 0.01)), Rules(finalists=4, stage_rounds=(6,)))
    rows = search.rows("screening")
    orders = {tuple(row["name"] for row in rows if row["round"] == number) for number in range(6)}
    assert len(orders) == 6


def test_capped_runs_are_stopped_at_a_multiple_of_the_shortest(search: Search) -> None:
    slow = [configuration(f"slow{number}", "seconds 50") for number in range(8)]
    found = search.run(plan(*ladder(4), *slow), Rules(finalists=2, cap_runs=True, kill_factor=1.5))
    capped = [limit for limit in search.executor.limits if limit < 10]
    assert capped
    assert max(capped) <= 1.5 * 1.06
    stopped = [row for row in search.rows("screening") if row["error"]]
    assert all(row["error"]["kind"] == "timeout" and row["seconds"] is None for row in stopped)
    assert any(reason.startswith("stopped after") for reason in found.eliminated.values())
    assert search.clock.monotonic() < 600


def test_a_runner_that_measures_for_a_fixed_time_is_not_capped(search: Search) -> None:
    search.run(plan(*ladder(8, words="elapsed 5")), Rules(finalists=2))
    assert set(search.executor.limits) == {600.0}


def test_what_fails_in_the_screening_is_no_finalist(search: Search) -> None:
    cells = [*ladder(4), configuration("gone", "missing"), configuration("bad", "fail")]
    found = search.run(plan(*cells), Rules(finalists=4, must_keep={"gone"}))
    assert names(found) == ["c0", "c1", "c2", "c3"]
    assert "it was told to be missing" in found.eliminated[cells[4].config_id]
    assert cells[5].config_id in found.eliminated


def test_a_wrong_answer_is_no_finalist_however_fast(search: Search) -> None:
    check = equal_answers(lambda row: row["name"] == "c0")
    cheat = configuration("cheat", "seconds 0.1 answer nonsense")
    found = search.run(plan(*ladder(6), cheat), Rules(finalists=2, must_keep={"c0"}), check_rows=check)
    assert names(found) == ["c0", "c1"]
    assert found.eliminated[cheat.config_id] == "gave a wrong answer"


def test_nothing_that_works_means_no_final(search: Search) -> None:
    found = search.run(plan(*(configuration(name, "missing") for name in "abcdef")), Rules(finalists=2))
    assert (found.finalists, found.outcome, found.interrupted) == ({"cell": []}, None, False)


def test_a_search_that_was_interrupted_goes_on_to_the_same_finalists(tmp_path: Path) -> None:
    class Stopper(MockExecutor):
        def run(self, configuration: Configuration, time_limit: float) -> RunResult:
            result = super().run(configuration, time_limit)
            if len(self.ran) > 10:
                raise KeyboardInterrupt
            return result

    what = plan(*ladder(16))
    whole = Search(tmp_path / "whole")
    expected = whole.run(what, Rules(finalists=3))
    broken = Search(tmp_path / "broken")
    broken.executor = Stopper(broken.clock)
    first = broken.run(what, Rules(finalists=3))
    assert (first.interrupted, first.outcome, first.screening_runs) == (True, None, 10)
    broken.executor = MockExecutor(broken.clock)
    second = broken.run(what, Rules(finalists=3))
    assert names(second) == names(expected)
    assert second.screening_runs == expected.screening_runs - 10
    keys = [(row["source"], row["config_id"], row["round"]) for row in broken.rows(None)]
    assert len(keys) == len(set(keys))
    assert broken.screened() == whole.screened()


def test_screening_leaves_half_of_the_time_to_the_final(search: Search) -> None:
    found = search.run(plan(*ladder(32, 0.001)), Rules(finalists=2), max_seconds=80.0)
    assert found.screening_runs == 32 + 16 * 2
    assert len(names(found)) == 2
    assert found.outcome is not None
    assert found.outcome.rounds >= 1
    assert search.clock.monotonic() < 85
    assert "time for the screening was over" in found.eliminated.values()


def test_forty_eight_candidates_cost_a_third_of_measuring_all_and_lose_little(tmp_path: Path) -> None:
    regrets = []
    for seed in range(6):
        chance = random.Random(seed)
        true = {f"c{number}": 1 + 0.2 * abs(chance.gauss(0, 1)) for number in range(48)}
        noise = "noise 1.5% spikes 3% of 30%"
        cells = [configuration(name, f"seconds {seconds} {noise}") for name, seconds in true.items()]
        search = Search(tmp_path / str(seed), seed)
        found = search.run(plan(*cells, seed=seed), Rules(finalists=4, must_keep={"c0"}))
        assert found.screening_runs <= 160
        rows = search.rows()
        measured = {
            name: median(row["seconds"] for row in rows if row["name"] == name) for name in names(found)
        }
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
