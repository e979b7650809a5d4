"""From which task length on sharing the tasks out pays: resolved, not just seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tautochrone import statistics
from tautochrone.report.mapreduce.analysis_types import Payoff, Pays, TaskCell, TaskConfiguration
from tautochrone.studies.contenders import RunsOfOne, pairs

SHARE_THAT_PAYS = 0.8
"""Of the ideal speed-up: a library that reaches less wastes more than a fifth of the cores."""


def pays(one: RunsOfOne, serial: RunsOfOne | None, ideal_speedup: float, share: float) -> Pays | None:
    """Is it faster than the serial loop, and does it reach ``share`` of the ideal speed-up?

    Both are judged on the paired rounds: "yes" and "no" are resolved, None stands for too few rounds. Where
    the ideal is no gain, as on one CPU, nothing can pay.
    """
    if serial is None:
        return None
    if ideal_speedup <= 1.0:
        return "no"
    both = pairs(one, serial)
    wanted = max(1.0, share * ideal_speedup)
    verdict = statistics.compare([(mine, alone / wanted) for mine, alone in both]).verdict
    answers: Mapping[str, Pays] = {
        statistics.FASTER: "yes",
        statistics.SLOWER: "no",
        statistics.NO_DIFFERENCE: "not resolved",
    }
    return answers.get(verdict)


def payoffs(cells: Sequence[TaskCell]) -> tuple[Payoff, ...]:
    """For each state, number of tasks and runtime with no settings on all CPUs: from where on it pays."""
    found: list[Payoff] = []
    for key in dict.fromkeys((tuple(sorted(cell.emulated.items())), cell.tasks) for cell in cells):
        of_key = [cell for cell in cells if (tuple(sorted(cell.emulated.items())), cell.tasks) == key]
        of_key.sort(key=lambda cell: cell.bytes)
        found += _of_runtimes(of_key)
    return tuple(found)


def _of_runtimes(cells: Sequence[TaskCell]) -> Iterator[Payoff]:
    """``cells`` differ in their tasks' length only, the shortest first."""
    answers: dict[str, list[tuple[float, Pays]]] = {}
    for cell in cells:
        for one in cell.configurations:
            if _counts(one, cell) and one.pays is not None and cell.task_seconds is not None:
                answers.setdefault(one.runtime, []).append((cell.task_seconds, one.pays))
    for runtime, of_lengths in answers.items():
        start = _start(of_lengths)
        below = of_lengths[:start][-1:]
        yield Payoff(
            runtime=runtime,
            tasks=cells[0].tasks,
            emulated=cells[0].emulated,
            from_seconds=of_lengths[start][0] if start < len(of_lengths) else None,
            not_at_seconds=below[0][0] if below else None,
            because=below[0][1] if below else None,
        )


def _start(of_lengths: Sequence[tuple[float, Pays]]) -> int:
    """The place of the shortest length at which it pays with no "no" behind it; behind the end for none.

    A longer length that noise left open does not count against a shorter one that was resolved: what sharing
    costs does not grow with the tasks.
    """
    start = len(of_lengths)
    for place in range(len(of_lengths) - 1, -1, -1):
        answer = of_lengths[place][1]
        if answer == "no":
            break
        start = place if answer == "yes" else start
    return start


def _counts(one: TaskConfiguration, cell: TaskCell) -> bool:
    return one.is_default and one.threads == cell.cpus and one.runtime != "serial"
