"""NumPy arrays on all cores, balanced where cores are unequal, with the same bits every time.

>>> from tautochrone import parallel
>>> parallel.sort(values)
>>> total = parallel.exact_sum(values)

These functions use one team of this process, which is made at their first call. Its threads are not
pinned, because everything that a pinned thread starts later inherits its one CPU. :class:`Team` has the same
as methods, for a team of your own. No compiler is needed.
"""

from __future__ import annotations

from tautochrone.parallel.shared import (
    argmax,
    argmin,
    exact_sum,
    exclusive_scan,
    histogram,
    inclusive_scan,
    parallel_for,
    reduce,
    sort,
    sum,
)
from tautochrone.parallel.team import Team

__all__ = [
    "Team",
    "argmax",
    "argmin",
    "exact_sum",
    "exclusive_scan",
    "histogram",
    "inclusive_scan",
    "parallel_for",
    "reduce",
    "sort",
    "sum",
]
