"""A shared study of loops that nobody measured: a machine file's, simulated and marked so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tautochrone.machine.placements import Layout, cpus_of, layout
from tautochrone.machine.runners import Description, PeerState
from tautochrone.results.row import Row
from tautochrone.simulator import engine, machines
from tautochrone.simulator.command import record_of
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.requests import LOOP_SIZES, LoopRequest, usual_kernel
from tautochrone.studies.loop.configurations import (
    PEER_BY_NAME,
    Candidate,
    StudyCell,
    candidates,
    configuration,
)
from tautochrone.studies.request import Times
from tautochrone.studies.sharing import Shared
from tautochrone.verdicts import MINIMUM_ROUNDS

SIMULATED = "simulated"
_CHUNKS = (1, 2, 4, 8, 16)
_SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "serial": ("serial",),
    "libgomp": ("pragma", "static", "dynamic", "guided"),
    "tautochrone": ("adaptive",),
}
_TIMES = Times(0.0, 1e-6, MINIMUM_ROUNDS)
# How the simulator calls what a program without a schedule has.
_SCHEDULE_OF = {"pragma": "static", "serial": "static"}


def simulated_set(name: str, sizes: Sequence[int] = LOOP_SIZES) -> Shared:
    """What ``tauto study loop`` would share of that machine. TautoError for a machine that is not there."""
    machine = machines.load(name)
    record = dict(record_of(machine)) | {"cpu_model": machine.name}
    seen = layout(cpus_of(record)[0], {})
    asked = list(_asked(machine, seen, sizes))
    answers = engine.simulate(machine, [one.request() for one in asked])
    return Shared(
        study="loop",
        machine=record,
        rows=tuple(
            row
            for number, (one, answer) in enumerate(zip(asked, answers, strict=True))
            for row in _rows(number, one, answer)
        ),
        simulated=name,
    )


def _states() -> list[PeerState]:
    return [
        PeerState(
            PEER_BY_NAME[name],
            Description(
                runtime=PEER_BY_NAME[name].runtime,
                library=name,
                version=SIMULATED,
                schedules=schedules,
                schedules_with_chunk=("dynamic",),
                wait_policies=("default",),
            ),
            Path(PEER_BY_NAME[name].runner),
        )
        for name, schedules in _SCHEDULES.items()
    ]


class _Asked(NamedTuple):
    cell: StudyCell
    candidate: Candidate

    def request(self) -> LoopRequest:
        return {
            "study": "loop",
            "size": self.cell.size,
            "kernel": self.cell.kernel,
            "runtime": self.candidate.state.peer.runtime,
            "schedule": _SCHEDULE_OF.get(self.candidate.schedule, self.candidate.schedule),
            "chunk": self.candidate.chunk or 1,
            "placement": self.candidate.placement.name,
        }


def _asked(machine: Machine, seen: Layout, sizes: Sequence[int]) -> Iterator[_Asked]:
    compared = tuple(candidates(_states(), seen, _CHUNKS))
    for size in sizes:
        cell = StudyCell(size, {}, seen, compared, usual_kernel(machine))
        for candidate in compared:
            yield _Asked(cell, candidate)


def _rows(number: int, one: _Asked, answer: engine.Row) -> Iterator[Row]:
    """A row a round: the simulator repeats itself."""
    asked = configuration(one.cell, one.candidate, _TIMES)
    cpus, rows = answer["cpus"], answer["rows"]
    first = Row(
        study="loop",
        source=SIMULATED,
        name=asked.name,
        group=asked.group,
        config=dict(asked.settings),
        config_id=str(number),
        seconds=answer["seconds"],
        workers=[
            {"thread": thread, "cpu": cpu, "rows": done}
            for thread, (cpu, done) in enumerate(zip(cpus, rows, strict=True))
        ],
        detail={"bytes_per_iteration": answer["memory_bytes"], "width": answer["width"]},
    )
    for repeated in range(_TIMES.rounds):
        yield msgspec.structs.replace(first, run=f"{number}-{repeated}", round=repeated)
