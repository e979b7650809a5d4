"""What the numbers say, in sentences; and the thread that the others wait for, by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import statistics
from tautochrone.energy.record import MEASURED
from tautochrone.report import text
from tautochrone.report.power.analysis_types import BusyThread, Recommendation
from tautochrone.report.spent import why_not_measured
from tautochrone.row import Row
from tautochrone.studies.contenders import ratio
from tautochrone.studies.disturbance import restless
from tautochrone.studies.power.cells import CellRuns, jobs_of, pair_of
from tautochrone.studies.power.recommendations import balanced_ways, compared, times_as_fast
from tautochrone.studies.power.works import (
    AFFINITIES,
    DOMAIN,
    FREE,
    FUNCTIONAL,
    PHYSICS,
    SETUPS,
)
from tautochrone.trace import findings
from tautochrone.trace.threads import ThreadTrack


def verdict_sentences(
    cells: Sequence[CellRuns],
    advised: Sequence[Recommendation],
    no_energy: str,
    others_share: float | None,
) -> tuple[str, ...]:
    """What balanced threads gain, what imbalance costs, what pinning does, and what of energy is known."""
    sentences = [*_gains(jobs_of(cells)), *_imbalance(jobs_of(cells)), *_placement(pair_of(cells))]
    if not sentences:
        return (f"On this machine nothing can be said yet: {_why_not(cells)}.",)
    first = sentences[0]
    sentences[0] = f"On this machine {first[0].lower()}{first[1:]}"
    sentences[1:1] = restless(others_share, "threads")
    supported = [str(number) for number, one in enumerate(advised, 1) if one.supported]
    if supported:
        sentences.append(
            f"Of the published study’s four recommendations these rows support {_listed(supported)}."
        )
    if no_energy:
        sentences.append(f"{no_energy} CPU-seconds and core-seconds stand in its place.")
    return tuple(sentences)


def _why_not(cells: Sequence[CellRuns]) -> str:
    rounds = max((len(one.by_round) for cell in cells for one in cell.contenders), default=0)
    if rounds < statistics.MINIMUM_ROUNDS:
        return f"{rounds} complete rounds are fewer than the {statistics.MINIMUM_ROUNDS} that a verdict needs"
    return "no job was measured both on one thread and on several"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _gains(jobs: Sequence[CellRuns]) -> Iterator[str]:
    """The best balanced way of each job: of the physics with equal costs."""
    parts: list[str] = []
    speedups: list[float] = []
    threads = 0
    for cell in jobs:
        if cell.ratio is not None and cell.ratio != min(one.ratio for one in jobs if one.ratio is not None):
            continue
        found = [
            (speedup, one, each)
            for _, one in balanced_ways([cell])
            if (speedup := (each := ratio(one, cell.serial)).inverse().value) is not None
        ]
        if found:
            most, one, each = max(found, key=lambda entry: entry[0])
            threads = max(threads, one.threads)
            speedups.append(most)
            parts.append(f"{cell.title.split(', cost')[0]} {times_as_fast(each)}")
    if not parts:
        return
    ends = dict.fromkeys(f"{one:.2f}" for one in (min(speedups), max(speedups)))
    span = " to ".join(ends)
    yield f"{text.count(threads, 'balanced thread')} are {span} times as fast as one."
    yield text.sentence("; ".join(parts))


def _imbalance(jobs: Sequence[CellRuns]) -> Iterator[str]:
    """What each split of the physics gains at each ratio of costs."""
    for cell in jobs:
        functional = cell.find(FUNCTIONAL)
        if cell.job != PHYSICS or functional is None:
            continue
        seen = ratio(functional, cell.serial)
        if seen.value is None:
            continue
        domain = cell.find(DOMAIN, 2)
        kept = ratio(domain, cell.serial).inverse().value
        words = f"With one function {cell.ratio:g} times as dear as the other"
        if cell.ratio == 1.0:
            words = "With both functions equally dear"
        line = f"{words}, the physics shared by its functions is {times_as_fast(seen)}"
        if kept is not None:
            line += f", shared by its bodies {kept:.2f} times"
        yield f"{line}."
        if advice := imbalance_advice(cell):
            yield advice


def imbalance_advice(cell: CellRuns) -> str:
    """One sentence that names the unbalanced thread of the functional split; empty where there is none."""
    functional = cell.find(FUNCTIONAL)
    if functional is None:
        return ""
    tracks = [_track(one) for one in functional.busy()]
    found = findings.find(tracks, functional.seconds or 0.0, None, functional.threads)
    return found.advice if found.unbalanced is not None else ""


def _track(one: BusyThread) -> ThreadTrack:
    return ThreadTrack(one.thread, 0, name=one.does, run_seconds=one.seconds)


def _placement(pair: CellRuns | None) -> Iterator[str]:
    """Each affinity against none, with its verdict."""
    free = pair.find(FREE) if pair is not None else None
    if pair is None or free is None:
        return
    parts = [
        f"{SETUPS[way]}: {compared(found)}"
        for way in AFFINITIES
        if way != FREE and (found := ratio(pair.find(way), free)).verdict != statistics.NOT_MEASURED
    ]
    if parts:
        yield f"{pair.title[0].upper()}{pair.title[1:]}, against no affinity: {'; '.join(parts)}."


def why_no_energy(rows: Sequence[Row]) -> str:
    """Why there are no joules, with what to do; empty where any row has some."""
    if any((row.get("energy") or {}).get("status") == MEASURED for row in rows):
        return ""
    return why_not_measured(rows)
