"""One benchmark being measured: its line of the table, its time, its rounds and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from benchmarks.context import Budget, Context
from benchmarks.rounds import Bench
from benchmarks.rows import Entry, filled, interval, joined, worst_of
from benchmarks.suite import Benchmark
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor
from tautochrone.verdicts import VERDICT_CONFIDENCE, Comparison, Interval, compare, median_interval

Part = TypeVar("Part")


class Measurement:
    """What the body of a benchmark is given. It adds rows; `concluded` makes the benchmark's own of them.

    `missing` is said in the benchmark's own row: which peers are not here. `own` is set by a body whose own
    row is not its worst cell.
    """

    def __init__(self, context: Context, benchmark: Benchmark) -> None:
        self.context = context
        self.benchmark = benchmark
        self.budget = Budget(context.clock, context.seconds_per_id)
        self.missing = ""
        self.own: Entry | None = None
        self.rows: list[Entry] = []

    def bench(self, part: str = "", executor: Executor | None = None) -> Bench:
        """A place for the rounds of a part, emptied of what an earlier run left there."""
        return Bench(self.context, f"{self.benchmark.id}/{part}" if part else self.benchmark.id, executor)

    def parts(
        self, parts: Sequence[Part], weights: Sequence[float] | None = None
    ) -> Iterator[tuple[Part, float]]:
        """Each part in its turn, with the seconds that it may take: its share of what is left."""
        for place, part in enumerate(parts):
            left = weights[place:] if weights is not None else [1.0] * (len(parts) - place)
            yield part, self.budget.share(left[0], sum(left))

    def row(
        self,
        cell: str,
        measured: Comparison | Interval | None,
        peer: str = "",
        *,
        note: str = "",
        shown: str | None = None,
        **words: Any,
    ) -> Entry:
        """Add the row of a cell (``""``: the benchmark's own), of which `words` fill the table's text.

        `measured` None: there is no figure, and `note` says why. `shown`: what the row's field ``cell`` says
        where that is not the cell.
        """
        blank = replace(self._blank(cell, peer, **words), note=note)
        row = blank if measured is None else filled(blank, measured)
        return self.add(replace(row, cell=(cell if shown is None else shown) or None))

    def compared(
        self,
        cell: str,
        bench: Bench,
        ours: Configuration,
        peer: Configuration,
        *,
        peer_name: str = "",
        note: str = "",
        **words: Any,
    ) -> Entry:
        """Add the row of two configurations that ran in the same rounds. Its note has both times."""
        note = joined(bench.times(ours, peer), note)
        return self.row(cell, compare(bench.pairs(ours, peer)), peer_name or peer.name, note=note, **words)

    def values(self, cell: str, values: Sequence[float], peer: str, note: str = "", **words: Any) -> Entry:
        """Add the row of a figure that is no ratio, one value a round. Without values `note` says why."""
        measured = median_interval(values, confidence=VERDICT_CONFIDENCE) if values else None
        return self.row(cell, measured, peer, note=note, **words)

    def worst(self, cells: Sequence[Entry], cell: str = "") -> Entry:
        """A row for several cells: the one farthest above its target, judged by all. It is not added."""
        return worst_of(self._blank(cell), cells, self.missing)

    def add(self, row: Entry) -> Entry:
        """Store a row with the machine and the time in it; returns it so."""
        row = self._dated(row)
        self.rows.append(row)
        self.context.results.add(row)
        self._say(row)
        return row

    def concluded(self) -> list[Entry]:
        """All rows, the benchmark's own first."""
        own = self.own or next((row for row in self.rows if row.id == self.benchmark.id), None)
        own = own or self._dated(self.worst(self.rows))
        if own not in self.rows:
            self._say(own)
        return [own, *(row for row in self.rows if row.id != own.id)]

    def _blank(self, cell: str, peer: str = "", **words: Any) -> Entry:
        """The row of a cell as the table has it, without a figure; ``what`` in `words` replaces its text."""
        kind = self.benchmark.row_of(cell)
        text = "{what}" if "what" in words else kind.what or self.benchmark.what
        what = text.format(peer=peer, cpu=self.context.cpus[1], **words)
        identifier = f"{self.benchmark.id}/{cell}" if cell else self.benchmark.id
        return Entry(identifier, what, peer, None, None, None, kind.target, None, unit=kind.unit)

    def _dated(self, row: Entry) -> Entry:
        machine = str(self.context.machine.get("machine", ""))
        return replace(row, machine=machine, when=self.context.clock.now().isoformat("T", "seconds"))

    def _say(self, row: Entry) -> None:
        self.context.say(f"  {row.id}: {interval(asdict(row))} {row.note}")
