"""Which of many configurations is the fastest, by short rounds that are never reported."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.context import Bench, Budget
from tautochrone.configuration import Configuration

# So many of the fastest are tried again until each of them has so many rounds behind it. One round alone
# would choose whoever was lucky.
HALVING = ((8, 2), (4, 4), (2, 7))


def fastest(bench: Bench, rivals: Sequence[Configuration], budget: Budget) -> Configuration | None:
    """One round of all of `rivals`, then more of the leaders, half as many each time.

    None where none of them has a good run. The first round is run whatever it takes.
    """
    bench.screen(rivals, 1, budget.left)
    leaders = list(rivals)
    for most, rounds in HALVING:
        leaders = bench.ranked(leaders)[:most]
        bench.screen(leaders, rounds, budget.left)
    return next(iter(bench.ranked(leaders)), None)
