"""From rows to runs: what a block of one configuration took, round by round and class by class."""

from __future__ import annotations

import statistics as plain
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tautochrone import statistics
from tautochrone.row import Row
from tautochrone.studies.contenders import OURS, RunsOfOne
from tautochrone.studies.nbody.configurations import AUTO, GRID, SERIAL, SOURCES, TARGETS, label

LEAST_BLOCKS = 3
"""Of a class in a run, for its median to say something."""


@dataclass(frozen=True, slots=True)
class ActiveClass:
    """The blocks of one run whose active count lies between two powers of two."""

    low: int
    active: float
    blocks: int
    seconds: float
    total_seconds: float
    predicted: float | None
    shared_share: float


@dataclass(slots=True)
class Contender(RunsOfOne):
    """One configuration with all its runs of one number of particles. Times are seconds of a mean block."""

    classes_by_round: dict[int, dict[int, ActiveClass]] = field(default_factory=dict)  # by the class' low end
    details: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """One more run, with its classes."""
        RunsOfOne.add(self, row)
        detail = {**(row.get("detail") or {}), "check": row.get("check")}
        if row["error"] is None:
            self.details.append(detail)
            self.classes_by_round[int(row["round"])] = {one.low: one for one in _classes(detail)}

    @property
    def particles(self) -> int:
        """How many there are."""
        return int(self.config["particles"])

    @property
    def order(self) -> int:
        """The order of the integrator."""
        return int(self.config["order"])

    @property
    def members(self) -> int:
        """How many share the work."""
        return int(self.config["threads"])

    @property
    def label(self) -> str:
        """For people."""
        return label(self.peer, self.schedule, self.order, self.wait)

    @property
    def kind(self) -> str:
        """What is shared: ``serial``, ``targets``, ``sources``, ``chosen`` for each block, ``both``."""
        if self.schedule == SERIAL:
            return SERIAL
        if self.schedule == AUTO:
            return "chosen"
        return "targets" if self.schedule in TARGETS else "sources" if self.schedule in SOURCES else "both"

    @property
    def lows(self) -> list[int]:
        """The classes that every round has, ascending."""
        rounds = list(self.classes_by_round.values())
        return sorted(set.intersection(*(set(one) for one in rounds))) if rounds else []

    def at(self, low: int) -> dict[int, ActiveClass]:
        """A class by round."""
        return {number: classes[low] for number, classes in self.classes_by_round.items() if low in classes}

    def interval(self, low: int) -> statistics.Interval:
        """The seconds of a class' median block over the rounds."""
        return statistics.median_interval([one.seconds for one in self.at(low).values()])

    def figure(self, *names: str) -> float | None:
        """The median over the runs of a figure of the runner's row, such as ``("check", "energy_error")``."""
        found = [value for one in self.details if (value := _inside(one, names)) is not None]
        return plain.median(found) if found else None

    @property
    def model(self) -> Mapping[str, Any] | None:
        """The model's constants of the run whose pair was the cheapest: the least disturbed one."""
        models = [one["model"] for one in self.details if one.get("model")]
        return min(models, key=lambda one: float(one["pair_seconds"]), default=None)


def _inside(detail: Mapping[str, Any], names: Sequence[str]) -> float | None:
    value: Any = detail
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _classes(detail: Mapping[str, Any]) -> Iterator[ActiveClass]:
    for one in detail.get("classes") or ():
        if int(one["blocks"]) < LEAST_BLOCKS:
            continue
        predicted = one.get("predicted_median_seconds")
        yield ActiveClass(
            low=int(one["active_from"]),
            active=float(one["median_active"]),
            blocks=int(one["blocks"]),
            seconds=float(one["median_seconds"]),
            total_seconds=float(one["total_seconds"]),
            predicted=None if predicted is None else float(predicted),
            shared_share=float(one["shared_share"]),
        )


def collect(rows: Iterable[Row]) -> list[Contender]:
    """Rows sorted into configurations: by particles and order, one core first, then ours, then by name."""
    found: dict[tuple[object, ...], Contender] = {}
    for row in rows:
        config = row["config"]
        names = ("particles", "order", "library", "schedule", "wait")
        key = tuple(config.get(name) for name in names)
        if key not in found:
            found[key] = Contender(config)
        found[key].add(row)
    return sorted(
        found.values(),
        key=lambda one: (
            one.particles, one.order, one.peer != SERIAL, one.peer != OURS, one.peer, one.schedule, one.wait,
        ),
    )  # fmt: skip


def different_bits(rows: Sequence[Row]) -> Mapping[str, str]:
    """Runs of a group that ended with other bits than the schemes of their kind must: run → what is wrong.

    Those that share the targets end as one core does; those that share the sources, all alike for one number
    of members and of threads in a process, which add up first; so do rectangles. Where these differ, what
    most runs ended with is right. A scheme that is chosen by the clock ends with either, or a mixture.
    """
    serial = {_bits(row) for row in rows if row["config"]["schedule"] == SERIAL}
    seen: dict[tuple[object, ...], Counter[str]] = {}
    for row in rows:
        if row["config"]["schedule"] in (*SOURCES, GRID):
            seen.setdefault(_alike(row), Counter())[_bits(row)] += 1
    usual = {alike: found.most_common(1)[0][0] for alike, found in seen.items()}
    wrong: dict[str, str] = {}
    for row in rows:
        scheme = row["config"]["schedule"]
        if scheme in TARGETS and serial and _bits(row) not in serial:
            wrong[row["run"]] = f"ended with other bits than one core: {_bits(row)}, not {min(serial)}"
        elif scheme in (*SOURCES, GRID) and usual[_alike(row)] != _bits(row):
            wrong[row["run"]] = (
                f"ended with other bits than the others that share the sources: {_bits(row)}, "
                f"not {usual[_alike(row)]}"
            )
    return wrong


def _alike(row: Row) -> tuple[object, ...]:
    """Of a run that shares the sources: those with the same must end with the same bits."""
    config = row["config"]
    return config["schedule"] == GRID, config["threads"], config.get("threads_per_rank", 1)


def _bits(row: Row) -> str:
    return str((row.get("check") or {}).get("state_fnv1a"))
