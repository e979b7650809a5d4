"""The published claims on block-timestep N-body, beside what was measured and modelled here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone.report import text
from tautochrone.report.analysis_types import Claim
from tautochrone.report.nbody.analysis_types import BlockCurve, Crossing, Forecast
from tautochrone.row import Row
from tautochrone.studies.nbody.configurations import SOURCES, TARGETS
from tautochrone.studies.nbody.sentences import name, nearest
from tautochrone.studies.wording import percent

PUBLISHED = {
    "N1": "ordinary OpenMP starts at least three parallel loops a block; fork and join dominate when few are "
    "active",
    "N2": "one parallel region around the whole loop needs private copies and a rewrite, as much as MPI does",
    "N3": "i-parallel: one all_gather a block; j-parallel: one all_reduce a block",
    "N5": "model for 2048 particles: 16 cores give a little over 8× when many are active (i-parallel)",
    "N6": "below about 100 active particles j-parallel is faster",
    "N9": "threads reading each other's data directly need none of the copies: how much better than 8× is "
    "possible",
}
_PUBLISHED_PARTICLES = 2048
_PUBLISHED_CORES = 16
_DOMINATES = 0.5


def claims(
    curves: Sequence[BlockCurve],
    crossings: Sequence[Crossing],
    forecasts: Sequence[Forecast],
    rows: Sequence[Row],
) -> tuple[Claim, ...]:
    """Those that can be measured or modelled here; N4 is the collective study's, N7, N8 the simulator's."""
    found = [_n1(curves), _n2(curves, rows), _n3(rows), *_model_claims(crossings, forecasts)]
    return tuple(one for one in found if one is not None)


def _claim(id: str, ours: str, holds: bool | None, note: str = "") -> Claim:
    return Claim(id=id, published=PUBLISHED[id], ours=ours, holds=holds, note=note)


def _n1(curves: Sequence[BlockCurve]) -> Claim | None:
    loops = [one for one in curves if one.scheme == "loops-i" and one.wait == "default" and one.points]
    if not loops:
        return None
    count = nearest([one.particles for one in loops])
    here = [one for one in loops if one.particles == count]
    ours = "; ".join(
        f"{name(one.runtime)}, {count:,} particles: {text.percent(one.points[0].shared_share)} with "
        f"{one.points[0].active:.0f} active, {text.percent(one.points[-1].shared_share)} with "
        f"{one.points[-1].active:.0f}"
        for one in here
    )
    holds = all(one.points[0].shared_share > _DOMINATES > one.points[-1].shared_share for one in here)
    members = here[0].members
    note = f"measured with {text.count(members, 'thread')}; the time to fork grows with their number"
    return _claim("N1", ours, holds, note)


def _n2(curves: Sequence[BlockCurve], rows: Sequence[Row]) -> Claim | None:
    pairs = list(_loops_and_regions(curves))
    if not pairs:
        return None
    ours = "both versions end with the same bits; one region takes " + ", ".join(
        f"{percent(100 * (region.seconds or 0.0) / (loops.seconds or 1.0))} % of the loops’ time "
        f"({name(loops.runtime)}, {loops.particles:,} particles)"
        for loops, region in pairs
    )
    agreed = not any(_ended_differently(row, ("loops-i", "region-i")) for row in rows)
    return _claim("N2", ours, agreed, "each thread has targets of its own; the sources stay shared")


def _loops_and_regions(curves: Sequence[BlockCurve]) -> Iterator[tuple[BlockCurve, BlockCurve]]:
    loops = [one for one in curves if (one.scheme, one.wait) == ("loops-i", "default")]
    if not loops:
        return
    count = nearest([one.particles for one in loops])
    for one in loops:
        region = next(
            (
                other
                for other in curves
                if (other.runtime, other.particles, other.scheme, other.wait)
                == (one.runtime, one.particles, "region-i", "default")
            ),
            None,
        )
        if region is not None and one.particles == count:
            yield one, region


def _n3(rows: Sequence[Row]) -> Claim | None:
    both = {
        row["config"]["library"]
        for row in rows
        if row["error"] is None and row["config"]["schedule"] in (*TARGETS, *SOURCES)
    }
    if not both:
        return None
    agreed = not any(_ended_differently(row, (*TARGETS, *SOURCES)) for row in rows)
    engines = ", ".join(name(one) for one in sorted(both))
    ours = f"one exchange a block on {engines}; every run of a scheme ended with the same bits on all of them"
    return _claim("N3", ours if agreed else f"on {engines} some runs ended with other bits", agreed)


def _ended_differently(row: Row, schemes: Sequence[str]) -> bool:
    error = row["error"]
    return row["config"]["schedule"] in schemes and error is not None and error["kind"] == "wrong_answer"


def _model_claims(crossings: Sequence[Crossing], forecasts: Sequence[Forecast]) -> Iterator[Claim]:
    sixteen = [one for one in forecasts if one.members == _PUBLISHED_CORES]
    if not sixteen:
        return
    count = min((one.particles for one in sixteen), key=lambda one: abs(one - _PUBLISHED_PARTICLES))
    one = next(each for each in sixteen if each.particles == count)
    where = f"modelled for {_PUBLISHED_CORES} cores like these and {count:,} particles, between threads"
    many = f"{one.speed_up_of_many:.1f}× when all move, {one.speed_up:.1f}× over all blocks"
    yield _claim("N5", many, None, f"{where}: the claim is of MPI’s processes on cores of 2013")
    yield from _n6(crossings, one, where)
    yield _claim("N9", many, one.speed_up_of_many > 8, where)


def _n6(crossings: Sequence[Crossing], one: Forecast, where: str) -> Iterator[Claim]:
    measured = [
        f"{name(each.runtime)} from {each.active:.0f}"
        for each in crossings
        if each.particles == one.particles and each.active is not None
    ]
    here = f"; measured with {crossings[0].members} members: {', '.join(measured)}" if measured else ""
    at = "never" if one.crossing is None else f"from {one.crossing:.0f} active"
    holds = one.crossing is not None and 50 <= one.crossing <= 200
    yield _claim("N6", f"sharing the targets wins {at}{here}", holds, where)
