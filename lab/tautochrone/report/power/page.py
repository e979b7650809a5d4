"""What only the power study's page has: jobs and programs at a glance, recommendations, charts, the table."""

from __future__ import annotations

from tautochrone.report import spent
from tautochrone.report.parts import Column, Filter, Parts
from tautochrone.report.power import charts, datasets, figures
from tautochrone.report.power.analysis_types import PowerAnalysis
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
_LAST: tuple[Column, ...] = (("rounds", "rounds", "number"), ("status", "status", "status"))


def parts(analysis: PowerAnalysis) -> Parts:
    """The page's parts from an analysis."""
    data = datasets.build(analysis)
    specifications = charts.build(data)
    records = [*_jobs(analysis), *_programs(analysis)]
    names = list(dict.fromkeys(str(record["job"]) for record in records))
    return Parts(
        template="power.html.j2",
        tables=data.tables,
        charts=specifications,
        figures=figures.build(analysis, data, specifications),
        situations=[{}],
        runtimes=data.runtimes,
        configurations=records,
        columns=(*_COLUMNS, *(spent.ENERGY_COLUMNS if spent.metered(records) else ()), *_LAST),
        filters=[Filter("job", "Job", [(name, name) for name in names])],
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
        | spent.joules_record(one.energy)
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
            | spent.joules_record(one.energy)
        )
    return records


def _short(value: float | None) -> float | None:
    """Three significant digits are enough to read."""
    return None if value is None else float(f"{value:.3g}")
