"""Where, when and how much was measured, from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tautochrone import text
from tautochrone.report.machine_view import MachineView
from tautochrone.results.row import SCREENING, Row


def counted(rows: Sequence[Row]) -> dict[str, Any]:
    """How many runs, rounds and configurations there were, over what time."""
    started = sorted(str(row.started) for row in rows if row.started)
    return {
        "runs": len(rows),
        "failed": sum(1 for row in rows if row.error),
        "configurations": len({row.config_id for row in rows}),
        "rounds": len({row.round for row in rows if row.source != SCREENING}),
        "screened": sum(1 for row in rows if row.source == SCREENING),
        "when": _period(started[0], started[-1]) if started else "",
        "seconds": sum(float(row.elapsed_seconds or 0) for row in rows),
    }


def in_words(counts: Mapping[str, Any], machine: MachineView) -> str:
    """Where and how much: "a laptop, 8 P + 16 E cores: 1,200 runs in 12 rounds"."""
    where = machine.name if "CPU" in machine.name else f"{machine.name}, {machine.cores}"
    runs = text.count(counts["runs"], "run")
    return f"{where}: {runs} in {text.count(counts['rounds'], 'round')}"


def _period(begin: str, end: str) -> str:
    """Two ISO 8601 times as people write them: "2026-01-05, 10:00 to 10:09 UTC"."""
    first_day, last_day = begin[:10], end[:10]
    return (
        f"{first_day}, {begin[11:16]} to {'' if first_day == last_day else last_day + ', '}{end[11:16]} UTC"
    )
