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

    Both are judged on the paired rounds: "yes" and "no" are resolved, None stands for too few rounds.
    """
    if serial is None:
        return None
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
        start, before = _threshold(of_lengths)
        yield Payoff(
            runtime=runtime,
            tasks=cells[0].tasks,
            emulated=cells[0].emulated,
            from_seconds=start,
            not_at_seconds=before,
        )


def _counts(one: TaskConfiguration, cell: TaskCell) -> bool:
    return one.is_default and one.threads == cell.cpus and one.runtime != "serial"


def _threshold(of_lengths: Sequence[tuple[float, Pays]]) -> tuple[float | None, float | None]:
    """The shortest length from which on it always pays, and the longest below it at which it may not."""
    start: float | None = None
    for seconds, answer in reversed(of_lengths):
        if answer != "yes":
            return start, seconds
        start = seconds
    return start, None
