"""What starting a program costs, and what it takes by itself, so that a reader can tell them apart.

*Starting*: an empty program is started in its place: as the program, linked statically or not, and with the
program's own libraries loaded, which is most of what a dynamic program does before `main`.

*By itself*: from the begin of its `main` to its exit, by a library that is preloaded (timer/own_time.cpp). It
cannot be told of programs that are linked statically or end otherwise than by exit.
"""

from __future__ import annotations

import array
import os
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone.machine import runners
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.temporary import temporary_file
from tautochrone.programs.commands import find_program
from tautochrone.programs.elf import closure, read_elf

if TYPE_CHECKING:
    from tautochrone.comparing.measure import Tries

_RUNS = 41
_MOST_SECONDS = 4.0  # of the runs by which a program's own time is told
_LIMIT_SECONDS = 10.0
_OF_EVERY_PROGRAM = ("libc.so", "ld-linux", "linux-vdso")
_LIBRARY, _VARIABLE = "libtauto-own-time.so", "TAUTO_OWN_TIME"
_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Calibrated:
    """Seconds; `own` is None where it cannot be told."""

    start: float
    own: float | None


def calibrated(configuration: Configuration, executor: Tries, usual: float) -> Calibrated:
    """Medians. Of a command that usually takes `usual` seconds as many runs are made as a few seconds hold.

    41 runs of an empty program, and at most 41 of the command's own.
    """
    return Calibrated(_start_seconds(configuration, executor), _own_seconds(configuration, executor, usual))


def _start_seconds(configuration: Configuration, executor: Tries) -> float:
    """The median time of an empty program that loads what this command's program loads."""
    command, environment = _empty(find_program(configuration.command[0]), configuration)
    empty = Configuration(
        name="empty",
        command=command,
        environment=environment,
        settings={"empty": command},
        start=configuration.start,
    )
    runs = [executor.trial(empty, _LIMIT_SECONDS)[0].elapsed_seconds for _ in range(_RUNS)]
    return statistics.median(runs)


def _empty(program: Path, configuration: Configuration) -> tuple[list[str], dict[str, str]]:
    elf = read_elf(program)
    if elf is not None and not elf.needed:
        return [str(runners.find("tauto-nothing-static"))], {}
    libraries = [] if elf is None else [library.path for library in closure(elf, configuration.environment)]
    loaded = [str(path) for path in libraries if not path.name.startswith(_OF_EVERY_PROGRAM)]
    command = [str(runners.find("tauto-nothing"))]
    return command, {"LD_PRELOAD": " ".join(loaded)} if loaded else {}


def _own_seconds(configuration: Configuration, executor: Tries, usual: float) -> float | None:
    library = next((path for path in (one / _LIBRARY for one in runners.folders()) if path.is_file()), None)
    if library is None:
        return None
    runs = min(_RUNS, int(_MOST_SECONDS / max(usual, 1e-6)) | 1)  # an odd number, one at least
    limit = max(_LIMIT_SECONDS, 10 * usual)
    with temporary_file("tauto-own-time-", _MEMORY if _MEMORY.is_dir() else None) as file:
        before = {**os.environ, **configuration.environment}.get("LD_PRELOAD", "")
        preloaded = f"{library} {before}".strip()
        watched = replace(
            configuration,
            environment={**configuration.environment, "LD_PRELOAD": preloaded, _VARIABLE: str(file)},
        )
        for done in range(1, runs + 1):
            if executor.trial(watched, limit)[0].error is not None or file.stat().st_size != 8 * done:
                return None
        told = array.array("q", file.read_bytes())
    return statistics.median(told) / 1e9
