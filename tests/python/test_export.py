"""Tables of the rows: flattened names, nulls that stay nulls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from measuring import MACHINE, row
from tautochrone.errors import TautoError
from tautochrone.results import export
from tautochrone.results.row import Row
from tautochrone.results.store import Store


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


def as_columns(rows: list[Row]) -> dict[str, list[Any]]:
    types, blocks = export.table(rows)
    found = [*blocks]
    return {name: [cell for block in found for cell in block[name]] for name in types}


def test_nested_fields_become_columns_and_lists_become_json_text() -> None:
    found = {name: values[0] for name, values in as_columns([rich_row(0)]).items()}
    assert (found["config_runtime"], found["config_threads"], found["energy_joules"]) == ("openmp", 2, None)
    assert json.loads(found["config_emulated"]) == {"1": 4.0}
    assert json.loads(found["workers"]) == [{"cpu": 0, "rows": 5}]
    assert (found["counters_cache_misses"], found["counters_llc_loads"]) == (10, None)
    assert "config" not in found
    assert "error" not in found


def test_columns_are_in_the_order_of_the_schema_and_null_where_a_row_has_nothing() -> None:
    found = as_columns([rich_row(0), row("b", 1)])
    names = list(found)
    some = ["run", "config_runtime", "config_id", "round"]
    assert sorted(some, key=names.index) == some
    assert found["config_threads"] == [2, None]


@pytest.mark.parametrize("block_rows", [1, 3, 1000])
def test_a_column_holds_one_type_in_whatever_blocks_it_is_written(
    monkeypatch: pytest.MonkeyPatch, block_rows: int
) -> None:
    monkeypatch.setattr(export, "_BLOCK_ROWS", block_rows)
    configs: list[dict[str, Any]] = [
        {"x": 1, "y": 1, "z": None},
        {"x": 0.5, "y": "one", "w": "=only here"},
        {"x": 3, "y": True, "z": 2**60, "v": [1]},
        {"x": None, "y": 0.1, "z": 1},
    ]
    found = as_columns([row("a", number, config=config) for number, config in enumerate(configs)])
    assert found["config_x"] == [1.0, 0.5, 3.0, None]
    assert all(isinstance(value, float) for value in found["config_x"][:3])
    assert found["config_y"] == ["1", "one", "true", "0.1"]
    assert found["config_z"] == [None, None, 2**60, 1]
    assert found["config_w"] == [None, "=only here", None, None]
    assert found["config_v"] == [None, None, "[1]", None]
    assert found["max_rss_bytes"] == [None] * 4


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


def test_the_command_says_how_many_rows_went_where(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export.ExportRequest(store.folder, "csv", tmp_path / "t.csv").run() == 0
    assert capsys.readouterr().out == f"3 rows: {tmp_path}/t.csv\n"


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


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-x", "'-x"),
        ("+x", "'+x"),
        ("\tx", "'\tx"),
        ("-1.5e-3", "-1.5e-3"),
        ("a=b", "a=b"),
        (-5, -5),
        (None, None),
    ],
)
def test_a_text_that_a_spreadsheet_would_compute_is_guarded(cell: Any, kept: Any) -> None:
    assert export.guarded(cell) == kept


def test_names_that_are_no_utf_8_and_formulas_can_be_exported(tmp_path: Path) -> None:
    with Store.open(tmp_path, "loop", "plan", MACHINE) as store:
        store.append(row("a", 0, name="s\udcff", detail={"says": "=HYPERLINK(1)"}))
    text = export.export(Store.read(tmp_path), "csv").read_text(encoding="utf-8")
    assert "s\\udcff" in text
    assert "'=HYPERLINK(1)" in text
    export.export(Store.read(tmp_path), "parquet")
