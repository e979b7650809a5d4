"""The search: which candidates reach the final, when it ends, and which may be called better.

It starts no process, opens no file and reads no clock of its own: all of that is in its `Setup`.

The looks at the final (its interim analyses) are planned before its first run; verdicts.py says why. The
error that a claim may have is divided by the number of looks times the number of rivals, so that at most 1 %
of all searches make a false claim. After each look, candidates that are significantly worse than the best
are not run again, the default included. The final ends at the first look at which the lead is known within
1 % or only one candidate is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from statistics import fmean, median
from typing import Literal

from tautochrone import verdicts
from tautochrone.measuring.clock import Clock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.measure import run_plan
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.progress import Progress
from tautochrone.measuring.screening import Rules, screen
from tautochrone.measuring.session import CheckRows
from tautochrone.results.row import SCREENING, Row, cpu_seconds_of, pair_rows, seconds_of
from tautochrone.results.store import Store
from tautochrone.tune.space import DEFAULT
from tautochrone.verdicts import Comparison

FINALISTS = 4  # at most; fewer where the budget does not hold enough rounds of four
MOST_LOOKS = 3
SCREENING_SHARE = 0.5  # of the time and of the runs that are left
LEAD_KNOWN_WITHIN = 0.01
KILL_FACTOR = 1.3
KEPT_SHARE = 0.4
DOUBT = 1.3
MOST_ROUNDS = 400
ALIKE = 1.02
"""Candidates whose figures differ by less, where nothing tells them apart, are alike to a user."""

CLEARLY_LESS = 0.9  # CPU time, for which one of those that are alike is preferred
_FIRST_ROUND_FACTOR = 1.15  # a killed run costs 1.3 times the best one, a good one less

Figure = Callable[[Row], float]
"""The positive figure of a good row that a search minimises."""

Ended = Literal["lead", "budget", "rounds", "alone"]


@dataclass(frozen=True)
class Limits:
    """What a search may use: seconds, or runs (None: no such limit).

    ``first_seconds``: the time of a run, before any was measured; ``beside_seconds``: what each run takes
    beside its own time, for a copy of its folder or a check; ``at_once``: how many run at a time, each on a
    node of its own.
    """

    seconds: float | None
    runs: int | None = None
    first_seconds: float | None = None
    at_once: int = 1
    beside_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a search works on and with. `plan` has all candidates; one of them is called ``default``."""

    plan: Plan
    store: Store
    executor: Executor
    clock: Clock
    progress: Progress
    limits: Limits
    figure: Figure = seconds_of
    cap_runs: bool = True
    check_rows: CheckRows | None = None

    @property
    def default(self) -> Configuration:
        return next(candidate for candidate in self.plan.configurations if candidate.name == DEFAULT)


@dataclass(frozen=True)
class FinalPlan:
    """What is settled before the final's first run: its finalists (config_ids, best first) and its looks.

    ``eliminated``: when and why the others left. A search that is continued takes over the first one's plan:
    the time and the rows that it has now would lead to another final.
    """

    finalists: Sequence[str]
    looks: Sequence[int]
    eliminated: Mapping[str, str]


@dataclass(frozen=True)
class Decision:
    """How a search went. ``winner`` is the default unless another candidate was resolved as better.

    ``comparisons``: each finalist but the default against the default; ``lead``: the best against the second
    best; ``ended``: why the final was over.
    """

    winner: Configuration
    finalists: Sequence[Configuration]  # best first
    comparisons: Mapping[str, Comparison]  # by config_id
    lead: Comparison | None
    looks: Sequence[int]
    rounds: int
    ended: Ended


def search(
    setup: Setup,
    planned: FinalPlan | None = None,
    on_planned: Callable[[FinalPlan], None] = lambda plan: None,
) -> Decision:
    """Screen the candidates, and decide between the best.

    Runs that the store holds count and are not repeated. ``on_planned`` receives the plan that the screening
    led to; a search that was interrupted in its final is given it as ``planned``. KeyboardInterrupt passes
    through once what was measured is kept.
    """
    if planned is None:
        planned = _screened(setup)
        on_planned(planned)
    by_id = {candidate.config_id: candidate for candidate in setup.plan.configurations}
    final = _Final([by_id[config_id] for config_id in planned.finalists], planned.looks, setup.figure)
    ended = _run_final(setup, final)
    rows = setup.store.rows()
    decided = verdict(
        rows, planned.finalists, setup.default.config_id, setup.figure, comparisons=final.comparisons
    )
    return Decision(
        winner=by_id[decided.winner],
        finalists=[by_id[config_id] for config_id in decided.ranked],
        comparisons=decided.comparisons,
        lead=final.lead(rows, final.finalists),
        looks=tuple(planned.looks),
        rounds=max((row.round + 1 for row in rows), default=0),
        ended=ended,
    )


# -- the screening and what it leaves --


def _screened(setup: Setup) -> FinalPlan:
    """Drop all but a few candidates by successive halving, and plan the final with what is left."""
    limits = setup.limits
    seconds = _after_screening(limits, setup.store).seconds
    screened = screen(
        replace(setup.plan, rounds=1),
        setup.store,
        setup.executor,
        setup.clock,
        setup.progress,
        Rules(
            finalists=places_in_the_final(setup.plan.configurations, limits),
            must_keep=(DEFAULT,),
            stage_rounds=(1,),
            kill_factor=KILL_FACTOR,
            cap_runs=setup.cap_runs,
            kept_share=KEPT_SHARE,
            doubt=DOUBT,
            stops_forgiven=1,
            figure=setup.figure,
        ),
        check_rows=setup.check_rows,
        max_seconds=None if seconds is None else SCREENING_SHARE * seconds,
        max_runs=None if limits.runs is None else int(SCREENING_SHARE * limits.runs),
    )
    if screened.interrupted:
        raise KeyboardInterrupt
    left = _after_screening(limits, setup.store)
    finalists = [candidate for members in screened.finalists.values() for candidate in members]
    if setup.default not in finalists:
        finalists = [setup.default, *finalists]
    finalists = _affordable(finalists, setup.default, left, setup.store)
    looks = planned_looks(left, finalists, seconds_of_a_round(setup.store, finalists, left))
    return FinalPlan([candidate.config_id for candidate in finalists], looks, dict(screened.eliminated))


def places_in_the_final(candidates: Sequence[Configuration], limits: Limits) -> int:
    """How many may reach the final: as many as the budget allows a verdict on, by the time of one run.

    With few candidates and a small budget, the screening's runs therefore choose which of them are dropped.
    """
    if limits.first_seconds is None:
        return FINALISTS
    one_run = limits.first_seconds + limits.beside_seconds
    for count in range(min(FINALISTS, len(candidates)), 2, -1):
        several = candidates[:count]
        looks = planned_looks(limits, several, one_run * _turns(several, limits))
        if looks[-1] >= verdicts.rounds_needed(comparisons=count - 1):
            return count
    return 2


def _affordable(
    finalists: list[Configuration], default: Configuration, left: Limits, store: Store
) -> list[Configuration]:
    """The best of the finalists, as many as the rest of the budget allows a verdict on."""
    kept = list(finalists)
    while len(kept) > 2:
        rounds = planned_looks(left, kept, seconds_of_a_round(store, kept, left))[-1]
        if rounds >= verdicts.rounds_needed(comparisons=len(kept) - 1):
            break
        kept.remove(next(candidate for candidate in reversed(kept) if candidate is not default))
    return kept


def planned_looks(left: Limits, finalists: Sequence[Configuration], round_seconds: float | None) -> list[int]:
    """After how many rounds to look at the final: at most three times, the first as early as possible."""
    rounds = MOST_ROUNDS
    if left.runs is not None:
        rounds = min(rounds, left.runs // max(1, len(finalists)))
    if left.seconds is not None and round_seconds:
        rounds = min(rounds, int(left.seconds / round_seconds))
    for count in range(MOST_LOOKS, 1, -1):
        first = max(verdicts.rounds_needed(comparisons=claims(len(finalists), count)), rounds // 3)
        looks = [first * 2**number for number in range(count - 1)]
        if looks[-1] * 1.3 <= rounds:
            return [*looks, rounds]
    return [max(1, rounds)]


def round_seconds_at_first(default_seconds: float, candidates: int) -> float:
    """What one round of all candidates takes, roughly, before any was run."""
    return _FIRST_ROUND_FACTOR * default_seconds * candidates


def seconds_of_a_round(store: Store, finalists: Sequence[Configuration], left: Limits) -> float | None:
    """By the runs so far; without any (few candidates need no screening), by the first run's time."""
    elapsed: dict[str, list[float]] = {}
    for row in store.rows(SCREENING) + store.rows():
        if row.error is None:
            elapsed.setdefault(row.config_id, []).append(row.elapsed_seconds)
    medians = [median(elapsed[finalist.config_id]) for finalist in finalists if finalist.config_id in elapsed]
    one_run = sum(medians) / len(medians) if medians else left.first_seconds
    return None if one_run is None else (one_run + left.beside_seconds) * _turns(finalists, left)


def _turns(several: Sequence[Configuration], limits: Limits) -> int:
    """How many runs, one after the other, a round of these takes."""
    return ceil(len(several) / limits.at_once)


def _after_screening(limits: Limits, store: Store) -> Limits:
    """What the screening's runs so far leave."""
    rows = store.rows(SCREENING)
    seconds = sum(row.elapsed_seconds + limits.beside_seconds for row in rows)
    return replace(
        limits,
        seconds=None if limits.seconds is None else max(0.0, limits.seconds - seconds / limits.at_once),
        runs=None if limits.runs is None else max(0, limits.runs - len(rows)),
    )


# -- the final --


@dataclass(frozen=True)
class _Final:
    """The finalists, the rounds after which they are compared, and the rule of these comparisons."""

    finalists: Sequence[Configuration]
    looks: Sequence[int]
    figure: Figure

    @property
    def comparisons(self) -> int:
        """How many comparisons share the error of a search."""
        return claims(len(self.finalists), len(self.looks))

    def lead(self, rows: Sequence[Row], going: Sequence[Configuration]) -> Comparison | None:
        """The best of those that are going on against the second best; None with less than two."""
        in_order = ranked(rows, [candidate.config_id for candidate in going], self.figure)
        return self._compared(rows, in_order[0], in_order[1]) if len(in_order) > 1 else None

    def still_in(self, rows: Sequence[Row], going: Sequence[Configuration]) -> list[Configuration]:
        """The best, and those that ran and are not resolved as worse than it."""
        by_id = {candidate.config_id: candidate for candidate in going}
        ran = {row.config_id for row in rows if row.error is None}
        in_order = [config_id for config_id in ranked(rows, list(by_id), self.figure) if config_id in ran]
        stay = in_order[:1] + [
            config_id
            for config_id in in_order[1:]
            if self._compared(rows, config_id, in_order[0]).verdict != verdicts.SLOWER
        ]
        return [by_id[config_id] for config_id in stay]

    def _compared(self, rows: Sequence[Row], config_id: str, other: str) -> Comparison:
        return verdicts.compare(pair_rows(rows, config_id, other, self.figure), comparisons=self.comparisons)


def _run_final(setup: Setup, final: _Final) -> Ended:
    """Run the final from look to look; why it ended."""
    going = list(final.finalists)
    if len(going) < 2:
        return "alone"
    rounds, before = 0, 0
    for look in final.looks:
        # Those that are still in also run the share of those that are out.
        rounds += (look - before) * len(final.finalists) // len(going)
        before = look
        outcome = run_plan(
            replace(setup.plan, configurations=going, order="latin", rounds=rounds),
            setup.store,
            setup.executor,
            setup.clock,
            setup.progress,
            check_rows=setup.check_rows,
        )
        if outcome.interrupted:
            raise KeyboardInterrupt
        # A search that is continued may already hold later rounds, which this look did not know.
        seen = [row for row in setup.store.rows() if row.round < rounds]
        lead = final.lead(seen, going)
        going = final.still_in(seen, going)
        if len(going) < 2 or (lead is not None and known(lead)):
            return "lead"
    return "budget" if max(final.looks, default=MOST_ROUNDS) < MOST_ROUNDS else "rounds"


def known(lead: Comparison) -> bool:
    """Whether the interval of a comparison is narrow enough: 1 % from end to end of the ratio."""
    if lead.low is None or lead.high is None or lead.ratio is None:
        return False
    return (lead.high - lead.low) / lead.ratio < LEAD_KNOWN_WITHIN


# -- the verdict --


@dataclass(frozen=True)
class Verdict:
    """All by config_id. ``winner`` is the default unless another candidate is resolved as better than it.

    ``ranked``: best first; ``comparisons``: each finalist but the default, against the default.
    """

    winner: str
    ranked: Sequence[str]
    comparisons: Mapping[str, Comparison]


def verdict(
    rows: Sequence[Row], finalists: Sequence[str], default: str, figure: Figure, comparisons: int
) -> Verdict:
    """The best of those that are better than the default, by the final's rows.

    The search and the analysis of stored rows share this rule.
    """
    in_order = ranked(rows, finalists, figure)
    against = {
        config_id: verdicts.compare(pair_rows(rows, config_id, default, figure), comparisons=comparisons)
        for config_id in in_order
        if config_id != default
    }
    better = [config_id for config_id, compared in against.items() if compared.verdict == verdicts.FASTER]
    winner = _thriftiest(rows, better, figure, comparisons) if better else default
    return Verdict(winner=winner, ranked=in_order, comparisons=against)


def _thriftiest(rows: Sequence[Row], better: Sequence[str], figure: Figure, comparisons: int) -> str:
    """Of those that nothing tells from the best, the one that takes clearly the least CPU time.

    It leaves cores to others, and is the one that spins least where others have the cores.
    """
    best = better[0]
    of_best = median_figure(rows, best, figure)
    alike = [
        one
        for one in better[1:]
        if median_figure(rows, one, figure) <= ALIKE * of_best
        and verdicts.compare(pair_rows(rows, one, best, figure), comparisons=comparisons).verdict
        not in (verdicts.SLOWER, verdicts.NOT_MEASURED)
    ]
    spent = {one: median_figure(rows, one, lambda row: cpu_seconds_of(row) or inf) for one in [best, *alike]}
    least = min(spent, key=spent.__getitem__)
    return least if spent[least] < CLEARLY_LESS * spent[best] else best


def median_figure(rows: Sequence[Row], config_id: str, figure: Figure) -> float:
    """Of a candidate's good rows."""
    return median(figure(row) for row in rows if row.config_id == config_id and row.error is None)


def ranked(rows: Sequence[Row], finalists: Sequence[str], figure: Figure) -> list[str]:
    """Best first by the middle half of the final's rounds; those without a good row last.

    A finalist that left at a look stands behind those that went on: it was resolved as worse than the best of
    them, and the machine may have changed in the rounds that it did not run.
    """
    figures: dict[str, list[float]] = {}
    until: dict[str, int] = {}
    for row in rows:
        until[row.config_id] = max(until.get(row.config_id, 0), row.round)
        if row.error is None:
            figures.setdefault(row.config_id, []).append(figure(row))
    last = max(until.values(), default=0) - 1  # a round may be half done

    def place(config_id: str) -> tuple[int, float]:
        if config_id not in figures:
            return 1, float("inf")
        return -min(until[config_id], last), midmean(figures[config_id])

    return sorted(finalists, key=place)


def midmean(figures: Sequence[float]) -> float:
    """The mean of the middle half: as robust to outliers as the median, and steadier (for ranks alone)."""
    ordered = sorted(figures)
    cut = len(ordered) // 4
    return fmean(ordered[cut : len(ordered) - cut])


def claims(finalists: int, looks: int) -> int:
    """How many claims share the error that a search may have: each rival of the default, at each look."""
    return max(1, finalists - 1) * max(1, looks)
