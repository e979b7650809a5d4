"""What every study does before its first run: which peers are here, what the machine allows, what to say."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import NotMeasured, Peer
from tautochrone.runners import PEERS_OF_STUDY, PeerState
from tautochrone.studies.options import (
    Emulation,
    StudyRequest,
    check_emulations,
    emulation_text,
)
from tautochrone.studies.placements import Cpu, cpus_of
from tautochrone.studies.runner_setup import RunnerSetup
from tautochrone.studies.services import Services

_ALWAYS = ("serial", "tautochrone")  # of those that the study has
_LEAST_TIME_LIMIT_SECONDS = 30.0
_TIME_LIMIT_FACTOR = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A request that was checked against this machine; a study adds what it measures."""

    request: StudyRequest
    machine: Mapping[str, Any]
    states: Sequence[PeerState]
    cpus: tuple[Cpu, ...]
    left_out: tuple[NotMeasured, ...]

    def known(
        self, study: str, tried: Iterable[RunnerSetup], settings: str, refused: Iterable[NotMeasured]
    ) -> dict[str, Any]:
        """The fields of a StudyContext. `settings` says of all peers how they run; `refused`: states."""
        return {
            "command": command_line(study),
            "folder": str(self.request.output),
            "quick": self.request.quick,
            "peers": described_peers(self.states, tried, settings),
            "not_measured": (*self.left_out, *refused),
            "machine_advice": machine_advice(self.machine),
        }


def peers_here(
    request: StudyRequest, services: Services, study: str
) -> tuple[list[PeerState], list[NotMeasured]]:
    """The peers of a study that are here, and those that are not; one asked for by name has to be."""
    asked = None
    always = [peer.name for peer in PEERS_OF_STUDY[study] if peer.name in _ALWAYS]
    if request.peers is not None:
        named = [] if request.peers == ("none",) else list(request.peers)
        asked = [*dict.fromkeys([*always, *named])]
    states = services.peers(asked, study)
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
    say), and for emulations that name CPUs that cannot be slowed.
    """
    if machine.get("emulated"):
        slowed = "+".join(f"{one['cpu']}:{one['factor']:g}" for one in machine["emulated"])
        raise TautoError(
            f"the study was started under tauto emulate ({slowed}), so it cannot switch the slow CPUs itself",
            f"Start it without, and give it --emulate {slowed}",
        )
    cpus, all_cpus = cpus_of(machine)
    if not request.emulate_if_possible:
        check_emulations(request.emulations, [cpu.number for cpu in cpus], all_cpus)
    return cpus, all_cpus


def with_emulations(machine: Mapping[str, Any], emulations: Sequence[Emulation]) -> Mapping[str, Any]:
    """The machine's record, saying which CPUs the study slows, and to what."""
    slowed = {(cpu, factor) for emulation in emulations for cpu, factor in emulation.items()}
    entries = [{"cpu": cpu, "factor": factor} for cpu, factor in sorted(slowed)]
    return {**machine, "emulated": entries or None}


def usable_members(machine: Mapping[str, Any]) -> int | None:
    """How many CPUs a container's quota pays for, where it says."""
    usable = machine.get("usable_members")
    return None if usable is None else int(usable)


def states_of(emulations: Sequence[Emulation]) -> list[Emulation]:
    """The machine as it is, which always comes first, and each state that some CPUs are slowed in."""
    return [{}, *(one for one in emulations if one)]


def time_limit_seconds(request: StudyRequest, longest_run_seconds: float) -> float:
    """When a run is given up: what was asked for, or far above what the longest run should take."""
    limit = max(_LEAST_TIME_LIMIT_SECONDS, _TIME_LIMIT_FACTOR * longest_run_seconds)
    return request.time_limit_seconds or limit


def announcement(
    study: str, what: str, emulations: Sequence[Emulation], seconds: float, request: StudyRequest
) -> str:
    """What will be measured, where, and how long that takes, roughly."""
    emulated = [emulation_text(one) for one in emulations if one]
    where = "the machine as it is" + (f", and with CPU:FACTOR {' and '.join(emulated)}" if emulated else "")
    return (
        f"study {study}: {what}; {where}; about {_duration(seconds)}. Rows go to {request.output}; "
        "interrupt it when you like: the same command goes on from there."
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def command_line(study: str) -> str:
    """The command that started this process where that was a study, else the plain one."""
    return shlex.join(["tauto", *sys.argv[1:]]) if sys.argv[1:2] == ["study"] else f"tauto study {study}"


def machine_advice(machine: Mapping[str, Any]) -> tuple[str, ...]:
    """What `tauto machine` would advise; nothing for a record that is not complete."""
    from tautochrone.advice import advise
    from tautochrone.machine_record import Machine

    try:
        as_it_is = msgspec.convert({**machine, "emulated": None}, Machine)  # what we slow is no surprise
        return tuple(str(advice) for advice in advise(as_it_is))
    except msgspec.ValidationError:
        return ()


def described_peers(
    states: Sequence[PeerState], tried: Iterable[RunnerSetup], settings: str
) -> tuple[Peer, ...]:
    """The peers as the report lists them, with what was really tried of them; the serial one is left out."""
    schedules: dict[str, dict[str, None]] = {}
    waits: dict[str, dict[str, None]] = {}
    for one in tried:
        schedules.setdefault(one.peer, {})[one.schedule] = None
        waits.setdefault(one.peer, {})[one.wait] = None
    return tuple(
        Peer(
            runtime=state.peer.name,
            name=state.peer.title,
            version=(state.description.version if state.description is not None else None) or "",
            wait_policies=tuple(waits.get(state.peer.name, ())),
            schedules=tuple(schedules.get(state.peer.name, ())),
            settings=settings,
        )
        for state in states
        if state.peer.name != "serial"
    )
