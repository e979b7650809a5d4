"""What a study's page has of its own; everything else is the same for all studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tautochrone.report.figure import Figure
from tautochrone.report.tables import Record

Column = tuple[str, str, str]
"""A column of the table of all configurations: field, heading, and how it is written.

How: ``text``, ``number``, ``time`` (seconds), ``interval`` (this field to ``high``), ``percent``,
``relative`` (a quotient with a bar), ``situation``, ``runtime``, ``status``.
"""


class Filter(msgspec.Struct, frozen=True):
    """A choice above that table: a field, what it is called, its values with what people read."""

    name: str
    label: str
    options: Sequence[tuple[object, str]]
    chosen: object = ""  # at first; "" for all


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The template, what it draws and lists, and what else it needs (``more``)."""

    template: str
    tables: Mapping[str, Sequence[Record]]
    charts: Mapping[str, Any]
    figures: Sequence[Figure]
    situations: Sequence[dict[str, float]]
    runtimes: Sequence[str]
    configurations: Sequence[Record]
    columns: Sequence[Column]
    filters: Sequence[Filter]
    more: Mapping[str, Any] = {}
