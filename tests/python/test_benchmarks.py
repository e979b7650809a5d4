"""The benchmark suite: its choice of ids, budgets, rows, table and analyses, on a mock executor."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from tautochrone.clock import VirtualClock
from tautochrone.configuration import Configuration
from tautochrone.energy.find import Found
from tautochrone.energy.meter import Unavailable
from tautochrone.errors import TautoError
from tautochrone.executor import RunResult
from tautochrone.mock_executor import MockExecutor
from tautochrone.runners import Description, Peer, PeerState
from tautochrone.statistics import Interval, compare

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import command, gaps, loop_cells, loops, metering, micro, reduce, suite, task_contest
from benchmarks.change import Loop, loops_to_optimum
from benchmarks.context import Budget, Context, Interrupted
from benchmarks.entry import Entry, Results, not_measured, of_comparison, of_interval, worst
from benchmarks.load import LoadWatch, sentence
from benchmarks.table import text

REQUIRED = ("id", "what", "peer", "ratio", "low", "high", "target", "met", "machine", "when")
MACHINE: dict[str, Any] = {
    "schema": "tautochrone.machine/1",
    "machine": "0123456789ab",
    "cpus": [{"cpu": cpu, "core": cpu, "package": 0, "kind": "core", "allowed": True} for cpu in (0, 1)],
}


class ActingExecutor:
    """Answers with the seconds that `figure` gives a configuration; every run takes `elapsed` seconds."""

    def __init__(self, clock: VirtualClock, figure: Any, elapsed: float = 0.1) -> None:
        self.clock, self.figure, self.elapsed = clock, figure, elapsed
        self.ran: list[Configuration] = []

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        self.ran.append(configuration)
        self.clock.advance(self.elapsed)
        record = {"loops": 10_000, "idle_cpu_seconds": 1e-5, "idle_window_seconds": 0.1, "width": 2}
        return RunResult(self.figure(configuration.settings), self.elapsed, record=record)


def peer(asked: Peer) -> PeerState:
    schedules = {
        ("loop", "libgomp"): ("pragma", "dynamic"),
        ("loop", "tautochrone"): ("adaptive", "static"),
        ("mapreduce", "qt"): ("unordered", "ordered"),
        ("mapreduce", "tbb"): ("auto", "simple"),
        ("mapreduce", "libgomp"): ("dynamic", "static"),
        ("nbody", "libgomp"): ("loops-i", "loops-j", "region-i", "region-j"),
    }
    waits = ("default", "active", "passive") if asked.runtime == "openmp" else ()
    description = Description(
        asked.runtime,
        asked.name,
        schedules=schedules.get((asked.study, asked.name), (asked.default_schedule,)),
        schedules_with_chunk=("dynamic", "auto", "simple") if asked.study == "mapreduce" else ("dynamic",),
        wait_policies=waits if asked.study == "mapreduce" else ("default", "active"),
    )
    return PeerState(asked, description, Path(f"/bin/{asked.runner}"))


def without(*names: str) -> Any:
    """All peers but these are here."""

    def find(asked: Peer) -> PeerState:
        return PeerState(asked, None, reason="not installed") if asked.name in names else peer(asked)

    return find


def context(
    tmp_path: Path, clock: VirtualClock, executor: Any, seconds: float = 100.0, **more: Any
) -> Context:
    made = Context(
        clock=clock,
        executor=executor,
        results=Results(tmp_path / "bench.json"),
        folder=tmp_path / "rows",
        machine=MACHINE,
        seconds_per_id=seconds,
        say=lambda line: None,
        find_peer=more.pop("find_peer", peer),
        **more,
    )
    made.program = lambda name: f"/bin/tauto-bench-{name}"  # type: ignore[method-assign]
    return made


def entry(identifier: str = "B1", ratio: float | None = 0.4, **more: Any) -> Entry:
    fields = {"low": 0.38, "high": 0.42, "target": 0.45, "met": True, **more}
    return Entry(id=identifier, what="a thing", peer="a peer", ratio=ratio, **fields)


# -- which ids --


def test_an_unknown_id_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "B1,B99"]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("tauto: error: there is no benchmark 'B99'")
    assert "B1, B2, B3, B4, B5, B6, B7, B8, B9" in said
    assert "\n" not in said


def test_ids_are_taken_in_the_order_of_the_suite_and_in_any_case() -> None:
    assert [one.id for one in suite.chosen("b4, B1")] == ["B1", "B4"]
    assert len(suite.chosen(None)) == 27
    with pytest.raises(TautoError, match="names no benchmark"):
        suite.chosen(",")


def test_the_list_names_every_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(one.id in listed and one.target_text in listed for one in suite.BENCHMARKS)


@pytest.mark.parametrize("cells", ["1000:0", "x", "1000:64", "0:2", "500,,1000"])
def test_a_cell_that_is_none_is_refused(cells: str) -> None:
    with pytest.raises(TautoError, match="is not a cell"):
        command.parse_cells(cells)


def test_cells_are_size_and_factor() -> None:
    assert command.parse_cells("1000:4,500") == [(1000, 4.0), (500, 1.0)]


# -- rows --


def test_the_file_is_complete_after_every_row(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, MockExecutor(clock))
    for number in (1, 2):
        made.add(entry(f"B{number}"))
        rows = json.loads((tmp_path / "bench.json").read_text())
        assert [row["id"] for row in rows] == ["B1", "B2"][:number]
        assert all(name in row for row in rows for name in REQUIRED)
        assert rows[-1]["machine"] == "0123456789ab"
        assert rows[-1]["when"].startswith("2026-01-01T")


def test_rows_of_other_benchmarks_stay_and_those_measured_anew_go(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    first = Results(path)
    for identifier in ("B3/500", "B4", "B4/a/500:2"):
        first.add(entry(identifier))
    again = Results(path)
    again.begin("B4")
    again.add(entry("B4", ratio=0.9))
    rows = json.loads(path.read_text())
    assert [(row["id"], row["ratio"]) for row in rows] == [("B3/500", 0.4), ("B4", 0.9)]


def test_a_file_that_is_not_ours_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text("{ not json")
    Results(path).add(entry())
    assert len(json.loads(path.read_text())) == 1


def test_a_target_is_met_by_the_median_and_never_by_fewer_than_eight_rounds() -> None:
    pairs = [(1.0, 2.0)] * 8
    assert of_comparison("B1", "", "", compare(pairs), 0.5).met is True
    assert of_comparison("B1", "", "", compare(pairs), 0.49).met is False
    few = of_comparison("B1", "", "", compare(pairs[:7]), 0.5)
    assert (few.met, few.low, few.ratio) == (None, None, pytest.approx(0.5))
    interval = of_interval("B6", "", "", Interval(20.0, None, None, 0.99, 3), 40.0, "ns")
    assert interval.met is None


def test_the_worst_cell_decides_and_missed_cells_are_named() -> None:
    cells = [
        entry("B3/500", 1.00, target=1.03, cell="500"),
        entry("B3/1000", 1.09, target=1.03, met=False, cell="1000"),
        not_measured("B3/2000", "", "", 1.03, "why", cell="2000"),
    ]
    own = worst("B3", "all", cells, 1.03)
    assert (own.id, own.ratio, own.met) == ("B3", 1.09, False)
    assert "missed at 1000" in own.note
    assert "not judged: 2000" in own.note
    assert worst("B3", "all", [cells[0], cells[2]], 1.03).met is None


def test_a_dated_copy_carries_its_machine_and_its_load(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, MockExecutor(clock))
    made.add(entry(load={"loaded": True}))
    path = made.results.copy(tmp_path / "results", MACHINE, clock.now())
    assert path.name == "2026-01-01-0123456789ab.json"
    copied = json.loads(path.read_text())
    assert copied["machine"] == MACHINE
    assert copied["rows"][0]["load"] == {"loaded": True}


# -- the table --


def test_a_target_that_is_missed_says_so_plainly() -> None:
    rows = [entry("B2", 1.52, low=1.48, high=1.6, target=1.4, met=False).__dict__]
    shown = text(rows)
    assert "1.520 [1.480, 1.600]" in shown
    assert "≤ 1.4 " in shown
    assert "NO" in shown


def test_units_are_shown_and_cells_only_when_asked() -> None:
    rows = [
        entry("B6", 18.2, low=17.0, high=19.0, target=40.0, unit="ns").__dict__,
        entry("B3/500").__dict__,
        not_measured("B5", "bound", "", 1.06, "no right to slow CPUs").__dict__,
    ]
    shown = text(rows)
    assert "18.2 ns [17, 19]" in shown
    assert "≤ 40 ns" in shown
    assert "B3/500" not in shown
    assert "not judged" in shown
    assert "no right to slow CPUs" in shown
    assert "B3/500" in text(rows, cells=True)


# -- budgets --


def test_a_part_gets_the_share_of_its_weight_of_what_is_left() -> None:
    clock = VirtualClock()
    budget = Budget(clock, 100.0)
    clock.advance(20.0)
    assert budget.left == 80.0
    assert budget.share(1.0, 4.0) == 20.0
    assert budget.share(4.0, 4.0) == 80.0
    clock.advance(200.0)
    assert budget.left == 0.0


def test_a_budget_ends_a_measurement_at_a_whole_round(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = ActingExecutor(clock, lambda settings: 1e-6, elapsed=1.0)
    made = context(tmp_path, clock, executor, seconds=9.0)
    entries = micro.too_short(made)
    assert clock.monotonic() <= 9.0
    assert len(executor.ran) == 8  # four rounds of two
    assert entries[0].met is None


# -- the small ones --


def test_the_faster_library_and_wait_policy_is_the_peer_and_is_measured_anew(tmp_path: Path) -> None:
    clock = VirtualClock()
    seconds = {"tautochrone": 0.4, "libgomp": 1.2, "libomp": 0.9}

    def figure(settings: Any) -> float:
        return float(seconds[settings["library"]]) * (0.9 if settings["wait"] == "active" else 1.0)

    executor = ActingExecutor(clock, figure)
    (row,) = micro.fork(context(tmp_path, clock, executor))
    assert row.peer == "libomp, active wait, empty region"
    assert row.ratio == pytest.approx(0.4 / 0.81)
    assert row.met is False
    assert row.rounds >= 8


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = ActingExecutor(clock, lambda settings: 1e-6)
    made = context(tmp_path, clock, executor, find_peer=without("libomp"))
    assert "; without libomp, which is not here" in micro.fork(made)[0].note


def test_a_loop_too_short_is_judged_by_nanoseconds(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = ActingExecutor(clock, lambda settings: 16e-9 if settings["plain"] else 34e-9)
    (row,) = micro.too_short(context(tmp_path, clock, executor))
    assert (row.unit, row.met) == ("ns", True)
    assert row.ratio == pytest.approx(18.0)


def test_use_after_the_last_loop_fails_even_when_loops_are_fast(tmp_path: Path) -> None:
    clock = VirtualClock()

    class Busy(ActingExecutor):
        def run(self, configuration: Configuration, time_limit: float) -> RunResult:
            result = super().run(configuration, time_limit)
            return RunResult(
                result.seconds, result.elapsed_seconds, record={**result.record, "idle_cpu_seconds": 0.05}
            )

    entries = micro.oversubscribed(context(tmp_path, clock, Busy(clock, lambda settings: 0.1)))
    assert entries[0].id == "B7"
    assert entries[0].ratio == pytest.approx(1.0)
    assert entries[0].met is False
    (idle,) = (one for one in entries if one.id == "B7/idle")
    assert idle.ratio == pytest.approx(0.5)


# -- the loop study --


def dynamic_64_is_best(settings: Any) -> float:
    """Ours 0.9; libgomp's dynamic is better with larger chunks and an active wait; the rest 2.0."""
    if settings["runtime"] == "tautochrone":
        return 0.9
    if settings["schedule"] == "dynamic":
        return 1.0 + 0.01 * (64 - settings["chunk"]) + (0.005 if settings["wait"] == "default" else 0.0)
    return 2.0


def test_the_best_schedule_chunk_and_wait_is_found_and_only_fresh_rounds_are_reported(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, ActingExecutor(clock, dynamic_64_is_best, 0.01), cells=[(500, 1.0)])
    entries = loops.equal_cores(made)
    assert [one.id for one in entries] == ["B3", "B3/500"]
    assert entries[0].peer == "libgomp dynamic, chunk 64, all cores, active wait"
    assert entries[0].ratio == pytest.approx(0.9)
    assert loop_cells.ROUNDS <= entries[0].rounds <= loop_cells.MOST_ROUNDS


def test_ours_is_measured_with_no_settings(tmp_path: Path) -> None:
    clock = VirtualClock()
    cell = loop_cells.contest(context(tmp_path, clock, MockExecutor(clock)), 1000, 4.0)
    assert cell.ours.settings["schedule"] == "adaptive"
    assert cell.ours.settings["chunk"] is None
    assert cell.ours.settings["wait"] == "default"
    assert cell.ours.settings["emulated"] == {"1": 4.0}


def test_the_fast_core_alone_and_every_chunk_take_part() -> None:
    clock = VirtualClock()
    cell = loop_cells.contest(context(Path("unused"), clock, MockExecutor(clock)), 1000, 4.0)
    tried = {(one.peer, one.schedule, one.chunk, one.wait, one.placement.name) for one, _ in cell.contenders}
    assert ("serial", "serial", None, "default", "fast") in tried
    assert ("openblas", "sgemv", None, "default", "fast") in tried
    for chunk in (1, 2, 4, 8, 16, 32, 64):
        assert ("libgomp", "dynamic", chunk, "active", "all") in tried
    assert {one.peer for one, _ in cell.defaults} == {"libgomp", "libomp", "tbb", "stdpar", "openblas"}
    assert not any(one.peer == "tautochrone" for one, _ in cell.contenders)


def test_cells_keep_to_the_seconds_of_an_id_and_are_all_judged(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, ActingExecutor(clock, dynamic_64_is_best, 0.03), seconds=20.0)
    entries = loops.equal_cores(made)
    assert clock.monotonic() <= 20.0
    assert [one.cell for one in entries[1:]] == ["500", "1000", "2000", "4000", "8000"]
    assert all(one.met for one in entries)


def test_an_interrupted_benchmark_keeps_what_it_has(tmp_path: Path) -> None:
    clock = VirtualClock()

    class Stopped(ActingExecutor):
        def run(self, configuration: Configuration, time_limit: float) -> RunResult:
            if len(self.ran) > 150:
                raise KeyboardInterrupt
            return super().run(configuration, time_limit)

    made = context(tmp_path, clock, Stopped(clock, dynamic_64_is_best, 0.01))
    with pytest.raises(Interrupted):
        loops.equal_cores(made)
    rows = json.loads((tmp_path / "bench.json").read_text())
    assert rows
    assert rows[0]["id"] == "B3/500"


def test_the_mean_of_cells_is_geometric(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, MockExecutor(clock))
    best = [[(1.0, 2.0)] * 8, [(2.0, 1.0)] * 8, [(1.0, 4.0)] * 8]
    entries = loops.conclude_unequal(
        made, [], best, {"libgomp": [[(1.0, 2.0)] * 8], "tbb": [[(1.0, 8.0)] * 8]}
    )
    found = {one.id: one for one in entries}
    assert found["B4/a/mean"].ratio == pytest.approx(math.exp(-math.log(4.0) / 3))
    assert found["B4/b/mean"].ratio == pytest.approx(0.25)
    assert found["B4/b/libgomp"].ratio == pytest.approx(0.5)


def test_one_part_that_is_missed_misses_all_of_b4(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, MockExecutor(clock))
    good = [[(0.9, 1.0)] * 8]
    cells = [entry("B4/a/500:2", 0.9, target=1.03, cell="500:2")]
    slow_default = {"tbb": [[(0.9, 1.0)] * 8]}  # 0.9 of the default where 0.75 is wanted
    own = loops.conclude_unequal(made, cells, good, slow_default)[0]
    assert (own.id, own.ratio, own.met) == ("B4", pytest.approx(0.9), False)
    assert loops.conclude_unequal(made, cells, good, {"tbb": [[(0.5, 1.0)] * 8]})[0].met is True


def test_no_command_names_an_option_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    executor = ActingExecutor(clock, dynamic_64_is_best, 0.001)
    made = context(tmp_path, clock, executor)
    monkeypatch.setattr(loops, "emulated", lambda slow: contextlib.nullcontext())
    for measure in (loops.equal_cores, loops.unequal_cores, loops.bound):
        measure(made)
    for one in executor.ran:
        options = [word for word in one.command if word.startswith("--")]
        assert len(options) == len(set(options)), one.command


def test_every_cell_of_the_bound_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    monkeypatch.setattr(loops, "emulated", lambda slow: contextlib.nullcontext())

    def figure(settings: Any) -> float:
        if settings["runtime"] == "tautochrone":
            return 0.84
        return 1.0 if settings["cpus"] == [0] else float(settings["emulated"]["1"])

    executor = ActingExecutor(clock, figure, 0.1)
    entries = loops.bound(context(tmp_path, clock, executor))
    found = {one.id: one.ratio for one in entries}
    assert len(found) == 10
    assert found["B5/2000:4"] == pytest.approx(0.84 / 0.8)
    assert found["B5"] == pytest.approx(0.84 / (2 / 3))  # the worst: factor 2
    assert all(loop_cells.ROUNDS <= one.rounds <= loop_cells.MOST_ROUNDS for one in entries)


def test_without_the_right_to_slow_cpus_every_cell_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = VirtualClock()

    def refused(slow: Any) -> Any:
        raise TautoError("SCHED_FIFO was refused", "Run as root")

    monkeypatch.setattr(loops, "emulated", refused)
    for measure, cells in ((loops.unequal_cores, 15), (loops.bound, 9)):
        entries = measure(context(tmp_path, clock, MockExecutor(clock)))
        assert entries[0].met is None
        assert len({one.benchmark for one in entries}) == 1
        assert sum("SCHED_FIFO was refused" in one.note for one in entries if one.cell) == cells


def test_the_bound_adds_the_speeds_of_the_same_round() -> None:
    def run(name: str, number: int, seconds: float) -> dict[str, Any]:
        return {"config_id": made[name].config_id, "round": number, "seconds": seconds}

    made = {name: Configuration(name, [name], {}, {"name": name}) for name in ("ours", "fast", "slow")}
    rows = [run("ours", 0, 0.9), run("fast", 0, 1.0), run("slow", 0, 4.0)]
    rows += [run("ours", 1, 1.7), run("fast", 1, 2.0), run("slow", 1, 8.0)]
    rows += [run("ours", 2, 1.0), run("fast", 2, 1.0)]  # the slow core failed in this round
    pairs = loops.bound_pairs(rows, made["ours"], [made["fast"], made["slow"]])
    assert pairs == [(0.9, pytest.approx(0.8)), (1.7, pytest.approx(1.6))]


# -- following a change --


def trace(*parts: tuple[int, float]) -> list[Loop]:
    found: list[Loop] = []
    now = 0.0
    for count, seconds in parts:
        for _ in range(count):
            now += seconds
            found.append(Loop(now, seconds))
    return found


def test_loops_are_counted_from_the_first_that_felt_the_change() -> None:
    found = trace((1000, 1e-3), (12, 4e-3), (2000, 1.5e-3))
    assert loops_to_optimum(found, 1.0005, 4.0) == 12 - 2  # the median of five is near with three good loops


def test_a_change_that_comes_late_is_not_a_loop_that_follows_it() -> None:
    found = trace((1000, 1e-3), (50, 1e-3), (8, 4e-3), (2000, 1.5e-3))
    assert loops_to_optimum(found, 1.0, 4.0) == 8 - 2 + 1  # felt when two of three loops are slow


def test_one_disturbed_loop_is_no_change() -> None:
    found = trace((1000, 1e-3), (20, 1e-3), (1, 9e-3), (2000, 1e-3))
    assert loops_to_optimum(found, 1.0, 3.0) is None


def test_a_run_that_never_settles_has_no_count() -> None:
    swinging = [(1, 2e-3), (1, 2e-3), (1, 2e-3), (1, 8e-3), (1, 8e-3), (1, 8e-3)] * 100
    assert loops_to_optimum(trace((1000, 1e-3), *swinging), 1.0, 4.0) is None


# -- load --


def test_a_loaded_machine_is_said_and_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, ActingExecutor(clock, lambda settings: 1e-6))
    loaded = {"loaded": True, "others_share": 0.4, "steal_share": 0.1, "processes": ["cc1plus"]}
    monkeypatch.setattr(LoadWatch, "end", lambda self, now: loaded)
    said: list[str] = []
    made.say = said.append
    assert suite.run(suite.chosen("B6"), made, lambda: None)
    (row,) = json.loads((tmp_path / "bench.json").read_text())
    assert row["load"] == loaded
    assert "others took 40 % of the CPU time (cc1plus)" in row["note"]
    assert any("the hypervisor 10 %" in line for line in said)


def test_the_watch_takes_shares_of_the_whole_machine() -> None:
    watch = LoadWatch(0.0)
    found = watch.end(1.0)
    assert found["loaded"] in (True, False, None)
    if found["others_share"] is not None:
        assert found["others_share"] >= 0.0
    assert sentence({"loaded": False, "others_share": 0.0, "steal_share": 0.0, "processes": []}) == ""


def test_what_cannot_be_measured_is_a_row_with_the_reason(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, MockExecutor(clock))

    def missing(name: str) -> str:
        raise TautoError("the runner tauto-bench-short-loop was not found", "Build it")

    made.program = missing  # type: ignore[method-assign]
    assert suite.run(suite.chosen("B6"), made, lambda: None)
    (row,) = json.loads((tmp_path / "bench.json").read_text())
    assert (row["ratio"], row["met"]) == (None, None)
    assert "was not found. Build it" in row["note"]


# -- map/reduce, sums, gaps --


class TaskExecutor(ActingExecutor):
    """As above; the rows also say how long a task takes, and what waiting cost."""

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        result = super().run(configuration, time_limit)
        record = {
            "tasks": configuration.settings.get("tasks"),
            "task_seconds": 0.01,
            "cpu_seconds_per_loop": 1.0 if "libgomp" in configuration.name else 0.1,
        }
        return RunResult(result.seconds, result.elapsed_seconds, record=record)


def test_the_best_split_gives_whole_tasks_to_whoever_ends_first() -> None:
    assert reduce.best_split(50, [1.0, 4.0]) == pytest.approx(40.0)
    assert reduce.best_split(3, [1.0, 1.0]) == pytest.approx(2.0)
    assert reduce.best_split(5, [1.0, 100.0]) == pytest.approx(5.0)
    for tasks in range(1, 30):  # never below the bound of divisible work, at most one task above it
        found = reduce.best_split(tasks, [1.0, 3.0])
        bound = tasks / (1 + 1 / 3)
        assert bound - 1e-9 <= found <= bound + 3


def test_whole_tasks_are_held_against_the_rounded_up_share(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = TaskExecutor(clock, lambda settings: 0.2525)  # 25 tasks of 10 ms, and 1 %
    found = {one.id: one for one in reduce.whole_tasks(context(tmp_path, clock, executor))}
    assert found["B9"].ratio == pytest.approx(1.01)
    assert len(found) == 4


def test_short_tasks_meet_the_fastest_way_of_the_peers_and_qt(tmp_path: Path) -> None:
    clock = VirtualClock()

    def figure(settings: Any) -> float:
        if settings["runtime"] == "tautochrone":
            return 5.0
        return {"qt": 8.0, "stdpar": 6.0}.get(settings["runtime"], 9.0)

    executor = TaskExecutor(clock, figure)
    found = {one.id: one for one in reduce.short_tasks(context(tmp_path, clock, executor, seconds=400.0))}
    assert found["B10/1000x1µs/ideal"].ratio == pytest.approx(1.0)
    assert found["B10/1000x1µs/best"].peer == "stdpar par"
    assert found["B10/1000x1µs/best"].ratio == pytest.approx(5 / 6)
    assert found["B10/1000x1µs/qt"].ratio == pytest.approx(5 / 8)
    assert found["B10"].met is False  # 5/8 of Qt's time is not half of it
    assert "10000x0.1µs/qt" in found["B10"].note


def dynamic_128_is_best(settings: Any) -> float:
    """Ours 0.9; libgomp's dynamic is best with chunk 128 and an active wait; the rest takes 2.0."""
    if settings["runtime"] == "tautochrone":
        return 0.9
    if (settings["runtime"], settings["schedule"]) != ("libgomp", "dynamic"):
        return 2.0
    return 1.0 + 1e-4 * abs(settings["chunk"] - 128) + (0.0 if settings["wait"] == "active" else 0.01)


def test_the_best_chunk_and_wait_policy_of_the_peers_is_found(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = TaskExecutor(clock, dynamic_128_is_best)
    found = {one.id: one for one in reduce.short_tasks(context(tmp_path, clock, executor))}
    best = found["B10/1000x1µs/best"]
    assert best.peer == "libgomp dynamic, chunk 128, active wait"
    assert best.ratio == pytest.approx(0.9)
    assert best.rounds >= 8


def test_every_chunk_and_wait_policy_that_a_peer_has_is_a_way(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, MockExecutor(clock))
    tried = {
        (one.peer, one.schedule, one.chunk, one.wait) for one in task_contest.ways(made, reduce.SHORT[1])
    }
    for chunk in (1, 4, 16, 64, 128, 256):
        assert ("tbb", "auto", chunk, "default") in tried
        for library in ("libgomp", "libomp"):
            assert {(library, "dynamic", chunk, wait) for wait in ("default", "active")} <= tried
    assert ("qt", "ordered", None, "default") in tried
    assert not any(one[0] in ("serial", "tautochrone") for one in tried)
    few = {one.chunk for one in task_contest.ways(made, reduce.SLOWED[1])}
    assert few == {None, 1, 4, 16}  # 50 tasks: with 64 at a time there is nothing to share out


def test_the_wait_policy_and_the_chunk_reach_the_runner(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = TaskExecutor(clock, dynamic_128_is_best)
    reduce.short_tasks(context(tmp_path, clock, executor))
    for one in executor.ran:
        words = list(one.command)
        wait = words[words.index("--wait") + 1] if "--wait" in words else "default"
        chunk = int(words[words.index("--chunk") + 1]) if "--chunk" in words else None
        assert (wait, chunk) == (one.settings["wait"], one.settings["chunk"])


def test_cells_of_tasks_keep_to_the_seconds_of_an_id_and_are_all_judged(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = TaskExecutor(clock, dynamic_128_is_best, elapsed=0.3)
    entries = reduce.short_tasks(context(tmp_path, clock, executor))
    assert clock.monotonic() <= 100.0
    assert all(one.met is not None for one in entries)


def test_peers_that_are_missing_are_named_beside_the_best_of_the_others(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = TaskExecutor(clock, lambda settings: 1.0)
    made = context(tmp_path, clock, executor, find_peer=without("qt", "libomp"))
    found = {one.id: one for one in reduce.short_tasks(made)}
    for identifier in ("B10", "B10/1000x1µs/best", "B10/10000x0.1µs/best"):
        assert "without qt and libomp, which are not here" in found[identifier].note
    assert found["B10/1000x1µs/qt"].note == "Qt is not here"
    sums = reduce.sums(context(tmp_path, clock, executor, find_peer=without("tbb")))
    assert all("without tbb, which is not here" in one.note for one in sums)


def test_with_no_peer_at_all_the_ideal_is_judged_and_the_rest_says_why_not(tmp_path: Path) -> None:
    clock = VirtualClock()
    executor = TaskExecutor(clock, lambda settings: 5.0)
    nobody = without("libgomp", "libomp", *task_contest.RIVALS)
    found = {one.id: one for one in reduce.short_tasks(context(tmp_path, clock, executor, find_peer=nobody))}
    assert found["B10/1000x1µs/ideal"].met is True
    assert found["B10/1000x1µs/best"].met is None
    assert "no peer ran; without qt, tbb" in found["B10/1000x1µs/best"].note.replace(" and", ",")
    sums = reduce.sums(context(tmp_path, clock, executor, find_peer=nobody))
    assert sums[0].met is None
    assert "without libgomp and libomp and tbb, which are not here" in sums[0].note


def test_sums_meet_the_fastest_sum(tmp_path: Path) -> None:
    clock = VirtualClock()

    def figure(settings: Any) -> float:
        return {"parallel_reduce": 1.0, "std::reduce(par_unseq)": 2.0}.get(settings["label"], 3.0)

    found = {one.id: one for one in reduce.sums(context(tmp_path, clock, ActingExecutor(clock, figure)))}
    assert found["B11/1000"].peer == "std::reduce(par_unseq)"
    assert found["B11/1000"].ratio == pytest.approx(0.5)


def test_slowed_tasks_are_held_against_the_best_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = VirtualClock()
    monkeypatch.setattr(reduce, "emulated", lambda slow: contextlib.nullcontext())

    def figure(settings: Any) -> float:
        if settings["runtime"].startswith("serial"):
            return 50.0 if settings["cpus"] == [0] else 200.0
        return 41.0 if settings["runtime"] == "tautochrone" else 44.0

    executor = TaskExecutor(clock, figure)
    found = {one.id: one for one in reduce.slowed_tasks(context(tmp_path, clock, executor, seconds=400.0))}
    assert found["B13/50x0.4ms/bound"].ratio == pytest.approx(41 / 40)
    assert found["B13/50x0.4ms/best"].ratio == pytest.approx(41 / 44)
    # 100 of the 1,000 tasks were timed on each core: 0.5 and 2 s a task, so 800 and 200 of them
    assert found["B13/1000x100µs/bound"].ratio == pytest.approx(41 / 400)


def test_waiting_is_held_against_the_wasteful_one_and_the_quick_one(tmp_path: Path) -> None:
    clock = VirtualClock()

    def figure(settings: Any) -> float:
        return {"oneTBB": 2.0, "libgomp": 3.0}.get(settings["label"], 1.0)

    executor = TaskExecutor(clock, figure)
    found = {one.id: one for one in gaps.waiting(context(tmp_path, clock, executor, seconds=400.0))}
    assert found["B14/cpu"].ratio == pytest.approx(0.1)
    assert found["B14/cpu"].peer == "libgomp, cold"
    assert found["B14/latency"].ratio == pytest.approx(0.5)
    assert found["B14/latency"].peer == "oneTBB, cold"
    assert "ours, passive" in found["B14"].note


def test_the_samplers_are_judged_by_their_own_cpu_time(tmp_path: Path) -> None:
    clock = VirtualClock()
    made = context(tmp_path, clock, MockExecutor(clock), seconds=1.0)
    found = {one.id: one for one in metering.sampling(made)}
    assert list(found) == ["B24", "B24/energy", "B24/trace"]
    assert all(one.unit == "%" and one.rounds == metering.ROUNDS for one in found.values())
    assert found["B24"].ratio is not None
    assert 0.0 < found["B24"].ratio < 20.0  # the target is for a quiet machine


def test_a_metered_run_is_held_against_the_same_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = VirtualClock()
    monkeypatch.setattr(metering, "seconds_of_one_pass", lambda: 1e-4)

    def figure(settings: Any) -> float:
        return 5.02 if settings["label"] == "metered" else 5.0

    executor = ActingExecutor(clock, figure, elapsed=5.5)
    (found,) = metering.around_a_run(context(tmp_path, clock, executor, seconds=116.0))
    assert found.ratio == pytest.approx(1.004)
    assert found.met is True
    assert "a run of 5.0 s" in found.note


def test_without_a_meter_files_stand_in_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metering, "find_meter", lambda: Found(None, Unavailable("none")))
    found = metering.stand_in(tmp_path)
    assert found.meter is not None
    assert found.meter.read() == {"package-0": 0.0, "dram-0": 0.0, "package-1": 0.0, "dram-1": 0.0}
