"""A figure of a published study, redrawn: the published points, the simulated curve and the measured one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from tautochrone.report.parts import Record
from tautochrone.simulator.findings import Axis

Origin = Literal["simulated", "measured"]


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A line: its name, where it comes from, and its points (x, y)."""

    series: str
    origin: Origin
    points: tuple[tuple[float, float], ...]


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A point or a range that the source gives; a missing end of ``x`` or ``y`` is that of the chart.

    The charts of the sources are pictures: only what their texts say in figures is drawn.
    """

    says: str
    x: tuple[float | None, float | None] = (None, None)
    y: tuple[float | None, float | None] = (None, None)


def point(says: str, x: float, y: float) -> Published:
    return Published(says=says, x=(x, x), y=(y, y))


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """One figure. ``of``: what the source draws. ``claims``: those that it bears on."""

    name: str
    of: str
    heading: str
    explanation: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    published: tuple[Published, ...] = ()
    claims: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # of the x axis: point 0, 1, … of a curve


class Chapter(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one source; ``family`` is the letter of its claims."""

    family: str
    title: str
    machine: str
    figures: tuple[Drawn, ...]


def records_of(drawn: Drawn) -> list[Record]:
    """A line of a table for each point of a curve."""
    return [
        {
            "situation": 0,
            "runtime": curve.series,
            "origin": curve.origin,
            "x": x,
            "y": y,
            "name": drawn.names[int(x)] if drawn.names else "",
        }
        for curve in drawn.curves
        for x, y in curve.points
    ]


def published_records(drawn: Drawn) -> list[Record]:
    """The published points and ranges; where an end is missing, the chart's own."""
    xs, ys = _ends(drawn, 0), _ends(drawn, 1)
    return [
        {
            "situation": 0,
            "says": each.says,
            "x": each.x[0] if each.x[0] is not None else xs[0],
            "x2": each.x[1] if each.x[1] is not None else xs[1],
            "y": each.y[0] if each.y[0] is not None else ys[0],
            "y2": each.y[1] if each.y[1] is not None else ys[1],
            "name": drawn.names[int(each.x[0] or 0)] if drawn.names else "",
        }
        for each in drawn.published
    ]


def _ends(drawn: Drawn, which: int) -> tuple[float, float]:
    values = [point[which] for curve in drawn.curves for point in curve.points]
    ranges = (each.x if which == 0 else each.y for each in drawn.published)
    values += [end for pair in ranges for end in pair if end is not None]
    return min(values), max(values)


def curve(series: str, points: Iterable[Sequence[float]], origin: Origin = "simulated") -> Curve:
    return Curve(series=series, origin=origin, points=tuple((float(x), float(y)) for x, y in points))
