"""What every study promises, asked of each in the same words, and of a sixth that only describes itself."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from measuring import configuration
from mock_executor import MockExecutor
from study_fakes import FakeSlowdown, Laboratory, machine, need_executables, peers, refused
from tautochrone.cli.main import main
from tautochrone.errors import TautoError
from tautochrone.machine import probe
from tautochrone.machine.probe import read_machine
from tautochrone.machine.runners import Peer
from tautochrone.measuring.clock import VirtualClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import RunResult
from tautochrone.report.analysis import Analysis
from tautochrone.results.compare import compare_results
from tautochrone.results.export import export
from tautochrone.results.row import Row
from tautochrone.results.store import Store
from tautochrone.studies import STUDIES, Entry, study_named
from tautochrone.studies.states import StateExecutor

SIXTH = "sort"


@dataclass(frozen=True)
class Case:
    """A study with its fakes. ``optional``: a peer that may be absent. ``failing``: in names of failing runs.

    ``wrong``: text in names → the wrong answer they give; empty where the runner itself checks.
    """

    name: str
    optional: str
    failing: str
    wrong: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def study(self) -> Any:
        return study_named(self.name)

    @property
    def fakes(self) -> Any:
        return import_module(f"study_{self.name}_fakes")

    def laboratory(self, **changes: Any) -> Laboratory:
        made: Laboratory = self.fakes.laboratory(**changes)
        return made

    def measure(self, folder: Path, lab: Laboratory | None = None, **changes: Any) -> Analysis:
        request = self.fakes.request(folder, **(self.asked | changes))
        found: Analysis = self.study.measure(request, (lab or self.laboratory()).services)
        return found

    def without(self, peer: Peer) -> Laboratory:
        """One where that peer is absent, as well as those that always are."""
        usual = self.laboratory().absent
        return self.laboratory(absent=(*usual, peer.name))

    def peer(self) -> Peer:
        """The one that may be absent."""
        return next(peer for peer in self.study.PEERS if peer.name == self.optional)


CASES = {
    case.name: case
    for case in (
        Case("loop", "tbb", "stdpar", {"tbb static": "c" * 16}),
        Case("mapreduce", "tbb", "libgomp", {"qt": "c" * 16}),
        Case("power", "compression", "by files", {"by files": "c" * 16}),
        Case("collective", "mpich", "openmpi"),
        Case("nbody", "mpich", "openmpi", {"mpich j": "c" * 16}, {"particles": (256,)}),
        Case(SIXTH, "gnu", "multiway", {"multiway": "c" * 16}),
    )
}


@pytest.fixture
def sixth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that adds a study."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "sixth_study"))
    monkeypatch.setitem(STUDIES, SIXTH, Entry("sorting with 1…n threads", "sort_study:Sort"))


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, sixth: None) -> Case:
    return CASES[request.param]


def rows_of(folder: Path) -> list[Row]:
    """All rows, those of a screening as well."""
    with Store.read(folder) as store:
        return list(store.rows(None))


def test_every_study_is_asked() -> None:
    assert set(CASES) == {*STUDIES, SIXTH}


def test_an_interrupted_study_goes_on_and_measures_nothing_twice(case: Case, tmp_path: Path) -> None:
    whole = case.laboratory()
    case.measure(tmp_path / "whole", whole)
    broken = case.laboratory(interrupt_at=len(whole.executor.ran) // 2)
    with pytest.raises(KeyboardInterrupt):
        case.measure(tmp_path / "broken", broken)
    assert "Rows:" in broken.text.getvalue()
    rest = case.laboratory()
    case.measure(tmp_path / "broken", rest)
    runs = [(row.config_id, row.round, row.source) for row in rows_of(tmp_path / "broken")]
    assert len(runs) == len(set(runs)) == len(broken.executor.ran) + len(rest.executor.ran)
    again = case.laboratory()
    case.measure(tmp_path / "broken", again)
    assert again.executor.ran == []
    assert again.executor.probes == rest.executor.probes == 0


def test_a_study_interrupted_in_its_first_rounds_gives_no_verdict(case: Case, tmp_path: Path) -> None:
    lab = case.laboratory(interrupt_at=10)
    with pytest.raises(KeyboardInterrupt):
        case.measure(tmp_path, lab)
    printed = lab.text.getvalue()
    assert re.search("fewer than the|has 8 good rounds yet|nothing can be recommended", printed)
    assert "% less time" not in printed


def test_fresh_measures_all_again_and_keeps_the_old_rows(case: Case, tmp_path: Path) -> None:
    first, second = case.laboratory(), case.laboratory()
    case.measure(tmp_path, first)
    case.measure(tmp_path, second, fresh=True)
    assert len(second.executor.ran) == len(first.executor.ran)
    assert second.executor.probes == first.executor.probes
    assert len(list(tmp_path.glob("rows.*.jsonl"))) == 1


def test_a_wrong_answer_is_an_error(case: Case, tmp_path: Path) -> None:
    if not case.wrong:
        pytest.skip("its runner checks the answer itself")
    case.measure(tmp_path, case.laboratory(wrong=case.wrong))
    (words,) = case.wrong
    kinds = {(words in row.name, row.error.kind if row.error else None) for row in rows_of(tmp_path)}
    assert kinds == {(True, "wrong_answer"), (False, None)}
    assert all(row.seconds is None for row in rows_of(tmp_path) if words in row.name)


@pytest.mark.parametrize("kind", ["failed", "timeout", "missing_worker"])
def test_a_run_that_fails_is_named_and_the_others_go_on(case: Case, tmp_path: Path, kind: str) -> None:
    analysis = case.measure(tmp_path, case.laboratory(errors={case.failing: kind}))
    kinds = {(case.failing in row.name, row.error.kind if row.error else None) for row in rows_of(tmp_path)}
    assert kinds == {(True, kind), (False, None)}
    assert f"it was told to end with {kind}" in msgspec.json.encode(analysis).decode()


@pytest.mark.parametrize("name", ["mapreduce", "power", "collective", "nbody"])
def test_disturbance_by_other_programs_is_reported_second(name: str, tmp_path: Path) -> None:
    analysis = CASES[name].measure(tmp_path, CASES[name].laboratory(others=0.6))
    assert "Other programs took 60 % of the CPU time during this study" in analysis.verdict_sentences[1]


def test_an_absent_peer_is_not_measured_and_says_what_to_install(case: Case, tmp_path: Path) -> None:
    peer = case.peer()
    lab = case.without(peer)
    if (peer,) == case.study.PEERS:
        with pytest.raises(TautoError, match="has nothing to measure here") as caught:
            case.measure(tmp_path, lab)
        assert peer.package in str(caught.value.remedy)
        return
    analysis = case.measure(tmp_path, lab)
    missing = {(absent.what, absent.remedy) for absent in analysis.not_measured}
    assert (peer.title, f"apt install {peer.package}") in missing


def test_a_peer_that_was_asked_for_must_be_there(case: Case, tmp_path: Path) -> None:
    peer = case.peer()
    lab = case.without(peer)
    with pytest.raises(TautoError, match="cannot be measured") as caught:
        case.measure(tmp_path, lab, peers=(peer.name,))
    assert peer.title in caught.value.message
    assert caught.value.remedy == f"apt install {peer.package}"
    assert lab.executor.ran == []


def test_json_is_the_analysis(case: Case, tmp_path: Path) -> None:
    lab = case.laboratory()
    analysis = case.measure(tmp_path, lab, json=True)
    assert msgspec.convert(json.loads(lab.text.getvalue()), type(analysis)) == analysis


def test_the_report_can_be_written_again(case: Case, tmp_path: Path) -> None:
    case.measure(tmp_path, report=True)
    path = tmp_path / "report.html"
    html = path.read_text()
    assert len(html) < 1_500_000
    assert "http://" not in html.split("<script")[0]
    path.unlink()
    assert main(["report", str(tmp_path)]) == 0
    assert path.read_text() == html


def test_rows_are_exported_with_their_settings(case: Case, tmp_path: Path) -> None:
    case.measure(tmp_path)
    with Store.read(tmp_path) as store:
        with export(store, "csv").open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == len(store.rows())
    assert {"config_runtime", "config_schedule", "seconds"} <= lines[0].keys()


def test_two_results_of_one_study_are_compared(case: Case, tmp_path: Path) -> None:
    for name in ("before", "after"):
        case.measure(tmp_path / name)
    report = compare_results(str(tmp_path / "before"), str(tmp_path / "after"))
    assert report.lines
    assert {line.comparison.verdict for line in report.lines} == {"no difference resolved"}


def test_the_announcement_says_what_where_and_how_long(case: Case, tmp_path: Path) -> None:
    lab = case.laboratory()
    case.measure(tmp_path, lab)
    said = lab.messages.getvalue()
    assert said.startswith(f"study {case.name}: ")
    assert "about " in said
    assert str(tmp_path) in said


def test_a_study_under_an_emulation_from_outside_is_refused(case: Case, tmp_path: Path) -> None:
    slowed = machine(emulated=[{"cpu": 1, "factor": 4.0}])
    with pytest.raises(TautoError, match="started under tauto emulate") as caught:
        case.measure(tmp_path, case.laboratory(machine=slowed))
    assert "--emulate 1:4" in str(caught.value.remedy)


def test_the_fake_peers_are_the_real_ones(case: Case) -> None:
    real = [peer.name for peer in case.study.PEERS]
    assert [state.peer.name for state in peers(case.fakes.SCHEDULES)(case.study.PEERS, None)] == real


def test_the_command_line_is_the_request(
    case: Case, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["study", case.name, "--help"]) == 0
    assert f"tauto study {case.name} --quick" in capsys.readouterr().out
    error = refused(capsys, "study", case.name, "--rounds", "7", "--output", str(tmp_path / "new"))
    assert "--rounds 7" in error
    assert not (tmp_path / "new").exists()


FAST = [
    {"cpu": cpu, "cache_bytes_per_second": 2e10, "hash_bytes_per_second": 1e9, "compute_per_second": 1e10}
    for cpu in range(2)
]
POINT = {"operation": "all_reduce", "words": 65536}


@pytest.mark.parametrize(
    ("name", "of", "lie", "told"),
    [
        ("loop", "tbb auto", {"seconds": 1e-9}, "says 1e-09 s: these CPUs need at least"),
        ("loop", "tbb auto", {"check": {"passed": True}}, "gave no solution_fnv1a"),
        ("loop", "tbb auto", {"workers": [{"cpu": "0", "rows": 1}]}, "Expected `int`, got `str`"),
        ("loop", "tbb auto", {"iterations": 10**9}, "1000000000 repetitions in 0.1 s of CPU"),
        ("mapreduce", "qt", {"seconds": 1e-9}, "says 1e-09 s: these CPUs need at least"),
        ("power", "by files", {"seconds": 1e-9, "bytes": 6.4e7}, "need at least"),
        ("power", "by functions, 2", {"seconds": 1e-9, "bodies": 1e4, "steps": 10}, "need at least"),
        ("power", "by files", {"mean_seconds": 1e-9}, "says that a thread computed for"),
        ("power", "no affinity", {"programs": [{"job": "physics", "seconds": 9.0}]}, "but one of them 9 s"),
        ("nbody", "mpich j", {"seconds": 1e-10}, "says 1e-10 s: these CPUs need at least"),
        ("nbody", "mpich j", {"blocks": 3}, "says 3 blocks of"),
        ("nbody", "mpich j", {"seconds": 1e-6}, "of all counts"),
        ("collective", "mpich", {"points": [{**POINT, "seconds": 1e-9}]}, "which a CPU needs at least"),
        ("collective", "mpich", {"seconds": 1e-9}, "but the mean of its points"),
        (
            "collective",
            "mpich",
            {
                "points": [{**POINT, "seconds": 1e-3, "repetitions": 100, "lower_quartile_seconds": 1e-3}],
                "seconds": 1e-3,
                "timed_seconds": 0.01,
            },
            "says 0.01 s for all repetitions, but their quartiles are",
        ),
    ],
)
def test_a_runner_that_says_what_cannot_be_has_no_rows(
    tmp_path: Path, name: str, of: str, lie: dict[str, Any], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = {"when": "2026-01-01T00:00:00Z", "cpus": FAST}
    case = CASES[name]
    lab = case.laboratory(machine=machine(measured=measured))
    run = type(lab.executor).run

    def lying(executor: Any, configuration: Any, time_limit: float) -> Any:
        result = run(executor, configuration, time_limit)
        if of not in configuration.name:
            return result
        seconds = lie.get("seconds", result.seconds)
        used = {"user_seconds": 0.1, "system_seconds": 0.0}
        return msgspec.structs.replace(result, seconds=seconds, record={**result.record, **lie}, **used)

    monkeypatch.setattr(type(lab.executor), "run", lying)
    case.measure(tmp_path, lab)
    lies = [row.error for row in rows_of(tmp_path) if of in row.name]
    assert lies
    assert all(error is not None and told in error.message for error in lies), lies
    assert all(row.error is None for row in rows_of(tmp_path) if of not in row.name)


@pytest.mark.timed
@pytest.mark.usefixtures("sixth")
def test_the_sixth_study_measures_with_its_real_runner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    need_executables("tauto-probe", "tauto-sort-gnu")
    monkeypatch.setattr(probe, "read_machine", lambda _: read_machine("brief"))  # it needs no speeds
    words = ["--counts", "20000", "--rounds", "8", "--output", str(tmp_path), "--json"]
    assert main(["study", SIXTH, "--quick", *words]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["work"] == "sort 20,000 numbers"
    assert {way["error"] for way in cell["configurations"]} == {None}
    assert (tmp_path / "report.html").exists()
    assert {row.error for row in rows_of(tmp_path)} == {None}
    assert {row.check and row.check["passed"] for row in rows_of(tmp_path)} == {True}


def test_a_run_during_which_the_lab_was_stopped_is_repeated_on_slow_cpus() -> None:
    """While a study is stopped, its emulators let the CPUs go."""
    resumed: list[str] = []
    ran: list[str] = []

    class Slow(FakeSlowdown):
        def resume(self) -> None:
            resumed.append(self.key)
            super().resume()

    class Stopped(MockExecutor):
        def run(self, one: Configuration, time_limit: float) -> RunResult:
            ran.append(one.name)
            if len(ran) == 1:
                executor.continued()
            return super().run(one, time_limit)

    executor = StateExecutor(Stopped(VirtualClock(), 1), {"1:4": Slow("1:4", set())})
    executor.run(configuration("a", emulated={"1": 4.0}), 10.0)
    assert (ran, resumed) == (["a", "a"], ["1:4", "1:4"])
    executor.run(configuration("b", emulated={"1": 4.0}), 10.0)
    assert (ran, resumed) == (["a", "a", "b"], ["1:4", "1:4"])
    executor.continued()  # between two runs
    executor.run(configuration("c", emulated={"1": 4.0}), 10.0)
    assert resumed == ["1:4"] * 3
