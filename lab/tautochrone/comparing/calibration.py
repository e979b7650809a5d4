"""What starting a program costs before its first own instruction, so that a reader can tell it apart.

An empty program is started in its place: as the program, linked statically or not, and with the program's own
libraries loaded, which is most of what a dynamic program does before `main`.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from tautochrone.machine import runners
from tautochrone.measuring.configuration import Configuration
from tautochrone.programs.commands import find_program
from tautochrone.programs.elf import closure, read_elf

if TYPE_CHECKING:
    from tautochrone.comparing.measure import Tries

_RUNS = 41
_LIMIT_SECONDS = 10.0
_OF_EVERY_PROGRAM = ("libc.so", "ld-linux", "linux-vdso")


def start_seconds(configuration: Configuration, executor: Tries) -> float:
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
