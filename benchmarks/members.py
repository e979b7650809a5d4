"""B15 to B18: collectives between members, against OpenMP, the MPIs and the laws that a curve should keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from benchmarks.context import Bench, Budget, Context
from benchmarks.entry import Entry, farthest, joined, not_measured, of_comparison, worst
from benchmarks.micro import (
    OPENMP,
    SHORT,
    against_fastest,
    openmp_waits,
    program_configuration,
    round_trips,
    times_note,
)
from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.row import Row
from tautochrone.runners import PeerState
from tautochrone.statistics import compare, geometric_mean

STUDY = "collective"
OPERATIONS = ("all_reduce", "all_gather")
MPI = ("openmpi", "mpich", "intelmpi")
LENGTHS = tuple(sorted({*(2**k for k in range(3, 17)), *(3 * 2**k for k in range(2, 15))}))
SHORT_LENGTHS = (1, 7)
FIRST, LAST, STEP = 8, 65_536, 1.05

CHEAPER_TARGET = 1 / 0.97
JUMP_TARGET = 1.25
_SCREENING_ROUNDS = 5
_ROUNDS = 41
_CHOOSING_SHARE = 0.3
_SUSPECTS = 6  # pairs of lengths that the choosing rounds point at and fresh ones judge

Times = Mapping[int, float]
"""Seconds of an operation by its length in words."""
Pairs = list[tuple[float, float]]


# -- B15 --


def barrier(context: Context) -> list[Entry]:
    """B15."""
    budget = context.budget()
    ours = program_configuration(
        context, "tautochrone's barrier", "collective-threads", *SHORT, "--operation", "barrier"
    )
    ours = replace(ours, group="barrier")
    what = "barrier of 2 members against the better OpenMP's, and against a one-way transfer"
    rivals = openmp_waits(context, "barrier-openmp")
    cells = [
        _barrier_cell(
            context, "openmp", "OpenMP's barrier", ours, rivals, 0.55, budget.left / 2, one_way=False
        ),
        _barrier_cell(
            context, "transfer", "one cache line one way", ours, round_trips(context, ours.group), 1.4,
            budget.left / 2, one_way=True,
        ),
    ]  # fmt: skip
    own = farthest("B15", what, cells, context.without(OPENMP))
    return [context.add(own), *cells]


def _barrier_cell(
    context: Context,
    cell: str,
    peer: str,
    ours: Configuration,
    rivals: Sequence[Configuration],
    target: float,
    seconds: float,
    *,
    one_way: bool,
) -> Entry:
    what = f"barrier of 2 members against {peer}"
    if not rivals:
        return context.add(not_measured(f"B15/{cell}", what, "", target, "no peer is here", cell=cell))
    with context.bench(f"B15/{cell}") as bench:
        best = against_fastest(bench, ours, rivals, seconds)
        # A round trip is two transfers.
        pairs = [(mine, theirs / 2 if one_way else theirs) for mine, theirs in bench.pairs(ours, best)]
        note = times_note(bench, ours, best)
        return context.add(
            of_comparison(f"B15/{cell}", what, best.name, compare(pairs), target, cell=cell, note=note)
        )


# -- B16, B17: against the better MPI --


def short_reductions(context: Context) -> list[Entry]:
    """B16."""
    cells = _against_mpi(context, "B16", ("all_reduce",), SHORT_LENGTHS, 0.30)
    what = "all_reduce of 1 and 7 doubles against the better MPI"
    return [context.add(_own("B16", what, cells, 0.30, context.without(MPI, STUDY))), *cells]


def every_length(context: Context) -> list[Entry]:
    """B17."""
    cells = _against_mpi(context, "B17", OPERATIONS, LENGTHS, 0.6, means=0.4)
    what = "all_reduce and all_gather, fresh data, 8 … 65,536 words, against the better MPI at each length"
    return [context.add(farthest("B17", what, cells, context.without(MPI, STUDY))), *cells]


def _own(identifier: str, what: str, cells: list[Entry], target: float, missing: str) -> Entry:
    found = worst(identifier, what, cells, target)
    return replace(found, note=joined(found.note, missing))


def _against_mpi(
    context: Context,
    benchmark: str,
    operations: Sequence[str],
    lengths: Sequence[int],
    target: float,
    means: float | None = None,
) -> list[Entry]:
    budget = context.budget()
    ours = _collective(context, context.peer("tautochrone", STUDY), operations, lengths)
    rivals = [
        _collective(context, context.peer(name, STUDY), operations, lengths)
        for name in MPI
        if context.peer(name, STUDY).present
    ]
    if not rivals:
        what = f"{' and '.join(operations)} against the better MPI"
        why = "no MPI is here"
        return [context.add(not_measured(f"{benchmark}/mpi", what, "", target, why, cell="mpi"))]
    with context.bench(benchmark) as bench:
        bench.screen(rivals, _SCREENING_ROUNDS, budget.left * _CHOOSING_SHARE)
        rows = bench.run([ours, *rivals], _ROUNDS, budget.left)
        cells: list[Entry] = []
        for operation in operations:
            pairs = _pairs_at_each_length(bench, rows, operation, ours, rivals)
            cells += _length_cells(context, benchmark, operation, pairs, target, bench.errors())
            if means is not None:
                cells.append(_mean_cell(context, benchmark, operation, pairs, means))
        return cells


def _collective(
    context: Context, state: PeerState, operations: Sequence[str], lengths: Sequence[int], sweeps: int = 2
) -> Configuration:
    """A collective runner over so many lengths, with the library's own operations."""
    if state.path is None:
        raise TautoError(state.reason, state.remedy)
    words = ["--operations", ",".join(operations), "--lengths", ",".join(map(str, lengths))]
    words += ["--engine", state.peer.default_schedule, "--cpus", ",".join(map(str, context.cpus))]
    words += ["--warmup-seconds", "0.0005", "--min-seconds", "0.003", "--sweeps", str(sweeps)]
    settings = {"library": state.peer.name, "operations": list(operations), "lengths": list(lengths)}
    return Configuration(state.peer.name, [str(state.path), *words], state.environment, settings, "words")


def _times(row: Row, operation: str) -> Times:
    points = row["detail"]["points"]
    return {one["words"]: float(one["seconds"]) for one in points if one["operation"] == operation}


def _by_configuration(rows: Iterable[Row], operation: str) -> dict[str, dict[int, Times]]:
    """config_id → round → the curve of that launch."""
    found: dict[str, dict[int, Times]] = {}
    for row in rows:
        if row["error"] is None:
            found.setdefault(row["config_id"], {})[row["round"]] = _times(row, operation)
    return found


def _pairs_at_each_length(
    bench: Bench, rows: Sequence[Row], operation: str, ours: Configuration, rivals: Sequence[Configuration]
) -> dict[int, tuple[str, Pairs]]:
    """Length → the library that was the faster one there in the choosing rounds, and (ours, its) seconds."""
    chosen = _by_configuration(bench.store.rows("screening"), operation)
    fresh = _by_configuration(rows, operation)
    mine = fresh.get(ours.config_id, {})
    lengths = sorted({words for times in mine.values() for words in times})
    found: dict[int, tuple[str, Pairs]] = {}
    for words in lengths:
        at = [
            (median(seconds), place)
            for place, one in enumerate(rivals)
            if (
                seconds := [
                    times[words] for times in chosen.get(one.config_id, {}).values() if words in times
                ]
            )
        ]
        if not at:
            continue
        best = rivals[min(at)[1]]
        theirs = fresh.get(best.config_id, {})
        pairs = [
            (mine[number][words], theirs[number][words])
            for number in sorted(mine.keys() & theirs.keys())
            if words in mine[number] and words in theirs[number]
        ]
        found[words] = (best.name, pairs)
    return found


def _length_cells(
    context: Context,
    benchmark: str,
    operation: str,
    pairs: Mapping[int, tuple[str, Pairs]],
    target: float,
    errors: Sequence[str],
) -> Iterator[Entry]:
    if not pairs:
        why = "; ".join(errors)
        yield context.add(
            not_measured(f"{benchmark}/{operation}", operation, "", target, why, cell=operation)
        )
    for words, (peer, found) in pairs.items():
        cell = f"{operation}/{words}"
        what = f"{operation} of {words:,} words against the better MPI"
        yield context.add(of_comparison(f"{benchmark}/{cell}", what, peer, compare(found), target, cell=cell))


def _mean_cell(
    context: Context,
    benchmark: str,
    operation: str,
    pairs: Mapping[int, tuple[str, Pairs]],
    target: float,
) -> Entry:
    cell = f"{operation}/mean"
    found = geometric_mean([each for _, each in pairs.values()]) if pairs else compare([])
    what = f"{operation}, geometric mean over {len(pairs)} lengths, against the better MPI"
    return context.add(of_comparison(f"{benchmark}/{cell}", what, "the better MPI", found, target, cell=cell))


# -- B18: no step and no length that is cheaper than a shorter one --


def fine_lengths() -> tuple[int, ...]:
    """Lengths from 8 to 65,536 words, each 5 % above the one before, or by a word."""
    found = [FIRST]
    while found[-1] < LAST:
        found.append(min(LAST, max(found[-1] + 1, int(found[-1] * STEP))))
    return tuple(found)


def smooth(context: Context) -> list[Entry]:
    """B18."""
    budget = context.budget()
    lengths = fine_lengths()
    cells: list[Entry] = []
    for place, operation in enumerate(OPERATIONS):
        seconds = budget.left / (len(OPERATIONS) - place)
        cells += _smooth_cells(context, operation, lengths, seconds)
    what = "our all_reduce and all_gather: nothing cheaper than a shorter one, no jump between neighbours"
    return [context.add(farthest("B18", what, cells)), *cells]


Suspect = tuple[int, int]
"""Two lengths, the shorter one first."""


def shorter_is_dearer(curve: Times) -> dict[Suspect, float]:
    """For each length the cheapest longer one that takes less: time(w) / time(w'). O(n²)."""
    words = sorted(curve)
    found = {}
    for place, short in enumerate(words[:-1]):
        long = min(words[place + 1 :], key=lambda one: curve[one])
        found[short, long] = curve[short] / curve[long]
    return found


def neighbours_jump(curve: Times) -> dict[Suspect, float]:
    """time(w') / time(w) of neighbouring lengths."""
    words = sorted(curve)
    return {(a, b): curve[b] / curve[a] for a, b in pairwise(words)}


def _smooth_cells(
    context: Context, operation: str, lengths: Sequence[int], seconds: float
) -> Iterator[Entry]:
    budget = Budget(context.clock, seconds)
    ours = _collective(context, context.peer("tautochrone", STUDY), (operation,), lengths)
    with context.bench(f"B18/{operation}") as bench:
        bench.screen([ours], 2 * _SCREENING_ROUNDS, budget.left * _CHOOSING_SHARE)
        rows = bench.run([ours], _ROUNDS, budget.left)
        screened = _curves(bench.store.rows("screening"), operation)
        fresh = _curves(rows, operation)
        errors = "; ".join(bench.errors())
    laws: tuple[tuple[str, str, float, Callable[[Times], dict[Suspect, float]], bool], ...] = (
        ("cheaper", "a longer call against the dearest shorter one", CHEAPER_TARGET, shorter_is_dearer, True),
        ("jump", "the largest jump between neighbours", JUMP_TARGET, neighbours_jump, False),
    )
    for name, what, target, factors, shorter_first in laws:
        cell = f"{operation}/{name}"
        text = f"{operation} of {len(lengths)} lengths, {what}"
        if not screened or not fresh:
            yield context.add(not_measured(f"B18/{cell}", text, "itself", target, errors, cell=cell))
            continue
        worst_pair = _worst_suspect(factors(_medians(screened)), fresh, shorter_first)
        yield context.add(_suspect_entry(f"B18/{cell}", text, worst_pair, target, cell))


def _curves(rows: Iterable[Row], operation: str) -> list[Times]:
    return [_times(row, operation) for row in rows if row["error"] is None]


def _medians(curves: Sequence[Times]) -> Times:
    common = set.intersection(*(set(one) for one in curves))
    return {words: median(one[words] for one in curves) for words in common}


def _worst_suspect(
    factors: Mapping[Suspect, float], fresh: Sequence[Times], shorter_first: bool
) -> tuple[Suspect, Pairs]:
    """Of the pairs that the choosing rounds point at, the one that fresh rounds find worst."""
    suspects = sorted(factors, key=lambda pair: factors[pair], reverse=True)[:_SUSPECTS]
    measured = []
    for short, long in suspects:
        above, below = (short, long) if shorter_first else (long, short)
        measured.append(((short, long), [(one[above], one[below]) for one in fresh]))
    return max(measured, key=lambda each: compare(each[1]).ratio or 0.0)


def _suspect_entry(
    identifier: str, what: str, found: tuple[Suspect, Pairs], target: float, cell: str
) -> Entry:
    (short, long), pairs = found
    note = f"worst at {short:,} and {long:,} words"
    return of_comparison(identifier, what, "itself", compare(pairs), target, cell=cell, note=note)
