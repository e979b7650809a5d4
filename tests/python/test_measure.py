"""The order of runs, what is stored of them, how a measurement ends: mock executor and virtual clock."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from measuring import MACHINE, configuration, open_store, plan
from mock_executor import MockExecutor
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.measuring.measure import Outcome, Plan, equal_answers, run_plan
from tautochrone.measuring.plan import williams_square
from tautochrone.measuring.progress import SilentProgress
from tautochrone.measuring.session import Interrupt
from tautochrone.results.row import REQUIRED, Row, as_record
from tautochrone.results.store import Store


class Bench:
    """A folder, a clock and an executor: measure plans and say what must have run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self.executor = MockExecutor(self.clock)
        self.progress = SilentProgress()

    def measure(self, what: Plan, **options: object) -> Outcome:
        self.executor.ran.clear()
        with open_store(self.folder, what, self.clock) as store:
            return run_plan(what, store, self.executor, self.clock, self.progress, **options)  # type: ignore[arg-type]

    @property
    def ran(self) -> list[str]:
        return self.executor.ran

    def rounds(self, size: int) -> list[list[str]]:
        """What ran, cut into rounds of `size` runs."""
        return [self.ran[start : start + size] for start in range(0, len(self.ran), size)]

    def rows(self, source: str | None = "measured") -> list[Row]:
        return Store.read(self.folder).rows(source)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "results")


ABC = tuple(configuration(name) for name in "abc")


def test_every_round_runs_every_configuration_once(bench: Bench) -> None:
    outcome = bench.measure(plan(*ABC, rounds=20))
    assert [sorted(one) for one in bench.rounds(3)] == [["a", "b", "c"]] * 20
    assert (outcome.finished, outcome.rounds, outcome.measured, outcome.failed) == (True, 20, 60, 0)


def test_the_order_changes_from_round_to_round(bench: Bench) -> None:
    bench.measure(plan(*ABC, rounds=30))
    assert len({tuple(one) for one in bench.rounds(3)}) == 6
    firsts = Counter(one[0] for one in bench.rounds(3))
    assert min(firsts.values()) >= 4


def test_the_seed_alone_decides_the_order(tmp_path: Path) -> None:
    orders = []
    for number, seed in enumerate((5, 5, 6)):
        bench = Bench(tmp_path / str(number))
        bench.measure(plan(*ABC, rounds=10, seed=seed))
        orders.append(list(bench.ran))
    assert orders[0] == orders[1] != orders[2]


def test_configurations_that_are_compared_run_next_to_each_other(bench: Bench) -> None:
    cells = [configuration(f"{name}{size}", group=f"size={size}") for size in (1, 2, 3) for name in "abc"]
    bench.measure(plan(*cells, rounds=12))
    for one in bench.rounds(9):
        sizes = [name[1] for name in one]
        assert sizes in [[a] * 3 + [b] * 3 + [c] * 3 for a in "123" for b in "123" for c in "123"]
    assert len({tuple(name[1] for name in one) for one in bench.rounds(9)}) > 3


def test_a_latin_order_gives_every_position_to_everyone_equally_often(bench: Bench) -> None:
    four = [configuration(name) for name in "abcd"]
    bench.measure(plan(*four, rounds=8, order="latin"))
    assert Counter((name, place) for one in bench.rounds(4) for place, name in enumerate(one)) == Counter(
        {(name, place): 2 for name in "abcd" for place in range(4)}
    )


@pytest.mark.parametrize("count", range(1, 9))
def test_a_williams_square_balances_positions_and_predecessors(count: int) -> None:
    square = williams_square(count)
    copies = 1 if count % 2 == 0 else 2
    assert all(sorted(one) == list(range(count)) for one in square)
    for column in zip(*square, strict=True):
        assert Counter(column) == Counter(dict.fromkeys(range(count), copies))
    followed = Counter(pair for one in square for pair in pairwise(one))
    assert followed == Counter({(a, b): copies for a in range(count) for b in range(count) if a != b})


def test_a_row_has_the_fields_of_the_schema(bench: Bench) -> None:
    bench.clock.advance(3600)
    bench.measure(plan(configuration("a", "seconds 2", threads=4), rounds=1))
    (one,) = bench.rows()
    assert set(REQUIRED) <= as_record(one).keys()
    assert one.config == {"name": "a", "group": "cell", "threads": 4}
    assert (one.study, one.source, one.round, one.position) == ("loop", "measured", 0, 0)
    assert (one.seconds, one.elapsed_seconds, one.error) == (2.0, 2.0, None)
    assert one.started == "2026-01-01T01:00:00.000Z"
    assert one.machine == MACHINE["machine"]
    assert one.energy["joules"] is None
    assert one.migrations is None


def test_what_is_in_the_store_is_not_run_again(bench: Bench) -> None:
    what = plan(*ABC, configuration("stop", "seconds 1"), rounds=10)
    whole = [names for number in range(10) for members in what.round_order(number) for names in members]
    bench.executor = MockExecutor(bench.clock, interrupt_at=14)
    first = bench.measure(what)
    assert (first.finished, first.interrupted, first.measured, first.rounds) == (False, True, 14, 3)
    before = list(bench.ran)[:-1]
    bench.executor = MockExecutor(bench.clock)
    second = bench.measure(what)
    assert before + bench.ran == [one.name for one in whole]
    assert (second.finished, second.measured, second.rounds) == (True, 26, 10)
    keys = [(one.config_id, one.round) for one in bench.rows()]
    assert len(keys) == len(set(keys)) == 40
    third = bench.measure(what)
    assert (bench.ran, third.finished, third.rounds) == ([], True, 10)


def test_an_interrupted_run_leaves_no_row(bench: Bench) -> None:
    outcome = bench.measure(plan(configuration("a"), configuration("b", "interrupt"), rounds=3, seed=1))
    assert outcome.interrupted
    assert not outcome.finished
    assert {one.name for one in bench.rows()} <= {"a"}


def test_a_failing_configuration_is_dropped_after_two_failures_and_the_others_go_on(bench: Bench) -> None:
    outcome = bench.measure(plan(configuration("a"), configuration("bad", "fail"), rounds=10))
    assert Counter(bench.ran) == {"a": 10, "bad": 2}
    assert (outcome.finished, outcome.rounds, outcome.failed) == (True, 10, 2)
    assert list(outcome.dropped.values()) == ["it was told to fail"]
    assert bench.progress.sentences == ["bad failed 2 times and is left out: it was told to fail"]
    errors = [one for one in bench.rows() if one.error]
    assert [(one.seconds, one.error.kind) for one in errors] == [(None, "failed")] * 2


def test_a_configuration_that_fails_once_stays_in(bench: Bench) -> None:
    bench.executor = MockExecutor(bench.clock, instead={("a", 3): "fail"})
    outcome = bench.measure(plan(configuration("a"), rounds=10))
    assert (len(bench.ran), outcome.failed, outcome.measured, outcome.dropped) == (10, 1, 9, {})


def test_what_is_not_installed_is_tried_only_once(bench: Bench) -> None:
    outcome = bench.measure(plan(configuration("a"), configuration("gone", "missing"), rounds=10))
    assert Counter(bench.ran) == {"a": 10, "gone": 1}
    assert len(outcome.dropped) == 1
    assert bench.progress.sentences == ["gone cannot run here and is left out: it was told to be missing"]


def test_what_failed_is_tried_again_in_the_next_sitting(bench: Bench) -> None:
    what = plan(configuration("a"), configuration("bad", "fail"), rounds=4)
    bench.measure(what)
    bench.measure(what)
    assert Counter(bench.ran) == {"bad": 2}


def test_a_hanging_run_is_a_timeout_row(bench: Bench) -> None:
    bench.measure(plan(configuration("a", "hang"), rounds=1, time_limit_seconds=30.0))
    (one,) = bench.rows()
    assert (one.error.kind, one.seconds, one.elapsed_seconds) == ("timeout", None, 30.0)
    assert "limit of 30 s" in one.error.message


@pytest.mark.parametrize(
    ("word", "kind"), [("wrong", "wrong_answer"), ("lost", "missing_worker"), ("missing", "not_installed")]
)
def test_each_failure_has_its_kind(bench: Bench, word: str, kind: str) -> None:
    bench.measure(plan(configuration("a", word), rounds=1))
    assert [one.error.kind for one in bench.rows()] == [kind]


def test_an_answer_that_differs_from_the_references_becomes_an_error(bench: Bench) -> None:
    check = equal_answers(lambda one: one.name == "serial")
    cells = [configuration("serial"), configuration("good"), configuration("bad", "seconds 1 answer other")]
    seen: list[Row] = []
    outcome = bench.measure(plan(*cells, rounds=8), check_rows=check, on_row=seen.append)
    rows = bench.rows()
    assert {one.name for one in rows if one.error} == {"bad"}
    assert [one.error.kind for one in rows if one.name == "bad"] == ["wrong_answer"] * 2
    assert Counter(bench.ran) == {"serial": 8, "good": 8, "bad": 2}
    assert (outcome.measured, outcome.failed) == (16, 2)
    # Stored when it ran, and once more as refused.
    assert [one.error is None for one in seen if one.name == "bad"] == [True, False, True, False]


def test_a_group_is_checked_even_if_a_break_came_before_its_check(bench: Bench) -> None:
    what = plan(configuration("serial"), configuration("bad", "seconds 1 answer other"), rounds=2)
    bench.measure(what)
    assert not any(one.error for one in bench.rows())
    outcome = bench.measure(what, check_rows=equal_answers(lambda one: one.name == "serial"))
    assert bench.ran == []
    assert [one.name for one in bench.rows() if one.error] == ["bad", "bad"]
    assert (outcome.measured, outcome.failed) == (0, 2)


def test_a_time_budget_ends_after_a_whole_round(bench: Bench) -> None:
    outcome = bench.measure(plan(*ABC, rounds=100), max_seconds=31.0)
    assert (len(bench.ran), outcome.rounds) == (30, 10)
    assert (outcome.finished, outcome.interrupted) == (False, False)


def test_the_first_round_is_run_whatever_the_budget(bench: Bench) -> None:
    assert bench.measure(plan(*ABC, rounds=100), max_seconds=0.5).rounds == 1


def test_the_time_left_is_what_the_remaining_runs_took_so_far(bench: Bench) -> None:
    told: list[tuple[int, int, float | None]] = []

    class Watch(SilentProgress):
        def update(
            self, done: int, total: int, seconds_gone: float, seconds_left: float | None, doing: str
        ) -> None:
            told.append((done, total, seconds_left))

    bench.progress = Watch()
    bench.measure(plan(configuration("long", "seconds 10"), configuration("short", "seconds 1"), rounds=3))
    assert [one[:2] for one in told] == [(number, 6) for number in range(1, 7)]
    assert told[1][2] == pytest.approx(22.0)
    assert told[-1][2] == 0.0


def test_a_date_that_is_set_back_changes_neither_figures_nor_order(tmp_path: Path) -> None:
    """By an hour in the middle of the study, and by years before it goes on."""

    class SetBack(VirtualClock):
        years = 0

        def now(self) -> datetime:
            date = super().now() - timedelta(days=365 * self.years)
            return date - timedelta(hours=1) if self.monotonic() > 7 else date

    right, wrong = Bench(tmp_path / "right"), Bench(tmp_path / "wrong")
    clock = SetBack()
    wrong.clock, wrong.executor = clock, MockExecutor(clock)
    for bench in (right, wrong):
        bench.measure(plan(*ABC, rounds=9), max_seconds=14.0)
    clock.years = 3
    for bench in (right, wrong):
        assert bench.measure(plan(*ABC, rounds=9)).finished
    seen = [[(one.name, one.round, one.seconds) for one in bench.rows()] for bench in (right, wrong)]
    assert seen[0] == seen[1]
    assert len({(one.name, one.round) for one in wrong.rows()}) == 27
    begun = [one.started for one in wrong.rows()]
    assert begun != sorted(begun), "else nothing was set back"


def test_ctrl_c_waits_until_the_row_is_written() -> None:
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.pending
        with pytest.raises(KeyboardInterrupt), interrupt.allowed():
            raise AssertionError("a pending interrupt comes before the next run")


def test_a_second_ctrl_c_does_not_wait() -> None:
    with Interrupt():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def handler_of_the_caller() -> Iterator[object]:
    before = signal.getsignal(signal.SIGINT)
    yield before
    signal.signal(signal.SIGINT, before)


def test_the_callers_signal_handlers_come_back(handler_of_the_caller: object) -> None:
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) is not handler_of_the_caller
    assert signal.getsignal(signal.SIGINT) is handler_of_the_caller


def test_a_plan_keeps_its_name_when_a_build_moves_or_the_time_limit_is_raised() -> None:
    def make(command: list[str], **options: float) -> str:
        return Plan("loop", [Configuration("a", command, {}, {"x": 1})], 8, **options).plan_id  # type: ignore[arg-type]

    first = make(["/opt/one/tauto-loop-tbb", "--size", "10"])
    assert first == make(["/opt/two/tauto-loop-tbb", "--size", "10"], time_limit_seconds=5.0)
    assert first != make(["/opt/one/tauto-loop-tbb", "--size", "11"])
    assert first != make(["/opt/one/tauto-loop-tbb", "--size", "10"], seed=2)


def test_a_plan_that_measures_nothing_or_one_thing_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one configuration"):
        plan()
    with pytest.raises(ValueError, match="one round"):
        plan(*ABC, rounds=0)
    with pytest.raises(ValueError, match="leaves no time"):
        plan(*ABC, time_limit_seconds=0.0)
    twins = [Configuration(name, ["seconds 1"], {}, {"threads": 2}) for name in ("first", "second")]
    with pytest.raises(ValueError, match="'second' has the settings of 'first'"):
        plan(*twins)


def test_settings_decide_the_config_id_whatever_their_order() -> None:
    one = Configuration("a", ["x"], {}, {"threads": 2, "emulated": {"1": 4.0}})
    other = Configuration("b", ["y"], {}, {"emulated": {"1": 4.0}, "threads": 2})
    assert one.config_id == other.config_id
    assert len(one.config_id) == 12
    assert one.config_id != Configuration("a", ["x"], {}, {"threads": 3, "emulated": {"1": 4.0}}).config_id


class Disturbed(MockExecutor):
    """Other programs take CPU time beside the first of `every` so many runs."""

    def __init__(self, clock: VirtualClock, every: int) -> None:
        super().__init__(clock)
        self.every = every

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        taken = 0.0 if len(self.ran) % self.every else 100.0
        result = super().run(configuration, time_limit)
        return RunResult(result.seconds, result.elapsed_seconds, others_cpu_seconds=taken)


def test_runs_that_others_disturbed_are_counted(bench: Bench) -> None:
    bench.executor = Disturbed(bench.clock, every=2)
    what = plan(configuration("a"), rounds=8)
    (notice,) = bench.measure(what).notices
    assert notice.startswith("in 4 of 8 runs other programs or the hypervisor took more than 2 %")
    slowed = {**what.machine, "emulated": [{"cpu": 1, "factor": 4.0}]}
    bench.folder = bench.folder / "slowed"
    assert not bench.measure(replace(what, machine=slowed)).notices


def test_what_slows_a_cpu_on_purpose_disturbs_nobody(bench: Bench) -> None:
    bench.executor = Disturbed(bench.clock, every=1)
    emulated, plain = configuration("a", emulated={"1": 4.0}), configuration("b", emulated={})
    assert bench.measure(plan(emulated, rounds=2)).notices == []
    bench.folder = bench.folder / "other"
    assert len(bench.measure(plan(plain, rounds=2)).notices) == 1


def test_the_mock_language_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="does not know 'sleep 1'"):
        MockExecutor(VirtualClock()).run(configuration("a", "sleep 1"), 10.0)
