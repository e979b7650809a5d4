"""``tauto simulate collective --smpi``: each library's all_reduce and all_gather against their length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console

from tautochrone.errors import TautoError
from tautochrone.report.parts import Record
from tautochrone.results.context import NotMeasured
from tautochrone.simulator.command import SIMULATED, StoredRecord
from tautochrone.simulator.findings import Axis, LineChart, SimulatedAnalysis
from tautochrone.simulator.machines import Machine
from tautochrone.simulator.smpi.running import COLLECTIVE, OperationTime, Row, SimulatedOperation, ready
from tautochrone.simulator.smpi.sweeping import (
    Request,
    check_ranks,
    check_selectors,
    publish,
    row_of,
    run_sweep,
    shared_fields,
)
from tautochrone.studies.collective.configurations import base_lengths, parse_lengths
from tautochrone.studies.collective.places import in_words
from tautochrone.text import seconds

OPERATIONS = ("all_reduce", "all_gather")
MOST_WORDS = 1 << 20
_OF_INTEREST = 1024  # words, of the sentence that comes first


def run_smpi_command(request: Request, words: str | None, console: Console) -> int:
    """Run the sweep. Raises TautoError for what is not there or cannot be."""
    machine = request.machine
    selectors = check_selectors(request.libraries)
    counts = check_ranks(machine, request.ranks)
    asked = list(sweep(selectors, counts, check_words(words)))
    found, failed = run_sweep(ready(machine, program=COLLECTIVE), asked, console)
    rows = [stored for run, row in found for stored in _rows(run, row, machine)]
    command = request.command(counts, *(("--words", words) if words else ()))
    return publish(request, rows, machine, analyse(found, failed, machine, command), console)


def _rows(run: SimulatedOperation, row: Row, machine: Machine) -> Iterator[StoredRecord]:
    """One a length, as of one run that had no other."""
    shared = {
        key: value for key, value in row.items() if key not in ("points", "iterations", "timed_seconds")
    }
    for point in row["points"]:
        alone = replace(run, words=(int(point["words"]),))
        yield {**row_of("collective", alone, shared, machine), **point}


def check_words(text: str | None) -> tuple[int, ...]:
    """The lengths, ascending; those of the measured study where none was named. Raises TautoError."""
    if text is None:
        return base_lengths()
    wanted = parse_lengths(text, "--words")
    if wanted[-1] > MOST_WORDS:
        raise TautoError(f"--words {wanted[-1]} takes too long to simulate", f"Give up to {MOST_WORDS}")
    return wanted


def sweep(
    selectors: Sequence[str], ranks: Sequence[int], words: tuple[int, ...]
) -> Iterator[SimulatedOperation]:
    """Every operation of every library on every number of ranks."""
    for count in ranks:
        for operation in OPERATIONS:
            for selector in selectors:
                yield SimulatedOperation(selector, operation, count, words)


def analyse(
    found: Sequence[tuple[SimulatedOperation, Row]],
    failed: Sequence[NotMeasured],
    machine: Machine,
    command: str,
) -> SimulatedAnalysis:
    """What the runs say: a chart for each operation and number of ranks."""
    counts = sorted({run.ranks for run, _ in found})
    places = [(count, operation) for count in counts for operation in OPERATIONS]
    charts = tuple(
        _chart(operation, count, curves)
        for count, operation in places
        if (curves := [pair for pair in found if (pair[0].ranks, pair[0].operation) == (count, operation)])
    )
    version = found[0][1]["library_version"]
    return SimulatedAnalysis(
        verdict_sentences=(
            f"On {machine.name}, {_spread(found, counts[0])}",
            *(chart.heading for chart in charts),
            SIMULATED,
        ),
        study="collective",
        method=(
            f"of MPI’s own calls under SimGrid’s SMPI ({version}), with the rules by which it says that each "
            "library chooses its algorithms; every core is a host of its own there, so algorithms for memory "
            "that ranks share are not among them. Every word of every result was checked"
        ),
        charts=charts,
        rows=tuple(_record(run, point) for run, row in found for point in row["points"]),
        **shared_fields(machine, counts[-1], command, failed),
    )


def _spread(found: Sequence[tuple[SimulatedOperation, Row]], ranks: int) -> str:
    """From the fastest library to the slowest, of the operation that came first."""
    operation = next(run.operation for run, _ in found if run.ranks == ranks)
    simulated = [(run, row) for run, row in found if (run.ranks, run.operation) == (ranks, operation)]
    words = min(
        (point["words"] for point in simulated[0][1]["points"]), key=lambda count: abs(count - _OF_INTEREST)
    )
    times = sorted(
        (point["seconds"], run.selector)
        for run, row in simulated
        for point in row["points"]
        if point["words"] == words
    )
    (least, fast), (most, slow) = times[0], times[-1]
    spread = f"{seconds(least)} ({fast})"
    spread += f" to {seconds(most)} ({slow})" if fast != slow else ""
    return f"{operation} of {words:,} words between {ranks} ranks takes {spread}"


def _places(points: Sequence[OperationTime]) -> str:
    return in_words([int(point["words"]) for point in points], [float(point["seconds"]) for point in points])


def _chart(operation: str, ranks: int, curves: Sequence[tuple[SimulatedOperation, Row]]) -> LineChart:
    alike: dict[str, list[str]] = {}
    for run, row in curves:
        alike.setdefault(_places(row["points"]), []).append(run.selector)
    places = "; ".join(f"{', '.join(selectors)}: {found}" for found, selectors in alike.items())
    return LineChart(
        name=f"{operation}-{ranks}",
        heading=f"{operation} between {ranks} ranks; {places}",
        explanation=(
            "Time until the last rank has the result, all having begun at one moment, against the words of 8 "
            "bytes: of each rank’s data for all_reduce, of the whole result for all_gather. A step: a word "
            "costs a fifth more than just before."
        ),
        x=Axis(field="x", title="words", logarithmic=True),
        y=Axis(field="y", title="time", logarithmic=True, seconds=True),
        records=tuple(_record(run, point) for run, row in curves for point in row["points"]),
    )


def _record(run: SimulatedOperation, point: OperationTime) -> Record:
    return {
        "runtime": run.selector,
        "label": f"{run.label}, {run.ranks} ranks",
        "x": point["words"],
        "y": point["seconds"],
        "seconds": point["seconds"],
    }
