"""``tauto run``: the executable ``tauto`` does it. This finds it, and says what fits."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NoReturn

from tautochrone.errors import TautoError, explained, is_quiet, printable, say
from tautochrone.fitting import Form
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
    """Run a command with a profile, or as its quota allows.

    Where the kernel gives something else than a profile asks for, a warning says so.

    The command takes the place of tauto: nothing of it is left while it runs, and the exit status is the
    command's. A profile may set the CPUs, the priority, variables and the values of names in braces. One that
    changes other words, or sets variables that make programs load or run code, needs --trust.

    With --fit there is no profile and no search. Each runtime of the command (OpenMP, BLAS, oneTBB, rayon,
    Go, Java) gets as many threads as the quota of a container, rounded up, or the CPUs that it may use,
    whichever is less. Variables that you have set stay as they are.

    With --balance, or where the profile says so, tauto balance starts the command and stays beside it.

    \b
    Examples:
      tauto run tautochrone-results/tune-solver -- ./solver case.in
      tauto run profile.json -- ./solver case.in
      tauto run --fit -- ./solver case.in
      tauto run --balance profile.json -- ./solver case.in
      tauto run --fit --dry-run -- python3 script.py
      tauto run --fit --print systemd -- ./solver case.in
    """  # noqa: D301

    profile: Annotated[str, Argument("[PROFILE]", "A profile.json, or the folder of one.")] = ""
    command: Annotated[tuple[str, ...], Words("What to run.")] = ()
    trust: Annotated[bool, Option("Apply whatever the profile says: you made it, or have read it.")] = False
    fit: Annotated[bool, Option("No profile: as many threads as the quota and the CPUs allow.")] = False
    balance: Annotated[bool, Option("Let its threads change CPUs to finish at once.")] = False
    dry_run: Annotated[bool, Option("With --fit: say what would be set, and run nothing.")] = False
    form: Annotated[
        Form | None,
        Option("With --fit: print the settings so, and run nothing.", flag="--print"),
    ] = None

    def run(self) -> int:
        quiet = ["-q"] if is_quiet() else []
        if self.fit:
            return self._run_fitted(quiet)
        if self.dry_run or self.form is not None:
            raise TautoError(
                f"{'--dry-run' if self.dry_run else '--print'} shows what --fit sets, and there is no --fit",
                "Write it like tauto run --fit --dry-run -- ./solver case.in",
            )
        balance = ["--balance"] if self.balance else []
        if self.balance and not self.command:
            raise TautoError(
                "no command stands behind --balance",
                "Write it like tauto run --balance -- ./solver case.in, or with a profile before --",
            )
        if not self.profile:
            raise TautoError(
                "no profile was given",
                "Write it like tauto run profile.json -- ./solver case.in, or tauto run --fit -- ./solver "
                "case.in; tauto run --help shows more",
            )
        # A first word that begins like an option would be taken for one by the executable.
        name = f"./{self.profile}" if self.profile.startswith("-") else self.profile
        become_run([*(["--trust"] if self.trust else []), *balance, *quiet, name, "--", *self.command])

    def _run_fitted(self, quiet: Sequence[str]) -> int:
        if self.trust:
            raise TautoError("--trust is for profiles, and --fit has none", "Leave out one of them")
        if self.profile.startswith("-"):
            raise TautoError(f"there is no option {self.profile}", "tauto run --help lists them")
        command = (self.profile, *self.command) if self.profile else self.command
        if not command and self.form is None:
            raise TautoError(
                "no command stands behind --fit", "Write it like tauto run --fit -- ./solver case.in"
            )
        if not self.dry_run and self.form is None:
            become_run(["--fit", *(["--balance"] if self.balance else []), *quiet, "--", *command])
        from tautochrone.fitting.fit import fit
        from tautochrone.fitting.forms import printed
        from tautochrone.machine.probe import read_machine

        fitted = fit(command, read_machine("none"), os.environ)
        if self.form is None:
            print("\n".join(fitted.sentences))
            return 0
        text = printed(self.form, fitted, command)
        for sentence in fitted.sentences:
            say(sentence)
        print(text, end="")
        return 0
