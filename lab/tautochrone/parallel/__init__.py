"""NumPy arrays on all cores, balanced where cores are unequal, with the same bits every time.

>>> from tautochrone import parallel
>>> parallel.sort(values)
>>> total = parallel.exact_sum(values)

These functions use one team of this process, which is made at their first call. Its threads are not
pinned, because what a pinned thread starts later begins on its one CPU. :class:`Team` has the same
as methods, for a team of your own. No compiler is needed.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("numpy") is None:
    raise ImportError("tautochrone.parallel needs NumPy: pip install numpy")

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
