"""From rows to cells: what each configuration took in a cell, and what whole tasks allowed it to reach."""

from __future__ import annotations

import statistics as plain
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tautochrone import models, statistics
from tautochrone.report.analysis_types import PeerRatio
from tautochrone.report.mapreduce.analysis_types import LawPoint, TaskCell, TaskConfiguration
from tautochrone.report.spent import longest, spent_of
from tautochrone.row import Row
from tautochrone.runners import MAPREDUCE_PEERS
from tautochrone.studies.contenders import OURS, RunsOfOne, ratio
from tautochrone.studies.mapreduce.configurations import label
from tautochrone.studies.mapreduce.payoff import pays

_DEFAULTS = {peer.name: peer.default_schedule for peer in MAPREDUCE_PEERS}


@dataclass(slots=True)
class Contender(RunsOfOne):
    """One configuration in one cell with all its runs. Times are seconds of one repetition."""

    details: list[Mapping[str, Any]] = field(default_factory=list)  # what the runner said, of each good run

    def add(self, row: Row) -> None:
        """One more run, with what its runner said of it."""
        RunsOfOne.add(self, row)
        if row["error"] is None:
            self.details.append(row.get("detail") or {})

    @property
    def threads(self) -> int:
        """The threads that were asked for."""
        return int(self.config["threads"])

    @property
    def label(self) -> str:
        """For people."""
        return label(self.peer, self.schedule, self.chunk, self.threads, self.wait)

    @property
    def is_default(self) -> bool:
        """True for what one gets who sets nothing but the number of threads."""
        plainly = self.wait == "default" and self.chunk is None
        return plainly and self.schedule == _DEFAULTS.get(self.peer)

    def median(self, name: str) -> float | None:
        """The median of a figure that the runner gave; None where it gave none."""
        values = [float(one[name]) for one in self.details if isinstance(one.get(name), int | float)]
        return plain.median(values) if values else None

    @property
    def stretch(self) -> float | None:
        """How many times longer a task takes beside the others than alone: caches, memory, the clock."""
        useful, alone = self.median("useful_seconds"), self.median("task_seconds")
        tasks = int(self.config["tasks"])
        return useful / (tasks * alone) if useful is not None and alone else None


@dataclass(slots=True)
class CellRuns:
    """All contenders of a cell: so many tasks of one length on one state of the machine.

    ``speeds`` are those of the CPUs that may be used, relative to the fastest, in the order of use.
    """

    tasks: int
    bytes: int
    length: str
    emulated: Mapping[str, float]
    speeds: tuple[float, ...]
    contenders: list[Contender] = field(default_factory=list)

    @property
    def cpus(self) -> int:
        """How many CPUs may be used."""
        return len(self.speeds)

    @property
    def name(self) -> str:
        """For people: "50 × 400 kB"."""
        return f"{self.tasks} × {self.length}"

    def find(self, peer: str, threads: int | None = None) -> Contender | None:
        """A runtime with no settings on so many threads, by default one on each CPU, if it was measured."""
        for one in self.contenders:
            at = threads if threads is not None else self.cpus
            if one.peer == peer and one.threads == at and one.is_default and one.by_round:
                return one
        return None

    @property
    def serial(self) -> Contender | None:
        """The serial loop."""
        return self.find("serial", 1)

    @property
    def ours(self) -> Contender | None:
        """Tautochrone with no settings on all CPUs."""
        return self.find(OURS)

    @property
    def finalists(self) -> list[Contender]:
        """What was measured with one thread on each CPU, the fastest first; the serial loop is none."""
        found = [
            one
            for one in self.contenders
            if one.by_round and one.threads == self.cpus and one.peer != "serial"
        ]
        return sorted(found, key=lambda one: one.seconds or 0.0)

    @property
    def best_default(self) -> Contender | None:
        """The fastest other runtime with no settings on all CPUs."""
        return next((one for one in self.finalists if one.peer != OURS and one.is_default), None)

    @property
    def task_seconds(self) -> float | None:
        """One task alone, warm: the median over all runs."""
        found = [seconds for one in self.contenders if (seconds := one.median("task_seconds")) is not None]
        return plain.median(found) if found else None

    def ideal_speedup(self, threads: int) -> float:
        """What whole tasks allow on so many threads, one on a CPU as long as there are any (claim M1)."""
        alone = [1.0 / speed for speed in self.speeds[:threads]]
        return self.tasks / models.whole_tasks_seconds(self.tasks, alone)

    def speedup(self, one: Contender) -> float | None:
        """Over the serial loop: the paired median, before eight rounds the quotient of the medians."""
        serial = self.serial
        if serial is None or serial.seconds is None or one.seconds is None:
            return None
        return ratio(one, serial).inverse().value or serial.seconds / one.seconds


def collect(rows: Iterable[Row], machine: Mapping[str, Any]) -> list[CellRuns]:
    """Rows sorted into cells: the machine as it is first, then by number and length of tasks."""
    cells: dict[tuple[object, ...], CellRuns] = {}
    contenders: dict[tuple[object, str], Contender] = {}
    for row in rows:
        config = row["config"]
        emulated = {str(cpu): float(factor) for cpu, factor in (config.get("emulated") or {}).items()}
        key = (tuple(sorted(emulated.items())), int(config["tasks"]), int(config["bytes"]))
        if key not in cells:
            cells[key] = CellRuns(key[1], key[2], str(config["length"]), emulated, ())
        contender = contenders.get((key, row["config_id"]))
        if contender is None:
            contender = contenders[(key, row["config_id"])] = Contender(config)
            cells[key].contenders.append(contender)
        contender.add(row)
    for cell in cells.values():
        cell.speeds = _speeds(cell, machine)
    return [cells[key] for key in sorted(cells)]


def _speeds(cell: CellRuns, machine: Mapping[str, Any]) -> tuple[float, ...]:
    """The relative speed of each CPU that was used: of its kind, and of what was made slower."""
    used = max((list(one.config["cpus"]) for one in cell.contenders), key=len, default=[])
    of_cpu = kind_speeds(machine)
    speeds = [of_cpu.get(int(cpu), 1.0) / cell.emulated.get(str(cpu), 1.0) for cpu in used]
    fastest = max(speeds, default=1.0)
    return tuple(speed / fastest for speed in speeds)


def kind_speeds(machine: Mapping[str, Any]) -> dict[int, float]:
    """CPU → speed of arithmetic of its kind as `tauto machine` measured it; 1 where that is not known.

    Of the kind and not of the CPU: CPUs of one kind differ by noise, and the law's steps are for equal ones.
    """
    kinds = {int(cpu["cpu"]): str(cpu.get("kind", "core")) for cpu in machine.get("cpus") or ()}
    found: dict[str, list[float]] = {}
    for cpu in (machine.get("measured") or {}).get("cpus") or ():
        if cpu.get("compute_per_second"):
            found.setdefault(kinds.get(int(cpu["cpu"]), ""), []).append(float(cpu["compute_per_second"]))
    if not set(kinds.values()) <= found.keys():
        return dict.fromkeys(kinds, 1.0)
    return {cpu: plain.median(found[kind]) for cpu, kind in kinds.items()}


# -- as the report wants it --


def report_cell(runs: CellRuns, share_that_pays: float) -> TaskCell:
    """The cell in the report's terms."""
    serial = runs.serial
    counts = sorted({one.threads for one in runs.contenders})
    return TaskCell(
        tasks=runs.tasks,
        bytes=runs.bytes,
        length=runs.length,
        task_seconds=runs.task_seconds,
        emulated=runs.emulated,
        cpus=runs.cpus,
        serial_seconds=serial.seconds if serial is not None else None,
        configurations=tuple(_configuration(one, runs, share_that_pays) for one in runs.contenders),
        law=tuple(LawPoint(count, runs.ideal_speedup(count)) for count in _all_counts(counts)),
        peer_ratios=tuple(_peer_ratios(runs)),
    )


def _all_counts(counts: list[int]) -> Iterator[int]:
    """Every number of threads between those that were measured: the law has steps there too."""
    return iter(range(counts[0], counts[-1] + 1)) if counts else iter(())


def _configuration(one: Contender, runs: CellRuns, share_that_pays: float) -> TaskConfiguration:
    interval = statistics.median_interval(one.points) if one.points else None
    paired = ratio(one if one is not runs.serial else None, runs.serial).inverse()
    ideal, speedup = runs.ideal_speedup(one.threads), runs.speedup(one)
    last = one.details[-1] if one.details else {}
    library = f"{last.get('library') or one.peer} {last.get('library_version') or ''}"
    return TaskConfiguration(
        label=one.label,
        runtime=one.peer,
        library=library.strip(),
        schedule=one.schedule,
        chunk=one.chunk,
        wait=one.wait,
        threads=one.threads,
        seconds=one.seconds,
        low=interval.low if interval is not None else None,
        high=interval.high if interval is not None else None,
        points=one.points,
        rounds=len(one.points),
        is_default=one.is_default,
        error=one.errors[0] if one.seconds is None and one.errors else None,
        speedup=speedup,
        speedup_low=paired.low,
        speedup_high=paired.high,
        ideal_speedup=ideal,
        share_of_ideal=speedup / ideal if speedup is not None else None,
        pays=pays(one, runs.serial, ideal, share_that_pays) if one is not runs.serial else None,
        waiting_share=one.median("waiting_share"),
        cpu_load=one.median("cpu_load"),
        voluntary_switches=one.median("voluntary_switches"),
        involuntary_switches=one.median("involuntary_switches"),
        stretch=one.stretch,
        spent=spent_of(one.rows, longest(each.seconds for each in runs.contenders)),
    )


def _peer_ratios(runs: CellRuns) -> Iterator[PeerRatio]:
    """Ours on all CPUs against each peer there, at its best and with no settings."""
    seen: set[str] = set()
    for one in runs.finalists:
        if one.peer == OURS:
            continue
        found = ratio(runs.ours, one)
        if one.peer not in seen:
            seen.add(one.peer)
            yield PeerRatio(runtime=one.peer, configuration=one.label, role="best", ratio=found)
        if one.is_default:
            yield PeerRatio(runtime=one.peer, configuration=one.label, role="default", ratio=found)
