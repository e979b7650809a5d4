"""What is printed, and read, where streams are closed, full or ASCII alone, and names are not UTF-8."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.table import Table

from processes import run_to_end, with_lab
from study_fakes import need_executables, write_runners
from study_loop_fakes import laboratory, request
from tautochrone import text
from tautochrone.cli import streams
from tautochrone.cli.main import main
from tautochrone.errors import printable
from tautochrone.machine import runners
from tautochrone.results.context import StudyContext, load, save
from tautochrone.results.row import Failure
from tautochrone.results.store import Store
from tautochrone.studies.loop.study import Loop
from tautochrone.terminal import Terminal

pytestmark = pytest.mark.timed

TAUTO = (sys.executable, "-m", "tautochrone")
MACHINE = ("machine", "--measure", "none", "--json")
STUDY = ("study", "loop", "--quick", "--rounds", "8", "--sizes", "100", "--peers", "libgomp", "--no-report")


def run(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = with_lab(TAUTO_RUNNERS=str(write_runners(folder / "bin")), **options.pop("variables", {}))
    return run_to_end([*TAUTO, *words], cwd=folder, env=environment, errors="surrogateescape", **options)


@pytest.mark.parametrize("words", [("--help",), ("version",), MACHINE, STUDY])
def test_a_full_disk_behind_standard_output_is_said(tmp_path: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(tmp_path, *words, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "defect" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [(("--help",), 0, ""), (MACHINE, 0, ""), (STUDY, 141, "the same command goes on")],
)
def test_a_reader_that_has_gone_is_no_defect(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run(tmp_path, *words, capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "defect" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_take_no_file_in_their_place(tmp_path: Path, closed: str) -> None:
    environment = with_lab(TAUTO_RUNNERS=str(write_runners(tmp_path / "bin")))
    words = " ".join([*TAUTO, *STUDY])
    done = run_to_end(["sh", "-c", f"exec {words} {closed}"], cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "tautochrone-results/loop/rows.jsonl").read_text().splitlines()
    assert all(isinstance(json.loads(line), dict) for line in lines)


@pytest.mark.parametrize("words", [("machine", "--measure", "none"), STUDY, ("--help",)])
def test_a_terminal_of_ascii_alone(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, *words, variables={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"})
    assert "defect" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).isascii()


def test_standard_error_that_is_full_changes_no_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(tmp_path, "report", "nowhere", capture_output=False, stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == 2


def limited(kind: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (most, most))


@pytest.mark.parametrize(
    ("kind", "most"), [(resource.RLIMIT_NOFILE, 8), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_FSIZE, 100)]
)
def test_limits_of_the_shell_are_named(tmp_path: Path, kind: int, most: int) -> None:
    done = run(tmp_path, *STUDY, preexec_fn=limited(kind, most))
    assert done.returncode == 2, done.stderr
    assert "ulimit" in done.stderr or "Too many open files" in done.stderr
    assert "defect" not in done.stderr


@pytest.mark.parametrize("kibibytes", [30_000])
def test_a_limit_on_memory_is_named_whoever_meets_it(tmp_path: Path, kibibytes: int) -> None:
    """Python or its loader."""
    done = run(tmp_path, "version", preexec_fn=limited(resource.RLIMIT_AS, kibibytes << 10))
    assert done.returncode == 2, done.stderr
    assert "ulimit -v" in done.stderr
    assert "defect" not in done.stderr


def test_a_library_that_fails_without_a_word_lacks_memory_only_under_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = SystemError("error return without exception set")
    monkeypatch.setattr(streams, "limits", lambda: ["ulimit -v 30000"])
    assert "ulimit -v" in (streams.explanation(error) or "")
    monkeypatch.setattr(streams, "limits", list)
    assert streams.explanation(error) is None


@pytest.mark.parametrize(
    ("ends", "how"),
    [("os.abort()", "SIGABRT"), ("os.kill(os.getpid(), 11)", "SIGSEGV"), ("os._exit(1)", "exit code 1")],
)
def test_a_library_that_ends_the_process_under_a_limit_is_told(ends: str, how: str) -> None:
    code = (
        f"import os, sys; from tautochrone.cli.limits import supervised; sys.exit(supervised(lambda: {ends}))"
    )
    limit = limited(resource.RLIMIT_DATA, 200_000 << 10)
    done = run_to_end([sys.executable, "-c", code], env=with_lab(), preexec_fn=limit)
    assert done.returncode == 2
    assert f"({how})" in done.stderr
    assert "under ulimit -d 200000. Raise the limit: ulimit -d unlimited" in done.stderr


@pytest.mark.parametrize(
    ("ends", "code"), [("4", 4), ("os.kill(os.getpid(), 15)", -15), ("os.kill(os.getppid(), 15)", -15)]
)
def test_under_a_limit_a_command_ends_as_without_one(ends: str, code: int) -> None:
    work = f"lambda: {ends} or __import__('time').sleep(60)"
    code_of = f"import os, sys; from tautochrone.cli.limits import supervised; sys.exit(supervised({work}))"
    limit = limited(resource.RLIMIT_DATA, 200_000 << 10)
    done = run_to_end([sys.executable, "-c", code_of], env=with_lab(), preexec_fn=limit)
    assert done.returncode == code, done.stderr
    assert done.stderr == ""


def test_a_stack_in_which_python_cannot_run_is_named(tmp_path: Path) -> None:
    need_executables("tauto")
    done = run_to_end([runners.find("tauto"), "version"], preexec_fn=limited(resource.RLIMIT_STACK, 64 << 10))
    assert done.returncode == 2
    assert "the limit on the stack is 64 kB (ulimit -s)" in done.stderr


def test_names_that_are_no_utf_8_are_kept_as_they_are(tmp_path: Path) -> None:
    context = StudyContext(command="tauto tune -- ./s\udcff.sh", folder="\udcff", idle_watts=(1.0,))
    save(context, tmp_path)
    assert load(StudyContext(), tmp_path) == context
    assert json.loads(text.as_json({"µ": [1.5, None, "\udcff"]})) == {"µ": [1.5, None, "\udcff"]}
    assert text.as_json({"µ": float("nan")}) == '{\n "µ": null\n}'


def test_a_program_whose_name_is_no_utf_8_is_tuned_and_traced(tmp_path: Path) -> None:
    name = os.fsdecode(b"s\xff.sh")
    program = tmp_path / name
    program.write_text("#!/bin/sh\nsleep 0.01\necho $X\n")
    program.chmod(0o755)
    tune = ("tune", "--budget", "3s", "--env", "X=a,b\udcff", "--", f"./{name}")
    done = run(tmp_path, *tune)
    assert done.returncode == 0, done.stderr
    assert "defect" not in done.stderr
    (folder,) = (tmp_path / "tautochrone-results").iterdir()
    assert (folder / "report.html").read_text(encoding="utf-8")
    done = run(tmp_path, "trace", "--", f"./{name}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tauto-trace.html").read_text(encoding="utf-8")


def test_what_a_program_says_cannot_speak_to_the_terminal() -> None:
    assert printable("a\x1b[2K\r\x07\x9b\u202eb é\n\udcff") == "a\\x1b[2K\\r\\x07\\x9b\\u202eb é\n\udcff"


EVIL = "\x1b]0;owned\x07\x1b[2J\u202e[/x][bold]"


def test_results_of_somebody_else_cannot_speak_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = laboratory()
    for folder in ("a", "b"):
        Loop.measure(request(tmp_path / folder, sizes=(400,)), lab.services)
    machine = lab.services.machine() | {"name": EVIL}
    with Store.read(tmp_path / "a") as read, Store.open(tmp_path / "c", "loop", "plan", machine) as store:
        for number, row in enumerate(read.rows(None)):
            error = Failure("failed", EVIL) if number == 0 else None
            seconds = None if error else row.seconds
            store.append(
                msgspec.structs.replace(row, name=row.name + EVIL, group=EVIL, seconds=seconds, error=error)
            )
    context = (tmp_path / "a" / "study.json").read_text()
    record = json.loads(context) | {"notices": [EVIL], "command": EVIL}
    (tmp_path / "c" / "study.json").write_text(json.dumps(record))
    folders = [str(tmp_path / name) for name in "abc"]
    for words in (
        ["report", folders[2]],
        ["compare", folders[2], folders[2]],
        ["compare", folders[0], folders[2], "--across-machines"],
        ["compare", folders[2], "--json"],
        ["export", folders[2], "--format", "csv"],
        ["claims", folders[2]],
        ["simulate", "loop", "--against", folders[2]],
    ):
        assert main(words) in (0, 2, 4), words
        printed = "".join(capsys.readouterr())
        assert "defect" not in printed
        assert not {"\x1b", "\x07", "\u202e"} & {*printed}, words
    for name in ("report.html", "rows.csv"):
        assert not {"\x1b", "\x07", "\u202e"} & {*(tmp_path / "c" / name).read_text()}


def test_brackets_are_words_and_controls_are_escapes() -> None:
    file = io.StringIO()
    table = Table("name")
    table.add_row(EVIL)
    Terminal(file=file, width=200).print(table)
    assert "\\x1b]0;owned\\x07\\x1b[2J\\u202e[/x][bold]" in file.getvalue()
