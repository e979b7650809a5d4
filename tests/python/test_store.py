"""The rows file: what a kill, a full disk, a second writer and a careless editor can do to it.

And other files, which are replaced whole or stay as they were.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from measuring import MACHINE, row
from tautochrone.errors import TautoError
from tautochrone.measuring.clock import VirtualClock
from tautochrone.results import journal
from tautochrone.results.row import MACHINE_SCHEMA, Failure, Row, as_record, refused
from tautochrone.results.store import ROWS_FILE, Store


def opened(folder: Path, study: str = "loop", plan_id: str = "plan", fresh: bool = False) -> Store:
    return Store.open(folder, study, plan_id, MACHINE, fresh=fresh, now=VirtualClock().now())


def filled(folder: Path, count: int = 3) -> Path:
    with opened(folder) as store:
        for number in range(count):
            store.append(row("a", number))
    return folder / ROWS_FILE


def numbers(rows: list[Row]) -> list[int]:
    return [one.round for one in rows]


def test_a_store_begins_with_what_it_is_and_on_which_machine(tmp_path: Path) -> None:
    path = filled(tmp_path / "new" / "folder", 1)
    header, machine, first = (json.loads(line) for line in path.read_text().splitlines())
    ends = [[line.pop("after"), line.pop("sum")] for line in (header, machine, first)]
    assert [after for after, _ in ends[1:]] == [own for _, own in ends[:2]]
    assert header["schema"] == "tautochrone.store/1"
    assert (header["study"], header["plan_id"]) == ("loop", "plan")
    assert header["created"] == "2026-01-01T00:00:00.000Z"
    assert machine == MACHINE
    assert first["schema"] == "tautochrone.row/1"


def test_what_was_stored_is_read_back(tmp_path: Path) -> None:
    filled(tmp_path)
    store = Store.read(tmp_path)
    assert numbers(store.rows()) == [0, 1, 2]
    assert (store.study, store.machine["machine"], store.folder) == ("loop", MACHINE["machine"], tmp_path)
    assert numbers(Store.read(tmp_path / ROWS_FILE).rows()) == [0, 1, 2]


def test_a_store_goes_on_from_what_it_holds(tmp_path: Path) -> None:
    filled(tmp_path)
    with opened(tmp_path) as store:
        assert store.completed() == {("a", 0), ("a", 1), ("a", 2)}
        store.append(row("a", 3))
        assert store.notices == []
    assert numbers(Store.read(tmp_path).rows()) == [0, 1, 2, 3]


def test_runs_that_failed_are_not_complete(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.append(row("a", 0, None))
        store.append(row("a", 1))
        assert store.completed() == {("a", 1)}


def test_a_later_line_of_the_same_run_takes_its_place(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    with opened(tmp_path) as store:
        store.append(refused(row("a", 0), "wrong_answer", "it differs"))
        assert [one.error is None for one in store.rows()] == [False, True]
        assert store.completed() == {("a", 1)}


def test_rows_that_only_chose_the_finalists_are_no_results(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.append(row("a", 0, source="screening"))
        store.append(row("a", 1))
        assert numbers(store.rows()) == [1]
        assert numbers(store.rows("screening")) == [0]
        assert numbers(store.rows(None)) == [0, 1]
        assert store.completed() == {("a", 1)}
        assert store.completed("screening") == {("a", 0)}


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_cut_off_last_line_is_moved_aside_and_nothing_else_is_lost(tmp_path: Path, cut: int) -> None:
    path = filled(tmp_path)
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole[: -cut - 1])
    with opened(tmp_path) as store:
        assert numbers(store.rows()) == [0, 1]
        (notice,) = store.notices
        assert "was cut off" in notice
        assert "rows.jsonl.partial" in notice
        store.append(row("a", 2))
    assert (tmp_path / "rows.jsonl.partial").read_bytes().startswith(last[: -cut - 1])
    assert path.read_bytes() == whole


def test_a_last_line_that_lacks_only_its_end_of_line_is_whole(tmp_path: Path) -> None:
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    with opened(tmp_path) as store:
        assert store.notices == []
        store.append(row("a", 3))
    assert numbers(Store.read(tmp_path).rows()) == [0, 1, 2, 3]


@pytest.mark.parametrize("keep", [0, 5, -1])
def test_a_kill_in_the_first_lines_leaves_a_store_that_opens(tmp_path: Path, keep: int) -> None:
    path = filled(tmp_path, 0)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0][:keep] if keep >= 0 else lines[0] + lines[1][:7])
    with opened(tmp_path) as store:
        store.append(row("a", 0))
    again = Store.read(tmp_path)
    assert numbers(again.rows()) == [0]
    assert again.machine["machine"] == MACHINE["machine"]


def test_zeros_that_a_power_cut_left_at_the_end_are_moved_aside(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with path.open("ab") as file:
        file.write(b"\0" * 4096)
    with opened(tmp_path) as store:
        assert numbers(store.rows()) == [0, 1, 2]
        assert len(store.notices) == 1


def test_reading_leaves_out_the_line_that_is_just_being_written(tmp_path: Path) -> None:
    path = filled(tmp_path)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"schema":"tautochrone.row/1","run"')
    assert numbers(Store.read(tmp_path).rows()) == [0, 1, 2]
    assert path.stat().st_size > size


NO_OBJECTS = ["not json", "[1, 2]", '{"schema": ', "", '{"a":' * 100_000]


@pytest.mark.parametrize("line", NO_OBJECTS, ids=range(len(NO_OBJECTS)))
def test_a_broken_line_is_named_and_the_others_are_used(tmp_path: Path, line: str) -> None:
    path = filled(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], line, *lines[3:]]) + "\n")
    before = path.read_bytes()
    for attempt in (opened, Store.read):
        with attempt(tmp_path) as store:
            assert numbers(store.rows()) == [0, 1, 2]
            (notice,) = store.notices
            assert notice.startswith(f"line 4 of {path} changed after writing")
    assert path.read_bytes() == before


def without_sums(path: Path) -> list[str]:
    """The lines as versions without checksums wrote them; the file becomes such a one."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        del record["after"], record["sum"]
    lines = [json.dumps(record, separators=(",", ":")) for record in records]
    path.write_text("\n".join(lines) + "\n")
    return lines


def test_a_store_of_an_earlier_version_opens_with_a_word_and_goes_on(tmp_path: Path) -> None:
    path = filled(tmp_path)
    old = without_sums(path)
    with opened(tmp_path) as store:
        assert numbers(store.rows()) == [0, 1, 2]
        (notice,) = store.notices
        assert "lines 1 to 5" in notice
        assert "without checksums: nobody can tell" in notice
        store.append(row("a", 3))
    assert path.read_text().splitlines()[:5] == old
    store = Store.read(tmp_path)
    assert (numbers(store.rows()), store.notices) == ([0, 1, 2, 3], [notice])
    # From then on its old lines are known too.
    path.write_text(path.read_text().replace('"position":0', '"position":1', 1))
    (notice,) = Store.read(tmp_path).notices
    assert "lines 1 to 5" in notice
    assert "at least one of them changed" in notice
    # And lines without a checksum are none of this store any more.
    with path.open("a") as file:
        file.write(old[-1] + "\n")
    assert any("line 7 of" in told for told in Store.read(tmp_path).notices)


def test_a_store_of_an_earlier_version_whose_last_line_was_cut_off_has_not_changed(tmp_path: Path) -> None:
    path = filled(tmp_path)
    without_sums(path)
    with path.open("a") as file:
        file.write('{"schema":')
    with opened(tmp_path) as store:
        store.append(row("a", 3))
    store = Store.read(tmp_path)
    assert numbers(store.rows()) == [0, 1, 2, 3]
    (notice,) = store.notices
    assert "nobody can tell" in notice


def damaged(folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> Store:
    """A store of five rows (lines 3 to 7) whose lines were changed by hand."""
    path = filled(folder, 5)
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    return Store.read(folder)


def test_a_changed_figure_is_named_and_not_believed(tmp_path: Path) -> None:
    store = damaged(tmp_path, lambda lines: [line.replace(b'"round":2', b'"round":7') for line in lines])
    assert numbers(store.rows()) == [0, 1, 3, 4]
    assert [notice.partition(" changed")[0] for notice in store.notices] == [f"line 5 of {store.path}"]
    with opened(tmp_path) as again:
        assert ("a", 2) not in again.completed()


def test_a_lost_line_is_named_by_the_one_behind_it(tmp_path: Path) -> None:
    store = damaged(tmp_path, lambda lines: lines[:3] + lines[4:])
    assert numbers(store.rows()) == [0, 2, 3, 4]
    (notice,) = store.notices
    assert notice.startswith(f"before line 4 of {store.path} at least one line is missing")


@pytest.mark.parametrize("first", [2, 3])
def test_doubled_lines_are_named_and_count_once(tmp_path: Path, first: int) -> None:
    store = damaged(tmp_path, lambda lines: lines[:4] + lines[first:4] + lines[4:])
    assert numbers(store.rows()) == [0, 1, 2, 3, 4]
    (notice,) = store.notices
    assert notice.startswith(f"line 5 of {store.path} repeats line {first + 1}")


def test_lines_in_another_order_are_named(tmp_path: Path) -> None:
    store = damaged(tmp_path, lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]])
    assert sorted(numbers(store.rows())) == [0, 1, 2, 3, 4]
    assert "before lines 5, 6 and 7" in store.notices[0]


def test_a_run_that_was_refused_stays_refused_whatever_the_order_of_its_lines(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.append(row("a", 0))
        store.append(refused(row("a", 0), "wrong_answer", "it differs"))
    lines = store.path.read_bytes().splitlines(keepends=True)
    store.path.write_bytes(b"".join([*lines[:2], lines[3], lines[2]]))
    assert [one.error is None for one in Store.read(tmp_path).rows()] == [False]


def test_a_store_whose_first_line_changed_is_read_but_not_gone_on_with(tmp_path: Path) -> None:
    store = damaged(tmp_path, lambda lines: [lines[0].replace(b"plan", b"plon"), *lines[1:]])
    assert (store.study, numbers(store.rows())) == ("loop", [0, 1, 2, 3, 4])
    assert store.notices[0].startswith("line 1 of")
    with pytest.raises(TautoError, match=r"line 1 of .* changed after writing") as caught:
        opened(tmp_path)
    assert "--fresh" in caught.value.remedy


def test_the_machine_is_stored_again_where_its_line_changed(tmp_path: Path) -> None:
    store = damaged(tmp_path, lambda lines: [lines[0], lines[1].replace(b"a test", b"b test"), *lines[2:]])
    assert store.machine == {}
    with opened(tmp_path) as again:
        assert again.machine["machine"] == MACHINE["machine"]


def test_no_bit_that_flips_is_taken_without_a_word(tmp_path: Path) -> None:
    path = filled(tmp_path, 4)
    whole = path.read_bytes()
    good = Store.read(tmp_path).rows()
    chance = random.Random(19)
    for _ in range(400):
        place, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        store = Store.read(tmp_path)
        assert store.notices, (place, bit)
        # A newline that is lost or made harms two lines at most.
        assert len(store.rows()) >= len(good) - 2
        assert all(one in good for one in store.rows())


def test_a_pipe_in_place_of_the_rows_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ROWS_FILE)
    for attempt in (opened, Store.read):
        with pytest.raises(TautoError, match="it is a pipe or a device, not a file"):
            attempt(tmp_path)


def test_another_schema_is_refused_by_name(tmp_path: Path) -> None:
    path = filled(tmp_path)
    without_sums(path)
    path.write_text(path.read_text().replace("tautochrone.row/1", "tautochrone.row/9"))
    expected = r"line 3 of .* has schema 'tautochrone\.row/9'; expected tautochrone\.row/1"
    for attempt in (opened, Store.read):
        with pytest.raises(TautoError, match=expected):
            attempt(tmp_path)
    path.write_text('{"results": []}\n')
    with pytest.raises(TautoError, match=r"line 1 of .* has schema None; expected tautochrone\.store/1"):
        Store.read(tmp_path)


def test_another_study_plan_or_machine_is_refused_with_a_way_out(tmp_path: Path) -> None:
    filled(tmp_path)
    with pytest.raises(TautoError, match="holds the study 'loop', not 'power'") as caught:
        opened(tmp_path, study="power")
    assert "--fresh" in caught.value.remedy
    assert "--output" in caught.value.remedy
    with pytest.raises(TautoError, match="plan plan, now plan other"):
        opened(tmp_path, plan_id="other")
    with pytest.raises(TautoError, match="machine 0123456789ab; this is machine ffff"):
        Store.open(tmp_path, "loop", "plan", {**MACHINE, "machine": "ffff"})
    with opened(tmp_path) as store:
        assert len(store.rows()) == 3


def test_a_folder_that_another_takes_the_place_of_gets_no_rows_of_ours(tmp_path: Path) -> None:
    """Between two rows the link to the results leads elsewhere; so does the folder's own name."""
    ours, others, link = (tmp_path / name for name in ("ours", "others", "link"))
    ours.mkdir()
    others.mkdir()
    link.symlink_to(ours)
    with opened(link) as store:
        store.append(row("a", 0))
        link.unlink()
        link.symlink_to(others)
        store.append(row("a", 1))
        ours.rename(tmp_path / "moved")
        ours.symlink_to(others)
        store.append(row("a", 2))
    assert not list(others.iterdir())
    assert numbers(Store.read(tmp_path / "moved").rows()) == [0, 1, 2]


def test_a_store_copied_from_another_machine_is_not_gone_on_with(tmp_path: Path) -> None:
    path = filled(tmp_path / "there")
    here = tmp_path / "here"
    shutil.copytree(path.parent, here)
    before = (here / ROWS_FILE).read_bytes()
    with pytest.raises(TautoError, match="machine 0123456789ab; this is machine ffff"):
        Store.open(here, "loop", "plan", {**MACHINE, "machine": "ffff"})
    assert (here / ROWS_FILE).read_bytes() == before


def test_a_fresh_start_keeps_the_old_rows_beside_the_new(tmp_path: Path) -> None:
    for _ in range(2):
        filled(tmp_path)
        with opened(tmp_path, study="power", plan_id="other", fresh=True) as store:
            assert store.rows() == []
        (tmp_path / ROWS_FILE).unlink()
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["rows.20260101T000000000Z-2.jsonl", "rows.20260101T000000000Z.jsonl"]
    assert numbers(Store.read(tmp_path / kept[0]).rows()) == [0, 1, 2]


def test_a_fresh_start_helps_when_a_line_is_broken(tmp_path: Path) -> None:
    path = filled(tmp_path)
    path.write_text("broken\n" + path.read_text())
    with opened(tmp_path, fresh=True) as store:
        store.append(row("a", 0))
    assert numbers(Store.read(tmp_path).rows()) == [0]


def test_a_second_writer_is_told_the_first_ones_pid(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(TautoError, match=f"written by process {os.getpid()}") as caught:
        opened(tmp_path)
    assert "--output" in caught.value.remedy
    opened(tmp_path).close()


def test_a_fresh_start_does_not_take_the_file_from_a_writer(tmp_path: Path) -> None:
    with opened(tmp_path) as store, pytest.raises(TautoError, match="is being written"):
        opened(tmp_path, fresh=True)
    assert store.path.exists()


def test_a_row_that_breaks_the_schema_is_not_stored(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        size = store.path.stat().st_size
        for bad in (
            replace(row("a", 0), schema="other/1"),
            replace(row("a", 0), seconds=None),
            replace(row("a", 0), seconds=0.0),
            replace(row("a", 0, None), seconds=1.0),
            replace(row("a", 0, None), error=Failure("bored", "")),
            replace(row("a", 0), detail={"x": float("nan")}),
        ):
            with pytest.raises(ValueError):
                store.append(bad)
        assert store.path.stat().st_size == size
        assert store.rows() == []


def test_a_store_that_was_opened_for_reading_cannot_be_written(tmp_path: Path) -> None:
    filled(tmp_path)
    with pytest.raises(ValueError, match="opened for reading"):
        Store.read(tmp_path).append(row("a", 9))


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(TautoError, match=r"no results can be read from .*rows\.jsonl: No such file"):
        Store.read(tmp_path)
    (tmp_path / ROWS_FILE).touch()
    with pytest.raises(TautoError, match="holds no results"):
        Store.read(tmp_path)


def mount(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    """By its mode, or for root, who writes anywhere, by its mount."""
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        yield tmp_path
        tmp_path.chmod(0o700)
    elif mount(tmp_path, "ro,size=64k"):
        yield tmp_path
        subprocess.run(["umount", str(tmp_path)], check=True)
    else:
        pytest.skip("root needs the right to mount for a folder that it cannot write to")


@pytest.mark.timed
def test_a_read_only_folder_is_refused_with_a_way_out(read_only_folder: Path) -> None:
    for folder in (read_only_folder, read_only_folder / "new" / "folder"):
        with pytest.raises(TautoError, match=r"cannot be written to .*: (Read-only|Permission)") as caught:
            opened(folder)
        assert "--output" in caught.value.remedy


def test_a_folder_that_cannot_be_made_is_refused_with_a_way_out() -> None:
    with pytest.raises(TautoError, match="results cannot be written to /proc/nowhere") as caught:
        opened(Path("/proc/nowhere"))
    assert "--output" in caught.value.remedy


class FullDisk:
    """Takes so many bytes and then has no room: a write is cut short first, as on a real disk."""

    def __init__(self, room: int, code: int = errno.ENOSPC) -> None:
        self.room = room
        self.code = code

    def write(self, descriptor: int, data: bytes) -> int:
        if self.room == 0:
            raise OSError(self.code, os.strerror(self.code))
        taken = os.write(descriptor, data[: self.room])
        self.room -= taken
        return taken


def append_until_it_fails(to: Store | journal.Journal, first: int) -> tuple[int, TautoError]:
    """How many rows were stored, and the error that ended it."""
    for number in range(first, 1000):
        try:
            one = row("a", number, detail={"x": "x" * 1000})
            to.append(one if isinstance(to, Store) else as_record(one))
        except TautoError as error:
            return number - first, error
    raise AssertionError("a disk of that size cannot hold 1000 rows")


@pytest.mark.parametrize("room", [0, 1, 50, 5000])
def test_a_full_disk_is_told_and_leaves_whole_lines(
    tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path)
    writer = journal.Journal.open(path)
    monkeypatch.setattr(writer, "_write", FullDisk(room).write)
    with writer:
        stored, error = append_until_it_fails(writer, 3)
    assert "the disk is full" in error.message
    assert "Free some space" in error.remedy
    assert path.read_bytes().endswith(b"\n")
    assert numbers(Store.read(tmp_path).rows()) == list(range(3 + stored))
    with opened(tmp_path) as store:
        store.append(row("a", 3 + stored))
        assert store.notices == []


@pytest.mark.parametrize(
    ("code", "word"), [(errno.EDQUOT, "quota"), (errno.EFBIG, "ulimit"), (errno.EIO, "Input/output error")]
)
def test_other_reasons_for_a_failed_write_are_told_too(
    tmp_path: Path, code: int, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journal.Journal.open(filled(tmp_path)) as writer:
        monkeypatch.setattr(writer, "_write", FullDisk(10, code).write)
        with pytest.raises(TautoError, match=word):
            writer.append(as_record(row("a", 3)))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if not mount(tmp_path, "size=64k"):
        pytest.skip("a disk of 64 kB needs the right to mount")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.timed
def test_a_disk_that_is_really_full_leaves_whole_lines(small_disk: Path) -> None:
    folder = small_disk / "results"
    with opened(folder) as store:
        stored, error = append_until_it_fails(store, 0)
    assert "the disk is full" in error.message
    assert stored > 10
    assert numbers(Store.read(folder).rows()) == list(range(stored))
    (folder / ROWS_FILE).rename(small_disk / "kept")
    assert numbers(Store.read(small_disk / "kept").rows()) == list(range(stored))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ({"config_id": None}, "lacks config_id"),
        ({"seconds": "fast"}, "Expected `float | null`, got `str`"),
        ({"round": 1.5}, "Expected `int`, got `float`"),
        ({"error": "bad"}, "Expected `object | null`, got `str`"),
    ],
)
def test_a_stored_line_that_is_not_a_row_is_named_with_its_number(
    tmp_path: Path, damage: dict[str, Any], told: str
) -> None:
    record = as_record(row("a", 0)) | damage
    if record["config_id"] is None:
        del record["config_id"]
    with journal.Journal.open(filled(tmp_path)) as writer:
        writer.append(record)
    with pytest.raises(TautoError, match=r"line \d+ of .* is not a row") as caught:
        Store.read(tmp_path)
    assert told in caught.value.message


def test_the_machine_may_be_measured_again_but_stays_the_same(tmp_path: Path) -> None:
    machine = {"schema": MACHINE_SCHEMA, "machine": "a", "measured": 1}
    with Store.open(tmp_path, "s", "p", machine) as store:
        store.append_machine({**machine, "measured": 2})
        with pytest.raises(ValueError, match="another machine"):
            store.append_machine({**machine, "machine": "b"})
    found = Store.read(tmp_path)
    assert [one["measured"] for one in found.machines] == [1, 2]
    assert found.machine["measured"] == 1
    with pytest.raises(ValueError, match="opened for reading"):
        found.append_machine(machine)


WRITER = """
    import sys
    from tautochrone.results.store import Store
    from measuring import MACHINE, row
    store = Store.open(sys.argv[1], "loop", "plan", MACHINE)
    number = len(store.rows())
    while True:
        store.append(row("a", number, detail={"x": "x" * 20000}))
        print(number, flush=True)
        number += 1
"""


@pytest.mark.timed
def test_a_kill_at_any_moment_loses_at_most_the_line_in_flight(tmp_path: Path) -> None:
    chance = random.Random(3)
    folders = [str(Path(journal.__file__).parents[2]), str(Path(__file__).parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    code = textwrap.dedent(WRITER)
    told = -1
    for _ in range(12):
        command = [sys.executable, "-c", code, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
            assert process.stdout is not None
            for _ in range(chance.randint(1, 6)):
                told = int(process.stdout.readline())
            # A moment that no line of the output marks: some instructions later.
            for _ in range(chance.randint(0, 20000)):
                pass
            process.send_signal(signal.SIGKILL)
            rest = process.stdout.read().split()
            told = int(rest[-1]) if rest else told
        found = numbers(Store.read(tmp_path).rows())
        # All that was told as stored is there, and at most one more.
        assert found == list(range(len(found)))
        assert len(found) in (told + 1, told + 2)
    assert told >= 12


def test_a_row_is_on_the_disk_when_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[int, bytes]] = []
    path = tmp_path / "rows.jsonl"
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append((descriptor, path.read_bytes())))
    with journal.Journal.open(path) as rows:
        synced.clear()
        rows.append({"a": 1})
        rows.append({"b": 2})
    assert [data.count(b"\n") for _, data in synced] == [1, 2]
