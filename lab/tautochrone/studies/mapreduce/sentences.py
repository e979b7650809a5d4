"""What the numbers say, in sentences: from which task length on each library pays here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tautochrone import statistics
from tautochrone.report import text
from tautochrone.report.mapreduce.analysis_types import Payoff
from tautochrone.report.palette import runtime_key, styles
from tautochrone.studies.contenders import OURS, geometric_mean
from tautochrone.studies.disturbance import restless
from tautochrone.studies.mapreduce.cells import CellRuns, Contender
from tautochrone.studies.mapreduce.payoff import SHARE_THAT_PAYS
from tautochrone.studies.mapreduce.workloads import preferred
from tautochrone.studies.wording import AS_IT_IS, by_state, less_time, state_words, unresolved

COLLAPSE_THREADS = 14
"""Threads that a machine must have to show Qt's speed-up fall from 9 to 13 threads on (claim M4)."""


def verdict_sentences(
    cells: Sequence[CellRuns], payoffs: Sequence[Payoff], others_share: float | None = None
) -> tuple[str, ...]:
    """For each state and number of tasks what pays from where on; then ours against others; then limits.

    ``others_share`` is the part of the CPU time that other programs took during the study.
    """
    sentences = list(_all_paying(cells, payoffs))
    if not sentences:
        return (f"On this machine nothing can be said yet: {_why_not(cells)}.",)
    first = sentences[0].removeprefix(AS_IT_IS)
    sentences[0] = f"on this machine{'' if first != sentences[0] else ', '}{first}"
    sentences[1:1] = restless(others_share, "threads")
    sentences.append(
        f"“Pays” means: with one thread on each CPU and no settings, resolved as faster than the serial loop "
        f"and as reaching {text.percent(SHARE_THAT_PAYS)} of the speed-up that whole tasks allow."
    )
    for state, of_state in by_state(cells).items():
        sentences += _against(dict(state), of_state)
    sentences += too_few_cores(cells)
    return tuple(sentence[0].upper() + sentence[1:] for sentence in sentences)


def _all_paying(cells: Sequence[CellRuns], payoffs: Sequence[Payoff]) -> Iterator[str]:
    """A sentence for each state and number of tasks, a short one where it would say the same again."""
    for state, of_state in by_state(cells).items():
        cpus = max(cell.cpus for cell in of_state)
        said: object = None
        for tasks in sorted({cell.tasks for cell in of_state}):
            here = [one for one in payoffs if dict(one.emulated) == dict(state) and one.tasks == tasks]
            if not here:
                continue
            if said == (said := _signature(here)):
                yield f"{state_words(dict(state))}, the same holds for {tasks} tasks."
            else:
                yield _paying(dict(state), tasks, cpus, here)


def _signature(here: Sequence[Payoff]) -> object:
    """What a sentence would say, lengths to within some per cent."""
    return {
        (one.runtime, None if one.from_seconds is None else preferred(one.from_seconds), one.because)
        for one in here
    }


def _paying(state: Mapping[str, float], tasks: int, cpus: int, here: Sequence[Payoff]) -> str:
    """What pays from which length on: on this machine … tautochrone pays from tasks of 10 µs, Qt from …."""
    where = f"{state_words(state)}, with {tasks} tasks on {text.count(cpus, 'CPU')}"
    if any(one.from_seconds is not None for one in here):
        return f"{where}: {'; '.join(_grouped(here))}."
    if any(one.because == "not resolved" for one in here):
        return f"{where}, no library could be shown to pay: the intervals are too wide to tell."
    return f"{where}, no library pays at any length that was tried."


def _grouped(here: Sequence[Payoff]) -> list[str]:
    """Libraries by the length from which on they pay, the shortest first; those that never do last."""
    groups: dict[tuple[float | None, bool], list[str]] = {}
    for one in sorted(here, key=_order):
        key = (one.from_seconds, one.from_seconds is None and one.because == "not resolved")
        groups.setdefault(key, []).append(name(one.runtime))
    parts: list[str] = []
    for (start, is_open), names in groups.items():
        verb = "pay" if len(names) > 1 else "pays"
        if start is not None:
            parts.append(f"{joined(names)} {verb} from tasks of {text.seconds(start)}")
        elif is_open:
            parts.append(f"whether {joined(names)} {verb} was not resolved")
        else:
            parts.append(f"{joined(names)} {verb} at no length that was tried")
    return parts


def _order(one: Payoff) -> tuple[bool, float, bool, str]:
    """By length; at one length ours first, the others by name."""
    return (one.from_seconds is None, one.from_seconds or 0.0, one.runtime != OURS, name(one.runtime))


def name(runtime: str) -> str:
    """A runtime's name in a sentence: "OpenMP (libgomp)"."""
    main, comma, library = styles([runtime_key(runtime)])[0].name.partition(", ")
    return f"{main} ({library})" if comma else main


def joined(names: Sequence[str]) -> str:
    """["a", "b", "c"] → "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _why_not(cells: Sequence[CellRuns]) -> str:
    if not cells:
        return "nothing was measured"
    rounds = max(len(one.by_round) for cell in cells for one in cell.contenders)
    if rounds < statistics.MINIMUM_ROUNDS:
        return f"{rounds} complete rounds are fewer than the {statistics.MINIMUM_ROUNDS} that a verdict needs"
    if all(cell.serial is None for cell in cells):
        return "the serial loop was not measured, and all is compared with it"
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
