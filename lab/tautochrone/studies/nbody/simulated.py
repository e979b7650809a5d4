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
from tautochrone.results.context import NotMeasured
from tautochrone.results.row import Row
from tautochrone.simulator.machines import Machine, machine_of
from tautochrone.simulator.smpi.platform import word_seconds
from tautochrone.simulator.smpi.running import SERIAL, Simulated, ready, run_all
from tautochrone.simulator.smpi.running import Row as SimulatedRow
from tautochrone.studies.nbody import smpi
from tautochrone.studies.nbody.findings import SimulatedRanks
from tautochrone.studies.nbody.model import COSTS
from tautochrone.studies.nbody.runs import BlockRuns, collect
from tautochrone.studies.nbody.sentences import nearest

RANKS = 16
SELECTORS = ("ompi", "mpich", "mvapich2")
_ENGINES = ("openmpi", "mpich", "intelmpi")
_SCHEMES = ("i", "j", "grid", "auto")
_BLOCKS = 100  # from the start on, where all steps are short at first
_EAGER_BYTES = 4096  # of Open MPI's shared memory; without a cost of its own here
_BYTES_A_WORD = 8


def simulated(rows: Iterable[Row]) -> tuple[tuple[SimulatedRanks, ...], tuple[NotMeasured, ...]]:
    """One answer for each library, with the median number of particles, and what could not be simulated."""
    source = _source(collect(rows))
    if source is None:
        why = "no MPI was measured between two ranks or more"
        remedy = "Let --peers name openmpi or mpich, or install libopenmpi-dev and build again (make)"
        return (), (NotMeasured(what=f"{RANKS} ranks under SMPI", why=why, remedy=remedy),)
    particles, model = source
    costs = {f"{name}_seconds": float(model[f"{name}_seconds"]) for name in COSTS}
    costs["word_seconds"] = word_seconds()
    asked = [Simulated(SELECTORS[0], SERIAL, 1, particles, _BLOCKS)]
    asked += [
        Simulated(selector, scheme, RANKS, particles, _BLOCKS)
        for selector in SELECTORS
        for scheme in _SCHEMES
    ]
    try:
        outcomes = dict(run_all(ready(_machine(model), costs), asked))
    except TautoError as error:
        return (), (_missing("", error),)
    failed: list[NotMeasured] = []
    schemes: dict[str, dict[str, SimulatedRow]] = {name: {} for name in SELECTORS}
    for run, outcome in outcomes.items():
        if isinstance(outcome, TautoError):
            failed.append(_missing(f", {run.label}", outcome))
        else:
            schemes[run.selector][run.scheme] = outcome
    alone = schemes[SELECTORS[0]].pop(SERIAL, None)
    found = () if alone is None else tuple(_answer(name, alone, of) for name, of in schemes.items() if of)
    return found, tuple(failed)


def _missing(which: str, error: TautoError) -> NotMeasured:
    return NotMeasured(what=f"{RANKS} ranks under SMPI{which}", why=error.message, remedy=error.remedy)


def _source(every: Sequence[BlockRuns]) -> tuple[int, Mapping[str, Any]] | None:
    """The particles and the model of the MPI between whose ranks messages were measured."""
    usable = [
        (runs, model)
        for runs in every
        if runs.peer in _ENGINES and runs.order == 4 and (model := runs.model) is not None
        if int(model["members"]) > 1 and len(model["gather"]) > 1
    ]
    if not usable:
        return None
    particles = nearest([runs.particles for runs, _ in usable])
    alike = [(runs, model) for runs, model in usable if runs.particles == particles]
    return particles, min(alike, key=lambda pair: _ENGINES.index(pair[0].peer))[1]


def _machine(model: Mapping[str, Any]) -> Machine:
    """From the gather between its ranks: a step for each doubling, all words but the own come from others."""
    members = int(model["members"])
    (_, shortest), *_, (words, longest) = model["gather"]
    latency = shortest / math.ceil(math.log2(members))
    rate = words * (members - 1) / members * _BYTES_A_WORD / max(longest - shortest, 1e-9)
    return machine_of(
        {
            "name": f"{RANKS} cores like these",
            "kind": [{"kind": "core", "cores": RANKS}],
            # In the file's terms: a message is two copies, each a read and a write, for all pairs at once.
            "memory": {"copy_bytes_per_second": 4 * RANKS * rate},
            "mpi": {
                "message_latency_seconds": latency,
                "message_overhead_seconds": 0.0,
                "rendezvous_latency_seconds": 0.0,
                "message_bytes_per_second": 2 * rate,
                "eager_bytes": _EAGER_BYTES,
            },
        }
    )


def _answer(selector: str, alone: SimulatedRow, schemes: Mapping[str, SimulatedRow]) -> SimulatedRanks:
    crossing = None
    if {"i", "j"} <= schemes.keys():
        crossing = smpi.crossing(schemes["i"]["classes"], schemes["j"]["classes"])
    return SimulatedRanks(
        library=selector,
        particles=int(alone["particles"]),
        ranks=RANKS,
        speed_up_by_scheme={scheme: smpi.speed_up(alone, row) for scheme, row in schemes.items()},
        crossing=crossing,
        exchange_share=min(float(row["shared_share"]) for row in schemes.values()),
        energy_error=max(float(row["check"]["energy_error"]) for row in schemes.values()),
        blocks=_BLOCKS,
    )
