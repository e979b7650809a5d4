"""``tauto simulate nbody --smpi``: libraries, schemes and ranks in charts and sentences."""

from __future__ import annotations

import json as json_module
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from tautochrone import report
from tautochrone.errors import TautoError
from tautochrone.report.analysis_types import Command, NotMeasured
from tautochrone.report.simulated.analysis_types import Axis, LineChart, SimulatedAnalysis
from tautochrone.report.tables import Record
from tautochrone.report.text import percent, seconds
from tautochrone.simulator import machines
from tautochrone.simulator.engine import Row
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.smpi import platform
from tautochrone.simulator.smpi.running import (
    MOST_PARTICLES,
    MOST_RANKS,
    PARTICLES,
    SELECTORS,
    Ready,
    Simulated,
    ready,
    run_all,
    waiting_share,
)
from tautochrone.simulator.study import ROW_SCHEMA, facts_of, record_of, store
from tautochrone.word_lists import integers_of, words_of

# Every pair of ranks exchanges a message when sources are shared: minutes for 256. auto looks at all
# rectangles of ranks, and each rank has room for the largest one's parts.
_MOST_RANKS = {"i": MOST_RANKS, "j": 256, "grid": 128, "auto": 128}
ONE_CORE = "serial"


def run_smpi_command(
    machine_name: str,
    settings: Sequence[str],
    libraries: str,
    ranks: str | None,
    particles: int | None,
    output: Path | None,
    json: bool,
    console: Console,
) -> int:
    """Run the sweep. Raises TautoError for what is not there or cannot be."""
    machine = machines.change(machines.load(machine_name), settings)
    selectors = check_selectors(libraries)
    counts = check_ranks(machine, ranks)
    asked = list(sweep(selectors, counts, check_particles(particles, counts[-1])))
    with_ = ready(machine)
    found, failed = _run(with_, asked, console)
    rows = [_row(one, row, machine) for one, row in found]
    if json:
        for row in rows:
            print(json_module.dumps(row, ensure_ascii=False))
        return 0
    folder = output or Path("tautochrone-results") / "simulated-nbody-smpi"
    store(rows, folder)
    changed = "".join(f" --set {one}" for one in settings)
    given = f" --particles {particles}" if particles else ""
    command = (
        f"tauto simulate nbody --smpi {libraries} --machine {machine_name}{changed} "
        f"--ranks {','.join(map(str, counts))}{given}"
    )
    analysis = analyse(found, failed, machine, command)
    path = report.write(rows, record_of(machine), folder / "report.html", study="nbody", extra=analysis)
    for sentence in analysis.verdict_sentences:
        console.print(sentence, soft_wrap=True, highlight=False)
    console.print(f"The report: {path}", soft_wrap=True, highlight=False)
    return 0


def check_selectors(text: str) -> tuple[str, ...]:
    """``"all"`` or ``"ompi,impi"``. Raises TautoError."""
    if text == "all":
        return SELECTORS
    wanted = tuple(dict.fromkeys(words_of(text, "--smpi")))
    for one in wanted:
        if one not in SELECTORS:
            raise TautoError(
                f"--smpi {one} is no library whose collectives SMPI has",
                f"Choose from {', '.join(SELECTORS)}, or all",
            )
    return wanted


def check_ranks(machine: Machine, text: str | None) -> tuple[int, ...]:
    """The numbers of ranks, ascending; all cores of a node where none was named. Raises TautoError."""

    def refusal(word: str) -> TautoError:
        return TautoError(f"--ranks {word} cannot be simulated", f"Give numbers from 2 to {MOST_RANKS}")

    cores = platform.cores_of(machine)
    wanted = integers_of(text, "--ranks", 2, MOST_RANKS, refusal) if text is not None else (cores,)
    if wanted[0] < 2:
        raise TautoError(
            f"the machine {machine['name']} has one core", "Add --ranks 2 to simulate several of it"
        )
    platform.messages_of(machine)
    if wanted[-1] > cores:
        platform.network_of(machine)
    return wanted


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
    yield Simulated(selectors[0], "serial", 1, particles)
    for count in ranks:
        for selector in selectors:
            for scheme in _MOST_RANKS:
                if count <= _MOST_RANKS[scheme] and (scheme != "grid" or _has_grid(count)):
                    yield Simulated(selector, scheme, count, particles)


def _has_grid(ranks: int) -> bool:
    """Is there a rectangle of so many with two sides of 2 or more?"""
    return any(ranks % side == 0 for side in range(2, math.isqrt(ranks) + 1))


def _run(
    with_: Ready, asked: Sequence[Simulated], console: Console
) -> tuple[list[tuple[Simulated, Row]], list[NotMeasured]]:
    """The rows, and what SMPI could not do. Raises TautoError where no rank was simulated."""
    found: list[tuple[Simulated, Row]] = []
    failed: list[NotMeasured] = []
    refused: TautoError | None = None
    with console.status("") as status:
        for done, (one, outcome) in enumerate(run_all(with_, asked), 1):
            if isinstance(outcome, TautoError):
                refused = outcome
                what = f"{label(one)}, {one.ranks} ranks"
                failed.append(NotMeasured(what=what, why=outcome.message, remedy=outcome.remedy))
            else:
                found.append((one, outcome))
            status.update(f"{done} of {len(asked)} runs simulated; the last: {label(one)}")
    if refused is not None and not any(one.ranks > 1 for one, _ in found):
        raise refused
    return found, failed


def label(one: Simulated) -> str:
    """As in charts, without the ranks: ``ompi i``."""
    return ONE_CORE if one.scheme == "serial" else f"{one.selector} {one.scheme}"


def _row(one: Simulated, row: Row, machine: Machine) -> Row:
    config = {
        "selector": one.selector,
        "scheme": one.scheme,
        "ranks": one.ranks,
        "particles": one.particles,
        "blocks": one.blocks,
        "seed": one.seed,
    }
    return {
        **row,
        "schema": ROW_SCHEMA,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "study": "nbody",
        "name": label(one),
        "config": config,
        "config_id": json_module.dumps([label(one), config], sort_keys=True),
        "round": 0,
        "machine_name": machine["name"],
    }


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
    times = f"{speed_up(alone, row):.1f} times as fast as one core at best ({label(fastest)})"
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
        facts={**facts_of(machine), **_message_facts(machine, counts[-1])},
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
    ways = [(ONE_CORE, alone), *((f"{each.scheme}", row) for each, row in shared)]
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
        heading=f"The fastest that was simulated: {best.ranks} ranks, {times} one core ({label(best)})",
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
        "label": f"{label(one)}, all blocks",
        "x": one.ranks,
        "y": y,
        "seconds": row["mean_seconds"],
        "waiting": waiting_share(row),
        "joules": row["energy"]["joules"],
    }


def crossing(targets: Sequence[dict[str, Any]], sources: Sequence[dict[str, Any]]) -> float | None:
    """The active count from which on the first is faster, of those that ran; None: it never is."""
    theirs = {each["active_from"]: float(each["median_seconds"]) for each in sources}
    found = None
    for mine in reversed(targets):
        if mine["active_from"] not in theirs:
            continue
        if float(mine["median_seconds"]) >= theirs[mine["active_from"]]:
            break
        found = float(mine["median_active"])
    return found


def _message_facts(machine: Machine, most_ranks: int) -> dict[str, str]:
    messages = platform.messages_of(machine)
    facts = {
        "A message": f"{seconds(messages.latency + 2 * messages.overhead)}, "
        f"{messages.bytes_per_second / 1e9:.3g} GB/s"
    }
    if most_ranks > platform.cores_of(machine):
        network = platform.network_of(machine)
        facts["Between nodes"] = (
            f"{seconds(network.latency_seconds)} more, {network.bytes_per_second / 1e9:.3g} GB/s a node"
        )
    return facts
