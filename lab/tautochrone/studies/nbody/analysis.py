"""The nbody study's findings, from its rows: everything that the report draws and says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tautochrone import statistics
from tautochrone.report.analysis_types import Ratio
from tautochrone.report.nbody.analysis_types import (
    BlockCount,
    BlockCurve,
    BlockPoint,
    Crossing,
    Forecast,
    NbodyAnalysis,
)
from tautochrone.report.spent import longest, spent_of
from tautochrone.row import Row
from tautochrone.studies.contenders import OURS, ratio
from tautochrone.studies.disturbance import others_share
from tautochrone.studies.nbody.claims import claims
from tautochrone.studies.nbody.configurations import AUTO, SERIAL, SOURCES
from tautochrone.studies.nbody.context import NbodyContext
from tautochrone.studies.nbody.crossings import crossing
from tautochrone.studies.nbody.model import Model, from_record
from tautochrone.studies.nbody.paste import settings_to_paste
from tautochrone.studies.nbody.runs import Contender, collect
from tautochrone.studies.nbody.sentences import verdict_sentences

FORECAST_MEMBERS = (2, 4, 8, 16, 32)
_ORDINARY = {SERIAL: SERIAL, OURS: AUTO, "libgomp": "loops-i", "libomp": "loops-i"}


def analyse(rows: Iterable[Row], machine: Mapping[str, Any], context: NbodyContext) -> NbodyAnalysis:
    """The analysis of the study's rows. ``machine`` is a record of tautochrone.machine/1."""
    rows = list(rows)
    runs = collect(rows)
    measured = [one for one in runs if one.by_round]
    members = max((one.members for one in runs), default=0)
    curves = tuple(_curve(one, measured) for one in measured)
    crossings = tuple(_crossings(measured))
    forecasts = tuple(_forecasts(measured))
    speed_ups = tuple(_speed_ups(measured))
    contests = best_others(measured)
    failed = {
        f"{one.label}, {one.particles} particles: {one.errors[0]}": None
        for one in runs
        if one.errors and not one.by_round
    }
    return NbodyAnalysis(
        verdict_sentences=verdict_sentences(
            curves,
            speed_ups,
            contests,
            crossings,
            forecasts,
            context.simulated,
            members,
            others_share(rows, machine),
        ),
        members=members,
        curves=curves,
        crossings=crossings,
        forecasts=forecasts,
        simulated=context.simulated,
        measured_speed_ups=speed_ups,
        counts=tuple(one for serial in _serials(measured) for one in _counts(serial)),
        failed=tuple(failed),
        settings_to_paste=settings_to_paste(curves),
        peers=context.peers,
        not_measured=context.not_measured,
        claims=claims(curves, crossings, forecasts, rows),
        commands=context.commands,
        advice=(*context.machine_advice, *context.notices),
        quick=context.quick,
    )


def _of(runs: Iterable[Contender], like: Contender, peer: str, scheme: str) -> Contender | None:
    """The configuration of that engine and scheme for the same particles and order."""
    found = (
        one
        for one in runs
        if (one.particles, one.order) == (like.particles, like.order)
        and (one.peer, one.schedule, one.wait) == (peer, scheme, "default")
    )
    return next(found, None)


def _alone(runs: Iterable[Contender], like: Contender) -> Contender | None:
    return _of(runs, like, SERIAL, SERIAL)


def _serials(runs: Iterable[Contender]) -> list[Contender]:
    return [one for one in runs if one.schedule == SERIAL and one.peer == SERIAL and one.order == 4]


def _curve(one: Contender, runs: Sequence[Contender]) -> BlockCurve:
    interval = statistics.median_interval(list(one.by_round.values()))
    blocks, time = one.figure("blocks"), one.config.get("end_time")
    unit = interval.median * blocks / float(time) if blocks and time else None
    alike = (each for each in runs if (each.particles, each.order) == (one.particles, one.order))
    return BlockCurve(
        runtime=one.peer,
        label=one.label,
        scheme=one.schedule,
        kind=one.kind,
        wait=one.wait,
        is_ordinary=one.wait == "default" and one.schedule == _ORDINARY.get(one.peer, "i"),
        particles=one.particles,
        order=one.order,
        members=one.members,
        points=tuple(_points(one, _model_of_shared(one, _alone(runs, one)))),
        seconds=interval.median,
        low=interval.low,
        high=interval.high,
        to_serial=None if one.peer == SERIAL else ratio(one, _alone(runs, one)),
        unit_seconds=unit,
        energy_error=one.figure("check", "energy_error"),
        pairs_per_second=one.figure("pairs_per_second"),
        shared_share=one.figure("shared_share"),
        spent=spent_of(one.rows, longest(each.seconds for each in alike)),
    )


def _model_of_shared(one: Contender, alone: Contender | None) -> Callable[[float], float] | None:
    """Seconds of a block by its active count, for OpenMP, whose runner has no model of its own.

    With the constants of one core, and the forks or barriers of the smallest blocks in all.
    """
    model = alone.model if alone is not None else None
    if one.model is not None or model is None or not one.lows:
        return None
    fitted = from_record(model, one.particles)
    forks = _median([each.shared_share * each.seconds for each in one.at(one.lows[0]).values()])
    by_sources = one.schedule in SOURCES
    return lambda active: fitted.seconds_on_shared(active, one.members, forks, by_sources=by_sources)


def _points(one: Contender, of_shared: Callable[[float], float] | None) -> Iterator[BlockPoint]:
    for low in one.lows:
        found = list(one.at(low).values())
        interval = one.interval(low)
        active = _median([each.active for each in found])
        predicted = [each.predicted for each in found if each.predicted is not None]
        if of_shared is not None:
            predicted = [of_shared(active)]
        yield BlockPoint(
            active=active,
            blocks=round(_median([float(each.blocks) for each in found])),
            seconds=interval.median,
            low=interval.low,
            high=interval.high,
            predicted=_median(predicted) if predicted else None,
            shared_share=_median([each.shared_share for each in found]),
            rounds=len(found),
        )


def _median(values: Sequence[float]) -> float:
    return statistics.median_interval(values).median


def _crossings(runs: Sequence[Contender]) -> Iterator[Crossing]:
    """Each engine that has both schemes; OpenMP in one region, where the schemes differ in nothing else."""
    pairs = (("i", "j"), ("region-i", "region-j"))
    for one in runs:
        other = next((sources for targets, sources in pairs if one.schedule == targets), None)
        partner = _of(runs, one, one.peer, other) if other is not None and one.wait == "default" else None
        if partner is not None and one.order == 4:
            found = crossing(one, partner)
            yield Crossing(
                runtime=one.peer,
                particles=one.particles,
                members=one.members,
                active=None if found is None else found.median,
                low=None if found is None else found.low,
                high=None if found is None else found.high,
                rounds=len(one.by_round.keys() & partner.by_round.keys()),
            )


def _forecasts(runs: Sequence[Contender]) -> Iterator[Forecast]:
    """From the constants that our own threads measured, for the blocks that one core ran."""
    for serial in _serials(runs):
        ours = _of(runs, serial, OURS, AUTO)
        model = ours.model if ours is not None else None
        if model is None or int(model["members"]) < 2:
            continue
        fitted = from_record(model, serial.particles)
        error = ours.figure("check", "energy_error") if ours is not None else None
        yield from (_forecast(fitted, serial, members, error) for members in FORECAST_MEMBERS)


def _forecast(model: Model, serial: Contender, members: int, energy_error: float | None) -> Forecast:
    blocks = [(each.active, each.blocks) for low in serial.lows for each in serial.at(low).values()]
    many = [(float(serial.particles), 1)]
    return Forecast(
        particles=serial.particles,
        members=members,
        speed_up=model.speed_up(blocks, members),
        crossing=model.crossing(members),
        speed_up_of_many=model.speed_up(many, members),
        energy_error=energy_error,
    )


def _speed_ups(runs: Sequence[Contender]) -> Iterator[tuple[int, Ratio]]:
    for serial in _serials(runs):
        ours = _of(runs, serial, OURS, AUTO)
        if ours is not None:
            yield serial.particles, ratio(ours, serial)


def best_others(runs: Sequence[Contender]) -> dict[int, tuple[str, Ratio]]:
    """Particles → the fastest configuration of the other engines, and our time by its."""
    found = {}
    for serial in _serials(runs):
        ours = _of(runs, serial, OURS, AUTO)
        others = [
            one
            for one in runs
            if one.peer not in (SERIAL, OURS) and (one.particles, one.order) == (serial.particles, 4)
        ]
        best = min(others, key=lambda one: one.seconds or float("inf"), default=None)
        if ours is not None and best is not None:
            found[serial.particles] = (best.label, ratio(ours, best))
    return found


def _counts(serial: Contender) -> Iterator[BlockCount]:
    found = [each for low in serial.lows for each in serial.at(low).values()]
    blocks = sum(each.blocks for each in found)
    seconds = sum(each.total_seconds for each in found)
    for low in serial.lows:
        here = list(serial.at(low).values())
        yield BlockCount(
            particles=serial.particles,
            active=_median([each.active for each in here]),
            share_of_blocks=sum(each.blocks for each in here) / blocks,
            share_of_time=sum(each.total_seconds for each in here) / seconds,
        )
