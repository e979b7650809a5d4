"""What the numbers say: sentences on the task length from which each library pays, and lines to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tautochrone import text, verdicts
from tautochrone.report.analysis import Settings
from tautochrone.report.palette import name_of, runtime_key
from tautochrone.results.runs import OURS
from tautochrone.results.states import by_state, opening
from tautochrone.studies.cells import geometric_mean_of
from tautochrone.studies.disturbance import restless
from tautochrone.studies.mapreduce.cells import SHARE_THAT_PAYS, CellRuns
from tautochrone.studies.mapreduce.configurations import preferred
from tautochrone.studies.mapreduce.findings import Payoff
from tautochrone.studies.paste import CMAKE
from tautochrone.text import less_time, outcome, too_few_rounds

COLLAPSE_THREADS = 14
"""Threads that a machine must have to show Qt's speed-up fall from 9 to 13 threads on (claim M4)."""


def verdict_sentences(
    cells: Sequence[CellRuns], payoffs: Sequence[Payoff], others_share: float | None = None
) -> tuple[str, ...]:
    """For each state and number of tasks what pays from where on; then ours against others; then limits.

    ``others_share`` is the part of the CPU time that other programs took during the study.
    """
    paying = list(_all_paying(cells, payoffs))
    if not paying:
        return (f"On this machine nothing can be said yet: {_why_not(cells)}.",)
    return (
        paying[0],
        *restless(others_share, "threads"),
        *paying[1:],
        "“Pays” means: with one thread on each CPU and no settings, resolved as faster than the serial loop "
        f"and as reaching {text.percent(SHARE_THAT_PAYS)} of the speed-up that whole tasks allow.",
        *(
            sentence
            for state, of_state in by_state(cells).items()
            for sentence in _against(opening(dict(state)), of_state)
        ),
        *too_few_cores(cells),
    )


def _all_paying(cells: Sequence[CellRuns], payoffs: Sequence[Payoff]) -> Iterator[str]:
    """A sentence for each state and number of tasks, a short one where it would say the same again."""
    first = "On this machine"
    for state, of_state in by_state(cells).items():
        cpus = max(cell.cpus for cell in of_state)
        before: object = None
        for tasks in sorted({cell.tasks for cell in of_state}):
            of_tasks = [
                payoff for payoff in payoffs if dict(payoff.emulated) == dict(state) and payoff.tasks == tasks
            ]
            if not of_tasks:
                continue
            meaning = _signature(of_tasks)
            if meaning == before:
                yield f"{opening(dict(state))}, the same holds for {tasks} tasks."
            else:
                yield _paying(opening(dict(state), first), tasks, cpus, of_tasks)
            before, first = meaning, ""


def _signature(payoffs: Sequence[Payoff]) -> object:
    """What a sentence would say, lengths to within some per cent."""
    return {
        (payoff.runtime, payoff.from_seconds and preferred(payoff.from_seconds), payoff.because)
        for payoff in payoffs
    }


def _paying(where: str, tasks: int, cpus: int, payoffs: Sequence[Payoff]) -> str:
    """What pays from which length on: On this machine … tautochrone pays from tasks of 10 µs, Qt from …."""
    with_tasks = f"{where}, with {tasks} tasks on {text.count(cpus, 'CPU')}"
    if any(payoff.from_seconds is not None for payoff in payoffs):
        return f"{with_tasks}: {'; '.join(_grouped(payoffs))}."
    if any(payoff.because == "not resolved" for payoff in payoffs):
        return f"{with_tasks}, no library could be shown to pay: the intervals are too wide to tell."
    return f"{with_tasks}, no library pays at any length that was tried."


def _grouped(payoffs: Sequence[Payoff]) -> list[str]:
    """Libraries by the length from which on they pay, the shortest first; those that never do last."""
    groups: dict[tuple[float | None, bool], list[str]] = {}
    for payoff in sorted(payoffs, key=_order):
        is_open = payoff.from_seconds is None and payoff.because == "not resolved"
        groups.setdefault((payoff.from_seconds, is_open), []).append(name(payoff.runtime))
    parts: list[str] = []
    for (start, is_open), names in groups.items():
        verb = "pay" if len(names) > 1 else "pays"
        if start is not None:
            parts.append(f"{text.joined(names)} {verb} from tasks of {text.seconds(start)}")
        elif is_open:
            parts.append(f"whether {text.joined(names)} {verb} was not resolved")
        else:
            parts.append(f"{text.joined(names)} {verb} at no length that was tried")
    return parts


def _order(payoff: Payoff) -> tuple[bool, float, bool, str]:
    """By length; at one length ours first, the others by name."""
    never = payoff.from_seconds is None
    return (never, payoff.from_seconds or 0.0, payoff.runtime != OURS, name(payoff.runtime))


def name(runtime: str) -> str:
    """A runtime's name in a sentence: "OpenMP (libgomp)"."""
    main, comma, library = name_of(runtime_key(runtime)).partition(", ")
    return f"{main} ({library})" if comma else main


def _why_not(cells: Sequence[CellRuns]) -> str:
    if not cells:
        return "nothing was measured"
    rounds = max(len(contender.by_round) for cell in cells for contender in cell.contenders)
    if rounds < verdicts.MINIMUM_ROUNDS:
        return too_few_rounds(rounds)
    if all(cell.serial is None for cell in cells):
        return "the serial loop was not measured, and all is compared with it"
    return "no library was measured with one thread on each CPU"


def _against(where: str, cells: Sequence[CellRuns]) -> Iterator[str]:
    """Ours against Qt, and against the fastest other library in each cell, all with no settings."""
    rivals = {
        "QtConcurrent": [(cell.ours, cell.find("qt")) for cell in cells],
        "the fastest other library in each case": [(cell.ours, cell.best_default) for cell in cells],
    }
    for rival, pairs in rivals.items():
        found, kinds = geometric_mean_of(pairs)
        if found.verdict != verdicts.NOT_MEASURED:
            evidence = f"{found.rounds} rounds of each of {text.count(kinds, 'kind')} of tasks"
            words = outcome(found, "tautochrone", evidence)
            yield f"{where}, against {rival}, all without settings, {words}."


def too_few_cores(cells: Sequence[CellRuns]) -> list[str]:
    """What a machine with few cores cannot show, said so that nobody takes it for a refutation."""
    cpus = max((cell.cpus for cell in cells), default=0)
    if cpus >= COLLAPSE_THREADS or not any(cell.has("qt") for cell in cells):
        return []
    return [
        f"{text.count(cpus, 'CPU')} do not saturate Qt's mutex: the published collapse (0.4 ms tasks, from "
        "11 threads on) needs more cores, so this run neither shows nor refutes it (claims M4 and M5)."
    ]


# -- the lines that change in a program --

FOR_QT = """#include <tauto/tauto.hpp>
tauto::team team;  // once a program
auto sum = tauto::map_reduce(team, jobs, task, reduce);"""
_FROM_QT = f"""// before
auto sum = QtConcurrent::blockingMappedReduced<quint64>(
    jobs, task, reduce);

// after
{FOR_QT}"""
_FROM_TBB = """// before
auto sum = tbb::parallel_reduce(
    tbb::blocked_range<std::size_t>(0, jobs.size()),
    std::uint64_t{0},
    [&](const auto& part, std::uint64_t sum) {
        for (auto i = part.begin(); i != part.end(); ++i)
            sum += task(jobs[i]);
        return sum;
    },
    std::plus<>{});

// after
#include <tauto/tauto.hpp>
tauto::team team;  // once in the program

auto sum = tauto::map_reduce(
    team, jobs, task, std::plus<>{});"""
_ORDERED = (
    "Your reduce has to be associative. Results are reduced in the order of the jobs, whoever computed them: "
    "the same bits every time."
)


def settings_to_paste(cells: Sequence[CellRuns]) -> tuple[Settings, ...]:
    """For a user of Qt and for one of oneTBB the line that changes, with what the change gave here."""
    return (
        Settings(
            label="From QtConcurrent to tautochrone", language="cpp", text=_FROM_QT, why=_why(cells, "qt")
        ),
        Settings(label="From oneTBB to tautochrone", language="cpp", text=_FROM_TBB, why=_why(cells, "tbb")),
        CMAKE,
    )


def _why(cells: Sequence[CellRuns], peer: str) -> str:
    """What the change gave on all CPUs of the machine as it is, over all kinds of tasks."""
    found, kinds = geometric_mean_of((cell.ours, cell.find(peer)) for cell in cells if not cell.emulated)
    if found.verdict in (verdicts.FASTER, verdicts.SLOWER):
        gained = less_time(found, evidence=f"{found.rounds} rounds")
        return f"Here, over {text.count(kinds, 'kind')} of tasks: {gained}. {_ORDERED}"
    return _ORDERED
