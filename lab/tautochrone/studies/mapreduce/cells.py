"""From rows to cells: what each configuration took in a cell, and what whole tasks allowed it to reach."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from tautochrone import verdicts
from tautochrone.results.row import Amount, Count, Figure, Row
from tautochrone.results.runs import OURS, median_known, pairs, ratio
from tautochrone.results.spent import longest
from tautochrone.studies import cells, models, row_types
from tautochrone.studies.cells import contenders_of, emulated_of, measured_fields, peer_ratios, state_of
from tautochrone.studies.mapreduce.configurations import PEERS, label
from tautochrone.studies.mapreduce.findings import (
    LawPoint,
    Payoff,
    Pays,
    TaskCell,
    TaskConfiguration,
    Waiting,
)

SHARE_THAT_PAYS = 0.8
"""Of the ideal speed-up: a library that reaches less wastes more than a fifth of the cores."""

_DEFAULTS = {peer.name: peer.default_schedule for peer in PEERS}


class TaskConfig(row_types.Config, kw_only=True):
    """What the study reads of a row's ``config``."""

    tasks: Annotated[int, Meta(ge=1, lt=1 << 53)]
    bytes: Count
    length: str


class TaskDetail(row_types.Detail, kw_only=True):
    """What it reads of what a runner prints."""

    useful_seconds: Amount | None = None
    task_seconds: Amount | None = None
    waiting_share: Figure | None = None
    starting_share: Figure | None = None
    between_share: Figure | None = None
    unfed_share: Figure | None = None
    ending_share: Figure | None = None
    returning_share: Figure | None = None
    cpu_load: Figure | None = None
    voluntary_switches: Amount | None = None
    involuntary_switches: Amount | None = None


ROWS = row_types.RowTypes(config=TaskConfig, detail=TaskDetail)


class Contender(cells.Contender):
    """One configuration in one cell with all its runs. Times are seconds of one repetition."""

    @property
    def label(self) -> str:
        return label(self.peer, self.schedule, self.chunk, self.threads, self.wait)

    @property
    def is_default(self) -> bool:
        """True for what one gets without setting anything but the number of threads."""
        plainly = self.wait == "default" and self.chunk is None
        return plainly and self.schedule == _DEFAULTS.get(self.peer)

    @property
    def stretch(self) -> float | None:
        """How many times longer a task takes beside the others than alone: caches, memory, the clock."""
        useful, alone = self.median("useful_seconds"), self.median("task_seconds")
        tasks = int(self.config["tasks"])
        return useful / (tasks * alone) if useful is not None and alone else None


@dataclass(slots=True)
class CellRuns:
    """All contenders of a cell: a number of tasks of one length, in one state of the machine.

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
        return len(self.speeds)

    def find(self, peer: str, threads: int | None = None) -> Contender | None:
        """A runtime with no settings on that many threads, by default one on each CPU, if it was measured."""
        wanted = (peer, threads if threads is not None else self.cpus)
        for contender in self.contenders:
            if (contender.peer, contender.threads) == wanted and contender.is_default and contender.by_round:
                return contender
        return None

    def has(self, peer: str) -> bool:
        """Whether it ran there, with or without success."""
        return any(contender.peer == peer for contender in self.contenders)

    @property
    def serial(self) -> Contender | None:
        return self.find("serial", 1)

    @property
    def ours(self) -> Contender | None:
        return self.find(OURS)

    @property
    def finalists(self) -> list[Contender]:
        """What was measured with one thread on each CPU, the fastest first; the serial loop is none."""
        with_all_cpus = [
            contender
            for contender in self.contenders
            if contender.by_round and contender.threads == self.cpus and contender.peer != "serial"
        ]
        return sorted(with_all_cpus, key=lambda contender: contender.seconds or 0.0)

    @property
    def best_default(self) -> Contender | None:
        """The fastest other runtime with no settings on all CPUs."""
        return next((rival for rival in self.finalists if rival.peer != OURS and rival.is_default), None)

    @property
    def task_seconds(self) -> float | None:
        """One task alone, warm: the median over all runs."""
        return median_known(contender.median("task_seconds") for contender in self.contenders)

    def ideal_speedup(self, threads: int) -> float:
        """What whole tasks allow on so many threads, one on a CPU as long as there are any (claim M1)."""
        alone = [1.0 / speed for speed in self.speeds[:threads]]
        return self.tasks / models.whole_tasks_seconds(self.tasks, alone)

    def stretch_by_clock(self, contender: Contender) -> float | None:
        """How many times lower the clock is than that of one thread: a part of `stretch`."""
        alone = self.serial.clock_hertz if self.serial is not None else None
        here = contender.clock_hertz
        return alone / here if alone is not None and here else None

    def waiting(self, contender: Contender) -> Waiting | None:
        """Where its CPUs' time goes without a task; None where its runner did not tell."""
        names = ("starting", "between", "unfed", "ending", "returning", "waiting")
        shares = [contender.median(f"{name}_share") for name in names]
        known = [share for share in shares if share is not None]
        if len(known) < len(shares):
            return None
        starting, between, unfed, ending, returning, waiting = known
        alone = [1.0 / speed for speed in self.speeds[: contender.threads]]
        idle = models.whole_tasks_idle_seconds(self.tasks, alone)
        busy = len(alone) * models.whole_tasks_seconds(self.tasks, alone) - idle
        by_law = min(ending, (1 - waiting) * idle / busy)
        return Waiting(
            waking_up=starting + returning,
            taking_tasks=between,
            whole_tasks=by_law,
            uneven=unfed + ending - by_law,
        )

    def speedup(self, contender: Contender) -> float | None:
        """Over the serial loop: the paired median, before eight rounds the quotient of the medians."""
        serial = self.serial
        if serial is None or serial.seconds is None or contender.seconds is None:
            return None
        return ratio(contender, serial).inverse().value or serial.seconds / contender.seconds


def collect(rows: Iterable[Row], machine: Mapping[str, Any]) -> list[CellRuns]:
    """Rows sorted into cells: the unmodified machine first, then by number and length of tasks."""
    found = contenders_of(
        rows, lambda row: (state_of(row.config), row.config["tasks"], row.config["bytes"]), Contender
    )
    cells: list[CellRuns] = []
    for (_, tasks, size), contenders in sorted(found.items(), key=lambda item: item[0]):
        config = contenders[0].config
        emulated = emulated_of(config)
        speeds = _speeds(contenders, emulated, machine)
        cells.append(CellRuns(int(tasks), int(size), str(config["length"]), emulated, speeds, contenders))
    return cells


def _speeds(
    contenders: list[Contender], emulated: Mapping[str, float], machine: Mapping[str, Any]
) -> tuple[float, ...]:
    """The relative speed of each CPU that was used: of its kind, and of what was made slower."""
    used = max((contender.config["cpus"] for contender in contenders), key=len, default=())
    of_cpu = kind_speeds(machine)
    speeds = [of_cpu.get(int(cpu), 1.0) / emulated.get(str(cpu), 1.0) for cpu in used]
    fastest = max(speeds, default=1.0)
    return tuple(speed / fastest for speed in speeds)


def kind_speeds(machine: Mapping[str, Any]) -> dict[int, float]:
    """CPU → speed of arithmetic of its kind as `tauto machine` measured it; 1 where that is not known.

    Of the kind and not of the CPU: CPUs of one kind differ by noise, and the law's steps are for equal ones.
    """
    kinds = {int(cpu["cpu"]): str(cpu.get("kind", "core")) for cpu in machine.get("cpus") or ()}
    speeds: dict[str, list[float]] = {}
    for cpu in (machine.get("measured") or {}).get("cpus") or ():
        if cpu.get("compute_per_second"):
            speeds.setdefault(kinds.get(int(cpu["cpu"]), ""), []).append(float(cpu["compute_per_second"]))
    if not set(kinds.values()) <= speeds.keys():
        return dict.fromkeys(kinds, 1.0)
    return {cpu: statistics.median(speeds[kind]) for cpu, kind in kinds.items()}


# -- as the report wants it --


def report_cell(runs: CellRuns) -> TaskCell:
    serial = runs.serial
    counts = sorted({contender.threads for contender in runs.contenders})
    # the law has steps between the numbers of threads that were measured, too
    every_count = range(counts[0], counts[-1] + 1) if counts else range(0)
    return TaskCell(
        tasks=runs.tasks,
        bytes=runs.bytes,
        length=runs.length,
        task_seconds=runs.task_seconds,
        emulated=runs.emulated,
        cpus=runs.cpus,
        serial_seconds=serial.seconds if serial is not None else None,
        configurations=tuple(_configuration(contender, runs) for contender in runs.contenders),
        law=tuple(LawPoint(count, runs.ideal_speedup(count)) for count in every_count),
        peer_ratios=tuple(peer_ratios(runs.ours, runs.finalists)),
    )


def _configuration(contender: Contender, runs: CellRuns) -> TaskConfiguration:
    is_serial = contender is runs.serial
    paired = ratio(None if is_serial else contender, runs.serial).inverse()
    ideal, speedup = runs.ideal_speedup(contender.threads), runs.speedup(contender)
    return TaskConfiguration(
        library=contender.library,
        schedule=contender.schedule,
        chunk=contender.chunk,
        wait=contender.wait,
        threads=contender.threads,
        speedup=speedup,
        speedup_low=paired.low,
        speedup_high=paired.high,
        ideal_speedup=ideal,
        share_of_ideal=speedup / ideal if speedup is not None else None,
        pays=None if is_serial else pays(contender, runs.serial, ideal),
        waiting_share=contender.median("waiting_share"),
        waiting=runs.waiting(contender),
        cpu_load=contender.median("cpu_load"),
        voluntary_switches=contender.median("voluntary_switches"),
        involuntary_switches=contender.median("involuntary_switches"),
        stretch=contender.stretch,
        stretch_by_clock=runs.stretch_by_clock(contender),
        clock_hertz=contender.clock_hertz,
        **measured_fields(contender, longest(each.seconds for each in runs.contenders)),
    )


# -- from which task length on sharing the tasks out pays: resolved, not just seen --


def pays(contender: Contender, serial: Contender | None, ideal_speedup: float) -> Pays | None:
    """Is it faster than the serial loop, and does it reach `SHARE_THAT_PAYS` of the ideal speed-up?

    Both are judged on the paired rounds: "yes" and "no" are resolved, None stands for too few rounds. Where
    the ideal is no gain, as on one CPU, nothing can pay.
    """
    if serial is None:
        return None
    if ideal_speedup <= 1.0:
        return "no"
    both = pairs(contender, serial)
    wanted = max(1.0, SHARE_THAT_PAYS * ideal_speedup)
    verdict = verdicts.compare([(mine, alone / wanted) for mine, alone in both]).verdict
    answers: Mapping[str, Pays] = {
        verdicts.FASTER: "yes",
        verdicts.SLOWER: "no",
        verdicts.NO_DIFFERENCE: "not resolved",
    }
    return answers.get(verdict)


def payoffs(cells: Sequence[TaskCell]) -> Iterator[Payoff]:
    """For each state, number of tasks and runtime with no settings on all CPUs: from where on it pays.

    ``cells`` are sorted as `collect` sorts them: those that differ in their tasks' length by that.
    """
    alike: dict[tuple[object, int, str], list[tuple[TaskCell, float, Pays]]] = {}
    for cell in cells:
        for configuration in cell.configurations:
            counts = configuration.is_default and configuration.threads == cell.cpus
            if counts and configuration.pays is not None and cell.task_seconds is not None:
                key = (tuple(sorted(cell.emulated.items())), cell.tasks, configuration.runtime)
                alike.setdefault(key, []).append((cell, cell.task_seconds, configuration.pays))
    for (_, tasks, runtime), answers in alike.items():
        start = first_that_pays([pays for _, _, pays in answers])
        below = answers[:start][-1:]
        yield Payoff(
            runtime=runtime,
            tasks=tasks,
            emulated=answers[0][0].emulated,
            from_seconds=answers[start][1] if start < len(answers) else None,
            not_at_seconds=below[0][1] if below else None,
            because=below[0][2] if below else None,
        )


def first_that_pays(answers: Sequence[Pays]) -> int:
    """The place of the shortest length at which it pays with no "no" behind it; behind the end for none.

    A longer length that noise left open does not count against a shorter one that was resolved: what sharing
    costs does not grow with the tasks.
    """
    start = len(answers)
    for place in range(len(answers) - 1, -1, -1):
        if answers[place] == "no":
            break
        start = place if answers[place] == "yes" else start
    return start
