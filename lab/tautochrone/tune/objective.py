"""What a search makes small (or large), as a positive figure of each row that is better when smaller."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tautochrone.energy.record import measured_joules
from tautochrone.errors import TautoError
from tautochrone.report import text
from tautochrone.row import Row

MATCHED = "objective"
"""The field of a row's ``detail`` that holds what the regular expression found."""

MEMORY = "processes_bytes"
"""The field of a row's ``detail`` that holds the memory of all processes of the command together."""

Kind = Literal["time", "energy", "edp", "ed2p", "memory", "regex"]
KINDS = ("time", "energy", "edp", "ed2p", "memory")

_POWERS_OF_TIME = {"energy": 0, "edp": 1, "ed2p": 2}
"""The objectives that need joules: energy times this power of the time."""

_UNITS = {"energy": "J", "edp": "Js", "ed2p": "Js²"}
_NOUNS = {
    "energy": "energy",
    "edp": "energy times time",
    "ed2p": "energy times time squared",
    "memory": "memory",
}


@dataclass(frozen=True)
class Objective:
    """`figure` of a good row is positive; smaller is better. ``pattern`` and ``largest``: for regex alone."""

    kind: Kind
    pattern: re.Pattern[str] | None = None
    largest: bool = False

    @property
    def needs_meter(self) -> bool:
        """Whether it needs joules."""
        return self.kind in _POWERS_OF_TIME

    @property
    def caps_time(self) -> bool:
        """Whether a run may be stopped once it has taken longer than the best."""
        return self.kind == "time"

    def figure(self, row: Row) -> float:
        """The figure of a good row. KeyError or ValueError where the row has none."""
        if self.kind == "time":
            return float(row["seconds"])
        if self.kind == "memory":
            # What the kernel accounts is that of the largest process alone, but it misses no moment.
            return float(max(row["max_rss_bytes"], (row.get("detail") or {}).get(MEMORY) or 0))
        if self.kind == "regex":
            value = float(row["detail"][MATCHED])
            return 1.0 / value if self.largest else value
        joules = measured_joules(row)
        if joules is None:
            raise ValueError("a run has no joules")
        return joules * float(row["elapsed_seconds"]) ** _POWERS_OF_TIME[self.kind]

    def written(self, figure: float) -> str:
        """A figure for people, as the program or the meter would have it."""
        if self.kind == "time":
            return text.seconds(figure)
        if self.kind == "memory":
            return text.binary_bytes(figure)
        if self.kind == "regex":
            return text.significant(1.0 / figure if self.largest else figure, 4)
        return text.quantity(figure, _UNITS[self.kind])

    @property
    def less(self) -> tuple[str, str]:
        """What to say of a ratio below and above 1: ("faster", "slower")."""
        if self.kind == "time":
            return "faster", "slower"
        if self.kind == "regex":
            return ("higher", "lower") if self.largest else ("lower", "higher")
        noun = _NOUNS[self.kind]
        return f"less {noun}", f"more {noun}"

    def matched(self, output: str, errors: str = "") -> float | None:
        """The number that the pattern finds last in the output, else in the errors; None without a match."""
        assert self.pattern is not None
        found = None
        for stream in (output, errors):
            for match in self.pattern.finditer(stream):
                found = match
            if found is not None:
                break
        if found is None:
            return None
        word = found.group(1) if self.pattern.groups else found.group(0)
        try:
            return float(word.replace(",", ""))
        except (ValueError, AttributeError):
            return None


def parse_objective(words: str) -> Objective:
    """Read "time", "energy", "edp", "ed2p", "memory", "regex:…" or "regex-max:…". TautoError for the rest."""
    kind, colon, pattern = words.partition(":")
    if kind in KINDS and not colon:
        return Objective(kind)  # type: ignore[arg-type]
    if kind in ("regex", "regex-min", "regex-max") and pattern:
        try:
            return Objective("regex", re.compile(pattern, re.MULTILINE), kind == "regex-max")
        except re.error as error:
            raise TautoError(
                f"--objective {words!r} is no regular expression: {error}", "Put the number in brackets: (…)"
            ) from error
    raise TautoError(
        f"there is no objective {words!r}",
        f"Use {', '.join(KINDS)}, 'regex:PATTERN' (as small as can be) or 'regex-max:PATTERN'",
    )
