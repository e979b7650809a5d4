"""The table that ``make bench`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

_WORDS = {True: "yes", False: "NO", None: "not judged"}


def figure(value: float | None, unit: str) -> str:
    """``0.42``, ``18 ns``, ``12 loops``; a dash for what is not known."""
    if value is None:
        return "–"
    if unit == "ratio":
        return f"{value:.3f}"
    return f"{value:.3g} {unit}" if unit else f"{value:.3g}"


def interval(row: Mapping[str, Any]) -> str:
    """``0.42 [0.40, 0.45]``; without bounds the figure alone."""
    unit = str(row.get("unit", "ratio"))
    centre = figure(row["ratio"], unit)
    if row["low"] is None or row["high"] is None:
        return centre
    bounds = ", ".join(figure(row[side], "ratio" if unit == "ratio" else "") for side in ("low", "high"))
    return f"{centre} [{bounds}]"


def render(rows: Iterable[Mapping[str, Any]], *, cells: bool = False) -> Table:
    """The rows as a table: of each benchmark its own row, and with `cells` those of its cells too."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("what")
    table.add_column("peer")
    table.add_column("ratio [interval]", no_wrap=True)
    table.add_column("target", no_wrap=True)
    table.add_column("met", no_wrap=True)
    for row in rows:
        if not cells and "/" in str(row["id"]):
            continue
        what = str(row["what"]) + (f". {row['note']}" if row.get("note") else "")
        target = f"≤ {figure(row['target'], str(row.get('unit', 'ratio'))).rstrip('0').rstrip('.')}"
        if row.get("unit", "ratio") != "ratio":
            target = f"≤ {figure(row['target'], str(row['unit']))}"
        style = "red" if row["met"] is False else "yellow" if row["met"] is None else None
        table.add_row(
            str(row["id"]), what, str(row["peer"]), interval(row), target, _WORDS[row["met"]], style=style
        )
    return table


def text(rows: Iterable[Mapping[str, Any]], *, cells: bool = False, width: int = 150) -> str:
    """The table without colours, for files and tests."""
    console = Console(width=width, no_color=True, force_terminal=False)
    with console.capture() as captured:
        console.print(render(rows, cells=cells))
    return captured.get()
