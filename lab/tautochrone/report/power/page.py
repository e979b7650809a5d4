"""What only the power study's page has: jobs and programs at a glance, recommendations, charts, the table."""

from __future__ import annotations

from tautochrone.report.parts import Column, Filter, Parts
from tautochrone.report.power import charts, datasets, figures
from tautochrone.report.power.analysis_types import Joules, PowerAnalysis
from tautochrone.report.tables import Record

_COLUMNS: tuple[Column, ...] = (
    ("job", "job", "text"),
    ("runtime", "shared", "runtime"),
    ("setup", "set-up", "text"),
    ("threads", "threads", "number"),
    ("seconds", "median", "time"),
    ("low", "interval", "interval"),
    ("speedup", "speed-up", "number"),
    ("imbalance", "imbalance", "number"),
    ("cpu_seconds", "CPU time", "time"),
    ("core_seconds", "core time", "time"),
    ("migrations", "migrations", "number"),
)
_ENERGY_COLUMNS: tuple[Column, ...] = (
    ("joules", "E run, J", "number"),
    ("watts", "mean W", "number"),
    ("net", "E net, J", "number"),
    ("common", "E common, J", "number"),
    ("edp", "EDP, Js", "number"),
    ("ed2p", "ED²P, Js²", "number"),
)
_LAST: tuple[Column, ...] = (("rounds", "rounds", "number"), ("status", "status", "status"))


def parts(analysis: PowerAnalysis) -> Parts:
    """The page's parts from an analysis."""
    data = datasets.build(analysis)
    specifications = charts.build(data)
    records = [*_jobs(analysis), *_programs(analysis)]
    metered = any(record["joules"] is not None for record in records)
    names = list(dict.fromkeys(str(record["job"]) for record in records))
    return Parts(
        template="power.html.j2",
        tables=data.tables,
        charts=specifications,
        figures=figures.build(analysis, data, specifications),
        situations=[{}],
        runtimes=data.runtimes,
        configurations=records,
        columns=(*_COLUMNS, *(_ENERGY_COLUMNS if metered else ()), *_LAST),
        filters=[Filter("job", "Job", [(name, name) for name in names])],
        more={"times_text": datasets.times_text},
    )


def _jobs(analysis: PowerAnalysis) -> list[Record]:
    return [
        {
            "job": cell.title,
            "runtime": one.way,
            "setup": "",
            "threads": one.threads,
            "seconds": one.seconds,
            "low": one.low,
            "high": one.high,
            "speedup": _short(one.speedup),
            "imbalance": _short(one.imbalance),
            "cpu_seconds": one.cpu_seconds,
            "core_seconds": one.core_seconds,
            "migrations": one.migrations,
            "rounds": one.rounds,
            "status": f"failed: {one.error}" if one.error else "",
        }
        | _energy(one.energy)
        for cell in analysis.jobs
        for one in cell.shared
    ]


def _programs(analysis: PowerAnalysis) -> list[Record]:
    """Two programs at once, and each of them; core time is that of both CPUs."""
    records: list[Record] = []
    for one in analysis.setups:
        cpu = [program.cpu_seconds for program in one.programs]
        moved = [program.migrations for program in one.programs]
        records.append(
            {
                "job": f"{analysis.pair} at once",
                "runtime": "",
                "setup": one.label,
                "threads": 2,
                "seconds": one.seconds,
                "low": one.low,
                "high": one.high,
                "speedup": None,
                "imbalance": None,
                "cpu_seconds": sum(cpu) if cpu and None not in cpu else None,  # type: ignore[arg-type]
                "core_seconds": None if one.seconds is None else 2 * one.seconds,
                "migrations": sum(moved) if moved and None not in moved else None,  # type: ignore[arg-type]
                "rounds": one.rounds,
                "status": f"failed: {one.error}" if one.error else "",
            }
            | _energy(one.energy)
        )
    return records


def _energy(found: Joules | None) -> Record:
    """Null where nothing was metered; then the columns are left out."""
    names = ("joules", "watts", "net", "common", "edp", "ed2p")
    if found is None:
        return dict.fromkeys(names)
    values = (found.run, found.mean_watts, found.net, found.common, found.edp, found.ed2p)
    return {name: _short(value) for name, value in zip(names, values, strict=True)}


def _short(value: float | None) -> float | None:
    """Three significant digits are enough to read."""
    return None if value is None else float(f"{value:.3g}")
