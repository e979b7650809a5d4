"""The collective study's findings, from its rows: everything that the report draws and says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tautochrone import statistics
from tautochrone.report.analysis_types import Ratio
from tautochrone.report.collective.analysis_types import (
    CollectiveAnalysis,
    LengthPoint,
    OperationCurve,
    Overall,
)
from tautochrone.report.spent import longest, spent_of
from tautochrone.row import Row
from tautochrone.studies.collective import findings
from tautochrone.studies.collective.claims import claims
from tautochrone.studies.collective.configurations import PAIRS
from tautochrone.studies.collective.context import CollectiveContext
from tautochrone.studies.collective.curves import (
    Curve,
    Runs,
    collect,
    common_words,
    default_runs,
    pairs_at,
)
from tautochrone.studies.collective.paste import settings_to_paste
from tautochrone.studies.collective.sentences import BETTER_MPI, remarks, verdict_sentences
from tautochrone.studies.contenders import OURS, as_ratio
from tautochrone.studies.disturbance import others_share


def analyse(
    rows: Iterable[Row], machine: Mapping[str, Any], context: CollectiveContext
) -> CollectiveAnalysis:
    """The analysis of the study's rows. ``machine`` is a record of tautochrone.machine/1."""
    rows = list(rows)
    runs = collect(rows)
    curves = tuple(curve for one in runs for curve in _curves(one, runs))
    overall = tuple(_overall(runs))
    ranks = max((int(row["config"]["threads"]) for row in rows), default=0)
    cpus = max((len(row["config"]["cpus"]) for row in rows), default=0)
    clocks = [seconds for one in runs for seconds in one.clock_seconds]
    return CollectiveAnalysis(
        verdict_sentences=verdict_sentences(curves, overall, ranks, cpus, others_share(rows, machine)),
        ranks=ranks,
        curves=curves,
        overall=overall,
        remarks=remarks(curves),
        refined_words=context.refined,
        clock_seconds=statistics.median_interval(clocks).median if clocks else None,
        late=sum(one.late for one in runs),
        failed=tuple(
            dict.fromkeys(f"{one.label}: {one.errors[0]}" for one in runs if one.errors and not one.curves)
        ),
        settings_to_paste=settings_to_paste(runs),
        peers=context.peers,
        not_measured=context.not_measured,
        claims=claims(curves, ranks),
        commands=context.commands,
        advice=(*context.machine_advice, *context.notices),
        quick=context.quick,
    )


def _curves(one: Runs, runs: Sequence[Runs]) -> Iterator[OperationCurve]:
    """What the charts draw: the two operations, and the pairs that they are held against."""
    broken = findings.guidelines(one)
    for operation in (*PAIRS, *PAIRS.values()):
        curve = one.curve(operation)
        if curve is None:
            continue
        main = operation in PAIRS
        yield OperationCurve(
            runtime=one.peer,
            label=one.label,
            is_default=one.is_default and main,
            operation=operation,
            points=tuple(_points(curve, operation, one, runs)),
            segments=findings.fitted_segments(curve) if main else (),
            steps=findings.steps(curve) if main else (),
            guidelines=tuple(found for found in broken if found.operation == operation),
        )


def _points(curve: Curve, operation: str, one: Runs, runs: Sequence[Runs]) -> Iterator[LengthPoint]:
    rivals = _mpi_curves(runs, operation) if one.peer == OURS and one.is_default else []
    alike = [found for each in runs if (found := each.curve(operation)) is not None]
    for words in curve.words:
        launches = list(curve.at(words).values())
        interval = statistics.median_interval(launches)
        yield LengthPoint(
            words=words,
            seconds=curve.medians[words],
            low=interval.low,
            high=interval.high,
            launches=len(launches),
            to_better_mpi=_to_better(curve, rivals, words),
            spent=spent_of(curve.rows_at(words), longest(each.medians.get(words) for each in alike)),
        )


def _mpi_curves(runs: Sequence[Runs], operation: str) -> list[Curve]:
    found = (one.curve(operation) for one in default_runs(runs) if one.peer != OURS)
    return [curve for curve in found if curve is not None]


def _better_at(rivals: Sequence[Curve], words: int) -> Curve | None:
    """The MPI whose median is the least at a length."""
    there = [curve for curve in rivals if words in curve.medians]
    return min(there, key=lambda curve: curve.medians[words], default=None)


def _to_better(curve: Curve, rivals: Sequence[Curve], words: int) -> Ratio | None:
    better = _better_at(rivals, words)
    return as_ratio(statistics.compare(pairs_at(curve, better, words))) if better is not None else None


def _overall(runs: Sequence[Runs]) -> Iterator[Overall]:
    """Ours against the better MPI at each length, and against each library."""
    ours = next((one for one in runs if one.peer == OURS and one.is_default), None)
    for operation in PAIRS:
        curve = ours.curve(operation) if ours is not None else None
        if curve is None:
            continue
        rivals = _mpi_curves(runs, operation)
        cells = [
            pairs_at(curve, better, words)
            for words in curve.words
            if (better := _better_at(rivals, words)) is not None
        ]
        yield Overall(operation=operation, against=BETTER_MPI, ratio=_mean(cells), lengths=len(cells))
        for one in default_runs(runs):
            other = one.curve(operation)
            if one.peer != OURS and other is not None:
                cells = [pairs_at(curve, other, words) for words in common_words(curve, other)]
                yield Overall(operation=operation, against=one.peer, ratio=_mean(cells), lengths=len(cells))


def _mean(cells: Sequence[Sequence[tuple[float, float]]]) -> Ratio:
    """The geometric mean over lengths; the k-th launches of all of them are one draw."""
    return as_ratio(statistics.geometric_mean(cells))
