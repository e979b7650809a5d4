"""The page of the map/reduce study: where each library pays, its charts, and the table of configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import altair as alt

from tautochrone import text
from tautochrone.report import spent
from tautochrone.report.charts import (
    Chart,
    Draw,
    caption,
    machine_filter,
    page_parts,
    ratio_chart,
    ratio_records,
    table_row,
    verdict_counts,
)
from tautochrone.report.drawing import (
    DASHED,
    TIMES_LABEL,
    Layers,
    axis_from_zero,
    color,
    distinct,
    interval,
    layered,
    line_with_points,
    log_axis,
    names_axis,
    numbers,
    shown,
    tips,
)
from tautochrone.report.palette import RuntimeStyle, name_of, runtime_key, styles
from tautochrone.report.parts import LAST_COLUMNS, Choice, Column, Filter, Parts, Record, View
from tautochrone.results.runs import OURS
from tautochrone.results.states import state_title, states_of
from tautochrone.studies.mapreduce.findings import MapReduceAnalysis, TaskCell, TaskConfiguration

_HEIGHT = 290
_MOST_TICKS = 9
_SWITCH_TICKS = (0, 0.1, 1, 10, 100, 1000, 10000)
_COLUMNS: tuple[Column, ...] = (
    ("work", "tasks", "text"),
    ("situation", "machine", "situation"),
    ("threads", "threads", "number"),
    ("runtime", "runtime", "runtime"),
    ("schedule", "schedule", "text"),
    ("wait", "wait", "text"),
    ("seconds", "median", "time"),
    ("low", "interval", "interval"),
    ("speedup", "speed-up", "number"),
    ("share", "of the ideal", "percent"),
    ("waiting", "waiting", "percent"),
    ("load", "CPU load", "percent"),
    ("voluntary", "sleeps", "number"),
    ("involuntary", "displaced", "number"),
    ("stretch", "task × alone", "number"),
)
_CLOCK: Column = ("clock", "by the clock", "number")  # only where cycles were counted


class _Series(NamedTuple):
    """A number of tasks on a number of threads, at every task length."""

    tasks: int
    threads: int

    @property
    def key(self) -> str:
        return f"{self.tasks} on {self.threads}"

    @property
    def label(self) -> str:
        return f"{self.tasks} tasks, {text.count(self.threads, 'thread')}"


class _Tables(NamedTuple):
    """What the charts draw, and what they must know before they do."""

    situations: list[dict[str, float]]
    workloads: list[str]  # names, the longest tasks first
    series: list[_Series]  # the one with all CPUs and the fewest tasks first
    speedups: list[Record]
    laws: list[Record]
    lengths: list[Record]  # the speed-ups again, by the length of a task
    parts: list[Record]  # of the waiting, with all CPUs
    ratios: list[Record]


_WAITING: tuple[tuple[str, str, str], ...] = (
    ("waking_up", "waking up", "by waking up"),
    ("taking_tasks", "taking tasks: queue, lock", "by taking tasks"),
    ("uneven", "others have the rest", "because another one has more tasks"),
    ("whole_tasks", "tasks are not divided", "because tasks are not divided"),
)


def parts(analysis: MapReduceAnalysis) -> Parts:
    tables = _tables(analysis)
    records = _configurations(analysis, tables)
    work = [(name, name) for name in tables.workloads]
    return page_parts(
        "mapreduce.html.j2",
        _charts(analysis, tables),
        situations=tables.situations,
        configurations=records,
        columns=(
            *_COLUMNS,
            *([_CLOCK] if any(record["clock"] is not None for record in records) else []),
            *spent.columns(records),
            *LAST_COLUMNS,
        ),
        # one kind of tasks at first: times of different ones in one list say nothing
        filters=[
            Filter("work", "Tasks", work, tables.workloads[0] if work else ""),
            machine_filter(tables.situations, 0),
        ],
        scoreboards=_scoreboards(analysis, tables),
    )


def _tables(analysis: MapReduceAnalysis) -> _Tables:
    situations = states_of(analysis.cells)
    longest_first = sorted(analysis.cells, key=lambda cell: (cell.tasks, -cell.bytes))
    workloads = list(dict.fromkeys(cell.name for cell in longest_first))
    speedups: list[Record] = []
    laws: list[Record] = []
    lengths: list[Record] = []
    ratios: list[Record] = []
    waiting: list[Record] = []
    for cell in analysis.cells:
        place: Record = {
            "situation": situations.index(dict(cell.emulated)),
            "workload": workloads.index(cell.name),
        }
        for configuration in sorted(_shown(cell), key=lambda configuration: configuration.threads):
            record = place | _speedup_record(configuration, cell)
            speedups.append(record)
            lengths.append(record | {"series": _Series(cell.tasks, configuration.threads).key})
        waiting += [place | record for record in _waiting_records(cell)]
        laws += [
            place
            | {"threads": point.threads, "speedup": point.speedup, "speedup_text": _times(point.speedup)}
            for point in cell.law
        ]
        ratios += ratio_records(cell.peer_ratios, place | {"name": cell.name})
    lengths.sort(key=lambda record: float(str(record["length"])))
    return _Tables(situations, workloads, _series(analysis.cells), speedups, laws, lengths, waiting, ratios)


def _shown(cell: TaskCell) -> list[TaskConfiguration]:
    """What each library does there with no settings."""
    return [
        configuration
        for configuration in cell.configurations
        if configuration.is_default
        and configuration.runtime != "serial"
        and configuration.speedup is not None
    ]


def _most_cpus(cells: Sequence[TaskCell]) -> int:
    return max((cell.cpus for cell in cells), default=1)


def _series(cells: Sequence[TaskCell]) -> list[_Series]:
    """What the charts against the task length can show; one with a single length would be no line."""
    lengths: dict[_Series, set[int]] = {}
    for cell in cells:
        for configuration in _shown(cell):
            lengths.setdefault(_Series(cell.tasks, configuration.threads), set()).add(cell.bytes)
    cpus = _most_cpus(cells)
    several = [series for series, measured in lengths.items() if len(measured) > 1] or list(lengths)
    few = [series for series in several if series.threads in (1, cpus, 2 * cpus)] or several
    return sorted(few, key=lambda series: (series.threads != cpus, series.tasks, series.threads))


def _speedup_record(configuration: TaskConfiguration, cell: TaskCell) -> Record:
    return {
        "runtime": runtime_key(configuration.runtime),
        "configuration": configuration.label,
        "work": cell.name,
        "threads": configuration.threads,
        "length": cell.task_seconds,
        "length_text": text.seconds(cell.task_seconds),
        "time": text.seconds(configuration.seconds),
        "interval": text.seconds_interval(configuration.low, configuration.high) or "too few rounds",
        "speedup": configuration.speedup,
        "speedup_low": configuration.speedup_low,
        "speedup_high": configuration.speedup_high,
        "speedup_text": _times(configuration.speedup),
        "share": configuration.share_of_ideal,
        "share_text": text.percent(configuration.share_of_ideal),
        "waiting": configuration.waiting_share,
        "waiting_text": text.percent(configuration.waiting_share),
        "load": configuration.cpu_load,
        "load_text": text.percent(configuration.cpu_load),
        "voluntary": configuration.voluntary_switches,
        "involuntary": configuration.involuntary_switches,
    }


def _times(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{text.significant(value)}×"


def _charts(analysis: MapReduceAnalysis, tables: _Tables) -> Iterator[Chart]:
    if numbers(tables.lengths, "share"):
        yield _pays(analysis, tables)
    yield _speedup(analysis, tables)
    counts = verdict_counts(
        peer.ratio for cell in analysis.cells for peer in cell.peer_ratios if peer.role == "best"
    )
    heading = f"tautochrone against each peer: {counts or 'too few rounds for a verdict'}"
    if counts.startswith(("faster", "slower")):
        heading = f"tautochrone is {counts}".replace("the best peer", "a peer at its best")
    compared = {record["name"] for record in tables.ratios}
    yield ratio_chart(
        tables.ratios,
        "name",
        "tasks",
        [name for name in tables.workloads if name in compared],
        heading=heading,
        shows="Ratio of tautochrone's time to each peer's time with all CPUs, with intervals",
    )
    if numbers(tables.lengths, "waiting"):
        yield _waiting(tables)
    if tables.parts:
        yield _waiting_parts(tables)
    if numbers(tables.lengths, "load"):
        yield Chart(
            name="busy",
            table="lengths",
            records=tables.lengths,
            draw=_share_against_length(tables, "load", "load of the CPUs"),
            heading="How busy the CPUs are: low is idle, high is working or spinning",
            explanation=(
                "CPU time of the process by the time that its CPUs had. Waiting asleep lowers it, and on a "
                "laptop or server the clock frequency with it; waiting in a spin keeps it high without doing "
                "work. Compare it with the chart above."
            ),
            shows="Load of the CPUs against the length of a task",
            choice=_series_choice(tables),
        )
    if tables.lengths:
        yield _switches(tables)


# -- charts against the length of a task: the reader chooses how many tasks on how many threads --


def _share_against_length(tables: _Tables, field: str, title: str, limit: float | None = None) -> Draw:
    """What draws a share of 1, with a dashed line at ``limit``."""

    def draw(look: list[RuntimeStyle]) -> Layers:
        shares = numbers(tables.lengths, field)
        y = axis_from_zero(alt.Y, field, shares, title, padding=1.04, format=".0%", tickCount=6)
        drawn = shown("lengths").transform_filter(f"datum.series === series && isValid(datum.{field})")
        x, tooltip = _length_axis(tables.lengths), _tips(f"{field}_text:N {title}")
        layers = line_with_points(drawn, look, x, y, tooltip)
        if limit is not None:
            line = alt.Chart(alt.InlineData(values=[{field: limit}])).mark_rule(**DASHED)
            layers.insert(0, line.encode(y=y))
        return layered(*layers, height=_HEIGHT, series=tables.series[0].key)

    return draw


def _series_choice(tables: _Tables) -> Choice:
    options = [(series.key, series.label) for series in tables.series]
    return Choice("series", "Show", options, options[0][0])


def _length_axis(records: Sequence[Record]) -> alt.X:
    return log_axis(alt.X, "length", numbers(records, "length"), "length of one task, alone", grid=False)


def _tips(*more: str) -> list[alt.Tooltip]:
    return tips(
        "configuration:N configuration",
        "work:N tasks",
        "length_text:N one task takes",
        *more,
        "speedup_text:N speed-up",
        "time:N median time",
        "interval:N interval",
    )


def _on_shortest(tables: _Tables, field: str) -> tuple[str, list[tuple[float, str]]]:
    """The shortest length of the series shown first, and (value, library) there, the least first.

    On the unmodified machine; no values where none are known.
    """
    known = [
        record
        for record in tables.lengths
        if record["series"] == tables.series[0].key and record["situation"] == 0 and record[field] is not None
    ]
    values = sorted(
        (float(str(record[field])), str(record["runtime"]))
        for record in known
        if record["length"] == known[0]["length"]
    )
    length = str(known[0]["length_text"]) if known else ""
    return length, [(value, name_of(runtime)) for value, runtime in values]


def _pays(analysis: MapReduceAnalysis, tables: _Tables) -> Chart:
    length, reached = _on_shortest(tables, "share")
    heading = "How much of the ideal speed-up each library reaches"
    if reached:
        (least, slowest), (most, fastest) = reached[0], reached[-1]
        heading = (
            f"On tasks of {length}, {fastest} reaches {text.percent(most)} of the "
            f"ideal speed-up, {slowest} {text.percent(least)}"
        )
    limit = analysis.share_that_pays
    return Chart(
        name="pays",
        table="lengths",
        records=tables.lengths,
        draw=_share_against_length(tables, "share", "share of the ideal speed-up", limit),
        heading=heading,
        explanation=(
            "The shorter the tasks, the more of the time goes into handing them out. The ideal is what whole "
            "tasks on these CPUs allow. Each library is shown as one gets it with no settings; above the "
            "dashed line it is said to pay."
        ),
        shows="Share of the ideal speed-up against the length of a task",
        line_legend=[("dashed", f"{text.percent(limit)} of the ideal: here sharing pays")],
        choice=_series_choice(tables),
    )


def _waiting(tables: _Tables) -> Chart:
    length, waiting = _on_shortest(tables, "waiting")
    heading = "How much of the threads' time is spent waiting"
    if waiting:
        (least, best), (most, worst) = waiting[0], waiting[-1]
        heading = (
            f"On tasks of {length} the threads of {worst} wait {text.percent(most)} "
            f"of their time, those of {best} {text.percent(least)}"
        )
    return Chart(
        name="waiting",
        table="lengths",
        records=tables.lengths,
        draw=_share_against_length(tables, "waiting", "time spent waiting"),
        heading=heading,
        explanation=(
            "All that is not spent inside a task: taking tasks, locks, waking up, waiting for the last one, "
            "reducing. A share that the law itself demands (a last task alone on one core) is in it too. "
            "Measured in repetitions of their own, by reading a clock at each task's begin and end."
        ),
        shows="Share of time spent waiting against the length of a task",
        choice=_series_choice(tables),
    )


def _waiting_records(cell: TaskCell) -> Iterator[Record]:
    """A record for each library with no settings on all CPUs and each part of its waiting."""
    for configuration in _shown(cell):
        if configuration.threads != cell.cpus or configuration.waiting is None:
            continue
        for name, words, _ in _WAITING:
            share = getattr(configuration.waiting, name)
            yield {
                "runtime": runtime_key(configuration.runtime),
                "configuration": configuration.label,
                "work": cell.name,
                "part": words,
                "part_share": share,
                "part_text": text.percent(share),
                "waiting_text": text.percent(configuration.waiting_share),
            }


def _waiting_parts(tables: _Tables) -> Chart:
    """What the waiting is for: the reader chooses the tasks."""
    works = [name for name in reversed(tables.workloads) if name in distinct(tables.parts, "work")]
    chosen = works[0]
    of_first = [record for record in tables.parts if record["work"] == chosen and record["situation"] == 0]
    heading = "What the waiting is for"
    if of_first:
        most = max(of_first, key=lambda record: float(str(record["part_share"])))
        why = {words: phrase for _, words, phrase in _WAITING}[str(most["part"])]
        who, share = name_of(str(most["runtime"])), most["part_text"]
        heading = f"With {chosen}, {who} loses {share} of the CPUs’ time {why}"

    def draw(look: list[RuntimeStyle]) -> Layers:
        drawn = shown("parts").transform_filter("datum.work === tasks")
        shares = numbers(tables.parts, "part_share")
        tooltip = tips(
            "configuration:N configuration",
            "part:N waits for",
            "part_text:N of the CPUs’ time",
            "waiting_text:N all its waiting",
        )
        x = axis_from_zero(
            alt.X,
            "part_share",
            shares,
            "share of the CPUs’ time",
            least=0.05,
            format=".0%",
            tickCount=6,
        )
        return layered(
            drawn.mark_bar(height=9).encode(
                x=x,
                y=names_axis("part:O", [words for _, words, _ in _WAITING], 260),
                yOffset=alt.YOffset("runtime:N", scale=alt.Scale(paddingOuter=0.4)),
                color=color(look),
                tooltip=tooltip,
            ),
            height=_HEIGHT + 60,
            tasks=chosen,
        )

    return Chart(
        name="parts",
        records=tables.parts,
        draw=draw,
        heading=heading,
        explanation=(
            "The waiting of the chart above in four parts, with all CPUs. Waking up: until a thread’s first "
            "task, and from the last task’s end until the caller goes on. Taking tasks: between two tasks of "
            "a thread, in the queue and for its lock. Then no task is left for a CPU: because another one "
            "has more of them, or because whole tasks do not come out even, which no library can help."
        ),
        shows="Parts of the time spent waiting, for each library",
        choice=Choice("tasks", "Tasks", [(name, name) for name in works], chosen),
    )


def _switches(tables: _Tables) -> Chart:
    """Context switches of one repetition; the scale shows 0 and a thousand side by side."""
    records: list[Record] = [
        record | {"kind": kind, "switches": value, "switches_text": text.significant(float(value))}
        for record in tables.lengths
        for kind in ("voluntary", "involuntary")
        if isinstance(value := record[kind], int | float)
    ]

    def draw(look: list[RuntimeStyle]) -> Layers:
        x = _length_axis(records)
        y = alt.Y(
            "switches:Q",
            scale=alt.Scale(type="symlog", constant=0.1, nice=False),
            axis=alt.Axis(title="context switches of one repetition", values=_SWITCH_TICKS, format="~g"),
        )
        kinds = alt.Scale(domain=["voluntary", "involuntary"], range=[[1, 0], [3, 3]])
        drawn = shown("switches").transform_filter("datum.series === series")
        tooltip = _tips("kind:N kind", "switches_text:N switches of a repetition")
        return layered(
            drawn.mark_line(strokeWidth=1.8, opacity=0.9).encode(
                x=x,
                y=y,
                color=color(look),
                strokeDash=alt.StrokeDash("kind:N", scale=kinds, legend=None),
                detail=["runtime:N", "kind:N"],
            ),
            line_with_points(drawn, look, x, y, tooltip)[1],
            height=_HEIGHT,
            series=tables.series[0].key,
        )

    return Chart(
        name="switches",
        records=records,
        draw=draw,
        heading="How often threads go to sleep, and how often they are put aside",
        explanation=(
            "Context switches of the whole process in one repetition. A voluntary one is a thread that waits "
            "asleep, such as for a lock; an involuntary one is a thread that another one displaced."
        ),
        shows="Context switches against the length of a task",
        line_legend=[("solid", "voluntary"), ("dotted", "involuntary")],
        choice=_series_choice(tables),
    )


# -- the published chart: speed-up against threads, one view for each kind of tasks, with the law --


def _speedup(analysis: MapReduceAnalysis, tables: _Tables) -> Chart:
    ours = [
        (configuration.speedup or 0.0, configuration.threads, cell.name)
        for cell in analysis.cells
        for configuration in _shown(cell)
        if configuration.runtime == OURS
    ]
    heading = "Speed-up against threads"
    if ours:
        best, threads, name = max(ours, key=lambda reached: reached[0])
        heading = (
            f"tautochrone reaches {text.significant(best)}× the serial loop on "
            f"{text.count(threads, 'thread')} ({name})"
        )
    cpus = text.count(_most_cpus(analysis.cells), "CPU")

    def draw(look: list[RuntimeStyle]) -> Layers:
        threads = sorted({int(count) for count in numbers(tables.speedups, "threads")})
        ticks = threads if len(threads) <= _MOST_TICKS else threads[:: len(threads) // _MOST_TICKS + 1]
        x = alt.X(
            "threads:Q",
            scale=alt.Scale(domain=[threads[0] - 0.25, threads[-1] + 0.25], nice=False),
            axis=alt.Axis(title="threads", values=ticks, format="d", grid=False),
        )
        every = numbers(tables.speedups, "speedup", "speedup_high") + numbers(tables.laws, "speedup")
        y = axis_from_zero(
            alt.Y, "speedup", every, "speed-up over the serial loop", labelExpr=TIMES_LABEL, tickCount=6
        )
        drawn, law = (
            shown(table).transform_filter("datum.workload === workload") for table in ("speedups", "laws")
        )
        passes = tips("threads:Q,d threads", "speedup_text:N no sharing of whole tasks passes")
        return layered(
            law.mark_line(**DASHED).encode(x=x, y=y, tooltip=passes),
            interval(drawn, look, x, y, "speedup_low", "speedup_high"),
            *line_with_points(drawn, look, x, y, _tips("waiting_text:N waiting")),
            height=260,
            workload=0,
        )

    return Chart(
        name="speedup",
        table="speedups",
        records=tables.speedups,
        beside={"laws": tables.laws},
        draw=draw,
        heading=heading,
        explanation=(
            "The published chart, measured here: one panel for each kind of tasks. Tasks are not divided, "
            "so on equal cores no speed-up passes tasks / ceil(tasks / threads): the dashed line, with its "
            f"steps. There are {cpus}; more threads than that share them and cannot gain."
        ),
        shows="Speed-up against threads",
        views=list(_speedup_views(tables)),
        line_legend=[("dashed", "the law tasks / ceil(tasks / threads)")],
    )


def _speedup_views(tables: _Tables) -> Iterator[View]:
    present = {(record["situation"], record["workload"]) for record in tables.speedups}
    for index, emulated in enumerate(tables.situations):
        for number, name in enumerate(tables.workloads):
            if (index, number) in present:
                place = caption(tables.situations, index)
                yield View(
                    f"{name} · {place}" if place else name,
                    {"situation": index, "workload": number},
                    f"Speed-up against threads, {name}. {state_title(emulated)}.",
                )


# -- the tables: speed-ups with all CPUs, and all configurations --

_Scoreboard = tuple[str, list[TaskCell], list[tuple[str, list[TaskConfiguration | None]]]]


def _scoreboards(analysis: MapReduceAnalysis, tables: _Tables) -> list[_Scoreboard]:
    """For each state and number of tasks: a line a runtime, a cell a task length, with all CPUs."""
    boards: list[_Scoreboard] = []
    for emulated in tables.situations:
        in_state = [cell for cell in analysis.cells if dict(cell.emulated) == emulated]
        for tasks in sorted({cell.tasks for cell in in_state}):
            cells = sorted((cell for cell in in_state if cell.tasks == tasks), key=lambda cell: cell.bytes)
            columns = [_with_all_cpus(cell) for cell in cells]
            present = {runtime for column in columns for runtime in column} - {"serial"}
            lines = [(style.key, [column.get(style.key) for column in columns]) for style in styles(present)]
            if lines:
                boards.append((f"{tasks} tasks. {state_title(emulated)}", cells, lines))
    return boards


def _with_all_cpus(cell: TaskCell) -> dict[str, TaskConfiguration]:
    """What each runtime does there with no settings."""
    return {
        runtime_key(configuration.runtime): configuration
        for configuration in cell.configurations
        if configuration.is_default and configuration.threads == cell.cpus
    }


def _configurations(analysis: MapReduceAnalysis, tables: _Tables) -> list[Record]:
    return [
        table_row(
            configuration,
            (*_COLUMNS, *LAST_COLUMNS),
            work=cell.name,
            situation=tables.situations.index(dict(cell.emulated)),
            runtime=runtime_key(configuration.runtime),
            schedule=configuration.schedule
            + (f", chunk {configuration.chunk}" if configuration.chunk is not None else ""),
            speedup=spent.short(configuration.speedup),
            share=configuration.share_of_ideal,
            waiting=configuration.waiting_share,
            load=configuration.cpu_load,
            voluntary=spent.short(configuration.voluntary_switches),
            involuntary=spent.short(configuration.involuntary_switches),
            stretch=spent.short(configuration.stretch),
            clock=spent.short(configuration.stretch_by_clock),
        )
        | spent.record(configuration.spent)
        for cell in analysis.cells
        for configuration in cell.configurations
    ]
