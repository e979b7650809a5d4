"""B9 to B13: map/reduce of short tasks and sums, against the ideal, the peers and themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.choosing import fastest
from benchmarks.context import Bench, Budget, Context
from benchmarks.entry import Entry, farthest, joined, not_measured, of_comparison, worst
from benchmarks.micro import program_configuration, times_note
from benchmarks.task_contest import RIVALS, STUDY, Tasks, alone, best_way, few_alone, ours, ways
from tautochrone.configuration import Configuration
from tautochrone.emulate import emulated
from tautochrone.errors import TautoError
from tautochrone.row import Row
from tautochrone.statistics import compare

FACTOR = 4.0
_TIMES = ("--warmup-seconds", "0.05", "--min-seconds", "0.1")
_CHOOSING_SHARE = 0.45  # of a cell's time; the rest is for the rounds that are reported
_ROUNDS = 25
Pairs = list[tuple[float, float]]

# FNV-1a takes four cycles and a little for a byte: 1.3 ns here.
LONG = (Tasks(50, 300_000, "0.4ms"), Tasks(50, 750_000, "1ms"), Tasks(50, 2_250_000, "3ms"))
SHORT = (Tasks(1_000, 770, "1µs"), Tasks(10_000, 85, "0.1µs"))
SLOWED = (Tasks(1_000, 77_000, "100µs"), Tasks(50, 300_000, "0.4ms"))
SUMS = (1_000, 1_000_000)
_OPENMP = ("libgomp", "libomp")
_SUM_LIBRARIES = (*_OPENMP, "tbb")  # libstdc++'s parallel algorithms are built on oneTBB


def _ideal_pairs(rows: Sequence[Row], mine: Configuration, ideal: Any) -> Pairs:
    """(our seconds, ideal(detail)) of each of our rows; the task was timed alone in the same process."""
    return [
        (float(row["seconds"]), float(ideal(row["detail"])))
        for row in rows
        if row["config_id"] == mine.config_id
    ]


def whole_tasks(context: Context) -> list[Entry]:
    """B9."""
    budget = context.budget()
    members = len(context.cpus)
    cells = []
    for place, tasks in enumerate(LONG):
        mine = ours(context, tasks)
        with context.bench(f"B9/{tasks.cell}") as bench:
            rows = bench.run([mine], _ROUNDS, budget.left / (len(LONG) - place))
            pairs = _ideal_pairs(
                rows, mine, lambda row: math.ceil(row["tasks"] / members) * row["task_seconds"]
            )
            what = f"{tasks.name} against ceil({tasks.number}/{members}) tasks"
            note = "; ".join(bench.errors())
            cells.append(
                context.add(
                    of_comparison(
                        f"B9/{tasks.cell}",
                        what,
                        "the ideal",
                        compare(pairs),
                        1.01,
                        cell=tasks.cell,
                        note=note,
                    )
                )
            )
    own = worst("B9", "50 tasks against ceil(50/2) tasks one after the other", cells, 1.01)
    return [context.add(own), *cells]


def short_tasks(context: Context) -> list[Entry]:
    """B10."""
    budget = context.budget()
    cells: list[Entry] = []
    for place, tasks in enumerate(SHORT):
        seconds = budget.left / (len(SHORT) - place)
        bound, qt_target = ((1.02, 0.90), (1.06, 0.5))[place]
        cells += _short_cell(context, tasks, seconds, bound, qt_target)
    what = "1,000 tasks of 1 µs and 10,000 of 0.1 µs: work/2, Qt, the best peer"
    own = farthest("B10", what, cells, context.without(RIVALS, STUDY))
    return [context.add(own), *cells]


def _short_cell(
    context: Context, tasks: Tasks, seconds: float, bound: float, qt_target: float
) -> list[Entry]:
    """Against work/2, the fastest way of all peers, and the faster of Qt's."""
    members = len(context.cpus)
    budget, choosing = Budget(context.clock, seconds), Budget(context.clock, seconds * _CHOOSING_SHARE)
    mine, rivals = ours(context, tasks), ways(context, tasks)
    of_qt = [one for one in rivals if one.peer == "qt"]
    with context.bench(f"B10/{tasks.cell}") as bench:
        qt = best_way(bench, of_qt, choosing)
        best = best_way(bench, rivals, choosing)
        chosen = [one for one in (mine, best, qt) if one is not None]
        rows = bench.run(list({one.config_id: one for one in chosen}.values()), _ROUNDS, budget.left)
        ideal = compare(_ideal_pairs(rows, mine, lambda d: d["tasks"] * d["task_seconds"] / members))
        what = f"{tasks.name} against work/{members}"
        cells = [
            of_comparison(f"B10/{tasks.cell}/ideal", what, f"work/{members}", ideal, bound),
            _against_best(context, bench, "B10", tasks, mine, best, 1.02),
            _against(
                bench, f"B10/{tasks.cell}/qt", f"{tasks.name} against QtConcurrent", mine, qt, qt_target,
                "no run of Qt was good" if of_qt else "Qt is not here",
            ),
        ]  # fmt: skip
    return [context.add(replace(one, cell=one.id.split("/", 1)[1])) for one in cells]


def _against_best(
    context: Context,
    bench: Bench,
    benchmark: str,
    tasks: Tasks,
    mine: Configuration,
    best: Configuration | None,
    target: float,
) -> Entry:
    """The row against the fastest way of all peers; its note names those that are missing."""
    what = f"{tasks.name} against the best peer"
    entry = _against(bench, f"{benchmark}/{tasks.cell}/best", what, mine, best, target, "no peer ran")
    return replace(entry, note=joined(entry.note, context.without(RIVALS, STUDY)))


def _against(
    bench: Bench,
    identifier: str,
    what: str,
    mine: Configuration,
    peer: Configuration | None,
    target: float,
    why_none: str,
) -> Entry:
    if peer is None:
        return not_measured(identifier, what, "", target, joined(why_none, *bench.errors()))
    note = times_note(bench, mine, peer)
    return of_comparison(identifier, what, peer.name, compare(bench.pairs(mine, peer)), target, note=note)


def _sum(context: Context, name: str, program: str, values: int, *words: str, **more: Any) -> Configuration:
    return program_configuration(
        context,
        name,
        f"sum-{program}",
        *_TIMES,
        "--values",
        str(values),
        *words,
        values=values,
        label=name,
        **more,
    )


def _sum_rivals(context: Context, values: int) -> list[Configuration]:
    found = []
    for library in _OPENMP:
        state = context.peer(library)
        found += [
            _sum(
                context, f"{library}, {wait} wait", "openmp", values, "--wait", wait,
                environment=state.environment,
            )
            for wait in ("default", "active")
            if state.present
        ]  # fmt: skip
    if context.peer("tbb").present:
        for partitioner in ("auto", "simple", "static"):
            for grain in (1, 1_000, 10_000, 100_000):
                words = ("--partitioner", partitioner, "--grain", str(grain))
                found.append(_sum(context, f"oneTBB {partitioner}, grain {grain}", "tbb", values, *words))
        found.append(_sum(context, "std::reduce(par_unseq)", "stdpar", values))
    return found


def sums(context: Context) -> list[Entry]:
    """B11."""
    budget = context.budget()
    missing = context.without(_SUM_LIBRARIES)
    cells = []
    for place, values in enumerate(SUMS):
        cells.append(_sum_cell(context, values, (0.7, 1.02)[place], budget.left / (len(SUMS) - place)))
    what = "deterministic sums against the best peer's in any order"
    return [context.add(farthest("B11", what, cells, missing)), *cells]


def _sum_cell(context: Context, values: int, target: float, seconds: float) -> Entry:
    budget, choosing = Budget(context.clock, seconds), Budget(context.clock, seconds * _CHOOSING_SHARE)
    mine = _sum(context, "parallel_reduce", "tautochrone", values)
    what = f"sum of {values:,} doubles, in index order, against the best peer's in any order"
    missing = context.without(_SUM_LIBRARIES)
    with context.bench(f"B11/{values}") as bench:
        best = fastest(bench, _sum_rivals(context, values), choosing)
        if best is None:
            why = joined("no peer ran", missing, *bench.errors())
            return context.add(not_measured(f"B11/{values}", what, "", target, why, cell=f"{values}"))
        bench.run([mine, best], _ROUNDS, budget.left)
        note = joined(times_note(bench, mine, best), missing)
        found = compare(bench.pairs(mine, best))
        return context.add(
            of_comparison(f"B11/{values}", what, best.name, found, target, cell=f"{values}", note=note)
        )


def own_unordered(context: Context) -> list[Entry]:
    """B12."""
    budget = context.budget()
    contests = [
        (
            f"{values} doubles",
            _sum(context, "in order", "tautochrone", values),
            _sum(context, "unordered", "tautochrone", values, "--unordered"),
        )
        for values in SUMS
    ]
    contests += [
        (tasks.cell, ours(context, tasks), ours(context, tasks, "unordered")) for tasks in (*SHORT, LONG[0])
    ]
    cells = []
    for place, (cell, mine, unordered) in enumerate(contests):
        name = cell.replace(" ", "-")
        with context.bench(f"B12/{name}") as bench:
            bench.run([mine, unordered], _ROUNDS, budget.left / (len(contests) - place))
            found = compare(bench.pairs(mine, unordered))
            what = f"{cell}: in index order against unordered"
            note = times_note(bench, mine, unordered)
            cells.append(
                context.add(
                    of_comparison(f"B12/{name}", what, "ours, unordered", found, 1.05, cell=cell, note=note)
                )
            )
    return [context.add(worst("B12", "deterministic against our own unordered", cells, 1.05)), *cells]


def best_split(tasks: int, seconds: Sequence[float]) -> float:
    """The least time of whole tasks on cores that need `seconds` for one each. O(tasks × cores)."""
    ends = [0.0] * len(seconds)
    for _ in range(tasks):
        core = min(range(len(seconds)), key=lambda one: ends[one] + seconds[one])
        ends[core] += seconds[core]
    return max(ends)


def slowed_tasks(context: Context) -> list[Entry]:
    """B13."""
    budget = context.budget()
    cells: list[Entry] = []
    try:
        emulation: Any = emulated({context.cpus[1]: FACTOR})
        emulation.__enter__()
    except TautoError as error:
        row = not_measured("B13", "tasks on unequal cores", "", 1.03, str(error))
        return [context.add(row)]
    try:
        for place, tasks in enumerate(SLOWED):
            # The runs of the first cell take twice as long.
            cells += _slowed_cell(context, tasks, budget.share((2.0, 1.0)[place], (3.0, 1.0)[place]))
    finally:
        emulation.__exit__(None, None, None)
    what = f"core {context.cpus[1]} slowed by {FACTOR:g}: the bound, and the best peer"
    own = farthest("B13", what, cells, context.without(RIVALS, STUDY))
    return [context.add(own), *cells]


def _slowed_cell(context: Context, tasks: Tasks, seconds: float) -> list[Entry]:
    budget, choosing = Budget(context.clock, seconds), Budget(context.clock, seconds * _CHOOSING_SHARE)
    mine, rivals = ours(context, tasks), ways(context, tasks)
    each_core = alone(context, tasks)
    with context.bench(f"B13/{tasks.cell}") as bench:
        best = best_way(bench, rivals, choosing)
        chosen = [one for one in (mine, best, *each_core) if one is not None]
        rows = bench.run(chosen, _ROUNDS, budget.left)
        bound = compare(split_pairs(rows, mine, each_core, tasks))
        entries = [
            of_comparison(
                f"B13/{tasks.cell}/bound", f"{tasks.name} against the best split", "the bound", bound, 1.03
            ),
            _against_best(context, bench, "B13", tasks, mine, best, 0.98),
        ]
    return [context.add(replace(one, cell=one.id.split("/", 1)[1])) for one in entries]


def split_pairs(
    rows: Sequence[Row], mine: Configuration, each_core: Sequence[Configuration], tasks: Tasks
) -> Pairs:
    """(our seconds, the best split of whole tasks) of each round; a core's task is its serial time over n."""
    few = few_alone(tasks)
    by_round: dict[int, dict[str, float]] = {}
    for row in rows:
        by_round.setdefault(row["round"], {})[row["config_id"]] = float(row["seconds"])
    wanted = [mine.config_id, *(one.config_id for one in each_core)]
    return [
        (found[mine.config_id], best_split(tasks.number, [found[one.config_id] / few for one in each_core]))
        for _, found in sorted(by_round.items())
        if all(config_id in found for config_id in wanted)
    ]
