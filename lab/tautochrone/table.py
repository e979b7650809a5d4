"""Rows as a table: nested objects become columns, what stays nested becomes JSON text, null stays null."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tautochrone.row import FIELDS, Row

Cell = str | int | float | bool | None

_FLATTENED = ("config", "energy", "counters", "check", "detail", "error")


def flatten(row: Row) -> dict[str, Cell]:
    """One row with plain values: ``config.threads`` becomes ``config_threads``; lists become JSON text."""
    flat: dict[str, Cell] = {}
    for name, value in row.items():
        if name in _FLATTENED and isinstance(value, Mapping):
            for inner, one in value.items():
                flat[f"{name}_{inner}"] = _cell(one)
        elif name not in _FLATTENED or value is not None:
            flat[name] = _cell(value)
    return flat


def columns(rows: Iterable[Row]) -> dict[str, list[Cell]]:
    """The rows as columns of equal length, in the order of the schema; a value that a row lacks is None.

    A column holds one type: where rows disagree (an int here, a text there), all its values become text;
    whole and broken numbers together become floats.
    """
    flat = [flatten(row) for row in rows]
    names = sorted({name for one in flat for name in one}, key=_place)
    return {name: _one_type([one.get(name) for one in flat]) for name in names}


def _place(name: str) -> tuple[int, str]:
    """Position in the schema; a flattened column stands where its field stood."""
    for place, field in enumerate(FIELDS):
        if name == field or (field in _FLATTENED and name.startswith(f"{field}_") and name not in FIELDS):
            return place, name
    return len(FIELDS), name


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, sort_keys=True)


def _one_type(values: list[Cell]) -> list[Cell]:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return values
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
