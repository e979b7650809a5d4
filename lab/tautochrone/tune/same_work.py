"""Whether a setting still lets the program do its work: by what it prints, and by the CPU time that it uses.

Nobody was asked for a check, so this must not refuse a setting that does the work. Outputs are compared by
the shapes of their lines: numbers are left out, and neither order nor repetition counts, so that timings,
thread numbers and lines that several threads print make no difference; and half of the lines may differ, as
in programs that print their settings. Where the default prints nothing on standard output, standard error
stands for it, unless about as much CPU time is used: a program may be warned of a setting.

Hardly any of the default's CPU time is no work, whatever was printed: "done" costs nothing. But threads that
wait by spinning use many times the CPU time of the work. So the same output is believed where it could tell:
where it has a number that stands neither in the command nor in the program's files; but not where the first
run of any setting used many times the CPU time of its others, which then read what it left, such as a cache.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Self

import msgspec

from tautochrone.files import opened, unless_refused
from tautochrone.results.row import Row, cpu_seconds_of
from tautochrone.results.runs import median_known
from tautochrone.tune.space import DEFAULT

WORDS = "printed"
"""The field of a row's ``detail`` that holds `Words`."""

LEAST_CPU_SHARE = 0.1
"""With a smaller share of the default's CPU time, a run is not believed to have done the work."""

_LEAST_CPU_SECONDS = 5e-3  # of the default: below, the share says little
_AS_MUCH_CPU = 0.8  # of the default's time: no work was left out
_MOST_MISSING = 0.5  # of the default's lines
_MOST_LINES = 32  # that are kept of an output: those with the smallest hashes, the same of equal lines
_MOST_CHARACTERS = 1 << 18  # whose lines are looked at, from the end
_NUMBER = re.compile(
    r"[-+]?(?:0x[0-9a-f]+|[0-9]+(?:[.,][0-9]+)*(?:e[-+]?[0-9]+)?|\b(?:nan|inf)\b)", re.IGNORECASE
)
_WORD = re.compile(r"[0-9a-z][0-9a-z.,+\-]*", re.IGNORECASE)
_DECIMAL = re.compile(r"([0-9]+(?:,[0-9]{3})*(?:\.[0-9]*)?)(?:e[-+]?[0-9]+)?", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"(?:0x)?(?=[a-f]*[0-9])[0-9a-f]{8,}", re.IGNORECASE)
_LEAST_DIGITS = 5  # significant ones; fewer may come about by chance, or be a size, a year, a port
_MOST_NUMBERS = 64  # of an output, its last ones
_REMEDY = "--check or --same-output says what a right answer is"


class Words(msgspec.Struct, frozen=True):
    """Hashes of what a run printed; `exact` is None for nothing.

    `lines` and `errors` are of the shapes of lines on standard output and standard error, in rising order.
    """

    exact: str | None = None
    lines: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @classmethod
    def of(cls, output: str, errors: str) -> Self:
        """Linear in the length of the output; of a long one the end is looked at."""
        return cls(_hash(output) if output else None, _shapes(output), _shapes(errors))

    @classmethod
    def in_row(cls, row: Row) -> Self | None:
        """What the row keeps of its run's output; None for rows that keep nothing."""
        kept: Any = row.detail.get(WORDS)
        return None if kept is None else msgspec.convert(kept, cls)


def same_work(rows: Sequence[Row], *, trial: Words | None = None, telling: bool = False) -> dict[str, str]:
    """What is wrong with which run (``row.run``) of a search where the default is right.

    A candidate is refused when all of its runs differ from what all of the default's runs have in common;
    `trial` is one more of these. `telling`: whether the default's output `tells_of_work`.
    """
    by_candidate: dict[str, list[Row]] = {}
    for row in rows:
        by_candidate.setdefault(row.name, []).append(row)
    default = by_candidate.pop(DEFAULT, [])
    printed = _words(default) + ([trial] if trial is not None else [])
    left = {name for name, own in by_candidate.items() if _first_run_alone_worked(own)}
    wrong: dict[str, str] = {}
    for own in by_candidate.values():
        share = cpu_share(own, default)
        reason = _printed_otherwise(_words(own), printed, share)
        reason = reason or _worked_less(own, default, share, telling, left)
        if reason:
            wrong |= {row.run: f"{reason} ({_REMEDY})" for row in own}
    return wrong


def tells_of_work(output: str, given: Iterable[str], files: Iterable[Path]) -> bool:
    """Whether an output has a number that the work must have made: a hash, or one of five digits that count.

    Zeros at its ends do not count. A number that is part of a word of the command or a variable (`given`), or
    stands as text in one of the `files`, is no such number. Linear in the size of the files. OSError where
    the system lacks something.
    """
    words = " ".join(given)
    numbers = {word for word in _numbers(output) if word not in words}
    for path in files:
        if not numbers:
            break
        numbers -= _standing_in(path, numbers)
    return bool(numbers)


def said_of(own: Sequence[Row], default: Sequence[Row]) -> str:
    """What a reader should know of a candidate that was not refused; empty for nothing."""
    of_default, of_own = ({words.exact for words in _words(rows)} for rows in (default, own))
    parts = []
    if len(of_default) == 1 and of_own and not of_own & of_default:
        parts.append("does not print what the program as it is prints")
    share = cpu_share(own, default)
    if share is not None and share < 0.5:
        parts.append(f"uses {100 * share:.2g} % of its CPU time")
    return f"with these settings it {' and '.join(parts)}: see whether the answer is right" if parts else ""


def cpu_share(own: Sequence[Row], default: Sequence[Row]) -> float | None:
    """CPU seconds of a candidate's runs by those of the default's; None where these are too few to tell."""
    shares = [_cpu_seconds(own), _cpu_seconds(default)]
    if shares[0] is None or shares[1] is None or shares[1] < _LEAST_CPU_SECONDS:
        return None
    return shares[0] / shares[1]


def _words(rows: Sequence[Row]) -> list[Words]:
    return [words for row in rows if (words := Words.in_row(row)) is not None]


def _printed_otherwise(own: Sequence[Words], default: Sequence[Words], share: float | None) -> str:
    if len(default) < 2 or not own:
        return ""
    if any(words.exact is not None for words in default):
        if _mostly_others([words.lines for words in own], [words.lines for words in default]):
            return "its output differs from that of the program as it is"
        return ""
    if share is not None and share >= _AS_MUCH_CPU:
        return ""  # a program that does its work may be warned of a setting
    if all(words.exact is not None for words in own):
        return "it prints on standard output, and the program as it is does not"
    if any(words.errors for words in default):
        others = _mostly_others([words.errors for words in own], [words.errors for words in default])
    else:
        others = all(words.errors for words in own)
    return "it prints on standard error what the program as it is does not" if others else ""


def _mostly_others(own: Sequence[Sequence[str]], default: Sequence[Sequence[str]]) -> bool:
    """Whether most of what is common to all runs of the default lacks in each run of a candidate."""
    common = set.intersection(*map(set, default))
    return bool(common) and all(_missing(common, lines) > _MOST_MISSING for lines in own)


def _missing(wanted: set[str], lines: Sequence[str]) -> float:
    """The share of the wanted lines that are not there, as far as these lines tell."""
    told = wanted if len(lines) < _MOST_LINES else {line for line in wanted if line <= lines[-1]}
    return len(told - {*lines}) / len(told) if told else 0.0


def _worked_less(
    own: Sequence[Row], default: Sequence[Row], share: float | None, telling: bool, left: set[str]
) -> str:
    """`left`: the candidates whose first run left what did the work of its others."""
    if share is None or share >= LEAST_CPU_SHARE:
        return ""
    reason = f"it used {100 * share:.2g} % of the CPU time of the program as it is"
    if own[0].name in left:
        return f"{reason} in all runs but its first: what that one left did their work"
    if left:
        return f"{reason}: what another candidate's first run left did the work"
    right = {words.exact for words in _words(default)}
    if len(right) != 1 or None in right or {words.exact for words in _words(own)} != right:
        return reason
    if telling:
        return ""
    return f"{reason}: it printed the same output, but no number that only the work could give"


def _first_run_alone_worked(own: Sequence[Row]) -> bool:
    first, *others = (cpu_seconds_of(row) for row in own)
    known = [seconds for seconds in others if seconds is not None]
    return first is not None and len(known) >= 2 and median(known) < LEAST_CPU_SHARE * first


def _numbers(output: str) -> list[str]:
    """The last words of an output that are numbers with many digits, or hashes."""
    words = (found[0].rstrip(".,+-") for found in _WORD.finditer(output))
    return [word for word in words if _is_long(word)][-_MOST_NUMBERS:]


def _is_long(word: str) -> bool:
    decimal = _DECIMAL.fullmatch(word)
    if decimal is None:
        return _HEXADECIMAL.fullmatch(word) is not None
    digits = re.sub(r"[^0-9]", "", decimal[1]).strip("0")
    return len(digits) >= _LEAST_DIGITS


def _standing_in(path: Path, numbers: Iterable[str]) -> set[str]:
    """Those of the numbers that a file has as text; none where it cannot be read."""
    with unless_refused(), opened(path) as file:
        if os.fstat(file.fileno()).st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return {number for number in numbers if content.find(number.encode()) >= 0}
    return set()


def _cpu_seconds(rows: Sequence[Row]) -> float | None:
    return median_known(map(cpu_seconds_of, rows))


def _shapes(text: str) -> tuple[str, ...]:
    if "\0" in text or "\N{REPLACEMENT CHARACTER}" in text:
        return ("binary",)
    if len(text) > _MOST_CHARACTERS:
        text = text[-_MOST_CHARACTERS:].partition("\n")[2]
    lines = {" ".join(_NUMBER.sub("0", line).split()) for line in text.splitlines()} - {""}
    return tuple(sorted(_hash(line) for line in lines)[:_MOST_LINES])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
