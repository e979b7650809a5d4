"""From an analysis of the map/reduce study to the small tables that its charts draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tautochrone.report import text
from tautochrone.report.mapreduce.analysis_types import MapReduceAnalysis, TaskCell, TaskConfiguration
from tautochrone.report.palette import runtime_key
from tautochrone.report.tables import Record, ratio_record, situations_of


class Series(msgspec.Struct, frozen=True):
    """So many tasks on so many threads, at every task length."""

    tasks: int
    threads: int

    @property
    def key(self) -> str:
        """What the page's choice sets."""
        return f"{self.tasks} on {self.threads}"

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.tasks} tasks, {text.count(self.threads, 'thread')}"


class Datasets(msgspec.Struct, frozen=True):
    """The tables by name, and what the charts must know before they are drawn."""

    tables: dict[str, list[Record]]
    situations: list[dict[str, float]]
    workloads: list[str]  # names, the longest tasks first
    series: list[Series]  # the one with all CPUs and the fewest tasks first
    runtimes: list[str]
    cpus: int


def build(analysis: MapReduceAnalysis) -> Datasets:
    """All tables of an analysis. Linear in the number of configurations."""
    situations = situations_of(analysis.cells)
    workloads = _workloads(analysis.cells)
    speedups: list[Record] = []
    laws: list[Record] = []
    lengths: list[Record] = []
    ratios: list[Record] = []
    for cell in analysis.cells:
        place: Record = {
            "situation": situations.index(dict(cell.emulated)),
            "workload": workloads.index(cell.name),
        }
        defaults = [one for one in cell.configurations if one.is_default and one.speedup is not None]
        for one in sorted(defaults, key=lambda each: each.threads):
            record = place | _record(one, cell)
            if one.runtime != "serial":
                speedups.append(record)
                lengths.append(record | {"series": Series(cell.tasks, one.threads).key})
        laws.extend(
            place | {"threads": one.threads, "speedup": one.speedup, "speedup_text": _times(one.speedup)}
            for one in cell.law
        )
        named = place | {"name": cell.name}
        ratios.extend(named | record for record in map(ratio_record, cell.peer_ratios) if record)
    lengths.sort(key=lambda record: float(str(record["length"])))
    tables = {"speedups": speedups, "laws": laws, "lengths": lengths, "ratios": ratios}
    tables["switches"] = [one | change for one in lengths for change in _switches(one)]
    every = {runtime_key(one.runtime) for cell in analysis.cells for one in cell.configurations}
    return Datasets(
        tables=tables,
        situations=situations,
        workloads=workloads,
        series=_series(analysis.cells),
        runtimes=sorted(every),
        cpus=max((cell.cpus for cell in analysis.cells), default=1),
    )


def _workloads(cells: Sequence[TaskCell]) -> list[str]:
    ordered = sorted(cells, key=lambda cell: (cell.tasks, -cell.bytes))
    return list(dict.fromkeys(cell.name for cell in ordered))


def _series(cells: Sequence[TaskCell]) -> list[Series]:
    """What the charts against the task length can show; one with a single length would be no line."""
    lengths: dict[Series, set[int]] = {}
    for cell in cells:
        for one in cell.configurations:
            if one.is_default and one.runtime != "serial" and one.speedup is not None:
                lengths.setdefault(Series(cell.tasks, one.threads), set()).add(cell.bytes)
    cpus = max((cell.cpus for cell in cells), default=1)
    several = [one for one, found in lengths.items() if len(found) > 1] or list(lengths)
    few = [one for one in several if one.threads in (1, cpus, 2 * cpus)] or several
    return sorted(few, key=lambda one: (one.threads != cpus, one.tasks, one.threads))


def _record(one: TaskConfiguration, cell: TaskCell) -> Record:
    return {
        "runtime": runtime_key(one.runtime),
        "configuration": one.label,
        "work": cell.name,
        "threads": one.threads,
        "length": cell.task_seconds,
        "length_text": text.seconds(cell.task_seconds),
        "time": text.seconds(one.seconds),
        "interval": text.seconds_interval(one.low, one.high) or "too few rounds",
        "speedup": one.speedup,
        "speedup_low": one.speedup_low,
        "speedup_high": one.speedup_high,
        "speedup_text": _times(one.speedup),
        "share": one.share_of_ideal,
        "share_text": text.percent(one.share_of_ideal),
        "waiting": one.waiting_share,
        "waiting_text": text.percent(one.waiting_share),
        "load": one.cpu_load,
        "load_text": text.percent(one.cpu_load),
        "voluntary": one.voluntary_switches,
        "involuntary": one.involuntary_switches,
    }


def _times(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{text.significant(value)}×"


def _switches(record: Mapping[str, object]) -> Iterable[Record]:
    """Both kinds of context switches; a runtime without any is drawn at the axis' lower end."""
    for kind in ("voluntary", "involuntary"):
        value = record[kind]
        if isinstance(value, int | float):
            yield {"kind": kind, "switches": value, "switches_text": text.significant(float(value))}
