"""What every study makes of its rows: configurations with their runs, in cells whose runs are compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tautochrone import verdicts
from tautochrone.results.row import Row
from tautochrone.results.runs import OURS, PeerRatio, RunsOfOne, geometric_mean, ratio
from tautochrone.results.spent import Spent, spent_of
from tautochrone.verdicts import Ratio


class Contender(RunsOfOne):
    """One configuration in a cell with all its runs. A study adds its label and what its runner reports."""

    @property
    def threads(self) -> int:
        return int(self.config["threads"])

    @property
    def label(self) -> str:
        return self.peer

    @property
    def library(self) -> str:
        """The library that ran, with its version where the runner gave one."""
        name, version = self.detail.get("library") or self.peer, self.detail.get("library_version") or ""
        return f"{name} {version}".strip()

    @property
    def is_default(self) -> bool:
        """Whether this is what one gets without setting anything."""
        return False

    @property
    def low(self) -> float | None:
        """The low end of the interval of the median, to draw; None with too few rounds."""
        return verdicts.median_interval(self.points).low if self.points else None

    @property
    def high(self) -> float | None:
        return verdicts.median_interval(self.points).high if self.points else None

    @property
    def error(self) -> str | None:
        """Why every run of it failed."""
        return self.errors[0] if self.any_seconds is None and self.errors else None

    def median(self, name: str) -> float | None:
        """The median over the good runs of a figure that the runner gave; None where it gave none."""
        values = [row.detail.get(name) for row in self.rows]
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        return statistics.median(numbers) if numbers else None


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """A median time over the rounds that are reported, as a report shows it."""

    label: str
    seconds: float | None  # None: every run of it failed, see `error`
    low: float | None
    high: float | None
    rounds: int = 0
    error: str | None = None


class Measured(Timed, frozen=True, kw_only=True):
    """One configuration in a cell, as a report shows it."""

    runtime: str  # the key of the colour
    points: tuple[float, ...] = ()
    is_default: bool = False
    spent: Spent | None = None


def emulated_of(config: Mapping[str, Any]) -> dict[str, float]:
    """CPU → how many times slower it was made, from a row's ``config``."""
    return {str(cpu): float(factor) for cpu, factor in (config.get("emulated") or {}).items()}


def state_of(config: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """The same, to compare and to sort by."""
    return tuple(sorted(emulated_of(config).items()))


Of = TypeVar("Of", bound=Contender)
Place = TypeVar("Place", bound=Hashable)


def contenders_of(
    rows: Iterable[Row], cell_of: Callable[[Row], Place], make: Callable[[Mapping[str, Any]], Of]
) -> dict[Place, list[Of]]:
    """The configurations of each cell with their runs, both in the order in which they first ran.

    Linear in the number of rows.
    """
    cells: dict[Place, list[Of]] = {}
    known: dict[tuple[Place, str], Of] = {}
    for row in rows:
        cell = cell_of(row)
        contender = known.get((cell, row.config_id))
        if contender is None:
            contender = known[cell, row.config_id] = make(row.config)
            cells.setdefault(cell, []).append(contender)
        contender.add(row)
    return cells


def timed_fields(contender: Contender) -> dict[str, Any]:
    """The fields of `Timed`."""
    return {
        "label": contender.label,
        "seconds": contender.any_seconds,
        "low": contender.low,
        "high": contender.high,
        "rounds": len(contender.points) or len(contender.screened),
        "error": contender.error,
    }


def measured_fields(contender: Contender, longest_seconds: float | None) -> dict[str, Any]:
    """The fields of `Measured`; energies are brought to the longest time in the cell."""
    return timed_fields(contender) | {
        "runtime": contender.peer,
        "points": contender.points,
        "is_default": contender.is_default,
        "spent": spent_of(contender.rows, longest_seconds),
    }


def geometric_mean_of(cells: Iterable[tuple[Contender | None, Contender | None]]) -> tuple[Ratio, int]:
    """Candidate / reference over the cells that have both, judged as one comparison; how many they are."""
    both = [(candidate, other) for candidate, other in cells if candidate is not None and other is not None]
    return geometric_mean(both), len(both)


def peer_ratios(ours: Contender | None, finalists: Sequence[Contender]) -> Iterator[PeerRatio]:
    """Ours against each peer's best of the finalists (fastest first), and against its default."""
    seen: set[str] = set()
    for contender in finalists:
        if contender.peer in (OURS, "serial"):
            continue
        found = ratio(ours, contender)
        roles = [
            *(() if contender.peer in seen else ("best",)),
            *(("default",) if contender.is_default else ()),
        ]
        seen.add(contender.peer)
        for role in roles:
            yield PeerRatio(runtime=contender.peer, configuration=contender.label, role=role, ratio=found)
