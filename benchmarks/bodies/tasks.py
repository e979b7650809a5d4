"""B9 to B13: map/reduce of short tasks and sums, against the ideal, the peers and themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.bodies.launches import openmp_waits, program
from benchmarks.context import Budget, Context
from benchmarks.measurement import Measurement
from benchmarks.rounds import Bench, Pairs, Way, best_way, bound_pairs
from benchmarks.rows import joined
from tautochrone.machine.emulate import emulated
from tautochrone.measuring.configuration import Configuration
from tautochrone.results.row import Row, seconds_of
from tautochrone.studies.mapreduce.configurations import PEERS
from tautochrone.verdicts import compare

STUDY = "mapreduce"
CHUNKS = (1, 4, 16, 64, 128, 256)
COARSE_CHUNKS = (1, 16, 128)
WAITS = ("default", "active")
RIVALS = tuple(peer.name for peer in PEERS if peer.name not in ("serial", "tautochrone"))
SUM_LIBRARIES = ("libgomp", "libomp", "tbb")  # libstdc++'s parallel algorithms are built on oneTBB
_TIMES = ("--warmup-seconds", "0.05", "--min-seconds", "0.1")
_QUICK = ("--warmup-seconds", "0.02", "--min-seconds", "0.03")  # to choose: peers have nothing to learn
_LONG_BYTES = 50_000_000  # hashed by one loop: 65 ms on one core; one loop then is enough to choose
_REFINED = 4  # schedules whose other chunks and waits are tried
_CHOOSING_SHARE = 0.45  # of a cell's time; the rest is for the rounds that are reported
_ROUNDS = 25
_FEW = 100  # tasks say what one takes on a core; all of 1,000 would take a slow one seconds

AsListed = tuple[int, int, str]
"""Tasks as the table has them."""


@dataclass(frozen=True)
class Tasks:
    """A number of tasks of about `label` each; `bytes` are hashed by one."""

    number: int
    bytes: int
    label: str

    @property
    def cell(self) -> str:
        """As in ``50x0.4ms``."""
        return f"{self.number}x{self.label}"

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.number:,} tasks of {self.label}"


# -- the ways to do tasks --


def _made(
    context: Context,
    peer: str,
    tasks: Tasks,
    schedule: str,
    chunk: int | None = None,
    wait: str = "default",
    cpu: int | None = None,
) -> Configuration:
    path, environment = context.runner(peer, STUDY)
    cpus = list(context.cpus) if cpu is None else [cpu]
    command = [path, "--tasks", str(tasks.number), "--bytes", str(tasks.bytes)]
    command += ["--threads", str(len(cpus)), "--cpus", ",".join(map(str, cpus)), "--schedule", schedule]
    command += [] if chunk is None else ["--chunk", str(chunk)]
    command += [] if wait == "default" else ["--wait", wait]
    settings = {"runtime": peer, "tasks": tasks.number, "bytes": tasks.bytes, "schedule": schedule}
    settings |= {"chunk": chunk, "wait": wait, "cpus": cpus}
    name = f"{peer} {schedule}" if cpu is None else f"{peer} on CPU {cpu} {schedule}"
    name += "" if chunk is None else f", chunk {chunk}"
    name += "" if wait == "default" else f", {wait} wait"
    return Configuration(name, [*command, *_TIMES], environment, settings)


def _quick(made: Configuration) -> Configuration:
    words = [*made.command[: -len(_TIMES)], *_QUICK]
    if int(str(made.settings["tasks"])) * int(str(made.settings["bytes"])) > _LONG_BYTES:
        words += ["--max-iterations", "1"]
    return replace(made, command=words)


def ours(context: Context, tasks: Tasks, schedule: str = "adaptive") -> Configuration:
    """Tautochrone on both CPUs, with the default wait policy."""
    return _made(context, "tautochrone", tasks, schedule)


def ways(context: Context, tasks: Tasks) -> list[Way]:
    """Every schedule, chunk and wait policy of every peer that is here.

    A chunk that would leave a member without any is no way to share tasks out.
    """
    return list(_ways(context, tasks))


def _ways(context: Context, tasks: Tasks) -> Iterator[Way]:
    sensible = [chunk for chunk in CHUNKS if chunk * len(context.cpus) <= tasks.number]
    for state in context.present(RIVALS, STUDY):
        described, peer = state.description, state.peer.name
        for schedule in described.schedules if described else ():
            chunked = described is not None and schedule in described.schedules_with_chunk
            for chunk in sensible if chunked else (None,):
                for wait in WAITS:
                    if wait == "default" or (described and wait in described.wait_policies):
                        made = _made(context, peer, tasks, schedule, chunk, wait)
                        yield Way((peer, schedule), chunk, wait, made, _quick(made))


def _best(bench: Bench, every: Sequence[Way], budget: Budget) -> Configuration | None:
    """The fastest of `every`: first each schedule with some chunks, then what is near the best."""
    return best_way(bench, every, [way for way in every if way.is_coarse(COARSE_CHUNKS)], _REFINED, budget)


# -- B9, B10, B13: tasks --


def _ideal_pairs(rows: Sequence[Row], mine: Configuration, ideal: Callable[[Any], float]) -> Pairs:
    """(our seconds, ideal(detail)) of each of our rows; the task was timed alone in the same process."""
    return [(seconds_of(row), float(ideal(row.detail))) for row in rows if row.config_id == mine.config_id]


def whole(m: Measurement, tasks: Sequence[AsListed]) -> None:
    """B9."""
    members = len(m.context.cpus)
    for work, seconds in m.parts([Tasks(*listed) for listed in tasks]):
        mine = ours(m.context, work)
        with m.bench(work.cell) as bench:
            rows = bench.run([mine], _ROUNDS, seconds)
            pairs = _ideal_pairs(rows, mine, lambda d: math.ceil(d["tasks"] / members) * d["task_seconds"])
            m.row(
                work.cell, compare(pairs), "the ideal",
                note=bench.errors(), name=work.name, number=work.number, members=members,
            )  # fmt: skip


def short(m: Measurement, tasks: Sequence[AsListed]) -> None:
    """B10: against work/2, the fastest way of all peers, and the faster of Qt's."""
    context, members = m.context, len(m.context.cpus)
    m.missing = context.without(RIVALS, STUDY)
    for work, seconds in m.parts([Tasks(*listed) for listed in tasks]):
        budget, choosing = _budgets(context, seconds)
        mine, rivals = ours(context, work), ways(context, work)
        of_qt = [way for way in rivals if way.peer == "qt"]
        with m.bench(work.cell) as bench:
            qt = _best(bench, of_qt, choosing)
            best = _best(bench, rivals, choosing)
            chosen = {made.config_id: made for made in (mine, best, qt) if made is not None}
            rows = bench.run(list(chosen.values()), _ROUNDS, budget.left)
            pairs = _ideal_pairs(rows, mine, lambda d: d["tasks"] * d["task_seconds"] / members)
            m.row(f"{work.cell}/ideal", compare(pairs), f"work/{members}", name=work.name, members=members)
            _against(m, bench, f"{work.cell}/best", work, mine, best, "no peer ran", m.missing)
            why = "no run of Qt was good" if of_qt else "Qt is not here"
            _against(m, bench, f"{work.cell}/qt", work, mine, qt, why)


def _budgets(context: Context, seconds: float) -> tuple[Budget, Budget]:
    """Of a cell, and of the choice in it."""
    return Budget(context.clock, seconds), Budget(context.clock, seconds * _CHOOSING_SHARE)


def _against(
    m: Measurement,
    bench: Bench,
    cell: str,
    tasks: Tasks,
    mine: Configuration,
    peer: Configuration | None,
    why_none: str,
    missing: str = "",
) -> None:
    if peer is None:
        m.row(cell, None, note=joined(why_none, bench.errors(), missing), name=tasks.name)
    else:
        m.compared(cell, bench, mine, peer, note=missing, name=tasks.name)


def slowed(m: Measurement, tasks: Sequence[AsListed], factor: float) -> None:
    """B13: on unequal cores, against the best split and the fastest way of all peers."""
    context = m.context
    m.missing = context.without(RIVALS, STUDY)
    with emulated({context.cpus[1]: factor}):
        # The runs of the first cell take twice as long.
        for work, seconds in m.parts([Tasks(*listed) for listed in tasks], weights=(2.0, 1.0)):
            budget, choosing = _budgets(context, seconds)
            mine, each_core = ours(context, work), alone(context, work)
            with m.bench(work.cell) as bench:
                best = _best(bench, ways(context, work), choosing)
                chosen = [made for made in (mine, best, *each_core) if made is not None]
                rows = bench.run(chosen, _ROUNDS, budget.left)
                pairs = split_pairs(rows, mine, each_core, work)
                m.row(f"{work.cell}/bound", compare(pairs), "the bound", name=work.name)
                _against(m, bench, f"{work.cell}/best", work, mine, best, "no peer ran", m.missing)


def alone(context: Context, tasks: Tasks) -> list[Configuration]:
    """The serial loop on each CPU by itself, over a few of the tasks."""
    few = replace(tasks, number=min(tasks.number, _FEW))
    return [_made(context, "serial", few, "serial", cpu=cpu) for cpu in context.cpus]


def best_split(tasks: int, seconds: Sequence[float]) -> float:
    """The least time of whole tasks on cores that need `seconds` for one each. O(tasks × cores)."""
    ends = [0.0] * len(seconds)
    for _ in range(tasks):
        core = min(range(len(seconds)), key=lambda core: ends[core] + seconds[core])
        ends[core] += seconds[core]
    return max(ends)


def split_pairs(
    rows: Sequence[Row], mine: Configuration, each_core: Sequence[Configuration], tasks: Tasks
) -> Pairs:
    """(our seconds, the best split of whole tasks) of each round; a core's task is its serial time over n."""
    few = min(tasks.number, _FEW)
    return bound_pairs(
        rows, mine, each_core, lambda seconds: best_split(tasks.number, [each / few for each in seconds])
    )


# -- B11, B12: sums, and the price of the order --


def _sum(context: Context, name: str, runtime: str, values: int, *words: str) -> Configuration:
    words = (*_TIMES, "--values", str(values), *words)
    return program(context, name, f"{runtime} sum", *words, values=values, label=name)


def _sum_rivals(context: Context, values: int) -> list[Configuration]:
    size = (*_TIMES, "--values", str(values))
    rivals = [
        replace(rival, name=f"{rival.settings['library']}, {rival.settings['wait']} wait")
        for rival in openmp_waits(context, "sum", *size, values=values)
    ]
    if context.peer("tbb").present:
        for partitioner in ("auto", "simple", "static"):
            for grain in (1, 1_000, 10_000, 100_000):
                words = ("--partitioner", partitioner, "--grain", str(grain))
                rivals.append(_sum(context, f"oneTBB {partitioner}, grain {grain}", "tbb", values, *words))
        rivals.append(_sum(context, "std::reduce(par_unseq)", "stdpar", values))
    return rivals


def sums(m: Measurement, values: Sequence[int]) -> None:
    """B11."""
    context = m.context
    m.missing = context.without(SUM_LIBRARIES)
    for size, seconds in m.parts(values):
        budget, choosing = _budgets(context, seconds)
        mine = _sum(context, "parallel_reduce", "tautochrone", size)
        with m.bench(str(size)) as bench:
            best = bench.fastest(_sum_rivals(context, size), choosing.left)
            if best is None:
                why = joined("no peer ran", m.missing, bench.errors())
                m.row(str(size), None, note=why, values=size)
                continue
            bench.run([mine, best], _ROUNDS, budget.left)
            m.compared(str(size), bench, mine, best, note=m.missing, values=size)


def own_unordered(m: Measurement, values: Sequence[int], tasks: Sequence[AsListed]) -> None:
    """B12."""
    context = m.context
    contests = [
        (
            f"{size} doubles",
            _sum(context, "in order", "tautochrone", size),
            _sum(context, "unordered", "tautochrone", size, "--unordered"),
        )
        for size in values
    ]
    contests += [
        (work.cell, ours(context, work), ours(context, work, "unordered"))
        for work in (Tasks(*listed) for listed in tasks)
    ]
    for (name, mine, unordered), seconds in m.parts(contests):
        cell = name.replace(" ", "-")
        with m.bench(cell) as bench:
            bench.run([mine, unordered], _ROUNDS, seconds)
            m.compared(cell, bench, mine, unordered, peer_name="ours, unordered", shown=name, name=name)
