"""What only the nbody study's page has: its charts, the scoreboard of crossings, its table."""

from __future__ import annotations

from tautochrone.report import spent, text
from tautochrone.report.nbody import charts, datasets, figures
from tautochrone.report.nbody.analysis_types import NbodyAnalysis
from tautochrone.report.parts import Column, Filter, Parts
from tautochrone.report.tables import Record

_FIRST_COLUMNS: tuple[Column, ...] = (
    ("particles", "particles", "number"),
    ("runtime", "engine", "runtime"),
    ("scheme", "scheme", "text"),
    ("order", "order", "number"),
    ("wait", "wait", "text"),
    ("members", "members", "number"),
    ("seconds", "mean block", "time"),
    ("low", "interval", "interval"),
    ("relative", "by the fastest", "relative"),
)
_LAST_COLUMNS: tuple[Column, ...] = (
    ("shared", "not computing", "percent"),
    ("energy", "energy error", "text"),
    ("pairs", "pairs a second", "text"),
)


def parts(analysis: NbodyAnalysis) -> Parts:
    """The page's parts from an analysis."""
    data = datasets.build(analysis)
    specifications = charts.build(data)
    records = _records(analysis)
    return Parts(
        template="nbody.html.j2",
        tables=data.tables,
        charts=specifications,
        figures=figures.build(analysis, data, specifications),
        situations=[{}],
        runtimes=data.runtimes,
        configurations=records,
        columns=(*_FIRST_COLUMNS, *spent.columns(records), *_LAST_COLUMNS),
        filters=_filters(data.particles),
        more={"speeds": _speeds(data)},
    )


def _filters(particles: list[int]) -> list[Filter]:
    """One number of particles at first: times of different ones in one list say nothing."""
    sizes: list[tuple[object, str]] = [(one, f"{one:,}") for one in particles]
    orders: list[tuple[object, str]] = [(4, "4"), (6, "6")]
    middle = particles[len(particles) // 2] if particles else ""
    return [Filter("particles", "Particles", sizes, middle), Filter("order", "Order", orders, 4)]


def _records(analysis: NbodyAnalysis) -> list[Record]:
    """The table of all configurations."""
    fastest: dict[tuple[int, int], float] = {}
    for one in analysis.curves:
        if one.seconds is not None:
            key = (one.particles, one.order)
            fastest[key] = min(one.seconds, fastest.get(key, one.seconds))
    return [
        {
            "particles": one.particles,
            "runtime": one.runtime,
            "scheme": one.scheme,
            "order": one.order,
            "wait": one.wait,
            "members": one.members,
            "seconds": one.seconds,
            "low": one.low,
            "high": one.high,
            "relative": one.seconds / fastest[one.particles, one.order],
            "shared": one.shared_share,
            "energy": text.energy_error(one.energy_error),
            "pairs": text.quantity(one.pairs_per_second, ""),
        }
        | spent.record(one.spent)
        for one in analysis.curves
        if one.seconds is not None
    ]


Speed = tuple[str, list[Record | None]]


def _speeds(data: datasets.Datasets) -> tuple[list[int], list[Speed]]:
    """The numbers of particles, and each engine's best at them."""
    counts = sorted({int(str(record["particles"])) for record in data.tables["speeds"]})
    rows: list[Speed] = []
    for runtime in data.runtimes:
        mine = {
            record["particles"]: record for record in data.tables["speeds"] if record["runtime"] == runtime
        }
        if mine:
            rows.append((runtime, [mine.get(count) for count in counts]))
    return counts, rows
