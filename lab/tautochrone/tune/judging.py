"""Whether the answer of a run counts, and what to keep of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from tautochrone.measuring.measure import equal_answers
from tautochrone.measuring.objective import MATCHED, MEMORY, Objective, PrintedNumber, refusal_of
from tautochrone.measuring.session import CheckRows
from tautochrone.measuring.subprocess_executor import Printed
from tautochrone.results.row import Failure, Row
from tautochrone.tune.same_work import WORDS, Words, same_work
from tautochrone.tune.space import DEFAULT

OUTPUT = "output_sha256"
"""The field of a row's ``check`` that holds the hash of what the run printed."""


class _Kept(msgspec.Struct, rename={"words": WORDS}):
    words: Words | None = None


def complaint(objective: Objective, row: Row) -> str | None:
    """What is wrong with a stored row of a search; None where nothing is."""
    try:
        msgspec.convert(row.detail, _Kept)
    except ValueError as error:  # msgspec's is one
        return str(error)
    return objective.complaint(row)


@dataclass(frozen=True)
class Judging:
    """Judges the output of a run; see `ProgramExecutor`.

    `trial`: what the default's first run printed; `telling`: whether that `tells_of_work`.
    """

    objective: Objective
    check: str | None = None
    same_output: bool = False
    trial: Words | None = None
    telling: bool = False

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
        if self.check is not None and (why := refusal_of(self.check, printed.whole, folder)):
            return record, Failure("wrong_answer", why)
        return record, None

    @property
    def check_rows(self) -> CheckRows | None:
        """The comparison with the default's output; with its work where nothing else tells what is right."""
        if self.same_output:
            return equal_answers(lambda row: row.name == DEFAULT, field_name=OUTPUT)
        return None if self.check is not None else partial(same_work, trial=self.trial, telling=self.telling)
