"""After how many rounds to look: planned before the first one, so that looking has its share of the error.

Each look, at each rival, is one of the claims among which the allowed error is divided (Bonferroni): whoever
goes on until a difference shows would find one between identical programs.
"""

from __future__ import annotations

from tautochrone import verdicts
from tautochrone.results.row import MOST_ROUNDS

MOST_LOOKS = 4


def claims(rivals: int, looks: int) -> int:
    """How many claims share the error: each rival at each look."""
    return max(1, rivals) * max(1, looks)


def planned(rivals: int, rounds: int | None, affordable: int) -> tuple[int, ...]:
    """The looks, in rising order; the last one ends the comparison whatever it shows.

    `rounds`: one look after exactly so many. Else the last look is after the `affordable` rounds, and each
    one before it after half as many, as far as the first can carry a verdict. At least as many rounds as that
    needs are planned.
    """
    if rounds is not None:
        return (rounds,)
    for count in range(MOST_LOOKS, 0, -1):
        least = verdicts.rounds_needed(comparisons=claims(rivals, count))
        last = min(MOST_ROUNDS, max(affordable, least))
        looks = [last // 2**step for step in reversed(range(count))]
        if looks[0] >= least:
            return tuple(looks)
    return (min(MOST_ROUNDS, max(affordable, verdicts.rounds_needed(comparisons=claims(rivals, 1)))),)
