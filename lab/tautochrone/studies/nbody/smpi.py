"""``tauto simulate nbody --smpi``: libraries, schemes and ranks in charts and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import Command, NotMeasured
from tautochrone.report.simulated.analysis_types import Axis, LineChart, SimulatedAnalysis
from tautochrone.report.tables import Record
from tautochrone.report.text import percent
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.smpi import platform
from tautochrone.simulator.smpi.running import (
    MOST_PARTICLES,
    MOST_RANKS,
    PARTICLES,
    SERIAL,
    Simulated,
    ready,
    waiting_share,
)
from tautochrone.simulator.smpi.sweeping import (
    Request,
    check_ranks,
    check_selectors,
    message_facts,
    publish,
    row_of,
    run_sweep,
)
from tautochrone.simulator.study import facts_of
from tautochrone.studies.nbody.configurations import GRID, has_grid
from tautochrone.studies.nbody.crossings import crossing_of_round

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
    rows = [row_of("nbody", one, row, machine) for one, row in found]
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
    counts = sorted({one.ranks for one, _ in shared})
    first = [(one, row) for one, row in shared if one.ranks == counts[0]]
    blocks = [
        _block_chart(selector, [pair for pair in first if pair[0].selector == selector], alone)
        for selector in dict.fromkeys(one.selector for one, _ in first)
    ]
    fastest, row = min(first, key=lambda pair: float(pair[1]["mean_seconds"]))
    waiting = percent(row["energy"]["waiting_joules"] / row["energy"]["joules"])
    times = f"{speed_up(alone, row):.1f} times as fast as one core at best ({fastest.label})"
    return SimulatedAnalysis(
        verdict_sentences=(
            f"On {machine['name']}, {fastest.ranks} ranks are {times}",
            *(chart.heading for chart in blocks),
            f"The ranks of the fastest wait {percent(waiting_share(row))} of the time and spin meanwhile, "
            f"which takes {waiting} of all energy",
            "This was simulated, not measured.",
        ),
        study="nbody",
        machine_name=machine["name"],
        method=(
            "of the program that runs on real machines too, its ranks and messages under SimGrid’s SMPI; "
            "what a block’s work costs comes from the machine file, and who waits is charged as spinning"
        ),
        charts=(_scaling(alone, shared, machine), *blocks),
        rows=tuple(_record(one, row, speed_up(alone, row), one.selector) for one, row in found),
        facts={**facts_of(machine), **message_facts(machine, counts[-1])},
        commands=(Command(label="The same again", text=command),),
        not_measured=tuple(failed),
    )


def speed_up(alone: Row, shared: Row) -> float:
    """Of the mean block, against one core."""
    return float(alone["mean_seconds"]) / float(shared["mean_seconds"])


def _block_chart(selector: str, shared: Sequence[tuple[Simulated, Row]], alone: Row) -> LineChart:
    one = shared[0][0]
    curves = {each.scheme: row["classes"] for each, row in shared}
    found = "was not simulated beside sharing the sources"
    if {"i", "j"} <= curves.keys():
        at = crossing(curves["i"], curves["j"])
        found = "never beats sharing the sources" if at is None else f"pays from {at:.0f} particles on"
    ways = [(SERIAL, alone), *((f"{each.scheme}", row) for each, row in shared)]
    return LineChart(
        name=f"blocks-{selector}",
        heading=f"With the collectives of {selector}, {one.ranks} ranks: sharing the targets {found}",
        explanation=(
            f"Time of a block against how many of the {one.particles} particles move in it: one core, "
            "targets shared (i), sources shared (j), both at once (grid), and the scheme that is cheapest "
            "for each block (auto). "
            f"The first {one.blocks} blocks."
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
    for one, row in sorted(shared, key=lambda pair: -float(pair[1]["mean_seconds"])):
        fastest[one.selector, one.ranks] = (one, row)
    best, row = max(fastest.values(), key=lambda pair: speed_up(alone, pair[1]))
    times = f"{speed_up(alone, row):.1f} times"
    cores = platform.cores_of(machine)
    return LineChart(
        name="scaling",
        heading=f"The fastest that was simulated: {best.ranks} ranks, {times} one core ({best.label})",
        explanation=(
            "The mean block of one core by that of so many ranks, by the library’s fastest scheme; "
            f"{cores} cores a node, one rank a core."
        ),
        x=Axis(field="x", title="ranks", logarithmic=True),
        y=Axis(field="y", title="times as fast as one core"),
        records=tuple(
            _record(one, row, speed_up(alone, row), one.selector)
            for one, row in sorted(fastest.values(), key=lambda pair: (pair[0].selector, pair[0].ranks))
        ),
    )


def _record(one: Simulated, row: Row, y: float, runtime: str) -> Record:
    return {
        "runtime": runtime,
        "label": f"{one.label}, all blocks",
        "x": one.ranks,
        "y": y,
        "seconds": row["mean_seconds"],
        "waiting": waiting_share(row),
        "joules": row["energy"]["joules"],
    }


def crossing(targets: Sequence[dict[str, Any]], sources: Sequence[dict[str, Any]]) -> float | None:
    """The active count from which on the first is faster, as in the measured study; None: it never is."""
    theirs = {each["active_from"]: float(each["median_seconds"]) for each in sources}
    return crossing_of_round(
        [
            (
                float(mine["median_active"]),
                math.log(float(mine["median_seconds"]) / theirs[mine["active_from"]]),
            )
            for mine in targets
            if mine["active_from"] in theirs
        ]
    )
