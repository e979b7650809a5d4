"""Who else keeps the CPUs busy before a measurement begins."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tautochrone.errors import say

LOUD = 0.25
"""CPUs that others keep busy before it is worth a word."""

_LOOK_SECONDS = 0.3
_MOST_NAMED = 3


def warn_of_neighbours() -> None:
    """One warning where other programs use CPU time now; costs a third of a second."""
    before = _ticks(Path("/proc"))
    begun = time.monotonic()
    time.sleep(_LOOK_SECONDS)
    seconds = time.monotonic() - begun
    sentence = described(before, _ticks(Path("/proc")), seconds, os.cpu_count() or 1)
    if sentence:
        say(f"warning: {sentence}")


Ticks = Mapping[int, tuple[str, int]]
"""Process → its name and the CPU time that it has used, in ticks of the clock."""


def described(before: Ticks, after: Ticks, seconds: float, cpus: int) -> str:
    """What is to be said of the others; empty where they are quiet."""
    used: Counter[str] = Counter()
    for pid, (name, ticks) in after.items():
        if pid != os.getpid():
            used[name] += ticks - before.get(pid, (name, 0))[1]
    busy = used.total() / os.sysconf("SC_CLK_TCK") / seconds
    if busy < LOUD:
        return ""
    names = ", ".join(name for name, ticks in used.most_common(_MOST_NAMED) if ticks > 0)
    return (
        f"other programs keep {busy:.1f} of {cpus} CPUs busy now ({names}): small differences will not be "
        "resolved. Better close them first; what is measured is kept, and the same command goes on"
    )


def _ticks(proc: Path) -> Ticks:
    found = {}
    for folder in proc.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                head, _, tail = (folder / "stat").read_text(errors="replace").rpartition(")")
                fields = tail.split()
                found[int(folder.name)] = head.partition("(")[2], int(fields[11]) + int(fields[12])
    return found
