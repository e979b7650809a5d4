"""The caches, from measured reads: how fast each level is, and how much of a set it still holds.

A set that is read repeatedly comes partly from one level and partly from the next. If both rates are known,
the time per byte gives the share h of the nearer level: t = h t_near + (1 - h) t_far.

Between two reads of a byte the rest of the set comes into the last level, and what other guests of a shared
host bring meanwhile. The share that is left depends on both together, so sets that take different times for
their bytes (read by one core, by all, or with pauses) tell how much the others bring.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_PLATEAU = 4  # times the L2 cache: none of the set is in it, all of it in the last-level cache
_TURNS = 40
_TELLS_NOTHING = 0.02  # of a set: reads scatter more
_AS_NEAR = 1.1
# What others may bring, in bytes a second: more would fill any last level within microseconds.
_FOREIGN = (0.0, *(1e9 * 2 ** (step / 4) for step in range(33)))


@dataclass(frozen=True, slots=True)
class Level:
    """How fast a level and the next one are, in bytes a second, and the share of a set that it holds."""

    near: float
    far: float
    set_bytes: tuple[float, ...]
    shares: tuple[float, ...]
    rates: tuple[float, ...]  # of those sets, in bytes a second

    def at(self, size: float) -> float:
        """The share of a set that the level holds, interpolated linearly."""
        return interpolated(self.set_bytes, self.shares, size)


@dataclass(frozen=True, slots=True)
class Reads:
    """Measured rates at ascending sets, in bytes and bytes a second."""

    set_bytes: tuple[float, ...]
    rates: tuple[float, ...]

    @classmethod
    def of(cls, set_bytes: Sequence[float], rates: Sequence[float]) -> Reads:
        """The points, ascending. Where a larger set was read faster, both have the median of their rates.

        Of two that is the faster one: what disturbs a read makes it slower.
        """
        pairs = sorted(zip(set_bytes, rates, strict=True))
        blocks: list[list[float]] = []
        for _, rate in pairs:
            block = [rate]
            while blocks and statistics.median_high(blocks[-1]) < statistics.median_high(block):
                block = blocks.pop() + block
            blocks.append(block)
        smooth = (statistics.median_high(block) for block in blocks for _ in block)
        return cls(tuple(size for size, _ in pairs), tuple(smooth))

    def at(self, size: float) -> float:
        """The rate for a set of this size, interpolated linearly."""
        return interpolated(self.set_bytes, self.rates, size)


def interpolated(places: Sequence[float], values: Sequence[float], at: float) -> float:
    """The value at a place between ascending ones, linearly; outside them that of the nearest."""
    if at <= places[0]:
        return values[0]
    pairs = list(zip(places, values, strict=True))
    for (low, first), (high, last) in itertools.pairwise(pairs):
        if at <= high:
            return first + (last - first) * (at - low) / (high - low)
    return values[-1]


def share(rate: float, near: float, far: float) -> float:
    """The share of bytes read at rate `near`, the rest at `far`: 1 / rate is the mean of their inverses."""
    if near <= far:
        return 1.0
    return min(1.0, max(0.0, (1 / rate - 1 / far) / (1 / near - 1 / far)))


def private_level(reads: Reads, l2_bytes: float, last_level_bytes: float) -> Level:
    """The L2 cache of one core, from the reads of that core alone."""
    near = reads.rates[0]
    far = reads.at(min(_PLATEAU * l2_bytes, max(last_level_bytes / 2, 2 * l2_bytes)))
    sizes = tuple(size for size in reads.set_bytes if size <= _PLATEAU * l2_bytes)
    rates = tuple(reads.at(size) for size in sizes)
    return Level(near, far, sizes, tuple(share(rate, near, far) for rate in rates), rates)


@dataclass(frozen=True, slots=True)
class Core:
    """How fast one core alone reads from the last-level cache and from memory; ``count`` such cores."""

    near: float
    far: float
    count: int = 1

    def rate(self, held: float) -> float:
        """Bytes a second if the last-level cache holds this share of them."""
        seconds = held / self.near + (1 - held) / self.far
        return 1 / seconds if seconds else math.inf


def shared_level(reads: Reads, private_bytes: float, cores: Sequence[Core]) -> Level:
    """All caches before memory as one level, from the reads of all cores together.

    Their rate is limited by each core alone, by the port of the last-level cache and by the memory bus. The
    share of the set that is held follows from the measured rate. Memory alone is never measured, because part
    of even the largest set is still cached. That part follows from random replacement, h = exp(-(1 - h) set /
    capacity); the other sets give the capacity.
    """
    near = reads.at(_PLATEAU * private_bytes)
    pairs = [
        (size, rate)
        for size, rate in zip(reads.set_bytes, reads.rates, strict=True)
        if size >= _PLATEAU * private_bytes
    ]
    largest, slowest = pairs[-1]
    far = slowest
    for _ in range(_TURNS):
        capacity = _capacity([(size, _held(rate, near, far, cores)) for size, rate in pairs[:-1]])
        left = retained(largest, capacity) if capacity else 0.0
        remote = slowest * (1 - left)
        if remote <= 0 or abs(remote / far - 1) < 1e-9:
            break
        far = remote
    sizes, rates = zip(*pairs, strict=True)
    return Level(near, far, sizes, tuple(_held(rate, near, far, cores) for rate in rates), rates)


def _held(rate: float, near: float, far: float, cores: Sequence[Core]) -> float:
    """The share that the last-level cache must hold for all cores to reach the measured rate."""
    if rate >= 0.999 * near:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        too_slow = sum(core.count * core.rate(middle) for core in cores) < rate
        low, high = (middle, high) if too_slow else (low, middle)
    return max(high, 1 - far / rate)


@dataclass(frozen=True, slots=True)
class Again:
    """A set of bytes that was read again after so many seconds, and the share that was still there."""

    set_bytes: float
    seconds: float
    held: float

    def since(self, foreign: float) -> float:
        """The bytes that came in since a byte was last read, with others that bring ``foreign`` a second."""
        return self.set_bytes + foreign * self.seconds


def again_together(whole: Level) -> tuple[Again, ...]:
    """What all cores together read again."""
    points = zip(whole.set_bytes, whole.rates, whole.shares, strict=True)
    return tuple(Again(size, size / rate, held) for size, rate, held in points)


def again_alone(reads: Reads, l2_bytes: float, near: float, memory: float) -> tuple[Again, ...]:
    """What one core reads again past its L2 cache. ``near`` and ``memory``: its rates from both levels."""
    points = zip(reads.set_bytes, reads.rates, strict=True)
    return tuple(
        Again(size, size / rate, share(rate, near, memory))
        for size, rate in points
        if size >= _PLATEAU * l2_bytes
    )


def again_with_pauses(
    size: float, pauses: Sequence[tuple[float, float]], near: float, memory: float
) -> tuple[Again, ...]:
    """The same of a set that one core reads with pauses: their sums, and its rate besides."""
    return tuple(
        Again(size, pause + size / rate, share(rate, near, memory)) for pause, rate in pauses if rate > 0
    )


def foreign_rate(groups: Sequence[Sequence[Again]]) -> float:
    """Bytes a second that other guests bring into the last-level cache; 0 from one group alone.

    The groups take different times for their bytes. The rate is the one with which each group lies nearest to
    the curve of the others, or 0 if that is hardly nearer than without any.
    """
    if len(groups) < 2:
        return 0.0
    apart = {foreign: _apart(groups, foreign) for foreign in _FOREIGN}
    nearest = min(apart, key=lambda foreign: apart[foreign])
    return 0.0 if apart[0.0] <= _AS_NEAR * apart[nearest] + _TELLS_NOTHING**2 else nearest


def _apart(groups: Sequence[Sequence[Again]], foreign: float) -> float:
    """How far the groups are from each other's curves, where these go: the mean of the squares."""
    squares: list[float] = []
    for group in groups:
        others = [one for other in groups if other is not group for one in other]
        places, shares = zip(*retention(others, foreign), strict=True)
        squares += [
            (one.held - interpolated(places, shares, since)) ** 2
            for one in group
            if places[0] <= (since := one.since(foreign)) <= places[-1]
        ]
    return statistics.fmean(squares) if squares else math.inf


def retention(points: Sequence[Again], foreign: float) -> list[tuple[float, float]]:
    """The falling curve that is nearest to these points: bytes since the last read, and the share kept."""
    blocks: list[tuple[float, float, int]] = []
    for since, held in sorted((point.since(foreign), point.held) for point in points):
        block = (since, held, 1)
        while blocks and blocks[-1][1] <= block[1]:
            before = blocks.pop()
            count = before[2] + block[2]
            since, held = ((before[i] * before[2] + block[i] * block[2]) / count for i in (0, 1))
            block = (since, held, count)
        blocks.append(block)
    return [(since, held) for since, held, _ in blocks]


def _capacity(points: Sequence[tuple[float, float]]) -> float | None:
    """The median of the capacities that follow from the partly held sets."""
    capacities = [-(1 - held) * size / math.log(held) for size, held in points if 0.05 < held < 0.95]
    return statistics.median_high(capacities) if capacities else None


def retained(set_bytes: float, capacity_bytes: float) -> float:
    """The share of a set that random replacement keeps: the solution of h = exp(-(1 - h) set / capacity)."""
    times = set_bytes / capacity_bytes
    if times <= 1:
        return 1.0
    low, high = 0.0, 1 - (times - 1) / times**2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp((middle - 1) * times) > middle else (low, middle)
    return (low + high) / 2
