"""An append-only file of JSON lines that survives a kill at any moment and admits one writer.

A line is whole on the disk when `append` returns, or not there at all: it is written by one call, a
partial write is cut off again, and fsync comes before the return. What a crash can leave is the beginning
of one last line. `open` moves that beginning to ``<name>.partial`` and says so; nothing else is touched.
Lines that changed since are left out and named (see `lines`).
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Self

from tautochrone.errors import TautoError, explained
from tautochrone.files import open_to_append, opened
from tautochrone.results.lines import Lines, Record, line_of, read_lines

_NO_ROOM = {
    errno.ENOSPC: ("the disk is full", "Free some space"),
    errno.EDQUOT: ("the disk quota is used up", "Free some space"),
    errno.EFBIG: ("the limit on file sizes (ulimit -f) is reached", "Raise it"),
}


class Journal:
    """A file of JSON lines, open for appending by this process alone.

    `records` is what it holds, by line; what was appended as it was given.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.notices: list[str] = []
        self.lines = Lines()
        self._keeps = True
        self._descriptor = descriptor
        # Names of their own so that a test can put a full disk in their place.
        self._write: Callable[[int, bytes], int] = os.write
        self._sync: Callable[[int], None] = os.fsync

    @property
    def records(self) -> dict[int, Any]:
        return self.lines.records

    def taken(self) -> dict[int, Any]:
        """Its records, which are the caller's from now on: the journal keeps none any more."""
        self._keeps = False
        records, self.lines.records = self.lines.records, {}
        return records

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        aside: Callable[[Mapping[int, Any]], Path] | None = None,
        made: Callable[[Record], Any] = dict,
    ) -> Self:
        """Open for appending, creating file and folder; TautoError if locked, not writable or broken.

        With `aside` an existing file is first renamed to the path that it returns for the records there.
        `made`: what is kept of a record that is there.
        """
        descriptor = _lock(path)
        if aside is not None and os.fstat(descriptor).st_size > 0:
            path.rename(aside(read(path, made).records))
            os.close(descriptor)
            descriptor = _lock(path)
        journal = cls(path, descriptor)
        try:
            journal._load(made)
        except BaseException:
            journal.close()
            raise
        return journal

    def append(self, record: Mapping[str, object]) -> None:
        """Write one line; it is on the disk when this returns. On any error the file is as it was before.

        ValueError for NaN and infinity, which JSON has no word for. TautoError when there is no room.
        """
        line, own = line_of(record, self.lines.last)
        size = os.fstat(self._descriptor).st_size
        try:
            self._write_all(line)
            self._sync(self._descriptor)
        except OSError as error:
            self._cut(size)
            raise self._explain(error) from error
        except BaseException:
            self._cut(size)
            raise
        self.lines.count += 1
        self.lines.whole += 1
        self.lines.last = own
        if self._keeps:
            self.lines.records[self.lines.count] = dict(record)

    def close(self) -> None:
        """Let the lock go. Closing twice is allowed."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1  # first: Ctrl-C may come between
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self, made: Callable[[Record], Any]) -> None:
        with opened(self.path) as file:
            self.lines = read_lines(file, made)
            file.seek(max(0, self.lines.size - 1))
            end = file.read(1)
            file.seek(self.lines.size)
            tail = file.read()
        self.notices = self.lines.notices(self.path)
        if tail:
            partial = self.path.with_name(self.path.name + ".partial")
            with open(open_to_append(partial), "ab") as file:  # noqa: PTH123
                file.write(tail + b"\n")
            os.ftruncate(self._descriptor, self.lines.size)
            os.fsync(self._descriptor)
            self.notices.append(
                f"the last line of {self.path} was cut off ({len(tail)} bytes, by a crash or a kill); "
                f"it was moved to {partial.name}, the {self.lines.whole} lines before it are whole"
            )
        elif end not in (b"", b"\n"):
            self._write_all(b"\n")
            self._sync(self._descriptor)

    def _write_all(self, data: bytes) -> None:
        while data:
            data = data[self._write(self._descriptor, data) :]

    def _cut(self, size: int) -> None:
        # If even this fails, the next `open` finds a cut-off last line and moves it aside.
        with suppress(OSError):
            os.ftruncate(self._descriptor, size)
            os.fsync(self._descriptor)

    def _explain(self, error: OSError) -> TautoError:
        cause = f"the system says: {error.strerror}"
        reason, first = _NO_ROOM.get(error.errno or 0, (cause, "Put that right"))
        return TautoError(
            f"a result could not be written to {self.path}: {reason}; "
            f"the {self.lines.whole} lines before it are whole",
            f"{first} and start the same command again: it goes on from there",
        )


def read(path: Path, made: Callable[[Record], Any] = dict, most: int | None = None) -> Lines:
    """All whole lines, without a lock; a last line that a writer has not finished is left out.

    `made`: what is kept of a record. `most`: how many lines are read. TautoError for a file that cannot be
    read, or is none.
    """
    remedy = "Name a folder that a study has written"
    # A pipe without a writer would let us wait for ever, and a device has no end.
    with explained(f"no results can be read from {path}", remedy), opened(path) as file:
        return read_lines(islice(file, most), made)


def cut_off(path: Path, lines: Lines) -> bool:
    """Whether the file has a last line that is not whole, and nobody who is writing it."""
    with suppress(OSError):
        return path.stat().st_size > lines.size and writer_pid(path) is None
    return False


def writer_pid(path: Path) -> int | None:
    """The process that holds the lock on `path`, or None where the system does not tell."""
    with suppress(OSError, ValueError):
        inode = str(path.stat().st_ino)
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if "->" not in words and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
                return int(words[4])
    return None


def _lock(path: Path) -> int:
    """A descriptor of `path`, open for appending; its lock ends with the process, however that ends."""
    while True:
        remedy = "Name a folder that you can write to with --output"
        with explained(f"results cannot be written to {path.parent}", remedy):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = open_to_append(path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            pid = writer_pid(path)
            raise TautoError(
                f"{path} is being written by {f'process {pid}' if pid else 'another process'}",
                "Wait for it to end, or name another folder with --output",
            ) from error
        # Between opening and locking, another process may have set the file aside for a fresh one.
        with suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        os.close(descriptor)
