"""The loop study from the request to the report, on a model of a machine that takes no time."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import sample_rows
from measuring import changed
from study_fakes import machine, need_executables, quiet_services
from study_loop_fakes import laboratory, request
from tautochrone import text
from tautochrone.errors import TautoError
from tautochrone.measuring.sampler import LoadSample
from tautochrone.results.row import SCREENING
from tautochrone.results.store import Store
from tautochrone.studies.loop import sentences
from tautochrone.studies.loop.cells import CellRuns, Contender, waiting_of
from tautochrone.studies.loop.findings import Cell, CpuLoad, LoopAnalysis
from tautochrone.studies.loop.load_page import load_charts
from tautochrone.studies.loop.study import Loop, LoopRequest
from tautochrone.studies.request import Times
from tautochrone.verdicts import Ratio

EMULATED = ({1: 2.0}, {1: 4.0})


def cell(analysis: LoopAnalysis, size: int, emulated: dict[str, float]) -> Cell:
    return next(one for one in analysis.cells if one.size == size and dict(one.emulated) == emulated)


def test_unequal_cores_get_all_cores_and_the_adaptive_schedule(tmp_path: Path) -> None:
    lab = laboratory()
    analysis = Loop.measure(request(tmp_path, emulate=EMULATED), lab.services)
    advice = next(one for one in analysis.verdict_sentences if "four times slower, use" in one)
    assert "use all cores with tautochrone's adaptive schedule" in advice
    # model: 0.5·4 against 1/1.25 of the work, so 60 % less at the large size, less at the small one
    assert "% less time" in advice
    assert "12 rounds at each of 2 sizes" in advice
    assert analysis.verdict_sentences[0].startswith("On this machine")
    assert cell(analysis, 2000, {"1": 4.0}).ratio.verdict == "faster"
    assert analysis.verdict_sentences[0] in lab.text.getvalue()


def test_bound_comes_from_runs_on_the_fast_and_on_the_slow_core_alone(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path, emulate=({1: 4.0},)), laboratory().services)
    found = cell(analysis, 2000, {"1": 4.0})
    # 4e-4 s alone on the fast, 16e-4 s on the slow core: T* = 3.2e-4 s, S = 1.25
    assert found.fast_seconds == pytest.approx(4e-4, rel=0.01)
    assert found.slow_seconds == pytest.approx(16e-4, rel=0.01)
    assert found.bound_seconds == pytest.approx(3.2e-4, rel=0.01)
    assert found.bound_speedup == pytest.approx(1.25, rel=0.01)


def test_bound_of_equal_cores_comes_from_the_serial_loop_on_each(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path), laboratory().services)
    found = cell(analysis, 2000, {})
    assert found.bound_speedup == pytest.approx(2.0, rel=0.01)
    assert found.fast_seconds is None
    assert found.slow_seconds is None


def test_small_loop_beside_a_slow_core_stays_on_the_fast_one(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path, sizes=(50, 2000), emulate=({1: 4.0},)), laboratory().services)
    by_size = next(one for one in analysis.verdict_sentences if "four times slower, by size" in one)
    assert "n = 50: serial, fast cores only (nothing is clearly faster); n = 2000: tautochrone" in by_size
    best = cell(analysis, 50, {"1": 4.0}).best_peer
    assert "fast cores only" in best


def test_every_peer_is_there_at_its_default_and_at_its_best(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path, emulate=({1: 4.0},)), laboratory().services)
    roles = {(one.runtime, one.role) for one in cell(analysis, 2000, {"1": 4.0}).peer_ratios}
    wanted = {"libgomp", "libomp", "tbb", "stdpar", "openblas"}
    assert roles == {(peer, role) for peer in wanted for role in ("best", "default")}


def test_processes_are_measured_where_they_are_named(tmp_path: Path) -> None:
    asked = request(tmp_path, peers=("libgomp", "openmpi"), emulate=({1: 4.0},))
    found = cell(Loop.measure(asked, laboratory().services), 2000, {"1": 4.0})
    assert {one.runtime for one in found.peer_ratios} == {"libgomp", "openmpi"}
    (shown,) = (one for one in found.configurations if one.runtime == "openmpi" and one.placement == "all")
    assert (shown.schedule, shown.is_finalist) == ("static", True)


def test_screening_rows_are_never_reported(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path), laboratory().services)
    with Store.read(tmp_path) as store:
        screened = {row.config_id for row in store.rows(SCREENING)}
        measured = {row.config_id for row in store.rows()}
    assert len(screened) > len(measured & screened) > 0
    dropped = [one for one in analysis.cells[0].configurations if not one.is_finalist]
    assert dropped
    assert all(not one.points for one in dropped)


def test_all_settings_are_measured_in_every_round_without_a_screening(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path, all_settings=True, rounds=8), laboratory().services)
    with Store.read(tmp_path) as store:
        assert not store.rows(SCREENING)
        measured = {row.config_id for row in store.rows()}
    tried = [one for found in analysis.cells for one in found.configurations]
    assert len(tried) == len(measured) > 60
    assert {len(one.points) for one in tried} == {8}


def test_chunk_chart_holds_every_chunk_that_was_tried(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path), laboratory().services)
    ways = [(one.runtime, one.schedule, one.chunk) for one in analysis.chunk_series]
    assert {chunk for *way, chunk in ways if way == ["libgomp", "dynamic"]} == {1, 2, 16}


def test_each_cell_runs_in_its_own_state_of_the_machine(tmp_path: Path) -> None:
    lab = laboratory()
    Loop.measure(request(tmp_path, emulate=EMULATED), lab.services)
    for group, on in lab.executor.states:
        state = group.partition("emulated=")[2]
        assert on == (frozenset() if state == "none" else {state})
    assert len({group for group, _ in lab.executor.states}) == 6
    known = Loop.known_of(tmp_path)
    assert known.measured_reading_factors == {"1:2": {"1": 2.2}, "1:4": {"1": 4.4}}
    assert known.measured_turns == {"1:2": {"1": 5e-5}, "1:4": {"1": 5e-5}}
    assert lab.executor.on == set()


def test_the_machine_is_measured_again_between_rounds_with_nothing_slowed(tmp_path: Path) -> None:
    lab = laboratory()
    Loop.measure(request(tmp_path, emulate=EMULATED), lab.services)
    store = Store.read(tmp_path)
    assert len(store.machines) == 1 + len(lab.probes) > 3
    assert set(map(frozenset, lab.probes)) == {frozenset()}
    assert store.machine["measured"] != store.machines[1]["measured"]
    assert store.machines[1]["measured"]["again"] == 1
    # At most every half minute: a run of the model takes a tenth of a second.
    assert len(lab.probes) <= len(lab.executor.ran) / 300


def test_a_probe_that_fails_between_rounds_leaves_no_record(tmp_path: Path) -> None:
    lab = laboratory(probe_error=TautoError("the probe hangs"))
    Loop.measure(request(tmp_path, emulate=EMULATED), lab.services)
    assert lab.probes
    assert len(Store.read(tmp_path).machines) == 1


def test_rounds_of_the_cells_are_interleaved(tmp_path: Path) -> None:
    lab = laboratory()
    Loop.measure(request(tmp_path, emulate=({1: 4.0},)), lab.services)
    groups = [group for group, _ in lab.executor.states]
    turns = [group for place, group in enumerate(groups) if place == 0 or groups[place - 1] != group]
    assert len(turns) > 4 * 8 / 2  # 4 cells, each with a turn in every round; two turns may meet


def test_the_machine_as_it_is_has_its_answer_before_a_cpu_is_slowed(tmp_path: Path) -> None:
    lab = laboratory()
    slowed_before: dict[str, bool] = {}

    class Messages(io.StringIO):
        def write(self, words: str) -> int:
            slowed_before[words] = any(on for _, on in lab.executor.states)
            return super().write(words)

    lab.messages = Messages()
    analysis = Loop.measure(request(tmp_path, emulate=({1: 4.0},)), lab.services)
    # All that the report says of it, in the same words.
    said = list(itertools.takewhile(lambda one: not one.startswith("With CPU 1"), analysis.verdict_sentences))
    assert said[0].startswith("On this machine as it is, ")
    assert any("other settings that were tried" in one for one in said)
    assert [slowed_before.get(one) for one in said] == [False] * len(said)
    assert any(on for _, on in lab.executor.states)


def test_interrupted_before_eight_rounds_gives_no_verdict(tmp_path: Path) -> None:
    counted = laboratory()
    Loop.measure(request(tmp_path / "whole"), counted.services)
    of_a_round = [row for row in Store.read(tmp_path / "whole").rows() if row.round == 0]
    # The last five of the twelve rounds are missing.
    lab = laboratory(interrupt_at=len(counted.executor.ran) - 5 * len(of_a_round))
    with pytest.raises(KeyboardInterrupt):
        Loop.measure(request(tmp_path / "part"), lab.services)
    assert "nothing can be recommended" in lab.text.getvalue()
    assert "fewer than the 8" in lab.text.getvalue()
    assert "by size" not in lab.text.getvalue()


def test_a_wrong_answer_never_wins(tmp_path: Path) -> None:
    lab = laboratory(wrong={"tbb static": "c" * 16})
    analysis = Loop.measure(request(tmp_path), lab.services)
    for measured in analysis.cells:
        assert "tbb static" not in measured.best_peer


def test_openblas_may_differ_in_its_bits(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path), laboratory().services)
    times = [one.seconds for one in analysis.cells[0].configurations if one.runtime == "openblas"]
    assert times
    assert None not in times


def test_ours_failing_gives_no_recommendation(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path), laboratory(errors={"adaptive": "failed"}).services)
    words = "nothing can be recommended: tautochrone's own runs are missing or failed"
    assert words in analysis.verdict_sentences[0]


def test_runs_that_differ_by_half_and_more_are_no_advice() -> None:
    def said(wildness: float) -> str:
        rows = sample_rows.loop_rows(sizes=(500,), factors=(1,))
        wild = [
            changed(row, seconds=row.seconds * wildness ** (1 if row.round % 2 else -1))
            if row.config["runtime"] == "tautochrone"
            else row
            for row in rows
        ]
        return sample_rows.loop_analysis(wild).verdict_sentences[0]

    assert "nothing can be said: the runs differ too much (between" in said(8.0)
    assert "nothing can be said" not in said(1.1)


def test_where_no_setting_is_faster_there_is_nothing_to_paste_for_it() -> None:
    rows = sample_rows.loop_rows(sizes=(500,), factors=(1,))
    alike = [changed(row, seconds=1.0 + 0.001 * (row.round % 3)) if row.seconds else row for row in rows]
    pasted = sample_rows.loop_analysis(alike).settings_to_paste
    assert not any(one.label.startswith(("OpenMP", "oneTBB")) for one in pasted)
    assert not any(one.text.startswith("#") and "\n" not in one.text for one in pasted)


def test_only_the_peers_asked_for_are_measured(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path, peers=("tbb",)), laboratory().services)
    runtimes = {one.runtime for one in analysis.cells[0].configurations}
    assert runtimes == {"serial", "tbb", "tautochrone"}


def test_emulation_that_is_refused_stops_the_study_before_any_run(tmp_path: Path) -> None:
    lab = laboratory(slowdown_error=TautoError("no right to SCHED_FIFO", "Start as root"))
    with pytest.raises(TautoError, match="SCHED_FIFO"):
        Loop.measure(request(tmp_path, emulate=EMULATED), lab.services)
    assert lab.executor.ran == []


def test_emulation_that_is_only_wanted_leaves_equal_cores_and_says_why(tmp_path: Path) -> None:
    lab = laboratory(slowdown_error=TautoError("no right to SCHED_FIFO", "Start as root"))
    analysis = Loop.measure(request(tmp_path, emulate_if_possible=EMULATED), lab.services)
    assert all(dict(one.emulated) == {} for one in analysis.cells)
    assert "warning: measured without 1:2: no right to SCHED_FIFO. Start as root" in lab.messages.getvalue()
    assert any("1:4" in one.what and one.remedy == "Start as root" for one in analysis.not_measured)


def test_claims_are_judged_or_say_why_not(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path, emulate=({1: 4.0},)), laboratory().services)
    found = {claim.id: claim for claim in analysis.claims}
    assert list(found) == [f"H{number}" for number in range(1, 13)]
    assert found["H1"].holds is True
    assert found["H11"].holds is True  # 4 > 1 + 1/1, and equal shares lose
    assert {found[id].holds for id in ("H2", "H3", "H4", "H10")} == {None}  # figures of another machine
    assert all(claim.note for claim in analysis.claims if claim.holds is None)


def hybrid_with_two_threads_a_fast_core() -> dict[str, Any]:
    """CPUs 0 to 3 on two P-cores, 4 to 7 on E-cores."""
    record = machine(8, ["P"] * 4 + ["E"] * 4)
    for cpu in record["cpus"][:4]:
        cpu["core"] = cpu["cpu"] // 2
    return record


@pytest.mark.parametrize(("kernel", "decided"), [("published", True), ("tuned", False)])
def test_only_the_published_kernel_on_two_kinds_of_cores_decides_what_was_published(
    tmp_path: Path, kernel: str, decided: bool
) -> None:
    lab = laboratory(machine=hybrid_with_two_threads_a_fast_core())
    asked = request(tmp_path, kernel=kernel, sizes=(2000, 4000, 8000))
    found = {claim.id: claim for claim in Loop.measure(asked, lab.services).claims}
    for id in ("H2", "H3", "H4", "H5", "H6", "H8", "H9", "H10"):
        assert (found[id].holds is not None) == decided, id
    assert "--kernel published" in found["H2"].note or decided
    assert any("--kernel" in command for command in lab.executor.commands) == decided
    assert "fast cores only on CPUs 0-3" in found["H1"].ours
    assert found["H7"].holds is None  # no counters here


def test_each_placement_has_its_lines_to_paste(tmp_path: Path) -> None:
    lab = laboratory(machine=hybrid_with_two_threads_a_fast_core())
    analysis = Loop.measure(request(tmp_path), lab.services)
    (lines,) = (one.text for one in analysis.settings_to_paste if "where its threads run" in one.label)
    for words in (
        "# all cores: CPUs 0-7",
        "KMP_HW_SUBSET=2c:intel_core,4c:intel_atom\n",
        "KMP_HW_SUBSET=2c:intel_core,4c:intel_atom,1t",
        '# one thread a fast core: CPUs 0,2\nexport OMP_NUM_THREADS=2 OMP_PLACES="{0},{2}"',
        "KMP_HW_SUBSET=2c:intel_core\n",
        "KMP_HW_SUBSET=2c:intel_core,1t",
        "KMP_HW_SUBSET=4c:intel_atom",
    ):
        assert words in lines


def recorded(*working: float, seconds: float = 1.0) -> dict[str, Any]:
    workers = [
        {"thread": thread, "cpu": thread, "working_seconds": each} for thread, each in enumerate(working)
    ]
    loop = {"seconds": seconds / 10, "working_seconds": [each / 10 for each in working]}
    return {"waiting": {"loops": 10, "seconds": seconds, "workers": workers, "first_loops": [loop]}}


def test_a_core_that_spins_waits_and_the_page_says_so() -> None:
    waiting = waiting_of(recorded(0.25, 1.0))
    assert waiting is not None
    assert [waiting.share(cpu) for cpu in ("0", "1")] == [0.75, 0.0]
    samples = tuple(LoadSample(cpu, 0.1, 1.0) for cpu in (0, 1))  # both look busy
    load = CpuLoad(
        runtime="libgomp",
        size=4000,
        emulated={"1": 4.0},
        configuration="libgomp pragma, all cores",
        samples=samples,
        waiting=waiting,
    )
    chart, clocks = load_charts([load])
    assert chart.heading == "CPU 0 waits 75 % of the loops’ time under libgomp pragma, all cores"
    assert not clocks.records
    waits = [one for one in chart.records if one["cpu"] == "CPU 0" and one["busy"] == 0]
    assert [(one["begin"], one["end"]) for one in waits] == [(pytest.approx(0.025), pytest.approx(0.1))]
    assert waiting_of({"waiting": None}) is None


def test_clocks_are_drawn_where_there_are_any() -> None:
    samples = tuple(LoadSample(cpu, 0.1, 1.0, hertz) for cpu, hertz in ((0, 5.7e9), (1, 4.4e9)))
    load = CpuLoad(runtime="tbb", size=4000, emulated={}, configuration="tbb auto", samples=samples)
    _, clocks = load_charts([load])
    assert {one["hertz"] for one in clocks.records} == {5.7e9, 4.4e9}


def test_equal_cores_leave_the_unequal_claims_open(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path), laboratory().services)
    found = {claim.id: claim for claim in analysis.claims}
    assert found["H4"].holds is None
    assert "--emulate 1:4" in found["H4"].note


def test_a_hybrid_machine_needs_no_emulation(tmp_path: Path) -> None:
    hybrid = machine(6, ["P", "P", "E", "E", "E", "E"])
    analysis = Loop.measure(request(tmp_path), laboratory(machine=hybrid).services)
    found = cell(analysis, 2000, {})
    assert {one.placement for one in found.configurations} >= {"all", "fast", "slow"}
    everywhere = next(one for one in found.configurations if one.runtime == "tautochrone" and one.is_default)
    assert dict(everywhere.cores) == {"P": 2, "E": 4}
    assert found.bound_seconds is not None


def test_cores_that_ran_are_in_the_analysis(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path, emulate=({1: 4.0},)), laboratory().services)
    slowed = (one for one in analysis.cores_used if "4× slower" in one.configuration)
    ours = next(one for one in slowed if one.runtime == "tautochrone")
    assert ours.ran_on_cpus == (0, 1)
    assert dict(ours.asked) == {"fast": 1, "slow": 1}
    assert dict(ours.rows_share) == {"0": 0.5, "1": 0.5}


def test_bandwidth_is_compared_with_the_triad_of_as_many_members(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path), laboratory().services)
    point = next(one for one in analysis.bandwidth if one.runtime == "tautochrone" and one.size == 2000)
    # 16 MB in about 2.02e-4 s are 79 GB/s, of 20 GB/s
    assert point.members == 2
    assert point.triad_share == pytest.approx(16e6 / 2.02e-4 / 2e10, rel=0.02)


def test_settings_name_the_schedule_that_was_best(tmp_path: Path) -> None:
    analysis = Loop.measure(request(tmp_path, emulate=({1: 4.0},)), laboratory().services)
    shell = [one.text for one in analysis.settings_to_paste if one.language == "shell"]
    shell = [text for text in shell if "OMP_SCHEDULE" in text]
    assert 'export OMP_PLACES="{0},{1}"' in shell[-1]
    assert "OMP_NUM_THREADS=2" in shell[-1]
    assert any("tauto::parallel_for" in one.text for one in analysis.settings_to_paste)


def test_stored_machine_says_what_was_slowed(tmp_path: Path) -> None:
    Loop.measure(request(tmp_path, emulate=EMULATED), laboratory().services)
    with Store.read(tmp_path) as store:
        assert store.machine["emulated"] == [{"cpu": 1, "factor": 2.0}, {"cpu": 1, "factor": 4.0}]


def test_announcement_names_sizes_and_slowed_cpus(tmp_path: Path) -> None:
    lab = laboratory(illustrations=True)
    Loop.measure(request(tmp_path, emulate=({1: 4.0},)), lab.services)
    printed = lab.messages.getvalue()
    assert "sizes 400, 2000" in printed
    assert "Watching the load of each CPU" in printed
    assert "CPU:FACTOR 1:4" in printed


def test_sizes_that_do_not_fit_are_left_out_with_a_sentence(tmp_path: Path) -> None:
    small = machine(available_memory_bytes=30_000_000)
    analysis = Loop.measure(request(tmp_path, sizes=None), laboratory(machine=small).services)
    assert sorted({one.size for one in analysis.cells}) == [500, 1000, 2000]
    assert [one.why for one in analysis.not_measured] == [
        "size 4000 was left out: it needs 64.3 MB, and 24.0 MB may be used here"
    ]


@pytest.mark.parametrize(("low", "high", "quiet"), [(0.97, 1.02, True), (0.7, 1.4, False)])
def test_an_interval_that_is_too_wide_asks_to_measure_again(low: float, high: float, quiet: bool) -> None:
    verdict = "no difference resolved"
    middle = (low * high) ** 0.5
    found = Ratio(value=middle, low=low, high=high, confidence=0.992, rounds=8, verdict=verdict)
    printed = text.unresolved(found)
    assert ("quieter machine" not in printed) == quiet


def test_percentages_are_of_the_time_of_the_other() -> None:
    found = Ratio(value=0.63, low=0.61, high=0.65, confidence=0.992, rounds=12, verdict="faster")
    assert text.less_time(found, "that") == "37 % less time (35 to 39 %) than that"
    slower = Ratio(value=1.021, low=1.012, high=1.034, confidence=0.992, rounds=12, verdict="slower")
    assert text.less_time(slower, evidence="8 rounds") == "2.1 % more time (1.2 to 3.4 %, 8 rounds)"


def contender(library: str, schedule: str, *seconds: float) -> Contender:
    """On all cores, with these seconds in the rounds."""
    config = {"library": library, "schedule": schedule, "placement": "all"}
    return Contender(config, dict(enumerate(seconds)))


def test_a_difference_hidden_by_noise_does_not_favour_the_simpler_way() -> None:
    fast = contender("libomp", "guided", 1.0, 1.0, 1.0, 1.0, 4.0, 1.0, 1.0, 1.0)
    serial = contender("serial", "serial", *[1.2 + 0.01 * round_ for round_ in range(8)])
    cell = CellRuns(4000, {1: 4.0}, [fast, serial])
    assert sentences.winner_words(cell) == fast.label
    ours = contender("tautochrone", "adaptive", 1.02, 1.01, 1.02, 1.03, 1.0, 1.01, 1.02, 1.03)
    cell.contenders.append(ours)
    assert sentences.winner_words(cell) == f"{ours.label} (nothing is clearly faster)"


class ShortLoop(Loop):
    """The same study with shorter runs."""

    QUICK = Times(0.005, 0.01, 8, screening=Times(0.0025, 0.005, 1))


@pytest.mark.timed
@pytest.mark.machine
def test_small_study_with_the_real_runners(tmp_path: Path, measured_machine: Mapping[str, Any]) -> None:
    need_executables("loop-serial", "loop-openmp", "loop-tautochrone")
    said = io.StringIO()
    asked = LoopRequest(output=tmp_path, quick=True, sizes=(200, 300), peers=("libgomp",))
    services = quiet_services(measured_machine, said)
    analysis = ShortLoop.measure(asked, services)
    with Store.read(tmp_path) as store:
        good = [row for row in store.rows() if row.error is None]
        answers = {(row.config["size"], row.check["solution_fnv1a"]) for row in good}
    assert len(answers) == 2  # one for each size, whoever computed it
    for cell in analysis.cells:
        assert cell.ratio.verdict != "not measured"
        assert cell.bound_seconds is not None
    assert {one.runtime for one in analysis.cells[0].configurations} == {"serial", "libgomp", "tautochrone"}
    for used in analysis.cores_used:
        assert set(used.ran_on_cpus) <= set(used.asked_cpus)
        assert sum(used.rows_share.values()) == pytest.approx(1)
    assert analysis.bandwidth
    assert {load.runtime for load in analysis.cpu_load} >= {"tautochrone"}
    assert "On this machine" in said.getvalue()
    assert (tmp_path / "report.html").stat().st_size < 1_500_000
