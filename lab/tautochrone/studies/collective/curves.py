"""From rows to curves: what an operation of one library took at each length, launch by launch."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tautochrone import statistics
from tautochrone.energy.record import for_row
from tautochrone.report.analysis_types import Ratio
from tautochrone.row import Row
from tautochrone.studies.collective.configurations import DEFAULT, MEMBER, label
from tautochrone.studies.collective.segments import Segment, segmented
from tautochrone.studies.contenders import as_ratio

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
            {**row, "seconds": seconds, "energy": for_row(row.get("energy") or {}, seconds)}
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
            spread = _TO_NORMAL * plain.median(abs(one - middle) for one in logs)
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
            here = {words: seconds for words, seconds in launch.items() if words in inside}
            if len(here) >= min(3, len(inside)):
                found.append(here)
        return found


@dataclass
class Runs:
    """One configuration with all its runs, over all parts of the study."""

    config: Mapping[str, Any]
    curves: dict[str, Curve] = field(default_factory=dict)  # by operation
    errors: list[str] = field(default_factory=list)
    clock_seconds: list[float] = field(default_factory=list)
    late: int = 0
    version: str = ""
    found_library: str = ""

    @property
    def peer(self) -> str:
        """The library under test."""
        return str(self.config["library"])

    @property
    def variant(self) -> str:
        """The settings: ``default`` or the name of a set."""
        return str(self.config.get("variant") or DEFAULT)

    @property
    def schedule(self) -> str:
        """The library's own operations (``native``) or the fold of tautochrone's members (``member``)."""
        return str(self.config["schedule"])

    @property
    def label(self) -> str:
        """For people."""
        return label(self.peer, self.schedule, self.variant)

    @property
    def is_default(self) -> bool:
        """True for what one gets who sets nothing."""
        ours = self.peer == "tautochrone"
        return self.variant == DEFAULT and (ours or self.schedule != MEMBER)

    def curve(self, operation: str) -> Curve | None:
        """What an operation took, where it was measured."""
        found = self.curves.get(operation)
        return found if found is not None and found.launches else None

    def add(self, row: Row) -> None:
        """One more launch."""
        if row["error"] is not None:
            self.errors.append(str(row["error"]["message"]))
            return
        detail = row.get("detail") or {}
        key = (str(row["config"].get("part", "")), int(row["round"]))
        self.version = str(detail.get("library_version") or "")
        self.found_library = str(detail.get("library") or "")
        if isinstance(detail.get("clock_seconds"), int | float):
            self.clock_seconds.append(float(detail["clock_seconds"]))
        for point in detail.get("points") or ():
            operation = str(point["operation"])
            curve = self.curves.setdefault(operation, Curve(operation))
            curve.rows[key] = row
            curve.launches.setdefault(key, {})[int(point["words"])] = float(point["seconds"])
            self.late += int(point.get("late") or 0)


def collect(rows: Iterable[Row]) -> list[Runs]:
    """Rows sorted into configurations, ours first, then by name; defaults before what has settings."""
    found: dict[tuple[str, str, str], Runs] = {}
    for row in rows:
        config = row["config"]
        key = (str(config["library"]), str(config["schedule"]), str(config.get("variant") or DEFAULT))
        if key not in found:
            found[key] = Runs(config)
        found[key].add(row)
    return sorted(
        found.values(), key=lambda one: (one.peer != "tautochrone", one.peer, not one.is_default, one.label)
    )


def default_runs(runs: Iterable[Runs]) -> list[Runs]:
    """What each library does with no settings."""
    return [one for one in runs if one.is_default]


def pairs_at(
    mine: Curve, other: Curve, words: int, other_words: int | None = None
) -> list[tuple[float, float]]:
    """(mine, other) seconds at a length in the rounds that both have."""
    theirs = other.at(words if other_words is None else other_words)
    ours = mine.at(words)
    return [(ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys())]


def ratio_at(mine: Curve, other: Curve, words: int, other_words: int | None = None) -> Ratio:
    """The paired comparison at a length."""
    return as_ratio(statistics.compare(pairs_at(mine, other, words, other_words)))


def common_words(mine: Curve, other: Curve) -> list[int]:
    """The lengths that both have."""
    return [words for words in mine.words if words in set(other.words)]
