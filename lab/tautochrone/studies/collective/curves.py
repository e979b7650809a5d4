"""From rows to curves: what an operation of one library took at each length, launch by launch."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from tautochrone import verdicts
from tautochrone.results.row import Amount, Count, Row, Seconds
from tautochrone.results.runs import OURS
from tautochrone.results.spent import for_row
from tautochrone.studies import row_types
from tautochrone.studies.cells import Contender
from tautochrone.studies.collective.configurations import DEFAULT, MEMBER, label
from tautochrone.studies.collective.segments import Segment, segmented
from tautochrone.verdicts import Ratio, as_ratio

_TO_NORMAL = 1.4826  # from the median absolute deviation to the standard deviation
_OF_A_MEDIAN = math.sqrt(math.pi / 2)  # its standard error by that of a mean

LaunchKey = tuple[str, int]
"""A part of the study and its round: one launch of each library."""


@dataclass
class Curve:
    """One operation of one configuration: seconds at each length, of each launch that measured it."""

    operation: str
    launches: dict[LaunchKey, dict[int, float]] = field(default_factory=dict)
    rows: dict[LaunchKey, Row] = field(default_factory=dict)  # of the launches

    @cached_property
    def words(self) -> list[int]:
        """The lengths, ascending."""
        return sorted({words for launch in self.launches.values() for words in launch})

    def at(self, words: int) -> dict[LaunchKey, float]:
        """The seconds at a length by launch."""
        return {key: launch[words] for key, launch in self.launches.items() if words in launch}

    def rows_at(self, words: int) -> list[Row]:
        """The launches' rows as if they had timed the operation at this length alone."""
        return [
            msgspec.structs.replace(row, seconds=seconds, energy=for_row(row.energy, seconds))
            for key, seconds in self.at(words).items()
            for row in [self.rows[key]]
        ]

    @cached_property
    def medians(self) -> dict[int, float]:
        """The median over all launches at each length."""
        return {words: plain.median(self.at(words).values()) for words in self.words}

    @cached_property
    def noise(self) -> float:
        """The standard error of a length's median, as a part of it: typical over the lengths."""
        errors = []
        for words in self.words:
            logs = [math.log(seconds) for seconds in self.at(words).values()]
            middle = plain.median(logs)
            spread = _TO_NORMAL * plain.median(abs(log - middle) for log in logs)
            errors.append(_OF_A_MEDIAN * spread / math.sqrt(len(logs)))
        return plain.median(errors) if errors else 0.0

    @cached_property
    def segments(self) -> list[Segment]:
        """The curve in segments of latency and time of a word."""
        return segmented(self.words, [self.medians[words] for words in self.words], self.noise)

    def segment_launches(self, segment: Segment) -> list[dict[int, float]]:
        """What each launch measured inside a segment, of those that measured enough there to fit a line."""
        inside = set(self.words[segment.first : segment.last + 1])
        found = []
        for launch in self.launches.values():
            measured = {words: seconds for words, seconds in launch.items() if words in inside}
            if len(measured) >= min(3, len(inside)):
                found.append(measured)
        return found


class LaunchConfig(row_types.Config, kw_only=True):
    """What the study reads of a row's ``config``."""

    part: str = ""
    variant: str | None = None


class Point(msgspec.Struct, kw_only=True):
    """An operation at a length in words."""

    operation: str
    words: Count
    seconds: Seconds
    late: Count | None = None
    repetitions: Count | None = None
    lower_quartile_seconds: Amount | None = None


class LaunchDetail(row_types.Detail, kw_only=True):
    """What it reads of what a runner prints."""

    points: list[Point] | None = None
    clock_seconds: Amount | None = None
    timed_seconds: Amount | None = None


ROWS = row_types.RowTypes(config=LaunchConfig, detail=LaunchDetail)


class Runs(Contender):
    """One configuration with all its runs, over all parts of the study.

    Its schedule: the library's own operations (``native``) or the fold of tautochrone's members (``member``).
    """

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """What each operation took that was measured."""
        found: dict[str, Curve] = {}
        for row in self.rows:
            key = (str(row.config.get("part", "")), row.round)
            for point in points_of(row):
                operation = str(point["operation"])
                curve = found.setdefault(operation, Curve(operation))
                curve.rows[key] = row
                curve.launches.setdefault(key, {})[int(point["words"])] = float(point["seconds"])
        return found

    @property
    def variant(self) -> str:
        """The settings: ``default`` or the name of a set."""
        return str(self.config.get("variant") or DEFAULT)

    @property
    def label(self) -> str:
        return label(self.peer, self.schedule, self.variant)

    @property
    def is_default(self) -> bool:
        return self.variant == DEFAULT and (self.peer == OURS or self.schedule != MEMBER)


def points_of(row: Row) -> Sequence[Mapping[str, Any]]:
    """Each operation at each length of a launch, as the runner gives them."""
    return row.detail.get("points") or ()


def collect(rows: Iterable[Row]) -> list[Runs]:
    """Rows sorted into configurations, ours first, then by name; defaults before what has settings."""
    found: dict[tuple[str, str, str], Runs] = {}
    for row in rows:
        runs = Runs(row.config)
        found.setdefault((runs.peer, runs.schedule, runs.variant), runs).add(row)
    return sorted(
        found.values(), key=lambda runs: (runs.peer != OURS, runs.peer, not runs.is_default, runs.label)
    )


def pairs_at(
    mine: Curve, other: Curve, words: int, other_words: int | None = None
) -> list[tuple[float, float]]:
    """(mine, other) seconds at a length in the rounds that both have."""
    theirs = other.at(words if other_words is None else other_words)
    ours = mine.at(words)
    return [(ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys())]


def common_words(mine: Curve, other: Curve) -> list[int]:
    """The lengths that both have."""
    return [words for words in mine.words if words in set(other.words)]


def mean_ratio(cells: Sequence[Sequence[tuple[float, float]]]) -> Ratio:
    """The geometric mean over lengths; the k-th launches of all of them are one draw."""
    return as_ratio(verdicts.geometric_mean(cells))


def pairs_of(mine: Curve | None, other: Curve | None) -> list[list[tuple[float, float]]]:
    """The pairs at each length that both have; none where one was not measured."""
    if mine is None or other is None:
        return []
    return [pairs_at(mine, other, words) for words in common_words(mine, other)]
