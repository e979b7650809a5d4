"""Stored rows as Parquet or CSV, for other programs. The rows file stays the truth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tautochrone.errors import TautoError, explained
from tautochrone.files import replacing
from tautochrone.options import Argument, Option
from tautochrone.results.row import FIELDS, Row, as_record
from tautochrone.results.store import Store

Format = Literal["parquet", "csv"]


def export(store: Store, format: Format, output: Path | None = None) -> Path:
    """Write all good and error rows as a table, by default beside the rows file; returns where.

    Columns are named as in the schema with nested names joined by ``_`` (``config_threads``). Null stays
    null: in CSV an empty field without quotes, where an empty text has quotes. TautoError: no rows, not
    writable, pyarrow missing.
    """
    path = output if output is not None else store.folder / f"rows.{format}"
    rows = store.rows()
    if not rows:
        raise TautoError(f"{store.path} holds no measured rows to export", "Let the study measure first")
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except ModuleNotFoundError as error:
        raise TautoError(
            "exporting needs pyarrow, which is not installed", "Run: pip install pyarrow"
        ) from error
    cells = columns(rows)
    made = {}
    for name in [*cells]:  # one after the other: both forms of all would take twice the memory
        column = cells.pop(name)
        made[name] = pyarrow.array([guarded(cell) for cell in column] if format == "csv" else column)
    table = pyarrow.table(made)
    remedy = "Name a file that you can write with --output"
    with explained(f"the table cannot be written to {path}", remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            (parquet.write_table if format == "parquet" else csv.write_csv)(table, file)
    return path


@dataclass(frozen=True)
class ExportRequest:
    """Write stored rows as a table for other programs.

    \b
    Examples:
      tauto export tautochrone-results/loop --format parquet
      tauto export tautochrone-results/loop --format csv --output rows.csv
    """  # noqa: D301

    folder: Annotated[Path, Argument("FOLDER", "A folder of results.")]
    format: Annotated[Format, Option("The format of the table.")] = "parquet"
    output: Annotated[Path | None, Option("Where to write. Default: FOLDER/rows.FORMAT.", "FILE")] = None

    def run(self) -> int:
        store = Store.read(self.folder)
        path = export(store, self.format, self.output)
        print(f"{len(store.rows())} rows: {path}")
        return 0


# -- rows as a table --


Cell = str | int | float | bool | None

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+][0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_FLATTENED = ("config", "energy", "counters", "check", "detail", "error")


def flatten(row: Row) -> dict[str, Cell]:
    """One row with plain values: ``config.threads`` becomes ``config_threads``; lists become JSON text."""
    flat: dict[str, Cell] = {}
    for name, value in as_record(row).items():
        if name in _FLATTENED and isinstance(value, Mapping):
            for inner, inner_value in value.items():
                flat[f"{name}_{inner}"] = _cell(inner_value)
        elif name not in _FLATTENED or value is not None:
            flat[name] = _cell(value)
    return flat


def columns(rows: Iterable[Row]) -> dict[str, list[Cell]]:
    """The rows as columns of equal length, in the order of the schema; a value that a row lacks is None.

    A column holds one type: where rows disagree (an int here, a text there), all its values become text;
    whole and broken numbers together become floats.
    """
    found: dict[str, list[Cell]] = {}
    count = 0
    for row in rows:
        for name, cell in flatten(row).items():
            column = found.setdefault(name, [])
            column += [None] * (count - len(column))
            column.append(cell)
        count += 1
    for column in found.values():
        column += [None] * (count - len(column))
    return {name: _one_type(found[name]) for name in sorted(found, key=_place)}


def guarded(cell: Cell) -> Cell:
    """A text that a spreadsheet would take for a formula, behind an apostrophe; all else as it is."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA) or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def _place(name: str) -> tuple[int, str]:
    """Position in the schema; a flattened column stands where its field stood."""
    return FIELDS.index(name if name in FIELDS else name.partition("_")[0]), name


def _cell(value: Any) -> Cell:
    if isinstance(value, str):  # bytes of a name that are no UTF-8 as they are shown
        return value.encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, int | float | bool):
        return value
    return json.dumps(value, sort_keys=True)


def _one_type(values: list[Cell]) -> list[Cell]:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return values
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
