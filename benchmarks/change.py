"""B8: how many loops it takes to follow a core that becomes slow, and free again, while the program runs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.context import Context
from benchmarks.entry import Entry, not_measured, of_interval, worst
from tautochrone import runners
from tautochrone.configuration import Configuration
from tautochrone.row import Row
from tautochrone.statistics import VERDICT_CONFIDENCE, median_interval

SIZE = 2000
FACTOR = 4
SLOWED_AT, FREED_AT, DURATION = 3.0, 6.0, 10.0
TARGET = 50.0
NEAR = 1.05
MEDIAN_OF = 5  # loops: one that somebody interrupts must not count as a change
ONSET_SECONDS = 0.2  # the thief needs a moment to come and go
ONSET_SHARE = 0.10
_RUN_SECONDS = 12.0


@dataclass(frozen=True)
class Loop:
    """One loop: when it ended on CLOCK_MONOTONIC, and how long it took."""

    end_seconds: float
    seconds: float


def change(context: Context) -> list[Entry]:
    """B8."""
    slowed = f"core {context.cpus[1]} slowed by {FACTOR} at 3 s, freed at 6 s"
    what = f"{slowed}, n = {SIZE}: loops to the new optimum"
    budget = context.budget()
    rounds = max(1, int(budget.left / _RUN_SECONDS))
    counts: dict[str, list[float]] = {"slowed": [], "freed": []}
    with tempfile.TemporaryDirectory(prefix="tauto-bench-") as folder, context.bench("B8") as bench:
        trace, report = Path(folder, "loops.json"), Path(folder, "emulation.json")

        def collect(row: Row) -> None:
            if row["error"] is not None:
                return
            start = float(json.loads(report.read_text())["command_started_monotonic_seconds"])
            loops = [Loop(*pair) for pair in json.loads(trace.read_text())]
            for name, at, until in (("slowed", SLOWED_AT, FREED_AT), ("freed", FREED_AT, DURATION)):
                found = loops_to_optimum(loops, start + at, start + until)
                if found is not None:
                    counts[name].append(float(found))
                if context.verbose:
                    context.say(f"  {name}: {found} loops")

        bench.run([_configuration(context, trace, report)], rounds, budget.left, on_row=collect)
        errors = "; ".join(bench.errors())
    cells = []
    for name, many in counts.items():
        if not many:
            why = errors or "no change was seen in the trace"
            cells.append(
                not_measured(f"B8/{name}", f"loops after core was {name}", "", TARGET, why, unit="loops")
            )
            continue
        found = median_interval(many, confidence=VERDICT_CONFIDENCE)
        note = f"{min(many):.0f} … {max(many):.0f} in {len(many)} runs"
        what_cell = f"loops until within 5 % of the optimum after the core was {name}"
        cells.append(
            of_interval(f"B8/{name}", what_cell, "steady state", found, TARGET, "loops", cell=name, note=note)
        )
    cells = [context.add(cell) for cell in cells]
    return [context.add(worst("B8", what, cells, TARGET)), *cells]


def _configuration(context: Context, trace: Path, report: Path) -> Configuration:
    cpus = ",".join(map(str, context.cpus))
    runner = [str(runners.find("tauto-loop-tautochrone")), "--size", str(SIZE), "--cpus", cpus]
    runner += ["--duration", f"{DURATION:g}", "--trace-loops", str(trace)]
    window = f"{context.cpus[1]}:{FACTOR}@{SLOWED_AT:g}-{FREED_AT:g}"
    command = [str(runners.find("tauto-emulate")), "--slow", window, "--report", str(report), "--", *runner]
    settings = {"runtime": "tautochrone", "size": SIZE, "window": window}
    return Configuration(f"adaptive, n = {SIZE}, {window}", command, {}, settings, "change")


def loops_to_optimum(loops: Sequence[Loop], changed: float, until: float) -> int | None:
    """Loops from the first one that felt the change at `changed` to the first of those near the new optimum.

    The new optimum is the median loop of the second half of the time from `changed` to `until`; near is
    within 5 %, of the median of five loops. The change is felt when the median of three loops leaves the old
    median by 10 %, sought in the 0.2 s after `changed`. None where nobody felt it, or nothing came near
    again.
    """
    before = [loop.seconds for loop in loops if changed - 1.0 <= loop.end_seconds < changed]
    half = 0.5 * (changed + until)
    settled = [loop.seconds for loop in loops if half <= loop.end_seconds < until]
    if not before or not settled:
        return None
    old, optimum = median(before), median(settled)
    after = [loop for loop in loops if changed <= loop.end_seconds < until]
    onset = next(
        (
            place
            for place in range(len(after) - 2)
            if after[place].end_seconds <= changed + ONSET_SECONDS
            and abs(median(one.seconds for one in after[place : place + 3]) / old - 1) > ONSET_SHARE
        ),
        None,
    )
    if onset is None:
        return None
    for place in range(onset, len(after) - MEDIAN_OF + 1):
        now = median(one.seconds for one in after[place : place + MEDIAN_OF])
        if optimum / NEAR <= now <= optimum * NEAR:
            return place - onset
    return None
