"""A comparison for readers: on a terminal, to paste as Markdown or CSV, for programs as JSON."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from tautochrone import text
from tautochrone.comparing.analysis import objective_of
from tautochrone.comparing.result import FIGURES, Compared, Side
from tautochrone.errors import printable
from tautochrone.report.summary import cell
from tautochrone.verdicts import NO_DIFFERENCE

if TYPE_CHECKING:
    from rich.console import Console

_STRIP_WIDTH = 50
_LEAST_WIDTH = 20
_LEVELS = " .:-=+*#%@"
_NAME_WIDTH = 28
_PAIR = 2
_BESIDE = tuple(FIGURES.values())[1:]
"""The columns of a second table on terminals, which the first has no room for."""


def _plain(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{value:.3g}"


_COLUMNS: dict[str, Callable[[float | None], str]] = {
    "cpu_seconds": text.seconds,
    "max_rss_bytes": text.binary_bytes,
    "switches": _plain,
    "faults": _plain,
    "joules": lambda value: text.quantity(value, "J"),
    "instructions": lambda value: text.quantity(value, ""),
    "cycles": lambda value: text.quantity(value, ""),
    "branch_misses": lambda value: text.quantity(value, ""),
    "cache_misses": lambda value: text.quantity(value, ""),
}
FALSIFIER = (
    "An interval that holds 1.00 resolves no difference; of comparisons of identical programs, at most 1 in "
    "100 says one"
)


def as_json(found: Compared) -> str:
    """The typed result as one JSON object of schema `tautochrone.compared/1`."""
    return text.as_json(found)


def rows(found: Compared) -> tuple[list[str], list[list[str]]]:
    """The table: its headings, and a line for each command."""
    objective = objective_of(found.objective)
    unit = "median" if found.objective != "time" else "time"
    shown = [name for name in _COLUMNS if any(side.others.get(name) is not None for side in found.sides)]
    ratios = bool(found.rivals)
    starts = any(side.start_seconds is not None for side in found.sides)
    own = any(side.own_seconds is not None for side in found.sides)
    headings = [
        *("command", unit, *["of it start"] * starts, *["by itself"] * own, *["ratio", "interval"] * ratios),
        *(*(FIGURES[name] for name in shown), "rounds", *["it is"] * ratios),
    ]
    lines = []
    for side in found.sides:
        ratio, interval = text.ratio_parts(side.ratio) if side.ratio is not None else ("1.00", "")
        line = [
            side.name,
            text.UNKNOWN if side.figure is None else objective.written(side.figure),
            *[text.seconds(side.start_seconds)] * starts,
            *[text.seconds(side.own_seconds)] * own,
            *[ratio, interval] * ratios,
            *(_COLUMNS[name](side.others.get(name)) for name in shown),
            str(len(side.points)),
            *[_said(found, side)] * ratios,
        ]
        lines.append(line)
    return headings, lines


def _said(found: Compared, side: Side) -> str:
    if side.ratio is None:
        return "the reference"
    if side.ratio.verdict == "faster":
        return found.less[0]
    if side.ratio.verdict == "slower":
        return found.less[1]
    return "not resolved" if side.ratio.verdict == NO_DIFFERENCE else "cannot be told"


def as_markdown(found: Compared) -> str:
    """The answer, the table and what stood in the way."""
    headings, lines = rows(found)
    table = [headings, ["---"] * len(headings), *lines]
    parts = [found.answer, "", *("| " + " | ".join(map(cell, line)) + " |" for line in table)]
    if found.rivals:
        parts += ["", f"{FALSIFIER}."]
    if len(found.sides) == _PAIR:
        names, cells = beside(found)
        parts += [
            "",
            *(f"| {' | '.join(map(cell, line))} |" for line in [names, ["---"] * len(names), *cells]),
        ]
    if found.remarks:
        parts += ["", *(f"- {printable(remark)}." for remark in found.remarks)]
    return "\n".join(parts)


def as_csv(found: Compared) -> str:
    """A line for each command, with plain numbers; empty where nothing is known."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    ends = ("ratio", "low", "high")
    writer.writerow(
        ["name", "figure", "figure_low", "figure_high", *ends, "verdict", "rounds", *FIGURES, "error"]
    )
    for side in found.sides:
        ratio = side.ratio
        writer.writerow(
            [
                side.name,
                side.figure,
                side.low,
                side.high,
                *((ratio.value, ratio.low, ratio.high, ratio.verdict) if ratio else (None, None, None, None)),
                len(side.points),
                *(side.others.get(name) for name in FIGURES),
                side.error,
            ]
        )
    return out.getvalue().removesuffix("\n")


def show(found: Compared, console: Console) -> None:
    """The answer first; then the table, the runs as strips, what stood in the way."""
    from rich.table import Table

    console.print(printable(found.answer), markup=False, highlight=False, style="bold")
    console.print()
    headings, lines = rows(found)
    first = [place for place, heading in enumerate(headings) if heading not in _BESIDE]
    second = [0, *(place for place, heading in enumerate(headings) if heading in _BESIDE)]
    tables = [_columns(headings, lines, first)]
    tables.append(_columns(headings, lines, second) if len(found.sides) > _PAIR else beside(found))
    for names, cells in tables:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for place, name in enumerate(names):
            is_word = place == 0 or name == "it is"
            side: Literal["left", "right"] = "left" if is_word else "right"
            table.add_column(printable(name), justify=side, overflow="fold", no_wrap=not is_word)
        for line in cells:
            table.add_row(*map(printable, line))
        console.print(table, markup=False, highlight=False)
        console.print()
    for strip in strips(found, console.width):
        console.print(strip, markup=False, highlight=False, no_wrap=True, overflow="crop")
    if found.rivals:
        console.print(f"\n{FALSIFIER}.", markup=False, highlight=False, style="dim")
    for remark in found.remarks:
        console.print(f"Note: {printable(remark)}.", markup=False, highlight=False)
    if found.folder:
        console.print(f"Rows: {printable(found.folder)}", markup=False, highlight=False, style="dim")


def _columns(
    headings: Sequence[str], lines: Sequence[Sequence[str]], chosen: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    return [headings[place] for place in chosen], [[line[place] for place in chosen] for line in lines]


def beside(found: Compared) -> tuple[list[str], list[list[str]]]:
    """The figures beside the one that is compared, a line each; of a pair with their ratio and interval."""
    shown = [name for name in _COLUMNS if any(side.others.get(name) is not None for side in found.sides)]
    rivals = found.rivals[:1]
    headings = ["beside it", *(side.name for side in found.sides), *(("ratio", "interval") if rivals else ())]
    lines = []
    for name in shown:
        line = [FIGURES[name], *(_COLUMNS[name](side.others.get(name)) for side in found.sides)]
        for side in rivals:
            line += text.ratio_parts(side.ratios[name]) if name in side.ratios else ("", "")
        lines.append(line)
    return headings, lines


def strips(found: Compared, width: int) -> list[str]:
    """The runs of each command on one common axis: the darker, the more runs; | is the median."""
    sides = [side for side in found.sides if side.points]
    points = [point for side in sides for point in side.points]
    if len(sides) == 0 or len(points) < 2 or max(points) <= min(points):
        return []
    objective = objective_of(found.objective)
    low, high = _ends([side.points for side in sides])
    names = [printable(side.name)[:_NAME_WIDTH] for side in sides]
    longest = max(map(len, names))
    columns = max(_LEAST_WIDTH, min(_STRIP_WIDTH, width - longest - 4))
    lines = []
    for name, side in zip(names, sides, strict=True):
        lines.append(f"{name:<{longest}}  {_strip(side.points, low, high, columns)}")
    first, last = objective.written(low), objective.written(high)
    lines.append(f"{'':<{longest}}  {first}{last:>{max(columns - len(first), len(last) + 1)}}")
    return lines


def _ends(several: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The axis: all points, but for the few that are so far that the others would be one column."""
    points = sorted(point for one in several for point in one)
    cut = len(points) // 50
    low, high = points[0], points[len(points) - 1 - cut]
    return (low, high) if high > low else (points[0], points[-1])


def _strip(points: Sequence[float], low: float, high: float, columns: int) -> str:
    counts = [0] * columns
    for point in points:
        counts[_column(point, low, high, columns)] += 1
    most = max(counts)
    marks = [_LEVELS[math.ceil(count / most * (len(_LEVELS) - 1))] if count else " " for count in counts]
    marks[_column(statistics.median(points), low, high, columns)] = "|"
    return "".join(marks)


def _column(point: float, low: float, high: float, columns: int) -> int:
    return max(0, min(columns - 1, int((point - low) / (high - low) * columns)))


FORMATS: dict[str, Callable[[Compared], str]] = {"json": as_json, "markdown": as_markdown, "csv": as_csv}
