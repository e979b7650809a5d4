"""Lines of JSON that show whether they are as they were written.

A line ends in two keys: ``after`` has the sum of the line before it, ``sum`` its own over all that stands
before. So a line that was changed, lost, doubled or moved is seen, and its number is told. Only lines that
were lost at the end leave no trace: the file is then as it was earlier, and what is missing is measured
again. The sums have 64 bits: they find what disks, copies and editors do, not what a forger does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isfinite
from typing import Any

import msgspec

from tautochrone.errors import all_printable

Record = dict[str, Any]
"""A line: a JSON object."""

AFTER, SUM = "after", "sum"
_ENDS = re.compile(rb'"after":"([0-9a-f]{16})",("sum":"([0-9a-f]{16})"\})$')
_END_BYTES = 64
_NO_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[^][{}"]+|"', re.DOTALL)
_LEVELS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
# What translate() deletes: all but brackets.
_NEITHER = bytes(set(range(256)) - set(b"[]{}"))
# What translate() makes of a byte: 0 of a digit, a space of all else.
_DIGITS = bytes(ord("0") if chr(code).isdecimal() and code < 0x80 else ord(" ") for code in range(256))
_LONG_NUMBER = b"0" * 19
_EXPONENT = re.compile(rb"[0-9.][eE]\+?[0-9]{3}")
_MAY_ACT = re.compile(rb"\\[ubfr]|[\x7f-\xff]")
DEEPEST = 32
_NOTHING = b"\n\0 \t\r"
_MOST_NUMBERS = 8


def sum_of(data: bytes) -> str:
    """Sixteen hexadecimal digits over `data`."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def line_of(record: Mapping[str, object], before: str) -> tuple[bytes, str]:
    """The line of `record` behind the line whose sum is `before`, and its own sum.

    ValueError for NaN and infinity, which JSON has no word for.
    """
    plain = {name: value for name, value in record.items() if name not in (AFTER, SUM)}
    text = json.dumps({**plain, AFTER: before}, allow_nan=False, separators=(",", ":"))
    body = f"{text[:-1]},".encode()
    own = sum_of(body)
    return body + f'"{SUM}":"{own}"}}\n'.encode(), own


@dataclass
class Lines:
    """What a file of such lines holds. Line numbers begin with 1.

    `records`: what was made of the whole ones, by their number. `whole`: how many there are. `size`: the
    bytes without a tail that was cut off. `last`: the sum behind which the next line stands. `old`: how many
    lines have no sums, since an earlier version wrote them.
    """

    records: dict[int, Any] = field(default_factory=dict)
    whole: int = 0
    count: int = 0
    size: int = 0
    last: str = field(default_factory=lambda: sum_of(b""))
    old: int = 0
    changed: list[int] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)  # the numbers of the lines before which one is missing
    repeats: dict[int, int] = field(default_factory=dict)
    old_changed: bool = False

    def notices(self, path: object) -> list[str]:
        """What a user should be told of the file at `path`, a sentence each."""
        found = []
        if self.changed:
            found.append(
                f"{_numbered(self.changed)} of {path} changed after writing (the checksum does not fit) and "
                f"left out; the {self.whole} others are whole, and the same command measures again "
                "what is missing"
            )
        if self.gaps:
            found.append(
                f"before {_numbered(self.gaps)} of {path} at least one line is missing, or lines were moved; "
                "the same command measures again what is missing"
            )
        if self.repeats:
            number, first = next(iter(self.repeats.items()))
            others = f", and {len(self.repeats) - 1} more repeat others" if len(self.repeats) > 1 else ""
            found.append(f"line {number} of {path} repeats line {first}{others}: left out")
        if self.old and self.whole:
            known = (
                "at least one of them changed" if self.old_changed else "nobody can tell whether they changed"
            )
            found.append(
                f"lines 1 to {self.old} of {path} are of an earlier version without checksums: {known}"
            )
        return found


def read_lines(lines: Iterable[bytes], made: Callable[[Record], Any] = dict) -> Lines:
    """The lines of a file, each judged; a last one that was cut off is left out.

    A line has its end, as a binary file yields it. `made`: what is kept of a record, without `after` and
    `sum`. A file is never in memory as a whole.
    """
    judge = _Judge(made)
    for line in lines:
        judge.take(line)
    return judge.found()


class _Judge:
    """Takes one line after the other."""

    def __init__(self, made: Callable[[Record], Any]) -> None:
        self._found = Lines()
        self._made = made
        self._known: dict[str, int] = {}  # the number of the line with this sum
        self._follows = True  # whether the line before is known, so that this one must follow it
        self._tail: list[bytes] = []  # lines that are no objects, so far with nothing behind them
        self._old = hashlib.blake2b(digest_size=8)  # over all lines before the first with a sum

    def take(self, line: bytes) -> None:
        text = line.removesuffix(b"\n")
        record = _object(text)
        if record is None:
            if text.strip(_NOTHING):
                self._end_tail()
            self._tail.append(line)
            return
        self._end_tail()
        before = "" if self._known else self._old.hexdigest()
        number = self._next(line)
        ends = _ENDS.search(text, max(0, len(text) - _END_BYTES))
        if ends is not None:
            self._judge(number, record, ends, text, before)
        elif self._known:
            self._change(number)
        else:
            self._keep(number, record)
            self._found.old = number

    def found(self) -> Lines:
        """The tail is left out: an object ends in its brace, the beginning of one is never an object."""
        if not self._known:
            self._found.last = self._old.hexdigest()
        return self._found

    def _judge(self, number: int, record: Record, ends: re.Match[bytes], text: bytes, before: str) -> None:
        """A line with sums; `before`: that of all lines before it, if none of them has one."""
        found = self._found
        after, own = ends[1].decode(), ends[3].decode()
        if own != sum_of(text[: ends.start(2)]):
            self._change(number)
            return
        if own in self._known:
            found.repeats[number] = self._known[own]
            return
        if not self._known:
            _judge_old(found, after, before, number)
        elif self._follows and after != found.last:
            found.gaps.append(number)
        del record[AFTER], record[SUM]
        self._keep(number, record)
        found.last, self._known[own], self._follows = own, number, True

    def _next(self, line: bytes) -> int:
        """The number of the next line, which belongs to the file whatever it holds."""
        self._found.count += 1
        self._found.size += len(line)
        if not self._known:
            self._old.update(line)
        return self._found.count

    def _keep(self, number: int, record: Record) -> None:
        self._found.records[number] = self._made(record)
        self._found.whole += 1

    def _change(self, number: int) -> None:
        self._found.changed.append(number)
        self._follows = False

    def _end_tail(self) -> None:
        """Something stands behind what could have been the end."""
        for line in self._tail:
            self._change(self._next(line))
        self._tail.clear()


def _judge_old(found: Lines, after: str, before: str, number: int) -> None:
    """The first line with a sum has that of all bytes before it, which an earlier version wrote."""
    if after == before:
        return
    if number == 1:
        found.gaps.append(number)
    elif found.old == 1:  # a version that knows no sums writes more than the first line
        found.changed.append(found.old)
        del found.records[found.old]
        found.whole -= 1
        found.old = 0
    else:
        found.old_changed = True


def plain(data: bytes) -> Any:
    """The JSON value in `data`, of a kind that every reader takes and every terminal can show.

    ValueError for what is no JSON, for numbers that are no finite double or 64-bit integer, and for more than
    32 levels.
    """
    if data.count(b"[") + data.count(b"{") > DEEPEST and _is_deep(data):
        raise ValueError(f"it has more than {DEEPEST} levels")
    # msgspec reads most lines three times as fast; it differs from json in what these may not have.
    quick = data.isascii() and b"\\" not in data and b"\x7f" not in data
    try:
        value = msgspec.json.decode(data) if quick else json.loads(data, parse_constant=_refuse)
    except RecursionError as error:  # quotes that never end hide brackets
        raise ValueError("it has too many levels") from error
    if _LONG_NUMBER in data.translate(_DIGITS) or (not quick and _EXPONENT.search(data)):
        _refuse_large(value)
    return all_printable(value) if not quick and _MAY_ACT.search(data) else value


def _is_deep(data: bytes) -> bool:
    """Whether a text of JSON has too many levels; brackets in its strings are none."""
    if _levels(data.translate(None, _NEITHER)) <= DEEPEST:
        return False
    return _levels(_NO_BRACKETS.sub(b"", data)) > DEEPEST


def _levels(brackets: bytes) -> int:
    return max(accumulate(map(_LEVELS.__getitem__, brackets)), default=0)


def _refuse(word: str) -> float:
    raise ValueError(f"JSON has no {word}")


def _refuse_large(value: object) -> None:
    """ValueError for a number that others would not take, anywhere in a value of few levels."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        for each in value:
            _refuse_large(each)
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("an integer has more than 64 bits")
    elif isinstance(value, float) and not isfinite(value):
        raise ValueError("a number is too large")


def _object(line: bytes) -> Record | None:
    try:
        value = plain(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _numbered(numbers: Sequence[int]) -> str:
    """[4] → "line 4"; [4, 9] → "lines 4 and 9"; of many the first ones."""
    words = [str(number) for number in numbers[:_MOST_NUMBERS]]
    if len(numbers) > _MOST_NUMBERS:
        words.append(f"{len(numbers) - _MOST_NUMBERS} more")
    if len(words) == 1:
        return f"line {words[0]}"
    return f"lines {', '.join(words[:-1])} and {words[-1]}"
