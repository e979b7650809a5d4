"""Bad input: every command of refusals.toml, and what takes more than a command to arrange.

That is a full disk, a store of another study, runners that die.
"""

from __future__ import annotations

import itertools
import os
import shlex
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from processes import LAB, run_to_end
from study_fakes import machine, refused
from study_loop_fakes import laboratory, request
from tautochrone.cli.main import main
from tautochrone.errors import TautoError
from tautochrone.results.journal import Journal
from tautochrone.results.store import Store
from tautochrone.studies.loop.study import Loop

SMALL = {
    "LOOP": "study loop --quick --rounds 8 --sizes 100 --peers libgomp",
    "TASKS": "study mapreduce --quick --rounds 8 --tasks 50x1kB,50x9kB --peers libgomp",
}
REFUSALS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text())


@pytest.mark.usefixtures("runners")
@pytest.mark.parametrize("command", REFUSALS)
def test_bad_input_is_refused_in_one_line_with_code_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    before = sorted(tmp_path.iterdir())
    words = command
    for name, quick in SMALL.items():
        words = words.replace(name, quick)
    line = refused(capsys, *shlex.split(words))
    for text in REFUSALS[command]:
        assert text in line
    assert sorted(tmp_path.iterdir()) == before, "a refused command leaves no files"


def study(*words: str) -> tuple[str, ...]:
    """A study that would be over at once."""
    return (*SMALL["LOOP"].split(), *words)


def test_cpu_that_is_not_allowed(tmp_path: Path) -> None:
    record = machine(2)
    record["cpus"][1]["allowed"] = False
    with pytest.raises(TautoError, match="names CPU 1, and only 0 may be used here"):
        Loop.measure(request(tmp_path, emulate=({1: 2.0},)), laboratory(machine=record).services)


@pytest.mark.usefixtures("runners")
def test_no_right_to_slow_cpus_is_a_warning_if_only_wished(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(study("--emulate-if-possible", "1:4", "--no-report")) == 0
    assert "tauto: warning: measured without 1:4" in capsys.readouterr().err
    with Store.read(tmp_path / "tautochrone-results/loop") as store:
        assert len({row.round for row in store.rows()}) == 8


@pytest.mark.usefixtures("runners")
def test_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "file" in refused(capsys, *study("--output", str(tmp_path / "file" / "results")))


@pytest.mark.usefixtures("runners")
def test_disk_that_is_full_keeps_what_was_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Journal.append
    count = itertools.count(1)

    def full(self: Journal, record: Mapping[str, Any]) -> None:
        if next(count) > 20:
            raise TautoError("the disk is full: rows.jsonl cannot be written", "Make room there")
        written(self, record)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", full)
        assert "the disk is full" in refused(capsys, *study())
    with Store.read("tautochrone-results/loop") as store:
        assert store.rows(None)


def test_report_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Loop.measure(request(tmp_path), laboratory().services)
    (tmp_path / "file").write_text("in the way")
    path = tmp_path / "file" / "report.html"
    assert f"{path}" in refused(capsys, "report", str(tmp_path), "--output", str(path))


def test_interrupted_study_says_that_the_same_command_goes_on(
    capsys: pytest.CaptureFixture[str], runners: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tautochrone.measuring.subprocess_executor.RunnerExecutor.run", interrupted)
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
    finished = run_to_end([sys.executable, "-m", "tautochrone", *study()], cwd=tmp_path, env=environment)
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
        rows = [row for row in store.rows() if row.config["runtime"] == "openmp"]
    assert {row.error.kind for row in rows} == {kind}
    assert all(words in row.error.message for row in rows)
    assert all(row.seconds is None for row in rows)


@pytest.mark.usefixtures("runners")
def test_two_studies_cannot_write_one_store(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Store.open(tmp_path / "tautochrone-results/loop", "loop", "x", {"machine": "0"}):
        assert str(os.getpid()) in refused(capsys, *study())


@pytest.mark.usefixtures("runners")
def test_store_of_other_settings_is_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(study("--no-report")) == 0
    assert "--fresh" in refused(capsys, *study("--rounds", "9", "--no-report"))


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
        assert len(store.rows()) == whole.count(b'"source":"measured"')
