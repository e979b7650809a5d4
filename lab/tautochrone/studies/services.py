"""What a study needs from outside: the machine, the peers, processes, slow CPUs. Tests put in others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TextIO

from tautochrone import runners
from tautochrone.clock import Clock, SystemClock
from tautochrone.executor import Executor
from tautochrone.progress import Progress, progress_for
from tautochrone.runners import PeerState
from tautochrone.studies.options import Emulation
from tautochrone.studies.slowdowns import Slowdown


def _machine() -> Mapping[str, Any]:
    from tautochrone.machine import read_machine

    return read_machine("quick").to_dict()


def _machine_again() -> Mapping[str, Any]:
    from tautochrone.machine import read_machine

    return read_machine("brief").to_dict()


def _executor(seed: int) -> AbstractContextManager[Executor]:
    from tautochrone.energy.find import find_meter
    from tautochrone.energy.metered_executor import MeteredExecutor
    from tautochrone.energy.objective import check_objective
    from tautochrone.subprocess_executor import SubprocessExecutor

    found = find_meter()
    check_objective("time", found, _warn)
    return MeteredExecutor(SubprocessExecutor(seed=seed), found)


def _warn(sentence: str) -> None:
    print(f"tauto: warning: {sentence}", file=sys.stderr, flush=True)


def _slowdown(emulation: Emulation) -> AbstractContextManager[Slowdown]:
    from tautochrone import emulate

    return emulate.emulated(emulation)


@dataclass(frozen=True, slots=True)
class Services:
    """The real ones by default. ``machine`` gives a record of tautochrone.machine/1.

    ``machine_again`` gives one in a second, or two, to be taken between rounds.
    """

    machine: Callable[[], Mapping[str, Any]] = _machine
    machine_again: Callable[[], Mapping[str, Any]] = _machine_again
    peers: Callable[[list[str] | None, str], list[PeerState]] = runners.peer_states
    executor: Callable[[int], AbstractContextManager[Executor]] = _executor
    slowdown: Callable[[Emulation], AbstractContextManager[Slowdown]] = _slowdown
    progress: Callable[[str], Progress] = progress_for
    clock: Clock = field(default_factory=SystemClock)
    illustrations: bool = True  # load samples, timelines: what needs runs of its own beside the rounds
    output: TextIO = field(default_factory=lambda: sys.stdout)
    messages: TextIO = field(default_factory=lambda: sys.stderr)

    def say(self, sentence: str) -> None:
        """A line for the user that is no result."""
        print(sentence, file=self.messages, flush=True)
