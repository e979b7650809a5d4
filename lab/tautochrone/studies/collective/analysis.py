"""The collective study's findings, from its rows: everything that the report draws and says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tautochrone import verdicts
from tautochrone.results.row import Row
from tautochrone.results.runs import OURS, median_known
from tautochrone.results.spent import longest, spent_of
from tautochrone.studies.collective import gaps
from tautochrone.studies.collective.claims import claims
from tautochrone.studies.collective.configurations import PAIRS
from tautochrone.studies.collective.curves import (
    Curve,
    Runs,
    collect,
    mean_ratio,
    pairs_at,
    pairs_of,
    points_of,
)
from tautochrone.studies.collective.findings import (
    CollectiveAnalysis,
    CollectiveContext,
    LengthPoint,
    OperationCurve,
    Overall,
)
from tautochrone.studies.collective.first import first_screen
from tautochrone.studies.collective.sentences import BETTER_MPI, remarks, settings_to_paste, verdict_sentences
from tautochrone.studies.disturbance import others_share
from tautochrone.verdicts import as_ratio


def analyse(
    rows: Sequence[Row], machine: Mapping[str, Any], context: CollectiveContext
) -> CollectiveAnalysis:
    """The analysis of the study's rows. ``machine`` is a record of tautochrone.machine/1."""
    runs = collect(rows)
    curves = tuple(curve for library in runs for curve in _curves(library, runs))
    overall = tuple(_overall(runs))
    ranks = max((int(row.config["threads"]) for row in rows), default=0)
    cpus = max((len(row.config["cpus"]) for row in rows), default=0)
    launches = [row for library in runs for row in library.rows]
    return CollectiveAnalysis(
        verdict_sentences=verdict_sentences(curves, overall, ranks, cpus, others_share(rows, machine)),
        ranks=ranks,
        curves=curves,
        overall=overall,
        remarks=remarks(curves),
        refined_words=context.refined,
        clock_seconds=median_known(row.detail.get("clock_seconds") for row in launches),
        late=sum(int(point.get("late") or 0) for row in launches for point in points_of(row)),
        failed=tuple(
            f"{library.label}: {library.errors[0]}"
            for library in runs
            if library.errors and not library.curves
        ),
        first=first_screen(curves, overall),
        settings_to_paste=settings_to_paste(runs),
        claims=claims(curves, ranks),
        **context.reported,
    )


def _curves(library: Runs, runs: Sequence[Runs]) -> Iterator[OperationCurve]:
    """What the charts draw: the two operations, and the pairs that they are held against."""
    for operation in (*PAIRS, *PAIRS.values()):
        curve = library.curves.get(operation)
        if curve is None:
            continue
        main = operation in PAIRS
        yield OperationCurve(
            runtime=library.peer,
            label=library.label,
            is_default=library.is_default and main,
            operation=operation,
            points=tuple(_points(curve, library, runs)),
            segments=gaps.fitted_segments(curve) if main else (),
            steps=gaps.steps(curve) if main else (),
            guidelines=tuple(gaps.guidelines(library, curve)) if main else (),
        )


def _points(curve: Curve, library: Runs, runs: Sequence[Runs]) -> Iterator[LengthPoint]:
    rivals = _mpi_curves(runs, curve.operation) if library.peer == OURS and library.is_default else {}
    alike = [same for each in runs if (same := each.curves.get(curve.operation)) is not None]
    for words in curve.words:
        launches = list(curve.at(words).values())
        interval = verdicts.median_interval(launches)
        better = _better_at(rivals.values(), words)
        yield LengthPoint(
            words=words,
            seconds=curve.medians[words],
            low=interval.low,
            high=interval.high,
            launches=len(launches),
            to_better_mpi=as_ratio(verdicts.compare(pairs_at(curve, better, words))) if better else None,
            spent=spent_of(curve.rows_at(words), longest(each.medians.get(words) for each in alike)),
        )


def _mpi_curves(runs: Sequence[Runs], operation: str) -> dict[str, Curve]:
    """What the operation takes each MPI with no settings, by its name."""
    return {
        library.peer: curve
        for library in runs
        if library.is_default
        and library.peer != OURS
        and (curve := library.curves.get(operation)) is not None
    }


def _better_at(rivals: Iterable[Curve], words: int) -> Curve | None:
    """The MPI whose median is the least at a length."""
    there = [curve for curve in rivals if words in curve.medians]
    return min(there, key=lambda curve: curve.medians[words], default=None)


def _overall(runs: Sequence[Runs]) -> Iterator[Overall]:
    """Ours against the better MPI at each length, and against each library."""
    ours = next((library for library in runs if library.peer == OURS and library.is_default), None)
    for operation in PAIRS:
        curve = ours.curves.get(operation) if ours is not None else None
        if curve is None:
            continue
        rivals = _mpi_curves(runs, operation)
        against = {
            BETTER_MPI: [
                pairs_at(curve, better, words)
                for words in curve.words
                if (better := _better_at(rivals.values(), words)) is not None
            ]
        }
        against |= {peer: pairs_of(curve, rival) for peer, rival in rivals.items()}
        for rival, cells in against.items():
            yield Overall(operation=operation, against=rival, ratio=mean_ratio(cells), lengths=len(cells))
