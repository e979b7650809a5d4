"""The page of the nbody study: its charts, the speed-ups at a glance, and the table of all configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import altair as alt

from tautochrone import text
from tautochrone.report import spent
from tautochrone.report.charts import Chart, page_parts, single_view, table_row, timed
from tautochrone.report.drawing import (
    INK,
    QUIET,
    Layers,
    color,
    interval,
    layered,
    line_at_one,
    line_with_points,
    log_axis,
    numbers,
    padded,
    powers_axis,
    shape,
    shown,
    tips,
)
from tautochrone.report.palette import RuntimeStyle, name_of, styles
from tautochrone.report.parts import Choice, Column, Filter, Parts, Record, View
from tautochrone.results.runs import OURS
from tautochrone.studies.nbody.configurations import SERIAL
from tautochrone.studies.nbody.findings import BlockCurve, BlockPoint, NbodyAnalysis

_FIRST_COLUMNS: tuple[Column, ...] = (
    ("particles", "particles", "number"),
    ("runtime", "engine", "runtime"),
    ("scheme", "scheme", "text"),
    ("order", "order", "number"),
    ("wait", "wait", "text"),
    ("members", "members", "number"),
    ("seconds", "mean block", "time"),
    ("low", "interval", "interval"),
    ("relative", "by the fastest", "relative"),
)
_LAST_COLUMNS: tuple[Column, ...] = (
    ("shared", "not computing", "percent"),
    ("energy", "energy error", "text"),
    ("pairs", "pairs a second", "text"),
)
VIEWS = {
    "ordinary": "each engine as one would begin",
    "targets": "sharing the targets (i)",
    "sources": "sharing the sources (j)",
    "both": "sharing both (grid)",
    "chosen": "the cheapest for each block (auto)",
    "loops": "parallel loops over the sources",
}
_BAR_SHARE = 0.03  # of the chart's height, for the bar of each engine
_ACTIVE = "active particles in a block"


def parts(analysis: NbodyAnalysis) -> Parts:
    records = _configurations(analysis)
    speeds = list(_speeds(analysis))
    return page_parts(
        "nbody.html.j2",
        _charts(analysis, speeds),
        situations=[{}],
        runtimes={curve.runtime for curve in analysis.curves},
        configurations=records,
        columns=(*_FIRST_COLUMNS, *spent.columns(records), *_LAST_COLUMNS),
        filters=_filters(analysis),
        speeds=_speed_table(speeds),
    )


def _charts(analysis: NbodyAnalysis, speeds: Sequence[Record]) -> Iterator[Chart]:
    blocks = [(curve, view) for curve in analysis.curves for view in views_of(curve) if curve.points]
    records = [record for curve, view in blocks for record in _blocks(curve, view)]
    yield _blocks_chart(blocks, records)
    yield _sharing_chart(blocks, records)
    yield _schemes_chart(analysis)
    if speeds:
        yield _speed_up_chart(analysis, speeds)
    yield _forecast_chart(analysis)
    yield _counts_chart(analysis)
    yield _accuracy_chart(analysis)


def views_of(curve: BlockCurve) -> list[str]:
    """In which views a configuration is drawn; one core in all."""
    if curve.order != 4 or curve.wait != "default":
        return []
    if curve.kind == SERIAL:
        return list(VIEWS)
    ordinary = ["ordinary"] if curve.is_ordinary else []
    # OpenMP's loops have forks that its one region has not: the region shows what a scheme costs.
    if not curve.scheme.startswith("loops"):
        return [*ordinary, curve.kind]
    return ordinary or ["loops"]


def _views(records: Sequence[Record], what: str) -> list[View]:
    """One for each number of particles that the table has something of."""
    return [
        View(f"{count:,} particles", {"situation": 0, "particles": count}, f"{what}, {count:,} particles.")
        for count in sorted({int(count) for count in numbers(records, "particles")})
    ]


def _in_view(table: str) -> alt.Chart:
    """What belongs to the number of particles that the view shows."""
    return shown(table).transform_filter("datum.particles === particles")


def _in_choice(table: str) -> alt.Chart:
    """The same, of the view that the reader chose."""
    return _in_view(table).transform_filter("datum.view === view")


def _place(curve: BlockCurve, point: BlockPoint) -> Record:
    return {
        "situation": 0,
        "runtime": curve.runtime,
        "configuration": curve.label,
        "particles": curve.particles,
        "active": point.active,
    }


# -- what a block takes --

CurveInView = tuple[BlockCurve, str]


def _view_choice(blocks: Sequence[CurveInView]) -> Choice:
    drawn = {view for curve, view in blocks if curve.runtime != SERIAL} or {"ordinary"}
    options = [(view, words) for view, words in VIEWS.items() if view in drawn]
    return Choice("view", "Show", options, options[0][0])


def _blocks(curve: BlockCurve, view: str) -> Iterator[Record]:
    for point in curve.points:
        yield _place(curve, point) | {
            "view": view,
            **timed(point),
            "share": point.shared_share,
            "share_text": text.percent(point.shared_share),
            "blocks": point.blocks,
            "energy": text.energy_error(curve.energy_error),
        }


def _blocks_chart(blocks: Sequence[CurveInView], records: Sequence[Record]) -> Chart:
    ours = [
        (curve, point)
        for curve, view in blocks
        if curve.runtime == OURS and view == "ordinary"
        for point in curve.points
    ]
    heading = "Time of a block by how many particles move in it"
    if ours:
        curve, shortest = min(ours, key=lambda pair: pair[1].seconds)
        heading = (
            f"The shortest block with tautochrone takes {text.seconds(shortest.seconds)}: "
            f"{shortest.active:.0f} of {curve.particles:,} particles move in it"
        )
    models = [
        _place(curve, point) | {"view": view, "seconds": point.predicted}
        for curve, view in blocks
        for point in curve.points
        if point.predicted is not None
    ]
    return Chart(
        name="blocks",
        records=records,
        beside={"models": models},
        draw=partial(_draw_blocks, records),
        heading=heading,
        explanation=(
            "A point is the median block of its class of active counts, from power of two to power of two; "
            "the bar is its interval over the rounds. The broad lines are what the model expected before "
            "the run; of OpenMP, what the constants of one core and the forks or barriers of its smallest "
            "blocks give. As one would begin: parallel loops in OpenMP, sharing the targets in MPI, "
            "tautochrone left to choose. Where all share the same: OpenMP in one region."
        ),
        views=_views(records, "Time of a block against the number of active particles"),
        line_legend=[("broad", "expected by the model")],
        choice=_view_choice(blocks),
    )


def _draw_blocks(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    x = powers_axis(records, "active", _ACTIVE)
    y = log_axis(alt.Y, "seconds", numbers(records, "seconds", "low", "high"), "time of a block")
    tooltip = tips(
        "configuration:N engine",
        "active:Q,.0f active",
        "time:N median",
        "interval:N interval",
        "share_text:N not computing",
        "blocks:Q blocks in a run",
        "energy:N energy error",
    )
    measured = _in_choice("blocks")
    models = _in_choice("models").mark_line(strokeWidth=6, opacity=0.28, clip=True)
    return layered(
        models.encode(x=x, y=y, color=color(look), detail="runtime:N"),
        interval(measured, look, x, y),
        *line_with_points(measured, look, x, y, tooltip),
        height=320,
        view="ordinary",
        particles=records[0]["particles"],
    )


def _sharing_chart(blocks: Sequence[CurveInView], records: Sequence[Record]) -> Chart:
    loops = [
        point
        for curve, view in blocks
        if view == "ordinary" and curve.runtime in ("libgomp", "libomp")
        for point in curve.points
    ]
    heading = "The share of a block in which nobody computes"
    if loops:
        fewest = min(loops, key=lambda point: point.active)
        share = text.percent(fewest.shared_share)
        heading = f"Parallel loops spend {share} of the shortest blocks in starting, joining and waiting"
    return Chart(
        name="sharing",
        table="blocks",
        records=records,
        draw=partial(_draw_sharing, records),
        heading=heading,
        explanation=(
            "OpenMP: in loops the time of a block less the longest useful part of each stage, in one region "
            "the time in barriers. Members: the time in the one collective of the block, waiting for the "
            "others included."
        ),
        views=_views(records, "Share of a block that is not computing"),
        without=(SERIAL,),
        choice=_view_choice(blocks),
    )


def _draw_sharing(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    x = powers_axis(records, "active", _ACTIVE)
    axis = alt.Axis(title="share of the time", format="%", tickCount=5)
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=axis)
    tooltip = tips(
        "configuration:N engine", "active:Q,.0f active", "share_text:N not computing", "time:N block"
    )
    measured = _in_choice("blocks").transform_filter("datum.runtime !== 'serial'")
    lines = line_with_points(measured, look, x, y, tooltip)
    return layered(*lines, height=280, view="ordinary", particles=records[0]["particles"])


# -- sharing the targets against sharing the sources --


def _schemes(analysis: NbodyAnalysis) -> Iterator[Record]:
    """The targets' scheme by the sources', of each engine that has both."""
    sources: dict[tuple[str, int], BlockCurve] = {}
    for curve in analysis.curves:
        if "sources" in views_of(curve):
            sources.setdefault((curve.runtime, curve.particles), curve)
    for curve in analysis.curves:
        by_sources = sources.get((curve.runtime, curve.particles))
        if curve.kind == SERIAL or by_sources is None or "targets" not in views_of(curve):
            continue
        partners = {round(point.active): point for point in by_sources.points}
        for point in curve.points:
            partner = partners.get(round(point.active))
            if partner is not None:
                yield _place(curve, point) | {
                    "ratio": point.seconds / partner.seconds,
                    "targets": text.seconds(point.seconds),
                    "sources": text.seconds(partner.seconds),
                }


def _schemes_chart(analysis: NbodyAnalysis) -> Chart:
    records = list(_schemes(analysis))
    crossings: list[Record] = [
        {
            "situation": 0,
            "runtime": crossing.runtime,
            "particles": crossing.particles,
            "active": crossing.active,
            "low": crossing.low,
            "high": crossing.high,
            "crossing": f"from {crossing.active:.0f} active{text.interval(crossing.low, crossing.high, 0)}",
            "rounds": crossing.rounds,
        }
        for crossing in analysis.crossings
        if crossing.active is not None
    ]
    heading = "Sharing the targets against sharing the sources"
    for crossing in analysis.crossings:
        if crossing.runtime == OURS and crossing.active:
            heading = (
                f"With {crossing.particles:,} particles sharing the targets wins from about "
                f"{crossing.active:.0f} active, between threads"
            )
    return Chart(
        name="schemes",
        records=records,
        beside={"crossings": crossings},
        draw=partial(_draw_schemes, records, crossings),
        heading=heading,
        explanation=(
            "The time of the scheme that shares the targets by that of the one that shares the sources, in "
            "the same engine: below the line at 1 sharing the targets is faster. A dashed line stands where "
            "it becomes so, the median over the rounds; the bar below is its interval."
        ),
        views=_views(records, "Sharing the targets by sharing the sources against the active count"),
        line_legend=[("solid", "equal times")],
    )


def _draw_schemes(records: Sequence[Record], crossings: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    x = powers_axis(records, "active", _ACTIVE)
    bottom, top = padded([*numbers(records, "ratio"), 1.0], 1.08)
    engines = sorted({str(record["runtime"]) for record in crossings})
    bottom *= (bottom / top) ** (_BAR_SHARE * len(engines))  # room for the bars
    y = alt.Y(
        "ratio:Q",
        scale=alt.Scale(type="log", domain=[bottom, top], nice=False),
        axis=alt.Axis(title="sharing targets / sharing sources", format="~g", tickCount=5),
    )
    layers = [line_at_one(y)]
    if crossings:
        about = tips("runtime:N engine", "crossing:N targets win", "rounds:Q rounds")
        rule = _in_view("crossings").mark_rule(strokeWidth=2, strokeDash=[5, 4], opacity=0.8)
        layers.append(rule.encode(x=x, color=color(look), tooltip=about))
        low, at = x.copy(deep=True), y.copy(deep=True)
        low.shorthand, at.shorthand = "low:Q", "place:Q"
        place = f"{bottom} * pow({top / bottom}, {_BAR_SHARE} * (0.5 + indexof({engines}, datum.runtime)))"
        bars = _in_view("crossings").transform_filter("isValid(datum.low)").transform_calculate(place=place)
        bars = bars.mark_rule(strokeWidth=4, clip=True)
        layers.append(bars.encode(x=low, x2="high:Q", y=at, color=color(look), tooltip=about))
    tooltip = tips(
        "runtime:N engine",
        "active:Q,.0f active",
        "targets:N sharing the targets",
        "sources:N sharing the sources",
    )
    lines = line_with_points(_in_view("schemes"), look, x, y, tooltip)
    return layered(*layers, *lines, height=280, particles=records[0]["particles"])


# -- against one core, measured and expected --


def _speeds(analysis: NbodyAnalysis) -> Iterator[Record]:
    """The fastest configuration of each engine by one core, for each number of particles."""
    compared = [
        (curve, curve.to_serial)
        for curve in analysis.curves
        if curve.order == 4 and curve.to_serial is not None and curve.to_serial.value is not None
    ]
    fastest = {
        (curve.runtime, curve.particles): (curve, ratio)
        for curve, ratio in sorted(compared, key=lambda pair: pair[0].seconds, reverse=True)
    }
    for (runtime, particles), (curve, ratio) in sorted(fastest.items(), key=lambda item: item[0]):
        speed_up = ratio.inverse()
        yield {
            "situation": 0,
            "runtime": runtime,
            "particles": particles,
            "configuration": curve.label,
            "speed_up": speed_up.value,
            "low": speed_up.low,
            "high": speed_up.high,
            "time": text.seconds(curve.seconds),
            "energy": text.energy_error(curve.energy_error),
            "rounds": speed_up.rounds,
        }


def _speed_table(speeds: Sequence[Record]) -> tuple[list[int], list[tuple[str, list[Record | None]]]]:
    """The numbers of particles, and each engine's best at them."""
    counts = sorted({int(count) for count in numbers(speeds, "particles")})
    best = {(record["runtime"], record["particles"]): record for record in speeds}
    engines = sorted({str(record["runtime"]) for record in speeds})
    return counts, [(engine, [best.get((engine, count)) for count in counts]) for engine in engines]


def _speed_up_chart(analysis: NbodyAnalysis, records: Sequence[Record]) -> Chart:
    speed_up, most = max(zip(numbers(records, "speed_up"), records, strict=True), key=lambda pair: pair[0])
    return Chart(
        name="speedup",
        table="speeds",
        records=records,
        draw=partial(_draw_speed_up, records),
        heading=(
            f"The most is {speed_up:.2f} times one core: {name_of(str(most['runtime']))} with "
            f"{most['particles']:,} particles"
        ),
        explanation=(
            f"The mean block of one core by that of {text.count(analysis.members, 'member')} of each engine, "
            "in whichever of its ways is the fastest for that number of particles, paired within the rounds. "
            "The tooltip has the energy error of the run."
        ),
        views=single_view("Speed-up over one core against the number of particles."),
        line_legend=[("solid", "one core")],
    )


def _draw_speed_up(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    x = powers_axis(records, "particles", "particles")
    most = max([*numbers(records, "speed_up", "low", "high"), 1.0])
    axis = alt.Axis(title="times as fast as one core", tickCount=5)
    y = alt.Y("speed_up:Q", scale=alt.Scale(domain=[0, most * 1.05]), axis=axis)
    tooltip = tips(
        "configuration:N fastest way",
        "particles:Q,,d particles",
        "speed_up:Q,.2f times as fast",
        "time:N block",
        "energy:N energy error",
        "rounds:Q paired rounds",
    )
    measured = shown("speeds")
    return layered(
        line_at_one(y),
        interval(measured, look, x, y),
        *line_with_points(measured, look, x, y, tooltip),
        height=300,
    )


def _forecast_chart(analysis: NbodyAnalysis) -> Chart:
    records: list[Record] = [
        {
            "situation": 0,
            "particles": forecast.particles,
            "name": f"{forecast.particles:,}",
            "members": forecast.members,
            "speed_up": forecast.speed_up,
            "many": text.significant(forecast.speed_up_of_many),
            "energy": text.energy_error(forecast.energy_error),
            "crossing": "never" if forecast.crossing is None else f"from {forecast.crossing:.0f} active",
        }
        for forecast in analysis.forecasts
    ]
    errors = {forecast.particles: forecast.energy_error for forecast in analysis.forecasts}
    measured: list[Record] = [
        {
            "situation": 0,
            "particles": particles,
            "name": f"{particles:,}",
            "members": analysis.members,
            "speed_up": ratio.inverse().value,
            "energy": text.energy_error(errors.get(particles)),
        }
        for particles, ratio in analysis.measured_speed_ups
        if ratio.value is not None
    ]
    sixteen = [forecast.speed_up for forecast in analysis.forecasts if forecast.members == 16]
    heading = "What more cores would give"
    if sixteen:
        heading = (
            f"Sixteen such cores would give {min(sixteen):.1f} to {max(sixteen):.1f} times one core, says "
            "the model"
        )
    return Chart(
        name="forecast",
        table="forecasts",
        records=records,
        beside={"measured": measured},
        draw=lambda look: _draw_forecast(records, measured),
        heading=heading,
        explanation=(
            "A line for each number of particles, the largest the strongest; rings are measured here. The "
            "model has the constants of the run: a pair, a prediction, a correction, and the two collectives "
            "against their length. Assumed of more members: a collective’s latency grows with log2 p and its "
            "transfer with (p − 1)/p, and cores side by side are as fast as two of them are here."
        ),
        views=single_view("Expected speed-up against the number of cores."),
        line_legend=[("dashed", "as many times as there are cores")],
        has_legend=False,
    )


def _draw_forecast(records: Sequence[Record], measured: Sequence[Record]) -> Layers:
    x = powers_axis(records, "members", "cores")
    every = [*numbers(records, "speed_up", "members"), *numbers(measured, "speed_up")]
    y = alt.Y(
        "speed_up:Q",
        scale=alt.Scale(type="log", domain=padded(every, 1.2), nice=False),
        axis=alt.Axis(title="times as fast as one core", values=[1, 2, 4, 8, 16, 32], format="~g"),
    )
    order = list(dict.fromkeys(str(record["name"]) for record in records))
    opacity = alt.Opacity("name:O", sort=order, scale=alt.Scale(range=[0.35, 1.0]), legend=None)
    tooltip = tips(
        "name:N particles",
        "members:Q cores",
        "speed_up:Q,.1f expected",
        "many:N where all move",
        "energy:N energy error",
        "crossing:N targets win",
    )
    about = tips("name:N particles", "speed_up:Q,.2f measured here", "energy:N energy error")
    ours = f"var({styles([OURS])[0].variable})"
    expected = shown("forecasts")
    ends = max(numbers(records, "members"))
    ideal = alt.Chart(alt.InlineData(values=[{"members": cores, "speed_up": cores} for cores in (2, ends)]))
    labels = expected.transform_filter(f"datum.members === {ends:g}")
    rings = shown("measured").mark_point(size=190, filled=False, strokeWidth=2, stroke=INK)
    points = expected.mark_point(filled=True, size=80, fill=ours)
    return layered(
        ideal.mark_line(stroke=QUIET, strokeDash=[4, 4]).encode(x=x, y=y),
        expected.mark_line(stroke=ours, strokeWidth=2.4).encode(x=x, y=y, detail="name:N", opacity=opacity),
        points.encode(x=x, y=y, opacity=opacity, tooltip=tooltip),
        labels.mark_text(align="left", dx=9, fontSize=14, fill=QUIET).encode(x=x, y=y, text="name:N"),
        rings.encode(x=x, y=y, tooltip=about),
        height=340,
    )


# -- which blocks there are, and how right they are --


def _counts_chart(analysis: NbodyAnalysis) -> Chart:
    records: list[Record] = [
        {
            "situation": 0,
            "particles": count.particles,
            "active": count.active,
            "share": share,
            "of": of,
            "share_text": text.percent(share),
        }
        for count in analysis.counts
        for share, of in ((count.share_of_blocks, "blocks"), (count.share_of_time, "time"))
    ]
    largest = max((curve.particles for curve in analysis.curves), default=0)
    counts = [count for count in analysis.counts if count.particles == largest]
    heading = "How many particles move in a block"
    if counts:
        often = max(counts, key=lambda count: count.share_of_blocks)
        costly = max(counts, key=lambda count: count.share_of_time)
        heading = (
            f"Of {largest:,} particles mostly about {often.active:.0f} move in a block; blocks of about "
            f"{costly.active:.0f} take the most time"
        )
    return Chart(
        name="counts",
        records=records,
        draw=lambda look: _draw_counts(records),
        heading=heading,
        explanation="On one core, by classes of the active count from power of two to power of two.",
        views=_views(records, "Share of blocks and of time against the active count"),
        line_legend=[("solid", "of the time"), ("dashed", "of the blocks")],
        has_legend=False,
    )


def _draw_counts(records: Sequence[Record]) -> Layers:
    x = powers_axis(records, "active", _ACTIVE)
    axis = alt.Axis(title="share", format="%", tickCount=5)
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, max(numbers(records, "share")) * 1.1]), axis=axis)
    tooltip = tips("active:Q,.0f active", "of:N of all", "share_text:N share")
    layers: list[alt.Chart] = []
    both = _in_view("counts")
    for of, dash, stroke in (("blocks", [6, 4], QUIET), ("time", [1, 0], INK)):
        shares = both.transform_filter(f"datum.of === '{of}'")
        layers.append(shares.mark_line(strokeWidth=2, strokeDash=dash, stroke=stroke).encode(x=x, y=y))
        layers.append(shares.mark_point(filled=True, size=60, fill=stroke).encode(x=x, y=y, tooltip=tooltip))
    return layered(*layers, height=240, particles=records[0]["particles"])


def _accuracy_chart(analysis: NbodyAnalysis) -> Chart:
    records: list[Record] = [
        {
            "situation": 0,
            "runtime": curve.runtime,
            "configuration": curve.label,
            "particles": curve.particles,
            "order": f"order {curve.order}",
            "unit_seconds": curve.unit_seconds,
            "energy_error": curve.energy_error,
            "time": text.seconds(curve.unit_seconds),
            "error_text": text.energy_error(curve.energy_error),
        }
        for curve in analysis.curves
        if curve.unit_seconds is not None and curve.energy_error
    ]
    return Chart(
        name="accuracy",
        records=records,
        draw=partial(_draw_accuracy, records),
        heading="How right each of them is",
        explanation=(
            "The relative change of the total energy over the run against the time for a unit of time: left "
            "is fast, low is right. Large marks are of the 6th order. Engines of one scheme end with the "
            "same bits, so they differ in their time alone."
        ),
        views=_views(records, "Energy error against the time for a unit of time"),
    )


def _draw_accuracy(records: Sequence[Record], look: list[RuntimeStyle]) -> Layers:
    title = "time for an N-body unit of time"
    x = log_axis(alt.X, "unit_seconds", numbers(records, "unit_seconds"), title, padding=1.3, grid=False)
    y = alt.Y(
        "energy_error:Q",
        scale=alt.Scale(type="log", domain=padded(numbers(records, "energy_error"), 1.6), nice=False),
        axis=alt.Axis(title="relative energy error", format=".0e", tickCount=5),
    )
    engine = ("configuration:N engine", "particles:Q,,d particles")
    tooltip = tips(*engine, "time:N unit of time", "error_text:N energy error")
    size = alt.condition("datum.order === 'order 6'", alt.value(190), alt.value(80))
    points = _in_view("accuracy").mark_point(filled=True, opacity=0.9, stroke="var(--page)", strokeWidth=1)
    return layered(
        points.encode(x=x, y=y, color=color(look), shape=shape(look), size=size, tooltip=tooltip),
        height=260,
        particles=records[0]["particles"],
    )


# -- the table of all configurations --


def _filters(analysis: NbodyAnalysis) -> list[Filter]:
    """One number of particles at first: times of different ones in one list say nothing."""
    particles = sorted({curve.particles for curve in analysis.curves})
    middle = particles[len(particles) // 2] if particles else ""
    return [
        Filter("particles", "Particles", [(count, f"{count:,}") for count in particles], middle),
        Filter("order", "Order", [(4, "4"), (6, "6")], 4),
    ]


def _configurations(analysis: NbodyAnalysis) -> list[Record]:
    fastest: dict[tuple[int, int], float] = {}
    for curve in analysis.curves:
        key = (curve.particles, curve.order)
        fastest[key] = min(curve.seconds, fastest.get(key, curve.seconds))
    return [
        table_row(
            curve,
            _FIRST_COLUMNS,
            relative=curve.seconds / fastest[curve.particles, curve.order],
            shared=curve.shared_share,
            energy=text.energy_error(curve.energy_error),
            pairs=text.quantity(curve.pairs_per_second, ""),
        )
        | spent.record(curve.spent)
        for curve in analysis.curves
    ]
