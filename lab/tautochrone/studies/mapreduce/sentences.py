"""What the numbers say, in sentences: from which task length on each library pays here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tautochrone import statistics
from tautochrone.report import text
from tautochrone.report.mapreduce.analysis_types import Payoff
from tautochrone.report.palette import runtime_key, styles
from tautochrone.studies.contenders import OURS, geometric_mean
from tautochrone.studies.mapreduce.cells import CellRuns, Contender
from tautochrone.studies.mapreduce.payoff import SHARE_THAT_PAYS
from tautochrone.studies.wording import AS_IT_IS, by_state, less_time, state_words, unresolved

COLLAPSE_THREADS = 14
"""Threads that a machine must have to show Qt's speed-up fall from 9 to 13 threads on (claim M4)."""


def verdict_sentences(cells: Sequence[CellRuns], payoffs: Sequence[Payoff]) -> tuple[str, ...]:
    """For each state and number of tasks what pays from where on; then ours against others; then limits."""
    sentences: list[str] = []
    for state, of_state in by_state(cells).items():
        cpus = max(cell.cpus for cell in of_state)
        for tasks in sorted({cell.tasks for cell in of_state}):
            sentences += _paying(dict(state), tasks, cpus, payoffs, first=not sentences)
    if not sentences:
        return (f"On this machine nothing can be said yet: {_why_not(cells)}.",)
    sentences.append(
        f"“Pays” means: with one thread on each CPU and no settings, resolved as faster than the serial loop "
        f"and as reaching {text.percent(SHARE_THAT_PAYS)} of the speed-up that whole tasks allow."
    )
    for state, of_state in by_state(cells).items():
        sentences += _against(dict(state), of_state)
    sentences += too_few_cores(cells)
    return tuple(sentence[0].upper() + sentence[1:] for sentence in sentences)


def _paying(
    state: Mapping[str, float], tasks: int, cpus: int, payoffs: Sequence[Payoff], *, first: bool
) -> list[str]:
    """What pays from which length on: on this machine … tautochrone pays from tasks of 10 µs, Qt from …."""
    here = [one for one in payoffs if dict(one.emulated) == state and one.tasks == tasks]
    if not here:
        return []
    where = state_words(state)
    if first:
        where = "on this machine" if where == AS_IT_IS else f"on this machine, {where}"
    counted = f"{tasks} tasks on {text.count(cpus, 'CPU')}"
    if all(one.from_seconds is None for one in here):
        return [f"{where}, with {counted}, no library pays at any length that was tried."]
    return [f"{where}, with {counted}: {'; '.join(_grouped(here))}."]


def _grouped(here: Sequence[Payoff]) -> list[str]:
    """Libraries by the length from which on they pay, the shortest first; those that never do last."""
    groups: dict[float | None, list[str]] = {}
    for one in sorted(here, key=_order):
        groups.setdefault(one.from_seconds, []).append(name(one.runtime))
    parts: list[str] = []
    for start, names in groups.items():
        verb = "pay" if len(names) > 1 else "pays"
        if start is None:
            parts.append(f"{joined(names)} {verb} at no length that was tried")
        else:
            parts.append(f"{joined(names)} {verb} from tasks of {text.seconds(start)}")
    return parts


def _order(one: Payoff) -> tuple[bool, float, bool]:
    return (one.from_seconds is None, one.from_seconds or 0.0, one.runtime != OURS)


def name(runtime: str) -> str:
    """A runtime's name as people write it."""
    return styles([runtime_key(runtime)])[0].name


def joined(names: Sequence[str]) -> str:
    """["a", "b", "c"] → "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _why_not(cells: Sequence[CellRuns]) -> str:
    if not cells:
        return "nothing was measured"
    if all(cell.serial is None for cell in cells):
        return "the serial loop was not measured, and all is compared with it"
    rounds = max(len(one.by_round) for cell in cells for one in cell.contenders)
    if rounds < statistics.MINIMUM_ROUNDS:
        return f"{rounds} complete rounds are fewer than the {statistics.MINIMUM_ROUNDS} that a verdict needs"
    return "no library was measured with one thread on each CPU"


def _against(state: Mapping[str, float], cells: Sequence[CellRuns]) -> list[str]:
    """Ours against Qt, and against the fastest other library in each cell, all with no settings."""
    qt = [(cell.ours, cell.find("qt")) for cell in cells]
    best = [(cell.ours, cell.best_default) for cell in cells]
    sentences = [
        _comparison(state, qt, "QtConcurrent"),
        _comparison(state, best, "the fastest other library in each case"),
    ]
    return [sentence for sentence in sentences if sentence]


def _comparison(
    state: Mapping[str, float], both: Sequence[tuple[Contender | None, Contender | None]], rival: str
) -> str:
    there = [(mine, other) for mine, other in both if mine is not None and other is not None]
    found = geometric_mean(there)
    if found.verdict == statistics.NOT_MEASURED:
        return ""
    evidence = f"{found.rounds} rounds of each of {text.count(len(there), 'kind')} of tasks"
    where = f"{state_words(state)}, against {rival}, all without settings"
    if found.verdict == statistics.NO_DIFFERENCE:
        return f"{where}, no difference was resolved ({unresolved(found)}, {evidence})."
    return f"{where}, tautochrone takes {less_time(found)}, {evidence})."


def too_few_cores(cells: Sequence[CellRuns]) -> list[str]:
    """What a machine with few cores cannot show, said so that nobody takes it for a refutation."""
    cpus = max((cell.cpus for cell in cells), default=0)
    if cpus >= COLLAPSE_THREADS or not any(one.peer == "qt" for cell in cells for one in cell.contenders):
        return []
    return [
        f"{text.count(cpus, 'CPU')} do not saturate Qt's mutex: the published collapse (0.4 ms tasks, from "
        "11 threads on) needs more cores, so this run neither shows nor refutes it (claims M4 and M5)."
    ]
