"""A command is its request: a dataclass whose fields say how they are given, and the words of their values.

A field annotated with an `Option`, an `Argument` or `WORDS` is given on the command line; its type and its
default are the field's own. :mod:`tautochrone.cli.commands` makes the command from them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tautochrone.errors import TautoError


@dataclass(frozen=True, slots=True)
class Option:
    """``--name VALUE``; a flag where the field is a bool, to be repeated where `many`.

    `parse` makes the field's value of the word (of the tuple of words where `many`), and raises TautoError.
    `flag` is written where the option is not called as the field is, `also` are further spellings. It takes
    `words` words; `alone` is its value where none follows it.
    """

    help: str
    metavar: str | None = None
    parse: Callable[[Any], object] | None = None
    flag: str | None = None
    many: bool = False
    least: int | None = None
    also: tuple[str, ...] = ()
    words: int = 1
    alone: str | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """A word without a name; any number of them where `many`."""

    metavar: str
    help: str = ""
    many: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """Everything behind a lone ``--``: somebody else's command."""

    help: str


def words_of(text: str, option: str) -> list[str]:
    """``"a,b"`` → ["a", "b"]. Raises TautoError for an empty item."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise TautoError(f"{option} {text!r} has an empty item", "Separate the items by single commas")
    return words


def check_nodes(nodes: int) -> None:
    """TautoError for a ``--nodes`` of less than 1."""
    if nodes < 1:
        raise TautoError(f"--nodes {nodes} leaves nothing to run on", "Ask for 1 or more")


def split_as_a_shell(text: str, what: str) -> tuple[str, ...]:
    """The words that a shell would make of a text; `what` names it. TautoError where a quote is left open."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise TautoError(
            f"{what} {text!r} cannot be split into words: {str(error).lower()}",
            "Close each quote, or put a backslash before a literal one",
        ) from error


def integers_of(
    text: str, option: str, least: int, most: int, refusal: Callable[[str], TautoError]
) -> tuple[int, ...]:
    """``"4,1,4"`` → (1, 4). Raises ``refusal(word)`` for what is no number from ``least`` to ``most``."""
    found: set[int] = set()
    for word in words_of(text, option):
        if not re.fullmatch(r"[0-9]{1,18}", word) or not least <= int(word) <= most:
            raise refusal(word)
        found.add(int(word))
    return tuple(sorted(found))


LARGEST_FACTOR: Final = 32.0
_SECONDS: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "": 1.0}

State = Mapping[int, float]
"""CPU → how many times slower it is made; empty: the machine as it is."""


def parse_cpus(text: str) -> tuple[int, ...]:
    """``"0-3,8"`` → (0, 1, 2, 3, 8). Raises TautoError for what is no list of CPUs."""
    cpus: list[int] = []
    for word in text.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", word.strip())
        first, last = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (1, 0)
        if match is None or last < first or last - first > 65535:
            raise TautoError(f"{text!r} is not a list of CPUs", "Write it like 0-3,8")
        cpus.extend(cpu for cpu in range(first, last + 1) if cpu not in cpus)
    return tuple(cpus)


def format_cpus(cpus: Iterable[int]) -> str:
    """(0, 1, 2, 8) → "0-2,8"."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def check_cpus(
    cpus: Iterable[int], allowed_cpus: Sequence[int], all_cpus: Sequence[int], option: str
) -> None:
    """Raises TautoError for a CPU that is not there or that this process may not use."""
    for cpu in cpus:
        if cpu not in all_cpus:
            raise TautoError(
                f"{option} names CPU {cpu}, but this machine has CPUs {format_cpus(all_cpus)}",
                "tauto machine lists them",
            )
        if cpu not in allowed_cpus:
            raise TautoError(
                f"{option} names CPU {cpu}, and only {format_cpus(allowed_cpus)} may be used here",
                "An affinity mask or the container's cpuset forbids it: start without taskset, or widen it",
            )


def parse_budget(text: str) -> float:
    """Read "90", "90s", "5m" or "1h" as seconds. TautoError for anything else and for nothing."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]+)?)\s*(s|m|min|h|)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise TautoError(f"--budget {text!r} is not a time", "Write it like 90s, 5m or 1h")
    return float(match[1]) * _SECONDS[match[2]]


def parse_names(text: str, option: str) -> tuple[str, ...]:
    """``"all,fast"`` → ("all", "fast"); an empty list is an error."""
    return tuple(dict.fromkeys(words_of(text, option)))


def parse_states(text: str) -> tuple[State, ...]:
    """``"1:2,1:4,1:2+3:2"`` → one emulation for each comma; factor 1 is the machine as it is.

    Raises TautoError for what is no CPU:FACTOR and for factors outside 1 … 32.
    """
    emulations: list[State] = []
    for word in words_of(text, "--emulate"):
        emulation: dict[int, float] = {}
        for part in word.split("+"):
            cpu, factor = _cpu_and_factor(part)
            if cpu in emulation:
                raise TautoError(f"--emulate {word} names CPU {cpu} twice", "Give each CPU one factor")
            emulation[cpu] = factor
        slowed = {cpu: factor for cpu, factor in emulation.items() if factor != 1.0}
        if slowed not in emulations:
            emulations.append(slowed)
    return tuple(emulations)


def _cpu_and_factor(text: str) -> tuple[int, float]:
    match = re.fullmatch(r"([0-9]{1,9}):([0-9]+(?:\.[0-9]+)?)", text)
    if match is None:
        raise TautoError(
            f"{text!r} is not CPU:FACTOR",
            "Write 1:4 to make CPU 1 four times slower, 1:2+3:2 for two CPUs at once",
        )
    cpu, factor = int(match.group(1)), float(match.group(2))
    if not 1.0 <= factor <= LARGEST_FACTOR:
        raise TautoError(
            f"CPU {cpu} cannot be made {match.group(2)} times slower",
            f"A factor lies between 1 (as it is) and {LARGEST_FACTOR:.0f}",
        )
    return cpu, factor


def check_states(emulations: Iterable[State], allowed_cpus: Sequence[int], all_cpus: Sequence[int]) -> None:
    """Raises TautoError for a CPU that is not there or may not be used, and for no fast CPU left."""
    for emulation in emulations:
        check_cpus(emulation, allowed_cpus, all_cpus, "--emulate")
        if emulation and not set(allowed_cpus) - set(emulation):
            raise TautoError(
                f"--emulate would slow every CPU that may be used ({format_cpus(allowed_cpus)})",
                "Leave at least one as it is: the fast one",
            )


def state_text(emulation: Mapping[int, float]) -> str:
    """{1: 4.0} → "1:4"; {} → "none"."""
    return "+".join(f"{cpu}:{factor:g}" for cpu, factor in sorted(emulation.items())) or "none"
