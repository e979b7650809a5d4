"""What a page consists of, as plain data: nothing here draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tautochrone.report.palette import RuntimeStyle

Record = dict[str, object]
"""A line of a table that charts draw: numbers to draw and, as text, what its tooltip says."""

Column = tuple[str, str, str]
"""A column of the table of all configurations: field, heading, and how it is written.

How: ``text``, ``number``, ``time`` (seconds), ``interval`` (this field to ``high``), ``percent``,
``relative`` (a quotient with a bar), ``situation``, ``runtime``, ``status``.
"""


LAST_COLUMNS: tuple[Column, ...] = (("rounds", "rounds", "number"), ("status", "status", "status"))
"""The columns at the end of every study's table."""


class View(msgspec.Struct, frozen=True):
    """One drawing of a chart: caption, the parameters that the page sets, text for a screen reader."""

    caption: str
    parameters: dict[str, object]
    description: str


class Choice(msgspec.Struct, frozen=True):
    """A parameter that the reader may choose: (value, what people read)."""

    parameter: str
    label: str
    options: Sequence[tuple[object, str]]
    chosen: object


class Figure(msgspec.Struct, frozen=True):
    """A heading, its explanation, and the views below it."""

    name: str
    heading: str
    explanation: str
    views: list[View]
    legend: list[RuntimeStyle]
    line_legend: list[tuple[str, str]] = []  # (CSS class of a sample line, meaning)
    choice: Choice | None = None


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
