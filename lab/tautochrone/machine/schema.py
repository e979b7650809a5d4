"""Machine files: their keys, from ``schema.toml``, and the check of a file."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec

from tautochrone.errors import TautoError

Tables = dict[str, Any]
"""A machine file as TOML. Only the code that reads, checks and completes it uses its keys."""


class Quantity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The type of a key's value. ``range``: the least and the greatest number."""

    type: Literal["text", "flag", "number", "count"]
    unit: str
    range: tuple[float, float] | None = None


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"quantity": "is"}):
    """One key. The head of ``schema.toml`` explains the fields."""

    about: str
    quantity: str | None = None
    each: str | None = None
    range: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    needed: bool = False
    beside: str | None = None
    filled: bool = False
    ascends: bool = False
    default: bool | int | float | str | list[float] | None = None
    like: str | None = None
    derived: str | None = None
    use: Literal["simulator", "smpi", "laboratory", "people"] = "simulator"
    probed: bool = False

    @property
    def kind(self) -> Quantity:
        """The quantity of its value, or of each of its values."""
        return SCHEMA.quantity[self.quantity or self.each or ""]

    @property
    def meaning(self) -> str:
        """``about``, and the default."""
        default = self.like or self.derived or _shown(self.default)
        return f"{self.about} (default: {default})" if default and not self.needed else self.about

    @property
    def is_whole(self) -> bool:
        return self.kind.type == "count"


class Schema(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. ``derived``: values that only the simulator has, by table."""

    quantity: Mapping[str, Quantity]
    table: Mapping[str, Mapping[str, Key]]
    derived: Mapping[str, Mapping[str, str]]


SCHEMA = msgspec.toml.decode(Path(__file__).with_name("schema.toml").read_bytes(), type=Schema)
HEAD, KIND = "head", "kind"


def _shown(value: bool | float | str | list[float] | None) -> str:
    """A default as a machine file would write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def parse(text: str, name: str) -> Tables:
    """The tables of a machine file, checked; ``name`` is for messages.

    Raises TautoError with the line and the remedy.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TautoError(f"{name} is not TOML: {error}", "Correct that line") from error
    except RecursionError as error:
        raise TautoError(f"{name} has tables or lists nested too deeply", "Correct that line") from error
    except ValueError as error:
        # Python refuses whole numbers with thousands of digits.
        lines = text.splitlines()
        line = next((number for number, words in enumerate(lines, 1) if re.search(r"\d{4300}", words)), 1)
        raise TautoError(
            f"{name}, line {line}: no machine has a number with thousands of digits", "Write it as in 1e9"
        ) from error
    check(tables, name, text)
    return tables


def check(tables: Tables, name: str, text: str = "") -> None:
    """Check a machine file. Raises TautoError; ``text``, if given, provides the line number."""
    _Check(name, text).whole(tables)


class _Check:
    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text
        self._at(HEAD)

    def _at(self, table: str, position: int = 0) -> None:
        """The place for messages: the table, and its position among tables of the same name."""
        self._table, self._position = table, position

    def whole(self, tables: Tables) -> None:
        head = {key: value for key, value in tables.items() if not isinstance(value, dict | list)}
        for name, value in tables.items():
            if name not in head and (name == HEAD or name not in SCHEMA.table):
                self._unknown_table(name, value)
        self._one_table(HEAD, 0, head)
        self._kinds(tables.get(KIND))
        for name in SCHEMA.table:
            if name in tables and name not in (HEAD, KIND):
                if not isinstance(tables[name], dict):
                    self._at(name)
                    self._refuse("", f"[{name}] must be one table", f"Write [{name}] once")
                self._one_table(name, 0, tables[name])
        self._governor(tables.get("governor", {}))

    def _unknown_table(self, name: str, value: Tables | list[object]) -> NoReturn:
        if isinstance(value, list) and not any(isinstance(entry, dict) for entry in value):
            self._unknown(name)
        self._at(name)
        choices = ", ".join(table for table in SCHEMA.table if table != HEAD)
        self._refuse("", f"there is no table [{name}]", f"Choose from {choices}")

    def _kinds(self, kinds: object) -> None:
        if not isinstance(kinds, list) or not kinds:
            raise TautoError(
                f"{self._name} names no kind of cores", "Add a table [[kind]] with kind and cores"
            )
        names: list[object] = ["all", "cores"]
        for position, kind in enumerate(kinds):
            if not isinstance(kind, dict):
                self._at(HEAD)
                self._refuse(KIND, f"kind has {kind!r}", "Write a table [[kind]] for each kind")
            self._one_table(KIND, position, kind)
        for position, kind in enumerate(kinds):
            self._at(KIND, position)
            if kind[KIND] in names:
                self._refuse(KIND, f"kind {kind[KIND]!r} is taken", "Give each kind a name of its own")
            names.append(kind[KIND])

    def _governor(self, governor: Tables) -> None:
        up = governor.get("up_utilisation", SCHEMA.table["governor"]["up_utilisation"].default)
        if governor.get("down_utilisation", 0) > up:
            self._at("governor")
            self._refuse(
                "down_utilisation",
                "down_utilisation is above up_utilisation: the clock would go up and down at once",
                "Give the smaller one as down_utilisation",
            )

    def _one_table(self, table: str, position: int, given: Tables) -> None:
        self._at(table, position)
        keys = SCHEMA.table[table]
        for name, value in given.items():
            if name not in keys:
                self._unknown(name)
            self._value(name, keys[name], value)
        for name, key in keys.items():
            if key.needed and name not in given:
                where = "the head" if table == HEAD else f"[{table}]"
                self._refuse("", f"{where} has no {name}", f"Add a line {name} = …")
        for name, key in keys.items():
            self._list(name, key, given)

    def _unknown(self, name: str) -> NoReturn:
        keys = SCHEMA.table[self._table]
        if with_unit := [known for known in keys if known.startswith(f"{name}_")]:
            self._refuse(name, f"{name} has no unit", f"Write {' or '.join(with_unit)}")
        elsewhere = [table for table, others in SCHEMA.table.items() if name in others]
        close = difflib.get_close_matches(name, keys, 1)
        if elsewhere:
            remedy = f"It belongs in {'the head' if elsewhere[0] == HEAD else f'[{elsewhere[0]}]'}"
        else:
            remedy = f"Did you mean {close[0]}?" if close else "machines/template.toml explains every key"
        self._refuse(name, f"there is no key {name} here", remedy)

    def _value(self, name: str, key: Key, value: object) -> None:
        values = value if key.each else [value]
        if not isinstance(values, list):
            self._refuse(name, f"{name} must be a list", f"Write {name} = [{value}]")
        for entry in values:
            self._single(name, key, entry)

    def _single(self, name: str, key: Key, value: object) -> None:
        sort, limits = key.kind.type, key.range or key.kind.range
        statement = f"{name} is {value!r}"
        if sort == "text":
            if not isinstance(value, str) or not value:
                self._refuse(name, statement, 'Write a text in quotes: "…"')
            if key.choices and value not in key.choices:
                self._refuse(name, statement, f"Choose from {', '.join(key.choices)}")
        elif sort == "flag":
            if not isinstance(value, bool):
                self._refuse(name, statement, "Write true or false")
        elif not isinstance(value, int if sort == "count" else int | float) or isinstance(value, bool):
            self._refuse(name, statement, "Write a whole number" if sort == "count" else "Write a number")
        elif limits and not limits[0] <= value <= limits[1]:
            # A whole number may exceed every float.
            shown = f"{value:g}" if abs(value) < 1e300 or isinstance(value, float) else f"above {1e300:g}"
            self._refuse(
                name,
                f"{name} is {shown}, which no machine has",
                f"It must be from {limits[0]:g} to {limits[1]:g}",
            )

    def _list(self, name: str, key: Key, given: Tables) -> None:
        values: Sequence[float] = given.get(name) or []
        if key.beside and len(values) != len(given.get(key.beside) or []):
            self._refuse(
                name if values else key.beside,
                f"{name} and {key.beside} must have the same number of entries",
                f"Give one entry of {key.beside} for each of {name}",
            )
        if key.ascends and list(values) != sorted(values):
            self._refuse(name, f"{name} must ascend", f"Sort {name}, and {key.beside} with it")
        if key.filled and name in given and not values:
            self._refuse(name, f"the list {name} is empty", "Give at least one number")

    def _refuse(self, key: str, message: str, remedy: str) -> NoReturn:
        raise TautoError(f"{self._name}, line {self._line(key)}: {message}", remedy)

    def _line(self, wanted: str) -> int:
        """The line of the key, else of its table, else 1; tomllib does not give lines."""
        places: dict[tuple[str, int, str], int] = {}
        table, seen = HEAD, Counter[str]()
        for number, line in enumerate(self._text.splitlines(), 1):
            if heading := re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?", line):
                table, name = heading.group(1), ""
                seen[table] += 1
            elif entry := re.match(r"\s*([\w-]+|\"[^\"]+\")\s*=", line):
                name = entry.group(1).strip('"')
            else:
                continue
            places.setdefault((table, max(0, seen[table] - 1), name), number)
        return places.get((self._table, self._position, wanted)) or places.get(
            (self._table, self._position, ""), 1
        )
