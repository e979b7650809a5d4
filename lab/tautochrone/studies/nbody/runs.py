"""From rows to runs: what a block of one configuration took, round by round and class by class."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tautochrone import verdicts
from tautochrone.results.row import Amount, Count, Figure, Row, Seconds
from tautochrone.results.runs import OURS, median_known
from tautochrone.studies import row_types
from tautochrone.studies.cells import Contender, contenders_of
from tautochrone.studies.nbody.configurations import AUTO, GRID, SERIAL, SOURCES, TARGETS, label

LEAST_BLOCKS = 3
"""Of a class in a run, for its median to say something."""


Positive = Annotated[float, Meta(gt=0.0, le=1e18)]


class ActiveClass(msgspec.Struct, frozen=True):
    """The blocks of one run whose active count lies between two powers of two, as the runner gives them."""

    low: Count = msgspec.field(name="active_from")
    active: Positive = msgspec.field(name="median_active")
    blocks: Count
    seconds: Seconds = msgspec.field(name="median_seconds")
    total_seconds: Positive
    shared_share: Figure
    predicted: Positive | None = msgspec.field(name="predicted_median_seconds", default=None)


class ModelRecord(msgspec.Struct, kw_only=True):
    """The model's constants, as a runner measures them."""

    members: row_types.Threads
    pair_seconds: Positive
    target_force_seconds: Amount
    source_seconds: Amount
    target_seconds: Amount
    put_seconds: Amount
    scan_seconds: Amount
    block_seconds: Amount
    changed_words: Amount
    force_words: Amount
    gather: list[tuple[Amount, Amount]]
    reduce: list[tuple[Amount, Amount]]
    gather_one: list[tuple[Amount, Amount]] = []


class BlockConfig(row_types.Config, kw_only=True):
    """What the study reads of a row's ``config``."""

    particles: Annotated[int, Meta(ge=1, lt=1 << 53)]
    order: Annotated[int, Meta(ge=1, le=99)]
    end_time: Positive | None = None
    threads_per_rank: row_types.Threads | None = None


class BlockDetail(row_types.Detail, kw_only=True):
    """What it reads of what a runner prints."""

    classes: list[ActiveClass] | None = None
    model: ModelRecord | None = None
    blocks: Amount | None = None
    pairs_per_second: Amount | None = None
    mean_active: Amount | None = None
    shared_share: Figure | None = None


class BlockCheck(row_types.Check, kw_only=True):
    """The change of energy over the run, and the hash of the bits that it ended with."""

    energy_error: Figure | None = None
    state_fnv1a: str | None = None


ROWS = row_types.RowTypes(config=BlockConfig, detail=BlockDetail, check=BlockCheck)


class BlockRuns(Contender):
    """One configuration with all its runs of one number of particles. Times are seconds of a mean block."""

    @cached_property
    def classes_by_round(self) -> dict[int, dict[int, ActiveClass]]:
        """Each round's classes by their low end."""
        return {row.round: {block.low: block for block in _classes(row.detail)} for row in self.rows}

    @property
    def particles(self) -> int:
        return int(self.config["particles"])

    @property
    def order(self) -> int:
        return int(self.config["order"])

    @property
    def label(self) -> str:
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
        return sorted(set.intersection(*(set(classes) for classes in rounds))) if rounds else []

    def at(self, low: int) -> dict[int, ActiveClass]:
        """A class by round."""
        return {number: classes[low] for number, classes in self.classes_by_round.items() if low in classes}

    @property
    def energy_error(self) -> float | None:
        """The median over the runs."""
        return median_known((row.check or {}).get("energy_error") for row in self.rows)

    @property
    def model(self) -> Mapping[str, Any] | None:
        """The model's constants of the run whose pair was the cheapest: the least disturbed one."""
        models = [row.detail["model"] for row in self.rows if row.detail.get("model")]
        return min(models, key=lambda model: float(model["pair_seconds"]), default=None)


def _classes(detail: Mapping[str, Any]) -> list[ActiveClass]:
    every = msgspec.convert(detail.get("classes") or (), list[ActiveClass])
    return [block for block in every if block.blocks >= LEAST_BLOCKS]


def collect(rows: Iterable[Row]) -> list[BlockRuns]:
    """Rows sorted into configurations: by particles and order, one core first, then ours, then by name."""
    return sorted(
        contenders_of(rows, lambda row: "", BlockRuns).get("", []),
        key=lambda runs: (
            runs.particles,
            runs.order,
            runs.peer != SERIAL,
            runs.peer != OURS,
            runs.peer,
            runs.schedule,
            runs.wait,
        ),
    )


def different_bits(rows: Sequence[Row]) -> Mapping[str, str]:
    """Runs of a group that ended with other bits than the schemes of their kind must: run → what is wrong.

    Those that share the targets end as one core does; those that share the sources, all alike for one number
    of members and of threads in a process, which add up first; so do rectangles. Where these differ, what
    most runs ended with is right. A scheme that is chosen by the clock ends with either, or a mixture.
    """
    serial = {_bits(row) for row in rows if row.config["schedule"] == SERIAL}
    seen: dict[tuple[object, ...], Counter[str]] = {}
    for row in rows:
        if row.config["schedule"] in (*SOURCES, GRID):
            seen.setdefault(_alike(row), Counter())[_bits(row)] += 1
    usual = {alike: counted.most_common(1)[0][0] for alike, counted in seen.items()}
    wrong: dict[str, str] = {}
    for row in rows:
        scheme = row.config["schedule"]
        if scheme in TARGETS and serial and _bits(row) not in serial:
            wrong[row.run] = f"ended with other bits than one core: {_bits(row)}, not {min(serial)}"
        elif scheme in (*SOURCES, GRID) and usual[_alike(row)] != _bits(row):
            wrong[row.run] = (
                f"ended with other bits than the others that share the sources: {_bits(row)}, "
                f"not {usual[_alike(row)]}"
            )
    return wrong


def _alike(row: Row) -> tuple[object, ...]:
    """Of a run that shares the sources: those with the same must end with the same bits."""
    config = row.config
    return config["schedule"] == GRID, config["threads"], config.get("threads_per_rank", 1)


def _bits(row: Row) -> str:
    return str((row.check or {}).get("state_fnv1a"))


# -- where sharing the targets overtakes sharing the sources --


def crossing_of_round(points: Sequence[tuple[float, float]]) -> float | None:
    """The active count from which on the targets' scheme stays ahead; None where it never does.

    ``points``: (active count, log of the targets' seconds by the sources'), ascending. Linear in the
    logarithms between two points; the first point's count where the targets' scheme is always ahead.
    """
    if not points or points[-1][1] >= 0:
        return None
    place = len(points) - 1
    while place > 0 and points[place - 1][1] < 0:
        place -= 1
    if place == 0:
        return points[0][0]
    (low, above), (high, below) = points[place - 1], points[place]
    share = above / (above - below)
    return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))


def crossing(by_targets: BlockRuns, by_sources: BlockRuns) -> verdicts.Interval | None:
    """The crossing's median over rounds; None where most rounds have none."""
    rounds = sorted(by_targets.classes_by_round.keys() & by_sources.classes_by_round.keys())
    of_rounds = [crossing_of_round(list(_points(by_targets, by_sources, number))) for number in rounds]
    known = [active for active in of_rounds if active is not None]
    return verdicts.median_interval(known) if 2 * len(known) > len(of_rounds) else None


def _points(by_targets: BlockRuns, by_sources: BlockRuns, number: int) -> Iterator[tuple[float, float]]:
    mine, other = by_targets.classes_by_round[number], by_sources.classes_by_round[number]
    for low in sorted(mine.keys() & other.keys()):
        yield mine[low].active, math.log(mine[low].seconds / other[low].seconds)
