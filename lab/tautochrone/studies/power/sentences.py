"""What the numbers say, in sentences; and the thread that the others wait for, by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import text, verdicts
from tautochrone.report.analysis import Settings
from tautochrone.results.row import Row
from tautochrone.results.runs import ratio
from tautochrone.results.spent import METERED, why_not_measured
from tautochrone.studies.disturbance import restless
from tautochrone.studies.paste import CMAKE
from tautochrone.studies.power.cells import CellRuns, jobs_of, pair_of
from tautochrone.studies.power.configurations import AFFINITIES, DOMAIN, FREE, FUNCTIONAL, PHYSICS, SETUPS
from tautochrone.studies.power.findings import Recommendation
from tautochrone.studies.power.recommendations import balanced_ways, compared, times_as_fast
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
    supported = [str(number) for number, advice in enumerate(advised, 1) if advice.supported]
    if supported:
        sentences.append(
            f"Of the published study’s four recommendations these rows support {text.joined(supported)}."
        )
    if no_energy:
        sentences.append(f"{no_energy} CPU-seconds and core-seconds stand in its place.")
    return tuple(sentences)


def _why_not(cells: Sequence[CellRuns]) -> str:
    rounds = max((len(runs.by_round) for cell in cells for runs in cell.ways), default=0)
    if rounds < verdicts.MINIMUM_ROUNDS:
        return text.too_few_rounds(rounds)
    return "no job was measured both on one thread and on several"


def _gains(jobs: Sequence[CellRuns]) -> Iterator[str]:
    """The best balanced way of each job: of the physics with equal costs."""
    parts: list[str] = []
    speedups: list[float] = []
    threads = 0
    for cell in jobs:
        if cell.ratio is not None and cell.ratio != min(job.ratio for job in jobs if job.ratio is not None):
            continue
        found = [
            (speedup, way, each)
            for _, way in balanced_ways([cell])
            if (speedup := (each := ratio(way, cell.serial)).inverse().value) is not None
        ]
        if found:
            most, way, each = max(found, key=lambda entry: entry[0])
            threads = max(threads, way.threads)
            speedups.append(most)
            parts.append(f"{cell.title.split(', cost')[0]} {times_as_fast(each)}")
    if not parts:
        return
    ends = dict.fromkeys(f"{end:.2f}" for end in (min(speedups), max(speedups)))
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
        words = f"With one function {cell.ratio:g} times as expensive as the other"
        if cell.ratio == 1.0:
            words = "With both functions equally expensive"
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
    tracks = [
        ThreadTrack(thread.thread, 0, name=thread.does, run_seconds=thread.seconds)
        for thread in functional.busy()
    ]
    found = findings.find(tracks, functional.seconds or 0.0, None, functional.threads)
    return found.advice if found.unbalanced is not None else ""


def _placement(pair: CellRuns | None) -> Iterator[str]:
    """Each affinity against none, with its verdict."""
    free = pair.find(FREE) if pair is not None else None
    if pair is None or free is None:
        return
    parts = [
        f"{SETUPS[way]}: {compared(time)}"
        for way in AFFINITIES
        if way != FREE and (time := ratio(pair.find(way), free)).verdict != verdicts.NOT_MEASURED
    ]
    if parts:
        yield f"{pair.title[0].upper()}{pair.title[1:]}, against no affinity: {'; '.join(parts)}."


def why_no_energy(rows: Sequence[Row]) -> str:
    """Why there are no joules, with what to do; empty where any row has some."""
    if any((row.energy or {}).get("status") == METERED for row in rows):
        return ""
    return why_not_measured(rows)


# -- the lines that change in a program --

BY_MEMBERS = """#include <tauto/tauto.hpp>
tauto::team team;  // once a program
team.run([&](tauto::member& me) {
    auto mine = tauto::equal_share(
        bodies.size(), me.size(), me.rank());
    collide(bodies, mine);
    me.barrier();
    draw(bodies, mine);
});"""
_BY_DATA = f"""// before: one thread for each function
std::thread first([&] {{ collide(bodies); }});
std::thread second([&] {{ draw(bodies); }});

// after: each member does all functions on its part of the data
{BY_MEMBERS}"""


def settings_to_paste(cells: Sequence[CellRuns]) -> tuple[Settings, ...]:
    """From a split by functions to one by the data, with what it gave here where the costs differ most."""
    unequal = [cell for cell in jobs_of(cells) if cell.ratio is not None]
    cell = max(unequal, key=lambda physics: physics.ratio or 0.0, default=None)
    if cell is None:
        return (CMAKE,)
    time = ratio(cell.find(DOMAIN, 2), cell.find(FUNCTIONAL))
    why = "It keeps its balance when a function gets more expensive."
    if time.value is not None:
        why = f"Here, with {cell.title}: {compared(time)}. {why}"
    return (
        Settings(
            label="From a split by functions to one by the data", language="cpp", text=_BY_DATA, why=why
        ),
        CMAKE,
    )
