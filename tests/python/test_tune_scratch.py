"""--scratch: what a run does to the files of its folder stays with that run."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from processes import wait_until, with_lab
from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.objective import parse_objective
from tautochrone.tune.judging import Judging
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.scratch import Scratch
from tautochrone.tune.services import Services

pytestmark = pytest.mark.timed


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def ran(script: str, times: int = 1, *, same_output: bool = False) -> None:
    request = TuneRequest(command=("sh",), scratch=True, same_output=same_output)
    judging = Judging(parse_objective("time"), same_output=same_output)
    with closing(Services().executor(request, judging, None)) as executor:
        for _ in range(times):
            result = executor.run(Configuration("x", ["sh", "-c", script]), 30.0)
            assert result.error is None, result.error


def test_a_file_that_is_written_over_is_the_users_no_longer() -> None:
    Path("state").write_text("mine")
    Path("log").write_text("mine\n")
    Path("deep/er").mkdir(parents=True)
    Path("deep/er/state").write_text("mine")
    ran("echo its > state; echo its >> log; echo its > deep/er/state; echo its > deep/new; rm -r deep/er")
    assert Path("state").read_text() == "mine"
    assert Path("log").read_text() == "mine\n"
    assert Path("deep/er/state").read_text() == "mine"
    assert not Path("deep/new").exists()


def test_each_run_reads_what_was_there_and_not_what_another_run_left() -> None:
    Path("count").write_text("a")
    Path("count").chmod(0o640)
    os.utime("count", (1e9, 1e9))
    ran('test "$(cat count)" = a && test count -ot / && test -r count && echo b >> count', times=3)


def test_links_that_lead_out_are_followed_and_those_that_stay_are_links(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "input").write_text("mine")
    Path("file").symlink_to(tmp_path / "outside" / "input")
    Path("folder").symlink_to(tmp_path / "outside")
    Path("one").write_text("1")
    Path("same").symlink_to("one")
    Path("nothing").symlink_to("no-such-file")
    ran("echo its > file; echo its > folder/input; echo 2 > same; test $(cat one) = 2")
    assert (tmp_path / "outside" / "input").read_text() == "mine"
    assert Path("one").read_text() == "1"


def test_a_link_to_a_folder_above_is_not_copied_without_end(tmp_path: Path) -> None:
    Path("up").symlink_to(tmp_path.absolute())
    Path("up-and-back").mkdir()
    Path("up-and-back/here").symlink_to(Path.cwd())
    ran("test -d up && test ! -e up/here && test ! -e up-and-back/here")


def test_a_copy_below_what_is_copied_holds_no_copy_of_itself(
    in_an_empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In /tmp it was copied into itself until its name was too long."""
    monkeypatch.setattr(tempfile, "tempdir", str(in_an_empty_folder))
    (in_an_empty_folder / "data").write_text("1")
    with Scratch()() as folder:
        assert folder is not None
        assert folder.parent == in_an_empty_folder
        assert [one.name for one in folder.iterdir()] == ["data"]


def test_what_is_no_file_is_not_waited_for() -> None:
    os.mkfifo("pipe")
    ran("test ! -e pipe")


def test_the_labs_own_results_are_not_copied(in_an_empty_folder: Path) -> None:
    Path("tautochrone-results").mkdir()
    Path("out").mkdir()
    with Scratch(Path("out"))() as folder:
        assert folder is not None
        assert list(folder.iterdir()) == []
    with Scratch(Path("out"), beside_results=True)() as folder:
        assert folder is not None
        assert folder.parent == in_an_empty_folder / "out"
    assert list(Path("out").iterdir()) == []


def test_too_much_to_copy_is_an_error_that_names_the_largest_file() -> None:
    Path("small").write_bytes(b"x" * 100)
    Path("large").write_bytes(b"x" * 3000)
    with (
        pytest.raises(TautoError, match=r"more than 2.*KiB for each run.*large, 2\.9.*absolute paths"),
        Scratch(most_bytes=2048)(),
    ):
        pass


def test_what_a_killed_search_left_is_removed_and_what_a_living_one_has_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    host = os.uname().nodename
    left = temporary / f"tauto-scratch-{host}-abc"
    living = temporary / f"tauto-scratch-{host}-def"
    others = temporary / "tauto-scratch-elsewhere-abc"
    for folder in (left, living, others):
        (folder / "deep").mkdir(parents=True)
    descriptor = os.open(living, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        ran("true", same_output=True)
    finally:
        os.close(descriptor)
    assert sorted(temporary.iterdir()) == sorted([living, others])


def test_nothing_is_left_of_a_search_that_is_killed_during_a_run(tmp_path: Path) -> None:
    """Nor is the program: what starts it sees that the search is gone, and removes what was the run's."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["tune", "--budget", "30s", "--scratch", "--same-output", "--env", "X=a,b", "--no-report", "--"]
    program = ["sh", "-c", "echo $PWD >$0/begun; sleep 1000", tmp_path]
    copied = tmp_path / "copied"
    copied.mkdir()
    search = subprocess.Popen(
        [sys.executable, "-m", "tautochrone", *words, *program],
        cwd=copied,
        env=with_lab(TMPDIR=str(temporary)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        begun = tmp_path / "begun"
        wait_until(lambda: begun.exists() and begun.read_text() != "", "the first run")
        names = sorted(path.name.partition("-")[2].partition("-")[0] for path in temporary.iterdir())
        assert names == ["scratch"]  # what the program prints goes to a file without a name
    finally:
        search.kill()
        search.wait()
    wait_until(lambda: not list(temporary.iterdir()), "the removal")
