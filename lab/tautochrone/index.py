"""An SQLite index over the rows, to ask questions of. It is derived: rebuilt when it is missing or stale."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.store import Store
from tautochrone.table import Cell, columns
from tautochrone.whole_file import replacing

INDEX_FILE = "index.sqlite"
INDEX_SCHEMA = "tautochrone.index/1"


def open_index(store: Store) -> sqlite3.Connection:
    """A connection to the up-to-date index of `store`.

    Tables: ``rows`` (a column for each flattened field, and `record`, the whole row as JSON; source
    ``screening`` included) and ``metadata`` (name, value). Rebuilt when it is missing, damaged, of another
    schema or older than the rows.
    """
    path = store.folder / INDEX_FILE
    if not _is_current(path, store):
        rebuild(store)
    return sqlite3.connect(path)


def rebuild(store: Store) -> Path:
    """Write the index anew, in one piece: a reader sees the old one or the new one."""
    path = store.folder / INDEX_FILE
    try:
        with replacing(path) as unfinished:
            unfinished.unlink(missing_ok=True)
            with closing(sqlite3.connect(unfinished)) as connection, connection:
                _fill(connection, store)
    except (OSError, sqlite3.Error) as error:
        raise TautoError(
            f"the index cannot be written to {path}: {error}",
            "Make the folder writable, or copy the rows to a folder that is",
        ) from error
    return path


def _fill(connection: sqlite3.Connection, store: Store) -> None:
    rows = store.rows(source=None)
    table = columns(rows)
    connection.execute("CREATE TABLE metadata (name TEXT PRIMARY KEY, value TEXT)")
    stamp = {"schema": INDEX_SCHEMA, "rows": _stamp(store), "study": store.study}
    connection.executemany("INSERT INTO metadata VALUES (?, ?)", stamp.items())
    names = [*table, "record"]
    definitions = ", ".join(f"{_quoted(name)} {_type_of(table.get(name, []))}" for name in names)
    connection.execute(f"CREATE TABLE rows ({definitions})")
    records = [json.dumps(row, sort_keys=True) for row in rows]
    places = ", ".join("?" for _ in names)
    connection.executemany(f"INSERT INTO rows VALUES ({places})", zip(*table.values(), records, strict=True))
    if "config_id" in table and "round" in table:
        connection.execute('CREATE INDEX by_configuration ON rows ("config_id", "round")')


def _is_current(path: Path, store: Store) -> bool:
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path)) as connection:
            found = dict(connection.execute("SELECT name, value FROM metadata"))
    except sqlite3.Error:
        return False
    return found.get("schema") == INDEX_SCHEMA and found.get("rows") == _stamp(store)


def _stamp(store: Store) -> str:
    """What changes with every row that is written."""
    about = store.path.stat()
    return f"{about.st_ino} {about.st_size} {about.st_mtime_ns}"


def _type_of(values: list[Cell]) -> str:
    kind = next((type(value) for value in values if value is not None), str)
    return {int: "INTEGER", bool: "INTEGER", float: "REAL"}.get(kind, "TEXT")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
