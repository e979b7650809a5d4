"""What each core did over time: who worked, who waited, and at which clock."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from tautochrone import text
from tautochrone.report.charts import Chart
from tautochrone.report.drawing import Layers, distinct, tips
from tautochrone.report.parts import Record, View
from tautochrone.results.states import state_title
from tautochrone.studies.loop.findings import CpuLoad

# Long runs on 128 CPUs must not fill the page: the more strips there are, the fewer intervals each has.
_LOAD_RECORDS = 8000
_LOAD_INTERVALS = 80
_LOAD_RUNS = 12


def load_charts(loads: Sequence[CpuLoad]) -> Iterator[Chart]:
    """Who worked and who waited, and the clock of each CPU beside it where there is any."""
    runs = loads[:_LOAD_RUNS]
    busy = [_busy_by_cpu(run) for run in runs]
    strips = sum(len(shares) for shares in busy)
    intervals = max(8, min(_LOAD_INTERVALS, _LOAD_RECORDS // max(1, strips)))
    records = [
        {"run": index} | record
        for index, run in enumerate(runs)
        for record in (
            _load_records(run, intervals) if run.waiting is None else _work_records(run, intervals)
        )
    ]
    views = [
        _load_view(index, run, shares) for index, (run, shares) in enumerate(zip(runs, busy, strict=True))
    ]
    yield Chart(
        name="load",
        records=records,
        draw=lambda _: _draw_load(records),
        heading=_load_heading(runs, busy),
        explanation=(
            "One strip a CPU and one loop after the other: full while it works on rows, faint while it waits "
            "for the others. Who spins waits. An even picture means that all cores finish at the same "
            "moment. Of OpenBLAS only the load is known, and spinning looks busy there."
        ),
        shows="Load of each CPU over time",
        views=views,
        has_legend=False,
    )
    clocks = [
        {"run": index} | each for index, run in enumerate(runs) for each in _clock_records(run, intervals)
    ]
    yield Chart(
        name="clocks",
        records=clocks,
        draw=lambda _: _draw_clocks(),
        heading="The clock of each core in the same runs",
        explanation="As cpufreq reports it, ten times a second.",
        shows="Clock of each CPU over time",
        views=views,
        has_legend=False,
    )


def _busy_by_cpu(run: CpuLoad) -> dict[int, float]:
    """Each CPU's part of the loops' time in which it worked; of a library's own product, its mean load."""
    if run.waiting is not None:
        return {int(cpu): 1 - run.waiting.share(cpu) for cpu in run.waiting.working}
    busy_times = [sample.seconds for sample in run.samples if sample.busy > 0.2]
    inside: dict[int, list[float]] = {}
    first, last = min(busy_times, default=math.inf), max(busy_times, default=-math.inf)
    for sample in run.samples:
        if first <= sample.seconds <= last:
            inside.setdefault(sample.cpu, []).append(sample.busy)
    return {cpu: sum(shares) / len(shares) for cpu, shares in inside.items()}


def _load_view(index: int, run: CpuLoad, busy: Mapping[int, float]) -> View:
    place = f"n = {run.size}" + (f", {state_title(run.emulated)}" if run.emulated else "")
    shares = ", ".join(f"CPU {cpu} works {text.percent(share)}" for cpu, share in sorted(busy.items()))
    return View(f"{run.configuration}, {place}", {"run": index}, f"Work of each CPU over time. {shares}.")


def _load_heading(runs: Sequence[CpuLoad], busy: Sequence[Mapping[int, float]]) -> str:
    idlest = min(
        ((share, cpu, run) for run, shares in zip(runs, busy, strict=True) for cpu, share in shares.items()),
        key=lambda strip: strip[0],
        default=None,
    )
    if idlest is None:
        return "What each core did over time"
    share, cpu, run = idlest
    if share > 0.9:
        return (
            f"No core waits for long: CPU {cpu}, which waits longest, works {text.percent(share)} of the time"
        )
    return f"CPU {cpu} waits {text.percent(1 - share)} of the loops’ time under {run.configuration}"


def _work_records(run: CpuLoad, intervals: int) -> Iterator[Record]:
    """The first loops: for each CPU its work, then its waiting."""
    assert run.waiting is not None
    begin = 0.0
    for loop in run.waiting.first[: max(1, intervals // 2)]:
        end = begin + loop.seconds
        for cpu, seconds in loop.working.items():
            until = begin + min(seconds, loop.seconds)
            strip = {
                "cpu": f"CPU {cpu}",
                "busy_text": text.percent(seconds / loop.seconds),
                "clock": "not told",
            }
            yield strip | {"begin": begin, "end": until, "busy": 1.0}
            yield strip | {"begin": until, "end": end, "busy": 0.0}
        begin = end


def _clock_records(run: CpuLoad, intervals: int) -> Iterator[Record]:
    for record in _load_records(run, intervals):
        if record["hertz"] is not None:
            yield {name: record[name] for name in ("cpu", "end", "hertz", "clock")}


def _draw_clocks() -> Layers:
    drawn = alt.Chart(alt.NamedData(name="clocks")).transform_filter("datum.run === run")
    lines = drawn.mark_line(strokeWidth=1.5, color="var(--load)").encode(
        x=alt.X("end:Q", axis=alt.Axis(title="time since the start (s)", grid=False, tickCount=5)),
        y=alt.Y("hertz:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title="clock", format="~s")),
        detail="cpu:N",
        tooltip=tips("cpu:N CPU", "end:Q,.2f at (s)", "clock:N clock"),
    )
    return alt.layer(lines).properties(height=180).add_params(alt.param(name="run", value=0))


def _load_records(run: CpuLoad, intervals: int) -> Iterator[Record]:
    """Samples of each CPU, averaged to at most so many intervals, each with its two ends."""
    in_order = sorted(run.samples, key=lambda sample: (sample.cpu, sample.seconds))
    for cpu, of_cpu in itertools.groupby(in_order, key=lambda sample: sample.cpu):
        samples = list(of_cpu)
        group = math.ceil(len(samples) / intervals)
        begin = 0.0
        for start in range(0, len(samples), group):
            part = samples[start : start + group]
            clocks = [sample.hertz for sample in part if sample.hertz is not None]
            busy = sum(sample.busy for sample in part) / len(part)
            yield {
                "cpu": f"CPU {cpu}",
                "begin": begin,
                "end": part[-1].seconds,
                "busy": busy,
                "busy_text": text.percent(busy),
                "hertz": sum(clocks) / len(clocks) if clocks else None,
                "clock": text.quantity(sum(clocks) / len(clocks) if clocks else None, "Hz"),
            }
            begin = part[-1].seconds


def _draw_load(records: Sequence[Record]) -> Layers:
    cpus = sorted(distinct(records, "cpu"), key=lambda name: int(name.split()[1]))
    y = alt.Y(
        "cpu:N",
        sort=cpus,
        scale=alt.Scale(paddingInner=0.12),
        axis=alt.Axis(title=None, domain=False, ticks=False, labelOverlap="parity"),
    )
    x = alt.X("begin:Q", axis=alt.Axis(title="time since the start (s)", grid=False, tickCount=5))
    busy = alt.Opacity("busy:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 1]), legend=None)
    tooltip = tips("cpu:N CPU", "end:Q,.2f at (s)", "busy_text:N works", "clock:N clock")
    drawn = alt.Chart(alt.NamedData(name="load")).transform_filter("datum.run === run")
    strips = drawn.mark_rect(fill="var(--load)").encode(x=x, x2="end:Q", y=y, opacity=busy, tooltip=tooltip)
    height = max(90, len(cpus) * (26 if len(cpus) <= 12 else 16))
    return alt.layer(strips).properties(height=height).add_params(alt.param(name="run", value=0))
