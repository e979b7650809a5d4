"""The options of ``tauto tune`` as words, and what they mean: budget, ranges, additions, fixed settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

from tautochrone.errors import TautoError
from tautochrone.options import Option, Words, parse_budget, parse_names, split_as_a_shell
from tautochrone.results import USUAL_FOLDER

_MOST_VALUES = 64
_MOST_DIGITS = 18
DEFAULT_BUDGET_SECONDS = 300.0
MOST_CANDIDATES = 48


def parse_environment(texts: Sequence[str], option: str = "--env") -> dict[str, tuple[str, ...]]:
    """["X=a,b"] → {"X": ("a", "b")}. ``X=:`` begins one value that may contain commas: ``X=:{0},{1}``."""
    variables: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, words = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise TautoError(
                f"{option} {text!r} is not NAME=VALUE,VALUE", "Write it like --env OMP_DYNAMIC=true"
            )
        new = (words[1:],) if words.startswith(":") else parse_range(words, f"{option} {name}")
        variables[name] = (*variables.get(name, ()), *new)
    return variables


def parse_range(text: str, option: str) -> tuple[str, ...]:
    """Read "1..4" as ("1", "2", "3", "4"), "1,2,8" as its items. TautoError for an empty or too long one."""
    match = re.fullmatch(r"([0-9]+)\.\.([0-9]+)", text.strip())
    if match is None:
        return parse_names(text, option)
    if max(len(match[1]), len(match[2])) > _MOST_DIGITS:
        raise TautoError(
            f"{option} {text[:_MOST_DIGITS]}… has a number of more than {_MOST_DIGITS} digits",
            "Write it like 1..16",
        )
    first, last = int(match[1]), int(match[2])
    if last < first or last - first >= _MOST_VALUES:
        raise TautoError(
            f"{option} {text} has {max(0, last - first + 1)} values; 1 to {_MOST_VALUES} can be tried",
            "Write the first and the last value, as in 1..16, or list some: 1,2,4,8",
        )
    return tuple(str(number) for number in range(first, last + 1))


def parse_fixed(texts: Sequence[str]) -> dict[str, str]:
    """["OMP_PROC_BIND=close"] → {"OMP_PROC_BIND": "close"}."""
    fixed: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise TautoError(f"--fix {text!r} is not NAME=VALUE", "Write it like --fix OMP_PROC_BIND=close")
        fixed[name] = value
    return fixed


def parse_arguments(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """["-t {threads}"] → (("-t", "{threads}"),)."""
    return tuple(split_as_a_shell(text, "--arg") for text in texts)


def placeholders(words: Sequence[str]) -> tuple[str, ...]:
    """The names in braces: ("-t", "{threads}") → ("threads",)."""
    return tuple(dict.fromkeys(name for word in words for name in re.findall(r"\{([a-z_]+)\}", word)))


def parse_launcher(text: str) -> tuple[str, ...]:
    """Read "srun -N1" as ("srun", "-N1")."""
    return split_as_a_shell(text, "--launcher")


@dataclass(frozen=True, kw_only=True)
class TuneRequest:
    """The options of ``tauto tune``. None means "choose for me"."""

    command: Annotated[tuple[str, ...], Words("What to tune.")] = ()
    objective: Annotated[
        str,
        Option(
            "time, energy, edp, ed2p, memory, 'regex:PATTERN' (small) or 'regex-max:PATTERN' (large): a "
            "number that it prints on standard output or, if not there, on standard error."
        ),
    ] = "time"
    budget_seconds: Annotated[
        float, Option("How long to search: 90s, 5m, 1h. Default: 5m.", "TIME", parse_budget, "--budget")
    ] = DEFAULT_BUDGET_SECONDS
    environment: Annotated[
        Mapping[str, tuple[str, ...]],
        Option("Try these values of a variable too.", "NAME=A,B", parse_environment, "--env", many=True),
    ] = field(default_factory=dict)
    arguments: Annotated[
        tuple[tuple[str, ...], ...],
        Option(
            "Words to add at the end of the command, such as '-t {threads}'.",
            "WORDS",
            parse_arguments,
            "--arg",
            many=True,
        ),
    ] = ()
    threads: Annotated[
        tuple[str, ...],
        Option(
            "Thread counts, also for {threads}: 1..16 or 1,2,4.",
            "RANGE",
            partial(parse_range, option="--threads"),
        ),
    ] = ()
    values: Annotated[
        Mapping[str, tuple[str, ...]],
        Option(
            "The values of {NAME} in the command; the first is what you use now.",
            "NAME=A,B",
            partial(parse_environment, option="--value"),
            "--value",
            many=True,
        ),
    ] = field(default_factory=dict)
    fixed: Annotated[
        Mapping[str, str],
        Option(
            "Set this in every candidate except the default.", "NAME=VALUE", parse_fixed, "--fix", many=True
        ),
    ] = field(default_factory=dict)
    excluded: Annotated[
        tuple[str, ...], Option("Do not try this.", "KNOB[=VALUE]", flag="--exclude", many=True)
    ] = ()
    also: Annotated[
        tuple[str, ...], Option("Try this too: nice, MALLOC_ARENA_MAX …", "KNOB", flag="--try", many=True)
    ] = ()
    most_candidates: Annotated[int, Option("The largest number of candidates.", flag="--candidates")] = (
        MOST_CANDIDATES
    )
    check: Annotated[
        str | None, Option("A command that reads the output; if it fails, the answer is wrong.", "COMMAND")
    ] = None
    same_output: Annotated[
        bool, Option("Treat an output that differs from the default's as a wrong answer.")
    ] = False
    scratch: Annotated[bool, Option("Start each run in its own copy of this folder.")] = False
    repeat: Annotated[int, Option("How often each run starts the command.")] = 1
    launcher: Annotated[
        tuple[str, ...],
        Option("Words to put in front of each run: 'srun -N1 --exclusive'.", "WORDS", parse_launcher),
    ] = ()
    nodes: Annotated[int, Option("With --launcher: the number of equal nodes to use at a time.")] = 1
    time_limit_seconds: Annotated[
        float | None,
        Option(
            "The time limit of each run. Default: ten times the present time.", "SECONDS", flag="--time-limit"
        ),
    ] = None
    output: Annotated[
        Path | None,
        Option("Where rows, report and profile go. Default: tautochrone-results/tune-PROGRAM.", "FOLDER"),
    ] = None
    seed: Annotated[int, Option("The seed for the order of the runs.")] = 1
    fresh: Annotated[bool, Option("Start anew instead of going on.")] = False
    report: Annotated[bool, Option("Write report.html at the end.")] = True
    json: Annotated[bool, Option("Print the answer as JSON.")] = False
    explain: Annotated[str | None, Option("Explain a knob, and run nothing.", "KNOB")] = None

    def __post_init__(self) -> None:
        if self.threads:
            object.__setattr__(self, "values", {**self.values, "threads": self.threads})

    @property
    def folder(self) -> Path:
        return self.output or USUAL_FOLDER / f"tune-{Path(self.command[0]).name}"

    @property
    def judged(self) -> tuple[str, ...]:
        """The options that decide what a row means and whether it counts; empty by default."""
        objective = () if self.objective == "time" else (f"--objective={self.objective}",)
        check = () if self.check is None else (f"--check={self.check}",)
        launcher = (f"--launcher={shlex.join(self.launcher)}",) if self.launcher else ()
        flags = (("--same-output", self.same_output), ("--scratch", self.scratch))
        return (*objective, *check, *launcher, *(name for name, given in flags if given))


def check_numbers(request: TuneRequest) -> None:
    """TautoError for numbers that leave nothing to run or to compare."""
    least = (
        ("--candidates", request.most_candidates, 2, "the program as it is and one other"),
        ("--repeat", request.repeat, 1, "one run of the command"),
    )
    for option, given, wanted, what in least:
        if given < wanted:
            raise TautoError(f"{option} {given} is less than {what}", f"Ask for {wanted} or more")
    if request.time_limit_seconds is not None and not 0 < request.time_limit_seconds < float("inf"):
        raise TautoError(
            f"--time-limit {request.time_limit_seconds:g} leaves no time to run", "Name seconds above 0"
        )
