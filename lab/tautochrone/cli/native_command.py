"""``tauto run``: the executable ``tauto`` applies profiles; this finds it for users of the Python package."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NoReturn

from tautochrone.errors import TautoError, explained, printable
from tautochrone.machine.runners import COMMAND, find
from tautochrone.options import Argument, Option, Words


def become_run(words: Sequence[str]) -> NoReturn:
    """Become ``tauto run`` with these words behind it. Raises TautoError where that is not here."""
    command = find(COMMAND)
    with explained(f"{command} could not be started", "Build it again (make)"):
        os.execv(command, [COMMAND, "run", *words])


def run(words: Sequence[str]) -> int:
    """As :func:`become_run`; where that cannot be done it says why and returns the exit code 2."""
    try:
        become_run(words)
    except TautoError as error:
        print(f"tauto: error: {printable(str(error))}", file=sys.stderr)
        return 2


@dataclass(frozen=True)
class RunRequest:
    """Run a command with the settings of a profile.

    Where the kernel gives something else, a warning says so.

    The command takes the place of tauto: nothing of it is left while it runs, and the exit status is the
    command's. A profile may set the CPUs, the priority, variables and the values of names in braces. One that
    changes other words, or sets variables that make programs load or run code, needs --trust.

    \b
    Examples:
      tauto run tautochrone-results/tune-solver -- ./solver case.in
      tauto run profile.json -- ./solver case.in
    """  # noqa: D301

    profile: Annotated[str, Argument("PROFILE", "A profile.json, or the folder of one.")]
    command: Annotated[tuple[str, ...], Words("What to run.")] = ()
    trust: Annotated[bool, Option("Apply whatever the profile says: you made it, or have read it.")] = False

    def run(self) -> int:
        # A first word that begins like an option would be taken for one by the executable.
        name = f"./{self.profile}" if self.profile.startswith("-") else self.profile
        become_run([*(["--trust"] if self.trust else []), name, "--", *self.command])
