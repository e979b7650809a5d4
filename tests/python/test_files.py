"""Files that others may have had a hand in: replaced whole, written through nobody's link, read in bounds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from processes import with_lab
from tautochrone import files
from tautochrone.energy import estimate
from tautochrone.errors import TautoError
from tautochrone.files import append_lines, open_to_append, read_whole, replacing, write_whole
from tautochrone.results.store import Store

LIMIT_BYTES = 1 << 20


def somebody_elses(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Make what stands there another user's; for who may not give it away, this process another user's."""
    if os.geteuid() == 0:
        for path in paths:
            os.chown(path, 12345, 12345, follow_symlinks=False)
    else:
        other = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: other)


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    write_whole(path, "new µ")
    assert path.read_text(encoding="utf-8") == "new µ"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")
    with replacing(path) as unfinished:
        unfinished.write(b"half")
        unfinished.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "half"


@pytest.mark.parametrize("error", [OSError("no space"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as unfinished:
            unfinished.write(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def open_descriptors() -> set[int]:
    names = [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]
    return {one for one in names if Path(f"/proc/self/fd/{one}").is_symlink()}


@pytest.mark.parametrize("write", [write_whole, lambda path, line: append_lines(path, [line])])
def test_ctrl_c_before_any_line_is_passed_on_and_leaves_a_whole_file(
    tmp_path: Path, write: Callable[[Path, str], None]
) -> None:
    """It came out as "Bad file descriptor" where a folder on the way was closed a second time."""
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    (tmp_path / "link").symlink_to(place)
    path = tmp_path / "link" / "file"
    before = open_descriptors()
    interrupted = True
    count = 0
    while interrupted:
        path.write_text("old\n")
        left = count

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal left
            if frame.f_code.co_filename != files.__file__:
                return None
            left -= event == "line"
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            write(path, "new")
            interrupted = False
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        assert path.read_text() in ("old\n", "new", "old\nnew\n")
        for left_open in open_descriptors() - before:  # it was not kept anywhere yet
            os.close(left_open)
        count += 1
    assert count > 30
    assert path.read_text() != "old\n"


def test_a_link_stays_and_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "latest.html"
    link.symlink_to("there/page.html")
    for content in ("first", "second"):
        write_whole(link, content)
        assert link.is_symlink()
        assert [one.read_text() for one in (tmp_path / "there").iterdir()] == [content]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "page")
        assert os.read(reader, 100) == b"page"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize(("place", "error"), [(".", IsADirectoryError), ("nowhere/page", FileNotFoundError)])
def test_a_folder_in_the_way_or_not_there_is_an_error_of_the_system(
    tmp_path: Path, place: str, error: type[OSError]
) -> None:
    with pytest.raises(error):
        write_whole(tmp_path / place, "page")


def test_a_name_that_leaves_no_room_for_more_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_whole(path, "page")
    assert path.read_text() == "page"


def test_a_byte_that_is_no_text_is_written_as_an_escape(tmp_path: Path) -> None:
    write_whole(tmp_path / "page", "s\udcff.sh")
    assert (tmp_path / "page").read_bytes() == b"s\\udcff.sh"


def test_the_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_the_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page"
    seen: list[tuple[str, bool]] = []

    def sync(descriptor: int) -> None:
        seen.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), path.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    write_whole(path, "page")
    (unfinished, before), (folder, after) = seen
    assert Path(unfinished).parent == tmp_path
    assert (before, folder, after) == (False, str(tmp_path), True)


@pytest.mark.parametrize("place", ["page", "folder/page", "folder/on/page"])
def test_nothing_is_written_through_a_link_that_another_user_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    victims = tmp_path / "victims"
    (victims / "on").mkdir(parents=True)
    for name in ("page", "on/page"):
        (victims / name).write_text("mine")
    (tmp_path / "page").symlink_to("victims/page")
    (tmp_path / "folder").symlink_to(victims)
    somebody_elses(monkeypatch, tmp_path / "page", tmp_path / "folder")
    for write in (lambda path: write_whole(path, "new"), open_to_append):
        with pytest.raises(OSError, match="a link that another user has made"):
            write(tmp_path / place)
    assert [(victims / name).read_text() for name in ("page", "on/page")] == ["mine", "mine"]


def test_links_with_the_names_of_unfinished_files_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever guesses the name gains nothing: the file must be new."""
    (tmp_path / "victim").write_text("mine")
    (tmp_path / f"{files._UNFINISHED}1").symlink_to("victim")
    monkeypatch.setattr(files.secrets, "token_hex", lambda count: "1")
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "page", "new")
    assert (tmp_path / "victim").read_text() == "mine"


def test_nothing_is_appended_to_a_second_name_in_a_folder_of_another_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "theirs/rows").hardlink_to(tmp_path / "victim")
    (tmp_path / "theirs/own").touch()
    somebody_elses(monkeypatch, tmp_path / "theirs")
    with pytest.raises(OSError, match="second name"):
        open_to_append(tmp_path / "theirs/rows")
    os.close(open_to_append(tmp_path / "theirs/own"))


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(tmp_path / "a", "page")


@pytest.mark.timed
def test_what_a_killed_writer_left_is_removed_by_the_next_and_a_living_writers_is_not(tmp_path: Path) -> None:
    program = """
import sys, pathlib, time
from tautochrone.files import replacing
with replacing(pathlib.Path("page")) as file:
    print("begun", flush=True)
    sys.stdin.read()
"""
    words = [sys.executable, "-c", program]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    writers = [subprocess.Popen(words, cwd=tmp_path, env=with_lab(), **pipes) for _ in range(2)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"begun\n"
        assert len(list(tmp_path.iterdir())) == 2
        writers[0].send_signal(signal.SIGKILL)
        writers[0].wait()
        write_whole(tmp_path / "other", "page")
        assert len(list(tmp_path.iterdir())) == 2
        writers[1].communicate()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "page"]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def test_a_pipe_that_nobody_reads_is_an_error_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="nobody reads from"):
        write_whole(tmp_path / "pipe", "page")


# -- files that are read --


@pytest.mark.parametrize("name", ["pipe", "device", "large"])
def test_a_pipe_a_device_and_a_large_file_are_not_read_for_ever(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    if name == "pipe":
        assert read_whole(tmp_path / name, LIMIT_BYTES) == b""
        return
    with pytest.raises(OSError, match=r"a pipe or a device|larger than 1 MiB"):
        read_whole(tmp_path / name, LIMIT_BYTES)


def test_a_pipe_that_somebody_writes_to_is_read_and_one_that_stays_silent_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "_PIPE_SECONDS", 0.0)
    reading, writing = os.pipe()
    try:
        path = Path(f"/proc/self/fd/{reading}")
        with pytest.raises(OSError, match="nothing came through the pipe"):
            read_whole(path, LIMIT_BYTES)
        os.write(writing, b"words")
        os.close(writing)
        writing = -1
        assert read_whole(path, LIMIT_BYTES) == b"words"
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def test_a_store_and_a_model_that_are_pipes_or_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    for path in (tmp_path, "/dev/zero"):
        with pytest.raises(TautoError, match="a pipe or a device"):
            Store.read(path)
    with pytest.raises(TautoError, match="a pipe or a device"):
        estimate.load(Path("/dev/zero"))


@pytest.mark.parametrize(
    "left", ["", "whole\n", "whole\nbeginn", "beginn", "whole\n" * 200_000 + "x" * 2_000_000]
)
def test_lines_are_added_behind_the_whole_ones(tmp_path: Path, left: str) -> None:
    path = tmp_path / "rows"
    path.write_text(left)
    append_lines(path, ["one", "two"])
    assert path.read_text() == left[: left.rfind("\n") + 1] + "one\ntwo\n"
