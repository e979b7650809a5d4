"""Who is ahead and who wins: the rule of a search, and of whoever reads its rows again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tautochrone import statistics
from tautochrone.measure import pair_rows
from tautochrone.row import Row
from tautochrone.statistics import Comparison


@dataclass(frozen=True)
class Verdict:
    """All by config_id. ``winner`` is the default unless another one is resolved as better than it.

    ``ranked``: best first; ``comparisons``: each of the final but the default, against the default.
    """

    winner: str
    ranked: Sequence[str]
    comparisons: Mapping[str, Comparison]


def verdict(
    rows: Sequence[Row],
    finalists: Sequence[str],
    default: str,
    figure: Callable[[Row], float],
    comparisons: int,
) -> Verdict:
    """The best of those that are faster than the default, by the final's rows."""
    in_order = ranked(rows, finalists, figure)
    against = {
        one: statistics.compare(pair_rows(rows, one, default, figure), comparisons=comparisons)
        for one in in_order
        if one != default
    }
    better = [one for one in in_order if one in against and against[one].verdict == statistics.FASTER]
    return Verdict(winner=better[0] if better else default, ranked=in_order, comparisons=against)


def ranked(rows: Sequence[Row], finalists: Sequence[str], figure: Callable[[Row], float]) -> list[str]:
    """Best first by the middle half of the final's rounds; those without a good row last.

    Who left the final at a look stands behind those that went on: it was resolved as worse than the best of
    them, and the machine may have been another one in the rounds that it did not run.
    """
    figures: dict[str, list[float]] = {}
    until: dict[str, int] = {}
    for row in rows:
        until[row["config_id"]] = max(until.get(row["config_id"], 0), row["round"])
        if row["error"] is None:
            figures.setdefault(row["config_id"], []).append(figure(row))
    last = max(until.values(), default=0) - 1  # a round may be half done

    def place(one: str) -> tuple[int, float]:
        if one not in figures:
            return 1, float("inf")
        return -min(until[one], last), midmean(figures[one])

    return sorted(finalists, key=place)


def midmean(figures: Sequence[float]) -> float:
    """The mean of the middle half: as deaf to outliers as the median, and steadier (for ranks alone)."""
    ordered = sorted(figures)
    cut = len(ordered) // 4
    return fmean(ordered[cut : len(ordered) - cut])


def claims(finalists: int, looks: int) -> int:
    """How many claims share the error that a search may have: each rival of the default, at each look."""
    return max(1, finalists - 1) * max(1, looks)
