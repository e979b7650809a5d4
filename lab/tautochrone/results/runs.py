"""What a configuration took in its rounds, and how two of them compare."""

from __future__ import annotations

import statistics as plain
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from tautochrone import verdicts
from tautochrone.results.row import SCREENING, Row, clock_of, seconds_of
from tautochrone.verdicts import Ratio, as_ratio

OURS = "tautochrone"
NOT_MEASURED = Ratio(
    value=None, low=None, high=None, confidence=None, rounds=0, verdict=verdicts.NOT_MEASURED
)


@dataclass(slots=True)
class RunsOfOne:
    """One configuration in one cell with all its runs, in seconds of the study's figure of merit."""

    config: Mapping[str, Any]
    by_round: dict[int, float] = field(default_factory=dict)  # of the rounds that are reported
    screened: list[float] = field(default_factory=list)  # of the rounds that only chose finalists
    errors: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)  # all that have no error
    last: Row | None = None  # the last row that was measured: workers, detail, counters

    @property
    def peer(self) -> str:
        """The runtime under test; OpenMP's two libraries are two."""
        return str(self.config.get("library") or self.config["runtime"])

    @property
    def schedule(self) -> str:
        return str(self.config["schedule"])

    @property
    def chunk(self) -> int | None:
        """How much is handed out at a time, None where the schedule has no chunk or its default is used."""
        chunk = self.config.get("chunk")
        return None if chunk is None else int(chunk)

    @property
    def wait(self) -> str:
        return str(self.config.get("wait") or "default")

    @property
    def detail(self) -> Mapping[str, Any]:
        """What the runner printed of the last measured run beside its result."""
        return self.last.detail if self.last is not None else {}

    @property
    def clock_hertz(self) -> float | None:
        """The clock in the last measured run, see `clock_of`."""
        return clock_of(self.last) if self.last is not None else None

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]:
        """The threads of the last measured run, each with its share of the work."""
        return (self.last.workers if self.last is not None else None) or ()

    @property
    def seconds(self) -> float | None:
        """The median of the reported rounds; None where there are none."""
        return plain.median(self.by_round.values()) if self.by_round else None

    @property
    def any_seconds(self) -> float | None:
        """The median of the reported rounds, else of the screening: to draw, never for a verdict."""
        if self.by_round or not self.screened:
            return self.seconds
        return plain.median(self.screened)

    @property
    def points(self) -> tuple[float, ...]:
        """The seconds of every reported round, in the order of rounds."""
        return tuple(self.by_round[number] for number in sorted(self.by_round))

    def add(self, row: Row) -> None:
        """One more run: an error, a screening or a measurement."""
        if row.error is not None:
            self.errors.append(str(row.error.message))
            return
        self.rows.append(row)
        if row.source == SCREENING:
            self.screened.append(seconds_of(row))
            self.last = self.last or row
        else:
            self.by_round[int(row.round)] = seconds_of(row)
            self.last = row


def pairs(candidate: RunsOfOne, reference: RunsOfOne) -> list[tuple[float, float]]:
    """The seconds of both in the rounds that both have, in the order of rounds."""
    common = sorted(candidate.by_round.keys() & reference.by_round.keys())
    return [(candidate.by_round[number], reference.by_round[number]) for number in common]


def ratio(candidate: RunsOfOne | None, reference: RunsOfOne | None) -> Ratio:
    """The paired comparison of two contenders; "not measured" where one is missing."""
    if candidate is None or reference is None:
        return NOT_MEASURED
    return as_ratio(verdicts.compare(pairs(candidate, reference)))


def geometric_mean(cells: Sequence[tuple[RunsOfOne, RunsOfOne]]) -> Ratio:
    """The geometric mean of candidate / reference over cells, judged as one comparison."""
    return as_ratio(verdicts.geometric_mean([pairs(*cell) for cell in cells]))


PeerRole = Literal["best", "default"]


class PeerRatio(msgspec.Struct, frozen=True, kw_only=True):
    """tautochrone with no settings, against one configuration of one peer in the same rounds."""

    runtime: str
    configuration: str  # label of the peer's configuration
    role: PeerRole  # the peer's best in this cell, or what it does with no settings
    ratio: Ratio


def median_known(values: Iterable[float | None]) -> float | None:
    """The median of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return plain.median(known) if known else None
