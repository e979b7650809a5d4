"""A comparison from the values of each round, where no run is a process of ours: callables, other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tautochrone import verdicts
from tautochrone.comparing import disturbances, sentences
from tautochrone.comparing.analysis import objective_of
from tautochrone.comparing.looks import CONFIDENCE, claims_after
from tautochrone.comparing.result import Compared, Side
from tautochrone.verdicts import Comparison

Judge = Callable[[Sequence[float], Sequence[float], int], Comparison]


def of_points(
    names: Sequence[str],
    points: Sequence[Sequence[float]],
    *,
    looks: Sequence[int] = (),
    runs: Sequence[int] | None = None,
    remarks: Sequence[str] = (),
    judge: Judge | None = None,
) -> Compared:
    """The answer for seconds that were measured in the same rounds, `points[side][round]`.

    The first side is the reference. `looks`: after how many rounds it was looked; empty: at the end. `judge`:
    what compares a rival with it, `judged` where it is None. ValueError for sides of unequal length then.
    """
    rounds = len(points[0])
    planned = tuple(looks) or (rounds,)
    number = claims_after(len(names) - 1, planned, rounds)
    sides = tuple(
        _side(
            name,
            own,
            None if place == 0 else (judge or judged)(own, points[0], number),
            runs[place] if runs else len(own),
        )
        for place, (name, own) in enumerate(zip(names, points, strict=True))
    )
    objective = objective_of("time")
    found = Compared(
        answer="",
        sides=sides,
        objective="time",
        less=objective.less,
        rounds=rounds,
        looks=planned,
        confidence=CONFIDENCE,
        remarks=(*remarks, *disturbances.remarks({}, sides, objective, 1)),
    )
    return sentences.answered(found, objective.written)


def judged(rival: Sequence[float], reference: Sequence[float], number: int) -> Comparison:
    """One of `number` claims."""
    pairs = zip(rival, reference, strict=True)
    return verdicts.compare_drawn(pairs, confidence=CONFIDENCE, comparisons=number)


def _side(name: str, points: Sequence[float], comparison: Comparison | None, runs: int) -> Side:
    centre = verdicts.median_interval(points)
    return Side(
        name=name,
        words=(name,),
        figure=centre.median,
        low=centre.low,
        high=centre.high,
        points=tuple(points),
        ratio=verdicts.as_ratio(comparison) if comparison is not None else None,
        runs=runs,
    )
