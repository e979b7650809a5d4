"""Two configurations of one folder as they are written on the command line, for somebody who named none."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tautochrone.results.row import Row

Words = Callable[[Any], str]


def two_of(where: str, rows: Sequence[Row], words: Words) -> str:
    """``FOLDER@library=tbb FOLDER@library=libgomp,schedule=static``, each one configuration in every cell.

    Empty where the folder has no two that can be compared.
    """
    cells: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault(row.group, {})[row.config_id] = row.config
    several = next((list(configs.values()) for configs in cells.values() if len(configs) > 1), [])
    written = []
    for config in several:
        settings = _telling(config, list(cells.values()), words)
        if settings:
            choice = ",".join(f"{name}={value}" for name, value in settings.items())
            written.append(shlex.quote(f"{where}@{choice}"))
    return " ".join(written[:2]) if len(written) > 1 else ""


def _telling(
    config: Mapping[str, Any], cells: Sequence[Mapping[str, Mapping[str, Any]]], words: Words
) -> dict[str, str]:
    """The fewest settings, dropped one after the other, that only this configuration has in each cell."""
    varies = {
        name
        for configs in cells
        for name in config
        if len({words(one.get(name)) for one in configs.values()}) > 1
    }
    settings = {name: words(config[name]) for name in config if name in varies}
    if not settings or not _is_one(settings, cells, words):
        return {}
    for name in list(settings):
        fewer = {key: value for key, value in settings.items() if key != name}
        if fewer and _is_one(fewer, cells, words):
            settings = fewer
    return settings


def _is_one(
    settings: Mapping[str, str], cells: Sequence[Mapping[str, Mapping[str, Any]]], words: Words
) -> bool:
    for configs in cells:
        chosen = [
            one
            for one in configs.values()
            if all(name in one and words(one[name]) == value for name, value in settings.items())
        ]
        if len(chosen) > 1:
            return False
    return True
