"""The nbody study's findings, from its rows: everything that the report draws and says."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tautochrone import verdicts
from tautochrone.results.row import Row
from tautochrone.results.runs import OURS, ratio
from tautochrone.results.spent import longest, spent_of
from tautochrone.studies.disturbance import others_share
from tautochrone.studies.nbody.claims import claims
from tautochrone.studies.nbody.configurations import AUTO, SERIAL, SOURCES
from tautochrone.studies.nbody.findings import (
    BlockCount,
    BlockCurve,
    BlockPoint,
    Crossing,
    Forecast,
    NbodyAnalysis,
    NbodyContext,
)
from tautochrone.studies.nbody.first import first_screen
from tautochrone.studies.nbody.model import from_record
from tautochrone.studies.nbody.runs import BlockRuns, collect, crossing
from tautochrone.studies.nbody.sentences import settings_to_paste, verdict_sentences
from tautochrone.verdicts import Ratio

FORECAST_MEMBERS = (2, 4, 8, 16, 32)
_ORDINARY = {SERIAL: SERIAL, OURS: AUTO, "libgomp": "loops-i", "libomp": "loops-i"}
_SOURCES_OF = {"i": "j", "region-i": "region-j"}  # OpenMP in one region: its schemes differ in nothing else


def analyse(rows: Sequence[Row], machine: Mapping[str, Any], context: NbodyContext) -> NbodyAnalysis:
    """The analysis of the study's rows. ``machine`` is a record of tautochrone.machine/1."""
    every = collect(rows)
    measured = [runs for runs in every if runs.by_round]
    members = max((runs.threads for runs in every), default=0)
    curves = tuple(_curve(runs, measured) for runs in measured)
    crossings = tuple(_crossings(measured))
    forecasts = tuple(_forecasts(measured))
    speed_ups = tuple((serial.particles, ratio(ours, serial)) for serial, ours in _ours(measured))
    contests, settings = best_others(measured), settings_to_paste(curves)
    return NbodyAnalysis(
        verdict_sentences=verdict_sentences(
            curves,
            speed_ups,
            contests,
            crossings,
            forecasts,
            context.simulated,
            context.rectangles,
            members,
            others_share(rows, machine),
        ),
        members=members,
        curves=curves,
        crossings=crossings,
        forecasts=forecasts,
        simulated=context.simulated,
        rectangles=context.rectangles,
        measured_speed_ups=speed_ups,
        counts=tuple(count for serial in _serials(measured) for count in _counts(serial)),
        failed=tuple(
            f"{runs.label}, {runs.particles} particles: {runs.errors[0]}"
            for runs in every
            if runs.errors and not runs.by_round
        ),
        first=first_screen(curves, speed_ups, contests, settings),
        settings_to_paste=settings,
        claims=claims(curves, crossings, forecasts, rows),
        **context.reported,
    )


def _of(every: Iterable[BlockRuns], like: BlockRuns, peer: str, scheme: str) -> BlockRuns | None:
    """The configuration of that engine and scheme for the same particles and order."""
    key = (like.particles, like.order, peer, scheme, "default")
    return next(
        (runs for runs in every if (runs.particles, runs.order, runs.peer, runs.schedule, runs.wait) == key),
        None,
    )


def _serials(every: Iterable[BlockRuns]) -> list[BlockRuns]:
    return [runs for runs in every if runs.peer == SERIAL and runs.order == 4]


def _ours(every: Sequence[BlockRuns]) -> Iterator[tuple[BlockRuns, BlockRuns]]:
    """One core, and ours left to choose, of each number of particles that has both."""
    for serial in _serials(every):
        ours = _of(every, serial, OURS, AUTO)
        if ours is not None:
            yield serial, ours


def _curve(runs: BlockRuns, every: Sequence[BlockRuns]) -> BlockCurve:
    interval = verdicts.median_interval(list(runs.by_round.values()))
    blocks, time = runs.median("blocks"), runs.config.get("end_time")
    alone = _of(every, runs, SERIAL, SERIAL)
    alike = (each for each in every if (each.particles, each.order) == (runs.particles, runs.order))
    return BlockCurve(
        runtime=runs.peer,
        label=runs.label,
        scheme=runs.schedule,
        kind=runs.kind,
        wait=runs.wait,
        is_ordinary=runs.wait == "default" and runs.schedule == _ORDINARY.get(runs.peer, "i"),
        particles=runs.particles,
        order=runs.order,
        members=runs.threads,
        points=tuple(_points(runs, _model_of_shared(runs, alone))),
        seconds=interval.median,
        low=interval.low,
        high=interval.high,
        to_serial=None if runs.peer == SERIAL else ratio(runs, alone),
        unit_seconds=interval.median * blocks / float(time) if blocks and time else None,
        energy_error=runs.energy_error,
        pairs_per_second=runs.median("pairs_per_second"),
        shared_share=runs.median("shared_share"),
        spent=spent_of(runs.rows, longest(each.seconds for each in alike)),
    )


def _model_of_shared(runs: BlockRuns, alone: BlockRuns | None) -> Callable[[float], float] | None:
    """Seconds of a block by its active count, for OpenMP, whose runner has no model of its own.

    With the constants of one core, and the forks or barriers of the smallest blocks in all.
    """
    model = alone.model if alone is not None else None
    if runs.model is not None or model is None or not runs.lows:
        return None
    fitted = from_record(model, runs.particles)
    smallest = runs.at(runs.lows[0]).values()
    forks = statistics.median(each.shared_share * each.seconds for each in smallest)
    by_sources = runs.schedule in SOURCES
    return lambda active: fitted.seconds_on_shared(active, runs.threads, forks, by_sources=by_sources)


def _points(runs: BlockRuns, of_shared: Callable[[float], float] | None) -> Iterator[BlockPoint]:
    for low in runs.lows:
        classes = list(runs.at(low).values())
        interval = verdicts.median_interval([each.seconds for each in classes])
        active = statistics.median(each.active for each in classes)
        predicted = [each.predicted for each in classes if each.predicted is not None]
        if of_shared is not None:
            predicted = [of_shared(active)]
        yield BlockPoint(
            active=active,
            blocks=round(statistics.median(each.blocks for each in classes)),
            seconds=interval.median,
            low=interval.low,
            high=interval.high,
            predicted=statistics.median(predicted) if predicted else None,
            shared_share=statistics.median(each.shared_share for each in classes),
            rounds=len(classes),
        )


def _crossings(every: Sequence[BlockRuns]) -> Iterator[Crossing]:
    """Each engine that has both schemes, of the 4th order and with the default wait."""
    for runs in every:
        sources = _SOURCES_OF.get(runs.schedule)
        if sources is None or runs.wait != "default" or runs.order != 4:
            continue
        partner = _of(every, runs, runs.peer, sources)
        if partner is not None:
            at = crossing(runs, partner)
            yield Crossing(
                runtime=runs.peer,
                particles=runs.particles,
                members=runs.threads,
                active=None if at is None else at.median,
                low=None if at is None else at.low,
                high=None if at is None else at.high,
                rounds=len(runs.by_round.keys() & partner.by_round.keys()),
            )


def _forecasts(every: Sequence[BlockRuns]) -> Iterator[Forecast]:
    """From the constants that our own threads measured, for the blocks that one core ran."""
    for serial, ours in _ours(every):
        if ours.model is None or int(ours.model["members"]) < 2:
            continue
        model = from_record(ours.model, serial.particles)
        blocks = [(each.active, each.blocks) for low in serial.lows for each in serial.at(low).values()]
        for members in FORECAST_MEMBERS:
            yield Forecast(
                particles=serial.particles,
                members=members,
                speed_up=model.speed_up(blocks, members),
                crossing=model.crossing(members),
                speed_up_of_many=model.speed_up([(float(serial.particles), 1)], members),
                energy_error=ours.energy_error,
            )


def best_others(every: Sequence[BlockRuns]) -> dict[int, tuple[BlockRuns, Ratio]]:
    """Particles → the fastest configuration of the other engines, and our time by its."""
    contests = {}
    for serial, ours in _ours(every):
        others = [
            runs
            for runs in every
            if runs.peer not in (SERIAL, OURS) and (runs.particles, runs.order) == (serial.particles, 4)
        ]
        best = min(others, key=lambda runs: runs.seconds or float("inf"), default=None)
        if best is not None:
            contests[serial.particles] = (best, ratio(ours, best))
    return contests


def _counts(serial: BlockRuns) -> Iterator[BlockCount]:
    classes = {low: list(serial.at(low).values()) for low in serial.lows}
    every = [each for found in classes.values() for each in found]
    blocks = sum(each.blocks for each in every)
    seconds = sum(each.total_seconds for each in every)
    for alike in classes.values():
        yield BlockCount(
            particles=serial.particles,
            active=statistics.median(each.active for each in alike),
            share_of_blocks=sum(each.blocks for each in alike) / blocks,
            share_of_time=sum(each.total_seconds for each in alike) / seconds,
        )
