"""The options of ``tauto tune`` as words, and what they mean: budget, ranges, additions, fixed settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tautochrone.errors import TautoError
from tautochrone.studies.options import parse_names

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "": 1.0}
_MOST_VALUES = 64
DEFAULT_BUDGET_SECONDS = 300.0
MOST_CANDIDATES = 48


@dataclass(frozen=True, kw_only=True)
class TuneRequest:
    """Everything that was asked for, parsed. ``output`` None: a folder named after the program."""

    command: tuple[str, ...]
    objective: str = "time"
    budget_seconds: float = DEFAULT_BUDGET_SECONDS
    environment: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    arguments: tuple[tuple[str, ...], ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    most_candidates: int = MOST_CANDIDATES
    check: str | None = None
    same_output: bool = False
    scratch: bool = False
    repeat: int = 1
    launcher: tuple[str, ...] = ()
    nodes: int = 1
    time_limit_seconds: float | None = None
    output: Path | None = None
    seed: int = 1
    fresh: bool = False
    report: bool = True
    json: bool = False
    record: Path | None = None
    record_rounds: int = 12

    @property
    def folder(self) -> Path:
        """Where rows, report and profile go."""
        return self.output or Path("tautochrone-results") / f"tune-{Path(self.command[0]).name}"

    @property
    def judged(self) -> tuple[str, ...]:
        """The options that decide what a row means and whether it counts; none of them by default."""
        objective = () if self.objective == "time" else (f"--objective={self.objective}",)
        check = () if self.check is None else (f"--check={self.check}",)
        launcher = (f"--launcher={shlex.join(self.launcher)}",) if self.launcher else ()
        flags = (("--same-output", self.same_output), ("--scratch", self.scratch))
        return (*objective, *check, *launcher, *(name for name, given in flags if given))


def check_numbers(request: TuneRequest) -> None:
    """TautoError for numbers with which nothing could be run or compared."""
    least = (
        ("--candidates", request.most_candidates, 2, "the program as it is and one other"),
        ("--repeat", request.repeat, 1, "one run of the command"),
        ("--record-rounds", request.record_rounds, 1, "one round"),
    )
    for option, given, wanted, what in least:
        if given < wanted:
            raise TautoError(f"{option} {given} is less than {what}", f"Ask for {wanted} or more")
    if request.time_limit_seconds is not None and not 0 < request.time_limit_seconds < float("inf"):
        raise TautoError(
            f"--time-limit {request.time_limit_seconds:g} leaves no time to run", "Name seconds above 0"
        )


def parse_budget(text: str) -> float:
    """Read "90", "90s", "5m" or "1h" as seconds. TautoError for anything else and for nothing."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(s|m|min|h|)", text.strip())
    if found is None or float(found[1]) <= 0:
        raise TautoError(f"--budget {text!r} is no length of time", "Write it like 90s, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def parse_environment(texts: Sequence[str], option: str = "--env") -> dict[str, tuple[str, ...]]:
    """["X=a,b"] → {"X": ("a", "b")}. A value with commas stands alone behind ``X=:``: ``X=:{0},{1}``."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, words = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise TautoError(
                f"{option} {text!r} is not NAME=VALUE,VALUE", "Write it like --env OMP_DYNAMIC=true"
            )
        new = (words[1:],) if words.startswith(":") else parse_range(words, f"{option} {name}")
        found[name] = (*found.get(name, ()), *new)
    return found


def parse_range(text: str, option: str) -> tuple[str, ...]:
    """Read "1..4" as ("1", "2", "3", "4"), "1,2,8" as its items. TautoError for an empty or endless one."""
    found = re.fullmatch(r"([0-9]+)\.\.([0-9]+)", text.strip())
    if found is None:
        return parse_names(text, option)
    first, last = int(found[1]), int(found[2])
    if last < first or last - first >= _MOST_VALUES:
        raise TautoError(
            f"{option} {text} has {max(0, last - first + 1)} values; 1 to {_MOST_VALUES} can be tried",
            "Write the first and the last one, as in 1..16, or name some: 1,2,4,8",
        )
    return tuple(str(number) for number in range(first, last + 1))


def parse_fixed(texts: Sequence[str]) -> dict[str, str]:
    """["OMP_PROC_BIND=close"] → {"OMP_PROC_BIND": "close"}."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise TautoError(f"--fix {text!r} is not NAME=VALUE", "Write it like --fix OMP_PROC_BIND=close")
        found[name] = value
    return found


def parse_arguments(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """["-t {threads}"] → (("-t", "{threads}"),)."""
    return tuple(_words(text, "--arg") for text in texts)


def placeholders(words: Sequence[str]) -> tuple[str, ...]:
    """The names in braces: ("-t", "{threads}") → ("threads",)."""
    return tuple(dict.fromkeys(name for word in words for name in re.findall(r"\{([a-z_]+)\}", word)))


def parse_launcher(text: str) -> tuple[str, ...]:
    """Read "srun -N1" as ("srun", "-N1")."""
    return _words(text, "--launcher")


def _words(text: str, option: str) -> tuple[str, ...]:
    """The words that a shell would make of a text. TautoError where a quote is left open."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise TautoError(
            f"{option} {text!r} cannot be taken apart into words: {str(error).lower()}",
            "Close each quote, or put a backslash before one that is meant",
        ) from error
