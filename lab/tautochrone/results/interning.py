"""Rows of one store hold what is equal in many of them once: a store may have 10^5 rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tautochrone.results.lines import Record
from tautochrone.results.row import Row, read_row

STUDYS_OWN: Mapping[str, Any] = {"workers": None, "counters": None, "check": None, "detail": {}}
"""What a row holds for its study alone, with what stands for it where nobody asks for it."""
_OF_ONE_RUN = ("run", "started")


class Interning:
    """Makes rows of records, with texts and configurations that are those of the rows before."""

    def __init__(self, *, lean: bool = False) -> None:
        """`lean`: without the fields that are a study's own, half of what a row weighs."""
        self._left_out = STUDYS_OWN if lean else {}
        self._texts: dict[str, str] = {}
        self._configs: dict[str, dict[str, Any]] = {}

    def row(self, record: Record) -> Row:
        """A stored record as a row. ValueError for a field that lacks or has another type."""
        for value in [record, *record.values()]:
            if isinstance(value, dict):
                self._share_texts(value)
        row = read_row(record)
        config = self._configs.setdefault(row.config_id, row.config)
        changes = {**self._left_out, "config": config} if config == row.config else self._left_out
        return msgspec.structs.replace(row, **changes)

    def _share_texts(self, record: Record) -> None:
        for name, value in record.items():
            if isinstance(value, str) and name not in _OF_ONE_RUN:
                record[name] = self._texts.setdefault(value, value)
