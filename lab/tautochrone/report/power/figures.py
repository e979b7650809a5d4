"""The figures of the power study's page: what each chart shows, said before it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tautochrone.report import text
from tautochrone.report.figure import Figure, View, legend
from tautochrone.report.power.analysis_types import PowerAnalysis, SharedJob
from tautochrone.report.power.datasets import Datasets


def build(analysis: PowerAnalysis, data: Datasets, specifications: Mapping[str, Any]) -> list[Figure]:
    """The figures whose charts have something to draw, in the order of the page."""
    makers: dict[str, Callable[[PowerAnalysis, Datasets], Figure]] = {
        "speedup": _speedup,
        "cost": _cost,
        "busy": _busy,
        "together": _together,
    }
    return [make(analysis, data) for name, make in makers.items() if name in specifications]


def _view(description: str) -> list[View]:
    return [View("", {"situation": 0}, description)]


def _shared(analysis: PowerAnalysis, way: str) -> list[tuple[float, SharedJob]]:
    """(ratio of costs, the physics shared so), by ratio."""
    return sorted(
        (
            (cell.ratio, one)
            for cell in analysis.jobs
            for one in cell.shared
            if cell.ratio is not None and one.way == way and one.speedup is not None
        ),
        key=lambda each: each[0],
    )


def _speedup(analysis: PowerAnalysis, data: Datasets) -> Figure:
    balanced = [
        (one.speedup, cell.title)
        for cell in analysis.jobs
        for one in cell.shared
        if one.way in ("blocks", "files", "workers", "domain") and one.speedup is not None
    ]
    heading = "What each way to share a job gains"
    if balanced:
        least, title = min(balanced)
        most, _ = max(balanced)
        heading = f"Balanced threads gain from {least:.2f} times ({title}) to {most:.2f} times"
    return Figure(
        name="speedup",
        heading=heading,
        explanation=(
            "Each mark is a way to share a job among all threads (by functions: two), against one thread in "
            "the same rounds. The bar is the interval of the paired median; right of the line at 1 the "
            "threads gain."
        ),
        views=_view("Speed-up over one thread of each way to share each job"),
        legend=legend(data.tables["speedups"]),
    )


def _cost(analysis: PowerAnalysis, data: Datasets) -> Figure:
    functional, domain = _shared(analysis, "functional"), _shared(analysis, "domain")
    heading = "What each split keeps when one function gets dearer"
    if functional and domain:
        (first, before), (last, after) = functional[0], functional[-1]
        heading = (
            f"From cost {first:g}:1 to {last:g}:1 the split by functions falls from {before.speedup:.2f} to "
            f"{after.speedup:.2f} times"
        )
        if (before.speedup or 0.0) <= (after.speedup or 0.0):
            heading = f"The split by functions gains {after.speedup:.2f} times at cost {last:g}:1"
        heading += f"; the split by bodies gains {domain[-1][1].speedup:.2f} times"
    return Figure(
        name="cost",
        heading=heading,
        explanation=(
            "The physics finds contacts and draws; contacts are looked for so often that the first function "
            "costs so many times what the second does, with the same result. Shared by its bodies, each "
            "thread does both functions on half of them. Shared by functions, one thread waits for the other."
        ),
        views=_view("Speed-up of each split of the physics against the ratio of its functions' costs"),
        legend=legend(data.tables["costs"]),
    )


def _busy(analysis: PowerAnalysis, data: Datasets) -> Figure:
    functional = _shared(analysis, "functional")
    heading = "How long each thread works"
    found = [
        (one.imbalance, ratio, one) for ratio, one in functional if one.imbalance is not None and one.busy
    ]
    if found:
        imbalance, ratio, one = max(found, key=lambda each: each[0] or 0.0)
        busiest = max(one.busy, key=lambda thread: thread.seconds)
        heading = (
            f"At cost {ratio:g}:1 the thread that {busiest.does} works {text.seconds(busiest.seconds)} of "
            f"each {text.seconds(one.seconds)}: imbalance {imbalance:.2f}"
        )
    return Figure(
        name="busy",
        heading=heading,
        explanation=(
            "A bar for each thread: its CPU time in the work itself, without waiting. Imbalance is the "
            "busiest thread’s time over the mean; 1 is balance."
        ),
        views=_view("Time that each thread worked, for each split of the physics"),
        legend=legend(data.tables["busy"]),
    )


def _together(analysis: PowerAnalysis, data: Datasets) -> Figure:
    pinned = next((one for one in analysis.setups if one.name == "pinned"), None)
    heading = f"{analysis.pair[:1].upper()}{analysis.pair[1:]} at once"
    if pinned is not None and pinned.to_free.value is not None:
        heading += f": pinned apart against no affinity, {pinned.to_free.verdict}"
    return Figure(
        name="together",
        heading=heading,
        explanation=(
            "Two programs of one thread each, chosen to take the same time alone; the time until both are "
            "over, by that with no affinity in the same rounds. Where both are on one CPU, or one is less "
            "wanted, they are there for contrast."
        ),
        views=_view("Time of two programs at once in each set-up, by that with no affinity"),
        legend=[],
    )
