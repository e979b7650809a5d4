"""What is asked of the loop study, checked against this machine before anything is started."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TautoError

FULL_SIZES = (500, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 12000, 16000)
QUICK_SIZES = (500, 1000, 2000, 4000)
FULL_CHUNKS = (1, 2, 4, 8, 16, 32, 64)
QUICK_CHUNKS = (1, 2, 16)
FEWEST_ROUNDS = 8  # of which a verdict may be made (statistics.py)
LARGEST_FACTOR = 32.0
_BYTES_PER_ELEMENT = 4
_VECTORS = 16  # the solver's vectors and the check's, of one column each; generously
_MEMORY_PART = 0.8  # of what is available: the rest is for everyone else
_LARGEST_SIZE = 10**9  # beyond it nothing on earth could hold the matrix, and the number is surely a slip

Emulation = Mapping[int, float]
"""CPU → how many times slower it is made; empty: the machine as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRequest:
    """The options of ``tauto study loop``, parsed. ``None`` means "choose for me"."""

    output: Path
    sizes: tuple[int, ...] | None = None
    emulations: tuple[Emulation, ...] = ()
    emulate_if_possible: bool = False
    threads: int | None = None
    placements: tuple[str, ...] | None = None
    peers: tuple[str, ...] | None = None
    rounds: int | None = None
    seed: int = 1
    quick: bool = False
    fresh: bool = False
    report: bool = True
    json: bool = False
    time_limit_seconds: float | None = None

    @property
    def chunks(self) -> tuple[int, ...]:
        """The chunks that schedules are measured with."""
        return QUICK_CHUNKS if self.quick else FULL_CHUNKS


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes to measure, and a sentence for each that does not fit."""

    chosen: tuple[int, ...]
    left_out: tuple[str, ...] = ()


def parse_sizes(text: str) -> tuple[int, ...]:
    """``"500,1000"`` → (500, 1000), in the order of size. Raises TautoError for what is no size."""
    sizes: set[int] = set()
    for word in _words(text, "--sizes"):
        if not re.fullmatch(r"[0-9]+", word) or not 1 <= int(word) <= _LARGEST_SIZE:
            raise TautoError(
                f"{word!r} is not a size",
                "A size is the number of rows of a square matrix, 1 or more, such as 2000",
            )
        sizes.add(int(word))
    return tuple(sorted(sizes))


def parse_emulations(text: str) -> tuple[Emulation, ...]:
    """``"1:2,1:4,1:2+3:2"`` → one emulation for each comma; factor 1 is the machine as it is.

    Raises TautoError for what is no CPU:FACTOR and for factors outside 1 … 32.
    """
    emulations: list[Emulation] = []
    for word in _words(text, "--emulate"):
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
    return tuple(dict.fromkeys(_words(text, option)))


def _words(text: str, option: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise TautoError(f"{option} {text!r} has an empty item", "Separate the items by single commas")
    return words


def memory_bytes(size: int) -> int:
    """What a runner needs for a matrix of ``size`` rows: 4 bytes an element, and some vectors."""
    return size * size * _BYTES_PER_ELEMENT + _VECTORS * size * _BYTES_PER_ELEMENT


def choose_sizes(request: LoopRequest, available_bytes: int | None) -> Sizes:
    """The sizes that fit the memory. Sizes that were asked for have to; others are left out with a sentence.

    Raises TautoError, with the memory asked for and the memory there, for an asked size that does not fit.
    """
    wanted = request.sizes or (QUICK_SIZES if request.quick else FULL_SIZES)
    limit = None if available_bytes is None else int(available_bytes * _MEMORY_PART)
    chosen = tuple(size for size in wanted if limit is None or memory_bytes(size) <= limit)
    too_large = [size for size in wanted if size not in chosen]
    if too_large and (request.sizes or not chosen):
        raise TautoError(
            f"a matrix of size {too_large[0]} needs {format_bytes(memory_bytes(too_large[0]))} of memory, "
            f"and {format_bytes(limit or 0)} may be used here (80 % of what is available)",
            f"Ask for sizes up to {_largest_that_fits(limit or 0)}, or free memory",
        )
    return Sizes(
        chosen,
        tuple(
            f"size {size} was left out: it needs {format_bytes(memory_bytes(size))}, "
            f"and {format_bytes(limit or 0)} may be used here"
            for size in too_large
        ),
    )


def _largest_that_fits(limit_bytes: int) -> int:
    return max(1, int((limit_bytes / _BYTES_PER_ELEMENT) ** 0.5) - _VECTORS)


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
