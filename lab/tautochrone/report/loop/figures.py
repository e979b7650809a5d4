"""The figures of the loop study's page: what each chart shows, said before it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tautochrone.report import text
from tautochrone.report.figure import (
    Choice,
    Figure,
    View,
    legend,
    ratio_figure,
    verdict_counts,
    views,
)
from tautochrone.report.loop.analysis_types import ChunkPoint, CpuLoad, LoopAnalysis
from tautochrone.report.loop.datasets import Datasets
from tautochrone.report.palette import RuntimeStyle


def build(analysis: LoopAnalysis, data: Datasets, specifications: Mapping[str, Any]) -> list[Figure]:
    """The figures whose charts have something to draw, in the order of the page."""
    makers: dict[str, Callable[[LoopAnalysis, Datasets], Figure]] = {
        "time": _time,
        "speedup": _speedup,
        "ratio": _ratio,
        "chunk": _chunk,
        "bandwidth": _bandwidth,
        "load": _load,
        "misses": _misses,
    }
    return [make(analysis, data) for name, make in makers.items() if name in specifications]


def _views(data: Datasets, table: str, what: str) -> list[View]:
    return views(data.tables[table], data.situations, what)


def _legend(data: Datasets, table: str, without: Iterable[str] = ()) -> list[RuntimeStyle]:
    return legend(data.tables[table], without)


def _sizes(data: Datasets) -> str:
    first, last = data.sizes[0], data.sizes[-1]
    return f"n = {first}" if first == last else f"n = {first} to {last}"


def _time(analysis: LoopAnalysis, data: Datasets) -> Figure:
    ours = [cell for cell in analysis.cells if cell.tautochrone_seconds is not None]
    ours.sort(key=lambda cell: (sum(cell.emulated.values()), cell.size))
    heading = f"How long one iteration takes, {_sizes(data)}"
    if ours:
        undisturbed = [cell for cell in ours if cell.emulated == ours[0].emulated]
        first, last = undisturbed[0], undisturbed[-1]
        heading = (
            f"One iteration takes tautochrone {text.seconds(first.tautochrone_seconds)} at n = {first.size}"
        )
        if last.size != first.size:
            heading += f" and {text.seconds(last.tautochrone_seconds)} at n = {last.size}"
    return Figure(
        name="time",
        heading=heading,
        explanation=(
            "Lower is better. Each peer is shown with the schedule, chunk and cores that were "
            "fastest for it at that size; tautochrone with no settings. Large marks are medians, "
            "the small dots behind them single runs. Nothing that divides the same work over the "
            "same cores can pass below the dashed line."
        ),
        views=_views(data, "times", "Time of one iteration against matrix size, both axes logarithmic"),
        legend=_legend(data, "times"),
        line_legend=[("dashed", "the bound T*")] if data.tables["bounds"] else [],
    )


def _speedup(analysis: LoopAnalysis, data: Datasets) -> Figure:
    reached = [
        (cell.sequential_seconds / cell.tautochrone_seconds, cell)
        for cell in analysis.cells
        if cell.sequential_seconds and cell.tautochrone_seconds
    ]
    heading = "How much faster than one core, and what is possible"
    if reached:
        speedup, cell = max(reached, key=lambda pair: pair[0])
        bound = f"; the bound there is {text.significant(cell.bound_speedup)}×" if cell.bound_speedup else ""
        heading = f"tautochrone reaches {text.significant(speedup)}× one core at n = {cell.size}{bound}"
    return Figure(
        name="speedup",
        heading=heading,
        explanation=(
            "Higher is better. The dashed line is S = T_seq (T_P + T_E) / (T_P T_E): what fast and "
            "slow cores give together if they never wait for each other, computed from runs on each"
            " kind alone. A point above it means that more cores also brought more cache; where all"
            " runtimes fall below it together, the memory is the limit."
        ),
        views=_views(data, "times", "Speed-up over one fast core against matrix size, with the bound S"),
        legend=_legend(data, "times", without=["serial"]),
        line_legend=[("dashed", "the bound S")] if data.tables["bounds"] else [],
    )


def _ratio(analysis: LoopAnalysis, data: Datasets) -> Figure:
    return ratio_figure(
        data.tables["ratios"],
        _ratio_heading(analysis),
        _views(data, "ratios", "Ratio of tautochrone's time to each peer's time, with intervals"),
    )


def _ratio_heading(analysis: LoopAnalysis) -> str:
    counts = verdict_counts(cell.ratio for cell in analysis.cells)
    if counts.startswith(("faster", "slower")):
        return f"tautochrone is {counts}"
    return f"tautochrone against the best peer: {counts or 'too few rounds for a verdict'}"


def _chunk(analysis: LoopAnalysis, data: Datasets) -> Figure:
    sizes = sorted({point.size for point in analysis.chunk_series})
    schedules = {str(record["schedule"]) for record in data.tables["chunks"]}
    names = {
        "dynamic": ("solid", "dynamic"),
        "guided": ("dashed", "guided"),
        "static_chunk": ("dotted", "static"),
    }
    return Figure(
        name="chunk",
        heading=_chunk_heading(analysis.chunk_series),
        explanation=(
            "A chunk is how many rows a core takes at a time. Small chunks balance well and cost a "
            "trip to the shared counter each; with chunk 1 neighbouring results even share a cache "
            "line. Large chunks leave one core working while the others wait."
        ),
        views=_views(data, "chunks", "Time of one iteration against chunk"),
        legend=_legend(data, "chunks"),
        line_legend=[names[schedule] for schedule in names if schedule in schedules],
        choice=Choice("size", "Matrix size n", [(size, str(size)) for size in sizes], sizes[len(sizes) // 2]),
    )


def _chunk_heading(points: Iterable[ChunkPoint]) -> str:
    """What the first step, from chunk 1 to 2, gains where it gains most; claim H5 speaks of it."""
    curves: dict[tuple[str, str, int, str], dict[int, float]] = {}
    for point in points:
        key = (point.runtime, point.schedule, point.size, repr(dict(point.emulated)))
        curves.setdefault(key, {})[point.chunk] = point.seconds
    gains = [(curve[2] / curve[1], key) for key, curve in curves.items() if 1 in curve and 2 in curve]
    if not gains:
        return "What the chunk costs and gains"
    gain, (runtime, schedule, size, _) = min(gains)
    if gain > 0.99:
        return "Chunk 2 instead of 1 gains less than 1 % here, at every size"
    return f"Chunk 2 instead of 1 saves up to {100 * (1 - gain):.0f} % ({runtime} {schedule}, n = {size})"


def _bandwidth(analysis: LoopAnalysis, data: Datasets) -> Figure:
    largest = [point for point in analysis.bandwidth if point.triad_share and point.size == data.sizes[-1]]
    heading = "How much of the memory's bandwidth the loop uses"
    if largest:
        top = max(largest, key=lambda point: point.bytes_per_second)
        heading = (
            f"At n = {top.size} the loop reads {text.quantity(top.bytes_per_second, 'B/s')}, "
            f"{text.percent(top.triad_share)} of what the triad gets from memory"
        )
    return Figure(
        name="bandwidth",
        heading=heading,
        explanation=(
            "Near the dashed line the memory, not the schedule, sets the time: then more cores do "
            "not help. Above it the matrix comes from a cache, which is faster than memory."
        ),
        views=_views(data, "bandwidth", "Share of the triad's bandwidth against matrix size"),
        legend=_legend(data, "bandwidth"),
        line_legend=[("dashed", "the triad with as many members")],
    )


def _busy_by_cpu(run: CpuLoad) -> dict[int, float]:
    """Mean load of each CPU between the first and the last moment at which any CPU was at work."""
    busy_times = [sample.seconds for sample in run.samples if sample.busy > 0.2]
    if not busy_times:
        return {}
    inside = [sample for sample in run.samples if min(busy_times) <= sample.seconds <= max(busy_times)]
    cpus = {sample.cpu for sample in inside}
    return {
        cpu: sum(one.busy for one in inside if one.cpu == cpu) / sum(1 for one in inside if one.cpu == cpu)
        for cpu in cpus
    }


def _load(analysis: LoopAnalysis, data: Datasets) -> Figure:
    views = []
    idlest: list[tuple[float, int, CpuLoad]] = []
    for index, run in enumerate(data.load_runs):
        place = f"n = {run.size}" + (f", {text.situation(run.emulated)}" if run.emulated else "")
        busy = _busy_by_cpu(run)
        described = ", ".join(f"CPU {cpu} {text.percent(share)} busy" for cpu, share in sorted(busy.items()))
        views.append(
            View(f"{run.configuration}, {place}", {"run": index}, f"Load of each CPU over time. {described}.")
        )
        idlest.extend((share, cpu, run) for cpu, share in busy.items())
    heading = "What each core did over time"
    if idlest:
        share, cpu, run = min(idlest, key=lambda one: one[0])
        heading = f"CPU {cpu} is busy {text.percent(share)} of the time under {run.configuration}"
        if share > 0.9:
            heading = (
                f"No core waits for long: the least busy, CPU {cpu}, works {text.percent(share)} of the time"
            )
    return Figure(
        name="load",
        heading=heading,
        explanation=(
            "One strip a CPU, full where it works and faint where it waits. An even picture means "
            "that all cores finish at the same moment. A runtime that spins while it waits looks "
            "busy too."
        ),
        views=views,
        legend=[],
    )


def _misses(analysis: LoopAnalysis, data: Datasets) -> Figure:
    counters = list(dict.fromkeys(str(record["counter"]) for record in data.tables["misses"]))
    worst = max(data.tables["misses"], key=lambda record: float(str(record["ratio"])))
    return Figure(
        name="misses",
        heading=f"Cache misses reach {worst['ratio_text']} at n = {worst['size']}",
        explanation=(
            "How often a core looked in its cache in vain. As the matrix outgrows the caches the "
            "share rises, and the memory takes over."
        ),
        views=_views(data, "misses", "Cache-miss ratio against matrix size"),
        legend=_legend(data, "misses"),
        choice=Choice("counter", "Counters", [(counter, counter) for counter in counters], counters[0]),
    )
