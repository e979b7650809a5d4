"""The command line: its help, its exit codes, and that it starts fast."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tautochrone
from processes import run_to_end, with_lab
from study_fakes import write_runners
from tautochrone.cli import version
from tautochrone.cli.commands import command
from tautochrone.cli.main import COMMANDS, HELP, UNEXPECTED, main
from tautochrone.errors import TautoError, in_lines
from tautochrone.machine import built, runners
from tautochrone.studies.loop.configurations import PEER_BY_NAME

ROOT = Path(__file__).resolve().parents[2]
VERBS = (
    *("inspect", "tune", "run"),
    *("machine", "study", "simulate", "claims", "emulate", "balance", "decompose"),
    *("energy", "trace"),
    *("compare", "list", "report", "export", "share", "version", "completion", "exec"),
)
HEAVY = ("numpy", "scipy", "altair", "jinja2", "pyarrow", "vl_convert", "rich.progress")


def python(*words: str) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with this laboratory."""
    return run_to_end([sys.executable, *words], env=with_lab())


def test_help_names_every_verb_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:")[2]
    assert set(re.findall(r"^  (\w+) ", listed, re.MULTILINE)) == set(VERBS)


def test_the_help_file_has_the_first_line_of_every_commands_help() -> None:
    lines = HELP.read_text().splitlines()
    listed = dict(line.split(maxsplit=1) for line in lines[lines.index("Commands:") + 1 :])
    for name, place in COMMANDS.items():
        module, _, request = place.partition(":")
        made = command(name, getattr(import_module(module), request))
        assert (made.help or "").splitlines()[0] == listed.pop(name)
    assert list(listed) == ["study"]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("verb", [*VERBS, "study loop", "study mapreduce"])
def test_every_command_shows_examples(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([*verb.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert f"tauto {verb}" in said
    assert verb == "study" or re.search(r"Examples?:\n( +tauto .*\n)+", said)


@pytest.mark.timed
def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from tautochrone.cli.main import main; main(['--help']);"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert python("-c", code).stdout.splitlines()[-1] == "[]"


@pytest.mark.timed
def test_no_arguments_show_the_help() -> None:
    finished = python("-m", "tautochrone")
    assert finished.returncode == 2
    assert "tauto study loop --quick" in finished.stderr


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tautochrone {tautochrone.__version__}\n"


@pytest.mark.timed
def test_version_lists_peers_and_what_to_install(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAUTO_RUNNERS", str(write_runners(tmp_path)))
    assert main(["version"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^  libgomp +libgomp 1$", said, re.MULTILINE)
    assert re.search(r"^  tbb +not measured: the runner tauto-loop-tbb .*libtbb-dev", said, re.MULTILINE)


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:

    def broken() -> list[runners.PeerState]:
        raise error

    monkeypatch.setattr(version, "all_peer_states", broken)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (
            ZeroDivisionError("division by zero"),
            UNEXPECTED,
            r".*ZeroDivisionError: division by zero\. Please report.*TAUTO_DEBUG=1.*\n",
        ),
        (TautoError("this, not that", "Do something"), 2, r"tauto: error: this, not that\. Do something\n"),
        (KeyboardInterrupt(), 130, r"\s*tauto: interrupted\s*"),
    ],
    ids=["defect", "error", "interrupt"],
)
def test_what_ends_a_command_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    line: str,
) -> None:
    fail_with(monkeypatch, error)
    assert main(["version"]) == code
    assert re.fullmatch(line, capsys.readouterr().err)


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, ZeroDivisionError("division by zero"))
    monkeypatch.setenv("TAUTO_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["version"])


def test_runner_is_found_in_the_named_folder_before_the_packages_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, named = write_runners(tmp_path / "own"), write_runners(tmp_path / "named")
    monkeypatch.setattr(runners, "_OWN_FOLDER", own)
    monkeypatch.delenv("TAUTO_RUNNERS", raising=False)
    assert runners.find("tauto-probe") == own / "tauto-probe"
    monkeypatch.setenv("TAUTO_RUNNERS", str(named))
    assert runners.find("probe") == named / "tauto-probe"
    (named / "tauto-probe").unlink()
    assert runners.find("tauto-probe") == own / "tauto-probe"


def test_missing_runner_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAUTO_RUNNERS", str(tmp_path))
    monkeypatch.setattr(runners, "_OWN_FOLDER", tmp_path / "bin")
    with pytest.raises(TautoError, match="tauto-loop-tbb was not found") as caught:
        runners.describe("tauto-loop-tbb", package="libtbb-dev")
    assert str(tmp_path) in caught.value.message
    assert "libtbb-dev" in caught.value.remedy


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_sentences_are_broken_between_words_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    sentence = "tauto: error: there is no command 'solver-with-a-long-name'. Write it as the shell would."
    lines = in_lines(sentence, _Terminal()).splitlines()
    assert " ".join(lines) == sentence
    assert max(map(len, lines)) <= 40
    assert in_lines(sentence, io.StringIO()) == sentence


def test_newest_libomp_is_taken(tmp_path: Path) -> None:
    for folder in ("usr/lib/llvm-9/lib", "usr/lib/llvm-19/lib", "usr/lib/x86_64-linux-gnu"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "libomp.so.5").touch()
    assert runners.find_libomp(tmp_path) == tmp_path / "usr/lib/llvm-19/lib/libomp.so.5"


def test_no_libomp_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runners.find_libomp(tmp_path) is None
    monkeypatch.setattr(runners, "find_libomp", lambda: None)
    state = runners.peer_state(PEER_BY_NAME["libomp"])
    assert not state.present
    assert state.remedy == "apt install libomp5"


def test_named_libomp_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libomp.so").touch()
    monkeypatch.setenv("TAUTO_LIBOMP", str(tmp_path / "libomp.so"))
    assert runners.find_libomp() == tmp_path / "libomp.so"
    monkeypatch.setenv("TAUTO_LIBOMP", str(tmp_path / "gone.so"))
    with pytest.raises(TautoError, match=r"gone\.so, which does not exist"):
        runners.find_libomp()


@pytest.mark.timed
def test_a_runner_on_the_wrong_library_is_no_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts answer libgomp whatever is preloaded: then it must not be called libomp."""
    monkeypatch.setenv("TAUTO_RUNNERS", str(write_runners(tmp_path)))
    (tmp_path / "libomp.so").touch()
    monkeypatch.setenv("TAUTO_LIBOMP", str(tmp_path / "libomp.so"))
    state = runners.peer_state(PEER_BY_NAME["libomp"])
    assert not state.present
    assert "ran on libgomp when libomp was wanted" in state.reason


@pytest.mark.timed
@pytest.mark.slow
def test_help_is_there_at_once() -> None:
    """Under 0.4 s of CPU time: the wall clock of a loaded machine says nothing."""
    code = (
        "import resource, subprocess, sys;"
        "subprocess.run([sys.executable, '-m', 'tautochrone', '--help'], stdout=subprocess.DEVNULL);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"
    )
    assert float(python("-c", code).stdout) < 0.4


def test_a_study_that_is_not_compiled_says_the_command_that_compiles_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "CMakeLists.txt").write_text("")
    monkeypatch.setattr(built, "SOURCES", tmp_path / "sources")
    monkeypatch.setattr(runners, "_OWN_FOLDER", tmp_path / "bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TAUTO_RUNNERS", raising=False)
    built.folder.cache_clear()
    with pytest.raises(TautoError) as caught:
        runners.find("tauto-loop-tbb", "libtbb-dev")
    assert str(caught.value) == (
        "tauto-loop-tbb is not compiled here. Install libtbb-dev, then run: tauto study --build loop"
    )
    with pytest.raises(TautoError, match="tauto-probe was not found") as caught:
        runners.find("tauto-probe")
    assert "--build" not in caught.value.remedy
    compiled = built.executables()
    assert compiled is not None
    assert compiled.is_relative_to(tmp_path / "cache")
    write_runners(compiled)
    assert runners.find("tauto-loop-serial") == compiled / "tauto-loop-serial"
    built.folder.cache_clear()


@pytest.mark.timed
def test_what_compiling_needs_and_is_not_here_is_named_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nfind_package(Nothing REQUIRED)\n"
    )
    (sources / "packages.txt").write_text("build cmake command:cmake it\npeer rival header:rival.h a rival\n")
    monkeypatch.setattr(built, "SOURCES", sources)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built.folder.cache_clear()
    assert main(["study", "--build", "loop", "--help"]) == 2
    said = capsys.readouterr().err
    assert "ended with exit code 1" in said
    assert said.rstrip().endswith("On Debian or Ubuntu, as root: apt-get install cmake")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["study", "--build"]) == 2
    assert "needs c++, cmake, pkg-config, ninja" in capsys.readouterr().err
    built.folder.cache_clear()
