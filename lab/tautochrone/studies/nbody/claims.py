"""The published claims on block-timestep N-body, beside what was measured and modelled here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone.published import PUBLISHED
from tautochrone.report import text
from tautochrone.report.analysis_types import Claim
from tautochrone.report.nbody.analysis_types import BlockCurve, Crossing, Forecast
from tautochrone.row import Row
from tautochrone.studies.nbody.configurations import SERIAL
from tautochrone.studies.nbody.sentences import curve_of, name, nearest
from tautochrone.studies.wording import percent

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
    agreed = _agreed(rows, ("loops-i", "region-i"))
    bits = {
        True: "both versions end with the same bits",
        False: "some runs ended with other bits",
        None: "nothing to compare their bits with",
    }[agreed]
    times = ", ".join(
        f"{percent(100 * (region.seconds or 0.0) / (loops.seconds or 1.0))} % of the loops’ time "
        f"({name(loops.runtime)}, {loops.particles:,} particles)"
        for loops, region in pairs
    )
    note = "each thread has targets of its own; the sources stay shared"
    return _claim("N2", f"{bits}; one region takes {times}", agreed, note)


def _loops_and_regions(curves: Sequence[BlockCurve]) -> Iterator[tuple[BlockCurve, BlockCurve]]:
    loops = [one for one in curves if (one.scheme, one.wait) == ("loops-i", "default")]
    if not loops:
        return
    count = nearest([one.particles for one in loops])
    for one in loops:
        region = curve_of(curves, one.particles, one.runtime, "region-i")
        if region is not None and one.particles == count:
            yield one, region


def _n3(rows: Sequence[Row]) -> Claim | None:
    schemes = ("i", "j")
    engines = {
        row["config"]["library"]
        for row in rows
        if row["error"] is None and row["config"]["schedule"] in schemes
    }
    if not engines:
        return None
    agreed = _agreed(rows, schemes)
    bits = {
        True: "every run of a scheme ended with the same bits on all of them",
        False: "some runs ended with other bits",
        None: "nothing to compare their bits with",
    }[agreed]
    both = ", ".join(name(one) for one in sorted(engines))
    return _claim("N3", f"both, with one exchange a block by construction, on {both}; {bits}", agreed)


def _agreed(rows: Sequence[Row], schemes: Sequence[str]) -> bool | None:
    """Whether no run ended with other bits than it should; None without a run of one core to hold it to."""
    wrong = [row for row in rows if row["error"] is not None and row["error"]["kind"] == "wrong_answer"]
    if any(row["config"]["schedule"] in schemes for row in wrong):
        return False
    alone = any(row["error"] is None and row["config"]["schedule"] == SERIAL for row in rows)
    return True if alone else None


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
