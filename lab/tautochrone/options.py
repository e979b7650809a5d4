"""Words that every study understands: options as text, their values, and checks against this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.emulate import LARGEST_FACTOR
from tautochrone.errors import TautoError
from tautochrone.word_lists import words_of

FEWEST_ROUNDS = 8  # of which a verdict may be made (statistics.py)

Emulation = Mapping[int, float]
"""CPU → how many times slower it is made; empty: the machine as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRequest:
    """The options that every study has, parsed. ``None`` means "choose for me".

    ``like``: the folder of a study whose work this one repeats, so that both can be compared.
    """

    output: Path
    emulations: tuple[Emulation, ...] = ()
    emulate_if_possible: bool = False
    peers: tuple[str, ...] | None = None
    rounds: int | None = None
    seed: int = 1
    quick: bool = False
    fresh: bool = False
    report: bool = True
    json: bool = False
    time_limit_seconds: float | None = None
    like: Path | None = None

    @property
    def probed_in(self) -> tuple[Path, ...]:
        """The folders whose probes hold here as well: where the study goes on, and `like`."""
        own = () if self.fresh else (self.output,)
        return own if self.like in (None, self.output) else (*own, self.like)


@dataclass(frozen=True, slots=True)
class Times:
    """How long a run warms up and is timed, and in how many rounds; the same for a screening."""

    warmup_seconds: float
    timed_seconds: float
    rounds: int
    screening: Times | None = None


def parse_emulations(text: str) -> tuple[Emulation, ...]:
    """``"1:2,1:4,1:2+3:2"`` → one emulation for each comma; factor 1 is the machine as it is.

    Raises TautoError for what is no CPU:FACTOR and for factors outside 1 … 32.
    """
    emulations: list[Emulation] = []
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
    match = re.fullmatch(r"([0-9]+):([0-9]+(?:\.[0-9]+)?)", text)
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


def parse_cpus(text: str) -> tuple[int, ...]:
    """``"0-3,8"`` → (0, 1, 2, 3, 8). Raises TautoError for what is no list of CPUs."""
    cpus: list[int] = []
    for word in text.split(","):
        match = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", word.strip())
        first, last = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (1, 0)
        if match is None or last < first or last - first > 65535:
            raise TautoError(f"{text!r} is not a list of CPUs", "Write it like 0-3,8")
        cpus.extend(cpu for cpu in range(first, last + 1) if cpu not in cpus)
    return tuple(cpus)


def parse_names(text: str, option: str) -> tuple[str, ...]:
    """``"all,fast"`` → ("all", "fast"); an empty list is an error."""
    return tuple(dict.fromkeys(words_of(text, option)))


def check_emulations(
    emulations: Iterable[Emulation], allowed_cpus: Sequence[int], all_cpus: Sequence[int]
) -> None:
    """Raises TautoError for a CPU that is not there or may not be used, and for no fast CPU left."""
    for emulation in emulations:
        check_cpus(emulation, allowed_cpus, all_cpus, "--emulate")
        if emulation and not set(allowed_cpus) - set(emulation):
            raise TautoError(
                f"--emulate would slow every CPU that may be used ({format_cpus(allowed_cpus)})",
                "Leave at least one as it is: the fast one",
            )


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


def check_rounds(rounds: int) -> None:
    """Raises TautoError for fewer rounds than a verdict needs."""
    if rounds < FEWEST_ROUNDS:
        raise TautoError(
            f"--rounds {rounds} is too few: no verdict is made from fewer than {FEWEST_ROUNDS} rounds",
            f"Ask for {FEWEST_ROUNDS} or more",
        )


def format_cpus(cpus: Iterable[int]) -> str:
    """(0, 1, 2, 8) → "0-2,8"."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def format_bytes(count: float) -> str:
    """1234567 → "1.2 MB" (powers of 1000)."""
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} EB"


def emulation_text(emulation: Mapping[int, float]) -> str:
    """{1: 4.0} → "1:4"; {} → "none"."""
    return "+".join(f"{cpu}:{factor:g}" for cpu, factor in sorted(emulation.items())) or "none"
