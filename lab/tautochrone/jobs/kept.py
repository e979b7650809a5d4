"""Answers that are kept in a file, a line each, so that the same command goes on after it was killed."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.files import append_lines, open_to_append, opened


class Line(msgspec.Struct, frozen=True):
    """An answer and its key."""

    key: str
    answer: str


class Kept:
    """What the file has, and what is added to it. A line that cannot be read is done again.

    Without a file it is kept as long as this object. TautoError where the file cannot be read or written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known = {} if path is None else _read(path)
        self._file: int | None = None
        self._lock = threading.Lock()

    def known(self, keys: Iterable[str]) -> dict[str, str]:
        """The answers of these that it has."""
        return {key: answer for key in keys if (answer := self._known.get(key)) is not None}

    def keep(self, key: str, answer: str) -> None:
        """Keep it, so that a kill does not lose it. A power cut may, before the end of the command."""
        if self._path is None:
            self._known[key] = answer
            return
        line = json.dumps({"key": key, "answer": answer})
        remedy = "Name another file with --kept"
        with self._lock, explained(f"simulations cannot be kept in {self._path}", remedy):
            if key in self._known:
                return
            self._known[key] = answer
            if self._file is not None:
                _append(self._file, f"{line}\n".encode())
                return
            self._path.parent.mkdir(parents=True, exist_ok=True)
            append_lines(self._path, [line])  # behind what a kill has left of a line
            self._file = open_to_append(self._path)

    def close(self) -> None:
        """Have all on the disk."""
        if self._file is not None:
            with explained(f"simulations cannot be kept in {self._path}", "Name another file with --kept"):
                os.fsync(self._file)
                os.close(self._file)


def _append(file: int, line: bytes) -> None:
    """Add a whole line; others that keep theirs in the same file take turns."""
    with suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        if os.write(file, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)


def _read(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    if not path.exists():
        return found
    decoder = msgspec.json.Decoder(Line)
    bad = 0
    with explained(f"{path} cannot be read", "Name another file with --kept"), opened(path) as lines:
        for line in lines:
            try:
                one = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                bad += line.endswith(b"\n")  # the last one may have been cut off
            else:
                found.setdefault(one.key, one.answer)
    if bad and not found:
        raise TautoError(f"{path} holds no simulations", "Name another file with --kept")
    return found
