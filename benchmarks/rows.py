"""Rows of the table and of ``bench.json``: what they hold, where they are kept, how they are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from rich.table import Table

from tautochrone.files import write_whole
from tautochrone.results.lines import Record
from tautochrone.verdicts import Comparison, Interval

RATIO = "ratio"
SCHEMA = "tautochrone.benchmarks/1"
_WORDS = {True: "yes", False: "NO", None: "not judged"}


@dataclass(frozen=True)
class Entry:
    """A measured figure beside its target.

    `ratio` is the figure that is held against `target`, in `unit`: for unit ``ratio`` the median over rounds
    of our time over the peer's, else what the unit says. `low` and `high` bound it with `confidence`; they
    are None for fewer than eight rounds, and then `met` is None too. `met` compares the median. A row of
    one cell has the id of its benchmark, a slash and the cell.
    """

    id: str
    what: str
    peer: str
    ratio: float | None
    low: float | None
    high: float | None
    target: float
    met: bool | None
    machine: str = ""
    when: str = ""
    unit: str = RATIO
    cell: str | None = None
    confidence: float | None = None
    rounds: int = 0
    note: str = ""
    load: Mapping[str, object] | None = None

    @property
    def benchmark(self) -> str:
        """The id without the cell."""
        return benchmark_of(self.id)


def benchmark_of(identifier: object) -> str:
    """``B4`` of ``B4/a/1000:4``."""
    return str(identifier).partition("/")[0]


def filled(row: Entry, measured: Comparison | Interval) -> Entry:
    """The row with its figure: of paired rounds, or of one value a round."""
    if isinstance(measured, Comparison):
        ratio, rounds = measured.ratio, measured.rounds
    else:
        ratio, rounds = measured.median, measured.count
    judged = ratio is not None and measured.low is not None
    return replace(
        row,
        ratio=ratio,
        low=measured.low,
        high=measured.high,
        met=ratio <= row.target if judged and ratio is not None else None,
        confidence=measured.confidence,
        rounds=rounds,
    )


def all_met(verdicts: Iterable[bool | None]) -> bool | None:
    """False where one target is missed; None where one is not judged."""
    found = set(verdicts)
    return False if False in found else None if None in found else True


def worst_of(own: Entry, cells: Sequence[Entry], missing: str = "") -> Entry:
    """The row `own` with the figure of the cell that is farthest above its target, judged by all of them."""
    known = [cell for cell in cells if cell.ratio is not None]
    if not known:
        why = list(dict.fromkeys(cell.note for cell in cells)) or ["no cell was measured"]
        return replace(own, note=joined(*why, missing))
    worst = max(known, key=lambda cell: (cell.ratio or 0.0) / cell.target)
    missed = ", ".join(cell.cell or "" for cell in cells if cell.met is False)
    unknown = ", ".join(cell.cell or "" for cell in cells if cell.met is None)
    note = joined(
        f"worst of {len(cells)}: {worst.cell}",
        f"missed at {missed}" if missed else "",
        f"not judged: {unknown}" if unknown else "",
        missing,
    )
    one_target = len({cell.target for cell in cells}) == 1
    return replace(
        worst,
        id=own.id,
        what=own.what,
        met=all_met(cell.met for cell in cells),
        note=note,
        cell=worst.cell if one_target else "",
    )


def joined(*notes: str) -> str:
    """Notes in one line, the empty ones left out."""
    return "; ".join(note for note in notes if note)


class Results:
    """``bench.json``: the rows so far, written anew after each so that a kill loses nothing.

    Rows of benchmarks that are not measured this time stay as they were.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kept: list[Record] = _read(path) if path is not None and path.exists() else []
        self.entries: list[Entry] = []

    def begin(self, benchmark: str) -> None:
        """Forget what an earlier run said of this benchmark, which is measured anew."""
        self._kept = [row for row in self._kept if benchmark_of(row["id"]) != benchmark]

    def add(self, entry: Entry) -> None:
        """Append a row, and write the file."""
        self.entries.append(entry)
        self.write()

    def replace(self, benchmark: str, entries: list[Entry]) -> None:
        """The final rows of a benchmark in place of those that it added."""
        self.entries = [row for row in self.entries if row.benchmark != benchmark] + entries
        self.write()

    def rows(self) -> list[Record]:
        """All rows as JSON has them, by id; a benchmark's own row stands before its cells."""
        rows = [*self._kept, *(asdict(row) for row in self.entries)]
        return sorted(rows, key=lambda row: benchmark_of(row["id"]))

    def write(self) -> None:
        """Write the file whole, or leave the old one."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(self.rows(), indent=1) + "\n")

    def copy(self, folder: Path, machine: Mapping[str, object], when: datetime) -> Path:
        """Write the rows with the machine's record as ``<folder>/YYYY-MM-DD-<machine>.json``."""
        path = folder / f"{when:%Y-%m-%d}-{machine.get('machine', 'unknown')}.json"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(dated(machine, self.rows()))
        return path


def dated(machine: Mapping[str, object], rows: Iterable[Mapping[str, object]]) -> str:
    """The JSON of a dated copy: the machine in one line, and each row in one."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return (
        f'{{"schema": {json.dumps(SCHEMA)},\n"machine": {json.dumps(machine, ensure_ascii=False)},\n'
        f'"rows": [\n{lines}\n]}}\n'
    )


def _read(path: Path) -> list[Record]:
    """The rows of an earlier run; none where the file is not what we write."""
    try:
        rows = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    return [row for row in rows if isinstance(row, dict) and "id" in row] if isinstance(rows, list) else []


# -- the table --


def figure(value: float | None, unit: str) -> str:
    """``0.42``, ``18 ns``, ``12 loops``; a dash for what is not known."""
    if value is None:
        return "–"
    if unit == RATIO:
        return f"{value:.3f}"
    return f"{value:.3g} {unit}" if unit else f"{value:.3g}"


def interval(row: Record) -> str:
    """``0.42 [0.40, 0.45]``; without bounds the figure alone."""
    unit = str(row.get("unit", RATIO))
    centre = figure(row["ratio"], unit)
    if row["low"] is None or row["high"] is None:
        return centre
    bounds = ", ".join(figure(row[side], RATIO if unit == RATIO else "") for side in ("low", "high"))
    return f"{centre} [{bounds}]"


def target_text(target: float, unit: str) -> str:
    """``≤ 0.45``, ``≤ 40 ns``."""
    text = figure(target, unit)
    return f"≤ {text.rstrip('0').rstrip('.') if unit == RATIO else text}"


def render(rows: Iterable[Record], *, cells: bool = False) -> Table:
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
        target = target_text(row["target"], str(row.get("unit", RATIO)))
        style = "red" if row["met"] is False else "yellow" if row["met"] is None else None
        table.add_row(
            str(row["id"]), what, str(row["peer"]), interval(row), target, _WORDS[row["met"]], style=style
        )
    return table
