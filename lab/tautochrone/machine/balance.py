"""Lets whoever has done least run on the fastest CPU. The work is done by ``tauto-balance``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated

from tautochrone.errors import TautoError, explained
from tautochrone.machine import runners
from tautochrone.options import Option, Words


@dataclass(frozen=True, kw_only=True)
class BalanceRequest:
    """Run a command whose threads change CPUs to finish at once.

    Nothing is compiled again.

    It takes turns with Linux alone, and goes on only where that takes less time. Nothing is left of it when
    the command has ended. The exit status is the command's.

    \b
    Examples:
      tauto balance -- ./solver case.in
      tauto balance --json -- ./solver case.in
      tauto balance --pid 4711
    """  # noqa: D301

    command: Annotated[tuple[str, ...], Words("What to run.")] = ()
    pid: Annotated[int, Option("Balance this running process, until it ends or Ctrl-C.", "PID")] = 0
    even_pinned: Annotated[bool, Option("Move threads that the program pinned, too.")] = False
    keep_waits: Annotated[bool, Option("Leave OMP_WAIT_POLICY and its like as they are.")] = False
    keep_threads: Annotated[bool, Option("Leave OMP_NUM_THREADS and OPENBLAS_NUM_THREADS as they are.")] = (
        False
    )
    no_preload: Annotated[bool, Option("Do without the library that tells which threads wait.")] = False
    json: Annotated[bool, Option("Answer as one JSON line on standard error at the end.")] = False
    report: Annotated[str, Option("Answer as JSON into this file at the end.", "FILE")] = ""

    def words(self) -> list[str]:
        """What ``tauto-balance`` is told."""
        flags = {
            "--even-pinned": self.even_pinned,
            "--keep-waits": self.keep_waits,
            "--keep-threads": self.keep_threads,
            "--no-preload": self.no_preload,
            "--json": self.json,
        }
        words = [name for name, wanted in flags.items() if wanted]
        words += [f"--pid={self.pid}"] if self.pid else []
        words += [f"--report={self.report}"] if self.report else []
        return [*words, "--", *self.command] if self.command else words

    def run(self) -> int:
        """Become the executable. Raises TautoError where nothing was asked."""
        if not self.command and not self.pid:
            raise TautoError(
                "tauto balance was given no command",
                "Put one behind --, like tauto balance -- ./solver case.in, or name a process with --pid",
            )
        path = str(runners.find("tauto-balance"))
        with explained("tauto-balance could not be started", "Build it again (make)"):
            os.execv(path, ["tauto-balance", *self.words()])
