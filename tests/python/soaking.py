"""What long tests share: totals that are kept in a file, so that a test runs in pieces and goes on."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any


class Totals:
    """What a test has done so far, by name; in memory alone without a file.

    A test whose `seconds` are over ends between two of its parts, and the same call goes on from there.
    """

    def __init__(self, path: Path | None, seconds: float = math.inf) -> None:
        self._path = path
        self._ends = time.monotonic() + seconds
        self._known: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            self._known = json.loads(path.read_text())

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._ends

    def of(self, name: str, **empty: Any) -> dict[str, Any]:
        """The totals of that name, to be changed; `empty` where there are none yet."""
        return self._known.setdefault(name, empty)

    def keep(self) -> None:
        """Write all totals whole."""
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._path.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps(self._known, indent=1) + "\n")
            unfinished.rename(self._path)
