"""From rows to what each way to share a job took, and how the ways compare."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tautochrone import verdicts
from tautochrone.results.row import Amount, Count, Figure, Row
from tautochrone.results.runs import NOT_MEASURED, median_known, ratio
from tautochrone.results.spent import figures_of_row, joules_of, longest
from tautochrone.studies import row_types
from tautochrone.studies.cells import Contender, contenders_of, timed_fields
from tautochrone.studies.power.configurations import FREE, SERIAL, SETUPS, TOGETHER, label
from tautochrone.studies.power.findings import BusyThread, JobCell, ProgramTime, Setup, SharedJob
from tautochrone.verdicts import Ratio, as_ratio

MATTERS = 0.03
"""Differences in time or energy below this are none that one would act on (claim P5)."""


class JobConfig(row_types.Config, kw_only=True):
    """What the study reads of a row's ``config``."""

    job: str
    title: str
    ratio: Amount | None = None


class Program(msgspec.Struct, kw_only=True):
    """One of two programs at once."""

    job: str
    seconds: Amount
    cpu_seconds: Amount | None = None
    migrations: Count | None = None


class JobDetail(row_types.Detail, kw_only=True):
    """What it reads of what a runner prints."""

    programs: list[Program] | None = None
    cpu_load: Figure | None = None
    imbalance: Figure | None = None
    collide_seconds: Amount | None = None
    draw_seconds: Amount | None = None
    bytes: Amount | None = None
    bodies: Amount | None = None
    steps: Amount | None = None


class JobWorker(row_types.Worker, kw_only=True):
    """What a thread did, and its CPU time."""

    thread: Count
    does: str
    busy_seconds: Amount


ROWS = row_types.RowTypes(config=JobConfig, detail=JobDetail, worker=JobWorker)


class WayRuns(Contender):
    """One way to share a job with all its good rows."""

    @property
    def way(self) -> str:
        return str(self.config["runtime"])

    @property
    def label(self) -> str:
        return label(self.way, self.threads)

    def busy(self) -> tuple[BusyThread, ...]:
        """Each thread with the median of its CPU time; none where runs do not agree on who worked."""
        runs = [row.workers or [] for row in self.rows]
        names = {tuple((worker["thread"], worker["does"]) for worker in run) for run in runs}
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
    ways: Sequence[WayRuns]

    @property
    def ratio(self) -> float | None:
        """What the physics' first function costs by its second."""
        ratio = self.config.get("ratio")
        return None if ratio is None else float(ratio)

    def find(self, way: str, threads: int | None = None) -> WayRuns | None:
        """A way on that number of threads, by default the largest that was measured."""
        measured = [
            runs
            for runs in self.ways
            if runs.way == way and runs.by_round and threads in (None, runs.threads)
        ]
        return max(measured, key=lambda runs: runs.threads, default=None)

    @property
    def serial(self) -> WayRuns | None:
        return self.find(SERIAL)

    @property
    def longest_seconds(self) -> float | None:
        """To which energies are brought."""
        return longest(runs.seconds for runs in self.ways)


def collect(rows: Iterable[Row]) -> list[CellRuns]:
    """Rows by cell, in the order in which a study measures them."""
    measured = (row for row in rows if not row.config.get("probe"))
    cells = []
    for ways in contenders_of(measured, lambda row: row.group, WayRuns).values():
        config = ways[0].config
        ways.sort(key=lambda runs: (runs.way != SERIAL, runs.threads, runs.way))
        cells.append(CellRuns(str(config["job"]), str(config["title"]), config, ways))
    return sorted(cells, key=lambda cell: (cell.job, cell.ratio or 0.0, cell.title))


def jobs_of(cells: Sequence[CellRuns]) -> list[CellRuns]:
    return [cell for cell in cells if cell.job != TOGETHER]


def pair_of(cells: Sequence[CellRuns]) -> CellRuns | None:
    return next((cell for cell in cells if cell.job == TOGETHER), None)


def most_unequal(cells: Sequence[CellRuns]) -> CellRuns | None:
    """The physics with the largest ratio of costs; None where both functions cost the same."""
    unequal = [cell for cell in cells if cell.ratio is not None and cell.ratio > 1.0]
    return max(unequal, key=lambda cell: cell.ratio or 0.0, default=None)


def paired(runs: WayRuns | None, reference: WayRuns | None, figure: Callable[[Row], float | None]) -> Ratio:
    """A positive figure of rows by that of the reference's, paired by the rounds that have both."""
    if runs is None or reference is None:
        return NOT_MEASURED
    ours, theirs = (
        {int(row.round): value for row in each.rows if (value := figure(row)) is not None and value > 0}
        for each in (runs, reference)
    )
    common = sorted(ours.keys() & theirs.keys())
    return as_ratio(verdicts.compare([(ours[number], theirs[number]) for number in common]))


def common_energy(cell: CellRuns, runs: WayRuns | None) -> Ratio:
    """Its energy by that of one thread, both brought to the longest time of the cell."""
    until = cell.longest_seconds
    return paired(runs, cell.serial, lambda row: common_joules(row, until))


def common_joules(row: Row, until: float | None) -> float | None:
    """The run's energy, brought to that length; None where it was not metered beside idle power."""
    figures = figures_of_row(row, until)
    return None if figures is None else figures.common_joules


# -- whether an interval says yes, no, or nothing yet: one rule for claims and recommendations --


def within(ratio: Ratio, least: float, most: float) -> bool | None:
    """Is the interval inside (True), outside (False), or across an end (None, as without an interval)?"""
    if ratio.low is None or ratio.high is None:
        return None
    if least <= ratio.low and ratio.high <= most:
        return True
    return False if ratio.high < least or ratio.low > most else None


def saves(ratio: Ratio) -> bool | None:
    """Does the candidate take so much less than the reference that it matters?"""
    return within(ratio, 0.0, 1 - MATTERS)


def costs(ratio: Ratio) -> bool | None:
    """Does the candidate take so much more than the reference that it matters?"""
    return within(ratio, 1 + MATTERS, math.inf)


def any_of(parts: Sequence[bool | None]) -> bool | None:
    """True where one is, None where one is open or there is none, else False."""
    if True in parts:
        return True
    return None if None in parts or not parts else False


def all_of(parts: Sequence[bool | None]) -> bool | None:
    """False where one is, None where one is open or there is none, else True."""
    if False in parts:
        return False
    return None if None in parts or not parts else True


# -- as the report wants it --


def report_job(cell: CellRuns) -> JobCell:
    shared = tuple(_shared(runs, cell) for runs in cell.ways)
    return JobCell(job=cell.job, title=cell.title, ratio=cell.ratio, shared=shared)


def report_setups(cell: CellRuns) -> tuple[Setup, ...]:
    free = cell.find(FREE)
    order = list(SETUPS)
    return tuple(
        Setup(
            name=runs.way,
            to_free=ratio(runs if runs is not free else None, free),
            programs=_programs(runs),
            energy=joules_of(runs.rows, cell.longest_seconds),
            **timed_fields(runs),
        )
        for runs in sorted(
            cell.ways, key=lambda runs: order.index(runs.way) if runs.way in order else len(order)
        )
    )


def _shared(runs: WayRuns, cell: CellRuns) -> SharedJob:
    cpus = len(runs.config["cpus"])
    load, seconds = runs.median("cpu_load"), runs.seconds
    return SharedJob(
        way=runs.way,
        threads=runs.threads,
        to_serial=ratio(runs if runs is not cell.serial else None, cell.serial),
        imbalance=runs.median("imbalance") if runs.threads > 1 else None,
        busy=runs.busy(),
        cpu_seconds=load * cpus * seconds if load is not None and seconds is not None else None,
        core_seconds=cpus * seconds if seconds is not None else None,
        migrations=median_known(row.migrations for row in runs.rows),
        energy=joules_of(runs.rows, cell.longest_seconds),
        **timed_fields(runs),
    )


def _programs(runs: WayRuns) -> tuple[ProgramTime, ...]:
    of_rows = [row.detail.get("programs") or [] for row in runs.rows]
    if len({len(programs) for programs in of_rows}) != 1:
        return ()
    return tuple(
        ProgramTime(
            job=str(same[0]["job"]),
            seconds=median_known(program["seconds"] for program in same) or 0.0,
            cpu_seconds=median_known(program.get("cpu_seconds") for program in same),
            migrations=median_known(program.get("migrations") for program in same),
        )
        for same in zip(*of_rows, strict=True)
    )
