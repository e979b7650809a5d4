"""The rows that one side of a comparison stands for: a store, or some configurations of it.

Written ``FOLDER`` or ``FOLDER@setting=value,setting=value``, for instance
``tautochrone-results/loop@runtime=openmp,library=libgomp,schedule=dynamic``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.row import Row
from tautochrone.store import Store


@dataclass(frozen=True)
class Selection:
    """`rows` of `store` that have the wanted `settings`; `text` is how the user wrote it."""

    text: str
    store: Store
    settings: Mapping[str, str]
    rows: list[Row]

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Read the store and select; TautoError if there is no such store, setting or value."""
        where, wanted = _split(text)
        store = Store.read(where)
        rows = store.rows()
        for name, value in wanted.items():
            rows = _having(rows, name, value, text)
        if not rows:
            raise TautoError(f"{store.path} holds no measured rows", "Let the study measure first")
        return cls(text, store, wanted, rows)

    def by_cell(self, key: str) -> dict[str, list[Row]]:
        """The rows of each `config_id` or `group`; TautoError if a group has several configurations."""
        cells: dict[str, list[Row]] = {}
        for row in self.rows:
            cells.setdefault(str(row.get(key, "")), []).append(row)
        for name, rows in cells.items():
            self._refuse_several(name, rows)
        return cells

    def _refuse_several(self, cell: str, rows: list[Row]) -> None:
        configs = {row["config_id"]: row["config"] for row in rows}
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
        return "+".join(f"{name}:{words(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return ",".join(words(one) for one in value)
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
    there = sorted({words(row["config"][name]) for row in rows if name in row["config"]})
    if not there:
        known = ", ".join(sorted({one for row in rows for one in row["config"]}))
        raise TautoError(f"no row of {text} has a setting {name!r}", f"Settings there: {known or 'none'}")
    if value not in there:
        raise TautoError(f"no row of {text} has {name}={value}", f"Values there: {', '.join(there)}")
    return [row for row in rows if name in row["config"] and words(row["config"][name]) == value]
