"""Machine files: found by name, read, checked against :mod:`keys`, changed by ``--set``."""

from __future__ import annotations

import copy
import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.simulator.keys import TABLES, Key

_SHIPPED = (
    Path(__file__).resolve().parent.parent / "machines",
    Path(__file__).resolve().parents[3] / "machines",
)
_USUAL_UP = 0.8  # of up_utilisation, as in simulator/machine.hpp

Machine = dict[str, Any]


def shipped() -> dict[str, Path]:
    """The machine files that come with tautochrone, by name."""
    for folder in _SHIPPED:
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return {}


def load(name: str) -> Machine:
    """The machine of that name or file, checked. Raises TautoError with the line and the remedy."""
    known = shipped()
    path = Path(name)
    if not path.is_file():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            raise TautoError(
                f"there is no machine {name!r}" + (f"; {close[0]} is one" if close else ""),
                f"Choose from {', '.join(known)}, or name a file that tauto machine --export wrote",
            )
        path = known[name]
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TautoError(
            f"{path.name}, line {line}: byte {error.object[error.start]:#04x} is no UTF-8",
            "Name a file that tauto machine --export wrote, or save this one as UTF-8",
        ) from error
    except OSError as error:
        raise TautoError(
            f"{path} cannot be read: {error.strerror or error}", "Name a file that you may read"
        ) from error
    return read(text, path.name)


def read(text: str, name: str) -> Machine:
    """Parse and check a machine file's text; ``name`` is for messages."""
    try:
        parsed: Machine = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TautoError(f"{name} is not TOML: {error}", "Correct that line") from error
    except ValueError as error:
        # Python refuses to read whole numbers of thousands of digits.
        lines = text.splitlines()
        line = next((n for n, one in enumerate(lines, 1) if re.search(r"\d{4300}", one)), 1)
        raise TautoError(
            f"{name}, line {line}: no machine has a number of so many digits", "Write it as in 1e9"
        ) from error
    _Checker(name, _Lines(text)).check(parsed)
    return parsed


class _Lines:
    """On which line a key stands; tomllib does not say."""

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, int, str], int] = {}
        self._tables: dict[tuple[str, int], int] = {}
        table, count = "", 0
        counts: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), 1):
            heading = re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]\]?", line)
            if heading:
                table = heading.group(1)
                count = counts.get(table, 0)
                counts[table] = count + 1
                self._tables[(table, count)] = number
                continue
            key = re.match(r"\s*([\w-]+|\"[^\"]+\")\s*=", line)
            if key:
                self._lines.setdefault((table, count, key.group(1).strip('"')), number)

    def of(self, table: str, position: int, key: str = "") -> int:
        """The key's line, else its table's, else the first."""
        return self._lines.get((table, position, key)) or self._tables.get((table, position), 1)


class _Checker:
    def __init__(self, name: str, lines: _Lines) -> None:
        self._name, self._lines = name, lines

    def check(self, parsed: Machine) -> None:
        head = {key: value for key, value in parsed.items() if not isinstance(value, dict | list)}
        for key, value in parsed.items():
            if isinstance(value, dict | list) and key not in TABLES:
                if isinstance(value, list) and not any(isinstance(one, dict) for one in value):
                    self._unknown("", 0, key)
                self._fail(
                    key,
                    0,
                    "",
                    f"there is no table [{key}]",
                    f"Choose from {', '.join(table for table in TABLES if table)}",
                )
        self._table("", 0, head)
        kinds = parsed.get("kind")
        if not isinstance(kinds, list) or not kinds:
            raise TautoError(
                f"{self._name} names no kind of cores", "Add a table [[kind]] with kind and cores"
            )
        for position, kind in enumerate(kinds):
            if not isinstance(kind, dict):
                self._fail("", 0, "kind", f"kind has {kind!r}", "Write a table [[kind]] for each kind")
            self._table("kind", position, kind)
            self._lists(position, kind)
        names = [kind["kind"] for kind in kinds]
        for position, name in enumerate(names):
            if name in names[:position] or name in ("all", "cores"):
                self._fail(
                    "kind", position, "kind", f"kind {name!r} is taken", "Give each kind a name of its own"
                )
        for table in TABLES:
            if table not in ("", "kind") and table in parsed:
                if not isinstance(parsed[table], dict):
                    self._fail(table, 0, "", f"[{table}] must be one table", f"Write [{table}] once")
                self._table(table, 0, parsed[table])
        self._reads("memory", 0, parsed.get("memory", {}))
        governor = parsed.get("governor", {})
        if governor.get("down_utilisation", 0) > governor.get("up_utilisation", _USUAL_UP):
            self._fail(
                "governor",
                0,
                "down_utilisation",
                "down_utilisation is above up_utilisation: the clock would go up and down at once",
                "Give the smaller one as down_utilisation",
            )

    def _reads(self, table: str, position: int, found: Machine) -> None:
        self._pairs(
            (table, position), found, ("read_set_bytes", "read_bytes_per_second"), "rate at which each set"
        )

    def _pairs(self, place: tuple[str, int], found: Machine, names: tuple[str, str], each: str) -> None:
        first, second = (found.get(name) for name in names)
        if len(first or []) != len(second or []):
            self._fail(
                *place,
                names[0] if first else names[1],
                f"{' and '.join(names)} must have as many entries as each other",
                f"Give the {each} was read",
            )

    def _lists(self, position: int, kind: Machine) -> None:
        self._reads("kind", position, kind)
        pauses = ("pause_seconds", "pause_read_bytes_per_second")
        self._pairs(("kind", position), kind, pauses, "rate at which the set with each pause")
        states, watts = kind.get("state_hertz"), kind.get("state_active_watts")
        if len(states or []) != len(watts or []):
            self._fail(
                "kind",
                position,
                "state_hertz" if states else "state_active_watts",
                "state_hertz and state_active_watts must have as many entries as each other",
                "Give the watts of one working core at each clock",
            )
        if states and states != sorted(states):
            self._fail("kind", position, "state_hertz", "state_hertz must ascend", "Sort both lists by clock")
        if any(kind.get(key) == [] for key in ("turbo_hertz", "state_hertz")):
            self._fail(
                "kind", position, "turbo_hertz", "a list of clocks is empty", "Name at least one clock"
            )

    def _table(self, table: str, position: int, found: Mapping[str, Any]) -> None:
        keys = TABLES[table]
        for key, value in found.items():
            if key not in keys:
                self._unknown(table, position, key)
            self._value(table, position, key, keys[key], value)
        for key, rule in keys.items():
            if rule.needed and key not in found:
                where = f"[{table}]" if table else "the head"
                self._fail(table, position, "", f"{where} has no {key}", f"Add a line {key} = …")

    def _unknown(self, table: str, position: int, key: str) -> None:
        keys = TABLES[table]
        with_unit = [known for known in keys if known.startswith(f"{key}_")]
        if with_unit:
            self._fail(table, position, key, f"{key} says no unit", f"Write {' or '.join(with_unit)}")
        close = difflib.get_close_matches(key, keys, 1)
        elsewhere = [f"[{other}]" if other else "the head" for other, its in TABLES.items() if key in its]
        remedy = (
            f"It belongs into {elsewhere[0]}"
            if elsewhere
            else f"Did you mean {close[0]}?"
            if close
            else "machines/template.toml explains every key"
        )
        self._fail(table, position, key, f"there is no key {key} here", remedy)

    def _value(self, table: str, position: int, key: str, rule: Key, value: object) -> None:
        values: Sequence[object]
        if rule.shape in ("numbers", "counts"):
            if not isinstance(value, list):
                self._fail(table, position, key, f"{key} must be a list", f"Write {key} = [{value}]")
            assert isinstance(value, list)
            values = value
        else:
            values = [value]
        for one in values:
            self._one(table, position, key, rule, one)

    def _one(self, table: str, position: int, key: str, rule: Key, value: object) -> None:
        if rule.shape == "text":
            if not isinstance(value, str) or not value:
                self._fail(table, position, key, f"{key} is {value!r}", 'Write a text in quotes: "…"')
            if rule.choices and value not in rule.choices:
                self._fail(
                    table, position, key, f"{key} is {value!r}", f"Choose from {', '.join(rule.choices)}"
                )
            return
        if rule.shape == "flag":
            if not isinstance(value, bool):
                self._fail(table, position, key, f"{key} is {value!r}", "Write true or false")
            return
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or (rule.shape in ("count", "counts") and not isinstance(value, int)):
            what = "a whole number" if rule.shape in ("count", "counts") else "a number"
            self._fail(table, position, key, f"{key} is {value!r}", f"Write {what}")
        assert isinstance(value, int | float)
        if not rule.least <= value <= rule.most:
            # A whole number may be longer than any float.
            shown = f"{value:g}" if abs(value) < 1e300 or isinstance(value, float) else f"above {1e300:g}"
            self._fail(
                table,
                position,
                key,
                f"{key} is {shown}, which no machine has",
                f"It must be from {rule.least:g} to {rule.most:g}",
            )

    def _fail(self, table: str, position: int, key: str, message: str, remedy: str) -> None:
        line = self._lines.of(table, position, key)
        raise TautoError(f"{self._name}, line {line}: {message}", remedy)


def change(machine: Machine, settings: Iterable[str]) -> Machine:
    """A copy with ``cores.E.count=32`` (a kind's key) or ``memory.memory_bytes_per_second=9e10`` applied.

    Raises TautoError for a setting that names nothing or is impossible.
    """
    changed = copy.deepcopy(machine)
    paths: list[str] = []
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals:
            raise TautoError(f"--set {setting} sets nothing", "Write --set cores.E.count=32")
        _put(changed, path, _parsed(setting, text))
        paths.append(path)
    # Keys that need each other, as those of a new table do, are set one after the other.
    if paths:
        _check_set(changed, ", ".join(dict.fromkeys(paths)))
    return changed


def _parsed(setting: str, text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if re.fullmatch(r"[\w.-]+", text):
            return text
        raise TautoError(
            f"--set {setting}: {text!r} is no value", "Write a number, a word or a list"
        ) from None


def set_value(machine: Machine, path: str, value: Any) -> None:
    """Set one value in place and check it."""
    _put(machine, path, value)
    _check_set(machine, path)


def _put(machine: Machine, path: str, value: Any) -> None:
    table, key, holder = _place(machine, path)
    rule = TABLES[table].get(key)
    if rule is None:
        close = difflib.get_close_matches(key, TABLES[table], 1)
        raise TautoError(
            f"--set {path}: there is no key {key} there",
            f"Did you mean {close[0]}?" if close else "See machines/template.toml",
        )
    if rule.shape in ("numbers", "counts") and not isinstance(value, list):
        value = [value]
    if rule.shape in ("count", "counts") and isinstance(value, float) and value.is_integer():
        value = int(value)
    holder[key] = value


def _check_set(machine: Machine, paths: str) -> None:
    try:
        _Checker("--set", _Lines("")).check(machine)
    except TautoError as error:
        message = error.message.split(": ", 1)[-1]
        raise TautoError(f"--set {paths}: {message}", error.remedy) from None


def is_whole(machine: Machine, path: str) -> bool:
    """True for a key that takes whole numbers alone."""
    table, key, _ = _place(copy.deepcopy(machine), path)
    rule = TABLES[table].get(key)
    return rule is not None and rule.shape in ("count", "counts")


def _place(machine: Machine, path: str) -> tuple[str, str, dict[str, Any]]:
    words = path.split(".")
    kinds = {kind["kind"]: kind for kind in machine["kind"]}
    if len(words) == 3 and words[0] == "cores":
        if words[1] not in kinds:
            raise TautoError(f"{path}: there is no kind {words[1]}", f"Choose from {', '.join(kinds)}")
        return "kind", "cores" if words[2] == "count" else words[2], kinds[words[1]]
    if len(words) == 2 and words[0] in TABLES and words[0] not in ("", "kind"):
        return words[0], words[1], machine.setdefault(words[0], {})
    if len(words) == 1:
        return "", words[0], machine
    raise TautoError(
        f"{path} names nothing in a machine file",
        f"Write cores.KIND.KEY (KIND: {', '.join(kinds)}) or TABLE.KEY, as in "
        f"cores.{next(iter(kinds))}.count",
    )
