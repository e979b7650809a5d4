"""The map/reduce study from the request to the report, on a model of a machine that takes no time."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from page_content import embedded, visible
from study_fakes import machine, need_executables, quiet_services
from study_mapreduce_fakes import HANDING_SECONDS, SCHEDULES, START_SECONDS, laboratory, request
from tautochrone.cli.report import report_again
from tautochrone.errors import TautoError
from tautochrone.results.compare import compare_results
from tautochrone.results.store import Store
from tautochrone.studies.mapreduce.cells import first_that_pays
from tautochrone.studies.mapreduce.configurations import Workload, sized
from tautochrone.studies.mapreduce.findings import MapReduceAnalysis, Payoff, Pays, TaskCell
from tautochrone.studies.mapreduce.study import MapReduce, MapReduceRequest, estimated_run_seconds
from tautochrone.studies.request import Times

SHORT = Workload(50, seconds=1e-6)
PUBLISHED = tuple(Workload(50, bytes=size) for size in (400_000, 1_000_000, 3_000_000))


def cell(analysis: MapReduceAnalysis, length: str, emulated: dict[str, float] | None = None) -> TaskCell:
    state = emulated or {}
    return next(one for one in analysis.cells if one.length == length and dict(one.emulated) == state)


def payoff(analysis: MapReduceAnalysis, runtime: str) -> Payoff:
    """From where on a runtime pays on the machine as it is."""
    return next(one for one in analysis.payoffs if one.runtime == runtime and not one.emulated)


def test_verdict_says_from_which_length_on_each_library_pays(tmp_path: Path) -> None:
    lab = laboratory()
    analysis = MapReduce.measure(request(tmp_path), lab.services)
    first = analysis.verdict_sentences[0]
    assert first.startswith("On this machine, with 50 tasks on 2 CPUs: tautochrone")
    # model: 50 tasks of 102 µs on two CPUs take 2.55 ms, Qt adds 20 µs and 4 µs for each of 25 tasks
    assert "pay from tasks of 102 µs" in first
    assert payoff(analysis, "qt").from_seconds == pytest.approx(1.02e-4, rel=0.05)
    assert payoff(analysis, "qt").not_at_seconds == pytest.approx(1e-6, rel=0.05)
    assert payoff(analysis, "qt").because == "no"
    assert payoff(analysis, "tautochrone").from_seconds == pytest.approx(1e-6, rel=0.05)
    assert payoff(analysis, "tautochrone").not_at_seconds is None
    assert first in lab.text.getvalue()


def test_a_library_that_pays_at_no_length_is_named(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path, workloads=(SHORT,)), laboratory().services)
    assert "pay at no length that was tried" in analysis.verdict_sentences[0]
    assert "QtConcurrent" in analysis.verdict_sentences[0]


def test_an_answer_hidden_by_noise_is_not_a_no(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path), laboratory(noise=2.0).services)
    assert "could be shown to pay" in analysis.verdict_sentences[0]
    assert {one.because for one in analysis.payoffs} >= {"not resolved"}


def test_more_tasks_that_pay_alike_are_one_short_sentence(tmp_path: Path) -> None:
    works = (Workload(50, seconds=1e-4), Workload(500, seconds=1e-4))
    analysis = MapReduce.measure(request(tmp_path, workloads=works), laboratory().services)
    assert analysis.verdict_sentences[1] == "On the machine as it is, the same holds for 500 tasks."


def test_peers_are_listed_with_what_was_tried_of_them(tmp_path: Path) -> None:
    quick = MapReduce.measure(request(tmp_path / "quick"), laboratory().services)
    full = MapReduce.measure(request(tmp_path / "full", quick=False), laboratory().services)
    tried = [
        next((one.schedules, one.wait_policies) for one in analysis.peers if one.runtime == "libgomp")
        for analysis in (quick, full)
    ]
    assert tried == [(("dynamic",), ("default",)), (SCHEDULES["libgomp"], ("default", "active"))]


@pytest.mark.parametrize(
    ("answers", "start"),
    [
        (["no", "yes", "yes"], 1),
        (["yes", "not resolved", "yes"], 0),
        (["no", "yes", "not resolved"], 1),
        (["yes", "no", "yes"], 2),
        (["yes", "no", "not resolved"], 3),
        (["no", "no", "no"], 3),
        ([], 0),
    ],
)
def test_sharing_pays_from_the_shortest_length_without_a_no_above_it(answers: list[Pays], start: int) -> None:
    assert first_that_pays(answers) == start


def test_one_cpu_pays_nowhere(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path), laboratory(machine=machine(1)).services)
    assert "on 1 CPU, no library pays" in analysis.verdict_sentences[0]


def test_two_cores_do_not_judge_the_collapse(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path), laboratory().services)
    assert "neither shows nor refutes" in analysis.verdict_sentences[-1]
    found = {claim.id: claim for claim in analysis.claims}
    assert list(found) == ["M1", "M2", "M3", "M4", "M5", "M6"]
    assert [found[id].holds for id in ("M1", "M2", "M3", "M4", "M5")] == [None] * 5
    assert "not measurable with 2 CPUs, it needs 14: neither shown nor refuted" in found["M4"].note
    assert found["M6"].holds is True  # Qt is slower than the serial loop on tasks of 1 µs
    assert "waiting" in found["M6"].ours


def claim_row(page: str, id: str) -> str:
    """A claim's line of the page's table as a reader sees it."""
    (row,) = re.findall(rf"<tr><td>{id}</td>.*?</tr>", page)
    return visible(row)


def test_the_report_shows_each_claim_beside_what_was_measured_here(tmp_path: Path) -> None:
    asked = request(tmp_path, workloads=(SHORT, *PUBLISHED), report=True)
    analysis = MapReduce.measure(asked, laboratory().services)
    page = unescape((tmp_path / "report.html").read_text())
    for claim in analysis.claims:
        row = claim_row(page, claim.id)
        assert claim.published in row
        assert claim.ours in row
        assert "not measured here" not in row
        if claim.id == "M6":
            assert "yes" in row
        else:
            assert "cannot be tested here" in row
            assert "neither shown nor refuted; simulated: not here" in row


@pytest.mark.parametrize("changes", [{}, {"noise": 2.0}, {"collapse": True}])
@pytest.mark.parametrize("cpus", [1, 2, 13])
def test_few_cores_refute_no_claim(tmp_path: Path, changes: dict[str, Any], cpus: int) -> None:
    works = (SHORT, *PUBLISHED)
    asked = request(tmp_path, workloads=works, peers=("qt", "tbb"), threads=tuple(sorted({1, cpus})))
    analysis = MapReduce.measure(asked, laboratory(machine=machine(cpus), **changes).services)
    assert not [claim.id for claim in analysis.claims if claim.holds is False]


def test_two_cores_do_not_refute_an_effect_that_they_do_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HANDING_SECONDS, "qt", 1e-9)
    monkeypatch.setitem(START_SECONDS, "qt", 1e-9)
    analysis = MapReduce.measure(request(tmp_path), laboratory().services)
    found = {claim.id: claim for claim in analysis.claims}
    assert found["M6"].holds is None
    assert "not seen on 2 CPUs, which refutes nothing" in found["M6"].note


def test_a_claim_stays_open_without_the_thread_counts_that_decide_it(tmp_path: Path) -> None:
    lab = laboratory(machine=machine(32), collapse=True)
    asked = request(tmp_path, workloads=PUBLISHED, peers=("qt", "tbb"), threads=(2, 32))
    found = {claim.id: claim for claim in MapReduce.measure(asked, lab.services).claims}
    assert [found[id].holds for id in ("M1", "M2", "M4")] == [None] * 3


def test_thirty_two_cores_show_the_steps_and_the_collapse(tmp_path: Path) -> None:
    lab = laboratory(machine=machine(32), collapse=True)
    analysis = MapReduce.measure(request(tmp_path, workloads=PUBLISHED, peers=("qt", "tbb")), lab.services)
    found = {claim.id: claim for claim in analysis.claims}
    assert found["M1"].holds is True
    assert found["M4"].holds is True  # the model: 20 ms / threads and a lock of 0.2 ms × threads
    assert "fastest on 10 of up to 32 threads" in found["M4"].ours
    assert not any("neither shows nor refutes" in sentence for sentence in analysis.verdict_sentences)


def test_the_law_counts_whole_tasks(tmp_path: Path) -> None:
    lab = laboratory(machine=machine(4))
    analysis = MapReduce.measure(request(tmp_path, peers=("tbb",)), lab.services)
    law = {point.threads: point.speedup for point in cell(analysis, "400 kB").law}
    assert law[3] == pytest.approx(50 / 17)
    assert law[4] == pytest.approx(50 / 13)
    assert law[8] == law[4]  # more threads than CPUs gain nothing


def test_a_slow_cpu_lowers_the_ideal(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path, emulate=({1: 4.0},)), laboratory().services)
    slowed = cell(analysis, "400 kB", {"1": 4.0})
    # 40 tasks on the fast CPU take as long as 10 on the slow one
    assert slowed.law[1].speedup == pytest.approx(50 / 40)
    ours = next(one for one in slowed.configurations if one.runtime == "tautochrone" and one.threads == 2)
    assert ours.share_of_ideal == pytest.approx(1.0, abs=0.02)
    assert any("CPU 1 made four times slower" in one for one in analysis.verdict_sentences)


def test_kinds_of_cores_have_their_own_speed(tmp_path: Path) -> None:
    record = machine(2, ["P", "E"])
    speeds = [{"cpu": 0, "compute_per_second": 4e9}, {"cpu": 1, "compute_per_second": 1e9}]
    record["measured"]["cpus"] = speeds
    analysis = MapReduce.measure(request(tmp_path, peers=("tbb",)), laboratory(machine=record).services)
    assert cell(analysis, "400 kB").law[1].speedup == pytest.approx(50 / 40)


def test_threads_go_from_one_to_twice_the_cpus(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path), laboratory().services)
    found = {one.threads for one in cell(analysis, "400 kB").configurations if one.runtime == "qt"}
    assert found == {1, 2, 4}
    serial = [one for one in cell(analysis, "400 kB").configurations if one.runtime == "serial"]
    assert [one.threads for one in serial] == [1]


def test_full_study_tries_every_schedule_with_all_cpus(tmp_path: Path) -> None:
    lab = laboratory()
    works = (Workload(50, seconds=1e-5),)
    analysis = MapReduce.measure(request(tmp_path, quick=False, workloads=works), lab.services)
    for peer, schedules in SCHEDULES.items():
        of_peer = [one for one in analysis.cells[0].configurations if one.runtime == peer]
        assert {one.schedule for one in of_peer} == set(schedules)
        assert {one.threads for one in of_peer if not one.is_default} <= {2, 4}
    roles = {(one.runtime, one.role) for one in analysis.cells[0].peer_ratios}
    wanted = set(SCHEDULES) - {"serial", "tautochrone"}
    assert roles == {(peer, role) for peer in wanted for role in ("best", "default")}


def test_the_runner_gets_exactly_the_options_of_its_contract(tmp_path: Path) -> None:
    lab = laboratory()
    MapReduce.measure(request(tmp_path, peers=("qt",)), lab.services)
    command = next(one for one in lab.executor.commands if "tauto-mapreduce-qt" in one[0] and "4" in one)
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options["--cpus"] == "0,1"
    assert options["--threads"] == "4"
    assert options["--schedule"] == "unordered"
    assert set(options) == {
        *("--tasks", "--bytes", "--cpus", "--threads", "--schedule"),
        *("--warmup-seconds", "--min-seconds"),
    }


def test_bytes_of_short_tasks_come_from_the_probe(tmp_path: Path) -> None:
    quick, slow = laboratory(seconds_per_byte=1e-9), laboratory(seconds_per_byte=2.5e-9)
    one = MapReduce.measure(request(tmp_path / "one"), quick.services)
    other = MapReduce.measure(request(tmp_path / "other"), slow.services)
    assert [cell(one, length).bytes for length in ("1 µs", "100 µs", "400 kB")] == [1000, 100_000, 400_000]
    assert [cell(other, length).bytes for length in ("1 µs", "100 µs", "400 kB")] == [400, 40_000, 400_000]


def test_probes_that_differ_a_little_give_the_same_tasks(tmp_path: Path) -> None:
    """Or two sessions could not be compared."""
    for name, speed in (("a", 1.00e-9), ("b", 1.03e-9)):
        MapReduce.measure(request(tmp_path / name), laboratory(seconds_per_byte=speed).services)
    report = compare_results(str(tmp_path / "a"), str(tmp_path / "b"))
    with Store.read(tmp_path / "a") as store:
        assert len(report.lines) == len({row.config_id for row in store.rows()})


def test_probe_that_fails_stops_the_study(tmp_path: Path) -> None:
    lab = laboratory(seconds_per_byte=0.0)
    with pytest.raises(TautoError, match=r"a task takes 0\.0 s"):
        MapReduce.measure(request(tmp_path), lab.services)
    assert lab.executor.ran == []


def test_the_same_command_goes_on_and_measures_nothing_twice(tmp_path: Path) -> None:
    whole = laboratory()
    MapReduce.measure(request(tmp_path / "whole"), whole.services)
    broken = laboratory(interrupt_at=len(whole.executor.ran) // 2)
    with pytest.raises(KeyboardInterrupt):
        MapReduce.measure(request(tmp_path / "broken"), broken.services)
    assert "nothing can be said yet" in broken.text.getvalue()
    assert "fewer than the 8" in broken.text.getvalue()
    rest = laboratory(seconds_per_byte=1.5e-9)  # a noisy moment: no reason to measure other tasks
    MapReduce.measure(request(tmp_path / "broken"), rest.services)
    assert rest.executor.probes == 0
    assert sorted(broken.executor.ran + rest.executor.ran) == sorted(whole.executor.ran)


def test_a_library_with_a_wrong_sum_pays_nowhere(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path), laboratory(wrong={"qt": "b" * 16}).services)
    assert not [one for one in analysis.payoffs if one.runtime == "qt"]
    failed = [one for one in cell(analysis, "400 kB").configurations if one.runtime == "qt"]
    assert all(one.seconds is None and "the reference gives" in (one.error or "") for one in failed)


def test_an_absent_library_is_in_no_sentence(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path), laboratory(absent=("qt",)).services)
    assert not any("Qt" in sentence for sentence in analysis.verdict_sentences)


def test_each_runtime_leaves_a_timeline(tmp_path: Path) -> None:
    analysis = MapReduce.measure(request(tmp_path, report=True), laboratory().services)
    assert {one.runtime for one in analysis.traces} == set(SCHEDULES) - {"serial"}
    assert all((tmp_path / one.file).is_file() for one in analysis.traces)
    assert 'href="traces/qt.json"' in (tmp_path / "report.html").read_text()


def test_a_timeline_that_fails_is_named_and_changes_no_result(tmp_path: Path) -> None:
    lab = laboratory(errors={"stdpar": "failed"})
    analysis = MapReduce.measure(request(tmp_path), lab.services)
    assert "stdpar" not in {one.runtime for one in analysis.traces}
    assert any("timeline of stdpar" in one.what for one in analysis.not_measured)


def test_report_elsewhere_still_finds_the_timelines(tmp_path: Path) -> None:
    MapReduce.measure(request(tmp_path / "results"), laboratory().services)
    path = report_again(tmp_path / "results", tmp_path / "pages" / "mine.html")
    assert 'href="../results/traces/tbb.json"' in path.read_text()


def test_report_has_its_parts_in_order(tmp_path: Path) -> None:
    MapReduce.measure(request(tmp_path, report=True, emulate=({1: 4.0},)), laboratory().services)
    html = (tmp_path / "report.html").read_text()
    ids = re.findall(r'<(?:section|figure|h2) id="([a-z-]+)"', html)
    charts = [
        f"chart-{name}" for name in ("pays", "speedup", "ratio", "waiting", "parts", "busy", "switches")
    ]
    after = ["timelines", "settings", "configurations", "method", "machine"]
    assert ids == ["sentences", "overview", "charts", *charts, *after]
    words = visible(html)
    assert "tauto::map_reduce(team, jobs, task, reduce)" in words
    assert "QtConcurrent::blockingMappedReduced" in words
    assert "cannot be tested here not measurable with 2 CPUs, it needs 14" in words
    assert "CPU 1 made 4× slower (emulated)" in words


def test_parts_of_the_waiting_are_what_the_rows_tell(tmp_path: Path) -> None:
    lab = laboratory()
    analysis = MapReduce.measure(request(tmp_path, threads=(2, 4)), lab.services)
    found = [
        (cell, one)
        for cell in analysis.cells
        for one in cell.configurations
        if one.waiting is not None and one.waiting_share
    ]
    assert found
    for cell, one in found:
        waits = one.waiting
        assert waits.waking_up == pytest.approx(0.5 * one.waiting_share)
        assert waits.taking_tasks == pytest.approx(0.125 * one.waiting_share)
        law = (1 - one.waiting_share) * (cell.cpus - one.ideal_speedup) / one.ideal_speedup
        if one.threads == cell.cpus:
            assert waits.whole_tasks == pytest.approx(min(0.25 * one.waiting_share, law), abs=1e-9)
        assert waits.whole_tasks + waits.uneven == pytest.approx(0.375 * one.waiting_share)


def test_a_lower_clock_explains_its_part_of_a_longer_task(tmp_path: Path) -> None:
    lab = laboratory()
    lab.executor.hertz = {"serial": 4e9, "qt": 2e9}
    analysis = MapReduce.measure(request(tmp_path, report=True), lab.services)
    for cell in analysis.cells:
        for one in cell.configurations:
            clock = {"serial": 4e9, "qt": 2e9}.get(one.runtime)
            assert one.clock_hertz == (None if clock is None else pytest.approx(clock))
            assert one.stretch_by_clock == (None if clock is None else pytest.approx(4e9 / clock))
    assert "by the clock" in json.dumps(embedded((tmp_path / "report.html").read_text())["columns"])


def test_without_cycles_no_clock_is_shown(tmp_path: Path) -> None:
    lab = laboratory()
    analysis = MapReduce.measure(request(tmp_path, report=True), lab.services)
    assert {one.clock_hertz for cell in analysis.cells for one in cell.configurations} == {None}
    assert "by the clock" not in json.dumps(embedded((tmp_path / "report.html").read_text())["columns"])


@pytest.mark.parametrize(
    ("hertz", "holds", "words"),
    [
        ({}, True, "cycles are not counted"),
        ({"qt": 3e9, "tbb": 3.6e9}, True, "3.00 and 3.60 GHz"),
        ({"qt": 3e9, "tbb": 3.1e9}, False, "3.00 and 3.10 GHz"),
    ],
)
def test_the_clock_decides_with_the_waiting_where_it_is_counted(
    tmp_path: Path, hertz: dict[str, float], holds: bool, words: str
) -> None:
    lab = laboratory(machine=machine(32))
    lab.executor.hertz = hertz
    lab.executor.waits = {"qt": 0.6, "tbb": 0.3}
    lab.executor.stretch = 2.0
    asked = request(tmp_path, workloads=PUBLISHED, peers=("qt", "tbb"), threads=(1, 32))
    analysis = MapReduce.measure(asked, lab.services)
    (fifth,) = (one for one in analysis.claims if one.id == "M5")
    assert fifth.holds is holds
    assert words in fifth.ours + fifth.note


def test_the_chart_of_the_waiting_says_who_loses_most_by_what(tmp_path: Path) -> None:
    lab = laboratory()
    lab.executor.waits = {"qt": 0.8}
    MapReduce.measure(request(tmp_path, report=True), lab.services)
    words = visible((tmp_path / "report.html").read_text())
    assert "With 50 × 1 µs, QtConcurrent loses 40 % of the CPUs’ time by waking up" in words


def test_report_says_where_threads_slept(tmp_path: Path) -> None:
    lab = laboratory()
    lab.executor.sleeps = [{"place": "QBasicMutex::lockInternal()", "threads": 0.5, "addresses": 1}]
    MapReduce.measure(request(tmp_path, report=True), lab.services)
    words = visible((tmp_path / "report.html").read_text())
    assert "asleep on average: 0.5 threads in QBasicMutex::lockInternal() (1 place in memory)" in words


def test_chart_of_speedups_has_a_panel_for_each_kind_of_tasks(tmp_path: Path) -> None:
    MapReduce.measure(request(tmp_path, report=True), laboratory().services)
    html = (tmp_path / "report.html").read_text()
    for name in ("50 × 1 µs", "50 × 100 µs", "50 × 400 kB"):
        assert f"<h3>{name}</h3>" in html
    data = embedded(html)
    assert {"speedups", "laws", "lengths", "ratios", "switches"} <= data["tables"].keys()
    assert len(data["tables"]["laws"]["rows"]) == 3 * 4


def test_two_runtimes_of_one_study_are_compared_in_pairs(tmp_path: Path) -> None:
    MapReduce.measure(request(tmp_path), laboratory().services)
    sides = [f"{tmp_path}@library={name},threads=2" for name in ("qt", "tautochrone")]
    report = compare_results(*sides)
    assert report.paired
    assert len(report.lines) == 3
    assert report.overall.verdict == "faster"


def test_announcement_names_tasks_and_slowed_cpus(tmp_path: Path) -> None:
    lab = laboratory()
    MapReduce.measure(request(tmp_path, emulate=({1: 4.0},)), lab.services)
    printed = lab.messages.getvalue()
    assert "tasks 50 × 1 µs, 50 × 100 µs, 50 × 400 kB; threads 1, 2, 4" in printed
    assert "Recording the timelines of some runs" in printed
    assert "CPU:FACTOR 1:4" in printed


# Bytes of a task (50 of them) → the median seconds of a quick run from start to end: two virtual cores, which
# hash a byte in 1.27 ns.
RUNS_TOOK = {800: 0.200, 8_000: 0.202, 80_000: 0.235, 400_000: 0.380}


@pytest.mark.parametrize("size", RUNS_TOOK)
def test_the_time_that_is_announced_is_what_runs_took(size: int) -> None:
    work = sized(Workload(50, bytes=size), 1.27e-9)
    assert estimated_run_seconds(work, MapReduce.QUICK) == pytest.approx(RUNS_TOOK[size], rel=0.1)


def test_a_quick_study_of_all_peers_is_announced_with_five_minutes_at_most(tmp_path: Path) -> None:
    lab = laboratory()
    MapReduce.measure(MapReduceRequest(output=tmp_path, quick=True, report=False), lab.services)
    minutes = re.search(r"about (\d+) min", lab.messages.getvalue())
    assert int(minutes.group(1)) <= 5
    assert MapReduce.QUICK.rounds >= 12  # a verdict at 99 % does not need all of them to agree


class ShortMapReduce(MapReduce):
    """The same study with shorter runs."""

    QUICK = Times(0.005, 0.01, 8)


@pytest.mark.timed
@pytest.mark.machine
def test_small_study_with_the_real_runners(tmp_path: Path, measured_machine: Mapping[str, Any]) -> None:
    need_executables(*(f"mapreduce-{one}" for one in ("serial", "openmp", "async", "tautochrone")))
    said = io.StringIO()
    works = (Workload(50, seconds=1e-5),)
    asked = MapReduceRequest(output=tmp_path, quick=True, workloads=works, peers=("libgomp", "async"))
    services = quiet_services(measured_machine, said)
    analysis = ShortMapReduce.measure(asked, services)
    with Store.read(tmp_path) as store:
        rows = store.rows()
    assert [row.error for row in rows if row.error is not None] == []
    assert len({row.check["sum"] for row in rows}) == 1  # whoever computed it
    parts = [f"{part}_share" for part in ("starting", "between", "unfed", "ending", "returning")]
    for row in rows:
        if row.config["threads"] <= len(row.config["cpus"]):
            whole = row.detail["waiting_share"]
            assert sum(row.detail[part] for part in parts) == pytest.approx(whole, abs=1e-6)
    for cell in analysis.cells:
        assert cell.task_seconds < 1e-3
        for one in cell.configurations:
            assert one.seconds is not None
            assert 0 <= one.waiting_share < 1
            assert one.cpu_load is not None
            assert one.voluntary_switches is not None
            assert one.runtime == "serial" or one.pays is not None
    assert {one.runtime for one in analysis.traces} == {"libgomp", "async", "tautochrone"}
    for trace in analysis.traces:
        events = json.loads((tmp_path / trace.file).read_text())
        names = {event.get("name") for event in events["traceEvents"]}
        assert {"task 0", "task 49"} <= names
    assert "On this machine" in said.getvalue()
    assert (tmp_path / "report.html").stat().st_size < 1_500_000
