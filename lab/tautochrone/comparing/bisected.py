"""What a bisection found, for readers: as text, as JSON, as Markdown to paste."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tautochrone import text
from tautochrone.errors import printable
from tautochrone.verdicts import Ratio

BISECTED_SCHEMA = "tautochrone.bisected/1"


class Bisected(msgspec.Struct, frozen=True, kw_only=True):
    """What the search found. `commit` is empty where it found none, or cannot tell it.

    `ratio` is that of the commit to its first parent (`parent`), `total` that of BAD to GOOD. `error` bounds
    the probability that the search names a wrong commit. `suspects` are the commits that are left;
    `measured` how many were measured beside the ends; `skipped` why others were not.
    """

    schema: str = BISECTED_SCHEMA
    answer: str
    commit: str = ""
    subject: str = ""
    parent: str = ""
    ratio: Ratio | None = None
    total: Ratio
    error: float
    measured: int = 0
    suspects: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def told(self) -> bool:
        return bool(self.commit)

    @property
    def notes(self) -> tuple[str, ...]:
        """What stood in the way."""
        return (*self.remarks, *self.skipped)

    @property
    def outputs(self) -> dict[str, str]:
        """What the next steps of a workflow can read; empty where it is not known."""
        return {"commit": self.commit, "subject": printable(self.subject), "answer": printable(self.answer)}


def as_json(found: Bisected) -> str:
    """One JSON object of schema `tautochrone.bisected/1`."""
    return text.as_json(found)


def as_text(found: Bisected) -> str:
    """The answer, and a line for each thing that stood in the way."""
    return printable("\n".join([found.answer, *(f"Note: {text.sentence(one)}" for one in found.notes)]))


def as_markdown(found: Bisected) -> str:
    """The answer, the ratios, the commits that are left, and what stood in the way."""
    ratios = ((f"its parent {found.parent[:10]}", found.ratio), ("the good end", found.total))
    rows = [
        f"| {name} | {' | '.join(text.ratio_parts(ratio))} |"
        for name, ratio in ratios
        if ratio is not None and ratio.value is not None
    ]
    parts = [printable(found.answer)]
    if rows:
        parts += ["", "| against | ratio | interval |", "|---|---|---|", *rows]
    if not found.told and found.suspects:
        parts += ["", "Commits that are left:", "", *(f"- {commit[:10]}" for commit in found.suspects)]
    if found.notes:
        parts += ["", *(f"- {text.sentence(printable(note))}" for note in found.notes)]
    return "\n".join(parts)


FORMATS: dict[str, Callable[[Bisected], str]] = {"text": as_text, "json": as_json, "markdown": as_markdown}
