"""The benchmark suite: its table, its rows, what is printed and stored, on runs that are acted."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import run, suite
from benchmarks.context import Budget
from benchmarks.load import LoadWatch, sentence
from benchmarks.measurement import Measurement
from benchmarks.rounds import Bench, Interrupted
from benchmarks.rows import Entry, Results, dated, filled, render, worst_of
from rich.console import Console

from benchmark_suite import MACHINE, ActingExecutor, Suite
from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.verdicts import Comparison, Interval, compare

ROOT = Path(__file__).resolve().parents[2]
FIELDS = [
    *("id", "what", "peer", "ratio", "low", "high", "target", "met", "machine", "when"),
    *("unit", "cell", "confidence", "rounds", "note", "load"),
]


@pytest.fixture
def acted(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def entry(identifier: str = "B1", ratio: float | None = 0.4, **more: Any) -> Entry:
    fields = {"low": 0.38, "high": 0.42, "target": 0.45, "met": True, **more}
    return Entry(id=identifier, what="a thing", peer="a peer", ratio=ratio, **fields)


def unmeasured(identifier: str, target: float, why: str, cell: str | None = None) -> Entry:
    return entry(identifier, None, low=None, high=None, target=target, met=None, note=why, cell=cell)


# -- the table of benchmarks --


def test_the_readme_has_the_table_of_benchmarks() -> None:
    text = (ROOT / "benchmarks" / "README.md").read_text()
    assert suite.markdown() in text, "write it anew with: python -m benchmarks.suite"


_TOLD = (ROOT / "benchmarks" / "README.md").read_text() + (ROOT / "Makefile").read_text()
PROGRAMS = sorted(set(re.findall(r"python (benchmarks/\w+\.py)", _TOLD)))


@pytest.mark.timed
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_of_the_readme_starts_from_any_folder(program: str, tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / program), "--help"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_benchmark_has_a_body_that_takes_its_parameters() -> None:
    assert list(suite.BENCHMARKS) == [f"B{number}" for number in range(1, 28)]
    for benchmark in suite.BENCHMARKS.values():
        inspect.signature(run.body_of(benchmark)).bind(None, **benchmark.parameters)


def test_the_first_pattern_that_a_cell_matches_has_its_target() -> None:
    rows = suite.BENCHMARKS["B4"].row_of
    assert [rows(cell).target for cell in ("a/mean", "a/500:2", "b/mean", "b/tbb")] == [1.0, 1.03, 0.75, 0.75]
    assert (rows("").target, rows("").what) == (1.0, suite.BENCHMARKS["B4"].what)
    assert suite.BENCHMARKS["B19"].row_of("").unit == "ns"


def test_an_unknown_id_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--only", "B1,B99"]) == 2
    refusal = capsys.readouterr().err.strip()
    assert refusal.startswith("tauto: error: there is no benchmark 'B99'")
    assert "B1, B2, B3, B4, B5, B6, B7, B8, B9" in refusal
    assert "\n" not in refusal


def test_ids_are_taken_in_the_order_of_the_suite_and_in_any_case() -> None:
    assert [benchmark.id for benchmark in suite.chosen("b4, B1")] == ["B1", "B4"]
    assert len(suite.chosen(None)) == 27
    with pytest.raises(TautoError, match="names no benchmark"):
        suite.chosen(",")


def test_the_list_names_every_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--list"]) == 0
    listed = capsys.readouterr().out
    for benchmark in suite.BENCHMARKS.values():
        assert f"{benchmark.id}  {benchmark.title}; target {benchmark.target_text}\n" in listed
    assert "B6  sum of 64 floats through parallel_for less the plain loop; target ≤ 40 ns\n" in listed


@pytest.mark.parametrize("cells", ["1000:0", "x", "1000:64", "0:2", "500,,1000"])
def test_a_cell_that_is_none_is_refused(cells: str) -> None:
    with pytest.raises(TautoError, match="is not a cell"):
        run.parse_cells(cells)


def test_cells_are_size_and_factor() -> None:
    assert run.parse_cells("1000:4,500") == [(1000, 4.0), (500, 1.0)]


# -- rows --


def test_the_file_is_complete_after_every_row(acted: Suite) -> None:
    path = acted.folder / "bench.json"
    for number in (1, 2):
        measurement = Measurement(acted.context, suite.BENCHMARKS[f"B{number}"])
        measurement.row("", compare([(1.0, 2.0)] * 8), "a peer")
        rows = json.loads(path.read_text())
        assert [row["id"] for row in rows] == ["B1", "B2"][:number]
        assert all(list(row) == FIELDS for row in rows)
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
    def judged(measured: Comparison | Interval, target: float) -> Entry:
        return filled(unmeasured("B1", target, ""), measured)

    pairs = [(1.0, 2.0)] * 8
    assert judged(compare(pairs), 0.5).met is True
    assert judged(compare(pairs), 0.49).met is False
    few = judged(compare(pairs[:7]), 0.5)
    assert (few.met, few.low, few.ratio, few.rounds) == (None, None, pytest.approx(0.5), 7)
    assert judged(Interval(20.0, None, None, 0.99, 3), 40.0).met is None
    assert judged(Interval(20.0, 19.0, 50.0, 0.99, 9), 40.0).met is True


def test_the_worst_cell_decides_and_missed_cells_are_named() -> None:
    cells = [
        entry("B3/500", 1.00, target=1.03, cell="500"),
        entry("B3/1000", 1.09, target=1.03, met=False, cell="1000"),
        unmeasured("B3/2000", 1.03, "why", "2000"),
    ]
    blank = unmeasured("B3", 1.03, "")
    own = worst_of(blank, cells, "without qt")
    assert (own.id, own.ratio, own.met, own.cell) == ("B3", 1.09, False, "1000")
    assert own.note == "worst of 3: 1000; missed at 1000; not judged: 2000; without qt"
    assert worst_of(blank, [cells[0], cells[2]]).met is None
    assert worst_of(blank, [cells[2]]).note == "why"
    assert worst_of(blank, []).note == "no cell was measured"


def test_of_cells_with_targets_of_their_own_the_farthest_above_its_target_is_the_worst() -> None:
    cells = [entry("B11/a", 0.9, target=0.7, met=False, cell="a"), entry("B11/b", 1.0, target=1.02, cell="b")]
    own = worst_of(unmeasured("B11", 0.7, ""), cells)
    assert (own.ratio, own.target, own.met) == (0.9, 0.7, False)


def test_a_dated_copy_carries_its_machine_and_its_load_and_has_a_line_for_each_row(acted: Suite) -> None:
    results = acted.context.results
    results.add(entry(load={"loaded": True}))
    results.add(entry("B2"))
    path = results.copy(acted.folder / "results", MACHINE, acted.clock.now())
    assert path.name == "2026-01-01-0123456789ab.json"
    copied = json.loads(path.read_text())
    assert (copied["schema"], copied["machine"]) == ("tautochrone.benchmarks/1", MACHINE)
    assert copied["rows"] == results.rows()
    lines = path.read_text().splitlines()
    assert json.loads(lines[3].rstrip(",")) == copied["rows"][0]
    assert len(lines) == 3 + 2 + 1


def test_dated_copies_are_as_they_are_written_today() -> None:
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        stored = json.loads(path.read_text())
        assert path.read_text() == dated(stored["machine"], stored["rows"])
        assert all(list(row) == FIELDS for row in stored["rows"])


# -- what is printed --


def text(rows: list[Entry], *, cells: bool = False) -> str:
    console = Console(width=150, no_color=True, force_terminal=False)
    with console.capture() as captured:
        console.print(render([row.__dict__ for row in rows], cells=cells))
    return captured.get()


def test_a_target_that_is_missed_says_so_plainly() -> None:
    shown = text([entry("B2", 1.52, low=1.48, high=1.6, target=1.4, met=False)])
    for part in ("1.520 [1.480, 1.600]", "≤ 1.4 ", "NO"):
        assert part in shown


def test_units_are_shown_and_cells_only_when_asked() -> None:
    rows = [
        entry("B6", 18.2, low=17.0, high=19.0, target=40.0, unit="ns"),
        entry("B3/500"),
        unmeasured("B5", 1.06, "no right to slow CPUs"),
    ]
    shown = text(rows)
    for part in ("18.2 ns [17, 19]", "≤ 40 ns", "not judged", "no right to slow CPUs"):
        assert part in shown
    assert "B3/500" not in shown
    assert "B3/500" in text(rows, cells=True)


# -- time, and the choice of a peer --


def test_a_part_gets_the_share_of_its_weight_of_what_is_left(acted: Suite) -> None:
    budget = Budget(acted.clock, 100.0)
    acted.clock.advance(20.0)
    assert budget.left == 80.0
    assert budget.share(1.0, 4.0) == 20.0
    assert budget.share(4.0, 4.0) == 80.0
    acted.clock.advance(200.0)
    assert budget.left == 0.0


def test_a_budget_ends_a_measurement_at_a_whole_round(acted: Suite) -> None:
    rows = acted.rows("B6", elapsed=1.0, seconds=9.0)
    assert acted.clock.monotonic() <= 9.0
    assert len(acted.executor.ran) == 8  # four rounds of two
    assert rows["B6"].met is None


def rivals(count: int) -> list[Configuration]:
    return [Configuration(f"rival {place}", ["x"], {}, {"place": place}) for place in range(count)]


def test_the_fastest_of_many_is_chosen_by_a_round_of_all_and_more_of_the_leaders(acted: Suite) -> None:
    executor = ActingExecutor(acted.clock, lambda settings: 1.0 + 0.01 * abs(settings["place"] - 17))
    with Bench(acted.given(executor), "choice") as bench:
        best = bench.fastest(rivals(20), 60.0)
        assert best is not None
        assert best.name == "rival 17"
        assert not bench.store.rows()  # none of it is reported
    runs = [sum(ran.name == rival.name for ran in executor.ran) for rival in rivals(20)]
    assert sorted(runs, reverse=True) == [7, 7, 4, 4, 2, 2, 2, 2, *[1] * 12]


def test_a_choice_that_has_no_time_is_the_fastest_of_the_first_round(acted: Suite) -> None:
    executor = ActingExecutor(acted.clock, lambda settings: 1.0 + settings["place"], elapsed=1.0)
    with Bench(acted.given(executor), "choice") as bench:
        best = bench.fastest(rivals(3), 2.0)
        assert (best and best.name, len(executor.ran)) == ("rival 0", 3)
        assert bench.fastest([], 2.0) is None


# -- around a benchmark --


def test_an_interrupted_benchmark_keeps_what_it_has(acted: Suite) -> None:
    class Stopped(ActingExecutor):
        def run(self, configuration: Configuration, time_limit: float) -> RunResult:
            if len(self.ran) > 150:
                raise KeyboardInterrupt
            return super().run(configuration, time_limit)

    executor = Stopped(acted.clock, lambda settings: 1.0, 0.01)
    with pytest.raises(Interrupted):
        acted.rows("B3", executor=executor)
    assert run.measure(suite.chosen("B3"), acted.context, lambda: None) is False
    rows = json.loads((acted.folder / "bench.json").read_text())
    assert rows[0]["id"] == "B3/500"


def test_a_loaded_machine_is_named_in_the_row_and_its_note(
    acted: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = {"loaded": True, "others_share": 0.4, "steal_share": 0.1, "processes": ["cc1plus"]}
    monkeypatch.setattr(LoadWatch, "end", lambda self, now: loaded)
    assert run.measure(suite.chosen("B6"), acted.context, lambda: None)
    (row,) = json.loads((acted.folder / "bench.json").read_text())
    assert row["load"] == loaded
    assert "others took 40 % of the CPU time (cc1plus)" in row["note"]
    assert any("the hypervisor 10 %" in line for line in acted.said)


def test_the_watch_takes_shares_of_the_whole_machine() -> None:
    found = LoadWatch(0.0).end(1.0)
    assert found["loaded"] in (True, False, None)
    if found["others_share"] is not None:
        assert found["others_share"] >= 0.0
    assert sentence({"loaded": False, "others_share": 0.0, "steal_share": 0.0, "processes": []}) == ""


def test_what_cannot_be_measured_is_a_row_with_the_reason(acted: Suite) -> None:
    def missing(name: str) -> str:
        raise TautoError("the runner tauto-bench-tautochrone was not found", "Build it")

    acted.context.program = missing  # type: ignore[method-assign]
    assert run.measure(suite.chosen("B6"), acted.context, lambda: None)
    (row,) = json.loads((acted.folder / "bench.json").read_text())
    assert (row["ratio"], row["met"]) == (None, None)
    assert "was not found. Build it" in row["note"]
