"""The figures of the map/reduce study's page: what each chart shows, said before it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tautochrone.report import text
from tautochrone.report.figure import (
    Choice,
    Figure,
    View,
    caption,
    legend,
    ratio_figure,
    verdict_counts,
    views,
)
from tautochrone.report.mapreduce.analysis_types import MapReduceAnalysis
from tautochrone.report.mapreduce.datasets import Datasets
from tautochrone.report.palette import styles


def build(analysis: MapReduceAnalysis, data: Datasets, specifications: Mapping[str, Any]) -> list[Figure]:
    """The figures whose charts have something to draw, in the order of the page."""
    makers: dict[str, Callable[[MapReduceAnalysis, Datasets], Figure]] = {
        "pays": _pays,
        "speedup": _speedup,
        "ratio": _ratio,
        "waiting": _waiting,
        "busy": _busy,
        "switches": _switches,
    }
    return [make(analysis, data) for name, make in makers.items() if name in specifications]


def _name(runtime: str) -> str:
    return styles([runtime])[0].name


def _first_series(analysis: MapReduceAnalysis, data: Datasets, field: str) -> list[tuple[float, float, str]]:
    """(task length, value, runtime) of the series that is shown first, on the machine as it is."""
    key = data.series[0].key
    found = []
    for record in data.tables["lengths"]:
        if record["series"] == key and record["situation"] == 0 and record[field] is not None:
            values = float(str(record["length"])), float(str(record[field]))
            found.append((*values, str(record["runtime"])))
    return found


def _length_figure(
    data: Datasets, name: str, heading: str, explanation: str, what: str, lines: list[tuple[str, str]]
) -> Figure:
    """A figure against the task length, in which the reader chooses how many tasks on how many threads."""
    options: list[tuple[object, str]] = [(one.key, one.label) for one in data.series]
    return Figure(
        name=name,
        heading=heading,
        explanation=explanation,
        views=views(data.tables["lengths"], data.situations, f"{what} against the length of a task"),
        legend=legend(data.tables["lengths"]),
        line_legend=lines,
        choice=Choice("series", "Show", options, options[0][0]),
    )


def _pays(analysis: MapReduceAnalysis, data: Datasets) -> Figure:
    reached = _first_series(analysis, data, "share")
    heading = "How much of the ideal speed-up each library reaches"
    if reached:
        shortest = min(length for length, _, _ in reached)
        share, runtime = max((value, name) for length, value, name in reached if length == shortest)
        low, slowest = min((value, name) for length, value, name in reached if length == shortest)
        heading = (
            f"On tasks of {text.seconds(shortest)}, {_name(runtime)} reaches {text.percent(share)} of the "
            f"ideal speed-up, {_name(slowest)} {text.percent(low)}"
        )
    limit = text.percent(analysis.share_that_pays)
    return _length_figure(
        data,
        "pays",
        heading,
        "The shorter the tasks, the more of the time goes into handing them out. The ideal is what whole "
        "tasks on these CPUs allow. Each library is shown as one gets it with no settings; above the dashed "
        "line it is said to pay.",
        "Share of the ideal speed-up",
        [("dashed", f"{limit} of the ideal: here sharing pays")],
    )


def _speedup(analysis: MapReduceAnalysis, data: Datasets) -> Figure:
    shown: list[View] = []
    for index, emulated in enumerate(data.situations):
        present = {one["workload"] for one in data.tables["speedups"] if one["situation"] == index}
        for number, name in enumerate(data.workloads):
            if number in present:
                place = caption(data.situations, index)
                where = f"Speed-up against threads, {name}. {text.situation(emulated)}."
                words = f"{name} · {place}" if place else name
                shown.append(View(words, {"situation": index, "workload": number}, where))
    ours = [
        (one.speedup, one.threads, cell)
        for cell in analysis.cells
        for one in cell.configurations
        if one.runtime == "tautochrone" and one.is_default and one.speedup is not None
    ]
    heading = "Speed-up against threads"
    if ours:
        best, threads, cell = max(ours, key=lambda one: one[0])
        heading = (
            f"tautochrone reaches {text.significant(best)}× the serial loop on "
            f"{text.count(threads, 'thread')} ({cell.name})"
        )
    return Figure(
        name="speedup",
        heading=heading,
        explanation=(
            "The published chart, measured here: one panel for each kind of tasks. Tasks are not divided, "
            "so on equal cores no speed-up passes tasks / ceil(tasks / threads): the dashed line, with its "
            "steps. "
            f"There are {text.count(data.cpus, 'CPU')}; more threads than that share them and cannot gain."
        ),
        views=shown,
        legend=legend(data.tables["speedups"]),
        line_legend=[("dashed", "the law tasks / ceil(tasks / threads)")],
    )


def _ratio(analysis: MapReduceAnalysis, data: Datasets) -> Figure:
    best = [one.ratio for cell in analysis.cells for one in cell.peer_ratios if one.role == "best"]
    counts = verdict_counts(best)
    heading = f"tautochrone against each peer: {counts or 'too few rounds for a verdict'}"
    if counts.startswith(("faster", "slower")):
        heading = f"tautochrone is {counts}".replace("the best peer", "a peer at its best")
    what = "Ratio of tautochrone's time to each peer's time with all CPUs, with intervals"
    return ratio_figure(data.tables["ratios"], heading, views(data.tables["ratios"], data.situations, what))


def _waiting(analysis: MapReduceAnalysis, data: Datasets) -> Figure:
    found = _first_series(analysis, data, "waiting")
    heading = "How much of the threads' time is spent waiting"
    if found:
        shortest = min(length for length, _, _ in found)
        most, worst = max((value, name) for length, value, name in found if length == shortest)
        least, best = min((value, name) for length, value, name in found if length == shortest)
        heading = (
            f"On tasks of {text.seconds(shortest)} the threads of {_name(worst)} wait {text.percent(most)} "
            f"of their time, those of {_name(best)} {text.percent(least)}"
        )
    return _length_figure(
        data,
        "waiting",
        heading,
        "All that is not spent inside a task: taking tasks, locks, waking up, waiting for the last one, "
        "reducing. A share that the law itself demands (a last task alone on one core) is in it too. "
        "Measured in repetitions of their own, by reading a clock at each task's begin and end.",
        "Share of time spent waiting",
        [],
    )


def _busy(analysis: MapReduceAnalysis, data: Datasets) -> Figure:
    return _length_figure(
        data,
        "busy",
        "How busy the CPUs are: low is idle, high is working or spinning",
        "CPU time of the process by the time that its CPUs had. Waiting asleep lowers it, and on a laptop or "
        "server the clock frequency with it; waiting in a spin keeps it high without doing work. Compare it "
        "with the chart above.",
        "Load of the CPUs",
        [],
    )


def _switches(analysis: MapReduceAnalysis, data: Datasets) -> Figure:
    return _length_figure(
        data,
        "switches",
        "How often threads go to sleep, and how often they are put aside",
        "Context switches of the whole process in one repetition. A voluntary one is a thread that waits "
        "asleep, such as for a lock; an involuntary one is a thread that another one displaced.",
        "Context switches",
        [("solid", "voluntary"), ("dotted", "involuntary")],
    )
