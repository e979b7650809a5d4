"""B16 to B18: collectives between members, against the MPIs and the laws that a curve should keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median

from benchmarks.context import Budget, Context
from benchmarks.measurement import Measurement
from benchmarks.rounds import Bench, Pairs
from tautochrone.measuring.configuration import Configuration
from tautochrone.results.row import SCREENING, Row
from tautochrone.verdicts import compare, geometric_mean

STUDY = "collective"
MPI = ("openmpi", "mpich", "intelmpi")
_SCREENING_ROUNDS = 5
_ROUNDS = 41
_CHOOSING_SHARE = 0.3
_SUSPECTS = 6  # pairs of lengths that the choosing rounds point at and fresh ones judge

Times = Mapping[int, float]
"""Seconds of an operation by its length in words."""


def _collective(
    context: Context, library: str, operations: Sequence[str], lengths: Sequence[int]
) -> Configuration:
    """A collective runner over these lengths, with the library's own operations."""
    path, environment = context.runner(library, STUDY)
    words = ["--operations", ",".join(operations), "--lengths", ",".join(map(str, lengths))]
    words += ["--engine", context.peer(library, STUDY).peer.default_schedule, "--cpus", context.cpus_text]
    words += ["--warmup-seconds", "0.0005", "--min-seconds", "0.003", "--sweeps", "2"]
    settings = {"library": library, "operations": list(operations), "lengths": list(lengths)}
    return Configuration(library, [path, *words], environment, settings)


def _times(row: Row, operation: str) -> Times:
    points = row.detail["points"]
    return {point["words"]: float(point["seconds"]) for point in points if point["operation"] == operation}


def _curves(rows: Iterable[Row], operation: str, made: Configuration) -> dict[int, Times]:
    """By round, the curve of that launch."""
    return {
        row.round: _times(row, operation)
        for row in rows
        if row.error is None and row.config_id == made.config_id
    }


def _medians(curves: Iterable[Times]) -> Times:
    """At the lengths that all of them have."""
    every = list(curves)
    common = set.intersection(*(set(curve) for curve in every)) if every else set()
    return {words: median(curve[words] for curve in every) for words in common}


# -- B16, B17: against the better MPI --


def against_mpi(
    m: Measurement, operations: Sequence[str], lengths: Sequence[int], mean: bool = False
) -> None:
    """B16, B17."""
    context = m.context
    ours = _collective(context, "tautochrone", operations, lengths)
    present = [state.peer.name for state in context.present(MPI, STUDY)]
    rivals = [_collective(context, library, operations, lengths) for library in present]
    m.missing = context.without(MPI, STUDY)
    if not rivals:
        what = f"{' and '.join(operations)} against the better MPI"
        m.row("mpi", None, note="no MPI is here", what=what)
        return
    with m.bench() as bench:
        bench.screen(rivals, _SCREENING_ROUNDS, m.budget.left * _CHOOSING_SHARE)
        rows = bench.run([ours, *rivals], _ROUNDS, m.budget.left)
        for operation in operations:
            pairs = _pairs_at_each_length(bench, rows, operation, ours, rivals)
            if not pairs:
                m.row(operation, None, note=bench.errors(), what=operation)
            for words, (peer, at) in pairs.items():
                m.row(f"{operation}/{words}", compare(at), peer, operation=operation, words=words)
            if mean:
                found = geometric_mean([at for _, at in pairs.values()]) if pairs else compare([])
                m.row(f"{operation}/mean", found, "the better MPI", operation=operation, count=len(pairs))


def _pairs_at_each_length(
    bench: Bench, rows: Sequence[Row], operation: str, ours: Configuration, rivals: Sequence[Configuration]
) -> dict[int, tuple[str, Pairs]]:
    """Length → the library that was the faster one there in the choosing rounds, and (ours, its) seconds."""
    screened = bench.store.rows(SCREENING)
    choosing = [(_medians(_curves(screened, operation, rival).values()), rival) for rival in rivals]
    fresh = {rival.config_id: _curves(rows, operation, rival) for rival in rivals}
    mine = _curves(rows, operation, ours)
    found: dict[int, tuple[str, Pairs]] = {}
    for words in sorted({words for curve in mine.values() for words in curve}):
        known = [(curve[words], rival) for curve, rival in choosing if words in curve]
        if not known:
            continue
        _, best = min(known, key=lambda pair: pair[0])
        theirs = fresh[best.config_id]
        pairs = [
            (mine[number][words], theirs[number][words])
            for number in sorted(mine.keys() & theirs.keys())
            if words in mine[number] and words in theirs[number]
        ]
        found[words] = (best.name, pairs)
    return found


# -- B18: no step and no length that is cheaper than a shorter one --

Suspect = tuple[int, int]
"""Two lengths, the shorter one first."""


def fine_lengths(first: int, last: int, step: float) -> tuple[int, ...]:
    """Lengths from the first to the last, each longer than the one before by the step, or by a word."""
    lengths = [first]
    while lengths[-1] < last:
        lengths.append(min(last, max(lengths[-1] + 1, int(lengths[-1] * step))))
    return tuple(lengths)


def shorter_costs_more(curve: Times) -> dict[Suspect, float]:
    """For each length the cheapest longer one that takes less: time(w) / time(w'). O(n²)."""
    words = sorted(curve)
    found = {}
    for place, short in enumerate(words[:-1]):
        long = min(words[place + 1 :], key=lambda length: curve[length])
        found[short, long] = curve[short] / curve[long]
    return found


def neighbours_jump(curve: Times) -> dict[Suspect, float]:
    """time(w') / time(w) of neighbouring lengths."""
    return {(a, b): curve[b] / curve[a] for a, b in pairwise(sorted(curve))}


# Each: what it says of a curve, and whether the shorter length's time is the numerator.
LAWS: Mapping[str, tuple[Callable[[Times], dict[Suspect, float]], bool]] = {
    "cheaper": (shorter_costs_more, True),
    "jump": (neighbours_jump, False),
}


def smooth(m: Measurement, operations: Sequence[str], first: int, last: int, step: float) -> None:
    """B18."""
    lengths = fine_lengths(first, last, step)
    for operation, seconds in m.parts(operations):
        budget = Budget(m.context.clock, seconds)
        ours = _collective(m.context, "tautochrone", (operation,), lengths)
        with m.bench(operation) as bench:
            bench.screen([ours], 2 * _SCREENING_ROUNDS, budget.left * _CHOOSING_SHARE)
            fresh = list(_curves(bench.run([ours], _ROUNDS, budget.left), operation, ours).values())
            screened = _medians(_curves(bench.store.rows(SCREENING), operation, ours).values())
            errors = bench.errors()
        for law, (factors, shorter_first) in LAWS.items():
            cell = f"{operation}/{law}"
            count = len(lengths)
            if not screened or not fresh:
                m.row(cell, None, "itself", note=errors, operation=operation, count=count)
                continue
            (short, long), pairs = _worst_suspect(factors(screened), fresh, shorter_first)
            note = f"worst at {short:,} and {long:,} words"
            m.row(cell, compare(pairs), "itself", note=note, operation=operation, count=count)


def _worst_suspect(
    factors: Mapping[Suspect, float], fresh: Sequence[Times], shorter_first: bool
) -> tuple[Suspect, Pairs]:
    """Of the pairs that the choosing rounds point at, the one that fresh rounds find worst."""
    suspects = sorted(factors, key=lambda pair: factors[pair], reverse=True)[:_SUSPECTS]
    measured = []
    for short, long in suspects:
        above, below = (short, long) if shorter_first else (long, short)
        measured.append(((short, long), [(curve[above], curve[below]) for curve in fresh]))
    return max(measured, key=lambda suspect: compare(suspect[1]).ratio or 0.0)
