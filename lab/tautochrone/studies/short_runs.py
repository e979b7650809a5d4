"""Short runs of the runners that are here, for claims that no simulation can decide."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.options import format_cpus

SOURCE = "run here"
_LIMIT_SECONDS = 60.0


def on_cpus(count: int) -> tuple[str, ...]:
    """The words that give a runner so many workers on as many CPUs, or on those that there are."""
    cpus = sorted(os.sched_getaffinity(0))[:count]
    return ("--threads", str(count), "--cpus", format_cpus(cpus))


def row_of(name: str, words: Sequence[str]) -> dict[str, Any] | None:
    """What a runner prints; None where it is not here. TautoError where it is, and prints no row."""
    try:
        program = runners.find(name)
    except TautoError:
        return None
    try:
        done = subprocess.run(
            [str(program), *words], capture_output=True, text=True, check=True, timeout=_LIMIT_SECONDS
        )
        row: dict[str, Any] = json.loads(done.stdout)
        return row
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise TautoError(
            f"{program.name} {' '.join(words)} did not end with a result", "Start it by hand to see why"
        ) from error
