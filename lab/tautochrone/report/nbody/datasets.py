"""From an analysis of the nbody study to the small tables that its charts draw."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tautochrone.report import text
from tautochrone.report.nbody.analysis_types import BlockCurve, BlockPoint, NbodyAnalysis
from tautochrone.report.tables import Record

VIEWS = ("ordinary", "targets", "sources", "both", "chosen", "loops")
"""What one writes first with each engine; each sharing the targets, the sources, both; each left to choose;
OpenMP's parallel loops that share the sources."""


class Datasets(msgspec.Struct, frozen=True):
    """The tables by name, and what the charts must know before they are drawn."""

    tables: dict[str, list[Record]]
    runtimes: list[str]
    particles: list[int]


def build(analysis: NbodyAnalysis) -> Datasets:
    """All tables of an analysis. Linear in the number of points."""
    tables: dict[str, list[Record]] = {
        "blocks": [one for curve in analysis.curves for one in _blocks(curve)],
        "models": [one for curve in analysis.curves for one in _models(curve)],
        "schemes": list(_schemes(analysis)),
        "crossings": list(_crossings(analysis)),
        "speeds": list(_speeds(analysis)),
        "forecasts": list(_forecasts(analysis)),
        "measured": list(_measured(analysis)),
        "counts": list(_counts(analysis)),
        "accuracy": list(_accuracy(analysis)),
    }
    return Datasets(
        tables=tables,
        runtimes=sorted({curve.runtime for curve in analysis.curves}),
        particles=sorted({curve.particles for curve in analysis.curves}),
    )


def views_of(curve: BlockCurve) -> list[str]:
    """In which views a configuration is drawn; one core in all."""
    if curve.order != 4 or curve.wait != "default":
        return []
    if curve.kind == "serial":
        return list(VIEWS)
    found = ["ordinary"] if curve.is_ordinary else []
    # OpenMP's loops have forks that its one region has not: the region shows what a scheme costs.
    if not curve.scheme.startswith("loops"):
        found.append(curve.kind)
    elif not curve.is_ordinary:
        found.append("loops")
    return found


def _place(curve: BlockCurve, point: BlockPoint) -> Record:
    return {
        "situation": 0,
        "runtime": curve.runtime,
        "configuration": curve.label,
        "particles": curve.particles,
        "active": point.active,
    }


def _blocks(curve: BlockCurve) -> Iterator[Record]:
    for view in views_of(curve):
        for point in curve.points:
            yield _place(curve, point) | {
                "view": view,
                "seconds": point.seconds,
                "low": point.low,
                "high": point.high,
                "time": text.seconds(point.seconds),
                "interval": text.seconds_interval(point.low, point.high) or "too few rounds",
                "share": point.shared_share,
                "share_text": text.percent(point.shared_share),
                "blocks": point.blocks,
                "energy": text.energy_error(curve.energy_error),
            }


def _models(curve: BlockCurve) -> Iterator[Record]:
    """What the model expected."""
    for view in views_of(curve):
        for point in curve.points:
            if point.predicted is not None:
                yield _place(curve, point) | {"view": view, "seconds": point.predicted}


def _schemes(analysis: NbodyAnalysis) -> Iterator[Record]:
    """The targets' scheme by the sources', of each engine that has both."""
    for curve in analysis.curves:
        if "targets" not in views_of(curve) or curve.kind == "serial":
            continue
        other = next(
            (
                one
                for one in analysis.curves
                if (one.runtime, one.particles) == (curve.runtime, curve.particles)
                and "sources" in views_of(one)
            ),
            None,
        )
        theirs = {round(point.active): point for point in other.points} if other is not None else {}
        for point in curve.points:
            partner = theirs.get(round(point.active))
            if partner is not None:
                yield _place(curve, point) | {
                    "ratio": point.seconds / partner.seconds,
                    "targets": text.seconds(point.seconds),
                    "sources": text.seconds(partner.seconds),
                }


def _crossings(analysis: NbodyAnalysis) -> Iterator[Record]:
    for one in analysis.crossings:
        if one.active is not None:
            interval = f" ({one.low:.0f} to {one.high:.0f})" if None not in (one.low, one.high) else ""
            yield {
                "situation": 0,
                "runtime": one.runtime,
                "particles": one.particles,
                "active": one.active,
                "low": one.low,
                "high": one.high,
                "crossing": f"from {one.active:.0f} active{interval}",
                "rounds": one.rounds,
            }


def _speeds(analysis: NbodyAnalysis) -> Iterator[Record]:
    """The fastest configuration of each engine by one core, for each number of particles."""
    fastest: dict[tuple[str, int], BlockCurve] = {}
    for curve in analysis.curves:
        if curve.order != 4 or curve.to_serial is None or curve.to_serial.value is None:
            continue
        key = (curve.runtime, curve.particles)
        known = fastest.get(key)
        if known is None or (curve.seconds or 0.0) < (known.seconds or 0.0):
            fastest[key] = curve
    for (runtime, particles), curve in sorted(fastest.items()):
        if curve.to_serial is None:
            continue
        speed_up = curve.to_serial.inverse()
        yield {
            "situation": 0,
            "runtime": runtime,
            "particles": particles,
            "configuration": curve.label,
            "speed_up": speed_up.value,
            "low": speed_up.low,
            "high": speed_up.high,
            "time": text.seconds(curve.seconds),
            "energy": text.energy_error(curve.energy_error),
            "rounds": speed_up.rounds,
        }


def _forecasts(analysis: NbodyAnalysis) -> Iterator[Record]:
    for one in analysis.forecasts:
        yield {
            "situation": 0,
            "particles": one.particles,
            "name": f"{one.particles:,}",
            "members": one.members,
            "speed_up": one.speed_up,
            "many": text.significant(one.speed_up_of_many),
            "energy": text.energy_error(one.energy_error),
            "crossing": "never" if one.crossing is None else f"from {one.crossing:.0f} active",
        }


def _measured(analysis: NbodyAnalysis) -> Iterator[Record]:
    errors = {one.particles: one.energy_error for one in analysis.forecasts}
    for particles, ratio in analysis.measured_speed_ups:
        if ratio.value is not None:
            yield {
                "situation": 0,
                "particles": particles,
                "name": f"{particles:,}",
                "members": analysis.members,
                "speed_up": ratio.inverse().value,
                "energy": text.energy_error(errors.get(particles)),
            }


def _counts(analysis: NbodyAnalysis) -> Iterator[Record]:
    for one in analysis.counts:
        for share, of in ((one.share_of_blocks, "blocks"), (one.share_of_time, "time")):
            yield {
                "situation": 0,
                "particles": one.particles,
                "active": one.active,
                "share": share,
                "of": of,
                "share_text": text.percent(share),
            }


def _accuracy(analysis: NbodyAnalysis) -> Iterator[Record]:
    for curve in analysis.curves:
        if curve.unit_seconds is None or not curve.energy_error:
            continue
        yield {
            "situation": 0,
            "runtime": curve.runtime,
            "configuration": curve.label,
            "particles": curve.particles,
            "order": f"order {curve.order}",
            "unit_seconds": curve.unit_seconds,
            "energy_error": curve.energy_error,
            "time": text.seconds(curve.unit_seconds),
            "error_text": text.energy_error(curve.energy_error),
        }
