"""``--format github``: a comparison as the summary, the annotations and the outputs of a workflow's step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tautochrone import verdicts
from tautochrone.comparing import printing
from tautochrone.comparing.result import Compared
from tautochrone.errors import explained, printable
from tautochrone.results.sittings import CANNOT_TELL_CODE

SUMMARY, OUTPUT = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"
_TITLE = "tauto compare"


def published(found: Compared, code: int, environment: Mapping[str, str] = os.environ) -> str:
    """Hand the answer to the workflow, and return what is to be printed; `code` is the exit code.

    The summary is appended to the file that GitHub names, or printed where it names none. TautoError where
    such a file cannot be written.
    """
    words = [annotation(found, code)]
    if where := environment.get(SUMMARY):
        _append(where, f"{summary(found)}\n")
    else:
        words.append(summary(found))
    if where := environment.get(OUTPUT):
        _append(where, "".join(f"{name}={value}\n" for name, value in outputs(found).items()))
    return "\n".join(words)


def summary(found: Compared) -> str:
    """The answer, the table and what stood in the way, as Markdown."""
    answer, _, rest = printing.as_markdown(found).partition("\n")
    return f"### {answer}\n{rest}"


def annotation(found: Compared, code: int) -> str:
    """An error for exit code 3, a warning where it cannot be told, else a notice."""
    level = "error" if code not in (0, CANNOT_TELL_CODE) else "warning" if code else "notice"
    return f"::{level} title={_TITLE}::{_escaped(printable(found.answer))}"


def outputs(found: Compared) -> dict[str, str]:
    """Of the last rival: its verdict, and its ratio to the reference with the interval; empty if unknown."""
    rival = found.sides[-1]
    ratio = rival.ratio
    figures = {
        name: "" if ratio is None or (value := getattr(ratio, field)) is None else f"{value:.6g}"
        for name, field in (("ratio", "value"), ("low", "low"), ("high", "high"))
    }
    verdict = verdicts.NOT_MEASURED if ratio is None else ratio.verdict
    return {"verdict": verdict, **figures, "answer": printable(found.answer).replace("\n", " ")}


def _escaped(words: str) -> str:
    """As GitHub reads the message of a command."""
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _append(where: str, words: str) -> None:
    with (
        explained(f"{where} cannot be written", "It is named by the workflow's environment"),
        Path(where).open("a", encoding="utf-8") as file,
    ):
        file.write(words)
