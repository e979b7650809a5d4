"""The small tables that charts draw: records of plain values, stored in columns.

Every record carries the numbers to draw and, as text, what its tooltip says. The tables are embedded once
for all charts, with five significant digits: a full study stays far below the size limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tautochrone.report import text
from tautochrone.report.analysis_types import PeerRatio
from tautochrone.report.palette import runtime_key

Record = dict[str, object]


class InSituation(Protocol):
    """Something that was measured in one state of the machine."""

    @property
    def emulated(self) -> Mapping[str, float]:
        """CPU → how many times slower it was made; empty: the machine as it is."""
        ...


def situations_of(cells: Iterable[InSituation]) -> list[dict[str, float]]:
    """The different states of the machine, the undisturbed one first, then by how much is slowed."""
    found: list[dict[str, float]] = []
    for cell in cells:
        if dict(cell.emulated) not in found:
            found.append(dict(cell.emulated))
    return sorted(found, key=lambda emulated: (sum(emulated.values()), sorted(emulated.items())))


def ratio_record(peer: PeerRatio) -> Record | None:
    """What the chart of ratios draws of one; None without a verdict."""
    if peer.ratio.value is None:
        return None
    return {
        "runtime": runtime_key(peer.runtime),
        "configuration": peer.configuration,
        "role": peer.role,
        "ratio": peer.ratio.value,
        "low": peer.ratio.low,
        "high": peer.ratio.high,
        "ratio_text": text.ratio(peer.ratio),
        "verdict": peer.ratio.verdict,
        "rounds": peer.ratio.rounds,
    }


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
