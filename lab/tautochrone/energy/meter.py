"""What every meter has in common: domains, one way to read them, and why one cannot be had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
"""Where the machine tells no TDP: more than any that is sold, so that only nonsense is refused."""

PLAUSIBLE_TDPS = 3.0
"""More than this many times the TDP is no power, but a wrong unit or a wrong overflow."""


@dataclass(frozen=True)
class Domain:
    """One thing that a meter counts. ``tdp_watts``: what it is built for, None where nobody says."""

    name: str
    kind: Kind
    tdp_watts: float | None = None

    @property
    def largest_watts(self) -> float:
        """More than this is not believed."""
        return PLAUSIBLE_TDPS * (self.tdp_watts or FALLBACK_TDP_WATTS[self.kind])


@dataclass(frozen=True)
class Unavailable:
    """Why there are no joules, and what to do about it: two parts without a full stop."""

    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.reason}. {self.remedy}" if self.remedy else self.reason


class MeterError(Exception):
    """A meter that worked and gives no right figure any more."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        self.unavailable = Unavailable(reason, remedy)
        super().__init__(reason)


class Meter(Protocol):
    """Counts joules. ``source``: perf, powercap, hwmon or battery.

    ``integrates``: it knows watts alone, and its joules are as good as it is read often.
    """

    source: str
    integrates: bool

    @property
    def domains(self) -> tuple[Domain, ...]:
        """What it counts."""
        ...

    def read(self) -> Mapping[str, float]:
        """Joules of each domain since the meter was opened. MeterError where it gives none."""
        ...

    def close(self) -> None:
        """Let go of what is open. Closing twice is allowed."""
        ...


class Chosen:
    """A meter with those of its domains that are believed."""

    def __init__(self, inner: Meter, names: Iterable[str]) -> None:
        self.inner = inner
        self.source = inner.source
        self.integrates = inner.integrates
        self._names = frozenset(names)

    @property
    def domains(self) -> tuple[Domain, ...]:
        """What it counts."""
        return tuple(one for one in self.inner.domains if one.name in self._names)

    def read(self) -> Mapping[str, float]:
        """Joules of the believed domains."""
        return {name: joules for name, joules in self.inner.read().items() if name in self._names}

    def close(self) -> None:
        """Close the meter behind it."""
        self.inner.close()


def counted(domains: Iterable[Domain]) -> tuple[Domain, ...]:
    """The domains whose sum is the total, so that nothing is counted twice.

    Packages and their memory; where there is no package, the platform (psys), else what feeds the node, else
    the battery. Cores and graphics are parts of a package and are never added.
    """
    there = tuple(domains)
    for kinds in (("package", "dram"), ("psys",), ("node",), ("battery",)):
        if any(one.kind == kinds[0] for one in there):
            return tuple(one for one in there if one.kind in kinds)
    return ()


def total_joules(domains: Iterable[Domain], joules: Mapping[str, float]) -> float | None:
    """The sum over `counted`; None where nothing stands for the whole."""
    parts = counted(domains)
    return sum(joules[one.name] for one in parts) if parts else None


def total_name(domains: Iterable[Domain]) -> str:
    """What the total holds, for people: "package + dram", "psys"."""
    kinds = dict.fromkeys(one.kind for one in counted(domains))
    return " + ".join(kinds)
