"""Bad input ends with one line on stderr that says what to do, and exit code 2; nothing is half done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from study_fakes import machine, refused
from study_loop_fakes import laboratory, request
from tautochrone.cli import main
from tautochrone.errors import TautoError
from tautochrone.journal import Journal
from tautochrone.store import Store
from tautochrone.studies.loop.measuring import QUICK
from tautochrone.studies.loop.study import run_study

LAB = Path(__file__).resolve().parents[2] / "lab"


def study(*words: str) -> tuple[str, ...]:
    """A study that would be over at once."""
    return ("study", "loop", "--quick", "--sizes", "100", "--peers", "libgomp", *words)


def test_unknown_study_lists_the_studies(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no study called 'loops'. Studies: loop (" in refused(capsys, "study", "loops")


@pytest.mark.parametrize("sizes", ["0", "-5", "1.5", "many", "", "100,,200", "10000000000"])
def test_what_is_no_size_is_refused(capsys: pytest.CaptureFixture[str], sizes: str) -> None:
    assert "size" in refused(capsys, "study", "loop", "--sizes", sizes)


@pytest.mark.usefixtures("runners")
def test_size_that_no_memory_holds_says_both_amounts(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "study", "loop", "--sizes", "1000000000", "--peers", "libgomp")
    assert "needs 4.0 EB of memory, and 6.4 GB may be used here" in said
    assert "Ask for sizes up to" in said


@pytest.mark.parametrize(
    ("emulation", "why"),
    [
        ("1:0", "CPU 1 cannot be made 0 times slower. A factor lies between 1"),
        ("1:0.5", "cannot be made 0.5 times slower"),
        ("1:99", "cannot be made 99 times slower"),
        ("1", "'1' is not CPU:FACTOR. Write 1:4"),
        ("1:2+1:3", "names CPU 1 twice"),
        ("one:2", "is not CPU:FACTOR"),
    ],
)
def test_impossible_slow_cpu_is_refused(capsys: pytest.CaptureFixture[str], emulation: str, why: str) -> None:
    assert why in refused(capsys, "study", "loop", "--emulate", emulation)


@pytest.mark.usefixtures("runners")
def test_cpu_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, *study("--emulate", "7:4"))
    assert "--emulate names CPU 7, but this machine has CPUs 0-1" in said


def test_cpu_that_is_not_allowed(tmp_path: Path) -> None:
    record = machine(2)
    record["cpus"][1]["allowed"] = False
    with pytest.raises(TautoError, match="names CPU 1, and only 0 may be used here"):
        run_study(request(tmp_path, emulations=({1: 2.0},)), laboratory(machine=record).services)


@pytest.mark.usefixtures("runners")
def test_all_cpus_slowed_leaves_no_fast_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "would slow every CPU" in refused(capsys, *study("--emulate", "0:2+1:2"))


@pytest.mark.usefixtures("runners")
def test_unknown_placement_peer_threads_and_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no placement called 'quick'" in refused(capsys, *study("--placements", "quick"))
    assert "names CPU 9" in refused(capsys, *study("--placements", "0-1,9"))
    assert "is not a list of CPUs" in refused(capsys, *study("--placements", "3-1"))
    assert "no peer called 'gomp'" in refused(capsys, "study", "loop", "--peers", "gomp")
    assert "more than the 2 CPUs" in refused(capsys, *study("--threads", "3"))
    assert "no verdict is made from fewer than 8 rounds" in refused(capsys, *study("--rounds", "7"))


@pytest.mark.usefixtures("runners")
def test_peer_that_is_not_installed_names_its_package(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "study", "loop", "--sizes", "100", "--peers", "tbb")
    assert "oneTBB cannot be measured: the runner tauto-loop-tbb was not found" in said
    assert "Install libtbb-dev" in said


@pytest.mark.usefixtures("runners")
def test_no_right_to_slow_cpus_is_an_error_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, *study("--emulate", "1:4"))
    assert "no right to SCHED_FIFO. Start it as root" in said


@pytest.mark.usefixtures("runners")
def test_no_right_to_slow_cpus_is_a_warning_if_only_wished(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(study("--emulate-if-possible", "1:4", "--no-report")) == 0
    assert "tauto: warning: measured without 1:4" in capsys.readouterr().err
    with Store.read(tmp_path / "tautochrone-results/loop") as store:
        assert len({row["round"] for row in store.rows()}) == QUICK.rounds


@pytest.mark.usefixtures("runners")
def test_both_ways_to_emulate_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "study", "loop", "--emulate", "1:2", "--emulate-if-possible", "1:4")
    assert "Give one of them" in said


@pytest.mark.usefixtures("runners")
def test_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    said = refused(capsys, *study("--output", str(tmp_path / "file" / "results")))
    assert "file" in said


@pytest.mark.usefixtures("runners")
def test_disk_that_is_full_keeps_what_was_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Journal.append
    count = [0]

    def full(self: Journal, record: object) -> None:
        count[0] += 1
        if count[0] > 20:
            raise TautoError("the disk is full: rows.jsonl cannot be written", "Make room there")
        written(self, record)  # type: ignore[arg-type]

    monkeypatch.setattr(Journal, "append", full)
    assert "the disk is full" in refused(capsys, *study())
    monkeypatch.setattr(Journal, "append", written)
    with Store.read("tautochrone-results/loop") as store:
        assert store.rows(None)


def test_report_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run_study(request(tmp_path), laboratory().services)
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "report.html"
    assert f"{path}" in refused(capsys, "report", str(tmp_path), "--output", str(path))


def test_interrupted_study_says_that_the_same_command_goes_on(
    capsys: pytest.CaptureFixture[str], runners: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tautochrone.subprocess_executor.SubprocessExecutor.run", interrupted)
    assert main(study("--no-report")) == 130
    assert "the same command goes on from there" in capsys.readouterr().err.splitlines()[-1]


def test_nothing_needs_a_home(runners: Path, tmp_path: Path) -> None:
    """HOME that cannot be written and no cache of any kind: the study runs all the same."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(LAB),
        "TAUTO_RUNNERS": str(runners),
        "HOME": "/proc/nowhere",
        "XDG_CACHE_HOME": "/proc/nowhere/cache",
        "LANG": "C",
    }
    finished = subprocess.run(
        [sys.executable, "-m", "tautochrone", *study()],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert "On this machine" in finished.stdout
    assert (tmp_path / "tautochrone-results/loop/report.html").is_file()


@pytest.mark.parametrize(
    ("fate", "kind", "words"),
    [
        ("die", "failed", "killed by SIGSEGV"),
        ("garbage", "failed", "did not print JSON"),
        ("hang", "timeout", "time limit of 0.5 s"),
        ("wrong", "wrong_answer", "the reference gives"),
    ],
)
@pytest.mark.usefixtures("runners")
def test_runner_that_dies_hangs_or_lies_is_an_error_row_and_the_study_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fate: str, kind: str, words: str
) -> None:
    monkeypatch.setenv("FAKE_OPENMP", fate)
    limit = ("--time-limit", "0.5") if fate == "hang" else ()
    assert main(study("--no-report", *limit)) == 0
    assert "nothing can be recommended: no plain OpenMP loop was measured" in capsys.readouterr().out
    with Store.read("tautochrone-results/loop") as store:
        rows = [row for row in store.rows() if row["config"]["runtime"] == "openmp"]
    assert {row["error"]["kind"] for row in rows} == {kind}
    assert all(words in row["error"]["message"] for row in rows)
    assert all(row["seconds"] is None for row in rows)


@pytest.mark.usefixtures("runners")
def test_two_studies_cannot_write_one_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Store.open(tmp_path / "tautochrone-results/loop", "loop", "x", {"machine": "0"}):
        assert str(os.getpid()) in refused(capsys, *study())


@pytest.mark.usefixtures("runners")
def test_store_of_other_settings_is_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(study("--no-report")) == 0
    said = refused(capsys, *study("--rounds", "9", "--no-report"))
    assert "--fresh" in said


@pytest.mark.usefixtures("runners")
def test_store_of_another_schema_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"schema": "somebody.else/3"}\n')
    assert "somebody.else/3" in refused(capsys, "report", str(tmp_path))


@pytest.mark.usefixtures("runners")
def test_truncated_last_line_costs_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(study("--no-report")) == 0
    path = Path("tautochrone-results/loop/rows.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    capsys.readouterr()
    assert main(study("--no-report")) == 0
    with Store.read("tautochrone-results/loop") as store:
        assert len(store.rows()) == len(
            [line for line in whole.splitlines() if b'"source":"measured"' in line]
        )


def test_folder_without_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for verb in ("report", "export"):
        assert str(tmp_path) in refused(capsys, verb, str(tmp_path))
    assert str(tmp_path) in refused(capsys, "compare", str(tmp_path), str(tmp_path / "other"))


def test_wrong_options_point_to_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert "tauto --help" in refused(capsys, "study", "loop", "--sise", "100")
    assert "tauto tune -- " in refused(capsys, "tune")
    assert "Missing option '--slow'" in refused(capsys, "emulate", "--", "true")
