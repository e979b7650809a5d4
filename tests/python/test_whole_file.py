"""Files are replaced whole, or stay as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tautochrone.whole_file import replacing, write_whole


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


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "nowhere" / "page.html", "new")
