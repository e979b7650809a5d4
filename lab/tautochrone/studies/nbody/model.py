"""What a block costs on a number of members, from the constants that a runner measured at its start.

The same formula as in the runners (nbody_cost.hpp), with n targets, N sources and a·b of p members in a
groups of targets and b slices of sources:

    T = block + N·scan + n·put + N/b·source + n/a·(force + N/b·pair) + targets handled + one collective

where scan is finding the next block among all particles, for each of them: they are not looked at one by one,
each has a bit (kernels/nbody/block_times.hpp).

On more members than were measured only the collective changes by an assumption: its latency grows with the
levels of a tree, log2 p, and its transfer with what a member has to fetch from others, (p - 1)/p. Cores are
taken to be as fast side by side as two of them are here.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import msgspec

COSTS = ("pair", "target_force", "source", "target", "put", "scan", "block")
"""Of the parts of the work; a record has each with its unit: ``pair_seconds``."""

Curve = Sequence[tuple[float, float]]
"""(words, seconds), ascending."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A rectangle of members: ``groups`` of targets by ``slices`` of sources."""

    groups: int
    slices: int


ALONE = Scheme(1, 1)


def schemes_of(members: int) -> list[Scheme]:
    """All rectangles of all members, and of each smaller power of two: one core first, then by width.

    What ``auto`` chooses from where all cores are alike.
    """
    widths = [1 << power for power in range(1, members.bit_length()) if 1 << power < members]
    if members > 1:
        widths.append(members)
    shapes = [
        Scheme(side, width // side) for width in widths for side in range(width, 0, -1) if width % side == 0
    ]
    return [ALONE, *shapes]


class Model(msgspec.Struct, frozen=True, rename=lambda name: f"{name}_seconds" if name in COSTS else None):
    """Seconds of each part on one member, and of the collectives between ``members``."""

    particles: float
    members: int
    pair: float
    target_force: float
    source: float
    target: float
    put: float
    scan: float
    block: float
    changed_words: float
    force_words: float
    gather: Curve
    reduce: Curve
    gather_one: Curve = ()
    """All words from one member; rows of older runners have none."""

    def seconds(self, targets: float, scheme: Scheme, members: int | None = None) -> float:
        """What a block with that many targets takes. O(log of the curve's points)."""
        members = members or scheme.groups * scheme.slices
        mine = math.ceil(targets / scheme.groups)
        sources = math.ceil(self.particles / scheme.slices)
        # Cores are taken to be alike: nobody is left out for being slow.
        time = self.block + self.particles * self.scan + targets * self.put + sources * self.source
        time += mine * (self.target_force + sources * self.pair)
        if scheme == ALONE:
            return time + targets * self.target
        if scheme.slices == 1:
            words = self.changed_words * targets
            parts = min(scheme.groups, targets)
            return time + mine * self.target + self.gathered(words, parts, members)
        if scheme.groups == 1:
            words = self.force_words * targets
            return time + targets * self.target + self.collective(self.reduce, words, members)
        words = self.force_words * targets * scheme.slices
        parts = min(scheme.groups, targets) * scheme.slices
        return time + (mine + targets) * self.target + self.gathered(words, parts, members)

    def gathered(self, words: float, parts: float, members: int) -> float:
        """Seconds of a gather with that many contributors: between those with all members and with one.

        If parts cost something, all cost the same. If one contributor is more expensive, because it has to
        send all words, several share that cost.
        """
        every = self.collective(self.gather, words, members)
        if not self.gather_one:
            return every
        one = self.collective(self.gather_one, words, members)
        many = max(parts, 1)
        share = (members - many if one < every else members / many - 1) / (members - 1)
        return every + share * (one - every)

    def seconds_on_shared(self, targets: float, threads: int, forks: float, *, by_sources: bool) -> float:
        """What a block takes threads that share one set of particles; ``forks``: seconds of all in a block.

        Nothing is exchanged: each predicts a slice of the sources and writes its own targets back.
        """
        mine, slice_ = math.ceil(targets / threads), math.ceil(self.particles / threads)
        time = (
            self.block + self.particles * self.scan + slice_ * self.source + mine * (self.target + self.put)
        )
        if by_sources:
            return time + targets * (self.target_force + slice_ * self.pair) + forks
        return time + mine * (self.target_force + self.particles * self.pair) + forks

    def collective(self, curve: Curve, words: float, members: int) -> float:
        """Seconds of a collective; see the top of this file for other numbers of members than measured."""
        if not curve:
            return math.inf
        latency = curve[0][1]
        transfer = max(0.0, at(curve, words) - latency)
        if members == self.members:
            return latency + transfer
        levels = math.log2(members) / math.log2(self.members)
        return latency * levels + transfer * ((members - 1) / members) / ((self.members - 1) / self.members)

    def cheapest(self, targets: float, members: int) -> tuple[Scheme, float]:
        """The scheme that ``auto`` would choose, and its seconds."""
        wide: tuple[Scheme, float] = (ALONE, self.seconds(targets, ALONE, members))
        narrow = (ALONE, math.inf)
        for scheme in schemes_of(members)[1:]:
            seconds = self.seconds(targets, scheme, members)
            if scheme.groups * scheme.slices == members:
                wide = min(wide, (scheme, seconds), key=itemgetter(1))
            else:
                narrow = min(narrow, (scheme, seconds), key=itemgetter(1))
        # Fewer than all must gain a tenth.
        return narrow if narrow[1] < 0.9 * wide[1] else wide

    def speed_up(self, blocks: Iterable[tuple[float, int]], members: int) -> float:
        """Of many blocks, given as (active count, how many): time on one core by that of the cheapest."""
        alone = together = 0.0
        for active, count in blocks:
            alone += count * self.seconds(active, ALONE)
            together += count * self.cheapest(active, members)[1]
        return alone / together if together else math.nan

    def crossing(self, members: int) -> float | None:
        """The active count from which on sharing the targets beats sharing the sources; None: never."""
        by_targets, by_sources = Scheme(members, 1), Scheme(1, members)
        last = 0
        for targets in range(1, int(self.particles) + 1):
            if self.seconds(targets, by_sources) < self.seconds(targets, by_targets):
                last = targets
        return None if last >= self.particles else float(last + 1)


def at(curve: Curve, words: float) -> float:
    """Linear between the points of a curve, level before the first, straight on behind the last."""
    if len(curve) < 2:
        return curve[0][1]
    right = min(max(bisect_right([one[0] for one in curve], words), 1), len(curve) - 1)
    (low, low_seconds), (high, high_seconds) = curve[right - 1], curve[right]
    share = max(0.0, (words - low) / (high - low))
    return low_seconds + share * (high_seconds - low_seconds)


def from_record(record: Mapping[str, Any], particles: int) -> Model:
    """The model of a runner's row (its field ``model``)."""
    return msgspec.convert({**record, "particles": particles}, Model)
