"""What a search needs from outside: the machine, processes, the meter. Tests replace them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TextIO

from tautochrone.energy.find import Found, find_meter
from tautochrone.energy.recorder import ClosingExecutor, MeteredExecutor
from tautochrone.errors import in_lines, printable
from tautochrone.machine.probe import read_machine
from tautochrone.machine.record import Machine
from tautochrone.measuring.clock import Clock, SystemClock
from tautochrone.measuring.progress import Progress, progress_for
from tautochrone.measuring.subprocess_executor import Judge, Observes, ProgramExecutor
from tautochrone.tune.effect_check import read_displayed
from tautochrone.tune.judging import Judging
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.spreading import SpreadExecutor, machine_of_nodes, runs_elsewhere, scratch_of


def _executor(request: TuneRequest, judge: Judge, meter: Found | None) -> ClosingExecutor:
    here = not runs_elsewhere(request)

    def make() -> ProgramExecutor:
        whole = isinstance(judge, Judging) and judge.needs_whole_output
        return ProgramExecutor(
            seed=request.seed,
            judge=judge,
            whole_output=whole,
            runs_here=here,
            observe=_observed(judge),
            through=request.launcher,
            output_folder=None if here else request.folder,
            folders=scratch_of(request) if request.scratch else nullcontext,
        )

    if request.nodes > 1:
        return SpreadExecutor(make, request.nodes)
    return MeteredExecutor(make(), meter) if meter is not None else make()


def _observed(judge: Judge) -> Observes | None:
    """What of a running program this judge needs to know."""
    if judge is read_displayed:
        return "threads"
    return "memory" if isinstance(judge, Judging) and judge.objective.kind == "memory" else None


@dataclass(frozen=True, slots=True)
class Services:
    """The real ones by default."""

    machine: Callable[[str], Machine] = read_machine
    nodes: Callable[[TuneRequest, str], Machine] = machine_of_nodes
    meter: Callable[[], Found] = find_meter
    executor: Callable[[TuneRequest, Judge, Found | None], ClosingExecutor] = _executor
    progress: Callable[[str], Progress] = progress_for
    clock: Clock = field(default_factory=SystemClock)
    output: TextIO = field(default_factory=lambda: sys.stdout)
    messages: TextIO = field(default_factory=lambda: sys.stderr)

    def say(self, sentence: str) -> None:
        """Print a line for the user that is not part of the result."""
        print(in_lines(printable(sentence), self.messages), file=self.messages, flush=True)
