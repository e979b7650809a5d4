"""What 16 cores like these would do between MPI's ranks: the runner itself under SMPI, in virtual time.

Work costs what a core was measured to need at a run's start, the slowest rank's; a message what the ranks of
an MPI were measured to exchange: its latency and, for long ones, its rate. Sending one takes no time of its
own, and no two pairs get in each other's way, as in the model's own forecast: what 16 such cores share, this
machine cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tautochrone.errors import TautoError
from tautochrone.results.context import NotMeasured
from tautochrone.results.row import Row
from tautochrone.simulator.machines import Machine, machine_of
from tautochrone.simulator.smpi.platform import word_seconds
from tautochrone.simulator.smpi.running import SERIAL, Simulated, ready, run_all
from tautochrone.simulator.smpi.running import Row as SimulatedRow
from tautochrone.studies.nbody import smpi
from tautochrone.studies.nbody.configurations import GRID, slices_of_grid
from tautochrone.studies.nbody.findings import Rectangle, SimulatedRanks
from tautochrone.studies.nbody.model import COSTS
from tautochrone.studies.nbody.runs import BlockRuns, collect
from tautochrone.studies.nbody.sentences import nearest

RANKS = 16
RECTANGLES = (4, 9)  # ranks of the smallest squares of an even and of an odd side
SELECTORS = ("ompi", "mpich", "mvapich2")
_OF_ANY_NUMBER = "mpich"  # SimGrid's ompi refuses an odd number of ranks
_ENGINES = ("openmpi", "mpich", "intelmpi")
_SOURCES = "j"
_SCHEMES = ("i", _SOURCES, GRID, "auto")
_BLOCKS = 100  # from the start on, where all steps are short at first
_EAGER_BYTES = 4096  # of Open MPI's shared memory; without a cost of its own here
_BYTES_A_WORD = 8


class Simulations(NamedTuple):
    """What was simulated, and what could not be."""

    ranks: tuple[SimulatedRanks, ...] = ()  # an answer for each library, with the median number of particles
    rectangles: tuple[Rectangle, ...] = ()
    failed: tuple[NotMeasured, ...] = ()


def simulated(rows: Iterable[Row]) -> Simulations:
    """Sixteen ranks with every scheme, and the small rectangles of ranks."""
    source = _source(collect(rows))
    if source is None:
        why = "no MPI was measured between two ranks or more"
        remedy = "Let --peers name openmpi or mpich, or install libopenmpi-dev and build again (make)"
        return Simulations(failed=(NotMeasured(what=f"{RANKS} ranks under SMPI", why=why, remedy=remedy),))
    particles, model = source
    costs = {f"{name}_seconds": float(model[f"{name}_seconds"]) for name in COSTS}
    costs["word_seconds"] = word_seconds()
    ways = [(selector, scheme, RANKS) for selector in SELECTORS for scheme in _SCHEMES]
    ways += [
        (_OF_ANY_NUMBER, scheme, count)
        for members in RECTANGLES
        for scheme, count in ((GRID, members), (_SOURCES, slices_of_grid(members)))
    ]
    asked = [
        Simulated(selector, scheme, ranks, particles, _BLOCKS)
        for selector, scheme, ranks in ((SELECTORS[0], SERIAL, 1), *ways)
    ]
    try:
        outcomes = dict(run_all(ready(_machine(model), costs), asked))
    except TautoError as error:
        return Simulations(failed=(_missing(f"{RANKS} ranks", "", error),))
    failed = [
        _missing(f"{run.ranks} ranks", f", {run.label}", outcome)
        for run, outcome in outcomes.items()
        if isinstance(outcome, TautoError)
    ]
    done = {run: row for run, row in outcomes.items() if not isinstance(row, TautoError)}
    alone = done.pop(asked[0], None)
    if alone is None:
        return Simulations(failed=tuple(failed))
    libraries = {
        selector: {
            run.scheme: row for run, row in done.items() if (run.selector, run.ranks) == (selector, RANKS)
        }
        for selector in SELECTORS
    }
    return Simulations(
        tuple(_answer(selector, alone, schemes) for selector, schemes in libraries.items() if schemes),
        tuple(_rectangles(alone, done)),
        tuple(failed),
    )


def _rectangles(alone: SimulatedRow, done: Mapping[Simulated, SimulatedRow]) -> Iterator[Rectangle]:
    """Members that share both add up the same slices as the fewer that share the sources alone."""
    by_way = {(run.scheme, run.ranks): row for run, row in done.items() if run.selector == _OF_ANY_NUMBER}
    for members in RECTANGLES:
        whole, slices = by_way.get((GRID, members)), by_way.get((_SOURCES, slices_of_grid(members)))
        if whole is not None and slices is not None:
            bits = [row["check"]["state_fnv1a"] for row in (whole, slices)]
            yield Rectangle(
                ranks=members,
                slices=slices_of_grid(members),
                particles=int(whole["particles"]),
                speed_up=smpi.speed_up(alone, whole),
                energy_error=float(whole["check"]["energy_error"]),
                same_bits=bits[0] == bits[1],
            )


def _missing(ranks: str, which: str, error: TautoError) -> NotMeasured:
    return NotMeasured(what=f"{ranks} under SMPI{which}", why=error.message, remedy=error.remedy)


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
