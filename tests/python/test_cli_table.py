"""Help, completion and manual pages: one table; the executable and Python say the same."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from measuring import MACHINE, row
from processes import run_to_end
from tautochrone.cli import completion, main, rendering, table
from tautochrone.errors import warn_once
from tautochrone.machine import runners
from tautochrone.results.store import Store

pytestmark = pytest.mark.timed

ROOT = Path(__file__).resolve().parents[2]
TABLE = json.loads(table.FILE.read_text(encoding="utf-8"))
WIDTHS = (rendering.WIDE, rendering.NARROW)


def native(*words: str, columns: int = 80) -> subprocess.CompletedProcess[str]:
    """The executable with no Python in reach: what it prints is its own."""
    return run_to_end([runners.find("tauto"), *words], env={"PATH": "/nowhere", "COLUMNS": str(columns)})


def test_the_table_is_made_from_the_commands_as_they_are() -> None:
    assert table.FILE.read_text(encoding="utf-8") == table.written(), "type: make table"


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", ["", *TABLE])
def test_executable_and_python_print_the_same_help(
    name: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main.main([*name.split(), "--help"]) == 0
    said = capsys.readouterr().out
    finished = native(*name.split(), "--help", columns=columns)
    assert (finished.returncode, finished.stdout) == (0, said)
    # Nothing but a single word is wider, and no line ends in blanks.
    wide = [line.removesuffix(" \\") for line in said.splitlines() if len(line) > columns]
    assert all(len(shlex.split(line)) == 1 for line in wide), wide
    assert not re.search(r" $", said, re.MULTILINE)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_executable_and_python_print_the_same_completion(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert native("completion", shell).stdout == said
    if shutil.which(shell):
        assert run_to_end([shell, "-n", "-c", said], check=True).stderr == ""


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    line = f"COMP_WORDS=({' '.join(words)} ''); COMP_CWORD={len(words) - 1}; unset 'COMP_WORDS[{len(words)}]'"
    code = f'{completion.script("bash", TABLE)}\n{line}\n_tauto\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    return run_to_end(["bash", "-c", code], check=True).stdout.split()


def test_bash_completes_commands_options_and_values() -> None:
    assert completed("tauto", "tu") == ["tune"]
    assert completed("tauto", "study", "ma") == ["mapreduce"]
    assert completed("tauto", "tune", "--budg") == ["--budget"]
    assert completed("tauto", "study", "loop", "--emulate-i") == ["--emulate-if-possible"]
    assert completed("tauto", "export", "results", "--format", "par") == ["parquet"]
    assert completed("tauto", "completion", "--h") == ["--help"]
    # Behind -- and behind an option with a file, files are the shell's business.
    assert completed("tauto", "tune", "--", "tu") == []
    assert completed("tauto", "export", "--output", "x") == []


def write_for_the_build(version: str, folder: Path) -> None:
    """As CMake does it: with no package at all."""
    made = ROOT / "lab" / "tautochrone" / "cli" / "made.py"
    run_to_end([sys.executable, "-E", "-S", "-B", made, version, folder], check=True)


def test_every_command_has_a_manual_page_that_can_be_read(tmp_path: Path) -> None:
    write_for_the_build("1.2.3", tmp_path)
    pages = sorted((tmp_path / "man1").iterdir())
    assert len(pages) == 1 + len(TABLE)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith('.TH "TAUTO')
        assert "tautochrone 1.2.3" in text
        if shutil.which("groff"):
            read = run_to_end(["groff", "-man", "-Kutf8", "-Tutf8", "-ww", page], check=True)
            plain = re.sub(r".\x08|\x1b\[[0-9;]*m", "", read.stdout)
            assert (read.stderr, "NAME" in plain) == ("", True), page.name


def test_what_is_written_for_the_build_changes_no_file_twice(tmp_path: Path) -> None:
    write_for_the_build("1", tmp_path)
    first = (tmp_path / "made.hpp").stat().st_mtime_ns
    write_for_the_build("1", tmp_path)
    assert (tmp_path / "made.hpp").stat().st_mtime_ns == first


def test_a_word_in_quotes_is_not_broken_so_that_a_long_example_can_be_pasted() -> None:
    entry = {
        "usage": "",
        "help": "Do.\n\n\b\nExample:\n  tauto do --match 'a b c d e f g h i' --other words\n",
        "options": [],
    }
    said = rendering.help_text("do", entry, 40)
    assert "'a b c d e f g h i'" in said
    joined = said.replace("\\\n", " ")
    assert re.search(r"tauto do --match +'a b c d e f g h i' +--other +words", joined)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tune", "--budgt", "2m", "--", "ls"], "No such option '--budgt'. Did you mean '--budget'?"),
        (["tune", "--budgt=2m", "ls"], "Did you mean '--budget'?"),
        (["emulate", "-x", "--", "ls"], "No such option '-x'"),
        (["energy", "--jsn", "--", "ls"], "Did you mean '--json'?"),
    ],
)
def test_a_mistyped_option_before_the_command_is_an_option(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["run", "trace", "emulate", "report", "export", "simulate", "completion"])
def test_a_missing_word_shows_the_example_of_that_command(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([name]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert f"tauto {name} --help shows" in said
    assert re.search(rf"Write it like .*tauto {name} ", said) or name == "completion"


def test_quiet_leaves_out_warnings_and_keeps_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(tmp_path, "loop", "plan", MACHINE) as store:
        store.append(row("a", 0))
    with store.path.open("a") as file:
        file.write('{"cut off')
    for quiet, warnings in ((["-q"], 0), ([], 1)):
        warn_once.cache_clear()
        assert main.main(["export", str(tmp_path), *quiet]) == 0
        assert capsys.readouterr().err.count("tauto: warning: ") == warnings
    assert main.main(["export", str(tmp_path / "nowhere"), "-q"]) == 2
    assert capsys.readouterr().err.startswith("tauto: error: ")


def test_list_shows_which_results_are_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["list", str(tmp_path)]) == 2
    assert "tauto study loop --quick" in capsys.readouterr().err
    for name in ("one", "two"):
        with Store.open(tmp_path / name, "loop", "plan", MACHINE) as store:
            store.append(row("a", 0, started="2026-01-05T10:00:00Z"))
            store.append(row("b", 0, None))
    (tmp_path / "one" / "report.html").touch()
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "rows.jsonl").write_text("what is this\n")
    assert main.main(["list", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{tmp_path}/one"
    assert said[1].startswith("  loop: 2 runs, 1 failed, the last 2026-01-05 10:00 UTC")
    assert said[2] == f"  {tmp_path}/one/report.html"
    assert any(line.startswith("  cannot be read: ") for line in said)
    assert main.main(["list", str(tmp_path), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["schema"] == "tautochrone.list/1"
    assert [one["runs"] for one in values["results"]] == [2, 0, 2]


def test_the_page_of_the_commands_has_every_exit_code() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    own = {0, main.BAD_INPUT, main.UNEXPECTED, main.INTERRUPTED, main.OUTPUT_CLOSED}
    assert own <= codes
    source = (ROOT / "command" / "tauto.cpp").read_text()
    assert {int(code) for code in re.findall(r"constexpr int exit_\w+ = (\d+);", source)} <= codes
