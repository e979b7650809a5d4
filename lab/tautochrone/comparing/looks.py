"""After how many rounds to look: planned before the first one, so that looking has its share of the error.

Whoever goes on until a difference shows finds one between identical programs. So each look has a part of the
error that is allowed: the last one half of it, as most comparisons end there, and those before it the other
half, divided equally; each part is divided among the rivals (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence

from tautochrone import verdicts
from tautochrone.results.row import MOST_ROUNDS

MOST_LOOKS = 5
CONFIDENCE = 0.995
"""Of all verdicts and looks of a comparison together: identical programs get a word in at most 1 of 200."""


def claims(rivals: int, looks: int, is_last: bool) -> int:
    """Among how many claims of equal size the error is divided, if all were like those of this look."""
    share = 1 if looks <= 1 else 2 if is_last else 2 * (looks - 1)
    return max(1, rivals) * share


def claims_after(rivals: int, looks: Sequence[int], rounds: int) -> int:
    """The same for a comparison that ended after so many rounds."""
    return claims(rivals, len(looks), not looks or rounds >= looks[-1])


def rounds_needed(rivals: int, looks: int, is_last: bool) -> int:
    """The fewest rounds that can carry a verdict at such a look."""
    return verdicts.rounds_needed(CONFIDENCE, claims(rivals, looks, is_last))


def planned(rivals: int, rounds: int | None, affordable: int) -> tuple[int, ...]:
    """The looks, in rising order; the last one ends the comparison whatever it shows.

    `rounds`: one look after exactly so many. Else the last look is after the `affordable` rounds, and each
    one before it after half as many, as far as the first can carry a verdict. At least as many rounds as a
    verdict needs are planned.
    """
    if rounds is not None:
        return (rounds,)
    last = min(MOST_ROUNDS, max(affordable, rounds_needed(rivals, 1, True)))
    for count in range(MOST_LOOKS, 1, -1):
        looks = [last // 2**step for step in reversed(range(count))]
        if looks[0] >= rounds_needed(rivals, count, False):
            return tuple(looks)
    return (last,)
