"""``tauto exec``: an executable that tauto starts, by hand."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated

from tautochrone.errors import explained
from tautochrone.machine import runners
from tautochrone.options import Argument, Option, Words


@dataclass(frozen=True)
class ExecRequest:
    """Run an executable of a study or a tool, wherever it is installed.

    It takes the place of tauto. Its own options stand behind --; ``-- --help`` lists them.

    \b
    Examples:
      tauto exec nbody -- --particles 1024 --cpus 0,1
      tauto exec emulate -- --check
      mpirun -n 4 tauto exec nbody -- --particles 16384
      tauto exec --path nbody
    """  # noqa: D301

    name: Annotated[str, Argument("NAME", "Such as nbody, emulate or power-physics.")]
    words: Annotated[tuple[str, ...], Words("What it is given.")] = ()
    path: Annotated[bool, Option("Print where it is, and run nothing.")] = False

    def run(self) -> int:
        found = runners.find(self.name)
        if self.path:
            print(found)
            return 0
        with explained(f"{found} could not be started", "Build it again"):
            os.execv(found, [found.name, *self.words])
        raise AssertionError("execv returns only with an error")
