"""What the study says, in sentences: the verdict first, then where which scheme wins, and what to expect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tautochrone import text, verdicts
from tautochrone.report.analysis import Settings
from tautochrone.report.palette import name_of
from tautochrone.results.runs import OURS
from tautochrone.studies.disturbance import restless
from tautochrone.studies.nbody.configurations import AUTO, SERIAL
from tautochrone.studies.nbody.findings import BlockCurve, Crossing, Forecast, Rectangle, SimulatedRanks
from tautochrone.studies.nbody.runs import BlockRuns
from tautochrone.text import less_time, unresolved
from tautochrone.verdicts import Ratio

_USUAL_PARTICLES = 1024
_MANY_CORES = 16


def verdict_sentences(
    curves: Sequence[BlockCurve],
    speed_ups: Sequence[tuple[int, Ratio]],
    contests: Mapping[int, tuple[BlockRuns, Ratio]],
    crossings: Sequence[Crossing],
    forecasts: Sequence[Forecast],
    simulated: Sequence[SimulatedRanks],
    rectangles: Sequence[Rectangle],
    members: int,
    others_share: float | None = None,
) -> tuple[str, ...]:
    """Ours against one core and against the best other engine, then what the classes show."""
    if not curves:
        return ("On this machine nothing can be said yet: no run of the particles was good.",)
    return (
        f"On this machine, {_speed_up(curves, speed_ups, members)}.",
        *restless(others_share, "members"),
        *_against_others(contests),
        *_forks(curves),
        *_crossing(crossings, members),
        *_forecast(forecasts),
        *_simulated(simulated),
        *of_rectangles(rectangles),
        *_orders(curves),
    )


def nearest(particles: Sequence[int]) -> int:
    """The number of particles that sentences speak of: 1024, or what is nearest to it."""
    return min(particles, key=lambda count: abs(count - _USUAL_PARTICLES))


def curve_of(
    curves: Sequence[BlockCurve], particles: int, runtime: str, scheme: str, order: int = 4
) -> BlockCurve | None:
    """One configuration with the default wait."""
    return next(
        (
            curve
            for curve in curves
            if (curve.particles, curve.runtime, curve.scheme, curve.order, curve.wait)
            == (particles, runtime, scheme, order, "default")
        ),
        None,
    )


def _speed_up(curves: Sequence[BlockCurve], speed_ups: Sequence[tuple[int, Ratio]], members: int) -> str:
    """The first sentence without its beginning and its end."""
    judged = {count: ratio for count, ratio in speed_ups if ratio.value is not None}
    if not judged:
        return f"no comparison of {text.count(members, 'member')} with one core has 8 good rounds yet"
    count = nearest(list(judged))
    ours = curve_of(curves, count, OURS, AUTO)
    took = "" if ours is None else f" ({text.seconds(ours.seconds)} a block, {_error(ours.energy_error)})"
    return (
        f"{text.count(members, 'member')} move {count:,} particles{took} {text.speed_up(judged[count])} as "
        "fast as one core with tautochrone, which chooses for each block how to share it"
    )


def _error(relative: float | None) -> str:
    return f"energy error {text.energy_error(relative)}"


def _against_others(contests: Mapping[int, tuple[BlockRuns, Ratio]]) -> Iterator[str]:
    judged = {count: contest for count, contest in contests.items() if contest[1].value is not None}
    if not judged:
        yield "No other engine was measured in 8 good rounds, so there is nothing to compare with."
        return
    parts = []
    for count, (theirs, found) in sorted(judged.items()):
        label = f"{theirs.label} ({_error(theirs.energy_error)})"
        if found.verdict == verdicts.NO_DIFFERENCE:
            parts.append(f"{count:,} particles: no difference to {label} resolved ({unresolved(found)})")
        else:
            parts.append(f"{count:,} particles: {less_time(found, label)}")
    yield f"Against the fastest way of all other engines, {'; '.join(parts)}."


def ordinary_loops(curves: Sequence[BlockCurve]) -> list[BlockCurve]:
    """OpenMP's ordinary loops, with the number of particles that is spoken of."""
    loops = [curve for curve in curves if (curve.scheme, curve.wait) == ("loops-i", "default")]
    count = nearest([curve.particles for curve in loops]) if loops else 0
    return [curve for curve in loops if curve.particles == count]


def _forks(curves: Sequence[BlockCurve]) -> Iterator[str]:
    """Where the ordinary parallel loops spend their time."""
    loops = [curve for curve in ordinary_loops(curves) if curve.points]
    if not loops:
        return
    # GCC's where both libraries are here: it is the one that most programs have.
    curve = min(loops, key=lambda loop: loop.runtime != "libgomp")
    few, many = curve.points[0], curve.points[-1]
    yield (
        f"Ordinary OpenMP loops ({name_of(curve.runtime)}) of {curve.particles:,} particles spend "
        f"{text.percent(few.shared_share)} of a block with {few.active:.0f} active in starting, joining and "
        f"waiting, and {text.percent(many.shared_share)} with {many.active:.0f}."
    )


def _crossing(crossings: Sequence[Crossing], members: int) -> Iterator[str]:
    ours = [crossing for crossing in crossings if crossing.runtime == OURS]
    if not ours:
        return
    crossing = next(each for each in ours if each.particles == nearest([each.particles for each in ours]))
    where = f"With {text.count(members, 'member')} and {crossing.particles:,} particles"
    if crossing.active is None:
        yield f"{where} no active count was found from which sharing the targets is the faster scheme."
        return
    active = f"{crossing.active:.0f} active{text.interval(crossing.low, crossing.high, 0)}"
    yield f"{where} sharing the targets is the faster scheme from about {active}."


def _forecast(forecasts: Sequence[Forecast]) -> Iterator[str]:
    many = [forecast for forecast in forecasts if forecast.members == _MANY_CORES]
    if not many:
        return
    forecast = next(each for each in many if each.particles == nearest([each.particles for each in many]))
    crossing = ""
    if forecast.crossing is not None:
        crossing = f"; sharing the targets would win from {forecast.crossing:.0f} active"
    yield (
        f"The model, fitted here, expects {forecast.speed_up:.1f} times on {_MANY_CORES} such cores with "
        f"{forecast.particles:,} particles, {forecast.speed_up_of_many:.1f} times in blocks that move "
        f"all{crossing}; {_error(forecast.energy_error)} as measured here."
    )


def _simulated(libraries: Sequence[SimulatedRanks]) -> Iterator[str]:
    best = [(max(ranks.speed_up_by_scheme.values()), ranks) for ranks in libraries]
    if not best:
        return
    (least, slow), (most, fast) = (pick(best, key=lambda pair: pair[0]) for pick in (min, max))
    yield (
        f"{fast.ranks} ranks of MPI on such cores would be {least:.1f} ({slow.library}) to {most:.1f} "
        f"({fast.library}) times as fast as one core with {fast.particles:,} particles, "
        f"{_error(fast.energy_error)}: simulated by SMPI."
    )


def of_rectangles(rectangles: Sequence[Rectangle]) -> Iterator[str]:
    """What few ranks do that share targets and sources, and whether they end with the right bits."""
    if not rectangles:
        return
    counts = text.joined([str(one.ranks) for one in rectangles])
    times = text.joined([f"{one.speed_up:.1f}" for one in rectangles])
    wrong = [str(one.ranks) for one in rectangles if not one.same_bits]
    bits = f"but {text.joined(wrong)} end with other bits than" if wrong else "and end with the bits of"
    yield (
        f"Sharing both at once (grid), {counts} ranks would be {times} times as fast as one core, {bits} as "
        f"many slices of the sources alone; {_error(max(one.energy_error for one in rectangles))}: simulated "
        "by SMPI."
    )


def _orders(curves: Sequence[BlockCurve]) -> Iterator[str]:
    """What the 6th order costs and gives, on one core."""
    counts = [curve.particles for curve in curves if curve.order == 6 and curve.runtime == SERIAL]
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


# -- settings to paste --

_MEMBER = """#include <tauto/tauto.hpp>

tauto::team team;  // once in the program
team.run([&](tauto::member& me) {
    // every member: its share of the sources …
    sum_forces(slice_of(sources, me.size(), me.rank()), forces);
    // … one collective a block, and all have the sums, the same bits on each …
    me.all_reduce(std::span<double>(forces), std::plus<>{});
    // … so all correct, and nobody waits for a master.
    correct(forces);
});"""


def settings_to_paste(curves: Sequence[BlockCurve]) -> tuple[Settings, ...]:
    """A block of one's own program with one collective, and the command that runs this study's."""
    ours = [curve for curve in curves if curve.runtime == OURS and curve.order == 4]
    if not ours:
        return ()
    count = nearest([curve.particles for curve in ours])
    best = min((curve for curve in ours if curve.particles == count), key=lambda curve: curve.seconds)
    took = f"{text.seconds(best.seconds)} a block here, with {best.scheme}; {_error(best.energy_error)}."
    return (
        Settings(
            label="One collective a block, in your own program",
            language="cpp",
            text=_MEMBER,
            why="In place of a parallel loop for each stage: one region, one exchange, no serial part.",
        ),
        Settings(
            label=f"{count:,} particles on all cores",
            language="shell",
            text=f"tauto exec nbody -- --particles {count} --scheme {best.scheme} --log blocks.csv",
            why=took,
        ),
    )
