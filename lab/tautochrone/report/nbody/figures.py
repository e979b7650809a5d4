"""The figures of the nbody study's page: what each chart shows, said before it is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tautochrone.report import text
from tautochrone.report.figure import Choice, Figure, View, legend
from tautochrone.report.nbody.analysis_types import NbodyAnalysis
from tautochrone.report.nbody.datasets import VIEWS, Datasets
from tautochrone.report.palette import styles
from tautochrone.report.tables import Record

_VIEW_NAMES = {
    "ordinary": "each engine as one would begin",
    "targets": "sharing the targets (i)",
    "sources": "sharing the sources (j)",
    "both": "sharing both (grid)",
    "chosen": "the cheapest for each block (auto)",
    "loops": "parallel loops over the sources",
}


def build(analysis: NbodyAnalysis, data: Datasets, specifications: Mapping[str, Any]) -> list[Figure]:
    """The figures whose charts have something to draw, in the order of the page."""
    makers = {
        "blocks": _blocks,
        "sharing": _sharing,
        "schemes": _schemes,
        "speedup": _speed_up,
        "forecast": _forecast,
        "counts": _counts,
        "accuracy": _accuracy,
    }
    return [make(analysis, data) for name, make in makers.items() if name in specifications]


def _name(runtime: str) -> str:
    return styles([runtime])[0].name


def _views(data: Datasets, table: str, what: str) -> list[View]:
    """One for each number of particles that the table has something of."""
    there = {record["particles"] for record in data.tables[table]}
    return [
        View(f"{count:,} particles", {"situation": 0, "particles": count}, f"{what}, {count:,} particles.")
        for count in data.particles
        if count in there
    ]


def _view_choice(records: list[Record]) -> Choice:
    options: list[tuple[object, str]] = [
        (view, _VIEW_NAMES[view])
        for view in VIEWS
        if any(record["view"] == view and record["runtime"] != "serial" for record in records)
    ]
    options = options or [(VIEWS[0], _VIEW_NAMES[VIEWS[0]])]
    return Choice("view", "Show", options, options[0][0])


def _blocks(analysis: NbodyAnalysis, data: Datasets) -> Figure:
    records = data.tables["blocks"]
    ours = [one for one in records if one["runtime"] == "tautochrone" and one["view"] == "ordinary"]
    heading = "Time of a block by how many particles move in it"
    if ours:
        few = min(ours, key=lambda one: float(str(one["seconds"])))
        heading = (
            f"The shortest block with tautochrone takes {few['time']}: {float(str(few['active'])):.0f} of "
            f"{few['particles']:,} particles move in it"
        )
    return Figure(
        name="blocks",
        heading=heading,
        explanation=(
            "A point is the median block of its class of active counts, from power of two to power of two; "
            "the bar is its interval over the rounds. The broad lines are what the model expected before "
            "the run; of OpenMP, what the constants of one core and the forks or barriers of its smallest "
            "blocks give. As one would begin: parallel loops in OpenMP, sharing the targets in MPI, "
            "tautochrone left to choose. Where all share the same: OpenMP in one region."
        ),
        views=_views(data, "blocks", "Time of a block against the number of active particles"),
        legend=legend(records),
        line_legend=[("broad", "expected by the model")],
        choice=_view_choice(records),
    )


def _sharing(analysis: NbodyAnalysis, data: Datasets) -> Figure:
    records = [one for one in data.tables["blocks"] if one["runtime"] != "serial"]
    loops = [one for one in records if one["view"] == "ordinary" and one["runtime"] in ("libgomp", "libomp")]
    heading = "The share of a block in which nobody computes"
    if loops:
        few = min(loops, key=lambda one: float(str(one["active"])))
        share = few["share_text"]
        heading = f"Parallel loops spend {share} of the shortest blocks in starting, joining and waiting"
    return Figure(
        name="sharing",
        heading=heading,
        explanation=(
            "OpenMP: in loops the time of a block less the longest useful part of each stage, in one region "
            "the time in barriers. Members: the time in the one collective of the block, waiting for the "
            "others included."
        ),
        views=_views(data, "blocks", "Share of a block that is not computing"),
        legend=legend(records),
        choice=_view_choice(records),
    )


def _schemes(analysis: NbodyAnalysis, data: Datasets) -> Figure:
    crossings = [one for one in analysis.crossings if one.runtime == "tautochrone" and one.active]
    heading = "Sharing the targets against sharing the sources"
    if crossings:
        one = crossings[-1]
        heading = (
            f"With {one.particles:,} particles sharing the targets wins from about {one.active:.0f} active, "
            "between threads"
        )
    return Figure(
        name="schemes",
        heading=heading,
        explanation=(
            "The time of the scheme that shares the targets by that of the one that shares the sources, in "
            "the same engine: below the line at 1 sharing the targets is faster. A dashed line stands where "
            "it becomes so, the median over the rounds; the bar below is its interval."
        ),
        views=_views(data, "schemes", "Sharing the targets by sharing the sources against the active count"),
        legend=legend(data.tables["schemes"]),
        line_legend=[("solid", "equal times")],
    )


def _speed_up(analysis: NbodyAnalysis, data: Datasets) -> Figure:
    records = data.tables["speeds"]
    best = max(records, key=lambda one: float(str(one["speed_up"])))
    heading = (
        f"The most is {float(str(best['speed_up'])):.2f} times one core: {_name(str(best['runtime']))} with "
        f"{best['particles']:,} particles"
    )
    return Figure(
        name="speedup",
        heading=heading,
        explanation=(
            f"The mean block of one core by that of {text.count(analysis.members, 'member')} of each engine, "
            "in whichever of its ways is the fastest for that number of particles, paired within the rounds. "
            "The tooltip has the energy error of the run."
        ),
        views=[View("", {"situation": 0}, "Speed-up over one core against the number of particles.")],
        legend=legend(records),
        line_legend=[("solid", "one core")],
    )


def _forecast(analysis: NbodyAnalysis, data: Datasets) -> Figure:
    sixteen = [one for one in analysis.forecasts if one.members == 16]
    heading = "What more cores would give"
    if sixteen:
        low, high = (pick(one.speed_up for one in sixteen) for pick in (min, max))
        heading = f"Sixteen such cores would give {low:.1f} to {high:.1f} times one core, says the model"
    return Figure(
        name="forecast",
        heading=heading,
        explanation=(
            "A line for each number of particles, the largest the strongest; rings are measured here. The "
            "model has the constants of the run: a pair, a prediction, a correction, and the two collectives "
            "against their length. Assumed of more members: a collective’s latency grows with log2 p and its "
            "transfer with (p − 1)/p, and cores side by side are as fast as two of them are here."
        ),
        views=[View("", {"situation": 0}, "Expected speed-up against the number of cores.")],
        legend=[],
        line_legend=[("dashed", "as many times as there are cores")],
    )


def _counts(analysis: NbodyAnalysis, data: Datasets) -> Figure:
    largest = max(data.particles)
    here = [one for one in analysis.counts if one.particles == largest]
    heading = "How many particles move in a block"
    if here:
        often = max(here, key=lambda one: one.share_of_blocks)
        costly = max(here, key=lambda one: one.share_of_time)
        heading = (
            f"Of {largest:,} particles mostly about {often.active:.0f} move in a block; blocks of about "
            f"{costly.active:.0f} take the most time"
        )
    return Figure(
        name="counts",
        heading=heading,
        explanation="On one core, by classes of the active count from power of two to power of two.",
        views=_views(data, "counts", "Share of blocks and of time against the active count"),
        legend=[],
        line_legend=[("solid", "of the time"), ("dashed", "of the blocks")],
    )


def _accuracy(analysis: NbodyAnalysis, data: Datasets) -> Figure:
    return Figure(
        name="accuracy",
        heading="How right each of them is",
        explanation=(
            "The relative change of the total energy over the run against the time for a unit of time: left "
            "is fast, low is right. Large marks are of the 6th order. Engines of one scheme end with the "
            "same bits, so they differ in their time alone."
        ),
        views=_views(data, "accuracy", "Energy error against the time for a unit of time"),
        legend=legend(data.tables["accuracy"]),
    )
