"""What is compared: one core, and every engine with every way to share a block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tautochrone.machine.placements import Placement
from tautochrone.machine.runners import Peer, PeerState
from tautochrone.measuring.configuration import Configuration
from tautochrone.results.context import NotMeasured
from tautochrone.results.runs import OURS
from tautochrone.studies.request import Times
from tautochrone.studies.setup import RunnerSetup, joined_label

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
PEERS: tuple[Peer, ...] = (
    Peer("serial", "serial", "one core alone", "", "serial", "nbody"),
    Peer("libgomp", "openmp", "OpenMP on GCC's libgomp", "libgomp1", "loops-i", "nbody"),
    Peer("libomp", "openmp", "OpenMP on LLVM's libomp", "libomp5", "loops-i", "nbody"),
    Peer("openmpi", "openmpi", "Open MPI", "libopenmpi-dev", "auto", "nbody"),
    Peer("mpich", "mpich", "MPICH", "libmpich-dev", "auto", "nbody"),
    Peer("intelmpi", "mpich", "Intel MPI", "", "auto", "nbody"),
    Peer("tautochrone", "tautochrone", "tautochrone", "", "auto", "nbody"),
)

_LONGEST_TIME = 0.5  # N-body units
_PAIRS_OF_A_RUN = 2.4e8
_PAIRS_A_SECOND = 5e8
_BLOCKS_A_UNIT_TIME = 4500.0  # of 1024 particles; grows about as the root of the number
_START_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to run a number of particles."""

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


def label(peer: str, scheme: str, order: int = 4, wait: str = "default") -> str:
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
    """The ways to share a block that this number of members rules out."""
    remedy = "Give --threads 4 or another even number above it, on a machine with as many CPUs"
    if not has_grid(members):
        alike = ": 1 by 2 is sharing the sources, 2 by 1 sharing the targets" if members == 2 else ""
        yield NotMeasured(
            what="Both shared at once (grid)",
            why=f"{members} members form no rectangle with two sides of 2 or more{alike}",
            remedy=f"{remedy}; tauto simulate nbody --smpi all --machine 2x-e5-2650v2 --ranks 4,9 has it",
        )
    if not has_hybrid(members) and any(state.peer.runtime in _MPIS for state in states):
        yield NotMeasured(
            what="Threads inside MPI’s processes (hybrid)",
            why=f"{members} members cannot be {_PROCESSES} processes with the same number of threads, 2 or "
            "more",
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
    for scheme in description.schedules:
        if (scheme == SERIAL) != (state.peer.name == SERIAL) or (scheme == GRID and not has_grid(members)):
            continue
        yield scheme, "default"
        if "active" in description.wait_policies and state.peer.runtime == "openmp":
            yield scheme, "active"


def has_grid(members: int) -> bool:
    """Whether the members form a rectangle with sides of 2 or more."""
    return slices_of_grid(members) < members


def slices_of_grid(members: int) -> int:
    """Slices of the sources in the rectangle as square as the members allow; no fewer than its groups."""
    return members // max(side for side in range(1, int(members**0.5) + 1) if members % side == 0)


def has_hybrid(members: int) -> bool:
    """Whether the members are processes with the same number of threads, two or more."""
    return members % _PROCESSES == 0 and members // _PROCESSES >= 2


def pairs_in(particles: int, time: float) -> float:
    """How many pairs a run of that length sums, roughly: about 1.7 root N particles move in a block."""
    blocks = _BLOCKS_A_UNIT_TIME * math.sqrt(particles / 1024)
    return time * blocks * particles * 1.7 * math.sqrt(particles)


def end_time(particles: int, *, quick: bool) -> float:
    """How long a number of particles is followed: a power of two of about half a second's work.

    Not below 1/32: shorter runs would not meet the larger steps.
    """
    budget = _PAIRS_OF_A_RUN / (2 if quick else 1)
    time = _LONGEST_TIME
    while time > 1 / 32 and pairs_in(particles, time) > budget:
        time /= 2
    return time


def configuration(candidate: Candidate, times: Times, *, quick: bool) -> Configuration:
    particles, order, threads = candidate.particles, candidate.order, candidate.threads_per_rank
    time = end_time(particles, quick=quick)
    words = ["--particles", str(particles), "--order", str(order), "--end-time", f"{time:g}"]
    settings: dict[str, object] = {"particles": particles, "order": order, "end_time": time}
    if threads > 1:
        words += ["--threads-per-rank", str(threads)]
        settings["threads_per_rank"] = threads
    return candidate.configuration(
        f"{candidate.label}, {particles} particles",
        f"particles={particles},order={order}",
        times,
        arguments=words,
        settings=settings,
    )


def estimated_run_seconds(candidate: Candidate, times: Times, *, quick: bool) -> float:
    """What one run takes, roughly: for the sentence before the study and for the time limit."""
    work = pairs_in(candidate.particles, end_time(candidate.particles, quick=quick)) / _PAIRS_A_SECOND
    return _START_SECONDS + times.warmup_seconds + work / min(2, candidate.workers)
