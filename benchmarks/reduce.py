"""B9 to B13: map/reduce of short tasks and sums, against the ideal, the peers and themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.context import Bench, Context
from benchmarks.entry import Entry, not_measured, of_comparison, worst
from benchmarks.micro import program_configuration, times_note
from tautochrone import runners
from tautochrone.configuration import Configuration
from tautochrone.emulate import emulated
from tautochrone.errors import TautoError
from tautochrone.row import Row
from tautochrone.statistics import compare

FACTOR = 4.0
_TIMES = ("--warmup-seconds", "0.05", "--min-seconds", "0.1")
_CHOOSING_ROUNDS = 3
_LEADERS = 3
_ROUNDS = 25
Pairs = list[tuple[float, float]]


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


# FNV-1a takes four cycles and a little for a byte: 1.3 ns here.
LONG = (Tasks(50, 300_000, "0.4ms"), Tasks(50, 750_000, "1ms"), Tasks(50, 2_250_000, "3ms"))
SHORT = (Tasks(1_000, 770, "1µs"), Tasks(10_000, 85, "0.1µs"))
SLOWED = (Tasks(1_000, 77_000, "100µs"), Tasks(50, 300_000, "0.4ms"))
SUMS = (1_000, 1_000_000)

# The ways of each peer that are worth a look, and of which executable they are: (peer, schedule, chunks).
WAYS: tuple[tuple[str, str, str, tuple[int | None, ...]], ...] = (
    ("qt", "qt", "unordered", (None,)),
    ("qt", "qt", "ordered", (None,)),
    ("tbb", "tbb", "auto", (1, 16)),
    ("tbb", "tbb", "simple", (1, 16)),
    ("tbb", "tbb", "static", (None,)),
    ("libgomp", "openmp", "dynamic", (1, 16)),
    ("libgomp", "openmp", "static", (None,)),
    ("libgomp", "openmp", "guided", (1,)),
    ("libomp", "openmp", "dynamic", (1, 16)),
    ("libomp", "openmp", "static", (None,)),
    ("libomp", "openmp", "guided", (1,)),
    ("stdpar", "stdpar", "par", (None,)),
)


def _tasks_configuration(
    context: Context,
    name: str,
    executable: str,
    tasks: Tasks,
    schedule: str,
    chunk: int | None = None,
    cpus: Sequence[int] | None = None,
    environment: dict[str, str] | None = None,
) -> Configuration:
    where = list(cpus or context.cpus)
    command = [str(runners.find(f"tauto-mapreduce-{executable}"))]
    command += ["--tasks", str(tasks.number), "--bytes", str(tasks.bytes)]
    command += ["--threads", str(len(where)), "--cpus", ",".join(map(str, where)), "--schedule", schedule]
    command += [*_TIMES, *(["--chunk", str(chunk)] if chunk is not None else [])]
    settings = {"runtime": name, "tasks": tasks.number, "bytes": tasks.bytes, "schedule": schedule}
    settings |= {"chunk": chunk, "cpus": where}
    label = f"{name} {schedule}" + (f", chunk {chunk}" if chunk is not None else "")
    return Configuration(label, command, environment or {}, settings, tasks.cell)


def _ours(context: Context, tasks: Tasks, schedule: str = "adaptive") -> Configuration:
    return _tasks_configuration(context, "tautochrone", "tautochrone", tasks, schedule)


def _rivals(context: Context, tasks: Tasks) -> list[Configuration]:
    """Every way of every peer that is here."""
    found = []
    for peer, executable, schedule, chunks in WAYS:
        environment: dict[str, str] = {}
        if peer in runners.PEER_BY_NAME:
            state = context.peer(peer)
            if not state.present:
                continue
            environment = dict(state.environment)
        try:
            found += [
                _tasks_configuration(context, peer, executable, tasks, schedule, chunk, None, environment)
                for chunk in chunks
            ]
        except TautoError:
            continue  # its runner was not built because the library is missing
    return found


def _of_peer(rivals: Sequence[Configuration], peer: str) -> list[Configuration]:
    return [one for one in rivals if one.settings["runtime"] == peer]


def _best(bench: Bench, rivals: Sequence[Configuration], seconds: float) -> Configuration:
    """The fastest of `rivals`: one round of all, then some more of the leaders."""
    bench.screen(rivals, 1, seconds * 0.5)
    leaders = bench.ranked(rivals)[:_LEADERS]
    if not leaders:
        return rivals[0]
    bench.screen(leaders, _CHOOSING_ROUNDS, seconds * 0.5)
    return bench.ranked(leaders)[0]


def _ideal_pairs(rows: Sequence[Row], ours: Configuration, ideal: Any) -> Pairs:
    """(our seconds, ideal(detail)) of each of our rows; the task was timed alone in the same process."""
    return [
        (float(row["seconds"]), float(ideal(row["detail"])))
        for row in rows
        if row["config_id"] == ours.config_id
    ]


def whole_tasks(context: Context) -> list[Entry]:
    """B9."""
    budget = context.budget()
    members = len(context.cpus)
    cells = []
    for place, tasks in enumerate(LONG):
        ours = _ours(context, tasks)
        with context.bench(f"B9/{tasks.cell}") as bench:
            rows = bench.run([ours], _ROUNDS, budget.left / (len(LONG) - place))
            pairs = _ideal_pairs(
                rows, ours, lambda row: math.ceil(row["tasks"] / members) * row["task_seconds"]
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
    members = len(context.cpus)
    cells: list[Entry] = []
    for place, tasks in enumerate(SHORT):
        seconds = budget.left / (len(SHORT) - place)
        bound, qt_target = ((1.02, 0.90), (1.06, 0.5))[place]
        ours, rivals = _ours(context, tasks), _rivals(context, tasks)
        with context.bench(f"B10/{tasks.cell}") as bench:
            best = _best(bench, rivals, seconds * 0.3)
            qt = bench.ranked(_of_peer(rivals, "qt"))[:1]
            wanted = list({one.config_id: one for one in [ours, best, *qt]}.values())
            rows = bench.run(wanted, _ROUNDS, seconds * 0.7)
            ideal = compare(_ideal_pairs(rows, ours, lambda d: d["tasks"] * d["task_seconds"] / members))
            cells += [
                of_comparison(
                    f"B10/{tasks.cell}/ideal", f"{tasks.name} against work/2", "work/2", ideal, bound
                ),
                of_comparison(
                    f"B10/{tasks.cell}/best",
                    f"{tasks.name} against the best peer",
                    best.name,
                    compare(bench.pairs(ours, best)),
                    1.02,
                    note=times_note(bench, ours, best),
                ),
                _against_qt(bench, tasks, ours, qt, qt_target),
            ]
    cells = [context.add(replace(one, cell=one.id.split("/", 1)[1])) for one in cells]
    own = _farthest("B10", "1,000 tasks of 1 µs and 10,000 of 0.1 µs: work/2, Qt, the best peer", cells)
    return [context.add(own), *cells]


def _against_qt(
    bench: Bench, tasks: Tasks, ours: Configuration, qt: Sequence[Configuration], target: float
) -> Entry:
    what = f"{tasks.name} against QtConcurrent"
    if not qt:
        return not_measured(f"B10/{tasks.cell}/qt", what, "Qt", target, "Qt is not here")
    found = compare(bench.pairs(ours, qt[0]))
    return of_comparison(
        f"B10/{tasks.cell}/qt", what, qt[0].name, found, target, note=times_note(bench, ours, qt[0])
    )


def _farthest(id_: str, what: str, cells: Sequence[Entry]) -> Entry:
    """The cell that is farthest above its own target, as the row of all of them."""
    known = [one for one in cells if one.ratio is not None]
    if not known:
        return not_measured(id_, what, "", 1.0, "; ".join(one.note for one in cells if one.note))
    far = max(known, key=lambda one: (one.ratio or 0.0) / one.target)
    verdicts = [one.met for one in cells]
    met = False if False in verdicts else None if None in verdicts else True
    missed = ", ".join(str(one.cell) for one in cells if one.met is False)
    note = f"farthest from its target: {far.cell}" + (f"; missed: {missed}" if missed else "")
    return replace(far, id=id_, what=what, met=met, note=note, cell="")


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
    for library in ("libgomp", "libomp"):
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
    cells = []
    for place, values in enumerate(SUMS):
        seconds = budget.left / (len(SUMS) - place)
        target = (0.7, 1.02)[place]
        ours = _sum(context, "parallel_reduce", "tautochrone", values)
        with context.bench(f"B11/{values}") as bench:
            best = _best(bench, _sum_rivals(context, values), seconds * 0.4)
            bench.run([ours, best], _ROUNDS, seconds * 0.6)
            what = f"sum of {values:,} doubles, in index order, against the best peer's in any order"
            found = compare(bench.pairs(ours, best))
            note = times_note(bench, ours, best)
            cells.append(
                context.add(
                    of_comparison(
                        f"B11/{values}", what, best.name, found, target, cell=f"{values}", note=note
                    )
                )
            )
    return [
        context.add(_farthest("B11", "deterministic sums against the best peer's in any order", cells)),
        *cells,
    ]


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
        (tasks.cell, _ours(context, tasks), _ours(context, tasks, "unordered")) for tasks in (*SHORT, LONG[0])
    ]
    cells = []
    for place, (cell, ours, unordered) in enumerate(contests):
        name = cell.replace(" ", "-")
        with context.bench(f"B12/{name}") as bench:
            bench.run([ours, unordered], _ROUNDS, budget.left / (len(contests) - place))
            found = compare(bench.pairs(ours, unordered))
            what = f"{cell}: in index order against unordered"
            note = times_note(bench, ours, unordered)
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
            cells += _slowed_cell(context, tasks, budget.left / (len(SLOWED) - place))
    finally:
        emulation.__exit__(None, None, None)
    own = _farthest(
        "B13", f"core {context.cpus[1]} slowed by {FACTOR:g}: the bound, and the best peer", cells
    )
    return [context.add(own), *cells]


def _slowed_cell(context: Context, tasks: Tasks, seconds: float) -> list[Entry]:
    ours, rivals = _ours(context, tasks), _rivals(context, tasks)
    alone = [
        _tasks_configuration(context, f"serial on CPU {cpu}", "serial", tasks, "serial", None, [cpu])
        for cpu in context.cpus
    ]
    with context.bench(f"B13/{tasks.cell}") as bench:
        best = _best(bench, rivals, seconds * 0.35)
        rows = bench.run([ours, best, *alone], _ROUNDS, seconds * 0.65)
        found = compare(bench.pairs(ours, best))
        bound = compare(split_pairs(rows, ours, alone, tasks.number))
        note = times_note(bench, ours, best)
    entries = [
        of_comparison(
            f"B13/{tasks.cell}/bound", f"{tasks.name} against the best split", "the bound", bound, 1.03
        ),
        of_comparison(
            f"B13/{tasks.cell}/best", f"{tasks.name} against the best peer", best.name, found, 0.98, note=note
        ),
    ]
    return [context.add(replace(one, cell=one.id.split("/", 1)[1])) for one in entries]


def split_pairs(
    rows: Sequence[Row], ours: Configuration, alone: Sequence[Configuration], tasks: int
) -> Pairs:
    """(our seconds, the best split of whole tasks) of each round; a core's task is its serial time over n."""
    by_round: dict[int, dict[str, float]] = {}
    for row in rows:
        by_round.setdefault(row["round"], {})[row["config_id"]] = float(row["seconds"])
    wanted = [ours.config_id, *(one.config_id for one in alone)]
    return [
        (found[ours.config_id], best_split(tasks, [found[one.config_id] / tasks for one in alone]))
        for _, found in sorted(by_round.items())
        if all(config_id in found for config_id in wanted)
    ]
