"""Tables of the rows: flattened names, nulls that stay nulls, an index that notices when it is old."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from measuring import MACHINE, row
from tautochrone import export, index
from tautochrone.errors import TautoError
from tautochrone.row import Row
from tautochrone.store import ROWS_FILE, Store
from tautochrone.table import columns, flatten


def rich_row(number: int, **fields: Any) -> Row:
    return row(
        "a",
        number,
        1.5,
        config={"runtime": "openmp", "threads": 2, "emulated": {"1": 4.0}, "chunk": None},
        energy={"status": "unavailable", "joules": None, "reason": "no meter"},
        counters={"cache_misses": 10, "llc_loads": None},
        workers=[{"cpu": 0, "rows": 5}],
        migrations=None,
        **fields,
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    with Store.open(tmp_path / "results", "loop", "plan", MACHINE) as one:
        one.append(rich_row(0))
        one.append(rich_row(1, counters_reason="why, not"))
        one.append(row("b", 0, None, config={"runtime": 'q"x', "threads": 1}))
        one.append(row("c", 0, 9.0, source="screening"))
    return Store.read(tmp_path / "results")


def test_nested_fields_become_columns_and_lists_become_json_text() -> None:
    flat = flatten(rich_row(0))
    assert (flat["config_runtime"], flat["config_threads"], flat["energy_joules"]) == ("openmp", 2, None)
    assert json.loads(str(flat["config_emulated"])) == {"1": 4.0}
    assert json.loads(str(flat["workers"])) == [{"cpu": 0, "rows": 5}]
    assert (flat["counters_cache_misses"], flat["counters_llc_loads"]) == (10, None)
    assert "config" not in flat
    assert "error" not in flat


def test_columns_are_of_equal_length_and_in_the_order_of_the_schema() -> None:
    table = columns([rich_row(0), row("b", 1)])
    assert {len(values) for values in table.values()} == {2}
    names = list(table)
    assert (
        names.index("run") < names.index("config_runtime") < names.index("config_id") < names.index("round")
    )
    assert table["config_threads"] == [2, None]


def test_a_column_holds_one_type() -> None:
    table = columns([row("a", 0, config={"x": 1, "y": 1}), row("a", 1, config={"x": 0.5, "y": "one"})])
    assert table["config_x"] == [1.0, 0.5]
    assert all(isinstance(value, float) for value in table["config_x"])
    assert table["config_y"] == ["1", "one"]


def test_parquet_keeps_values_types_and_nulls(store: Store) -> None:
    path = export.export(store, "parquet")
    assert path == store.folder / "rows.parquet"
    rows = parquet.read_table(path).to_pylist()
    assert [one["round"] for one in rows] == [0, 1, 0]
    assert [one["seconds"] for one in rows] == [1.5, 1.5, None]
    assert [one["config_threads"] for one in rows] == [2, 2, 1]
    assert [one["error_kind"] for one in rows] == [None, None, "failed"]
    assert [one["energy_joules"] for one in rows] == [None, None, None]


def test_csv_tells_null_from_empty_text(store: Store, tmp_path: Path) -> None:
    path = export.export(store, "csv", tmp_path / "new" / "table.csv")
    lines = path.read_text().splitlines()
    assert len(lines) == 4
    head = [name.strip('"') for name in lines[0].split(",")]
    assert "config_runtime" in head
    assert '"why, not"' in lines[2]
    assert '"q""x"' in lines[3]
    # seconds of the error row: nothing, not 0 and not "".
    assert lines[3].split(",")[head.index("seconds")] == ""


def test_rows_that_only_chose_finalists_are_not_exported(store: Store) -> None:
    rows = parquet.read_table(export.export(store, "parquet")).to_pylist()
    assert {one["config_id"] for one in rows} == {"a", "b"}


def test_the_command_says_how_many_rows_went_where(store: Store, tmp_path: Path) -> None:
    said = export.command(store.folder, "csv", tmp_path / "t.csv")
    assert said == f"3 rows: {tmp_path}/t.csv"
    with pytest.raises(TautoError, match="no export format 'xls'") as caught:
        export.command(store.folder, "xls", None)
    assert "parquet or csv" in caught.value.remedy


def test_a_table_that_cannot_be_written_is_told_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    with pytest.raises(TautoError, match="cannot be written to /proc/nowhere") as caught:
        export.export(store, "csv", Path("/proc/nowhere/rows.csv"))
    assert "--output" in caught.value.remedy
    (tmp_path / "rows.csv").mkdir()
    with pytest.raises(TautoError, match="cannot be written"):
        export.export(store, "csv", tmp_path / "rows.csv")
    assert not list(tmp_path.glob(".*part"))


def test_no_rows_are_nothing_to_export(tmp_path: Path) -> None:
    Store.open(tmp_path, "loop", "plan", MACHINE).close()
    with pytest.raises(TautoError, match="no measured rows"):
        export.export(Store.read(tmp_path), "csv")


def ask(store: Store, question: str) -> list[tuple[Any, ...]]:
    with closing(index.open_index(store)) as connection:
        return connection.execute(question).fetchall()


def test_the_index_answers_questions_about_the_rows(store: Store) -> None:
    question = (
        "SELECT config_id, round, seconds FROM rows WHERE source = 'measured' ORDER BY config_id, round"
    )
    assert ask(store, question) == [("a", 0, 1.5), ("a", 1, 1.5), ("b", 0, None)]
    assert ask(store, "SELECT count(*) FROM rows WHERE migrations IS NULL") == [(4,)]
    ((record,),) = ask(store, "SELECT record FROM rows WHERE config_id = 'b'")
    assert json.loads(record) == store.rows()[2]


def test_the_index_is_rebuilt_when_rows_were_added(store: Store) -> None:
    assert ask(store, "SELECT count(*) FROM rows") == [(4,)]
    with Store.open(store.folder, "loop", "plan", MACHINE) as writer:
        writer.append(row("d", 0))
    assert ask(Store.read(store.folder), "SELECT count(*) FROM rows") == [(5,)]


def test_an_index_that_is_current_is_not_rebuilt(store: Store) -> None:
    ask(store, "SELECT 1")
    before = (store.folder / index.INDEX_FILE).stat().st_ino
    ask(store, "SELECT 1")
    assert (store.folder / index.INDEX_FILE).stat().st_ino == before


@pytest.mark.parametrize("damage", ["garbage", "empty", "schema"])
def test_an_index_that_is_damaged_or_of_another_schema_is_rebuilt(store: Store, damage: str) -> None:
    path = index.rebuild(store)
    if damage == "schema":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE metadata SET value = 'tautochrone.index/0' WHERE name = 'schema'")
    else:
        path.write_bytes(b"no database at all" * 100 if damage == "garbage" else b"")
    assert ask(store, "SELECT count(*) FROM rows") == [(4,)]


def test_the_rows_alone_suffice_to_make_the_index_again(store: Store) -> None:
    index.rebuild(store).unlink()
    assert sorted(path.name for path in store.folder.iterdir()) == [ROWS_FILE]
    assert ask(store, "SELECT count(*) FROM rows") == [(4,)]
