"""Files are replaced whole, or stay as they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tautochrone.results.journal import replacing, write_whole


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
        unfinished.write_text("half")
        assert path.read_text() == "old"
    assert path.read_text() == "half"


@pytest.mark.parametrize("error", [OSError("no space"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as unfinished:
            unfinished.write_text("half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


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


def test_a_folder_in_the_way_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "page")


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "nowhere" / "page.html", "new")
