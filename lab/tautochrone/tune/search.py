"""The search: who is screened, who reaches the final, when it ends, and who may be called better.

No processes, files or clocks of its own: everything runs through the executor and the clock it is given.

The looks at the final are planned before its first run (statistics.py says why): their number and the
number of rivals divide the error that a claim may have, so that all claims of a search together err in at
most 1 % of searches. Who is resolved as worse than the best runs no more after a look, the default neither.
The final ends at the first look at which the lead is known within 1 %, or nobody else is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import median
from typing import Literal

from tautochrone import statistics
from tautochrone.clock import Clock
from tautochrone.configuration import Configuration
from tautochrone.executor import Executor, RunResult
from tautochrone.halving import HalvingOutcome, Rules, halving
from tautochrone.measure import pair_rows, run_plan
from tautochrone.plan import Plan
from tautochrone.progress import Progress
from tautochrone.row import SCREENING, Row
from tautochrone.session import CheckRows
from tautochrone.statistics import Comparison
from tautochrone.store import Store
from tautochrone.tune.space import DEFAULT
from tautochrone.tune.verdict import claims, ranked, verdict

FINALISTS = 4  # at most; fewer where the rounds for so many are not left
MOST_LOOKS = 3
LEAD_KNOWN_WITHIN = 0.01
KILL_FACTOR = 1.3
KEPT_SHARE = 0.4
DOUBT = 1.3
MOST_ROUNDS = 400
_FIRST_ROUND_FACTOR = 1.15  # a killed run costs 1.3 times the best one, a good one less

Ended = Literal["lead", "budget", "rounds", "interrupted", "alone"]


@dataclass(frozen=True)
class Decision:
    """How a search went. ``winner`` is the default unless another one was resolved as better.

    ``comparisons``: each finalist but the default against the default, ``lead``: the best against the second
    best. ``runs`` counts every run; ``ended``: why the final was over.
    """

    winner: Configuration
    finalists: Sequence[Configuration]  # best first
    comparisons: Mapping[str, Comparison]  # by config_id
    lead: Comparison | None
    eliminated: Mapping[str, str]
    looks: Sequence[int]
    rounds: int
    runs: int
    ended: Ended


@dataclass(frozen=True)
class FinalPlan:
    """What is settled before the final's first run: who is in it (config_ids, best first) and its looks.

    ``eliminated``: when and why the others left. A search that goes on is given the first one's: the time and
    the rows that it has now would lead to another final.
    """

    finalists: Sequence[str]
    looks: Sequence[int]
    eliminated: Mapping[str, str]


@dataclass(frozen=True)
class Limits:
    """What a search may use: seconds, or runs (None: no such limit).

    ``first_seconds``: what a run takes, before any was measured; ``beside_seconds``: what each takes beside
    its own time, for a copy of its folder or a check; ``at_once``: how many run at a time, on as many nodes.
    """

    seconds: float | None
    runs: int | None = None
    first_seconds: float | None = None
    at_once: int = 1
    beside_seconds: float = 0.0


def search(
    plan: Plan,
    store: Store,
    executor: Executor,
    clock: Clock,
    progress: Progress,
    limits: Limits,
    *,
    figure: Callable[[Row], float],
    cap_runs: bool = True,
    check_rows: CheckRows | None = None,
    planned: FinalPlan | None = None,
    on_planned: Callable[[FinalPlan], None] = lambda plan: None,
) -> Decision:
    """Screen the plan's configurations, of which one is called ``default``, and decide between the best.

    What the store holds is not run again, and counts. ``on_planned`` is told what the screening led to, and a
    search that goes on in its final is given that as ``planned``. KeyboardInterrupt passes through once what
    was measured is kept.
    """
    default = next(one for one in plan.configurations if one.name == DEFAULT)
    counted = _Counting(executor)
    if planned is None:
        # No round of the final yet: its looks are planned once the screening has shown what it leaves.
        screened = halving(
            replace(plan, rounds=1),
            store,
            counted,
            clock,
            progress,
            rules=_rules(plan, limits, figure, cap_runs),
            check_rows=check_rows,
            max_seconds=_after_screening(limits, store).seconds,
            max_runs=limits.runs,
            final=False,
        )
        if screened.interrupted:
            raise KeyboardInterrupt
        planned = _final_plan(screened, default, _after_screening(limits, store), store)
        on_planned(planned)
    by_id = {one.config_id: one for one in plan.configurations}
    finalists = [by_id[one] for one in planned.finalists]
    looks = planned.looks
    ended: Ended = "alone" if len(finalists) < 2 else "rounds"
    family = claims(len(finalists), len(looks))
    going, rounds, before = finalists, 0, 0
    for look in looks if len(finalists) > 1 else ():
        # What those that are out would have run is run by those that are still in.
        rounds += (look - before) * len(finalists) // len(going)
        before = look
        final = replace(plan, configurations=going, order="latin", rounds=rounds)
        outcome = run_plan(final, store, counted, clock, progress, check_rows=check_rows)
        if outcome.interrupted:
            raise KeyboardInterrupt
        # A search that goes on may hold later rounds already, of which this look knew nothing.
        seen = [row for row in store.rows() if row["round"] < rounds]
        lead = _lead(seen, going, figure, family)
        going = _still_in(seen, going, figure, family)
        if len(going) < 2 or (lead is not None and known(lead)):
            ended = "lead"
            break
        if look == looks[-1] and look < MOST_ROUNDS:
            ended = "budget"
    return _decide(store, finalists, default, figure, looks, planned.eliminated, ended, counted.runs)


def _rules(plan: Plan, limits: Limits, figure: Callable[[Row], float], cap_runs: bool) -> Rules:
    return Rules(
        finalists=places_in_the_final(plan.configurations, limits),
        must_keep=(DEFAULT,),
        stage_rounds=(1,),
        kill_factor=KILL_FACTOR,
        cap_runs=cap_runs,
        kept_share=KEPT_SHARE,
        doubt=DOUBT,
        stops_forgiven=1,
        figure=figure,
    )


def _final_plan(screened: HalvingOutcome, default: Configuration, left: Limits, store: Store) -> FinalPlan:
    """Who is in the final and when it is looked at, by what the screening found and left."""
    finalists = [one for members in screened.finalists.values() for one in members]
    if default not in finalists:
        finalists = [default, *finalists]
    finalists = _affordable(finalists, default, left, store)
    looks = planned_looks(left, finalists, seconds_of_a_round(store, finalists, left))
    return FinalPlan([one.config_id for one in finalists], looks, dict(screened.eliminated))


def places_in_the_final(candidates: Sequence[Configuration], limits: Limits) -> int:
    """How many may reach it: as many as a verdict can be had of by what one run takes.

    So where few race and less is left, runs choose who is dropped.
    """
    if limits.first_seconds is None:
        return FINALISTS
    for count in range(min(FINALISTS, len(candidates)), 2, -1):
        several = candidates[:count]
        one_run = limits.first_seconds + limits.beside_seconds
        looks = planned_looks(limits, several, one_run * _turns(several, limits))
        if looks[-1] >= statistics.rounds_needed(comparisons=count - 1):
            return count
    return 2


def _turns(several: Sequence[Configuration], limits: Limits) -> int:
    """How many runs one after the other a round of them takes."""
    return ceil(len(several) / limits.at_once)


def _affordable(
    finalists: list[Configuration], default: Configuration, left: Limits, store: Store
) -> list[Configuration]:
    """As many of the finalists, best first, as a verdict can be had of with what is left."""
    kept = list(finalists)
    while len(kept) > 2:
        rounds = planned_looks(left, kept, seconds_of_a_round(store, kept, left))[-1]
        if rounds >= statistics.rounds_needed(comparisons=len(kept) - 1):
            break
        kept.remove(next(one for one in reversed(kept) if one is not default))
    return kept


def planned_looks(left: Limits, finalists: Sequence[Configuration], round_seconds: float | None) -> list[int]:
    """After how many rounds the final is looked at: at most three times, first as early as can be."""
    rounds = MOST_ROUNDS
    if left.runs is not None:
        rounds = min(rounds, left.runs // max(1, len(finalists)))
    if left.seconds is not None and round_seconds:
        rounds = min(rounds, int(left.seconds / round_seconds))
    for count in range(MOST_LOOKS, 0, -1):
        first = statistics.rounds_needed(comparisons=max(1, len(finalists) - 1) * count)
        first = max(first, rounds // 3) if count > 1 else rounds
        looks = [first * 2**number for number in range(count - 1)] + [rounds]
        if count == 1 or (looks[-2] * 1.3 <= rounds and first <= rounds):
            return [max(1, look) for look in looks]
    return [max(1, rounds)]


def known(lead: Comparison) -> bool:
    """Whether the interval of a comparison is narrow enough: 1 % from end to end of the ratio."""
    if lead.low is None or lead.high is None or lead.ratio is None:
        return False
    return (lead.high - lead.low) / lead.ratio < LEAD_KNOWN_WITHIN


def round_seconds_at_first(default_seconds: float, candidates: int) -> float:
    """What one round of all candidates takes, roughly, before any was run."""
    return _FIRST_ROUND_FACTOR * default_seconds * candidates


def _after_screening(limits: Limits, store: Store) -> Limits:
    """What the screening leaves."""
    rows = store.rows(SCREENING)
    seconds = sum(float(row["elapsed_seconds"]) + limits.beside_seconds for row in rows)
    return replace(
        limits,
        seconds=None if limits.seconds is None else max(0.0, limits.seconds - seconds / limits.at_once),
        runs=None if limits.runs is None else max(0, limits.runs - len(rows)),
    )


def seconds_of_a_round(store: Store, finalists: Sequence[Configuration], left: Limits) -> float | None:
    """By what was run; where so few are in the race that none was screened, by the first run's time."""
    elapsed: dict[str, list[float]] = {}
    for row in store.rows(SCREENING) + store.rows():
        if row["error"] is None:
            elapsed.setdefault(row["config_id"], []).append(row["elapsed_seconds"])
    found = [median(elapsed[one.config_id]) for one in finalists if one.config_id in elapsed]
    if not found:
        if left.first_seconds is None:
            return None
        found = [left.first_seconds]
    return (sum(found) / len(found) + left.beside_seconds) * _turns(finalists, left)


def _ranked(
    rows: Sequence[Row], finalists: Sequence[Configuration], figure: Callable[[Row], float]
) -> list[Configuration]:
    by_id = {one.config_id: one for one in finalists}
    return [by_id[one] for one in ranked(rows, list(by_id), figure)]


def _still_in(
    rows: Sequence[Row],
    going: Sequence[Configuration],
    figure: Callable[[Row], float],
    comparisons: int,
) -> list[Configuration]:
    """The best, and those that ran and are not resolved as worse than it."""
    ran = {row["config_id"] for row in rows if row["error"] is None}
    in_order = [one for one in _ranked(rows, going, figure) if one.config_id in ran]
    against = {
        one.config_id: statistics.compare(
            pair_rows(rows, one.config_id, in_order[0].config_id, figure), comparisons=comparisons
        )
        for one in in_order[1:]
    }
    return in_order[:1] + [one for one in in_order[1:] if against[one.config_id].verdict != statistics.SLOWER]


def _lead(
    rows: Sequence[Row],
    finalists: Sequence[Configuration],
    figure: Callable[[Row], float],
    comparisons: int,
) -> Comparison | None:
    in_order = _ranked(rows, finalists, figure)
    if len(in_order) < 2:
        return None
    pairs = pair_rows(rows, in_order[0].config_id, in_order[1].config_id, figure)
    return statistics.compare(pairs, comparisons=comparisons)


def _decide(
    store: Store,
    finalists: Sequence[Configuration],
    default: Configuration,
    figure: Callable[[Row], float],
    looks: Sequence[int],
    eliminated: Mapping[str, str],
    ended: Ended,
    runs: int,
) -> Decision:
    rows = store.rows()
    family = claims(len(finalists), len(looks))
    by_id = {one.config_id: one for one in finalists}
    found = verdict(rows, list(by_id), default.config_id, figure, family)
    return Decision(
        winner=by_id[found.winner],
        finalists=[by_id[one] for one in found.ranked],
        comparisons=found.comparisons,
        lead=_lead(rows, finalists, figure, family),
        eliminated=dict(eliminated),
        looks=tuple(looks),
        rounds=max((row["round"] + 1 for row in rows), default=0),
        runs=runs,
        ended=ended,
    )


class _Counting:
    """Counts the runs of an executor."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self.runs = 0
        if expect := getattr(inner, "expect", None):
            self.expect = expect

    def run(self, configuration: Configuration, time_limit: float) -> RunResult:
        """Count, and run."""
        self.runs += 1
        return self._inner.run(configuration, time_limit)
