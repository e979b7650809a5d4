"""What all meters share: the files they read, domains, counters that overflow, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Kind = Literal["package", "core", "gpu", "dram", "psys", "node", "rail", "battery"]
"""What a domain covers: ``core`` and ``gpu`` are parts of a package, ``psys`` and ``node`` hold it all."""

FALLBACK_TDP_WATTS: Mapping[Kind, float] = {
    "package": 1000.0,
    "core": 1000.0,
    "gpu": 1000.0,
    "dram": 500.0,
    "psys": 5000.0,
    "node": 5000.0,
    "rail": 1000.0,
    "battery": 300.0,
}
"""Where the machine gives no TDP: more than any that is sold, so that only nonsense is refused."""

PLAUSIBLE_TDPS = 3.0
"""More than this many times the TDP is a wrong unit or a wrong overflow."""

REREAD_SECONDS = 30.0
"""A meter is read at least this often.

The fastest register overflows after 65.5 kJ (32 bits of 15.26 µJ): 234 s at 280 W, 65 s at a kilowatt. Two
overflows between two readings would look like one.
"""

OUTSIDE_VARIABLE = "TAUTO_METER"
"""The environment variable that names a meter outside of the machine."""

LAGS_OF_A_RUN = 10.0
"""A run must last so many times the lag of its meter: then at most a tenth of what it adds is missing."""

_REGISTER_VALUES = 2**32


@dataclass(frozen=True)
class Domain:
    """One thing that a meter counts. ``tdp_watts``: what it is built for; None where that is not known."""

    name: str
    kind: Kind
    tdp_watts: float | None = None

    @property
    def largest_watts(self) -> float:
        """More than this is not believed."""
        return PLAUSIBLE_TDPS * (self.tdp_watts or FALLBACK_TDP_WATTS[self.kind])


@dataclass(frozen=True)
class Unavailable:
    """Why there are no joules, and what to do about it: two parts without a full stop.

    ``doubted``: a meter is there and counts, but not what it should.
    """

    reason: str
    remedy: str = ""
    doubted: bool = False

    def __str__(self) -> str:
        return f"{self.reason}. {self.remedy}" if self.remedy else self.reason


class MeterError(Exception):
    """A meter that worked gives no right figure any more."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.unavailable = Unavailable(reason, remedy)
        super().__init__(reason)


class Meter(Protocol):
    """Counts joules. ``source``: perf, powercap, hwmon, battery or outside.

    ``integrates``: it knows watts alone, so its joules are better the more often it is read.
    ``lag_seconds``: how much later it may show what is drawn; of short runs it shows what was before them.
    """

    source: str
    integrates: bool
    lag_seconds: float = 0.0

    @property
    def domains(self) -> tuple[Domain, ...]: ...

    def read(self) -> Mapping[str, float]:
        """Joules of each domain since the meter was opened. MeterError where it gives none."""

    def close(self) -> None:
        """Closing twice is allowed. By default nothing is open between readings."""
        return


class Chosen:
    """A meter with those of its domains that are believed."""

    def __init__(self, inner: Meter, names: Iterable[str]) -> None:
        self.inner = inner
        self.source = inner.source
        self.integrates = inner.integrates
        self.lag_seconds = inner.lag_seconds
        self._names = frozenset(names)

    @property
    def domains(self) -> tuple[Domain, ...]:
        return tuple(domain for domain in self.inner.domains if domain.name in self._names)

    def read(self) -> Mapping[str, float]:
        return {name: joules for name, joules in self.inner.read().items() if name in self._names}

    def close(self) -> None:
        self.inner.close()


class Beside(Meter):
    """A meter of packages or the platform, and one of the node beside it. The total is the first one's."""

    def __init__(self, inside: Chosen, outside: Meter) -> None:
        self._inside, self._outside = inside, outside
        self.source = inside.source
        self.integrates = inside.integrates
        self.lag_seconds = outside.lag_seconds

    @property
    def domains(self) -> tuple[Domain, ...]:
        return (*self._inside.domains, *self._outside.domains)

    def read(self) -> Mapping[str, float]:
        return {**self._inside.read(), **self._outside.read()}

    def close(self) -> None:
        self._inside.close()
        self._outside.close()


def counted(domains: Iterable[Domain]) -> tuple[Domain, ...]:
    """The domains whose sum is the total, so that nothing is counted twice.

    Packages and their memory; without a package the platform (psys), else what feeds the node, else the
    battery. Cores and graphics are parts of a package and are never added.
    """
    domains = tuple(domains)
    for kinds in (("package", "dram"), ("psys",), ("node",), ("battery",)):
        if any(domain.kind == kinds[0] for domain in domains):
            return tuple(domain for domain in domains if domain.kind in kinds)
    return ()


def total_joules(domains: Iterable[Domain], joules: Mapping[str, float]) -> float | None:
    """The sum over `counted`; None where nothing stands for the whole."""
    parts = counted(domains)
    return sum(joules[domain.name] for domain in parts) if parts else None


def platform_joules(domains: Iterable[Domain], joules: Mapping[str, float]) -> float | None:
    """Of the whole machine, where the total is that of the packages and something else counts it all."""
    domains = tuple(domains)
    if all(domain.kind != "package" for domain in domains):
        return None
    for kind in ("psys", "node"):
        whole = [joules[domain.name] for domain in domains if domain.kind == kind]
        if whole:
            return sum(whole)
    return None


def total_name(domains: Iterable[Domain]) -> str:
    """What the total holds, for people: "package + dram", "psys"."""
    return " + ".join(dict.fromkeys(domain.kind for domain in counted(domains)))


class Overflowing:
    """A counter of microjoules that starts at 0 again above `range_microjoules`, made into joules.

    The kernel gives the largest value, not the number of values: the register is 32 bits wide, so one unit is
    missing (61 or 15 µJ), and it is added here.
    """

    def __init__(self, name: str, first: int, range_microjoules: int | None) -> None:
        self.name = name
        self._last = first
        self._total = 0
        self._modulus = None
        if range_microjoules:
            unit = round(range_microjoules / (_REGISTER_VALUES - 1))
            self._modulus = range_microjoules + unit

    def advance(self, now: int) -> float:
        """Joules since the first reading. MeterError where the counter went back without an overflow."""
        step = now - self._last
        if step < 0:
            if self._modulus is None:
                raise MeterError(
                    f"{self.name} went back by {-step / 1e6:g} J and does not tell where it overflows",
                    "Measure for a shorter time, or use another meter",
                )
            step += self._modulus
        if step < 0:
            raise MeterError(
                f"{self.name} went back by more than its range",
                "Look for a driver that was loaded again meanwhile (dmesg), and measure again",
            )
        self._last = now
        self._total += step
        return self._total / 1e6


class Integral:
    """Watts over time: joules by the trapezoidal rule between readings."""

    def __init__(self, seconds: float, watts: float) -> None:
        self._seconds = seconds
        self._watts = watts
        self._joules = 0.0

    def advance(self, seconds: float, watts: float) -> float:
        self._joules += (seconds - self._seconds) * (watts + self._watts) / 2.0
        self._seconds, self._watts = seconds, watts
        return self._joules


class Held:
    """Watts that hold until the next figure comes, made into joules: they never stand still or go back."""

    def __init__(self, seconds: float, watts: float) -> None:
        self.seconds = seconds
        self.watts = watts
        self._joules = 0.0

    def take(self, seconds: float, watts: float) -> None:
        """A new figure, which holds from now on."""
        self._joules = self.joules(seconds)
        self.seconds, self.watts = seconds, watts

    def joules(self, seconds: float) -> float:
        """Joules since the first figure, until now."""
        return self._joules + (seconds - self.seconds) * self.watts


# -- the files that meters are read from --


class Tree:
    """Reads small files. What is not there is None; what may not be read raises PermissionError."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, inside: str) -> Path:
        """Where a path of the system lies below the root."""
        return self.root / inside.lstrip("/")

    def text(self, inside: str) -> str | None:
        """The content without the white space around it; None where there is no such file."""
        try:
            return self.path(inside).read_text(errors="replace").strip()
        except PermissionError:
            raise
        except OSError:
            return None

    def number(self, inside: str) -> int | None:
        """The whole number in a file; None where there is none, or one of more bits than the kernel has."""
        text = self.text(inside)
        try:
            number = int(text) if text is not None else None
        except ValueError:
            return None
        return number if number is None or abs(number) < 1 << 64 else None

    def names(self, folder: str) -> list[str]:
        """What a folder holds, sorted with numbers by their value; nothing where it is not there."""
        try:
            names = [path.name for path in self.path(folder).iterdir()]
        except OSError:
            return []
        return sorted(names, key=_natural)

    def exists(self, inside: str) -> bool:
        """Whether a path is there; a dangling link and a path in a closed folder are not."""
        try:
            return self.path(inside).exists()
        except PermissionError:
            return False


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for character in f"{name}\0":
        if character.isdecimal():
            digits += character
            continue
        if digits:
            parts.append((0, int(digits), ""))
            digits = ""
        parts.append((1, 0, character))
    return parts
