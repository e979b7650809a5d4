"""A figure of the page: a heading that says what one sees, a plain explanation, and one view a situation.

Headings are computed: each states the finding of the numbers below it, and says nothing that they do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tautochrone.report import text
from tautochrone.report.analysis_types import Ratio, Verdict
from tautochrone.report.palette import RuntimeStyle, styles
from tautochrone.report.tables import Record


class View(msgspec.Struct, frozen=True):
    """One drawing of a chart: caption, the parameters that the page sets, text for a screen reader."""

    caption: str
    parameters: dict[str, object]
    description: str


class Choice(msgspec.Struct, frozen=True):
    """A parameter that the reader may choose: (value, what people read)."""

    parameter: str
    label: str
    options: list[tuple[object, str]]
    chosen: object


class Figure(msgspec.Struct, frozen=True):
    """A heading, its explanation, and the views below it."""

    name: str
    heading: str
    explanation: str
    views: list[View]
    legend: list[RuntimeStyle]
    line_legend: list[tuple[str, str]] = []  # (CSS class of a sample line, meaning)
    choice: Choice | None = None


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
            place = text.situation(emulated)
            found.append(View(caption(situations, index), {"situation": index}, f"{what}. {place}."))
    return found


def caption(situations: Sequence[Mapping[str, float]], index: int) -> str:
    """The name of a situation; one undisturbed machine needs none, an emulated one is always labelled."""
    return text.situation(situations[index]) if situations[index] or len(situations) > 1 else ""


def legend(records: Iterable[Record], without: Iterable[str] = ()) -> list[RuntimeStyle]:
    """The runtimes of a table."""
    return styles({str(record["runtime"]) for record in records} - set(without))


def ratio_figure(records: Sequence[Record], heading: str, views: list[View]) -> Figure:
    """Our time by each peer's, at the peer's best or with no settings, as the reader chooses."""
    roles = {str(record["role"]) for record in records}
    options: list[tuple[object, str]] = [
        (role, label)
        for role, label in (("best", "each peer at its best"), ("default", "each peer with no settings"))
        if role in roles
    ]
    return Figure(
        name="ratio",
        heading=heading,
        explanation=(
            "Our time divided by theirs in the same rounds: left of the line at 1 we are faster. "
            "The bar is the interval of the paired median; where it crosses 1, no difference is "
            "resolved."
        ),
        views=views,
        legend=legend(records),
        line_legend=[("solid", "equal times")],
        choice=Choice("role", "Compare with", options, options[0][0]) if options else None,
    )
