"""An append-only file of JSON lines that survives a kill at any moment and admits one writer.

A line is whole on the disk when `append` returns, or not there at all: it is written by one call, a
partial write is cut off again, and fsync comes before the return. What a crash can leave is the beginning
of one last line. `open` moves that beginning to ``<name>.partial`` and says so; nothing else is touched.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from tautochrone.errors import TautoError, explained
from tautochrone.files import open_to_append, read_whole

Record = dict[str, Any]
"""A line: a JSON object."""

_MOST_BYTES = 1 << 36

_NO_ROOM = {
    errno.ENOSPC: ("the disk is full", "Free some space"),
    errno.EDQUOT: ("the disk quota is used up", "Free some space"),
    errno.EFBIG: ("the limit on file sizes (ulimit -f) is reached", "Raise it"),
}


class Journal:
    """A file of JSON lines, open for appending by this process alone. `records` is what it holds."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.notices: list[str] = []
        self.records: list[Record] = []
        self._descriptor = descriptor
        # Names of their own so that a test can put a full disk in their place.
        self._write: Callable[[int, bytes], int] = os.write
        self._sync: Callable[[int], None] = os.fsync

    @classmethod
    def open(cls, path: Path, *, aside: Callable[[list[Record]], Path] | None = None) -> Self:
        """Open for appending, creating file and folder; TautoError if locked, not writable or broken.

        With `aside` an existing file is first renamed to the path that it returns for the records there.
        """
        descriptor = _lock(path)
        if aside is not None and os.fstat(descriptor).st_size > 0:
            records: list[Record] = []
            with suppress(TautoError):  # it may be damaged beyond reading
                records = read(path)
            path.rename(aside(records))
            os.close(descriptor)
            descriptor = _lock(path)
        journal = cls(path, descriptor)
        try:
            journal._load()
        except BaseException:
            journal.close()
            raise
        return journal

    def append(self, record: Mapping[str, object]) -> None:
        """Write one line; it is on the disk when this returns. On any error the file is as it was before.

        ValueError for NaN and infinity, which JSON has no word for. TautoError when there is no room.
        """
        line = json.dumps(record, allow_nan=False, separators=(",", ":")).encode() + b"\n"
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
        self.records.append(json.loads(line))

    def close(self) -> None:
        """Let the lock go. Closing twice is allowed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self) -> None:
        data = read_whole(self.path, _MOST_BYTES)
        self.records, whole_bytes = parse(self.path, data)
        tail = data[whole_bytes:]
        if tail:
            partial = self.path.with_name(self.path.name + ".partial")
            with open(open_to_append(partial), "ab") as file:  # noqa: PTH123
                file.write(tail + b"\n")
            os.ftruncate(self._descriptor, whole_bytes)
            os.fsync(self._descriptor)
            self.notices.append(
                f"the last line of {self.path} was cut off ({len(tail)} bytes, by a crash or a kill); "
                f"it was moved to {partial.name}, the {len(self.records)} lines before it are whole"
            )
        elif data and not data.endswith(b"\n"):
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
            f"the {len(self.records)} lines before it are whole",
            f"{first} and start the same command again: it goes on from there",
        )


def read(path: Path) -> list[Record]:
    """All whole lines, without a lock; a last line that a writer has not finished is left out."""
    with explained(f"no results can be read from {path}", "Name a folder that a study has written"):
        data = read_whole(path, _MOST_BYTES)
    return parse(path, data)[0]


def parse(path: Path, data: bytes) -> tuple[list[Record], int]:
    """The objects in `data`, and how many of its bytes they take; a cut-off last line is left out.

    TautoError that names the line number if a line before the last one is broken.
    """
    records: list[Record] = []
    position = 0
    while position < len(data):
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        record = _object(data[position:end])
        if record is None:
            # An object ends in its brace: the beginning of one is never an object itself.
            if data[end:].strip(b"\n\0 \t\r") == b"":
                return records, position
            raise TautoError(
                f"line {len(records) + 1} of {path} is not a JSON object, and lines follow it",
                "The file was edited or damaged: repair or delete that line, or begin anew with --fresh",
            )
        records.append(record)
        position = min(end + 1, len(data))
    return records, position


def writer_pid(path: Path) -> int | None:
    """The process that holds the lock on `path`, or None where the system does not tell."""
    with suppress(OSError, ValueError):
        inode = str(path.stat().st_ino)
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if "->" not in words and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
                return int(words[4])
    return None


def _object(line: bytes) -> Record | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


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
