"""One row of the table and of ``bench.json``: what was held against which target, and what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tautochrone.statistics import Comparison, Interval
from tautochrone.whole_file import write_whole

RATIO = "ratio"


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
    load: Mapping[str, Any] | None = None

    @property
    def benchmark(self) -> str:
        """The id without the cell."""
        return benchmark_of(self.id)


def benchmark_of(identifier: object) -> str:
    """``B4`` of ``B4/a/1000:4``."""
    return str(identifier).partition("/")[0]


def of_comparison(
    identifier: str, what: str, peer: str, found: Comparison, target: float, **more: Any
) -> Entry:
    """The row of a comparison of paired rounds."""
    judged = found.ratio is not None and found.low is not None
    return Entry(
        id=identifier,
        what=what,
        peer=peer,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        target=target,
        met=found.ratio <= target if judged and found.ratio is not None else None,
        confidence=found.confidence,
        rounds=found.rounds,
        **more,
    )


def of_interval(
    identifier: str, what: str, peer: str, found: Interval, target: float, unit: str, **more: Any
) -> Entry:
    """The row of a figure that is no ratio, one value a round."""
    return Entry(
        id=identifier,
        what=what,
        peer=peer,
        ratio=found.median,
        low=found.low,
        high=found.high,
        target=target,
        met=found.median <= target if found.low is not None else None,
        unit=unit,
        confidence=found.confidence,
        rounds=found.count,
        **more,
    )


def not_measured(identifier: str, what: str, peer: str, target: float, why: str, **more: Any) -> Entry:
    """The row of what could not be measured, with the reason."""
    return Entry(identifier, what, peer, None, None, None, target, None, note=why, **more)


def worst(identifier: str, what: str, cells: list[Entry], target: float) -> Entry:
    """The row of a target that holds in every cell: the cell with the largest figure, or one without any."""
    unknown = [cell for cell in cells if cell.met is None]
    known = [cell for cell in cells if cell.ratio is not None]
    if not known:
        return not_measured(identifier, what, "", target, "no cell was measured")
    largest = max(known, key=lambda cell: cell.ratio or 0.0)
    missed = [cell.cell or "" for cell in cells if cell.met is False]
    note = f"worst of {len(cells)}: {largest.cell}"
    note += f"; missed at {', '.join(missed)}" if missed else ""
    note += f"; not judged: {', '.join(cell.cell or '' for cell in unknown)}" if unknown else ""
    return replace(
        largest,
        id=identifier,
        what=what,
        target=target,
        met=False if missed else None if unknown else True,
        note=note,
    )


def farthest(identifier: str, what: str, cells: Sequence[Entry], missing: str = "") -> Entry:
    """The cell that is farthest above its own target, as the row of all of them."""
    known = [one for one in cells if one.ratio is not None]
    if not known:
        notes = dict.fromkeys(one.note for one in cells)
        return not_measured(identifier, what, "", 1.0, joined(*notes, missing))
    far = max(known, key=lambda one: (one.ratio or 0.0) / one.target)
    verdicts = [one.met for one in cells]
    met = False if False in verdicts else None if None in verdicts else True
    missed = ", ".join(str(one.cell) for one in cells if one.met is False)
    note = joined(f"farthest from its target: {far.cell}", f"missed: {missed}" if missed else "", missing)
    return replace(far, id=identifier, what=what, met=met, note=note, cell="")


def joined(*notes: str) -> str:
    """Notes in one line, the empty ones left out."""
    return "; ".join(note for note in notes if note)


class Results:
    """``bench.json``: the rows so far, written anew after each so that a kill loses nothing.

    Rows of benchmarks that are not measured this time stay as they were.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kept: list[dict[str, Any]] = _read(path) if path is not None and path.exists() else []
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
        self.entries = [one for one in self.entries if one.benchmark != benchmark] + entries
        self.write()

    def rows(self) -> list[dict[str, Any]]:
        """All rows as JSON has them, by id; a benchmark's own row stands before its cells."""
        rows = [*self._kept, *(asdict(one) for one in self.entries)]
        return sorted(rows, key=lambda row: benchmark_of(row["id"]))

    def write(self) -> None:
        """Write the file whole, or leave the old one."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(self.rows(), indent=1) + "\n")

    def copy(self, folder: Path, machine: Mapping[str, Any], when: datetime) -> Path:
        """Write the rows with the machine's record as ``<folder>/YYYY-MM-DD-<machine>.json``."""
        path = folder / f"{when:%Y-%m-%d}-{machine.get('machine', 'unknown')}.json"
        folder.mkdir(parents=True, exist_ok=True)
        copied = {"schema": "tautochrone.benchmarks/1", "machine": machine, "rows": self.rows()}
        path.write_text(json.dumps(copied, indent=1) + "\n")
        return path


def _read(path: Path) -> list[dict[str, Any]]:
    """The rows of an earlier run; none where the file is not what we write."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    return [row for row in found if isinstance(row, dict) and "id" in row] if isinstance(found, list) else []
