"""What measured reads say of the caches: how fast each level is, and what part of a set it still holds.

A set that is read again and again comes partly out of one level and partly out of the next. Where the rates
of both are known, the time of a byte says which part it is: t = h t_near + (1 - h) t_far.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

_PLATEAU = 4  # times the L2 cache: a set that it keeps nothing of, and the last level all
_TURNS = 40


@dataclass(frozen=True, slots=True)
class Level:
    """How fast a level and the next are, in bytes a second, and which share of a set is found in it."""

    near: float
    far: float
    set_bytes: tuple[float, ...]
    shares: tuple[float, ...]

    def at(self, size: float) -> float:
        """The share that is found of a set, on a straight line between the neighbours."""
        return _interpolated(self.set_bytes, self.shares, size)


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


def shared_level(reads: Reads, private_bytes: float) -> Level:
    """All caches together before memory, from what all cores read together.

    Memory is never seen alone: even of the largest set some is still there. What is, follows from the largest
    set with random replacement, h = exp(-(1 - h) set / capacity), and the capacity from the others.
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
        capacity = _capacity([(size, share(rate, near, far)) for size, rate in pairs[:-1]])
        left = retained(largest, capacity) if capacity else 0.0
        remote = (1 / slowest - left / near) / (1 - left) if left < 1 else 0.0
        if remote <= 0 or abs(1 / remote / far - 1) < 1e-9:
            break
        far = 1 / remote
    return Level(
        near, far, tuple(size for size, _ in pairs), tuple(share(rate, near, far) for _, rate in pairs)
    )


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
