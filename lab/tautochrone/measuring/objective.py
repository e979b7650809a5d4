"""What a run is worth: the figure that is minimised, and whether a check accepts what the run printed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tautochrone import text
from tautochrone.errors import TautoError
from tautochrone.measuring.shell import refusal
from tautochrone.results.row import Count, Row, seconds_of
from tautochrone.results.spent import measured_joules

MATCHED = "objective"
"""The field of a row's ``detail`` that holds the number that the regular expression matched."""

MEMORY = "processes_bytes"
"""The field of a row's ``detail`` that holds the peak memory of all processes of the command together."""

Kind = Literal["time", "energy", "edp", "ed2p", "memory", "regex"]
KINDS: tuple[Kind, ...] = ("time", "energy", "edp", "ed2p", "memory")
_POWERS_OF_TIME: Mapping[Kind, int] = {"energy": 0, "edp": 1, "ed2p": 2}
"""The objectives that need joules: energy times this power of the time."""

_UNITS: Mapping[Kind, str] = {"energy": "J", "edp": "Js", "ed2p": "Js²"}
_NOUNS: Mapping[Kind, str] = {
    "energy": "energy",
    "edp": "energy times time",
    "ed2p": "energy times time squared",
    "memory": "memory",
}
_SMALLEST = 1e-100  # of a figure, whose ratios and powers are finite
_CHECK_LIMIT_SECONDS = 600.0
# 0,125 is a decimal fraction; 1,125 may be one too, but in a ratio of such numbers that makes no difference.
_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")


class Kept(msgspec.Struct, rename={"matched": MATCHED, "memory": MEMORY}):
    """What an objective reads of a row's ``detail``."""

    matched: Annotated[float, msgspec.Meta(ge=_SMALLEST, le=1 / _SMALLEST)] | None = None
    memory: Count | None = None


@dataclass(frozen=True)
class Objective:
    """What a search minimises. `figure` of a good row is positive."""

    kind: Kind
    largest: bool = field(default=False, kw_only=True)  # wanted large; `figure` is then its reciprocal

    @property
    def needs_meter(self) -> bool:
        return self.kind in _POWERS_OF_TIME

    @property
    def caps_time(self) -> bool:
        """Whether a run may be stopped once it has taken longer than the best."""
        return self.kind == "time"

    def figure(self, row: Row) -> float:
        """The figure of a good row. ValueError where the row has none."""
        if self.kind == "time":
            return seconds_of(row)
        if self.kind == "memory":
            # The kernel's peak is of the largest process alone, but no sampling interval hides it.
            return float(max(row.max_rss_bytes or 0, msgspec.convert(row.detail, Kept).memory or 0))
        joules = measured_joules(row)
        if joules is None:
            raise ValueError("a run has no joules")
        return joules * row.elapsed_seconds ** _POWERS_OF_TIME[self.kind]

    def complaint(self, row: Row) -> str | None:
        """What is wrong with a stored row; None where nothing is."""
        try:
            msgspec.convert(row.detail, Kept)
            if row.error is None and not _SMALLEST <= self.figure(row) <= 1 / _SMALLEST:
                return f"{self.figure(row):g} is no figure of an objective"
        except ValueError as error:  # msgspec's is one
            return str(error)
        return None

    def written(self, figure: float) -> str:
        """A figure for people, as the program or the meter would write it."""
        if self.kind == "time":
            return text.seconds(figure)
        if self.kind == "memory":
            return text.binary_bytes(figure)
        return text.quantity(figure, _UNITS[self.kind])

    @property
    def less(self) -> tuple[str, str]:
        """The words for a ratio below and above 1: ("faster", "slower")."""
        if self.kind == "time":
            return "faster", "slower"
        return f"less {_NOUNS[self.kind]}", f"more {_NOUNS[self.kind]}"


@dataclass(frozen=True)
class PrintedNumber(Objective):
    """A number that the program prints, found by a regular expression."""

    pattern: re.Pattern[str]

    def figure(self, row: Row) -> float:
        """The number, or its reciprocal where it shall be large."""
        value = msgspec.convert(row.detail, Kept).matched
        if value is None:
            raise ValueError("a run has no number that the expression matched")
        return 1.0 / value if self.largest else value

    def written(self, figure: float) -> str:
        """The number as the program printed it, with four digits."""
        return text.significant(1.0 / figure if self.largest else figure, 4)

    @property
    def less(self) -> tuple[str, str]:
        return ("higher", "lower") if self.largest else ("lower", "higher")

    def matched(self, output: str, errors: str = "") -> float | str | None:
        """The last number that the pattern matches in `output`, else in `errors`; None without a match.

        What is matched and is no number is returned as it stands.
        """
        matches = list(self.pattern.finditer(output)) or list(self.pattern.finditer(errors))
        if not matches:
            return None
        word = (matches[-1].group(1) if self.pattern.groups else matches[-1].group(0)) or ""
        try:
            return float(word.replace(",", "") if _THOUSANDS.fullmatch(word.strip()) else word)
        except ValueError:
            return word

    def refusal(self, value: float | str | None) -> str:
        """Why what was matched is no figure; empty for one that is."""
        if isinstance(value, str) and "," in value:
            return (
                f"it printed {value!r}, whose comma may stand before decimals or thousands; "
                "LC_ALL=C lets most programs write a point"
            )
        if value is None or isinstance(value, str):
            what = "nothing that matches" if value is None else f"{value!r}, which is no number, for"
        elif value <= 0:
            what = f"{value:g}, which is not positive, for"
        elif not math.isfinite(value):
            what = f"{value:g}, which is not finite, for"
        elif not _SMALLEST <= value <= 1 / _SMALLEST:
            what = f"{value:g}, which is not between {_SMALLEST:g} and {1 / _SMALLEST:g}, for"
        else:
            return ""
        return f"it printed {what} {self.pattern.pattern!r}, on standard output or standard error"


def parse_objective(words: str) -> Objective:
    """Read "time", "energy", "edp", "ed2p", "memory", "regex:…" or "regex-max:…". TautoError for the rest."""
    for kind in KINDS:
        if words == kind:
            return Objective(kind)
    name, _, pattern = words.partition(":")
    if name in ("regex", "regex-min", "regex-max") and pattern:
        try:
            return PrintedNumber("regex", re.compile(pattern, re.MULTILINE), largest=name == "regex-max")
        except re.error as error:
            raise TautoError(
                f"--objective {words!r} is not a regular expression: {error}",
                "Put the number in brackets: (…)",
            ) from error
    raise TautoError(
        f"there is no objective {words!r}",
        f"Use {', '.join(KINDS)}, 'regex:PATTERN' (minimised) or 'regex-max:PATTERN' (maximised)",
    )


def refusal_of(check: str, output: Path, folder: Path | None) -> str:
    """Why the user's command refuses an output; empty where it accepts it."""
    with output.open("rb") as file:
        return refusal(check, "the check", folder=folder, reads=file, limit_seconds=_CHECK_LIMIT_SECONDS)
