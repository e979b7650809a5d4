"""Stored rows as Parquet or CSV, for other programs. The rows file stays the truth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.files import replacing
from tautochrone.options import Argument, Option
from tautochrone.results.row import FIELDS, Row
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
        from pyarrow.csv import CSVWriter
        from pyarrow.parquet import ParquetWriter
    except ModuleNotFoundError as error:
        raise TautoError(
            "exporting needs pyarrow, which is not installed", "Run: pip install pyarrow"
        ) from error
    schema, blocks = table(rows, guards=format == "csv")
    remedy = "Name a file that you can write with --output"
    with explained(f"the table cannot be written to {path}", remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = CSVWriter if format == "csv" else ParquetWriter
        with replacing(path) as file, writing(file, schema) as writer:
            for block in blocks:
                writer.write_batch(block)
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

_BLOCK_ROWS = 1024
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+][0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_FLATTENED = ("config", "energy", "counters", "check", "detail", "error")


def table(rows: Sequence[Row], *, guards: bool = False) -> tuple[Any, Iterator[Any]]:
    """The rows as a table of pyarrow: its schema, and its blocks one after the other.

    Nested names are joined (``config_threads``), lists become JSON text, and columns are in the order of the
    schema of a row; null is where a row lacks a value. A column holds one type: where rows disagree (an int
    here, a text there), all its values become text; whole and broken numbers together become floats.
    `guards`: for a spreadsheet.
    """
    import pyarrow

    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in _flat(row):
            found = kinds.setdefault(name, set())
            if value is not None:
                found.add(_kind(value))
    one_type = {name: _common(kinds[name]) for name in sorted(kinds, key=_place)}
    types: dict[type | None, Any] = {None: pyarrow.null(), str: pyarrow.string(), bool: pyarrow.bool_()}
    types |= {int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in one_type.items()])

    def blocks() -> Iterator[Any]:  # all cells would take more memory than the rows
        for begin in range(0, len(rows), _BLOCK_ROWS):
            block = rows[begin : begin + _BLOCK_ROWS]
            cells: dict[str, list[Cell]] = {name: [None] * len(block) for name in one_type}
            for number, row in enumerate(block):
                for name, value in _flat(row):
                    cell = _cell(value, one_type[name])
                    cells[name][number] = guarded(cell) if guards else cell
            yield pyarrow.record_batch([*cells.values()], schema=schema)

    return schema, blocks()


def _flat(row: Row) -> Iterator[tuple[str, Any]]:
    """The values of a row by the names of their columns."""
    for name in FIELDS:
        value = getattr(row, name)
        if name not in _FLATTENED:
            yield name, value
        elif value is not None:
            inner = value.items() if isinstance(value, Mapping) else msgspec.structs.asdict(value).items()
            for inner_name, inner_value in inner:
                yield f"{name}_{inner_name}", inner_value


def guarded(cell: Cell) -> Cell:
    """A text that a spreadsheet would take for a formula, behind an apostrophe; all else as it is."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA) or _NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def _place(name: str) -> tuple[int, str]:
    """Position in the schema; a flattened column stands where its field stood."""
    return FIELDS.index(name if name in FIELDS else name.partition("_")[0]), name


def _kind(value: object) -> type:
    """The type of a cell's value; of a list, that of its text."""
    return type(value) if isinstance(value, str | int | float | bool) else str


def _common(kinds: set[type]) -> type | None:
    """The type that takes values of all these; None where there is no value."""
    if len(kinds) <= 1:
        return next(iter(kinds), None)
    return float if kinds == {int, float} else str


def _cell(value: Any, kind: type | None) -> Cell:
    if value is None:
        return None
    if kind is not None and kind is not str:
        return cast(Cell, kind(value))
    if isinstance(value, str):  # bytes of a name that are no UTF-8 as they are shown
        return value.encode("utf-8", "backslashreplace").decode()
    return json.dumps(value, sort_keys=True)
