"""Stored rows as Parquet or CSV, for other programs. The rows file stays the truth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Literal, cast

import msgspec

from tautochrone.errors import TautoError, explained
from tautochrone.files import replacing
from tautochrone.options import Argument, Option
from tautochrone.results.row import FIELDS, Row
from tautochrone.results.store import Store

Format = Literal["parquet", "csv"]
Cell = str | int | float | bool | None
Types = Mapping[str, type | None]
"""Of each column by its name; None for one without a value."""

Block = dict[str, list[Cell]]
"""Some rows, by columns."""


def export(store: Store, format: Format, output: Path | None = None) -> Path:
    """Write all good and error rows as a table, by default beside the rows file; returns where.

    Columns are named as in the schema with nested names joined by ``_`` (``config_threads``). Null stays
    null: in CSV an empty field without quotes, where an empty text has quotes. TautoError: no rows, not
    writable, pyarrow missing, which only Parquet needs.
    """
    path = output if output is not None else store.folder / f"rows.{format}"
    rows = store.rows()
    if not rows:
        raise TautoError(f"{store.path} holds no measured rows to export", "Let the study measure first")
    write = _write_csv if format == "csv" else _parquet_writer()
    types, blocks = table(rows)
    remedy = "Name a file that you can write with --output"
    with explained(f"the table cannot be written to {path}", remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            write(types, blocks, file)
    return path


def _write_csv(types: Types, blocks: Iterator[Block], file: IO[bytes]) -> None:
    """The csv module cannot tell a null from an empty text before Python 3.12."""
    file.write(_line(types))
    for block in blocks:
        file.writelines(map(_line, zip(*block.values(), strict=True)))


def _line(cells: Iterable[Cell]) -> bytes:
    return f"{','.join(map(_in_csv, cells))}\n".encode()


def _in_csv(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        escaped = str(guarded(cell)).replace('"', '""')
        return f'"{escaped}"'
    return json.dumps(cell)


def _parquet_writer() -> Callable[[Types, Iterator[Block], IO[bytes]], None]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ModuleNotFoundError as error:
        raise TautoError(
            "Parquet needs pyarrow, which is not installed",
            "Run: pip install 'tautochrone[parquet]', or write CSV with --format csv",
        ) from error
    arrow: dict[type | None, Any] = {None: pyarrow.null(), str: pyarrow.string(), bool: pyarrow.bool_()}
    arrow |= {int: pyarrow.int64(), float: pyarrow.float64()}

    def write(types: Types, blocks: Iterator[Block], file: IO[bytes]) -> None:
        schema = pyarrow.schema([(name, arrow[kind]) for name, kind in types.items()])
        with ParquetWriter(file, schema) as writer:
            for block in blocks:
                writer.write_batch(pyarrow.record_batch([*block.values()], schema=schema))

    return write


@dataclass(frozen=True)
class ExportRequest:
    """Write stored rows as a table for other programs.

    \b
    Examples:
      tauto export tautochrone-results/loop --output rows.csv
      tauto export tautochrone-results/loop --format parquet
    """  # noqa: D301

    folder: Annotated[Path, Argument("FOLDER", "A folder of results.")]
    format: Annotated[Format, Option("The format of the table.")] = "csv"
    output: Annotated[Path | None, Option("Where to write. Default: FOLDER/rows.FORMAT.", "FILE")] = None

    def run(self) -> int:
        store = Store.read(self.folder)
        path = export(store, self.format, self.output)
        print(f"{len(store.rows())} rows: {path}")
        return 0


# -- rows as a table --


_BLOCK_ROWS = 1024
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+][0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_FLATTENED = ("config", "energy", "counters", "check", "detail", "error")


def table(rows: Sequence[Row]) -> tuple[Types, Iterator[Block]]:
    """The rows as a table: the type of each column, and its blocks one after the other.

    Nested names are joined (``config_threads``), lists become JSON text, and columns are in the order of the
    schema of a row; None is where a row lacks a value. A column holds one type: where rows disagree (an int
    here, a text there), all its values become text; whole and broken numbers together become floats.
    """
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in _flat(row):
            found = kinds.setdefault(name, set())
            if value is not None:
                found.add(_kind(value))
    types = {name: _common(kinds[name]) for name in sorted(kinds, key=_place)}

    def blocks() -> Iterator[Block]:  # all cells would take more memory than the rows
        for begin in range(0, len(rows), _BLOCK_ROWS):
            block = rows[begin : begin + _BLOCK_ROWS]
            cells: Block = {name: [None] * len(block) for name in types}
            for number, row in enumerate(block):
                for name, value in _flat(row):
                    cells[name][number] = _cell(value, types[name])
            yield cells

    return types, blocks()


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
