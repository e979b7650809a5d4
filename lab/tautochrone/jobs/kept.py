"""Answers that are kept in a file, a line each, so that the same command goes on after it was killed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.files import append_lines, opened

_WRITE_SECONDS = 1.0


class Line(msgspec.Struct, frozen=True):
    """An answer and its key."""

    key: str
    answer: str


class Kept:
    """What the file has, and what is added to it. A line that cannot be read is done again.

    TautoError where the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _read(path)
        self._new: dict[str, str] = {}
        self._written = time.monotonic()

    def known(self, keys: Iterable[str]) -> dict[str, str]:
        """The answers of these that it has."""
        return {key: answer for key in keys if (answer := self._known.get(key)) is not None}

    def keep(self, key: str, answer: str) -> None:
        """Keep it; on the disk after a second at the latest, if more come, or with `write`."""
        if key not in self._known:
            self._known[key] = self._new[key] = answer
        if time.monotonic() - self._written > _WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Have on the disk what was kept."""
        new, self._new = self._new, {}
        self._written = time.monotonic()
        if not new:
            return
        with explained(f"simulations cannot be kept in {self._path}", "Name another file with --kept"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            append_lines(self._path, (json.dumps({"key": key, "answer": new[key]}) for key in new))


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
