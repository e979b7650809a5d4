"""The caches, from measured reads: how fast each level is, and how much of a set it still holds.

A set that is read repeatedly comes partly from one level and partly from the next. If both rates are known,
the time per byte gives the share h of the nearer level: t = h t_near + (1 - h) t_far.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_PLATEAU = 4  # times the L2 cache: none of the set is in it, all of it in the last-level cache
_TURNS = 40
_CLEARLY_LESS = 0.95


@dataclass(frozen=True, slots=True)
class Level:
    """How fast a level and the next one are, in bytes a second, and the share of a set that it holds."""

    near: float
    far: float
    set_bytes: tuple[float, ...]
    shares: tuple[float, ...]
    rates: tuple[float, ...] = ()  # of those sets, in bytes a second

    def at(self, size: float) -> float:
        """The share of a set that the level holds, interpolated linearly."""
        return _interpolated(self.set_bytes, self.shares, size)

    def size_of(self, held: float) -> float:
        """The smallest set of which at most this share is held; else the largest measured set."""
        for (low, first), (high, last) in itertools.pairwise(zip(self.set_bytes, self.shares, strict=True)):
            if last <= held < first:
                return low + (high - low) * (first - held) / (first - last)
        return self.set_bytes[0] if held >= self.shares[0] else self.set_bytes[-1]

    def seconds(self, size: float) -> float:
        """How long a set takes to read, in seconds."""
        return size / _interpolated(self.set_bytes, self.rates, size)

    def among_others(self, foreign: float) -> Level:
        """The level with other guests: between two reads they bring ``foreign`` bytes a second into it."""
        sizes = tuple(size + foreign * self.seconds(size) for size in self.set_bytes)
        return Level(self.near, self.far, sizes, self.shares, self.rates)


@dataclass(frozen=True, slots=True)
class Reads:
    """Measured rates at ascending sets, in bytes and bytes a second."""

    set_bytes: tuple[float, ...]
    rates: tuple[float, ...]

    @classmethod
    def of(cls, set_bytes: Sequence[float], rates: Sequence[float]) -> Reads:
        """The points, ascending. A disturbed (slower) point gets the rate of the next larger one."""
        pairs = sorted(zip(set_bytes, rates, strict=True))
        smooth: list[float] = []
        fastest = 0.0
        for _, rate in reversed(pairs):
            fastest = max(fastest, rate)
            smooth.append(fastest)
        return cls(tuple(size for size, _ in pairs), tuple(reversed(smooth)))

    def at(self, size: float) -> float:
        """The rate for a set of this size, interpolated linearly."""
        return _interpolated(self.set_bytes, self.rates, size)


def _interpolated(places: Sequence[float], values: Sequence[float], at: float) -> float:
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
    sizes = [size for size in reads.set_bytes if size <= _PLATEAU * l2_bytes]
    return Level(near, far, tuple(sizes), tuple(share(reads.at(size), near, far) for size in sizes))


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


def foreign_rate(
    whole: Level, size: float, reads: Reads, memory: float, pauses: Sequence[tuple[float, float]]
) -> float:
    """Bytes a second that other guests bring into the last-level cache, from one core's reads with pauses.

    ``pauses``: the seconds that the core waited while it read a set of ``size`` bytes once, and its rate
    while it read. ``reads`` and ``memory``: the core's rates without pauses, and from memory. The loss is
    compared with that of a larger set read without pauses; the difference in size came from other guests.
    """
    whole_held, at_once = whole.at(size), reads.at(size)
    rates: list[float] = []
    for pause, rate in pauses:
        kept = share(rate, at_once, memory)
        alike = whole.size_of(kept * whole_held)
        seconds = pause + size / at_once - whole.seconds(alike)
        if seconds > pause / 4:
            rates.append(max(0.0, alike - size) / seconds if kept < _CLEARLY_LESS else 0.0)
    return statistics.median(rates) if rates else 0.0


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
