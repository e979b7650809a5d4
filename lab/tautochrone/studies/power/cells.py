"""From rows to what each way to share a job took, and how the ways compare."""

from __future__ import annotations

import statistics as plain
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tautochrone import statistics
from tautochrone.energy.record import figures_of_row
from tautochrone.report.analysis_types import Ratio
from tautochrone.report.power.analysis_types import BusyThread, JobCell, ProgramTime, Setup, SharedJob
from tautochrone.report.spent import joules_of, longest, median_known
from tautochrone.row import Row
from tautochrone.studies.contenders import NOT_MEASURED, RunsOfOne, as_ratio, ratio
from tautochrone.studies.power.configurations import label
from tautochrone.studies.power.works import FREE, SERIAL, SETUPS, TOGETHER


@dataclass(slots=True)
class Contender(RunsOfOne):
    """One way to share a job with all its good rows."""

    @property
    def way(self) -> str:
        """How the work is shared."""
        return str(self.config["runtime"])

    @property
    def threads(self) -> int:
        """The threads that were asked for."""
        return int(self.config["threads"])

    def median(self, name: str) -> float | None:
        """The median of a figure that the runner gave; None where it gave none."""
        return median_known(row["detail"].get(name) for row in self.rows)

    def busy(self) -> tuple[BusyThread, ...]:
        """Each thread with the median of its CPU time; none where runs do not agree on who worked."""
        runs = [row.get("workers") or [] for row in self.rows]
        names = {tuple((one["thread"], one["does"]) for one in run) for run in runs}
        if len(names) != 1:
            return ()
        return tuple(
            BusyThread(
                thread=int(thread),
                does=str(does),
                seconds=plain.median(float(run[number]["busy_seconds"]) for run in runs),
            )
            for number, (thread, does) in enumerate(next(iter(names)))
        )


@dataclass(slots=True)
class CellRuns:
    """A job with one setting, or two programs at once, in every way that was measured."""

    job: str
    title: str
    config: Mapping[str, Any]
    contenders: list[Contender] = field(default_factory=list)

    @property
    def ratio(self) -> float | None:
        """What the physics' first function costs by its second."""
        found = self.config.get("ratio")
        return None if found is None else float(found)

    def find(self, way: str, threads: int | None = None) -> Contender | None:
        """A way on so many threads, by default on the most that it was measured with."""
        found = [one for one in self.contenders if one.way == way and one.by_round]
        found = [one for one in found if threads is None or one.threads == threads]
        return max(found, key=lambda one: one.threads, default=None)

    @property
    def serial(self) -> Contender | None:
        """One thread."""
        return self.find(SERIAL)

    @property
    def longest_seconds(self) -> float | None:
        """To which energies are brought."""
        return longest(one.seconds for one in self.contenders)


def collect(rows: Iterable[Row]) -> list[CellRuns]:
    """Rows by cell, in the order in which a study measures them."""
    cells: dict[str, CellRuns] = {}
    contenders: dict[str, Contender] = {}
    for row in rows:
        config = row["config"]
        if config.get("probe"):
            continue
        cell = cells.setdefault(str(row["group"]), CellRuns(str(config["job"]), str(config["title"]), config))
        contender = contenders.get(row["config_id"])
        if contender is None:
            contender = contenders[row["config_id"]] = Contender(config)
            cell.contenders.append(contender)
        contender.add(row)
    for cell in cells.values():
        cell.contenders.sort(key=lambda one: (one.way != SERIAL, one.threads, one.way))
    return sorted(cells.values(), key=lambda cell: (cell.job, cell.ratio or 0.0, cell.title))


def jobs_of(cells: Sequence[CellRuns]) -> list[CellRuns]:
    """The cells of single jobs."""
    return [cell for cell in cells if cell.job != TOGETHER]


def pair_of(cells: Sequence[CellRuns]) -> CellRuns | None:
    """The cell of two programs at once."""
    return next((cell for cell in cells if cell.job == TOGETHER), None)


def most_unequal(cells: Sequence[CellRuns]) -> CellRuns | None:
    """The physics with the largest ratio of costs; None where both functions cost the same."""
    unequal = [cell for cell in cells if cell.ratio is not None and cell.ratio > 1.0]
    return max(unequal, key=lambda cell: cell.ratio or 0.0, default=None)


def paired(one: Contender, reference: Contender, figure: Callable[[Row], float | None]) -> Ratio:
    """A positive figure of rows by that of the reference's, paired by the rounds that have both."""
    mine, theirs = (
        {int(row["round"]): found for row in each.rows if (found := figure(row)) is not None and found > 0}
        for each in (one, reference)
    )
    common = sorted(mine.keys() & theirs.keys())
    return as_ratio(statistics.compare([(mine[number], theirs[number]) for number in common]))


def common_energy(cell: CellRuns, one: Contender | None) -> Ratio:
    """Its energy by that of one thread, both brought to the longest time of the cell."""
    if one is None or cell.serial is None:
        return NOT_MEASURED

    def common(row: Row) -> float | None:
        found = figures_of_row(row, cell.longest_seconds)
        return None if found is None else found.common_joules

    return paired(one, cell.serial, common)


# -- as the report wants it --


def report_job(cell: CellRuns) -> JobCell:
    """A job in the report's terms."""
    shared = tuple(_shared(one, cell) for one in cell.contenders)
    return JobCell(job=cell.job, title=cell.title, ratio=cell.ratio, shared=shared)


def report_setups(cell: CellRuns) -> tuple[Setup, ...]:
    """Two programs at once in the report's terms."""
    free = cell.find(FREE)
    return tuple(
        Setup(
            name=one.way,
            label=label(one.way, one.threads),
            seconds=one.seconds,
            low=_interval(one).low,
            high=_interval(one).high,
            rounds=len(one.points),
            to_free=ratio(one if one is not free else None, free),
            programs=_programs(one),
            energy=joules_of(one.rows, cell.longest_seconds),
            error=_error(one),
        )
        for one in sorted(cell.contenders, key=lambda each: _order(each.way))
    )


def _order(way: str) -> int:
    return list(SETUPS).index(way) if way in SETUPS else len(SETUPS)


def _shared(one: Contender, cell: CellRuns) -> SharedJob:
    cpus = len(one.config["cpus"])
    load, seconds = one.median("cpu_load"), one.seconds
    return SharedJob(
        label=label(one.way, one.threads),
        way=one.way,
        threads=one.threads,
        seconds=seconds,
        low=_interval(one).low,
        high=_interval(one).high,
        rounds=len(one.points),
        to_serial=ratio(one if one is not cell.serial else None, cell.serial),
        imbalance=one.median("imbalance") if one.threads > 1 else None,
        busy=one.busy(),
        cpu_seconds=load * cpus * seconds if load is not None and seconds is not None else None,
        core_seconds=cpus * seconds if seconds is not None else None,
        migrations=median_known(row.get("migrations") for row in one.rows),
        energy=joules_of(one.rows, cell.longest_seconds),
        error=_error(one),
    )


def _interval(one: Contender) -> statistics.Interval:
    if not one.points:
        return statistics.Interval(0.0, None, None, statistics.PLOT_CONFIDENCE, 0)
    return statistics.median_interval(one.points)


def _error(one: Contender) -> str | None:
    return one.errors[0] if one.seconds is None and one.errors else None


def _programs(one: Contender) -> tuple[ProgramTime, ...]:
    said = [row["detail"].get("programs") or [] for row in one.rows]
    if not said or any(len(each) != len(said[0]) for each in said):
        return ()
    return tuple(
        ProgramTime(
            job=str(said[0][number]["job"]),
            seconds=median_known(each[number]["seconds"] for each in said) or 0.0,
            cpu_seconds=median_known(each[number].get("cpu_seconds") for each in said),
            migrations=median_known(each[number].get("migrations") for each in said),
        )
        for number in range(len(said[0]))
    )
