"""The page of the power study: its charts, and the table of all jobs and set-ups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from tautochrone import text
from tautochrone.report import spent
from tautochrone.report.charts import Chart, page_parts, table_row
from tautochrone.report.drawing import (
    INK,
    TIME_LABEL,
    TIMES_LABEL,
    Layers,
    axis_from_zero,
    bars,
    color,
    distinct,
    interval,
    layered,
    line_at_one,
    line_with_points,
    marks,
    names_axis,
    numbers,
    per_runtime,
    shown,
    tips,
)
from tautochrone.report.palette import RuntimeStyle
from tautochrone.report.parts import LAST_COLUMNS, Column, Filter, Parts, Record
from tautochrone.studies.power.configurations import BALANCED, DOMAIN, FREE, FUNCTIONAL, PINNED, SERIAL
from tautochrone.studies.power.findings import JobCell, PowerAnalysis, SharedJob

_COLUMNS: tuple[Column, ...] = (
    ("job", "job", "text"),
    ("runtime", "shared", "runtime"),
    ("setup", "set-up", "text"),
    ("threads", "threads", "number"),
    ("seconds", "median", "time"),
    ("low", "interval", "interval"),
    ("speedup", "speed-up", "number"),
    ("imbalance", "imbalance", "number"),
    ("cpu_seconds", "CPU time", "time"),
    ("core_seconds", "core time", "time"),
    ("migrations", "migrations", "number"),
)
_SPEEDUP = "speed-up over one thread"
_TIPS = tips(
    "job:N job",
    "configuration:N shared",
    "speedup_text:N speed-up",
    "verdict:N against one thread",
    "time:N median time",
    "imbalance_text:N imbalance",
    "rounds:Q paired rounds",
)


def parts(analysis: PowerAnalysis) -> Parts:
    records = [*_jobs(analysis), *_programs(analysis)]
    names = distinct(records, "job")
    return page_parts(
        "power.html.j2",
        _charts(analysis),
        situations=[{}],
        runtimes={shared.way for cell in analysis.jobs for shared in cell.shared},
        configurations=records,
        columns=(*_COLUMNS, *(spent.ENERGY_COLUMNS if spent.metered(records) else ()), *LAST_COLUMNS),
        filters=[Filter("job", "Job", [(name, name) for name in names])],
    )


def _charts(analysis: PowerAnalysis) -> Iterator[Chart]:
    shared = [
        (cell, shared)
        for cell in analysis.jobs
        for shared in cell.shared
        if shared.way != SERIAL and shared.speedup is not None
    ]
    physics = [(cell, way) for cell, way in shared if cell.ratio is not None and way.threads == 2]
    yield _speedup(analysis, shared)
    if len({cell.ratio for cell, _ in physics}) > 1:
        yield _cost(analysis, physics)
    yield _busy(analysis, physics)
    if len(analysis.setups) > 1:
        yield _together(analysis)


def _record(cell: JobCell, shared: SharedJob) -> Record:
    return {
        "situation": 0,
        "runtime": shared.way,
        "job": cell.title,
        "configuration": shared.label,
        "speedup": shared.speedup,
        "low": shared.speedup_low,
        "high": shared.speedup_high,
        "speedup_text": text.speed_up(shared.to_serial, "×"),
        "verdict": shared.to_serial.verdict,
        "time": text.seconds(shared.seconds),
        "imbalance_text": text.UNKNOWN if shared.imbalance is None else f"{shared.imbalance:.2f}",
        "rounds": shared.rounds,
    }


def _of_way(analysis: PowerAnalysis, way: str) -> list[tuple[float, SharedJob]]:
    """(ratio of costs, the physics shared so), by ratio."""
    found = (
        (cell.ratio, shared)
        for cell in analysis.jobs
        for shared in cell.shared
        if cell.ratio is not None and shared.way == way and shared.speedup is not None
    )
    return sorted(found, key=lambda each: each[0])


# -- what each way to share gains --


def _speedup(analysis: PowerAnalysis, shared: Sequence[tuple[JobCell, SharedJob]]) -> Chart:
    most = {cell.title: max(way.threads for way in cell.shared) for cell in analysis.jobs if cell.shared}
    records = [
        _record(cell, way)
        for cell, way in shared
        if way.threads == most[cell.title] or way.way.startswith(FUNCTIONAL)
    ]
    balanced = [(way.speedup or 0.0, cell.title) for cell, way in shared if way.way in BALANCED]
    heading = "What each way to share a job gains"
    if balanced:
        least, title = min(balanced)
        heading = f"Balanced threads gain from {least:.2f} times ({title}) to {max(balanced)[0]:.2f} times"
    return Chart(
        name="speedup",
        table="speedups",
        records=records,
        draw=lambda look: _draw_speedup(records, look),
        heading=heading,
        explanation=(
            "Each mark is a way to share a job among all threads (by functions: two), against one thread in "
            "the same rounds. The bar is the interval of the paired median; right of the line at 1 the "
            "threads gain."
        ),
        shows="Speed-up over one thread of each way to share each job",
    )


def _draw_speedup(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    jobs = distinct(records, "job")
    every = numbers(records, "speedup", "high")
    x = axis_from_zero(alt.X, "speedup", every, _SPEEDUP, padding=1.05, labelExpr=TIMES_LABEL, tickCount=6)
    y = names_axis("job:O", jobs, 220)
    offset, _ = per_runtime(look, records)
    drawn = shown("speedups")
    return layered(
        line_at_one(x),
        bars(drawn, x, y=y, yOffset=offset, color=color(look)),
        marks(drawn, look, 90, x=x, y=y, yOffset=offset, tooltip=_TIPS),
        height=max(140, 56 * len(jobs)),
    )


# -- what a split keeps when one function costs more --


def _cost(analysis: PowerAnalysis, physics: Sequence[tuple[JobCell, SharedJob]]) -> Chart:
    records: list[Record] = [_record(cell, shared) | {"ratio": cell.ratio} for cell, shared in physics]
    return Chart(
        name="cost",
        table="costs",
        records=records,
        draw=lambda look: _draw_cost(records, look),
        heading=_cost_heading(_of_way(analysis, FUNCTIONAL), _of_way(analysis, DOMAIN)),
        explanation=(
            "The physics finds contacts and draws; the search for contacts is repeated until the first "
            "function costs the given multiple of the second, with the same result. Shared by its bodies, "
            "each thread does both functions on half of them. Shared by functions, one thread waits for the "
            "other."
        ),
        shows="Speed-up of each split of the physics against the ratio of its functions' costs",
    )


def _cost_heading(
    functional: Sequence[tuple[float, SharedJob]], domain: Sequence[tuple[float, SharedJob]]
) -> str:
    if not functional or not domain:
        return "What each split keeps when one function costs more"
    (first, before), (last, after) = functional[0], functional[-1]
    heading = (
        f"From cost {first:g}:1 to {last:g}:1 the split by functions falls from {before.speedup:.2f} to "
        f"{after.speedup:.2f} times"
    )
    if (before.speedup or 0.0) <= (after.speedup or 0.0):
        heading = f"The split by functions gains {after.speedup:.2f} times at cost {last:g}:1"
    return f"{heading}; the split by bodies gains {domain[-1][1].speedup:.2f} times"


def _draw_cost(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    ratios = sorted(set(numbers(records, "ratio")))
    x = alt.X(
        "ratio:Q",
        scale=alt.Scale(type="log", base=2, domain=[ratios[0] / 1.15, ratios[-1] * 1.15], nice=False),
        axis=alt.Axis(title="cost of one function by the other", values=ratios, format="~g", grid=False),
    )
    every = numbers(records, "speedup", "high")
    y = axis_from_zero(alt.Y, "speedup", every, _SPEEDUP, labelExpr=TIMES_LABEL, tickCount=6)
    drawn = shown("costs")
    return layered(interval(drawn, look, x, y), *line_with_points(drawn, look, x, y, _TIPS), height=290)


# -- how long each thread works --


def _busy(analysis: PowerAnalysis, physics: Sequence[tuple[JobCell, SharedJob]]) -> Chart:
    records: list[Record] = [
        _record(cell, shared)
        | {"configuration": f"cost {cell.ratio:g}:1, {shared.label.rpartition(', ')[0]}"}
        | {"busy": thread.seconds, "thread": thread.thread, "does": thread.does}
        | {"busy_text": text.seconds(thread.seconds)}
        for cell, shared in physics
        for thread in shared.busy
    ]
    heading = "How long each thread works"
    found = [
        (shared.imbalance, ratio, shared)
        for ratio, shared in _of_way(analysis, FUNCTIONAL)
        if shared.imbalance is not None and shared.busy
    ]
    if found:
        imbalance, ratio, shared = max(found, key=lambda each: each[0])
        busiest = max(shared.busy, key=lambda thread: thread.seconds)
        heading = (
            f"At cost {ratio:g}:1 the thread that {busiest.does} works {text.seconds(busiest.seconds)} of "
            f"each {text.seconds(shared.seconds)}: imbalance {imbalance:.2f}"
        )
    return Chart(
        name="busy",
        records=records,
        draw=lambda look: _draw_busy(records, look),
        heading=heading,
        explanation=(
            "A bar for each thread: its CPU time in the work itself, without waiting. Imbalance is the "
            "busiest thread’s time over the mean; 1 is balance."
        ),
        shows="Time that each thread worked, for each split of the physics",
    )


def _draw_busy(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    names = distinct(records, "configuration")
    axis = alt.Axis(title="work of each thread in one repetition", labelExpr=TIME_LABEL, tickCount=6)
    return layered(
        shown("busy")
        .mark_bar(height=9)
        .encode(
            x=alt.X("busy:Q", axis=axis),
            y=names_axis("configuration:O", names, 260),
            yOffset=alt.YOffset("thread:O", scale=alt.Scale(paddingOuter=0.8)),
            color=color(look),
            tooltip=tips(
                "configuration:N shared",
                "thread:Q thread",
                "does:N it",
                "busy_text:N worked",
                "imbalance_text:N imbalance",
            ),
        ),
        height=max(140, 38 * len(names)),
    )


# -- two programs at once --


def _together(analysis: PowerAnalysis) -> Chart:
    by_itself: Record = {"relative": 1.0, "ratio_text": "1, by definition", "verdict": ""}
    records: list[Record] = [
        {
            "situation": 0,
            "setup": setup.label,
            "relative": setup.to_free.value,
            "low": setup.to_free.low,
            "high": setup.to_free.high,
            "ratio_text": text.ratio(setup.to_free),
            "verdict": setup.to_free.verdict,
            "time": text.seconds(setup.seconds),
        }
        | (by_itself if setup.name == FREE else {})
        for setup in analysis.setups
        if setup.seconds is not None and (setup.to_free.value is not None or setup.name == FREE)
    ]
    pinned = next((setup for setup in analysis.setups if setup.name == PINNED), None)
    heading = f"{analysis.pair[:1].upper()}{analysis.pair[1:]} at once"
    if pinned is not None and pinned.to_free.value is not None:
        heading += f": pinned apart against no affinity, {pinned.to_free.verdict}"
    return Chart(
        name="together",
        table="setups",
        records=records if len(records) > 1 else (),
        draw=lambda look: _draw_together(records),
        heading=heading,
        explanation=(
            "Two programs of one thread each, chosen to take the same time alone; the time until both are "
            "over, by that with no affinity in the same rounds. Where both are on one CPU, or one is less "
            "wanted, they are there for contrast."
        ),
        shows="Time of two programs at once in each set-up, by that with no affinity",
        has_legend=False,
    )


def _draw_together(records: Sequence[Record]) -> Layers:
    every = [*numbers(records, "relative", "low", "high"), 1.0]
    low, high = min(every), max(every)
    scale = alt.Scale(domain=[low - 0.05 * (high - low) - 0.01, high * 1.03], nice=False)
    axis = alt.Axis(title="time of both by that with no affinity", tickCount=6)
    x = alt.X("relative:Q", scale=scale, axis=axis)
    y = names_axis("setup:O", distinct(records, "setup"), 330)
    tooltip = tips("setup:N set-up", "ratio_text:N by no affinity", "verdict:N verdict", "time:N median time")
    drawn = shown("setups")
    return layered(
        line_at_one(x),
        bars(drawn, x, y=y),
        drawn.mark_point(filled=True, size=90, opacity=1, color=INK).encode(x=x, y=y, tooltip=tooltip),
        height=max(140, 34 * len(records)),
    )


# -- the table of all configurations --


def _jobs(analysis: PowerAnalysis) -> list[Record]:
    return [
        table_row(
            shared,
            (*_COLUMNS, *LAST_COLUMNS),
            job=cell.title,
            runtime=shared.way,
            setup="",
            speedup=spent.short(shared.speedup),
            imbalance=spent.short(shared.imbalance),
        )
        | spent.joules_record(shared.energy)
        for cell in analysis.jobs
        for shared in cell.shared
    ]


def _programs(analysis: PowerAnalysis) -> list[Record]:
    """Two programs at once, and each of them; core time is that of both CPUs."""
    return [
        table_row(
            setup,
            (*_COLUMNS, *LAST_COLUMNS),
            job=f"{analysis.pair} at once",
            runtime="",
            setup=setup.label,
            threads=2,
            speedup=None,
            imbalance=None,
            cpu_seconds=_sum_or_none([program.cpu_seconds for program in setup.programs]),
            core_seconds=None if setup.seconds is None else 2 * setup.seconds,
            migrations=_sum_or_none([program.migrations for program in setup.programs]),
        )
        | spent.joules_record(setup.energy)
        for setup in analysis.setups
    ]


def _sum_or_none(values: Sequence[float | None]) -> float | None:
    """The sum; None where nothing is there or one is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
