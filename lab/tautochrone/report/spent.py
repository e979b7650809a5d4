"""What a run takes besides time: joules where a meter was read, else CPU time and the cores that it held."""

from __future__ import annotations

import statistics as plain
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tautochrone.energy.record import figures_of_row
from tautochrone.report import text
from tautochrone.report.analysis_types import Joules, Spent
from tautochrone.report.parts import Column
from tautochrone.report.tables import Record
from tautochrone.row import SCREENING

ENERGY_COLUMNS: tuple[Column, ...] = (
    ("joules", "E run, J", "number"),
    ("watts", "mean W", "number"),
    ("net", "E net, J", "number"),
    ("common", "E common, J", "number"),
    ("edp", "EDP, Js", "number"),
    ("ed2p", "ED²P, Js²", "number"),
)
_STAND_IN_COLUMNS: tuple[Column, ...] = (
    ("cpu_seconds", "CPU time of a run", "time"),
    ("core_seconds", "core time of a run", "time"),
)


def longest(seconds: Iterable[float | None]) -> float | None:
    """The longest time of what is compared, to which energies are brought; None without any."""
    return max((one for one in seconds if one is not None), default=None)


def joules_of(rows: Sequence[Mapping[str, Any]], longest_seconds: float | None) -> Joules | None:
    """The energy of good rows of one configuration; None where not every one of them was metered."""
    found = [each for row in rows if (each := figures_of_row(row, longest_seconds)) is not None]
    if not found or len(found) < len(rows):
        return None
    return Joules(
        run=plain.median(each.run_joules for each in found),
        mean_watts=plain.median(each.mean_watts for each in found),
        net=median_known(each.net_joules for each in found),
        common=median_known(each.common_joules for each in found),
        edp=plain.median(each.edp_joule_seconds for each in found),
        ed2p=plain.median(each.ed2p_joule_seconds2 for each in found),
    )


def spent_of(rows: Sequence[Mapping[str, Any]], longest_seconds: float | None) -> Spent:
    """What good rows of one configuration took: those that are reported, else those of the screening."""
    reported = [row for row in rows if row.get("source") != SCREENING] or rows
    energies = [row.get("energy") or {} for row in reported]
    return Spent(
        joules=joules_of(reported, longest_seconds),
        cpu_seconds=median_known(one.get("cpu_seconds") for one in energies),
        core_seconds=median_known(one.get("core_seconds") for one in energies),
    )


def columns(records: Sequence[Record]) -> tuple[Column, ...]:
    """Those of the energy where something was metered, else those that stand in for it, if there are any."""
    if metered(records):
        return ENERGY_COLUMNS
    return tuple(
        column for column in _STAND_IN_COLUMNS if any(one.get(column[0]) is not None for one in records)
    )


def metered(records: Sequence[Record]) -> bool:
    """Whether any record has joules."""
    return any(one.get("joules") is not None for one in records)


def joules_record(found: Joules | None) -> Record:
    """The cells of `ENERGY_COLUMNS`; null where nothing was metered."""
    values = (
        (found.run, found.mean_watts, found.net, found.common, found.edp, found.ed2p)
        if found is not None
        else (None,) * len(ENERGY_COLUMNS)
    )
    return {name: _short(value) for (name, _, _), value in zip(ENERGY_COLUMNS, values, strict=True)}


def record(found: Spent | None) -> Record:
    """The cells of all columns that may be shown."""
    found = found or Spent()
    return {
        **joules_record(found.joules),
        "cpu_seconds": found.cpu_seconds,
        "core_seconds": found.core_seconds,
    }


def why_not_measured(rows: Sequence[Mapping[str, Any]]) -> str:
    """The reason that most rows give why there are no joules, with what to do, in sentences."""
    reasons = Counter(
        (str(energy["reason"]), str(energy.get("remedy") or ""))
        for row in rows
        if (energy := row.get("energy")) and energy.get("reason")
    )
    if not reasons:
        return "Energy was not measured."
    reason, remedy = reasons.most_common(1)[0][0]
    words = text.sentence(f"Energy was not measured: {reason}")
    return f"{words} {text.sentence(remedy)}" if remedy else words


def median_known(values: Iterable[object]) -> float | None:
    """The median of what is a number; None where nothing is."""
    found = [float(one) for one in values if isinstance(one, int | float)]
    return plain.median(found) if found else None


def _short(value: float | None) -> float | None:
    """Three significant digits are enough to read."""
    return None if value is None else float(f"{value:.3g}")
