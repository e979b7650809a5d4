"""``--format github``: a comparison as the summary, the annotations and the outputs of a workflow's step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tautochrone import verdicts
from tautochrone.comparing.result import Compared
from tautochrone.errors import explained, printable
from tautochrone.results.sittings import CANNOT_TELL_CODE

SUMMARY, OUTPUT = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"
_TITLE = "tauto compare"


def handed_over(
    markdown: str, values: Mapping[str, str], code: int, environment: Mapping[str, str] = os.environ
) -> str:
    """Hand an answer to the workflow, and return what is to be printed; `code` is the exit code.

    The first line of `markdown` is the answer. It becomes the annotation and the heading of the summary,
    which is appended to the file that GitHub names, or printed where it names none; `values` are the outputs
    of the step. TautoError where such a file cannot be written.
    """
    answer, _, rest = markdown.partition("\n")
    words, summary = [annotation(answer, code)], f"### {answer}\n{rest}"
    if where := environment.get(SUMMARY):
        _append(where, f"{summary}\n")
    else:
        words.append(summary)
    if where := environment.get(OUTPUT):
        _append(where, "".join(f"{name}={value}\n" for name, value in values.items()))
    return "\n".join(words)


def annotation(answer: str, code: int) -> str:
    """An error for exit code 3, a warning where it cannot be told, else a notice."""
    level = "error" if code not in (0, CANNOT_TELL_CODE) else "warning" if code else "notice"
    return f"::{level} title={_TITLE}::{_escaped(printable(answer))}"


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
