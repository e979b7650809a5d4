"""Stored rows as Parquet or CSV, for other programs. The rows file stays the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from tautochrone.errors import TautoError
from tautochrone.store import Store
from tautochrone.table import columns
from tautochrone.whole_file import replacing

Format = Literal["parquet", "csv"]
FORMATS: tuple[Format, ...] = ("parquet", "csv")


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
    table = _pyarrow().table(columns(rows))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as unfinished:
            _write(table, format, unfinished)
    except OSError as error:
        raise TautoError(
            f"the table cannot be written to {path}: {error.strerror or error}",
            "Name a file that you can write with --output",
        ) from error
    return path


def _write(table: Any, format: str, path: Path) -> None:
    if format == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, path)
    else:
        from pyarrow import csv

        csv.write_csv(table, path)


def command(folder: Path, format: str, output: Path | None) -> str:
    """``tauto export``: the sentence to print."""
    if format not in FORMATS:
        raise TautoError(f"there is no export format {format!r}", f"Choose {' or '.join(FORMATS)}")
    store = Store.read(folder)
    path = export(store, format, output)
    return f"{len(store.rows())} rows: {path}"


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise TautoError(
            "exporting needs pyarrow, which is not installed", "Run: pip install pyarrow"
        ) from error
    return pyarrow
