"""What the study says, in sentences: the verdict first, then where which scheme wins, and what to expect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tautochrone import statistics
from tautochrone.report import text
from tautochrone.report.analysis_types import Ratio
from tautochrone.report.nbody.analysis_types import BlockCurve, Crossing, Forecast, SimulatedRanks
from tautochrone.report.palette import styles
from tautochrone.studies.contenders import OURS
from tautochrone.studies.disturbance import restless
from tautochrone.studies.nbody.configurations import AUTO, SERIAL
from tautochrone.studies.wording import less_time, unresolved

_USUAL_PARTICLES = 1024
_MANY_CORES = 16


def verdict_sentences(
    curves: Sequence[BlockCurve],
    speed_ups: Sequence[tuple[int, Ratio]],
    contests: Mapping[int, tuple[str, Ratio]],
    crossings: Sequence[Crossing],
    forecasts: Sequence[Forecast],
    simulated: Sequence[SimulatedRanks],
    members: int,
    others_share: float | None = None,
) -> tuple[str, ...]:
    """Ours against one core and against the best other engine, then what the classes show."""
    if not curves:
        return ("On this machine nothing can be said yet: no run of the particles was good.",)
    found = [f"On this machine, {_speed_up(curves, speed_ups, members)}."]
    found += restless(others_share, "members")
    found += _against_others(contests, curves)
    found += _forks(curves)
    found += _crossing(crossings, members)
    found += _forecast(forecasts)
    found += _simulated(simulated)
    found += _orders(curves)
    return tuple(found)


def name(runtime: str) -> str:
    """What a runtime is called in sentences."""
    return styles([runtime])[0].name


def nearest(particles: Sequence[int]) -> int:
    """The number of particles that sentences speak of: 1024, or what is nearest to it."""
    return min(particles, key=lambda one: abs(one - _USUAL_PARTICLES))


def curve_of(
    curves: Sequence[BlockCurve], particles: int, runtime: str, scheme: str, order: int = 4
) -> BlockCurve | None:
    """One configuration with the default wait."""
    return next(
        (
            one
            for one in curves
            if (one.particles, one.runtime, one.scheme, one.order, one.wait)
            == (particles, runtime, scheme, order, "default")
        ),
        None,
    )


def _speed_up(curves: Sequence[BlockCurve], speed_ups: Sequence[tuple[int, Ratio]], members: int) -> str:
    """The first sentence without its beginning and its end."""
    judged = {count: one for count, one in speed_ups if one.value is not None}
    if not judged:
        return f"no comparison of {text.count(members, 'member')} with one core has 8 good rounds yet"
    count = nearest(list(judged))
    ours = curve_of(curves, count, OURS, AUTO)
    took = f" ({text.seconds(ours.seconds)} a block, {_error(ours)})" if ours is not None else ""
    return (
        f"{text.count(members, 'member')} move {count:,} particles{took} {times(judged[count])} as fast as "
        f"one core with tautochrone, which chooses for each block how to share it"
    )


def _error(curve: BlockCurve) -> str:
    return f"energy error {text.energy_error(curve.energy_error)}"


def times(found: Ratio) -> str:
    """Our time by another's as a speed-up: "1.90 times (1.88 to 1.92)"."""
    speed_up = found.inverse()
    middle = f"{speed_up.value:.2f} times"
    if speed_up.low is None or speed_up.high is None:
        return middle
    return f"{middle} ({speed_up.low:.2f} to {speed_up.high:.2f})"


def _against_others(contests: Mapping[int, tuple[str, Ratio]], curves: Sequence[BlockCurve]) -> Iterator[str]:
    judged = {count: one for count, one in contests.items() if one[1].value is not None}
    if not judged:
        yield "No other engine was measured in 8 good rounds, so there is nothing to compare with."
        return
    parts = []
    for count, (label, found) in sorted(judged.items()):
        theirs = next((one for one in curves if (one.label, one.particles) == (label, count)), None)
        label += f" ({_error(theirs)})" if theirs is not None else ""
        if found.verdict == statistics.NO_DIFFERENCE:
            parts.append(f"{count:,} particles: no difference to {label} resolved ({unresolved(found)})")
        else:
            parts.append(f"{count:,} particles: {less_time(found)}) than {label}")
    yield f"Against the fastest way of all other engines, {'; '.join(parts)}."


def _forks(curves: Sequence[BlockCurve]) -> Iterator[str]:
    """Where the ordinary parallel loops spend their time."""
    loops = [one for one in curves if one.scheme == "loops-i" and one.is_ordinary and one.points]
    if not loops:
        return
    count = nearest([one.particles for one in loops])
    # GCC's where both libraries are here: it is the one that most programs have.
    curve = min((one for one in loops if one.particles == count), key=lambda one: one.runtime != "libgomp")
    few, many = curve.points[0], curve.points[-1]
    yield (
        f"Ordinary OpenMP loops ({name(curve.runtime)}) of {count:,} particles spend "
        f"{text.percent(few.shared_share)} of a block with {few.active:.0f} active in starting, joining and "
        f"waiting, and {text.percent(many.shared_share)} with {many.active:.0f}."
    )


def _crossing(crossings: Sequence[Crossing], members: int) -> Iterator[str]:
    ours = [one for one in crossings if one.runtime == OURS]
    if not ours:
        return
    one = next(each for each in ours if each.particles == nearest([each.particles for each in ours]))
    if one.active is None:
        yield (
            f"With {text.count(members, 'member')} and {one.particles:,} particles no active count was found "
            "from which sharing the targets is the faster scheme."
        )
        return
    interval = f" ({one.low:.0f} to {one.high:.0f})" if None not in (one.low, one.high) else ""
    yield (
        f"With {text.count(members, 'member')} and {one.particles:,} particles sharing the targets is the "
        f"faster scheme from about {one.active:.0f} active{interval}."
    )


def _forecast(forecasts: Sequence[Forecast]) -> Iterator[str]:
    many = [one for one in forecasts if one.members == _MANY_CORES]
    if not many:
        return
    one = next(each for each in many if each.particles == nearest([each.particles for each in many]))
    crossing = (
        "" if one.crossing is None else f"; sharing the targets would win from {one.crossing:.0f} active"
    )
    yield (
        f"The model, fitted here, expects {one.speed_up:.1f} times on {_MANY_CORES} such cores with "
        f"{one.particles:,} particles, {one.speed_up_of_many:.1f} times in blocks that move all{crossing}; "
        f"energy error {text.energy_error(one.energy_error)} as measured here."
    )


def _simulated(libraries: Sequence[SimulatedRanks]) -> Iterator[str]:
    best = [(max(one.speed_up_by_scheme.values()), one) for one in libraries]
    if not best:
        return
    (least, slow), (most, fast) = (pick(best, key=lambda pair: pair[0]) for pick in (min, max))
    yield (
        f"{fast.ranks} ranks of MPI on such cores would be {least:.1f} ({slow.library}) to {most:.1f} "
        f"({fast.library}) times as fast as one core with {fast.particles:,} particles, energy error "
        f"{text.energy_error(fast.energy_error)}: simulated by SMPI."
    )


def _orders(curves: Sequence[BlockCurve]) -> Iterator[str]:
    """What the 6th order costs and gives, on one core."""
    counts = [one.particles for one in curves if one.order == 6 and one.runtime == SERIAL]
    if not counts:
        return
    count = nearest(counts)
    fourth, sixth = (curve_of(curves, count, SERIAL, SERIAL, order) for order in (4, 6))
    if fourth is None or sixth is None or not fourth.unit_seconds or not sixth.unit_seconds:
        return
    errors = f"{text.energy_error(sixth.energy_error)} in place of {text.energy_error(fourth.energy_error)}"
    yield (
        f"The 6th order takes {sixth.unit_seconds / fourth.unit_seconds:.2f} of the 4th’s time for a unit of "
        f"time of {count:,} particles, with a relative energy error of {errors}."
    )
