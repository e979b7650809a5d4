"""What a page is made of: charts with their tables, what is said of each, and the table of configurations.

Every record carries the numbers to draw and, as text, what its tooltip says. The tables are embedded once
for all charts, with five significant digits: a full study stays far below the size limit. Headings are
computed: each states the finding of the numbers below it, and says nothing that they do not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import altair as alt

from tautochrone import text
from tautochrone.report.drawing import (
    Layers,
    bars,
    color,
    finished,
    layered,
    line_at_one,
    marks,
    numbers,
    padded,
    per_runtime,
    ratio_axis,
    shown,
    tips,
)
from tautochrone.report.palette import RuntimeStyle, runtime_key, styles
from tautochrone.report.parts import Choice, Column, Figure, Filter, Parts, Record, View
from tautochrone.results.runs import PeerRatio
from tautochrone.results.states import state_title
from tautochrone.verdicts import Ratio, Verdict


class Timed(Protocol):
    """A median time and its interval."""

    @property
    def seconds(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def verdict_counts(ratios: Iterable[Ratio]) -> str:
    """In how many cells ours is faster, slower or neither; empty when nothing was compared."""
    counted = Counter(ratio.verdict for ratio in ratios)
    total = sum(counted.values())
    if counted["not measured"] == total:
        return ""
    words: dict[Verdict, str] = {
        "faster": "faster than the best peer in",
        "slower": "slower than the best peer in",
        "no difference resolved": "no difference resolved in",
        "not measured": "not measured in",
    }
    parts = [f"{words[verdict]} {counted[verdict]}" for verdict in words if counted[verdict]]
    parts[0] += f" of {text.count(total, 'case')}"
    return "; ".join(parts)


def views(records: Sequence[Record], situations: Sequence[Mapping[str, float]], what: str) -> list[View]:
    """One view for each situation that the table has something of."""
    found = []
    for index, emulated in enumerate(situations):
        if any(record["situation"] == index for record in records):
            place = state_title(emulated)
            found.append(View(caption(situations, index), {"situation": index}, f"{what}. {place}."))
    return found


def single_view(description: str) -> list[View]:
    """The one view of a chart that has nothing to choose from."""
    return [View("", {"situation": 0}, description)]


def caption(situations: Sequence[Mapping[str, float]], index: int) -> str:
    """The name of a situation; one undisturbed machine needs none, an emulated one is always labelled."""
    return state_title(situations[index]) if situations[index] or len(situations) > 1 else ""


def timed(measured: Timed, too_few: str = "too few rounds") -> Record:
    """A median with its interval, to draw and as text."""
    return {
        "seconds": measured.seconds,
        "low": measured.low,
        "high": measured.high,
        "time": text.seconds(measured.seconds),
        "interval": text.seconds_interval(measured.low, measured.high) or too_few,
    }


def compared(ratio: Ratio) -> Record:
    """A ratio with its interval and verdict."""
    return {
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "ratio_text": text.ratio(ratio),
        "verdict": ratio.verdict,
        "rounds": ratio.rounds,
    }


def ratio_records(peers: Iterable[PeerRatio], place: Record) -> Iterator[Record]:
    """What the chart of ratios draws of a cell: every peer with a verdict."""
    for peer in peers:
        if peer.ratio.value is not None:
            of_peer = {
                "runtime": runtime_key(peer.runtime),
                "configuration": peer.configuration,
                "role": peer.role,
            }
            yield place | of_peer | compared(peer.ratio)


def table_row(finding: object, columns: Sequence[Column], **computed: object) -> Record:
    """A line of the table of all configurations: `computed`, and the finding's fields of the other columns.

    An interval needs its high end as well; the status is the finding's error.
    """
    names = [name for name, _, _ in columns]
    names += ["high"] if "low" in names else []
    if "status" in names and not computed.get("status"):
        error = getattr(finding, "error", None)
        computed["status"] = f"failed: {error}" if error else ""
    return {name: getattr(finding, name) for name in names if name not in computed} | computed


def columns(table: Sequence[Record]) -> dict[str, object]:
    """A table as {"names", "rows"}; text that repeats is replaced by its index in "words"."""
    names = list(dict.fromkeys(name for record in table for name in record))
    words: dict[str, int] = {}
    rows: list[list[object]] = []
    for record in table:
        row: list[object] = []
        for name in names:
            value = record.get(name)
            if isinstance(value, str):
                # a list of one marks an index into the words, so that numbers stay numbers
                row.append([words.setdefault(value, len(words))])
            else:
                row.append(_rounded(value))
        rows.append(row)
    return {"names": names, "words": list(words), "rows": rows}


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value


Draw = Callable[[list[RuntimeStyle]], Layers]
"""Draws a chart in the looks of all the page's runtimes."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart with its table; without records there is no chart.

    ``shows``: for a screen reader, where ``views`` do not say it. ``table``: where two charts share one.
    ``beside``: other tables that it draws. ``views``: None for one for each state of the machine that the
    table has something of.
    """

    name: str
    records: Sequence[Record]
    draw: Draw
    heading: str
    explanation: str
    shows: str = ""
    table: str = ""
    beside: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    line_legend: Sequence[tuple[str, str]] = ()
    choice: Choice | None = None
    views: Sequence[View] | None = None
    without: Sequence[str] = ()  # runtimes that the legend leaves out
    has_legend: bool = True

    def figure(self, situations: Sequence[Mapping[str, float]], look: Sequence[RuntimeStyle]) -> Figure:
        """The chart as the page's template wants it; `look`: of all the page's runtimes."""
        drawn = {str(record["runtime"]) for record in self.records} if self.has_legend else set()
        found = views(self.records, situations, self.shows) if self.views is None else list(self.views)
        return Figure(
            name=self.name,
            heading=self.heading,
            explanation=self.explanation,
            views=found,
            legend=[style for style in look if style.key in drawn - set(self.without)],
            line_legend=list(self.line_legend),
            choice=self.choice,
        )


def ratio_chart(
    records: Sequence[Record],
    field: str,
    title: str,
    cells: Sequence[int] | Sequence[str],
    *,
    heading: str,
    shows: str,
) -> Chart:
    """Our time by each peer's, at the peer's best or with no settings, as the reader chooses.

    A line of the chart for each of ``cells`` (values of ``field``, called ``title``).
    """
    roles = {str(record["role"]) for record in records}
    options: list[tuple[object, str]] = [
        (role, label)
        for role, label in (("best", "each peer at its best"), ("default", "each peer with no settings"))
        if role in roles
    ]

    def draw(look: list[RuntimeStyle]) -> Layers:
        every = [*numbers(records, "ratio", "low", "high"), 1.0]
        scale = alt.Scale(type="log", domain=padded(every, 1.06), nice=False)
        x = alt.X("ratio:Q", scale=scale, axis=ratio_axis("our time / their time", every))
        y = alt.Y(f"{field}:O", sort=cells, axis=alt.Axis(title=title, domain=False, ticks=False))
        offset, runtimes = per_runtime(look, records)
        drawn = shown("ratios").transform_filter("datum.role === role")
        tooltip = tips(
            "configuration:N against",
            f"{field}:O {title}",
            "ratio_text:N ratio",
            "verdict:N ours is",
            "rounds:Q paired rounds",
        )
        return layered(
            line_at_one(x),
            bars(drawn, x, y=y, yOffset=offset, color=color(look)),
            marks(drawn, look, x=x, y=y, yOffset=offset, tooltip=tooltip),
            height=max(140, len(cells) * max(34, 15 * runtimes + 10)),
            role="best",
        )

    return Chart(
        name="ratio",
        table="ratios",
        records=records,
        draw=draw,
        heading=heading,
        shows=shows,
        explanation=(
            "Our time divided by theirs in the same rounds: left of the line at 1 we are faster. "
            "The bar is the interval of the paired median; where it crosses 1, no difference is "
            "resolved."
        ),
        line_legend=[("solid", "equal times")],
        choice=Choice("role", "Compare with", options, options[0][0]) if options else None,
    )


def machine_filter(situations: Sequence[Mapping[str, float]], chosen: object) -> Filter:
    """The choice of a state of the machine above the table of all configurations."""
    places = [(index, state_title(emulated)) for index, emulated in enumerate(situations)]
    return Filter("situation", "Machine", places, chosen)


def page_parts(
    template: str,
    charts: Iterable[Chart],
    *,
    situations: Sequence[dict[str, float]],
    runtimes: Iterable[str] | None = None,
    configurations: Sequence[Record],
    columns: Sequence[Column],
    filters: Sequence[Filter],
    **more: Any,
) -> Parts:
    """A page's parts from its charts, in their order; `more` is what its template needs beside them.

    `runtimes`: those that get a colour, with those of the charts; by default those of the configurations.
    """
    drawn = [chart for chart in charts if chart.records]
    tables: dict[str, Sequence[Record]] = {}
    for chart in drawn:
        tables |= {chart.table or chart.name: chart.records, **chart.beside}
    listed = (record["runtime"] for record in configurations) if runtimes is None else runtimes
    of_charts = (record["runtime"] for table in tables.values() for record in table if "runtime" in record)
    known = sorted({str(runtime) for runtime in (*listed, *of_charts)})
    look = styles(known)
    return Parts(
        template=template,
        tables=tables,
        charts={chart.name: finished(chart.draw(look)) for chart in drawn},
        figures=[chart.figure(situations, look) for chart in drawn],
        situations=situations,
        runtimes=known,
        configurations=configurations,
        columns=columns,
        filters=filters,
        more=more,
    )
