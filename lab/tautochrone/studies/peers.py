"""Which peers of a study can be measured here, and on which CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.machine.placements import Cpu, cpus_of
from tautochrone.machine.runners import Peer, PeerState, usual
from tautochrone.options import State, check_states
from tautochrone.results import context
from tautochrone.results.context import NotMeasured
from tautochrone.studies.request import NO_PEERS, StudyRequest
from tautochrone.studies.services import Services
from tautochrone.studies.setup import RunnerSetup

_ALWAYS = ("serial", "tautochrone")  # of those that the study has


def peers_here(
    peers: Sequence[Peer], request: StudyRequest, services: Services
) -> tuple[list[PeerState], list[NotMeasured]]:
    """The peers that are here, and those that are not. Raises TautoError for one that was asked for."""
    always = [peer.name for peer in peers if peer.name in _ALWAYS]
    asked = None
    if request.peers is None:
        peers = usual(peers)
    else:
        named = () if request.peers == (NO_PEERS,) else request.peers
        asked = [*dict.fromkeys([*always, *named])]
    states = services.peers(peers, asked)
    for state in states:
        must = state.peer.name in always or request.peers is not None
        if must and not state.present:
            raise TautoError(f"{state.peer.title} cannot be measured: {state.reason}", state.remedy)
    absent = [
        NotMeasured(what=state.peer.title, why=state.reason, remedy=state.remedy)
        for state in states
        if not state.present
    ]
    return [state for state in states if state.present], absent


def checked_cpus(
    request: StudyRequest, machine: Mapping[str, Any]
) -> tuple[tuple[Cpu, ...], tuple[int, ...]]:
    """The CPUs that may be used, and the numbers of all.

    Raises TautoError where the machine is emulated from outside (no state of it would be what its rows
    say), and for states that slow CPUs that cannot be slowed.
    """
    if machine.get("emulated"):
        slowed = "+".join(f"{cpu['cpu']}:{cpu['factor']:g}" for cpu in machine["emulated"])
        raise TautoError(
            f"the study was started under tauto emulate ({slowed}), so it cannot switch the slow CPUs itself",
            f"Start it without, and give it --emulate {slowed}",
        )
    cpus, all_cpus = cpus_of(machine)
    if request.states_are_needed:
        check_states(request.states, [cpu.number for cpu in cpus], all_cpus)
    return cpus, all_cpus


def with_states(machine: Mapping[str, Any], states: Sequence[State]) -> Mapping[str, Any]:
    """The machine's record, saying which CPUs the study slows, and to what."""
    slowed = {(cpu, factor) for state in states for cpu, factor in state.items()}
    entries = [{"cpu": cpu, "factor": factor} for cpu, factor in sorted(slowed)]
    return {**machine, "emulated": entries or None}


def described(
    states: Sequence[PeerState], tried: Iterable[RunnerSetup], settings: str
) -> tuple[context.Peer, ...]:
    """The peers as the report lists them, with what was really tried of them; the serial one is left out."""
    by_peer: dict[str, list[RunnerSetup]] = {}
    for setup in tried:
        by_peer.setdefault(setup.peer, []).append(setup)
    return tuple(
        context.Peer(
            runtime=state.peer.name,
            name=state.peer.title,
            version=(state.description.version if state.description is not None else None) or "",
            wait_policies=tuple(dict.fromkeys(setup.wait for setup in by_peer.get(state.peer.name, ()))),
            schedules=tuple(dict.fromkeys(setup.schedule for setup in by_peer.get(state.peer.name, ()))),
            settings=settings,
        )
        for state in states
        if state.peer.name != "serial"
    )
