"""What is compared: one core, and every engine with every way to share a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tautochrone.report.analysis_types import NotMeasured
from tautochrone.runners import PeerState
from tautochrone.studies.contenders import OURS
from tautochrone.studies.options import Times
from tautochrone.studies.placements import Placement
from tautochrone.studies.runner_setup import RunnerSetup, joined_label

SERIAL = "serial"
AUTO = "auto"
TARGETS = ("i", "loops-i", "region-i")
"""Schemes that share the targets: all end with the bits of the serial run."""
SOURCES = ("j", "loops-j", "region-j")
"""Schemes that share the sources: all end with the same bits for the same number of members."""
GRID = "grid"
_MPIS = ("openmpi", "mpich")  # runtimes whose members may be threads inside processes
_PROCESSES = 2  # of a hybrid engine
_HYBRID = "-hybrid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to run so many particles."""

    particles: int
    order: int = 4

    @property
    def threads_per_rank(self) -> int:
        """Of each process of MPI."""
        return self.workers // _PROCESSES if self.peer.endswith(_HYBRID) else 1

    @property
    def label(self) -> str:
        """For people: "libgomp region-i", "tautochrone auto, order 6"."""
        return label(self.peer, self.schedule, self.order, self.wait)

    def arguments(self, times: Times, end_time: float) -> list[str]:
        """The runner's command line without its path."""
        words = [
            "--particles",
            str(self.particles),
            "--order",
            str(self.order),
            "--end-time",
            f"{end_time:g}",
        ]
        words += [] if self.threads_per_rank == 1 else ["--threads-per-rank", str(self.threads_per_rank)]
        return [*words, *self.common_arguments(times)]

    def settings(self, end_time: float) -> dict[str, object]:
        """The ``config`` of this candidate's rows."""
        own = {"particles": self.particles, "order": self.order, "end_time": end_time}
        hybrid = {} if self.threads_per_rank == 1 else {"threads_per_rank": self.threads_per_rank}
        return {**self.common_settings({}), **own, **hybrid}


def label(peer: str, scheme: str, order: int = 4, wait: str = "default") -> str:
    """What a configuration is called in tables and sentences."""
    return joined_label(peer, scheme, f"order {order}" if order != 4 else "", wait=wait)


def with_hybrids(states: Sequence[PeerState], members: int) -> list[PeerState]:
    """The engines, and each MPI once more with threads inside two processes, where these are two or more."""
    found = list(states)
    for state in states:
        if state.peer.runtime in _MPIS and has_hybrid(members):
            inside = f"{_PROCESSES} processes of {members // _PROCESSES} threads"
            peer = replace(
                state.peer, name=f"{state.peer.name}{_HYBRID}", title=f"{state.peer.title}, {inside}"
            )
            found.append(replace(state, peer=peer))
    return found


def without_members(states: Sequence[PeerState], members: int) -> Iterator[NotMeasured]:
    """The ways to share a block that so many members do not have."""
    remedy = "Give --threads 4 or another even number above it, on a machine with as many CPUs"
    if not has_grid(members):
        alike = ": 1 by 2 is sharing the sources, 2 by 1 sharing the targets" if members == 2 else ""
        yield NotMeasured(
            what="Both shared at once (grid)",
            why=f"{members} members form no rectangle with two sides of 2 or more{alike}",
            remedy=f"{remedy}; tauto simulate nbody --smpi all --machine 2x-e5-2650v2 has it on 16 ranks",
        )
    if not has_hybrid(members) and any(state.peer.runtime in _MPIS for state in states):
        yield NotMeasured(
            what="Threads inside MPI’s processes (hybrid)",
            why=f"{members} members are no {_PROCESSES} processes with equally many threads, 2 or more",
            remedy=remedy,
        )


def candidates(
    states: Sequence[PeerState],
    everyone: Placement,
    alone: Placement,
    particles: Sequence[int],
) -> Iterator[Candidate]:
    """Each engine with each of its schemes; the 6th order for one core and for ours."""
    for count in particles:
        for state in states:
            for scheme, wait in _ways(state, len(everyone.cpus)):
                placement = alone if state.peer.name == SERIAL else everyone
                yield Candidate(state=state, schedule=scheme, wait=wait, placement=placement, particles=count)
        for state in states:
            if state.peer.name in (SERIAL, OURS):
                placement = alone if state.peer.name == SERIAL else everyone
                scheme = state.peer.default_schedule
                yield Candidate(state=state, schedule=scheme, placement=placement, particles=count, order=6)


def _ways(state: PeerState, members: int) -> Iterator[tuple[str, str]]:
    """The schemes and waits of an engine that a study measures."""
    description = state.description
    if description is None:
        return
    if state.peer.name == SERIAL:
        yield SERIAL, "default"
        return
    offered = description.schedules
    for scheme in offered:
        if scheme == SERIAL or (scheme == GRID and not has_grid(members)):
            continue
        yield scheme, "default"
        if "active" in description.wait_policies and state.peer.runtime == "openmp":
            yield scheme, "active"


def has_grid(members: int) -> bool:
    """True where so many members form a rectangle with sides of 2 or more."""
    return any(members % side == 0 for side in range(2, int(members**0.5) + 1))


def has_hybrid(members: int) -> bool:
    """True where so many members are processes with equally many threads, two of them or more."""
    return members % _PROCESSES == 0 and members // _PROCESSES >= 2
