"""Short runs of the runners that are here, for claims that no simulation can decide."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.options import format_cpus

SOURCE = "run here"
_LIMIT_SECONDS = 60.0

Read = TypeVar("Read")


def on_cpus(count: int) -> tuple[str, ...]:
    """The words that give a runner so many workers on as many CPUs, or on those that there are."""
    cpus = sorted(os.sched_getaffinity(0))[:count]
    return ("--threads", str(count), "--cpus", format_cpus(cpus))


def result_of(name: str, words: Sequence[str], read: Callable[[dict[str, Any]], Read]) -> Read | None:
    """What `read` finds in the row that a runner prints; None where the runner is not here.

    TautoError where it is, and does not print such a row.
    """
    try:
        program = runners.find(name)
    except TautoError:
        return None
    try:
        done = subprocess.run(
            [str(program), *words], capture_output=True, text=True, check=True, timeout=_LIMIT_SECONDS
        )
        return read(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise TautoError(
            f"{program.name} {' '.join(words)} did not end with a result", "Start it by hand to see why"
        ) from error
