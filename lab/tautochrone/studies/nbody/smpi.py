"""``tauto simulate nbody --smpi``: libraries, schemes and ranks in charts and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console

from tautochrone.errors import TautoError
from tautochrone.report.parts import Record
from tautochrone.results.context import NotMeasured
from tautochrone.simulator.command import SIMULATED
from tautochrone.simulator.findings import Axis, LineChart, SimulatedAnalysis
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.smpi.running import (
    MOST_PARTICLES,
    MOST_RANKS,
    PARTICLES,
    SERIAL,
    BlockClass,
    Row,
    Simulated,
    ready,
    waiting_share,
)
from tautochrone.simulator.smpi.sweeping import (
    Request,
    check_ranks,
    check_selectors,
    publish,
    row_of,
    run_sweep,
    shared_fields,
)
from tautochrone.studies.nbody.configurations import GRID, has_grid
from tautochrone.studies.nbody.runs import crossing_of_round
from tautochrone.text import percent

# Every pair of ranks exchanges a message when sources are shared: minutes for 256. auto looks at all
# rectangles of ranks, and each rank has room for the largest one's parts.
_MOST_RANKS = {"i": MOST_RANKS, "j": 256, GRID: 128, "auto": 128}


def run_smpi_command(request: Request, particles: int | None, console: Console) -> int:
    """Run the sweep. Raises TautoError for what is not there or cannot be."""
    machine = request.machine
    selectors = check_selectors(request.libraries)
    counts = check_ranks(machine, request.ranks)
    asked = list(sweep(selectors, counts, check_particles(particles, counts[-1])))
    found, failed = run_sweep(ready(machine), asked, console)
    if found[0][0].ranks != 1:
        raise TautoError(f"one core, to compare with, was not simulated: {failed[0].why}", failed[0].remedy)
    rows = [row_of("nbody", run, row, machine) for run, row in found]
    command = request.command(counts, *(("--particles", str(particles)) if particles else ()))
    return publish(request, rows, machine, analyse(found, failed, machine, command), console)


def check_particles(particles: int | None, ranks: int) -> int:
    """Raises TautoError for fewer than one a rank, or more than the largest study has."""
    if particles is None:
        return max(PARTICLES, ranks)
    if not ranks <= particles <= MOST_PARTICLES:
        raise TautoError(
            f"--particles {particles} cannot be simulated on {ranks} ranks",
            f"Give from {ranks}, one a rank, to {MOST_PARTICLES}",
        )
    return particles


def sweep(selectors: Sequence[str], ranks: Sequence[int], particles: int) -> Iterator[Simulated]:
    """One core, then every library and number of ranks with the schemes that end in minutes there."""
    yield Simulated(selectors[0], SERIAL, 1, particles)
    for count in ranks:
        for selector in selectors:
            for scheme in _MOST_RANKS:
                if count <= _MOST_RANKS[scheme] and (scheme != GRID or has_grid(count)):
                    yield Simulated(selector, scheme, count, particles)


def analyse(
    found: Sequence[tuple[Simulated, Row]],
    failed: Sequence[NotMeasured],
    machine: Machine,
    command: str,
) -> SimulatedAnalysis:
    """What the runs say; the first is that of one core."""
    (_, alone), *shared = found
    counts = sorted({run.ranks for run, _ in shared})
    first = [(run, row) for run, row in shared if run.ranks == counts[0]]
    blocks = [
        _block_chart(selector, [pair for pair in first if pair[0].selector == selector], alone)
        for selector in dict.fromkeys(run.selector for run, _ in first)
    ]
    fastest, row = min(first, key=lambda pair: float(pair[1]["mean_seconds"]))
    waiting = percent(row["energy"]["waiting_joules"] / row["energy"]["joules"])
    times = f"{speed_up(alone, row):.1f} times as fast as one core at best ({fastest.label})"
    return SimulatedAnalysis(
        verdict_sentences=(
            f"On {machine.name}, {fastest.ranks} ranks are {times}",
            *(chart.heading for chart in blocks),
            f"The ranks of the fastest wait {percent(waiting_share(row))} of the time and spin meanwhile, "
            f"which takes {waiting} of all energy",
            SIMULATED,
        ),
        study="nbody",
        method=(
            "of the program that runs on real machines too, its ranks and messages under SimGrid’s SMPI; "
            "what a block’s work costs comes from the machine file, and who waits is charged as spinning"
        ),
        charts=(_scaling(alone, shared, machine), *blocks),
        rows=tuple(_record(run, row, alone) for run, row in found),
        **shared_fields(machine, counts[-1], command, failed),
    )


def speed_up(alone: Row, shared: Row) -> float:
    """Of the mean block, against one core."""
    return float(alone["mean_seconds"]) / float(shared["mean_seconds"])


def _block_chart(selector: str, shared: Sequence[tuple[Simulated, Row]], alone: Row) -> LineChart:
    run = shared[0][0]
    curves = {each.scheme: row["classes"] for each, row in shared}
    found = "was not simulated beside sharing the sources"
    if {"i", "j"} <= curves.keys():
        at = crossing(curves["i"], curves["j"])
        found = "never beats sharing the sources" if at is None else f"pays from {at:.0f} particles on"
    ways = [(SERIAL, alone), *((each.scheme, row) for each, row in shared)]
    return LineChart(
        name=f"blocks-{selector}",
        heading=f"With the collectives of {selector}, {run.ranks} ranks: sharing the targets {found}",
        explanation=(
            f"Time of a block against how many of the {run.particles} particles move in it: one core, "
            "targets shared (i), sources shared (j), both at once (grid), and the scheme that is cheapest "
            f"for each block (auto). The first {run.blocks} blocks."
        ),
        x=Axis(field="x", title="particles that move", logarithmic=True),
        y=Axis(field="y", title="time of a block", logarithmic=True, seconds=True),
        records=tuple(
            {
                "runtime": scheme,
                "label": f"{selector} {scheme}, {row['ranks']} ranks",
                "x": each["median_active"],
                "y": each["median_seconds"],
                "seconds": each["median_seconds"],
            }
            for scheme, row in ways
            for each in row["classes"]
        ),
    )


def _scaling(alone: Row, shared: Sequence[tuple[Simulated, Row]], machine: Machine) -> LineChart:
    """Each library's fastest scheme at each number of ranks."""
    fastest: dict[tuple[str, int], tuple[Simulated, Row]] = {}
    for run, row in sorted(shared, key=lambda pair: -float(pair[1]["mean_seconds"])):
        fastest[run.selector, run.ranks] = (run, row)
    best, row = max(fastest.values(), key=lambda pair: speed_up(alone, pair[1]))
    return LineChart(
        name="scaling",
        heading=f"The fastest that was simulated: {best.ranks} ranks, {speed_up(alone, row):.1f} times one "
        f"core ({best.label})",
        explanation=(
            "The mean block of one core by that of the ranks, by the library’s fastest scheme; "
            f"{machine.cores} cores a node, one rank a core."
        ),
        x=Axis(field="x", title="ranks", logarithmic=True),
        y=Axis(field="y", title="times as fast as one core"),
        records=tuple(
            _record(run, row, alone)
            for run, row in sorted(fastest.values(), key=lambda pair: (pair[0].selector, pair[0].ranks))
        ),
    )


def _record(run: Simulated, row: Row, alone: Row) -> Record:
    return {
        "runtime": run.selector,
        "label": f"{run.label}, all blocks",
        "x": run.ranks,
        "y": speed_up(alone, row),
        "seconds": row["mean_seconds"],
        "waiting": waiting_share(row),
        "joules": row["energy"]["joules"],
    }


def crossing(targets: Sequence[BlockClass], sources: Sequence[BlockClass]) -> float | None:
    """The active count from which on the first is faster, as in the measured study; None: it never is."""
    theirs = {each["active_from"]: each["median_seconds"] for each in sources}
    both = [(mine, theirs[mine["active_from"]]) for mine in targets if mine["active_from"] in theirs]
    return crossing_of_round(
        [(float(mine["median_active"]), math.log(mine["median_seconds"] / other)) for mine, other in both]
    )
