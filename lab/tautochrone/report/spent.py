"""The columns of joules, or of what stands in for them, in a table of all configurations."""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone.report.parts import Column, Record
from tautochrone.results.spent import Joules, Spent

ENERGY_COLUMNS: tuple[Column, ...] = (
    ("joules", "E run, J", "number"),
    ("watts", "mean W", "number"),
    ("net", "E net, J", "number"),
    ("common", "E common, J", "number"),
    ("edp", "EDP, Js", "number"),
    ("ed2p", "ED²P, Js²", "number"),
)
PLATFORM_COLUMN: Column = ("platform", "E platform, J", "number")
_ALL_COLUMNS = (*ENERGY_COLUMNS, PLATFORM_COLUMN)
_STAND_IN_COLUMNS: tuple[Column, ...] = (
    ("cpu_seconds", "CPU time of a run", "time"),
    ("core_seconds", "core time of a run", "time"),
)


def columns(records: Sequence[Record]) -> tuple[Column, ...]:
    """Those of the energy where something was metered, else those that stand in for it, if there are any."""
    if metered(records):
        beside = any(one.get("platform") is not None for one in records)
        return _ALL_COLUMNS if beside else ENERGY_COLUMNS
    return tuple(
        column for column in _STAND_IN_COLUMNS if any(one.get(column[0]) is not None for one in records)
    )


def metered(records: Sequence[Record]) -> bool:
    """Whether any record has joules."""
    return any(one.get("joules") is not None for one in records)


def joules_record(found: Joules | None) -> Record:
    """The cells of `ENERGY_COLUMNS` and `PLATFORM_COLUMN`; null where nothing was metered."""
    values = (
        (found.run, found.mean_watts, found.net, found.common, found.edp, found.ed2p, found.platform)
        if found is not None
        else (None,) * len(_ALL_COLUMNS)
    )
    return {name: short(value) for (name, _, _), value in zip(_ALL_COLUMNS, values, strict=True)}


def record(found: Spent | None) -> Record:
    """The cells of all columns that may be shown."""
    found = found or Spent()
    return {
        **joules_record(found.joules),
        "cpu_seconds": found.cpu_seconds,
        "core_seconds": found.core_seconds,
    }


def short(value: float | None) -> float | None:
    """Three significant digits are enough to read."""
    return None if value is None else float(f"{value:.3g}")
