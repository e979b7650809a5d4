"""``tauto compare A B``: is B faster than A, in each configuration that both have?

Within one store the two were measured in the same rounds: pairs, and drift cancels. Two stores are two
sessions: the comparison is then unpaired, and says that drift between the sessions is not removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from tautochrone import statistics
from tautochrone.errors import TautoError
from tautochrone.measure import pair_rows
from tautochrone.row import Row
from tautochrone.selection import Selection
from tautochrone.statistics import Comparison

COMPARISON_SCHEMA = "tautochrone.comparison/1"
MANY_VERDICTS = 5


@dataclass(frozen=True)
class Line:
    """One cell: B (the candidate) against A (the reference). Seconds are medians; None without a good run."""

    cell: str
    a: str
    b: str
    a_seconds: float | None
    b_seconds: float | None
    comparison: Comparison
    reason: str | None  # why there is no verdict


@dataclass(frozen=True)
class Report:
    """All cells that both sides have, if paired the geometric mean over them, and what to know of it."""

    a: str
    b: str
    paired: bool
    lines: Sequence[Line]
    overall: Comparison | None
    notes: Sequence[str]


def compare_results(a: str, b: str, *, across_machines: bool = False) -> Report:
    """Compare two results, each written as in `selection`.

    TautoError: nothing there, nothing in common, one and the same thing twice, or two machines without
    `across_machines`.
    """
    first, second = Selection.parse(a), Selection.parse(b)
    notes = _refuse_two_machines(first, second, across_machines)
    paired = first.store.path.resolve() == second.store.path.resolve()
    if paired and first.settings == second.settings:
        raise TautoError(
            f"{a} and {b} are the same results",
            "Name two folders, or two configurations of one: FOLDER@runtime=tbb FOLDER@runtime=openmp",
        )
    key = "group" if first.settings or second.settings else "config_id"
    cells_a, cells_b = first.by_cell(key), second.by_cell(key)
    shared = [cell for cell in cells_a if cell in cells_b]
    if not shared:
        raise TautoError(
            f"{a} and {b} have no configuration in common",
            "Compare studies of equal sizes and settings, or select with FOLDER@setting=value",
        )
    lines = [_line(cell, cells_a[cell], cells_b[cell], paired) for cell in shared]
    overall = _overall(cells_a, cells_b, shared) if paired and len(shared) > 1 else None
    notes += _notes(paired, lines, len(cells_a) - len(shared), len(cells_b) - len(shared))
    return Report(a, b, paired, lines, overall, notes)


def run_compare_command(a: str, b: str, json: bool, across_machines: bool, console: Console) -> int:
    """``tauto compare``: print the table, or JSON, on `console`; returns the exit code 0."""
    report = compare_results(str(a), str(b), across_machines=across_machines)
    if json:
        console.out(as_json(report), highlight=False)
    else:
        _print(report, console)
    return 0


def command(first: Path, second: Path, *, json_output: bool = False, across_machines: bool = False) -> int:
    """``tauto compare`` on stdout."""
    return run_compare_command(str(first), str(second), json_output, across_machines, Console())


def as_json(report: Report) -> str:
    """The report as a JSON object of schema `tautochrone.comparison/1`; ratios are B / A."""
    record = {
        "schema": COMPARISON_SCHEMA,
        "a": report.a,
        "b": report.b,
        "paired": report.paired,
        "comparisons": [_plain(line) for line in report.lines],
        "geometric_mean": asdict(report.overall) if report.overall else None,
        "notes": list(report.notes),
    }
    return json.dumps(record, indent=2)


def _plain(line: Line) -> dict[str, Any]:
    fields = asdict(line)
    return {**{name: value for name, value in fields.items() if name != "comparison"}, **fields["comparison"]}


def _refuse_two_machines(first: Selection, second: Selection, allowed: bool) -> list[str]:
    machines = {row["machine"] for row in (*first.rows, *second.rows)}
    if len(machines) == 1:
        return []
    names = " and ".join(_machine_name(one) for one in (first, second))
    if not allowed:
        raise TautoError(
            f"the rows are from different machines ({names})",
            "A ratio would tell the machines apart, not the programs; "
            "if that is what you want, add --across-machines",
        )
    return [f"A and B are from different machines ({names}): a ratio tells the machines apart too"]


def _machine_name(selection: Selection) -> str:
    record = selection.store.machine
    return f"{record.get('name', 'unnamed')} [{record.get('machine', 'unknown')}]"


def _line(cell: str, rows_a: Sequence[Row], rows_b: Sequence[Row], paired: bool) -> Line:
    good_a, good_b = _seconds(rows_a), _seconds(rows_b)
    if paired:
        pairs = pair_rows([*rows_a, *rows_b], rows_b[0]["config_id"], rows_a[0]["config_id"])
        comparison = statistics.compare(pairs)
    else:
        comparison = statistics.compare_unpaired(good_b, good_a)
    return Line(
        cell=rows_a[0].get("group") or cell,
        a=_name(rows_a),
        b=_name(rows_b),
        a_seconds=median(good_a) if good_a else None,
        b_seconds=median(good_b) if good_b else None,
        comparison=comparison,
        reason=_reason(comparison, rows_a, rows_b),
    )


def _seconds(rows: Sequence[Row]) -> list[float]:
    return [row["seconds"] for row in rows if row["error"] is None]


def _name(rows: Sequence[Row]) -> str:
    return str(rows[0].get("name") or rows[0]["config_id"])


def _reason(comparison: Comparison, rows_a: Sequence[Row], rows_b: Sequence[Row]) -> str | None:
    if comparison.verdict != statistics.NOT_MEASURED:
        return None
    for side, rows in (("A", rows_a), ("B", rows_b)):
        errors = [row["error"] for row in rows if row["error"] is not None]
        if errors:
            return f"{side} failed: {errors[-1]['message']}"
    kind = "rounds" if comparison.paired else "runs"
    return f"{comparison.rounds} {kind}; at least {statistics.MINIMUM_ROUNDS} are needed"


def _overall(
    cells_a: Mapping[str, list[Row]], cells_b: Mapping[str, list[Row]], shared: Sequence[str]
) -> Comparison:
    return statistics.geometric_mean(
        [
            pair_rows(
                [*cells_a[one], *cells_b[one]], cells_b[one][0]["config_id"], cells_a[one][0]["config_id"]
            )
            for one in shared
        ]
    )


def _notes(paired: bool, lines: Sequence[Line], only_a: int, only_b: int) -> list[str]:
    notes = []
    if not paired:
        notes.append("not interleaved: drift between the two sessions is not removed")
    if only_a or only_b:
        notes.append(f"left out: {only_a} configurations that only A has, {only_b} that only B has")
    if len(lines) >= MANY_VERDICTS:
        wrong = 1.0 - statistics.VERDICT_CONFIDENCE
        notes.append(
            f"each of the {len(lines)} verdicts may be wrong by chance with probability up to {wrong:.2g}"
        )
    return notes


def _print(report: Report, console: Console) -> None:
    table = Table(title=f"B = {report.b}\nagainst A = {report.a}", title_justify="left")
    for heading in ("cell", "A", "B"):
        table.add_column(heading, overflow="fold")
    for heading in ("A seconds", "B seconds", "B / A", "interval", "rounds"):
        table.add_column(heading, justify="right")
    table.add_column("B is", overflow="fold")
    for line in report.lines:
        found = line.comparison
        table.add_row(
            line.cell,
            line.a,
            line.b,
            _figure(line.a_seconds),
            _figure(line.b_seconds),
            *_figures(found),
            _verdict(found, line.reason),
        )
    if report.overall is not None:
        table.add_section()
        found = report.overall
        table.add_row("geometric mean", "", "", "", "", *_figures(found), _verdict(found, None))
    console.print(table)
    for note in report.notes:
        console.print(f"Note: {note}.", markup=False, highlight=False)


def _figures(found: Comparison) -> tuple[str, str, str]:
    if found.ratio is None:
        return "", "", str(found.rounds)
    bounds = "" if found.low is None or found.high is None else f"{found.low:.3f} … {found.high:.3f}"
    return f"{found.ratio:.3f}", bounds, str(found.rounds)


def _verdict(found: Comparison, reason: str | None) -> str:
    resolution = found.resolution()
    if found.verdict == statistics.NO_DIFFERENCE and resolution is not None:
        return f"{found.verdict} (resolution {100 * resolution:.1f} %)"
    return f"{found.verdict}: {reason}" if reason else found.verdict


def _figure(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.4g}"
