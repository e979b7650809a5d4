"""Comparing what was measured in two sittings: the drift between them belongs into the interval.

Runs of one sitting are interleaved, and drift cancels. Between two sittings it does not, and no test of the
runs alone can see it. Three things can be seen, and each widens the interval:

* Drift within each sitting. The runs of a sitting are cut into `BLOCKS` parts; from one part's median to the
  next the figure walks. If drift is a random walk, its variance grows with the time between, so what the six
  steps of two sittings show is carried over to the time between the sittings, with Student's factor for six
  degrees of freedom. The steps contain the noise of the runs too, which makes this wider than it must be.
* A *bridge*: work that is the same in both sittings, beside each run or in each round. Ratios are taken to
  it, so that what slows both cancels; by how much it moved widens the interval, because what it shows of a
  change is about as large as what it does not show.
* The CPU time that other programs took during the runs: a run may have lost all of it.

What none of them shows stays unseen: a change between the sittings that slows the program, leaves the bridge
as it was, and uses no CPU time here. ``tests/python/test_sittings.py`` holds the simulation that the words
are wrong in less than 1 % on machines that drift, step, and have other programs come and go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median

from tautochrone import verdicts
from tautochrone.results.row import Row
from tautochrone.results.store import Store
from tautochrone.verdicts import Comparison

CANNOT_TELL_CODE = 4
"""The exit code where it cannot be told, as from two sittings that do not carry a verdict."""

BLOCKS = 4
_STUDENT = 3.707
"""The 99.5 % point of Student's t with 2 (BLOCKS - 1) degrees of freedom."""
SERIAL = "the serial run of the same round"
NO_BRIDGE = "nothing that is the same in both sittings was measured beside these runs"
NO_TIMES = "the rows do not say when they were measured"
_TICK_SECONDS = 0.01  # the kernel tells the machine's CPU time in ticks of each CPU
_SHORTEST_STEP_SECONDS = 1e-3  # rows tell their beginning to a millisecond


@dataclass(frozen=True)
class TimedRun:
    """A run of a sitting: when it began (seconds), its figure, and what each bridge took beside it."""

    at: float
    figure: float
    bridges: Mapping[str, float] = field(default_factory=dict)
    elapsed_seconds: float = 0.0
    taken_seconds: float = 0.0  # CPU time of others meanwhile


@dataclass(frozen=True)
class Drift:
    """What is known of the drift between two sittings; all are logarithms, near 0 the relative change.

    `within`: half the width that the drift inside the sittings adds. `moved`: by how much each bridge was
    slower in B. `others`: what programs that ran beside one of the two may have cost.
    """

    within: float
    moved: Mapping[str, float]
    others: float

    @property
    def widens(self) -> float:
        """By how much the interval grows at each end."""
        return self.within + max(map(abs, self.moved.values()), default=0.0) + self.others


@dataclass(frozen=True)
class Sittings:
    """Two stores of one machine. `bridged`: whether what they have in common is taken out of the ratios.

    It is not for two machines, or two states of one: there the bridge would take out what is asked for.
    """

    candidate: Store
    reference: Store
    bridged: bool = True

    def compare(
        self,
        candidate: Sequence[Row],
        reference: Sequence[Row],
        figure: Callable[[Row], float | None],
        *,
        is_time: bool = True,
    ) -> tuple[Comparison, Drift | None, str | None]:
        """Good rows of one cell in both stores; `figure` of such a row is positive or None.

        Returns the comparison, the drift that is in its interval, and why two sittings carry no verdict.
        """
        sides = [
            _timed(rows, _serial_rows(store), figure, is_time)
            for rows, store in ((candidate, self.candidate), (reference, self.reference))
        ]
        plain = verdicts.compare_unpaired(*([run.figure for run in side] for side in sides))
        if plain.verdict == verdicts.NOT_MEASURED:
            return plain, None, None
        bridges: list[str] = []
        if self.bridged:
            bridges = _common(sides)
            sides = [[run for run in side if run.bridges.keys() >= {*bridges}] for side in sides]
        if any(math.isnan(run.at) for side in sides for run in side):
            return _cannot_tell(plain), None, NO_TIMES
        if self.bridged and not bridges:
            return _cannot_tell(plain), None, NO_BRIDGE
        return *compare_sittings(sides[0], sides[1], bridges), None


def _cannot_tell(plain: Comparison) -> Comparison:
    return replace(plain, low=None, high=None, coverage=None, verdict=verdicts.CANNOT_TELL)


def _serial_rows(store: Store) -> dict[tuple[str, int], Row]:
    """The good runs of the serial runner by group and round."""
    return {
        (row.group, row.round): row
        for row in store.rows()
        if row.error is None and row.config.get("runtime") == "serial"
    }


def _timed(
    rows: Sequence[Row],
    serial: Mapping[tuple[str, int], Row],
    figure: Callable[[Row], float | None],
    is_time: bool,
) -> list[TimedRun]:
    runs = []
    for row in rows:
        value = figure(row) if row.error is None else None
        if value is None:
            continue
        bridges = {}
        beside = serial.get((row.group, row.round))
        if beside is not None and beside.config_id != row.config_id and (its := figure(beside)) is not None:
            bridges[SERIAL] = its
        if is_time and row.bridge is not None and row.bridge_seconds:
            bridges[row.bridge] = row.bridge_seconds
        taken = max(0.0, row.others_cpu_seconds or 0.0) + max(0.0, row.steal_seconds or 0.0)
        at = begun(row)
        runs.append(TimedRun(math.nan if at is None else at, value, bridges, row.elapsed_seconds, taken))
    return runs


def _common(sides: Sequence[Sequence[TimedRun]]) -> list[str]:
    """The bridges with enough runs on both sides that have all of them, the nearest to the program first."""
    names = [
        name
        for name in dict.fromkeys(name for side in sides for run in side for name in run.bridges)
        if all(sum(name in run.bridges for run in side) >= verdicts.MINIMUM_ROUNDS for side in sides)
    ]
    while names and any(
        sum(run.bridges.keys() >= {*names} for run in side) < verdicts.MINIMUM_ROUNDS for side in sides
    ):
        names.pop()
    return names


def begun(row: Row) -> float | None:
    """When the run began, in seconds since 1970; None for a row that does not say."""
    try:
        return datetime.fromisoformat(row.started).timestamp()
    except ValueError:
        return None


def compare_sittings(
    candidate: Sequence[TimedRun], reference: Sequence[TimedRun], bridges: Collection[str]
) -> tuple[Comparison, Drift | None]:
    """Compare two sittings; ratios are taken to the first of `bridges`, which all runs have.

    Without bridges the figures themselves are compared, and only drift within the sittings and other
    programs widen the interval: for two machines, or two states of one, where the bridge would take out what
    is asked for. No drift (None) where there are too few runs for any verdict. O(n m (n + m)).
    """
    sides = [sorted(side, key=lambda run: run.at) for side in (candidate, reference)]
    first = next(iter(bridges), None)
    ratios = [
        [run.figure / run.bridges[first] if first is not None else run.figure for run in side]
        for side in sides
    ]
    plain = verdicts.compare_unpaired(*ratios)
    if plain.low is None or plain.high is None:
        return plain, None
    drift = Drift(
        within=_within(sides, ratios),
        moved={name: _median_log(sides[0], name) - _median_log(sides[1], name) for name in bridges},
        others=_others(sides),
    )
    low, high = plain.low * math.exp(-drift.widens), plain.high * math.exp(drift.widens)
    verdict = verdicts.FASTER if high < 1.0 else verdicts.SLOWER if low > 1.0 else verdicts.NO_DIFFERENCE
    return replace(plain, low=low, high=high, verdict=verdict, coverage=None), drift


def _within(sides: Sequence[Sequence[TimedRun]], ratios: Sequence[Sequence[float]]) -> float:
    """Half the width for a random walk from the middle of one sitting to that of the other."""
    rates = []
    for side, values in zip(sides, ratios, strict=True):
        ends = [len(side) * part // BLOCKS for part in range(BLOCKS + 1)]
        parts = list(pairwise(ends))
        heights = [median(map(math.log, values[begin:end])) for begin, end in parts]
        times = [fmean(run.at for run in side[begin:end]) for begin, end in parts]
        for step in range(1, BLOCKS):
            between = max(times[step] - times[step - 1], _SHORTEST_STEP_SECONDS)
            rates.append((heights[step] - heights[step - 1]) ** 2 / between)
    apart = abs(fmean(run.at for run in sides[0]) - fmean(run.at for run in sides[1]))
    return _STUDENT * math.sqrt(fmean(rates) * apart)


def _median_log(side: Sequence[TimedRun], bridge: str) -> float:
    return median(math.log(run.bridges[bridge]) for run in side)


def _others(sides: Sequence[Sequence[TimedRun]]) -> float:
    """What others may have cost one side more than the other, beyond the coarseness of the kernel's ticks."""
    shares, squares = [], 0.0
    for side in sides:
        elapsed = math.fsum(run.elapsed_seconds for run in side)
        taken = math.fsum(run.taken_seconds for run in side)
        if elapsed <= 0.0:
            return 0.0
        shares.append(math.log1p(taken / elapsed))
        squares += taken * _TICK_SECONDS / elapsed**2
    return max(0.0, abs(shares[0] - shares[1]) - 3.0 * math.sqrt(squares))
