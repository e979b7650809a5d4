"""What a run is worth: the figure that a search minimises, and whether the run's answer counts."""

from __future__ import annotations

import hashlib
import math
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tautochrone import text
from tautochrone.energy.find import OBJECTIVES
from tautochrone.errors import TautoError, printable
from tautochrone.measuring.measure import equal_answers
from tautochrone.measuring.session import CheckRows
from tautochrone.measuring.subprocess_executor import Printed
from tautochrone.results.row import Count, Failure, Row, seconds_of
from tautochrone.results.spent import measured_joules
from tautochrone.tune.same_work import WORDS, Words, same_work
from tautochrone.tune.space import DEFAULT

MATCHED = "objective"
"""The field of a row's ``detail`` that holds the number that the regular expression matched."""

MEMORY = "processes_bytes"
"""The field of a row's ``detail`` that holds the peak memory of all processes of the command together."""

OUTPUT = "output_sha256"
"""The field of a row's ``check`` that holds the hash of what the run printed."""

Kind = Literal["time", "energy", "edp", "ed2p", "memory", "regex"]
KINDS: tuple[Kind, ...] = (*OBJECTIVES, "memory")
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


class Kept(msgspec.Struct, rename={"matched": MATCHED, "memory": MEMORY, "words": WORDS}):
    """What a search reads of its rows' ``detail``."""

    matched: Annotated[float, msgspec.Meta(ge=_SMALLEST, le=1 / _SMALLEST)] | None = None
    memory: Count | None = None
    words: Words | None = None


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
                return f"{self.figure(row):g} is no figure of a search"
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


@dataclass(frozen=True)
class Judging:
    """Judges the output of a run; see `ProgramExecutor`. `trial`: what the default's first run printed."""

    objective: Objective
    check: str | None = None
    same_output: bool = False
    trial: Words | None = None

    @property
    def needs_whole_output(self) -> bool:
        """Whether the end of an output is not enough."""
        return self.same_output or self.check is not None

    def __call__(self, printed: Printed, folder: Path | None) -> tuple[Mapping[str, object], Failure | None]:
        """What to keep of an output, and what is wrong with it."""
        record: dict[str, object] = {WORDS: Words.of(printed.output, printed.errors)}
        if self.objective.kind == "memory" and printed.observed is not None:
            record[MEMORY] = printed.observed.memory_bytes
        if isinstance(self.objective, PrintedNumber):
            value = self.objective.matched(printed.output, printed.errors)
            if why := self.objective.refusal(value):
                return record, Failure("failed", why)
            record[MATCHED] = value
        if printed.whole is None:  # nothing needs it
            return record, None
        if self.same_output:
            with printed.whole.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
            record["check"] = {"passed": True, OUTPUT: digest}
        if self.check is not None and (why := _checked(self.check, printed.whole, folder)):
            return record, Failure("wrong_answer", why)
        return record, None

    @property
    def check_rows(self) -> CheckRows | None:
        """The comparison with the default's output; with its work where nothing else tells what is right."""
        if self.same_output:
            return equal_answers(lambda row: row.name == DEFAULT, field_name=OUTPUT)
        return partial(same_work, trial=self.trial) if self.check is None else None


def _checked(check: str, output: Path, folder: Path | None) -> str:
    """Why the user's command refuses an output; empty where it accepts it."""
    try:
        with output.open("rb") as file:
            done = subprocess.run(
                ["/bin/sh", "-c", check],
                stdin=file,
                capture_output=True,
                cwd=folder,
                timeout=_CHECK_LIMIT_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return f"the check did not end within {_CHECK_LIMIT_SECONDS:g} s"
    if done.returncode == 0:
        return ""
    printed = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return (
        f"the check ended with exit code {done.returncode}{': ' + printable(printed[-1]) if printed else ''}"
    )
