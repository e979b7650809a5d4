"""What measured reads say of the caches: how fast each level is, and what part of a set it still holds.

A set that is read again and again comes partly out of one level and partly out of the next. Where the rates
of both are known, the time of a byte says which part it is: t = h t_near + (1 - h) t_far.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_PLATEAU = 4  # times the L2 cache: a set that it keeps nothing of, and the last level all
_TURNS = 40
_CLEARLY_LESS = 0.95


@dataclass(frozen=True, slots=True)
class Level:
    """How fast a level and the next are, in bytes a second, and which share of a set is found in it."""

    near: float
    far: float
    set_bytes: tuple[float, ...]
    shares: tuple[float, ...]
    rates: tuple[float, ...] = ()  # of those sets, in bytes a second

    def at(self, size: float) -> float:
        """The share that is found of a set, on a straight line between the neighbours."""
        return _interpolated(self.set_bytes, self.shares, size)

    def size_of(self, held: float) -> float:
        """The smallest set of which no more than this share is found; the largest measured where more is."""
        for (low, first), (high, last) in itertools.pairwise(zip(self.set_bytes, self.shares, strict=True)):
            if last <= held < first:
                return low + (high - low) * (first - held) / (first - last)
        return self.set_bytes[0] if held >= self.shares[0] else self.set_bytes[-1]

    def seconds(self, size: float) -> float:
        """How long a set takes to read, in seconds."""
        return size / _interpolated(self.set_bytes, self.rates, size)

    def among_others(self, foreign: float) -> Level:
        """The same by all that comes into the level between two times: the set, and what others bring."""
        sizes = tuple(size + foreign * self.seconds(size) for size in self.set_bytes)
        return Level(self.near, self.far, sizes, self.shares, self.rates)


@dataclass(frozen=True, slots=True)
class Reads:
    """Measured rates at ascending sets, in bytes and bytes a second."""

    set_bytes: tuple[float, ...]
    rates: tuple[float, ...]

    @classmethod
    def of(cls, set_bytes: Sequence[float], rates: Sequence[float]) -> Reads:
        """A larger set is never faster: what a disturbance made slow is taken from beyond it."""
        pairs = sorted(zip(set_bytes, rates, strict=True))
        smooth: list[float] = []
        fastest = 0.0
        for _, rate in reversed(pairs):
            fastest = max(fastest, rate)
            smooth.append(fastest)
        return cls(tuple(size for size, _ in pairs), tuple(reversed(smooth)))

    def at(self, size: float) -> float:
        """The rate at a set, on a straight line between the neighbours."""
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
    """The part of the bytes that comes at `near` where the rest comes at `far`: 1 / rate is their mean."""
    if near <= far:
        return 1.0
    return min(1.0, max(0.0, (1 / rate - 1 / far) / (1 / near - 1 / far)))


def private_level(reads: Reads, l2_bytes: float, last_level_bytes: float) -> Level:
    """The L2 cache of one core, from what it alone reads."""
    near = reads.rates[0]
    far = reads.at(min(_PLATEAU * l2_bytes, max(last_level_bytes / 2, 2 * l2_bytes)))
    sizes = [size for size in reads.set_bytes if size <= _PLATEAU * l2_bytes]
    return Level(near, far, tuple(sizes), tuple(share(reads.at(size), near, far) for size in sizes))


@dataclass(frozen=True, slots=True)
class Core:
    """How fast one core alone reads from the last level and from memory, and how many there are of it."""

    near: float
    far: float
    count: int = 1

    def rate(self, held: float) -> float:
        """Bytes a second where this part of them is found in the last level, one after the other."""
        seconds = held / self.near + (1 - held) / self.far
        return 1 / seconds if seconds else math.inf


def shared_level(reads: Reads, private_bytes: float, cores: Sequence[Core]) -> Level:
    """All caches together before memory, from what all cores read together.

    Together they are as fast as each of them alone lets them, the last level's port and the memory bus; which
    part of a set is held is what makes them as fast as they were. Memory is never seen alone: even of the
    largest set some is still there. What is, follows from the largest set with random replacement,
    h = exp(-(1 - h) set / capacity), and the capacity from the others.
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
    """The share of their bytes that the last level must hold for all cores to read as fast as they do."""
    if rate >= 0.999 * near:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        too_slow = sum(one.count * one.rate(middle) for one in cores) < rate
        low, high = (middle, high) if too_slow else (low, middle)
    return max(high, 1 - far / rate)


def foreign_rate(
    whole: Level, size: float, reads: Reads, memory: float, pauses: Sequence[tuple[float, float]]
) -> float:
    """Bytes a second that others bring into the last level, from one core's reads with pauses.

    ``pauses`` are seconds in which the core waited while it read a set of ``size`` bytes once, and its rate
    while it read; ``reads`` and ``memory`` are that core's rates without a pause, and from memory. As much
    was lost as would be of a larger set that is read without pauses: what made it larger came from others.
    """
    whole_held, at_once = whole.at(size), reads.at(size)
    found: list[float] = []
    for pause, rate in pauses:
        kept = share(rate, at_once, memory)
        alike = whole.size_of(kept * whole_held)
        seconds = pause + size / at_once - whole.seconds(alike)
        if seconds > pause / 4:
            found.append(max(0.0, alike - size) / seconds if kept < _CLEARLY_LESS else 0.0)
    return statistics.median(found) if found else 0.0


def _capacity(points: Sequence[tuple[float, float]]) -> float | None:
    """The median of the capacities that sets which are partly held point to."""
    found = sorted(-(1 - held) * size / math.log(held) for size, held in points if 0.05 < held < 0.95)
    return found[len(found) // 2] if found else None


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
