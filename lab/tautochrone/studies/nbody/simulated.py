"""What 16 cores like these would do between MPI's ranks: the runner itself under SMPI, in virtual time.

Work costs what a core was measured to need at a run's start, the slowest rank's; a message what the ranks of
an MPI were measured to exchange: its latency and, for long ones, its rate. Sending one takes no time of its
own, and no two pairs get in each other's way, as in the model's own forecast: what 16 such cores share, this
machine cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.report.nbody.analysis_types import SimulatedRanks
from tautochrone.row import Row
from tautochrone.simulator.engine import Row as SimulatedRow
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.smpi import nbody
from tautochrone.simulator.smpi.platform import word_seconds
from tautochrone.simulator.smpi.running import Simulated, ready, run_all
from tautochrone.studies.nbody.runs import Contender, collect
from tautochrone.studies.nbody.sentences import nearest

RANKS = 16
SELECTORS = ("ompi", "mpich", "mvapich2")
_ENGINES = ("openmpi", "mpich", "intelmpi")
_SCHEMES = ("i", "j", "grid", "auto")
_BLOCKS = 100  # from the start on, where all steps are short at first
_EAGER_BYTES = 4096  # of Open MPI's shared memory; without a cost of its own here
_BYTES_A_WORD = 8
_COSTS = ("pair", "target_force", "source", "target", "put", "scan", "block")


def simulated(rows: Iterable[Row]) -> tuple[tuple[SimulatedRanks, ...], tuple[NotMeasured, ...]]:
    """One answer for each library, with the median number of particles, and what could not be simulated."""
    source = _source(collect(rows))
    if source is None:
        why = "no MPI was measured between two ranks or more"
        remedy = "Let --peers name openmpi or mpich, or install libopenmpi-dev and build again (make)"
        return (), (NotMeasured(what=f"{RANKS} ranks under SMPI", why=why, remedy=remedy),)
    model = source.model
    assert model is not None
    machine = _machine(model)
    costs = {f"{name}_seconds": float(model[f"{name}_seconds"]) for name in _COSTS}
    costs["word_seconds"] = word_seconds()
    asked = [Simulated(SELECTORS[0], "serial", 1, source.particles, _BLOCKS)]
    asked += [
        Simulated(selector, scheme, RANKS, source.particles, _BLOCKS)
        for selector in SELECTORS
        for scheme in _SCHEMES
    ]
    try:
        found = dict(run_all(ready(machine, costs), asked))
    except TautoError as error:
        return (), (_missing("", error),)
    alone = found[asked[0]]
    failed = [
        _missing(f", {one.label}", outcome)
        for one, outcome in found.items()
        if isinstance(outcome, TautoError)
    ]
    if isinstance(alone, TautoError):
        return (), tuple(failed)
    answers = (
        _answer(selector, alone, {one.scheme: row for one, row in _rows(found) if one.selector == selector})
        for selector in SELECTORS
    )
    return tuple(one for one in answers if one is not None), tuple(failed)


def _missing(which: str, error: TautoError) -> NotMeasured:
    return NotMeasured(what=f"{RANKS} ranks under SMPI{which}", why=error.message, remedy=error.remedy)


def _source(runs: Sequence[Contender]) -> Contender | None:
    """The MPI between whose two ranks messages were measured."""
    usable = [one for one in runs if one.peer in _ENGINES and one.order == 4 and _exchanges(one.model)]
    if not usable:
        return None
    particles = nearest([one.particles for one in usable])
    return min(
        (one for one in usable if one.particles == particles), key=lambda one: _ENGINES.index(one.peer)
    )


def _exchanges(model: Mapping[str, Any] | None) -> bool:
    return model is not None and int(model["members"]) > 1 and len(model["gather"]) > 1


def _machine(model: Mapping[str, Any]) -> Machine:
    """From the gather between its ranks: a step for each doubling, all words but the own come from others."""
    members = int(model["members"])
    (_, shortest), *_, (words, longest) = model["gather"]
    latency = shortest / math.ceil(math.log2(members))
    rate = words * (members - 1) / members * _BYTES_A_WORD / max(longest - shortest, 1e-9)
    return {
        "name": f"{RANKS} cores like these",
        "kind": [{"kind": "core", "cores": RANKS}],
        # In the file's terms: a message is two copies, each a read and a write, for all pairs at once.
        "memory": {"copy_bytes_per_second": 4 * RANKS * rate},
        "mpi": {
            "message_latency_seconds": latency,
            "message_bytes_per_second": 2 * rate,
            "eager_bytes": _EAGER_BYTES,
        },
    }


def _rows(found: Mapping[Simulated, SimulatedRow | TautoError]) -> list[tuple[Simulated, SimulatedRow]]:
    return [(one, row) for one, row in found.items() if not isinstance(row, TautoError) and one.ranks > 1]


def _answer(selector: str, alone: SimulatedRow, schemes: Mapping[str, SimulatedRow]) -> SimulatedRanks | None:
    if not schemes:
        return None
    crossing = None
    if {"i", "j"} <= schemes.keys():
        crossing = nbody.crossing(schemes["i"]["classes"], schemes["j"]["classes"])
    return SimulatedRanks(
        library=selector,
        particles=int(alone["particles"]),
        ranks=RANKS,
        speed_up_by_scheme={scheme: nbody.speed_up(alone, row) for scheme, row in schemes.items()},
        crossing=crossing,
        exchange_share=min(float(row["shared_share"]) for row in schemes.values()),
        energy_error=max(float(row["check"]["energy_error"]) for row in schemes.values()),
        blocks=_BLOCKS,
    )
