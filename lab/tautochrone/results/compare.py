"""``tauto compare A B``: is B faster than A, in each configuration that both have?

Within one store the two were measured in the same rounds: pairs, and drift cancels. Two stores are two
sittings: what a *bridge* shows of the drift between them is in the interval (see `sittings`), and without a
bridge there is no verdict.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
from rich.console import Console
from rich.table import Table

from tautochrone import text, verdicts
from tautochrone.errors import TautoError
from tautochrone.options import Argument, Option
from tautochrone.results.row import Row, pair_rows, seconds_of
from tautochrone.results.runs import median_known
from tautochrone.results.sittings import CANNOT_TELL_CODE, SERIAL, Drift, Sittings
from tautochrone.results.spent import Joules, Spent, longest, measured_joules, spent_of
from tautochrone.results.store import Store, rows_file
from tautochrone.results.suggesting import two_of
from tautochrone.terminal import AnsweringTerminal
from tautochrone.verdicts import Comparison, Verdict


@dataclass(frozen=True)
class Selection:
    """`rows` of `store` that have the wanted `settings`; `text` is how the user wrote it."""

    text: str
    store: Store
    settings: Mapping[str, str]
    rows: list[Row]

    @classmethod
    def parse(cls, text: str, known: Store | None = None) -> Selection:
        """Read the store, unless it is the `known` one, and select.

        TautoError if there is no such store, setting or value.
        """
        where, wanted = _split(text)
        if known is None or known.path.resolve() != rows_file(where).resolve():
            known = Store.read(where, lean=True)
        rows = known.rows()
        for name, value in wanted.items():
            rows = _having(rows, name, value, text)
        if not rows:
            raise TautoError(f"{known.path} holds no measured rows", "Let the study measure first")
        return cls(text, known, wanted, rows)

    def by_cell(self, key: str) -> dict[str, list[Row]]:
        """The rows of each `config_id` or `group`; TautoError if a group has several configurations."""
        cells: dict[str, list[Row]] = {}
        for row in self.rows:
            cells.setdefault(row.group if key == "group" else row.config_id, []).append(row)
        for name, rows in cells.items():
            self._refuse_several(name, rows)
        return cells

    def _refuse_several(self, cell: str, rows: list[Row]) -> None:
        configs = {row.config_id: row.config for row in rows}
        if len(configs) == 1:
            return
        names = {name for config in configs.values() for name in config}
        differ = {
            name: sorted({words(config.get(name)) for config in configs.values()}) for name in sorted(names)
        }
        choice = "; ".join(
            f"{name} is {', '.join(values)}" for name, values in differ.items() if len(values) > 1
        )
        raise TautoError(
            f"{self.text} selects {len(configs)} configurations for {cell or 'one cell'} ({choice})",
            "Select one of them, as in FOLDER@runtime=openmp,schedule=dynamic,chunk=2",
        )


def words(value: Any) -> str:
    """A setting's value as a user writes it: ``none``, ``2``, ``1:4+3:2`` for emulated factors."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return "+".join(f"{name}:{words(inner)}" for name, inner in value.items()) or "none"
    if isinstance(value, list):
        return ",".join(words(inner) for inner in value)
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def _split(text: str) -> tuple[Path, dict[str, str]]:
    where, at, wanted = text.rpartition("@")
    if not at or Path(text).exists():
        return Path(text), {}
    settings: dict[str, str] = {}
    # A comma may stand in a value (CPU lists): only one before another "name=" parts two settings.
    for part in re.split(r",(?=\w+=)", wanted):
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise TautoError(
                f"{part!r} in {text!r} is not setting=value", "Write FOLDER@runtime=openmp,chunk=2"
            )
        settings[name] = value
    return Path(where), settings


def _having(rows: list[Row], name: str, value: str, text: str) -> list[Row]:
    there = sorted({words(row.config[name]) for row in rows if name in row.config})
    if not there:
        known = ", ".join(sorted({setting for row in rows for setting in row.config}))
        raise TautoError(f"no row of {text} has a setting {name!r}", f"Settings there: {known or 'none'}")
    if value not in there:
        raise TautoError(f"no row of {text} has {name}={value}", f"Values there: {', '.join(there)}")
    return [row for row in rows if name in row.config and words(row.config[name]) == value]


COMPARISON_SCHEMA = "tautochrone.comparison/1"
MANY_VERDICTS = 5

_REMEDY = "measure both together, in the rounds of one store"
_CELL_WIDTH = 9  # "geometric"
_VERDICT_WIDTH = 13  # "no difference"


@dataclass(frozen=True)
class Line:
    """One cell: B (the candidate) against A (the reference). Seconds are medians; None without a good run.

    Joules are those of a meter alone, never of a model; `energy` is None unless both sides have some.
    """

    cell: str
    a: str
    b: str
    a_seconds: float | None
    b_seconds: float | None
    comparison: Comparison
    reason: str | None  # why there is no verdict
    a_joules: float | None = None
    b_joules: float | None = None
    energy: Comparison | None = None
    drift: Drift | None = None  # between two sittings; it is in the interval
    a_spent: Spent = field(default_factory=Spent)  # energies brought to the longer time of the two
    b_spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True)
class Report:
    """All cells that both sides have, if paired the geometric mean over them, and what to know of it."""

    a: str
    b: str
    paired: bool
    lines: Sequence[Line]
    overall: Comparison | None
    notes: Sequence[str]

    @property
    def untold(self) -> bool:
        """Whether a cell has no verdict because two sittings do not carry one."""
        return any(line.comparison.verdict == verdicts.CANNOT_TELL for line in self.lines)


def compare_results(a: str, b: str, *, across_machines: bool = False, across_states: bool = False) -> Report:
    """Compare two results, each written as in `selection`.

    `across_states`: the machine was put into another state on purpose, and what this does is asked for; as
    between two machines, no bridge is then taken out. TautoError: nothing there, nothing in common, one and
    the same thing twice, or two machines without `across_machines`.
    """
    first = Selection.parse(a)
    second = Selection.parse(b, first.store)
    notes = _refuse_two_machines(first, second, across_machines)
    paired = first.store.path.resolve() == second.store.path.resolve()
    if paired and first.settings == second.settings:
        two = two_of(str(_split(a)[0]), first.store.rows(), words)
        raise TautoError(
            f"{a} and {b} are the same results",
            "Name two folders" + (f", or two configurations of one: tauto compare {two}" if two else ""),
        )
    key = "group" if first.settings or second.settings else "config_id"
    cells_a, cells_b = first.by_cell(key), second.by_cell(key)
    shared = [cell for cell in cells_a if cell in cells_b]
    if not shared:
        raise TautoError(
            f"{a} and {b} have no configuration in common",
            "Compare studies of equal sizes and settings, or select with FOLDER@setting=value",
        )
    machines = {row.machine for row in (*first.rows, *second.rows)}
    bridged = len(machines) == 1 and not across_states
    sittings = None if paired else Sittings(second.store, first.store, bridged)
    lines = [_line(cell, cells_a[cell], cells_b[cell], sittings) for cell in shared]
    overall = None
    if paired and len(shared) > 1:
        overall = verdicts.geometric_mean([_pairs(cells_a[cell], cells_b[cell]) for cell in shared])
    notes += dict.fromkeys((*first.store.notices, *second.store.notices))
    notes += _notes_on_sittings(lines, sittings)
    notes += _notes(lines, len(cells_a) - len(shared), len(cells_b) - len(shared))
    return Report(a, b, paired, lines, overall, notes)


@dataclass(frozen=True)
class CompareRequest:
    """Compare two results: ratio, interval and verdict for each configuration that both have.

    Two folders are two sittings: a verdict then needs work that is the same in both, and says less. The exit
    status is 4 where one cannot be given.

    \b
    Examples:
      tauto compare tautochrone-results/before tautochrone-results/after
      tauto compare results@library=libgomp,schedule=pragma,placement=all \\
                    results@library=tautochrone,schedule=adaptive,placement=all
    """  # noqa: D301

    first: Annotated[str, Argument("A", "A folder of results, or FOLDER@setting=value,… for a part of it.")]
    second: Annotated[str, Argument("B", "The other one.")]
    json: Annotated[bool, Option("Print the comparison as JSON.")] = False
    across_machines: Annotated[bool, Option("Compare although the results are of two machines.")] = False
    across_states: Annotated[
        bool,
        Option("The machine was changed on purpose between them (a policy, a clock): that is compared too."),
    ] = False

    def run(self, console: Console | None = None) -> int:
        console = console or AnsweringTerminal()
        report = compare_results(
            self.first, self.second, across_machines=self.across_machines, across_states=self.across_states
        )
        if self.json:
            console.out(as_json(report), highlight=False)
        else:
            _print(report, console)
        return CANNOT_TELL_CODE if report.untold else 0


def as_json(report: Report) -> str:
    """The report as a JSON object of schema `tautochrone.comparison/1`; ratios are B / A."""
    found = ComparisonRecord(
        a=report.a,
        b=report.b,
        paired=report.paired,
        comparisons=[_plain(line) for line in report.lines],
        geometric_mean=report.overall,
        notes=list(report.notes),
    )
    return text.as_json(found)


def _plain(line: Line) -> CellRecord:
    fields = msgspec.to_builtins(line)
    comparison = fields.pop("comparison")
    return msgspec.convert({**fields, **comparison}, CellRecord)


class CellRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: its seconds are medians, its ratio is b / a, its joules those of a meter alone."""

    cell: str
    a: str
    b: str
    a_seconds: float | None
    b_seconds: float | None
    reason: str | None  # why there is no verdict
    a_joules: float | None
    b_joules: float | None
    energy: Comparison | None
    drift: Drift | None  # between two sittings; it is in the interval
    a_spent: Spent
    b_spent: Spent
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float
    rounds: int
    verdict: Verdict
    coverage: float | None
    paired: bool


class ComparisonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What `tauto compare A B --json` prints; ratios are b / a."""

    schema: str = COMPARISON_SCHEMA
    a: str
    b: str
    paired: bool
    comparisons: list[CellRecord]
    geometric_mean: Comparison | None
    notes: list[str]


def _refuse_two_machines(first: Selection, second: Selection, allowed: bool) -> list[str]:
    machines = {row.machine for row in (*first.rows, *second.rows)}
    if len(machines) == 1:
        return []
    records = (first.store.machine, second.store.machine)
    names = " and ".join(
        f"{record.get('name', 'unnamed')} [{record.get('machine', 'unknown')}]" for record in records
    )
    if not allowed:
        raise TautoError(
            f"the rows are from different machines ({names})",
            "A ratio would tell the machines apart, not the programs; "
            "if that is what you want, add --across-machines",
        )
    return [f"A and B are from different machines ({names}): a ratio tells the machines apart too"]


def _line(cell: str, rows_a: Sequence[Row], rows_b: Sequence[Row], sittings: Sittings | None) -> Line:
    good_a, good_b = ([row for row in rows if row.error is None] for rows in (rows_a, rows_b))
    metered_a, metered_b = (
        [row for row in rows if measured_joules(row) is not None] for rows in (rows_a, rows_b)
    )
    energy, drift, untold = None, None, None
    if sittings is None:
        comparison = verdicts.compare(_pairs(rows_a, rows_b))
        if metered_a and metered_b:
            energy = verdicts.compare(_pairs(metered_a, metered_b, _joules))
    else:
        comparison, drift, untold = sittings.compare(good_b, good_a, seconds_of)
        if metered_a and metered_b:
            energy, _, _ = sittings.compare(metered_b, metered_a, measured_joules, is_time=False)
    a_seconds, b_seconds = (median_known(row.seconds for row in good) for good in (good_a, good_b))
    slower = longest((a_seconds, b_seconds))
    return Line(
        cell=rows_a[0].group or cell,
        a=rows_a[0].name or rows_a[0].config_id,
        b=rows_b[0].name or rows_b[0].config_id,
        a_seconds=a_seconds,
        b_seconds=b_seconds,
        comparison=comparison,
        reason=untold or _reason(comparison, rows_a, rows_b),
        a_joules=median_known(map(measured_joules, metered_a)),
        b_joules=median_known(map(measured_joules, metered_b)),
        energy=energy,
        drift=drift,
        a_spent=spent_of(good_a, slower),
        b_spent=spent_of(good_b, slower),
    )


def _joules(row: Row) -> float:
    joules = measured_joules(row)
    if joules is None:
        raise ValueError(f"run {row.run} was not metered")
    return joules


def _pairs(
    rows_a: Sequence[Row], rows_b: Sequence[Row], figure: Callable[[Row], float] = seconds_of
) -> list[tuple[float, float]]:
    return pair_rows([*rows_a, *rows_b], rows_b[0].config_id, rows_a[0].config_id, figure)


def _reason(comparison: Comparison, rows_a: Sequence[Row], rows_b: Sequence[Row]) -> str | None:
    if comparison.verdict != verdicts.NOT_MEASURED:
        return None
    for side, rows in (("A", rows_a), ("B", rows_b)):
        errors = [row.error for row in rows if row.error is not None]
        if errors:
            return f"{side} failed: {errors[-1].message}"
    kind = "rounds" if comparison.paired else "runs"
    return f"{comparison.rounds} {kind}; at least {verdicts.MINIMUM_ROUNDS} are needed"


def notes_on_drift(why: str | None, drift: Drift | None) -> list[str]:
    """What to know of the drift between two sittings of one command; `why` there is no verdict."""
    if why is not None:
        return [f"two sittings: {why}, so drift cannot be told from a difference; {_REMEDY}"]
    return [] if drift is None else _drifts([drift])


def _notes_on_sittings(lines: Sequence[Line], sittings: Sittings | None) -> list[str]:
    """What to know of the drift between two sittings."""
    if sittings is None:
        return []
    untold = dict.fromkeys(
        line.reason for line in lines if line.comparison.verdict == verdicts.CANNOT_TELL and line.reason
    )
    notes = [note for reason in untold for note in notes_on_drift(reason, None)]
    return notes + _drifts([line.drift for line in lines if line.drift is not None])


def _drifts(drifts: Sequence[Drift]) -> list[str]:
    notes = []
    for name in dict.fromkeys(name for drift in drifts for name in drift.moved):
        moved = [math.expm1(drift.moved[name]) for drift in drifts if name in drift.moved]
        ends = " to ".join(dict.fromkeys(f"{100 * end:+.1f} %" for end in (min(moved), max(moved))))
        what = name if name == SERIAL else f"fixed work before each run ({name})"
        notes.append(f"two sittings: {what} took {ends} more time in B; that is in the intervals")
    if drifts and not any(drift.moved for drift in drifts):
        notes.append(
            "two sittings: what changed between them is in the intervals only as it changed within each"
        )
    if drifts:
        widest = max(drift.widens for drift in drifts)
        notes.append(
            f"two sittings: drift widens the intervals by up to {100 * math.expm1(widest):.1f} %; "
            f"for less, {_REMEDY}"
        )
    return notes


def _notes(lines: Sequence[Line], only_a: int, only_b: int) -> list[str]:
    notes = []
    if only_a or only_b:
        notes.append(f"left out: {only_a} configurations that only A has, {only_b} that only B has")
    if len(lines) >= MANY_VERDICTS:
        wrong = 1.0 - verdicts.VERDICT_CONFIDENCE
        notes.append(
            f"each of the {len(lines)} verdicts may be wrong by chance with probability up to {wrong:.2g}"
        )
    return notes


_COMPARED = ("A", "B", "B / A", "interval", "rounds", "resolves")


def _table(first: str, words: Sequence[str], figures: Sequence[str]) -> Table:
    """A table with these columns. Narrow on purpose: eight of them are to fit into 80 characters."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold", min_width=_CELL_WIDTH)
    for heading in words:
        table.add_column(heading, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _print(report: Report, console: Console) -> None:
    console.print(f"B = {report.b}\nagainst A = {report.a}", highlight=False)
    names = {(line.a, line.b) for line in report.lines}
    table = _table("cell", ["configuration"] if len(names) > 1 else [], _COMPARED)
    table.add_column("B is", min_width=_VERDICT_WIDTH)
    for line in report.lines:
        table.add_row(
            line.cell,
            *([line.a if line.a == line.b else f"{line.a} | {line.b}"] if len(names) > 1 else []),
            _time(line.a_seconds),
            _time(line.b_seconds),
            *_figures(line.comparison),
            _verdict_words(line),
        )
    if report.overall is not None:
        table.add_section()
        empty = [""] * (3 if len(names) > 1 else 2)
        table.add_row("geometric mean", *empty, *_figures(report.overall), report.overall.verdict)
    console.print(table)
    if any(line.energy is not None for line in report.lines):
        console.print(_energy_table(report))
    _print_spent(report, console)
    for note in report.notes:
        console.print(f"Note: {note}.", highlight=False)


def _verdict_words(line: Line) -> str:
    """The verdict, with the reason where it is that of one cell; that of two sittings is a note."""
    verdict = line.comparison.verdict
    return f"{verdict}: {line.reason}" if line.reason and verdict != verdicts.CANNOT_TELL else verdict


def _print_spent(report: Report, console: Console) -> None:
    """What each side took besides time: joules where any row was metered, else what stands in for them."""
    sides = [
        (line.cell, name, side)
        for line in report.lines
        for name, side in (("A", line.a_spent), ("B", line.b_spent))
    ]
    if any(side.joules is not None for _, _, side in sides):
        headings = ["E run", "mean", "E net", "E common", "EDP", "ED²P"]
        cells = [(cell, name, _joule_words(side.joules)) for cell, name, side in sides]
    elif any(side.cpu_seconds is not None or side.core_seconds is not None for _, _, side in sides):
        headings = ["CPU time of a run", "core time of a run"]
        cells = [
            (cell, name, (_time(side.cpu_seconds), _time(side.core_seconds))) for cell, name, side in sides
        ]
    else:
        return
    table = _table("spent on", [""], headings)
    for cell, name, words in cells:
        table.add_row(cell if name == "A" else "", name, *words)
    console.print(table)


def _joule_words(joules: Joules | None) -> tuple[str, ...]:
    """Run, mean power, net, common, EDP and ED²P with their units; empty where not all was metered."""
    if joules is None:
        return ("",) * 6
    values = (joules.run, joules.mean_watts, joules.net, joules.common, joules.edp, joules.ed2p)
    units = ("J", "W", "J", "J", "Js", "Js²")
    return tuple(
        "" if value is None else text.quantity(value, unit) for value, unit in zip(values, units, strict=True)
    )


_ENERGY_WORDS = {verdicts.FASTER: "takes less", verdicts.SLOWER: "takes more"}


def _energy_table(report: Report) -> Table:
    """A table of its own: with the columns of time it would not fit into 80 characters."""
    table = _table("energy of", [], _COMPARED)
    table.add_column("B", min_width=_VERDICT_WIDTH)
    for line in report.lines:
        if line.energy is not None:
            verdict = _ENERGY_WORDS.get(line.energy.verdict, line.energy.verdict)
            joules = [text.quantity(value, "J") for value in (line.a_joules, line.b_joules)]
            table.add_row(line.cell, *joules, *_figures(line.energy), verdict)
    return table


def _figures(comparison: Comparison) -> tuple[str, str, str, str]:
    """Ratio, interval, rounds and resolution, as far as there are any."""
    ratio = "" if comparison.ratio is None else f"{comparison.ratio:.3f}"
    bounds = (
        ""
        if comparison.low is None or comparison.high is None
        else f"{comparison.low:.3f} … {comparison.high:.3f}"
    )
    resolution = comparison.resolution()
    return ratio, bounds, str(comparison.rounds), "" if resolution is None else f"{100 * resolution:.1f} %"


def _time(seconds: float | None) -> str:
    """With the unit that leaves one to three digits before the point."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"
