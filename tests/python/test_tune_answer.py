"""The answer: words, table, effects, lines to paste, report; from rows that were made up."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from measuring import MACHINE, changed
from page_content import embedded, visible
from tautochrone import report
from tautochrone.energy.recorder import ClosingExecutor
from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.objective import PrintedNumber, parse_objective
from tautochrone.results.context import save
from tautochrone.results.row import Row
from tautochrone.results.store import Store
from tautochrone.tune.analysis import analyse
from tautochrone.tune.applying import settings_to_paste, write_profile
from tautochrone.tune.effect_check import displayed, read_displayed, same, took_effect
from tautochrone.tune.effects import main_effects
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.services import Services
from tautochrone.tune.space import DEFAULT
from tautochrone.tune.tuning import report_again
from tune_answers import FASTER, answer, context, rows_of
from tune_fakes import machine


def test_the_first_sentence_says_what_to_set_and_what_it_brings() -> None:
    assert answer().verdict_sentences[0] == (
        "Use 8 OpenMP threads and loops shared as dynamic,2: 23 % less time than now (23 to 23 %), 38 runs."
    )


def test_a_result_that_is_not_resolved_is_left_alone() -> None:
    wavering = [
        changed(one, seconds=1.05 if number % 2 else 0.95)
        for number, one in enumerate(rows_of("winner", FASTER, 1.0))
    ]
    found = analyse([*rows_of(DEFAULT, {}, 1.0), *wavering], {}, context())
    assert found.winner == DEFAULT
    assert found.settings == {}
    said = found.verdict_sentences[0]
    assert said.startswith("Leave it as it is: no other setting is better as far as 24 runs can resolve")
    assert "8 OpenMP threads" in said
    assert found.settings_to_paste == ()


def test_runs_that_differ_by_half_and_more_are_no_advice() -> None:
    wild = [
        changed(one, seconds=4.0 if number % 2 else 0.3)
        for number, one in enumerate(rows_of("winner", FASTER, 1.0))
    ]
    found = analyse([*rows_of(DEFAULT, {}, 1.0), *wild], {}, context())
    said = found.verdict_sentences[0]
    assert said.startswith("Nothing can be said: 24 runs differ too much")
    assert said.endswith("Tune again on a quieter machine.")
    assert found.settings == {}


@pytest.mark.parametrize(
    ("rounds", "rivals", "looks", "ended", "why", "needed"),
    [
        (5, 1, (12,), "budget", "the budget ended after 5 rounds of the final", 8),
        (10, 3, (10, 20, 40), "budget", "the budget ended after 10 rounds of the final", 11),
        (5, 1, (12,), "", "the search was stopped after 5 rounds of the final", 8),
        (0, 0, (), "", "the search was stopped before its final", None),
        (0, 0, (), "alone", "all others were slower in the screening", None),
    ],
)
def test_why_there_is_no_verdict_is_said(
    rounds: int, rivals: int, looks: tuple[int, ...], ended: str, why: str, needed: int | None
) -> None:
    rows = [
        *rows_of(DEFAULT, {}, 1.0, 1, "screening"),
        *rows_of("slow", {"X": "s"}, 1.5, 1, "screening"),
        *rows_of(DEFAULT, {}, 1.0, rounds),
        *(one for rival in range(rivals) for one in rows_of(f"r{rival}", {"X": f"{rival}"}, 0.5, rounds)),
    ]
    found = analyse(rows, {}, context(looks=looks, ended=ended))
    assert found.winner == DEFAULT
    end = f", and a verdict needs {needed}" if needed else ""
    assert found.verdict_sentences[0] == f"Leave it as it is: {why}{end}, {len(rows)} runs."


def failing(name: str, rounds: int, source: str = "measured") -> list[Row]:
    error = {"kind": "failed", "message": "it was killed by SIGSEGV"}
    rows = rows_of(name, {"X": name}, 0.5, rounds, source)
    return [changed(one, seconds=None, error=error) for one in rows]


def test_failures_are_not_called_slowness_or_want_of_time() -> None:
    def said(*rows: Row) -> str:
        default = [*rows_of(DEFAULT, {}, 1.0, 1, "screening"), *rows_of(DEFAULT, {}, 1.0)]
        return analyse([*default, *rows], {}, context()).verdict_sentences[0]

    assert "all others failed, " in said(*failing("bad", 2, "screening"))
    slow = rows_of("slow", {"X": "s"}, 1.5, 1, "screening")
    assert "all others were slower in the screening or failed" in said(*failing("bad", 2, "screening"), *slow)
    assert "all others failed in the final" in said(*failing("bad", 2))
    seldom = [*rows_of("seldom", {"X": "s"}, 0.5, 3), *failing("seldom", 5)[3:]]
    assert "no other has more than 3 good rounds beside it, and a verdict needs 8" in said(*seldom)


def test_runs_beside_other_programs_are_counted_by_the_cpus_of_the_machine() -> None:
    rows = rows_of(DEFAULT, {}, 1.0, others_cpu_seconds=0.1)  # 5 % of two CPUs, 1.25 % of eight
    two, eight = (machine([1.0] * cpus).to_dict() for cpus in (2, 8))
    assert analyse(rows, two, context()).notices[0].startswith("beside 12 of the final's 12 runs")
    assert analyse(rows, eight, context()).notices == ()


def test_what_makes_cpus_slow_on_purpose_disturbs_no_run() -> None:
    rows = rows_of(DEFAULT, {}, 1.0, others_cpu_seconds=0.5)
    slowed = machine().to_dict() | {"emulated": [{"cpu": 1, "factor": 4.0}]}
    assert analyse(rows, slowed, context()).notices == ()
    stolen = rows_of(DEFAULT, {}, 1.0, others_cpu_seconds=0.5, steal_seconds=0.5)
    assert analyse(stolen, slowed, context()).notices != ()


def test_what_failed_never_wins_and_is_named() -> None:
    bad = failing("bad", 2, "screening")
    found = analyse([*rows_of(DEFAULT, {}, 1.0), *rows_of("other", FASTER, 1.2), *bad], {}, context())
    assert found.winner == DEFAULT
    assert any("bad (it was killed by SIGSEGV)" in one for one in found.verdict_sentences)


def test_a_hang_is_no_slowness_where_the_objective_is_not_time() -> None:
    hung = {"kind": "timeout", "message": "it was stopped at the time limit of 10 s"}
    rows = [
        *rows_of(DEFAULT, {}, 1.0, max_rss_bytes=1 << 20),
        *rows_of("other", FASTER, 1.0, max_rss_bytes=1 << 20),
        *rows_of("hangs", {"X": "1"}, 10.0, 1, "screening", error=hung),
    ]
    said = " ".join(analyse(rows, {}, context(objective="memory")).verdict_sentences)
    assert "1 candidate failed and cannot win: hangs (it was stopped at the time limit of 10 s)" in said
    assert "1.3 times" not in said


def test_why_the_program_as_it_is_gave_no_result_is_said() -> None:
    wrong = {"kind": "wrong_answer", "message": "the reference itself gave 2 different answers"}
    rows = [*rows_of(DEFAULT, {}, 1.0, 2, error=wrong), *rows_of("other", FASTER, 1.0)]
    (said,) = analyse(rows, {}, context()).verdict_sentences
    assert said.endswith("gave no result: the reference itself gave 2 different answers.")


def given(**settings: str) -> dict[str, str]:
    """Those of the settings that are not empty."""
    return {name: value for name, value in settings.items() if value}


def test_larger_can_be_better() -> None:
    objective = parse_objective("regex-max:([0-9.,]+) ns/day")
    assert objective.matched("1.5 ns/day\nthen 3,000.5 ns/day") == 3000.5
    rows = [
        *(changed(one, detail={"objective": 10.0}) for one in rows_of(DEFAULT, {}, 1.0)),
        *(changed(one, detail={"objective": 12.5}) for one in rows_of("winner", FASTER, 1.0)),
    ]
    found = analyse(rows, {}, context(objective="regex-max:([0-9.]+) ns/day"))
    assert "25 % higher than now (25 to 25 %)" in found.verdict_sentences[0]
    winner, default = found.candidates
    assert (winner.figure, winner.low, winner.high, default.figure) == pytest.approx((12.5, 12.5, 12.5, 10))
    assert winner.ratio is not None
    assert winner.ratio.value == pytest.approx(1.25)
    assert winner.ratio.verdict == "faster"


@pytest.mark.parametrize("word", ["0,95", "0,125", "1,5", "12,34", "1,2,3", ",5"])
def test_a_decimal_comma_is_refused_and_never_taken_for_thousands(word: str) -> None:
    objective = parse_objective("regex:time: ([0-9.,]+)")
    assert isinstance(objective, PrintedNumber)
    value = objective.matched(f"time: {word} s")
    assert value == word
    assert "comma may stand before decimals or thousands" in objective.refusal(value)
    assert "LC_ALL=C" in objective.refusal(value)


@pytest.mark.parametrize(
    ("word", "value"), [("1,234", 1234.0), ("12,345,678.5", 12345678.5), ("0.125", 0.125), ("1e3", 1000.0)]
)
def test_commas_between_thousands_are_read(word: str, value: float) -> None:
    objective = parse_objective("regex:([0-9.,e]+)")
    assert isinstance(objective, PrintedNumber)
    assert objective.matched(word) == value
    assert objective.refusal(value) == ""


def test_what_makes_a_larger_number_larger_is_called_more() -> None:
    rates = {"": 10.0, "2": 20.0, "3": 30.0}
    rows = [
        changed(one, detail={"objective": rate * (1.1 if y else 1)})
        for x, rate in rates.items()
        for y in ("", "a", "b")
        for one in rows_of(f"{x}{y}" or DEFAULT, given(X=x, Y=y), 1.0)
    ]
    found = analyse(rows, {}, context(objective="regex-max:([0-9.]+) ns/day"))
    assert "What matters: X (3: 200 % more), Y (a: 10 % more)" in " ".join(found.verdict_sentences)


def test_a_number_on_standard_error_counts_where_standard_output_has_none() -> None:
    objective = parse_objective("regex-max:Performance: +([0-9.]+)")
    heading = "                 (ns/day)    (hour/ns)\n"
    assert objective.matched("", f"{heading}Performance:      284.512        0.084\n") == 284.512
    assert objective.matched("Performance: 1", "Performance: 2") == 1.0
    assert objective.matched("", heading) is None


def test_memory_and_energy_have_their_own_figures() -> None:
    memory = rows_of(DEFAULT, {}, 1.0, max_rss_bytes=1 << 20)
    assert parse_objective("memory").figure(memory[0]) == 1 << 20
    ranks = changed(memory[0], detail={"processes_bytes": 4 << 20})
    assert parse_objective("memory").figure(ranks) == 4 << 20
    assert parse_objective("memory").figure(changed(memory[0], detail={"processes_bytes": None})) == 1 << 20
    metered = rows_of(DEFAULT, {}, 2.0, energy={"status": "measured", "joules": 30.0})
    assert parse_objective("energy").figure(metered[0]) == 30.0
    assert parse_objective("edp").figure(metered[0]) == 60.0
    squared = parse_objective("ed2p")
    assert squared.needs_meter
    assert squared.figure(metered[0]) == 120.0
    assert squared.written(120.0) == "120 Js²"
    assert squared.less[0] == "less energy times time squared"


def test_main_effects_are_found_again() -> None:
    grid = [
        (given(T=t, S=s), (0.5 if t == "8" else 1.0) * (1.2 if s else 1.0))
        for t in ("", "4", "8")
        for s in ("", "x")
    ]
    found = {(one.knob, one.value): one for one in main_effects(grid)}
    assert found[("T", "8")].factor == pytest.approx(0.5)
    assert found[("S", "x")].factor == pytest.approx(1.2)
    assert found[("T", "4")].factor == pytest.approx(1.0)
    assert main_effects(grid[:1]) == ()


def pasted(settings: dict[str, str], **fields: object) -> dict[str, str]:
    """The lines to paste by their labels."""
    made = settings_to_paste(context(**{"working_folder": "/home/me", **fields}), settings)
    return {one.label: one.text for one in made}


def test_an_effect_is_against_what_the_program_has_now() -> None:
    """The default of a command with {threads} has a value too, and was compared with a mean of all times."""
    times = {"2": 0.05, "1": 0.06, "4": 0.05}
    picks = [given(threads=count, X=x) for count in times for x in ("", "a", "b")]
    rows = [
        one
        for pick in picks
        for one in rows_of(DEFAULT if pick == {"threads": "2"} else str(pick), pick, times[pick["threads"]])
    ]
    found = analyse(rows, {}, context(base={"threads": "2"})).effects
    others = {("threads", "1"), ("threads", "4"), ("X", "a"), ("X", "b")}
    assert {(one.knob, one.value) for one in found} == others
    assert found[0].value == "1"
    assert found[0].factor == pytest.approx(1.2, rel=0.01)
    assert all(one.factor == pytest.approx(1, rel=0.01) for one in found[1:])


def test_a_knob_of_the_answer_is_not_said_to_make_no_difference() -> None:
    """One thread and one CPU do the same: the sum of their effects fits neither, and the winner is one."""
    thread, cpu, other = {"T": "1"}, {"C": "0"}, {"W": "a"}
    picks: list[dict[str, str]] = [{}, thread, cpu, thread | cpu, thread | other, cpu | other]
    rows = [one for pick in picks for one in rows_of(str(pick or DEFAULT), pick, 0.3 if pick else 1.0)]
    found = analyse(rows, {}, context())
    assert found.settings
    assert not any(one.resolved for one in found.effects)
    assert "No knob" not in " ".join(found.verdict_sentences)


@pytest.mark.parametrize(
    ("factor", "said"), [(1.004, "of more than 1 %"), (1.0, "that 144 runs can resolve")]
)
def test_what_is_resolved_and_small_is_not_called_unresolved(factor: float, said: str) -> None:
    picks = [given(T=t, W=w) for t in ("", "1", "2") for w in "abcd"]
    picks[0] = {}
    rows = [
        one for pick in picks for one in rows_of(str(pick or DEFAULT), pick, factor if "T" in pick else 1.0)
    ]
    assert f"No knob by itself makes a difference {said}." in analyse(rows, {}, context()).verdict_sentences


def test_a_setting_that_all_candidates_have_has_no_effect_of_its_own() -> None:
    found = main_effects([({"a": "1", "b": str(number % 2)}, 1.0 + number % 2) for number in range(8)])
    assert found == ()


def test_a_systemd_unit_finds_the_program_and_its_files() -> None:
    unit = pasted({"X": 'a "b" 5%'}, program=("sh", "-c", "echo $HOME 5%"))["systemd unit"]
    assert unit.splitlines() == [
        "[Service]",
        "WorkingDirectory=/home/me",
        'Environment="X=a \\"b\\" 5%%"',
        f'ExecStart={shutil.which("sh")} -c "echo $$HOME 5%%"',
    ]


def test_a_slurm_script_starts_what_has_a_launcher_by_that_alone() -> None:
    mpi = {"mpi_launcher": "mpirun", "program": ("mpirun", "-np", "2", "./solver")}
    script = pasted({"mpi_ranks": "4x2"}, **mpi)["Slurm script"].splitlines()
    assert script[-1] == "mpirun -np 4 ./solver"
    assert {"#SBATCH --ntasks=4", "#SBATCH --cpus-per-task=2", "export SRUN_CPUS_PER_TASK=2"} <= set(script)
    own = pasted({"OMP_NUM_THREADS": "3"}, mpi_launcher="srun", program=("srun", "-n2", "./solver"))
    assert own["Slurm script"].splitlines()[-1] == "srun -n2 ./solver"
    assert "#SBATCH --ntasks=2\n#SBATCH --cpus-per-task=3\n" in own["Slurm script"]
    inside = pasted({"OMP_NUM_THREADS": "3"}, mpi_launcher="mpirun", program=("./job.sh",))["Slurm script"]
    assert inside.splitlines()[-1] == "./job.sh"
    assert "--ntasks" not in inside


def test_a_slurm_script_asks_for_the_cpus_of_the_threads_and_not_for_numbers_of_cpus() -> None:
    plain = pasted({"OMP_NUM_THREADS": "8"})["Slurm script"]
    assert "#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=8\n" in plain
    assert plain.splitlines()[-1] == "srun --cpu-bind=none ./solver case.in"
    assert "cpus-per-task" not in pasted({"weighted_places": "0:4,1:1"})["Slurm script"]


def test_lines_to_paste_have_the_settings_of_each_place() -> None:
    settings = {"OMP_NUM_THREADS": "8", "nice": "5"}
    lines = pasted(settings)
    assert "export OMP_NUM_THREADS=8\nnice -n 5 ./solver case.in" in lines["Shell"]
    unit = 'Environment="OMP_NUM_THREADS=8"\nNice=5\nExecStart=/home/me/solver case.in'
    assert unit in lines["systemd unit"]
    assert "srun --cpu-bind=none nice -n 5 ./solver case.in" in lines["Slurm script"]
    assert 'ENV OMP_NUM_THREADS="8"\nCMD ["nice", "-n", "5", "./solver", "case.in"]' in lines["Dockerfile"]
    pinned = pasted({"cpus": "0-2"})
    assert "taskset -c 0,1,2 ./solver case.in" in pinned["Shell"]
    assert "CPUAffinity=0 1 2" in pinned["systemd unit"]


def test_lines_that_go_on_from_the_rows_can_be_pasted() -> None:
    """--fresh was given to the program, and a folder with a blank was two words."""
    found = answer(folder="my results", command="tauto tune --budget 1m -- ./solver 'case 1'")
    lines = {one.label: one.text for one in found.commands}
    assert lines["Measure this again"] == "tauto tune --budget 1m --fresh -- ./solver 'case 1'"
    checked = answer(command="tauto tune --check 'grep -q -- ok' -- ./solver")
    assert checked.commands[1].text == "tauto tune --check 'grep -q -- ok' --fresh -- ./solver"
    assert lines["Run it with this answer"] == "tauto run 'my results/profile.json' -- ./solver case.in"
    assert lines["Write this report again"] == "tauto report 'my results'"


def test_a_dockerfile_has_values_with_quotes_and_dollars_as_they_are() -> None:
    lines = pasted({"X": 'a "b" $HOME \\'})["Dockerfile"]
    assert lines.splitlines()[0] == r'ENV X="a \"b\" \$HOME \\"'


def test_the_profile_holds_what_tauto_run_applies(tmp_path: Path) -> None:
    path = write_profile(tmp_path, context(), {"weighted_places": "0:2,1:1", "nice": "5"}, "Use it.")
    profile = json.loads(path.read_text())
    assert profile["schema"] == "tautochrone.profile/1"
    assert profile["environment"]["OMP_PLACES"] == "{0},{0},{1}"
    assert profile["nice"] == 5
    assert profile["command"] == ["./solver", "case.in"]


def test_a_balanced_program_is_started_by_tauto_balance_everywhere(tmp_path: Path) -> None:
    lines = pasted({"balance": "threads", "nice": "5"})
    assert lines["Shell"].endswith("nice -n 5 tauto balance -- ./solver case.in")
    assert 'CMD ["nice", "-n", "5", "tauto", "balance", "--", "./solver", "case.in"]' in lines["Dockerfile"]
    assert lines["Slurm script"].endswith("nice -n 5 tauto balance -- ./solver case.in")
    assert "tauto balance -- " in lines["systemd unit"].splitlines()[-1]
    profile = json.loads(write_profile(tmp_path, context(), {"balance": "threads"}, "Use it.").read_text())
    assert profile["balance"] is True
    assert profile["command"] == ["./solver", "case.in"]


def test_the_report_shows_words_charts_and_lines_to_paste(tmp_path: Path) -> None:
    found = answer()
    rows = rows_of(DEFAULT, {}, 1.0)
    path = report.write(rows, machine().to_dict(), tmp_path / "report.html", found, study="tune")
    text = path.read_text()
    assert found.verdict_sentences[0] in visible(text)
    assert set(embedded(text)["charts"]) == {"final", "candidates", "effects"}
    assert "OMP_NUM_THREADS=8" in text
    assert "libgomp.so.1 is linked" in text
    assert visible(text).count("1.3 times the best") == 2


def test_the_report_says_that_runs_are_stopped_only_where_time_is_the_objective(tmp_path: Path) -> None:
    rows = rows_of(DEFAULT, {}, 1.0, max_rss_bytes=1 << 20)
    other = rows_of("winner", FASTER, 1.0, max_rss_bytes=1 << 19)
    found = analyse([*rows, *other], {}, context(objective="memory"))
    path = report.write(rows, machine().to_dict(), tmp_path / "report.html", found, study="tune")
    assert "1.3 times" not in visible(path.read_text())


@pytest.fixture
def effect_executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClosingExecutor]:
    """The executor of a search with --scratch in `tmp_path`, which reads what runtimes display."""
    monkeypatch.chdir(tmp_path)
    request = TuneRequest(command=("sh",), scratch=True)
    with closing(Services().executor(request, read_displayed, None)) as executor:
        yield executor


def winner(script: str, nice: int = 0, **variables: str) -> Configuration:
    return Configuration("winner", ["sh", "-c", script], variables, variables, start={"nice": nice})


@pytest.mark.timed
def test_the_effect_is_checked_by_a_run_like_those_of_the_search(
    tmp_path: Path, effect_executor: ClosingExecutor
) -> None:
    usual = os.nice(0)
    script = "touch new; for one in OMP_NUM_THREADS GOMP_SPINCOUNT; do echo \" $one = '$(nice)'\" >&2; done"
    asked = winner(script, 5, OMP_NUM_THREADS=f"{usual + 5}", GOMP_SPINCOUNT="77", OTHER="1")
    said = took_effect(asked, effect_executor, 10.0).otherwise
    assert said[0] == f"GOMP_SPINCOUNT is '{usual + 5}' for the runtime where '77' was set"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timed
def test_what_looks_at_the_program_is_none_of_its_processes(
    tmp_path: Path, effect_executor: ClosingExecutor
) -> None:
    """A shell of ours stood between, and was named among the processes that worked where it was seen."""
    took_effect(winner(f"cat /proc/$PPID/comm > {tmp_path}/parent", OTHER="1"), effect_executor, 10.0)
    assert (tmp_path / "parent").read_text().startswith("python")


@pytest.mark.timed
def test_an_effect_that_cannot_be_seen_is_no_effect_that_failed(effect_executor: ClosingExecutor) -> None:
    failed = took_effect(winner("sleep 30", OMP_DYNAMIC="true"), effect_executor, 0.2)
    assert "OMP_DISPLAY_ENV failed" in failed.otherwise[0]
    silent = took_effect(winner("true", OMP_DYNAMIC="true"), effect_executor, 10.0)
    assert "OMP_DISPLAY_ENV printed nothing" in silent.otherwise[0]
    other = took_effect(winner("exit 1", OTHER="1"), effect_executor, 10.0)
    assert other.otherwise[0].startswith("the run that checks the settings failed")


@pytest.mark.timed
def test_what_libomp_displays_in_other_words_is_not_compared(effect_executor: ClosingExecutor) -> None:
    script = "echo \" [host] KMP_HW_SUBSET='1core'\" >&2"
    found = took_effect(winner(script, KMP_HW_SUBSET="1c"), effect_executor, 10.0)
    assert not any("KMP_HW_SUBSET is" in one for one in found.otherwise)


def test_what_a_runtime_displays_is_understood() -> None:
    gnu = "OPENMP DISPLAY ENVIRONMENT BEGIN\n  OMP_NUM_THREADS = '5'\n  OMP_PLACES = '{0},{0},{1}'\n"
    assert displayed(gnu) == {"OMP_NUM_THREADS": "5", "OMP_PLACES": "{0},{0},{1}"}
    assert displayed("Core: Haswell\n") == {"OPENBLAS_CORETYPE": "Haswell"}
    assert displayed("   [host] OMP_WAIT_POLICY='PASSIVE'\n") == {"OMP_WAIT_POLICY": "PASSIVE"}
    assert same("passive", "PASSIVE")
    assert same("dynamic,4", "DYNAMIC,4")
    assert same("cores", "{0},{1}")
    assert same("{0},{1}", "{0:1},{1:1}")
    assert not same("{0},{0},{1}", "{0},{1}")
    assert not same("4", "2")


@pytest.mark.parametrize(
    ("objective", "fields", "told"),
    [
        ("regex:([0-9.]+)", {"objective": "12"}, "Expected `float | null`, got `str` - at `$.objective`"),
        ("regex:([0-9.]+)", {"objective": 0.0}, "Expected `float` >= 1e-100"),
        ("regex:([0-9.]+)", {}, "a run has no number that the expression matched"),
        ("memory", {"processes_bytes": "much"}, "Expected `int | null`, got `str` - at `$.processes_bytes`"),
        ("memory", {}, "0 is no figure of an objective"),
        ("energy", {}, "a run has no joules"),
        ("time", {"printed": {"lines": 5}}, "Expected `array`, got `int` - at `$.printed.lines`"),
    ],
)
def test_a_stored_row_without_a_figure_is_named_with_its_line(
    tmp_path: Path, objective: str, fields: dict[str, object], told: str
) -> None:
    with Store.open(tmp_path, "tune", "plan", MACHINE) as store:
        for one in rows_of(DEFAULT, {}, 1.0, 2):
            store.append(changed(one, detail=fields))
    save(context(objective=objective), tmp_path)
    with pytest.raises(TautoError, match=r"line 3 of .*rows\.jsonl is not a row: ") as refusal:
        report_again(tmp_path)
    assert told in str(refusal.value)
