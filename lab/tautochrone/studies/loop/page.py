"""The page of the loop study: its scoreboard, its charts, and the table of all configurations."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import altair as alt

from tautochrone import text
from tautochrone.report import spent
from tautochrone.report.charts import (
    Chart,
    machine_filter,
    page_parts,
    ratio_chart,
    ratio_records,
    table_row,
    timed,
    verdict_counts,
)
from tautochrone.report.drawing import (
    DASHED,
    INK,
    PERCENT_LABEL,
    TIME_LABEL,
    TIMES_LABEL,
    Layers,
    axis_from_zero,
    color,
    distinct,
    interval,
    layered,
    line_with_points,
    log_axis,
    marks,
    numbers,
    padded,
    shown,
    tips,
)
from tautochrone.report.palette import RuntimeStyle, runtime_key
from tautochrone.report.parts import LAST_COLUMNS, Choice, Column, Filter, Parts, Record
from tautochrone.results.runs import OURS
from tautochrone.results.states import state_title, states_of
from tautochrone.studies.loop.findings import (
    Cell,
    ChunkPoint,
    ConfigurationTime,
    LoopAnalysis,
    MissRatio,
    Placed,
)
from tautochrone.studies.loop.load_page import load_charts

_POINTS_A_SERIES = 24
_FAR_ABOVE_MEMORY = 2.0  # times the triad: caches, beside which shares below 1 would be one flat line
_COLUMNS: tuple[Column, ...] = (
    ("size", "n", "number"),
    ("situation", "machine", "situation"),
    ("runtime", "runtime", "runtime"),
    ("schedule", "schedule", "text"),
    ("chunk", "chunk", "number"),
    ("placement", "placement", "text"),
    ("cores", "cores", "text"),
    ("wait", "wait", "text"),
    ("waiting_share", "waiting", "percent"),
    ("seconds", "median", "time"),
    ("low", "interval", "interval"),
    ("relative", "× best", "relative"),
)

_TIPS = ("configuration:N configuration", "size:Q,d size")


class _Grid(NamedTuple):
    """The cells of the study: every size in every state of the machine."""

    situations: list[dict[str, float]]
    sizes: list[int]

    def place(self, measured: Cell | Placed) -> Record:
        return {"situation": self.situations.index(dict(measured.emulated)), "size": measured.size}

    def axis(self) -> alt.X:
        return alt.X(
            "size:Q",
            scale=alt.Scale(type="log", domain=padded(self.sizes, 1.18), nice=False),
            axis=alt.Axis(title="matrix size n (rows = columns)", values=self.sizes, format="d", grid=False),
        )


def parts(analysis: LoopAnalysis) -> Parts:
    grid = _Grid(states_of(analysis.cells), sorted({cell.size for cell in analysis.cells}))
    records = _configurations(analysis, grid)
    sizes = [(size, str(size)) for size in grid.sizes]
    return page_parts(
        "loop.html.j2",
        _charts(analysis, grid),
        situations=grid.situations,
        configurations=records,
        columns=(*_COLUMNS, *spent.columns(records), *LAST_COLUMNS),
        # one cell at first: times of different sizes in one list say nothing
        filters=[
            Filter("size", "Size", sizes, max(grid.sizes, default="")),
            machine_filter(grid.situations, len(grid.situations) - 1 if grid.situations else ""),
        ],
        scoreboard=_scoreboard(analysis, grid),
        counts=_counts(analysis),
        sizes=grid.sizes,
    )


def _charts(analysis: LoopAnalysis, grid: _Grid) -> Iterator[Chart]:
    times: list[Record] = []
    points: list[Record] = []
    bounds: list[Record] = []
    ratios: list[Record] = []
    for cell in sorted(analysis.cells, key=lambda cell: cell.size):
        place = grid.place(cell)
        for key, configuration in best_of_runtime(cell).items():
            times.append(place | _time_record(key, configuration, cell))
            points += [place | point for point in _point_records(key, configuration, cell)]
        if cell.bound_seconds is not None:
            bounds.append(place | _bound_record(cell))
        ratios += ratio_records(cell.peer_ratios, place)
    beside = {"points": points, "bounds": bounds}
    yield _time(analysis, grid, times, beside)
    if numbers(times, "speedup"):
        yield _speedup(analysis, grid, times, beside)
    counts = _counts(analysis)
    heading = f"tautochrone against the best peer: {counts or 'too few rounds for a verdict'}"
    if counts.startswith(("faster", "slower")):
        heading = f"tautochrone is {counts}"
    yield ratio_chart(
        ratios,
        "size",
        "matrix size n",
        grid.sizes,
        heading=heading,
        shows="Ratio of tautochrone's time to each peer's time, with intervals",
    )
    if analysis.chunk_series:
        yield _chunk(analysis, grid)
    yield _bandwidth(analysis, grid)
    yield from load_charts(analysis.cpu_load)
    yield from _misses(analysis.miss_ratios or (), grid)


def best_of_runtime(cell: Cell) -> dict[str, ConfigurationTime]:
    """The configuration that stands for each runtime in a cell: a peer's fastest, our default.

    Peers are shown at their best; ours is shown as one gets it with no settings.
    """
    chosen: dict[str, ConfigurationTime] = {}
    for candidate in cell.configurations:
        if candidate.seconds is None:
            continue
        key = runtime_key(candidate.runtime, candidate.library)
        present = chosen.get(key)
        if present is None or _preference(key, candidate) < _preference(key, present):
            chosen[key] = candidate
    return chosen


def _preference(key: str, candidate: ConfigurationTime) -> tuple[bool, bool, float]:
    ours_by_default = key == OURS and candidate.is_default
    # a screened configuration has few rounds, which were also used to choose: finalists come first
    return (not ours_by_default, not candidate.is_finalist, candidate.seconds or math.inf)


def _time_record(key: str, configuration: ConfigurationTime, cell: Cell) -> Record:
    seconds, low, high = configuration.seconds, configuration.low, configuration.high
    record: Record = {
        "runtime": key,
        "configuration": configuration.label,
        "rounds": configuration.rounds,
        **timed(configuration),
    }
    sequential = cell.sequential_seconds
    if sequential and seconds:
        record["speedup"] = sequential / seconds
        # the slower end of the time is the lower end of the speed-up
        record["speedup_low"] = sequential / high if high else None
        record["speedup_high"] = sequential / low if low else None
        record["speedup_text"] = f"{text.significant(sequential / seconds)}×"
    return record


def _point_records(key: str, configuration: ConfigurationTime, cell: Cell) -> Iterator[Record]:
    step = max(1, math.ceil(len(configuration.points) / _POINTS_A_SERIES))
    for seconds in configuration.points[::step]:
        speedup = cell.sequential_seconds / seconds if cell.sequential_seconds else None
        yield {"runtime": key, "seconds": seconds, "speedup": speedup}


def _bound_record(cell: Cell) -> Record:
    speedup = cell.bound_speedup
    return {
        "seconds": cell.bound_seconds,
        "speedup": speedup,
        "time": text.seconds(cell.bound_seconds),
        "speedup_text": f"{text.significant(speedup)}×" if speedup else text.UNKNOWN,
        "fast": text.seconds(cell.fast_seconds),
        "slow": text.seconds(cell.slow_seconds),
    }


# -- how long one iteration takes --


def _time(
    analysis: LoopAnalysis, grid: _Grid, times: Sequence[Record], beside: Mapping[str, Sequence[Record]]
) -> Chart:
    bounds = beside["bounds"]

    def draw(look: list[RuntimeStyle]) -> Layers:
        every = numbers(times, "seconds", "low", "high") + numbers([*bounds, *beside["points"]], "seconds")
        x, y = grid.axis(), log_axis(alt.Y, "seconds", every, "time of one iteration", padding=1.3)
        drawn = shown("times")
        tooltip = tips(*_TIPS, "time:N median", "interval:N interval", "rounds:Q rounds")
        return layered(
            _bound(x, y, "time:N the bound T*"),
            _single_runs(look, x, y),
            interval(drawn, look, x, y),
            *line_with_points(drawn, look, x, y, tooltip),
            height=330,
        )

    return Chart(
        name="time",
        table="times",
        records=times,
        beside=beside,
        draw=draw,
        heading=_time_heading(analysis, grid.sizes),
        explanation=(
            "Lower is better. Each peer is shown with the schedule, chunk and cores that were "
            "fastest for it at that size; tautochrone with no settings. Large marks are medians, "
            "the small dots behind them single runs. The dashed line is the least that all cores "
            "together need at the speeds they have apart. Together they also have more cache: where "
            "the matrix fits only then, points can lie below it."
        ),
        shows="Time of one iteration against matrix size, both axes logarithmic",
        line_legend=[("dashed", "the bound T*")] if bounds else [],
    )


def _time_heading(analysis: LoopAnalysis, sizes: Sequence[int]) -> str:
    ours = [cell for cell in analysis.cells if cell.tautochrone_seconds is not None]
    ours.sort(key=lambda cell: (sum(cell.emulated.values()), cell.size))
    if not ours:
        span = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
        return f"How long one iteration takes, {span}"
    in_one_state = [cell for cell in ours if cell.emulated == ours[0].emulated]
    first, last = in_one_state[0], in_one_state[-1]
    heading = f"One iteration takes tautochrone {text.seconds(first.tautochrone_seconds)} at n = {first.size}"
    if last.size != first.size:
        heading += f" and {text.seconds(last.tautochrone_seconds)} at n = {last.size}"
    return heading


def _bound(x: alt.X, y: alt.Y, tip: str) -> alt.Chart:
    point = alt.OverlayMarkDef(shape="stroke", size=120, color=INK)
    tooltip = tips("size:Q,d size", tip, "fast:N fast cores alone", "slow:N slow cores alone")
    bound: alt.Chart = shown("bounds").mark_line(point=point, **DASHED).encode(x=x, y=y, tooltip=tooltip)
    return bound


def _single_runs(look: list[RuntimeStyle], x: alt.X, y: alt.Y) -> alt.Chart:
    dots: alt.Chart = shown("points").mark_circle(size=14, opacity=0.35).encode(x=x, y=y, color=color(look))
    return dots


# -- how much faster that is than one core --


def _speedup(
    analysis: LoopAnalysis, grid: _Grid, times: Sequence[Record], beside: Mapping[str, Sequence[Record]]
) -> Chart:
    bounds = beside["bounds"]
    reached = [
        (cell.sequential_seconds / cell.tautochrone_seconds, cell)
        for cell in analysis.cells
        if cell.sequential_seconds and cell.tautochrone_seconds
    ]
    heading = "How much faster than one core, and what is possible"
    if reached:
        speedup, cell = max(reached, key=lambda pair: pair[0])
        bound = ""
        if cell.bound_speedup:
            alone = f"{text.significant(cell.bound_speedup)}×"
            passed = ", passed by more cache" if speedup > cell.bound_speedup else ""
            bound = f"; what the cores give alone, added up, is {alone}{passed}"
        heading = f"tautochrone reaches {text.significant(speedup)}× one core at n = {cell.size}{bound}"

    def draw(look: list[RuntimeStyle]) -> Layers:
        every = numbers(times, "speedup", "speedup_high") + numbers(bounds, "speedup")
        x = grid.axis()
        y = axis_from_zero(
            alt.Y, "speedup", every, "speed-up over one fast core", labelExpr=TIMES_LABEL, tickCount=6
        )
        parallel = "isValid(datum.speedup) && datum.runtime !== 'serial'"
        drawn = shown("times").transform_filter(parallel)
        tooltip = tips(*_TIPS, "speedup_text:N speed-up", "time:N median time", "interval:N interval")
        return layered(
            _bound(x, y, "speedup_text:N bound S").transform_filter("isValid(datum.speedup)"),
            _single_runs(look, x, y).transform_filter(parallel),
            interval(drawn, look, x, y, "speedup_low", "speedup_high"),
            *line_with_points(drawn, look, x, y, tooltip),
            height=330,
        )

    return Chart(
        name="speedup",
        table="times",
        records=times,
        beside=beside,
        draw=draw,
        heading=heading,
        explanation=(
            "Higher is better. The dashed line is S = T_seq (T_P + T_E) / (T_P T_E): what fast and "
            "slow cores give together if they never wait for each other, computed from runs on each"
            " kind alone. A point above it means that more cores also brought more cache; where all"
            " runtimes fall below it together, the memory is the limit."
        ),
        shows="Speed-up over one fast core against matrix size, with the bound S",
        without=["serial"],
        line_legend=[("dashed", "the bound S")] if bounds else [],
    )


def _counts(analysis: LoopAnalysis) -> str:
    """Of ours against the best peer."""
    return verdict_counts(cell.ratio for cell in analysis.cells)


# -- what the chunk costs and gains --

_LINE_OF_SCHEDULE = {
    "dynamic": ([1, 0], ("solid", "dynamic")),
    "guided": ([6, 3], ("dashed", "guided")),
    "static_chunk": ([2, 3], ("dotted", "static")),
}
_OTHER_DASH = [8, 3, 2, 3]


def _chunk(analysis: LoopAnalysis, grid: _Grid) -> Chart:
    records: list[Record] = [
        {
            **grid.place(point),
            "runtime": runtime_key(point.runtime),
            "schedule": point.schedule,
            "chunk": point.chunk,
            **timed(point),
        }
        for point in sorted(analysis.chunk_series, key=lambda point: point.chunk)
    ]
    sizes = sorted({point.size for point in analysis.chunk_series})
    schedules = sorted({point.schedule for point in analysis.chunk_series})
    first = sizes[len(sizes) // 2]

    def draw(look: list[RuntimeStyle]) -> Layers:
        chunks = sorted(set(numbers(records, "chunk")))
        x = alt.X(
            "chunk:Q",
            scale=alt.Scale(type="log", base=2, domain=padded(chunks, 1.25), nice=False),
            axis=alt.Axis(title="chunk (rows handed out at a time)", values=chunks, format="d", grid=False),
        )
        y = alt.Y(
            "seconds:Q",
            scale=alt.Scale(type="log", nice=False, **_times_of_size(records)),
            axis=alt.Axis(title="time of one iteration", tickCount=5, labelExpr=TIME_LABEL),
        )
        dashes = [_LINE_OF_SCHEDULE.get(schedule, (_OTHER_DASH, ()))[0] for schedule in schedules]
        dash = alt.StrokeDash("schedule:N", scale=alt.Scale(domain=schedules, range=dashes), legend=None)
        about = ("runtime:N runtime", "schedule:N schedule", "chunk:Q,d chunk")
        drawn = shown("chunks").transform_filter("datum.size === size")
        return layered(
            interval(drawn, look, x, y),
            drawn.mark_line(strokeWidth=1.8).encode(
                x=x, y=y, color=color(look), strokeDash=dash, detail=["runtime:N", "schedule:N"]
            ),
            marks(drawn, look, 64, x=x, y=y, tooltip=tips(*about, "time:N median", "interval:N interval")),
            height=290,
            size=first,
        )

    return Chart(
        name="chunk",
        table="chunks",
        records=records,
        draw=draw,
        heading=_chunk_heading(analysis.chunk_series),
        explanation=(
            "A chunk is how many rows a core takes at a time. Small chunks balance well and cost a "
            "trip to the shared counter each; with chunk 1 neighbouring results even share a cache "
            "line. Large chunks leave one core working while the others wait."
        ),
        shows="Time of one iteration against chunk",
        line_legend=[*_known_lines(schedules), *_other_lines(schedules)],
        choice=Choice("size", "Matrix size n", [(size, str(size)) for size in sizes], first),
    )


def _known_lines(schedules: Sequence[str]) -> list[tuple[str, str]]:
    return [line for schedule, (_, line) in _LINE_OF_SCHEDULE.items() if schedule in schedules]


def _other_lines(schedules: Sequence[str]) -> list[tuple[str, str]]:
    """All others have one kind of line."""
    others = [schedule for schedule in schedules if schedule not in _LINE_OF_SCHEDULE]
    return [("dash-dotted", ", ".join(others))] if others else []


def _times_of_size(records: Sequence[Record]) -> dict[str, alt.ExprRef]:
    """The ends of the axis at the size that the reader picks: the same for all states of the machine."""
    by_size: dict[str, list[float]] = {}
    for record in records:
        by_size.setdefault(str(record["size"]), []).extend(numbers([record], "seconds", "low", "high"))
    ends = {size: padded(times, 1.1) for size, times in by_size.items()}
    found = {}
    for place, name in enumerate(("domainMin", "domainMax")):
        of_size = json.dumps({size: pair[place] for size, pair in ends.items()})
        found[name] = alt.ExprRef(f"({of_size})[size]")
    return found


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


# -- how much of the memory's bandwidth the loop uses --


def _bandwidth(analysis: LoopAnalysis, grid: _Grid) -> Chart:
    """The fastest configuration of each runtime at each size: one line a runtime."""
    known = [point for point in analysis.bandwidth if point.triad_share is not None]
    known.sort(key=lambda point: -point.bytes_per_second)
    best: dict[tuple[object, ...], Record] = {}
    for point in known:
        place = {**grid.place(point), "runtime": runtime_key(point.runtime)}
        best.setdefault(
            tuple(place.values()),
            {
                **place,
                "configuration": point.configuration,
                "share": point.triad_share,
                "rate": point.bytes_per_second,
                "rate_text": text.quantity(point.bytes_per_second, "B/s"),
                "share_text": text.percent(point.triad_share),
                "members": point.members,
            },
        )
    records = _by_size(best.values())
    top = next((point for point in known if point.triad_share and point.size == grid.sizes[-1]), None)
    heading = "How much of the memory's bandwidth the loop uses"
    if top is not None:
        heading = (
            f"At n = {top.size} the loop reads {text.quantity(top.bytes_per_second, 'B/s')}, "
            f"{text.percent(top.triad_share)} of what the triad gets from memory"
        )

    def draw(look: list[RuntimeStyle]) -> Layers:
        title, shares = "share of the triad's bandwidth", numbers(records, "share")
        x = grid.axis()
        y = axis_from_zero(alt.Y, "share", shares, title, padding=1.05, format=".0%", tickCount=6)
        if max(shares) > _FAR_ABOVE_MEMORY:
            y = log_axis(alt.Y, "share", [*shares, 1.0], title, label=PERCENT_LABEL)
        tooltip = tips(*_TIPS, "rate_text:N achieved", "share_text:N share of the triad", "members:Q members")
        limit = alt.Chart(alt.InlineData(values=[{"share": 1}])).mark_rule(**DASHED)
        lines = line_with_points(shown("bandwidth"), look, x, y, tooltip)
        return layered(limit.encode(y=y), *lines, height=290)

    return Chart(
        name="bandwidth",
        records=records,
        draw=draw,
        heading=heading,
        explanation=(
            "Near the dashed line the memory, not the schedule, sets the time: then more cores do "
            "not help. Above it the matrix comes from a cache, which is faster than memory."
        ),
        shows="Share of the triad's bandwidth against matrix size",
        line_legend=[("dashed", "the triad with as many members")],
    )


def _by_size(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: int(str(record["size"])))


# -- how often the caches miss --


def _misses(misses: Sequence[MissRatio], grid: _Grid) -> Iterator[Chart]:
    records = _by_size(
        {
            **grid.place(miss),
            "runtime": runtime_key(miss.runtime),
            "configuration": miss.configuration,
            "counter": counter,
            "ratio": ratio,
            "ratio_text": text.percent(ratio),
        }
        for miss in misses
        for counter, ratio in (
            ("cache-misses / cache-references", miss.cache_miss_ratio),
            ("LLC-load-misses / LLC-loads", miss.llc_load_miss_ratio),
        )
        if ratio is not None
    )
    if not records:
        return
    counters = distinct(records, "counter")
    worst = max(records, key=lambda record: float(str(record["ratio"])))

    def draw(look: list[RuntimeStyle]) -> Layers:
        x, ratios = grid.axis(), numbers(records, "ratio")
        y = axis_from_zero(alt.Y, "ratio", ratios, "misses / accesses", padding=1, format=".0%", tickCount=5)
        drawn = shown("misses").transform_filter("datum.counter === counter")
        tooltip = tips(*_TIPS, "counter:N counters", "ratio_text:N ratio")
        return layered(
            drawn.mark_line(strokeWidth=2).encode(
                x=x, y=y, color=color(look), detail=["runtime:N", "configuration:N"]
            ),
            marks(drawn, look, 70, x=x, y=y, tooltip=tooltip),
            height=270,
            counter=counters[0],
        )

    yield Chart(
        name="misses",
        records=records,
        draw=draw,
        heading=f"Cache misses reach {worst['ratio_text']} at n = {worst['size']}",
        explanation=(
            "How often a core looked in its cache in vain. As the matrix outgrows the caches the "
            "share rises, and the memory takes over."
        ),
        shows="Cache-miss ratio against matrix size",
        choice=Choice("counter", "Counters", [(counter, counter) for counter in counters], counters[0]),
    )


# -- the table of all cells, and of all configurations --


def _scoreboard(analysis: LoopAnalysis, grid: _Grid) -> list[tuple[str, list[Cell | None]]]:
    """One line a situation, one cell a size; None where that pair was not studied."""
    by_place = {tuple(grid.place(cell).values()): cell for cell in analysis.cells}
    return [
        (state_title(emulated), [by_place.get((index, size)) for size in grid.sizes])
        for index, emulated in enumerate(grid.situations)
    ]


def _configurations(analysis: LoopAnalysis, grid: _Grid) -> list[Record]:
    records: list[Record] = []
    for cell in analysis.cells:
        in_order = sorted(cell.configurations, key=lambda each: (each.seconds is None, each.seconds or 0.0))
        best = in_order[0].seconds if in_order else None
        for configuration in in_order:
            seconds = configuration.seconds
            screened = configuration.error is None and not configuration.is_finalist
            record = table_row(
                configuration,
                (*_COLUMNS, *LAST_COLUMNS),
                **grid.place(cell),
                runtime=runtime_key(configuration.runtime, configuration.library),
                cores=text.cores(configuration.cores),
                relative=seconds / best if seconds is not None and best else None,
                status="screened only" if screened else "",
            )
            records.append(record | spent.record(configuration.spent))
    return records
