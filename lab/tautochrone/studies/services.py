"""What a study needs from outside: the machine, the peers, processes, slow CPUs. Tests put in others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TextIO

from tautochrone.errors import in_lines, printable, say
from tautochrone.machine import runners
from tautochrone.machine.runners import Peer, PeerState
from tautochrone.measuring.clock import Clock, SystemClock
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.progress import Progress, progress_for
from tautochrone.options import State


def _machine(depth: str = "quick") -> Mapping[str, Any]:
    from tautochrone.machine.probe import read_machine

    return read_machine(depth).to_dict()


def _machine_again() -> Mapping[str, Any]:
    return _machine("brief")


def _executor(seed: int) -> AbstractContextManager[Executor]:
    from tautochrone.energy.find import check_objective, find_meter
    from tautochrone.energy.recorder import MeteredExecutor
    from tautochrone.measuring.subprocess_executor import RunnerExecutor

    found = find_meter()
    check_objective("time", found, _warn)
    return MeteredExecutor(RunnerExecutor(seed=seed), found)


def _warn(sentence: str) -> None:
    say(f"warning: {sentence}")


def _slowdown(state: State) -> AbstractContextManager[Slowdown]:
    from tautochrone.machine import emulate

    return emulate.emulated(state)


class Slowdown(Protocol):
    """Some CPUs made slower, switched on and off without calibrating again."""

    @property
    def factors(self) -> Mapping[int, float]:
        """CPU → how many times slower it really is."""
        ...

    @property
    def reading_factors(self) -> Mapping[int, float]:
        """CPU → how many times slower it reads its caches."""
        ...

    @property
    def turns(self) -> Mapping[int, float]:
        """CPU → the seconds of a turn, in which it is there for a part."""
        ...

    def pause(self) -> None:
        """The CPUs are as they are, once this returns."""
        ...

    def resume(self) -> None:
        """The CPUs are slow, once this returns."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """The real ones by default. ``machine`` gives a record of tautochrone.machine/1.

    ``machine_again`` gives one in a second, or two, to be taken between rounds.
    """

    machine: Callable[[], Mapping[str, Any]] = _machine
    machine_again: Callable[[], Mapping[str, Any]] = _machine_again
    peers: Callable[[Sequence[Peer], Collection[str] | None], list[PeerState]] = runners.peer_states
    executor: Callable[[int], AbstractContextManager[Executor]] = _executor
    slowdown: Callable[[State], AbstractContextManager[Slowdown]] = _slowdown
    progress: Callable[[str], Progress] = progress_for
    clock: Clock = field(default_factory=SystemClock)
    illustrations: bool = True  # load samples, timelines: what needs runs of its own beside the rounds
    output: TextIO = field(default_factory=lambda: sys.stdout)
    messages: TextIO = field(default_factory=lambda: sys.stderr)

    def say(self, sentence: str) -> None:
        """A line for the user that is no result."""
        print(in_lines(printable(sentence), self.messages), file=self.messages, flush=True)
