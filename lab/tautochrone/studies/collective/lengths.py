"""The lengths that are measured: powers of two, the neighbours of known switches, and where a curve steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tautochrone.errors import TautoError
from tautochrone.word_lists import integers_of

WORD_BYTES = 8
LARGEST_WORDS = 1 << 26
SWITCHES_WORDS = (512, 1024, 10_000 // WORD_BYTES, *(kib * 1024 // WORD_BYTES for kib in (4, 8, 16, 32)))
"""Where libraries are known to change their algorithm: 512 and 1024 words, 10,000 bytes, 4 to 32 KiB."""

_POWERS = 17  # 1 … 65,536
_FINEST = 1.05  # neighbours closer than this need nothing between them
_BETWEEN = 3
_BESIDE = 2  # lengths on each side of a gap that are measured again with it


@dataclass(frozen=True, slots=True)
class Gap:
    """Two neighbouring lengths between which a curve steps, and by how much (1.5: half as much again)."""

    below: int
    above: int
    factor: float


def base_lengths(quick: bool = False) -> tuple[int, ...]:
    """1 … 65,536 words: every power of two, and one word less and more around the switches.

    A quick study leaves out the powers below 512 that have an odd exponent.
    """
    powers = {1 << power for power in range(_POWERS) if not quick or power >= 9 or power % 2 == 0}
    beside = {words + offset for words in SWITCHES_WORDS for offset in (-1, 0, 1)}
    return tuple(sorted(powers | beside))


def parse_lengths(text: str, option: str = "--lengths") -> tuple[int, ...]:
    """``"64,1,512"`` → (1, 64, 512). Raises TautoError for what is no number of words."""
    return integers_of(
        text,
        option,
        1,
        LARGEST_WORDS,
        lambda word: TautoError(
            f"{word!r} is not a number of 8-byte words", f"Write 1 to {LARGEST_WORDS}, such as 1,512,4096"
        ),
    )


def refined(gaps: Iterable[Gap], known: Sequence[int], most: int) -> tuple[int, ...]:
    """Lengths to measure next: some inside each gap, its ends, and a few on both sides to compare with.

    The ``most`` largest gaps are taken, whatever their direction; empty when all are as fine as is wanted.
    """
    widest: dict[tuple[int, int], float] = {}
    for gap in gaps:
        size = abs(math.log(gap.factor))
        key = (gap.below, gap.above)
        if gap.above - gap.below > 1 and gap.above / gap.below > _FINEST:
            widest[key] = max(widest.get(key, 0.0), size)
    chosen = sorted(widest, key=lambda key: -widest[key])[:most]
    ordered = sorted(known)
    wanted: set[int] = set()
    for below, above in chosen:
        inside = {
            round(below * (above / below) ** (place / (_BETWEEN + 1))) for place in range(1, _BETWEEN + 1)
        }
        left = [words for words in ordered if words <= below][-_BESIDE:]
        right = [words for words in ordered if words >= above][:_BESIDE]
        wanted |= {*inside, *left, *right}
    return tuple(sorted(wanted))
