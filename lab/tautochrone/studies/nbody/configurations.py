"""What is compared: one core, and every engine with every way to share a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(RunnerSetup):
    """One way to run so many particles."""

    particles: int
    order: int = 4

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
        return [*words, *self.common_arguments(times)]

    def settings(self, end_time: float) -> dict[str, object]:
        """The ``config`` of this candidate's rows."""
        own = {"particles": self.particles, "order": self.order, "end_time": end_time}
        return {**self.common_settings({}), **own}


def label(peer: str, scheme: str, order: int = 4, wait: str = "default") -> str:
    """What a configuration is called in tables and sentences."""
    return joined_label(peer, scheme, f"order {order}" if order != 4 else "", wait=wait)


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
        if scheme == SERIAL or (scheme == "grid" and not has_grid(members)):
            continue
        yield scheme, "default"
        if "active" in description.wait_policies and state.peer.runtime == "openmp":
            yield scheme, "active"


def has_grid(members: int) -> bool:
    """True where so many members form a rectangle with sides of 2 or more."""
    return any(members % side == 0 for side in range(2, int(members**0.5) + 1))
