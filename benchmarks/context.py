"""What is around a benchmark: the machine, its peers, clock, executor, and the time that there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.rows import Results
from tautochrone.errors import TautoError
from tautochrone.machine import runners
from tautochrone.machine.runners import Peer, PeerState, peer_state, usual
from tautochrone.measuring.clock import Clock
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.progress import Progress, SilentProgress
from tautochrone.studies import study_named
from tautochrone.studies.loop.configurations import PEERS


class Budget:
    """Seconds that a benchmark may use in all; whole rounds are measured inside it."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._end = clock.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, never below 0."""
        return max(0.0, self._end - self._clock.monotonic())

    def share(self, weight: float, weights_left: float) -> float:
        """The seconds of a part with this weight, where `weights_left` is the weight of all parts to come."""
        return self.left * min(1.0, weight / weights_left) if weights_left > 0 else 0.0


@dataclass
class Context:
    """Everything around a benchmark. `peer` finds the state of a peer once, when it is asked for."""

    clock: Clock
    executor: Executor
    results: Results
    folder: Path
    machine: Mapping[str, object]
    seconds_per_id: float
    cpus: tuple[int, ...] = (0, 1)
    cells: Sequence[tuple[int, float]] | None = None  # size and factor; None: all
    verbose: bool = False
    seed: int = 1
    say: Callable[[str], None] = print
    progress: Callable[[str], Progress] = lambda title: SilentProgress()
    find_peer: Callable[[Peer], PeerState] = peer_state
    _states: dict[Peer, PeerState] = field(default_factory=dict)

    def peer(self, name: str, study: str = "loop") -> PeerState:
        """The state of a peer of a study by its name: present, or absent with the reason."""
        peer = next(peer for peer in study_named(study).PEERS if peer.name == name)
        if peer not in self._states:
            self._states[peer] = self.find_peer(peer)
        return self._states[peer]

    def runner(self, name: str, study: str) -> tuple[str, Mapping[str, str]]:
        """The path of a peer's runner, and its environment. Raises TautoError where the peer is missing."""
        state = self.peer(name, study)
        if state.path is None:
            raise TautoError(state.reason, state.remedy)
        return str(state.path), state.environment

    def present(self, names: Sequence[str], study: str = "loop") -> list[PeerState]:
        """Of these peers those that are here."""
        return [state for state in (self.peer(name, study) for name in names) if state.present]

    def peers(self) -> list[PeerState]:
        """Of the loop study: the serial loop, all peers and ours, as far as they are here."""
        return self.present([peer.name for peer in usual(PEERS)])

    def absent(self) -> str:
        """Which peers of the loop study are not here, and why."""
        states = [self.peer(peer.name) for peer in usual(PEERS)]
        return "; ".join(
            f"{state.peer.name} is not here: {state.reason}" for state in states if not state.present
        )

    def without(self, names: Sequence[str], study: str = "loop") -> str:
        """``without qt and libomp, which are not here``; empty where all of them are."""
        missing = [name for name in names if not self.peer(name, study).present]
        verb = "are" if len(missing) > 1 else "is"
        return f"without {' and '.join(missing)}, which {verb} not here" if missing else ""

    def program(self, name: str) -> str:
        """The path of one of the suite's programs. Raises TautoError that says how to build them."""
        try:
            return str(runners.find(f"tauto-bench-{name}"))
        except TautoError as missing:
            raise TautoError(
                missing.message, "Build it with cmake -DTAUTO_BUILD_BENCHMARKS=ON (make bench does)"
            ) from None

    def has_program(self, name: str) -> bool:
        """Whether one of the programs that are built for some peers only is here."""
        try:
            self.program(name)
        except TautoError:
            return False
        return True

    @property
    def cpus_text(self) -> str:
        """``0,1``, as the programs read them."""
        return ",".join(map(str, self.cpus))
