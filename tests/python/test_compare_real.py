"""`tauto compare -- A : B` with real programs: whatever they do, there is an answer or one clear sentence."""

from __future__ import annotations

import io
import json
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from processes import run_to_end, with_lab
from tautochrone.cli.main import main
from tautochrone.comparing import executor, measure
from tautochrone.comparing.command import CompareCommand
from tautochrone.machine import runners
from tautochrone.results.store import Store

pytestmark = [pytest.mark.timed, pytest.mark.usefixtures("in_an_empty_folder")]

SHELL = ("/bin/sh", "-c")


def tauto(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tautochrone", "compare", *map(str, words)]
    return run_to_end(command, env=with_lab())


def said(words: Sequence[object], capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    """What is printed, in this process."""
    assert main(["compare", *map(str, words)]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def sides_of(words: Sequence[object], capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The commands of the answer as JSON."""
    assert main(["compare", "--json", *map(str, words)]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["sides"]
    return found


def script(name: str, text: str) -> str:
    path = Path(name)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"./{name}"


def test_two_commands_and_their_colon(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(
        ["--rounds", 10, "-n", "short", "-n", "long", "--", "sleep", "0.01", ":", "sleep", "0.2"], capsys
    )
    assert out.startswith("long takes ")
    sides = sides_of(["--rounds", 10, "--", "echo", "::", ":", "echo", "x"], capsys)
    assert sides[0]["words"] == ["echo", ":"]


def test_what_a_user_of_hyperfine_types(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-N", "-w", 1, "-r", 10, "-i", "--export-json", "a.json", "--export-csv", "a.csv"]
    said([*words, "--export-markdown", "a.md", "sleep 0.002", "sh -c 'exit 3'"], capsys)
    assert Path("a.md").read_text().splitlines()[0].endswith(".")
    assert len(Path("a.csv").read_text().splitlines()) == 3
    assert json.loads(Path("a.json").read_text())["schema"] == "tautochrone.compared/1"


def test_one_command_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    told = re.search(r"sleep 0\.01 takes ([\d.]+) ms", said(["--rounds", 5, "--", "sleep", "0.01"], capsys))
    assert told is not None
    assert float(told[1]) >= 10  # more on a busy machine


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--", "./nothing", ":", "true"], "nothing is not there. Build it"),
        (["--", "no-such-program"], "was not found in PATH"),
        (["--", "/tmp"], "it is a folder"),
        (["--", "true", ":"], "command 2 of 2 is empty"),
        (["--", ":"], "is empty"),
        ([], "was given nothing"),
        (["before/"], "1 result cannot be compared"),
        (["--rounds", "3", "--", "true", ":", "true"], "--rounds 3 is outside 8 to 999"),
        (["--precision", "two", "--", "true"], "--precision 'two' is no share"),
        (["--input", "nothing", "--", "true"], "--input nothing is no file"),
        (["--cpus", "99", "--", "true"], "names CPU 99"),
        (["--cpus", "fastest", "--", "true"], "names no CPUs"),
        (["--json", "--csv", "--", "true"], "exclude each other"),
        (["--objective", "edp", "--", "true"], "edp is the objective, and there is no energy meter"),
        (["--objective", "beauty", "--", "true"], "there is no objective 'beauty'"),
        (["--objective", "regex:rate (.*)", "--", "true"], "nothing that matches"),
        (["-L", "n", "1,2", "--", "true"], "no command has a {n}"),
        (["--against", "never", "--", "true"], "nothing was saved as 'never'"),
        (["--setup", "exit 3", "--", "true"], "--setup ended with exit code 3"),
        (["--prepare", "exit 3", "--", "true"], "--prepare ended with exit code 3"),
        (["--", *SHELL, "exit 4"], "it ended with exit code 4. Run it by hand"),
        (["--", *SHELL, "kill -SEGV $$"], "SIGSEGV"),
        (["--time-limit", "0.2", "--", "sleep", "9"], "did not end within 0.2 s. Give it more"),
        (["--", *SHELL, "sleep 9 & exec true"], "left work running in the background ("),
        (["--budget", "1s", "--", "sleep", "0.5", ":", "true"], "Give it --budget"),
        (["true", "--", "true"], "stands before the --"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(words, capsys, 2)
    assert why in out
    assert out.splitlines()[-1].startswith("tauto: error: ")


def test_what_was_saved_is_looked_at_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing was saved" in said(["--against", "never", "--", "touch", "made"], capsys, 2)
    said(["--rounds", 8, "--save", "base", "--", "true"], capsys)
    out = said(["--against", "base", "--objective", "cpu", "--", "touch", "made"], capsys, 2)
    assert "base was saved with --objective time" in out
    assert not Path("made").exists()


def test_a_failing_cleanup_is_said_and_every_command_is_cleaned_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = said(
        ["--rounds", 10, "--cleanup", "echo >> cleaned; exit 3", "--", "true", ":", "false"], capsys, 2
    )
    assert "--cleanup ended with exit code 3, for true; what was measured stays" in out
    assert len(Path("cleaned").read_text().splitlines()) == 2
    out = said(["--setup", "exit 3", "--cleanup", "echo >> after", "--", "true"], capsys, 2)
    assert "--setup ended with exit code 3" in out
    assert Path("after").exists()


def test_it_fails_in_some_rounds() -> None:
    often = script("often", "n=$(cat count); echo $((n + 1)) > count; [ $((n % 7)) -ne 3 ]")
    Path("count").write_text("0\n")
    # With something to prepare each run is one run, however short it is.
    found = tauto("--rounds", 24, "--prepare", "true", "--", "true", ":", often)
    assert found.returncode in (0, 4)  # by whether there were rounds enough before
    assert f"{often} failed in 2 of" in found.stdout.replace("\n", " ")
    Path("count").write_text("0\n")
    assert tauto("--rounds", 12, "--ignore-failure", "1", "--", "true", ":", often).returncode == 0


def test_it_prints_differently_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert "prints differently each time" in said(["--rounds", 10, "--", *SHELL, "echo $$"], capsys)
    out = said(["--rounds", 10, "-n", "a", "-n", "b", "--", "echo", "a", ":", "echo", "b"], capsys)
    assert "b prints something else than a" in out


def test_it_changes_its_own_input(capsys: pytest.CaptureFixture[str]) -> None:
    append = script("append", 'echo more >> "$1"')
    Path("data").write_text("x\n")
    assert "append data changes data, which it is given" in said(
        ["--rounds", 10, "--", append, "data"], capsys
    )


def test_it_needs_a_file_that_the_other_removed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("data").write_text("x\n")
    out = said(["--rounds", 10, "--", "cat", "data", ":", "rm", "-f", "data"], capsys, 2)
    assert "data was there before the first run, and is gone" in out
    again = ["--prepare", "touch data", "--rounds", 10, "--", "cat", "data", ":", "rm", "-f", "data"]
    said(again, capsys)


def test_short_runs_are_repeated_inside_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whatever else this machine does.
    monkeypatch.setattr(measure, "SHORT_SECONDS", 1.0)
    monkeypatch.setattr(executor, "WINDOW_SECONDS", 0.2)
    command = CompareCommand(command=("true", ":", "true"), rounds=10, json=True)
    out = io.StringIO()
    assert command.run(Console(file=out, width=200)) == 0
    sides = json.loads(out.getvalue())["sides"]
    assert all(side["runs"] > len(side["points"]) for side in sides)


def test_the_start_is_measured_beside(capsys: pytest.CaptureFixture[str]) -> None:
    (side,) = sides_of(["--rounds", 10, "--calibrate", "--", sys.executable, "-c", "pass"], capsys)
    assert 0 < side["start_seconds"] < side["figure"]


def test_what_a_program_takes_by_itself_is_its_own_clocks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the calibration's runs each tells its time; so do the others, whose times are left out."""
    told = tmp_path / "told"
    words = [str(runners.find("tauto-bench-spin")), "2000000", "0", "7", str(told)]
    (side,) = sides_of(["--rounds", 10, "--calibrate", "--", *words], capsys)
    own = [int(end) - int(begun) for begun, end in map(str.split, told.read_text().splitlines())]
    # The program opens and writes its file after its last look at the clock, or before its first.
    calibrated = statistics.median(own[-51:-10]) / 1e9
    assert calibrated < side["own_seconds"] < calibrated + 1e-3


@pytest.mark.parametrize("script", ["true; kill -9 $$", "exec sleep 0"])
def test_a_program_that_ends_without_an_exit_tells_no_own_time(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--rounds", 9, "--calibrate", "--ignore-failure", "--", "sh", "-c", script]
    (side,) = sides_of(words, capsys)
    assert side["own_seconds"] is None
    assert side["start_seconds"] > 0


def test_programs_that_it_starts_tell_no_time_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--rounds", 9, "--calibrate", "--", "sh", "-c", "sleep 0.02; (exit 0); true"]
    (side,) = sides_of(words, capsys)
    # The last child takes no time. Runs before the first round may be slower than those of the rounds.
    assert 0.02 < side["own_seconds"] < 2 * side["figure"]


def test_the_table_of_one_program_shows_its_start_and_its_own_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = said(["--rounds", 9, "--calibrate", "--markdown", "--", "sleep", "0.01"], capsys)
    assert "| of it start | by itself |" in out
    assert "| interval" not in out


@pytest.mark.parametrize("objective", ["cpu", "memory", "regex:it is ([0-9.]+)", "regex-max:it is ([0-9.]+)"])
def test_other_objectives(objective: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [sys.executable, "-c", "x = bytearray({mb} << 20); sum(x[:{mb} << 16]); print('it is {mb}')"]
    one, other = sides_of(
        ["--rounds", 10, "--objective", objective, "-L", "mb", "1,30", "--", *words], capsys
    )
    assert other["ratio"]["verdict"] == ("faster" if objective.startswith("regex-max") else "slower")
    assert one["ratio"] is None


def test_what_is_saved_is_compared_with_later(capsys: pytest.CaptureFixture[str]) -> None:
    said(["--rounds", 12, "--save", "base", "--", "sleep", "0.01"], capsys)
    out = said(["--rounds", 12, "--against", "base", "--", "sleep", "0.2"], capsys)
    assert "two sittings: " in out
    other = said(["--rounds", 12, "--against", "none", "--", "true"], capsys, 2)
    assert "Saved: base" in other


def test_the_report_can_be_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    said(
        ["--rounds", 10, "--output", "out", "--report", "--", "sleep", "0.002", ":", "sleep", "0.003"], capsys
    )
    page = Path("out/report.html").read_text()
    assert "sleep 0.003" in page
    Path("out/report.html").unlink()
    assert main(["report", "out"]) == 0
    assert "sleep 0.003" in Path("out/report.html").read_text()


def test_a_killed_comparison_goes_on() -> None:
    words = ["--rounds", "20", "--output", "out", "--", "sleep", "0.05", ":", "sleep", "0.05"]
    command = [sys.executable, "-m", "tautochrone", "compare", *words]
    running = subprocess.Popen(command, env=with_lab(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = Path("out/rows.jsonl")
    until = time.monotonic() + 60
    while (not rows.exists() or rows.read_bytes().count(b"\n") < 8) and time.monotonic() < until:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = Store.read("out").rows()
    assert 0 < len(before) < 40
    assert tauto(*words).returncode == 0
    after = Store.read("out").rows()
    assert after[: len(before)] == before
    assert len(after) == 40


def test_interrupting_leaves_nothing_running() -> None:
    command = [sys.executable, "-m", "tautochrone", "compare", "--", "sleep", "77.25"]
    running = subprocess.Popen(
        command, env=with_lab(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 60
    while not _running("77.25") and time.monotonic() < until:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    assert "interrupted" in (running.communicate(timeout=60)[1])
    assert running.returncode == 130
    assert not _running("77.25")


def _running(word: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if word.encode() in path.read_bytes().split(b"\0")[1:2]:
                return True
    return False
