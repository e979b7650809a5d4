"""Find the best of many configurations by successive halving, then measure the few that are left anew.

Screening is cheap and biased: whoever is lucky survives. So its rows only choose (they are stored with source
``screening`` and are never reported); the finalists are measured in fresh rounds that are balanced for
position and predecessor, and only those are compared. Halving: K. Jamieson and A. Talwalkar, AISTATS 2016.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, log
from statistics import median

from tautochrone.clock import Clock, SystemClock
from tautochrone.configuration import Configuration
from tautochrone.executor import Executor
from tautochrone.interrupt import Interrupt
from tautochrone.measure import Outcome, run_plan, seconds_of
from tautochrone.plan import Plan
from tautochrone.progress import Progress, SilentProgress
from tautochrone.row import SCREENING, Row
from tautochrone.session import CheckRows, Session
from tautochrone.standing import Standing
from tautochrone.store import Store

SCREENING_SHARE = 0.5
"""The part of `max_seconds` and of `max_runs` that screening may use."""

MOST_SCREENING_ROUNDS = 24
"""Where neither seconds nor runs end a screening that is in doubt."""


@dataclass(frozen=True)
class Rules:
    """How screening goes, for each group by itself.

    Stage k adds ``stage_rounds[k]`` rounds for those still in (the last number repeats); after each stage
    what is slower than `kill_factor` times the best goes, and of the others the better half stays, until
    at most `finalists` are left. `must_keep` names configurations that reach the final in any case (the
    default, an expert's rule) and count among the `finalists`. With `cap_runs` a screening run is stopped
    at `kill_factor` times the shortest run of its group (those of `must_keep` are not): right where the
    figure of merit is the time of the whole process, wrong for runners that measure for a fixed time. A group
    of no more than `finalists` goes to the final as it is. `kept_share` is the part that a stage leaves in.
    `figure` is what is to be small in a good row.

    With a `doubt` above 0 rank alone drops nobody who lies less than so many standard errors of a difference
    behind the best, as far as the spread of the runs is known: then a stage may leave in more, and screening
    goes on until its part of the time or of the runs is used. `stops_forgiven`: where runs are capped,
    a stopped one counts as one of the time at which it was stopped, until a configuration has so many more of
    them than good runs.
    """

    finalists: int = 4
    must_keep: Collection[str] = ()
    stage_rounds: Sequence[int] = (1, 2, 3)
    kill_factor: float = 1.3
    cap_runs: bool = False
    kept_share: float = 0.5
    doubt: float = 0.0
    stops_forgiven: int = 0
    figure: Callable[[Row], float] = seconds_of

    def __post_init__(self) -> None:
        if self.finalists < 1 or not self.stage_rounds or min(self.stage_rounds) < 1 or self.kill_factor <= 1:
            raise ValueError("halving needs a finalist, a round in every stage and a kill factor above 1")


@dataclass(frozen=True)
class HalvingOutcome:
    """`finalists` of each group, best of the screening first; `eliminated` maps a config_id to when and why.

    `outcome` tells how the final went; None if the screening was interrupted.
    """

    finalists: Mapping[str, Sequence[Configuration]]
    eliminated: Mapping[str, str]
    screening_runs: int
    interrupted: bool
    outcome: Outcome | None = None


def halving(
    plan: Plan,
    store: Store,
    executor: Executor,
    clock: Clock | None = None,
    progress: Progress | None = None,
    on_row: Callable[[Row], None] | None = None,
    *,
    rules: Rules | None = None,
    check_rows: CheckRows | None = None,
    max_seconds: float | None = None,
    max_runs: int | None = None,
    final: bool = True,
) -> HalvingOutcome:
    """Screen each group of `plan`, then run the finalists for `plan.rounds` fresh rounds.

    Without `final` the screening is all: the caller measures the finalists in rounds of its own.
    The final is a Latin square over positions. What the store holds already is not run again, and
    the same rows lead to the same finalists. Screening takes about 3 runs for each
    configuration instead of `plan.rounds`, and with a `doubt` no more than its share of `max_runs`.
    """
    rules = rules if rules is not None else Rules()
    clock = clock if clock is not None else SystemClock()
    progress = progress if progress is not None else SilentProgress()
    begun = clock.monotonic()
    screening = replace(plan, source=SCREENING)
    budget = None if max_seconds is None else SCREENING_SHARE * max_seconds
    runs_budget = None if max_runs is None else int(SCREENING_SHARE * max_runs)
    with Interrupt() as interrupt:
        session = Session(screening, store, executor, clock, progress, interrupt, on_row, check_rows)
        screen = _Screen(session, rules, budget, runs_budget)
        try:
            finalists = screen.run()
        except KeyboardInterrupt:
            return HalvingOutcome({}, screen.eliminated, session.measured + session.failed, True)
        finally:
            progress.finish()
    chosen = [one for members in finalists.values() for one in members]
    if not chosen or not final:
        return HalvingOutcome(finalists, screen.eliminated, session.measured + session.failed, False)
    left = None if max_seconds is None else max(0.0, max_seconds - (clock.monotonic() - begun))
    fresh = replace(plan, configurations=chosen, order="latin")
    outcome = run_plan(
        fresh, store, executor, clock, progress, on_row, check_rows=check_rows, max_seconds=left
    )
    runs = session.measured + session.failed
    return HalvingOutcome(finalists, screen.eliminated, runs, outcome.interrupted, outcome)


@dataclass
class _Screen:
    """The screening of all groups, stage by stage; a stage's rounds go through all groups, as in a plan."""

    session: Session
    rules: Rules
    budget_seconds: float | None
    budget_runs: int | None = None
    eliminated: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._logs: dict[str, dict[int, float]] = {}  # of figures, by config_id and round
        self._elapsed: dict[str, dict[str, list[float]]] = {}  # seconds of good runs, by group and config_id
        self._stops: Counter[str] = Counter()
        self._stored = {
            (row["config_id"], row["round"]): row
            for row in self.session.store.rows(SCREENING)
            if row["error"] is None or row["error"]["kind"] == "timeout"
        }
        self._done = 0
        self._total = 0

    def run(self) -> dict[str, list[Configuration]]:
        """The finalists of each group, best first."""
        alive = {name: list(members) for name, members in self.session.plan.groups().items()}
        number = 0
        stage = 0
        while self._contested(alive) and not self._over(alive, stage, number):
            self._total = self._done + self._runs_ahead(alive, stage)
            for _ in range(self._rounds_of(stage)):
                self._round(alive, number)
                number += 1
            alive = {name: self._halve(name, members, stage) for name, members in alive.items()}
            stage += 1
        return {name: self._finalists(name, members) for name, members in alive.items()}

    def _contested(self, alive: Mapping[str, list[Configuration]]) -> bool:
        return any(self._too_many(members) for members in alive.values())

    def _too_many(self, members: Sequence[Configuration]) -> bool:
        """Whether a group must be screened on; more than the finalists may have to be kept."""
        return len(members) > max(self.rules.finalists, len(self._kept(members)))

    def _kept(self, members: Sequence[Configuration]) -> list[Configuration]:
        dropped = self.session.dropped
        return [one for one in members if one.name in self.rules.must_keep and one.config_id not in dropped]

    def _over(self, alive: Mapping[str, list[Configuration]], stage: int, rounds: int) -> bool:
        """Whether time or runs for one more stage are missing; the first stage is always run."""
        if self.budget_seconds is not None and self.session.seconds >= self.budget_seconds:
            return True
        if stage == 0 or not self.rules.doubt:
            return False
        coming = sum(len(one) for one in alive.values() if self._too_many(one)) * self._rounds_of(stage)
        if self.budget_runs is not None and self._done + coming > self.budget_runs:
            return True
        return rounds >= MOST_SCREENING_ROUNDS

    def _round(self, alive: Mapping[str, list[Configuration]], number: int) -> None:
        for members in self.session.plan.round_order(number):
            name = members[0].group
            if not self._too_many(alive[name]):
                continue
            going = [
                one for one in members if one in alive[name] and one.config_id not in self.session.dropped
            ]
            unknown = [one for one in going if (one.config_id, number) not in self._stored]
            self.session.expect([(one, self._cap(one)) for one in unknown])
            for position, one in enumerate(members):
                if one in alive[name] and one.config_id not in self.session.dropped:
                    self._note(one, number, self._row(one, number, position))
                    self._tell(one)
            for config_id in self.session.check([one for one in members if one in alive[name]]):
                self.eliminated.setdefault(config_id, "gave a wrong answer")

    def _row(self, one: Configuration, number: int, position: int) -> Row:
        stored = self._stored.get((one.config_id, number))
        if stored is not None:
            return stored
        return self.session.measure(one, number, position, self._cap(one))

    def _cap(self, one: Configuration) -> float | None:
        if not self.rules.cap_runs or one.name in self.rules.must_keep:
            return None
        others = self._elapsed.get(one.group)
        if not others:
            return None
        best = min(median(seconds) for seconds in others.values())
        return min(self.rules.kill_factor * best, self.session.plan.time_limit_seconds)

    def _note(self, one: Configuration, number: int, row: Row) -> None:
        if row["error"] is None:
            self._keep(one, number, self.rules.figure(row))
            group = self._elapsed.setdefault(one.group, {})
            group.setdefault(one.config_id, []).append(row["elapsed_seconds"])
        elif row["error"]["kind"] == "timeout":
            self._stops[one.config_id] += 1
            if not self._is_forgiven(one):
                self.eliminated.setdefault(one.config_id, f"stopped after {row['elapsed_seconds']:.3g} s")
            else:
                self._keep(one, number, row["elapsed_seconds"])

    def _is_forgiven(self, one: Configuration) -> bool:
        """Whether the stopped runs so far may have been the work of others.

        Never where runs are not capped: then they hang, and their time is not what the figure is of.
        """
        stops = self._stops[one.config_id]
        good = len(self._logs.get(one.config_id, ())) - (stops - 1)
        forgiven = self.rules.cap_runs and self.rules.stops_forgiven > 0
        return forgiven and stops <= good + self.rules.stops_forgiven

    def _keep(self, one: Configuration, number: int, figure: float) -> None:
        self._logs.setdefault(one.config_id, {})[number] = log(figure)

    def _halve(self, name: str, members: list[Configuration], stage: int) -> list[Configuration]:
        """Who stays in after a stage, best first. Those that must be kept do, whatever their times."""
        if not self._too_many(members):
            return members
        standing = self._standing(members)
        kept = self._kept(members)
        places = max(self.rules.finalists - len(kept), self._places(len(members)) - len(kept), 0)
        by_id = {one.config_id: one for one in members}
        order = [by_id[config_id] for config_id in standing.order()]
        behind = {one.config_id: standing.times_the_best(one.config_id) for one in order}
        # Without a doubt nobody but by rank: the best is 1 times the best.
        in_doubt = dict.fromkeys(behind, 1.0)
        if self.rules.doubt:
            in_doubt = {one: standing.times_in_doubt(one, self.rules.doubt) for one in behind}
        limits = {one: self.rules.kill_factor * times for one, times in in_doubt.items()}
        rivals = [one.config_id for one in order if one not in kept]
        stay = {
            one
            for place, one in enumerate(rivals)
            if (place < places or behind[one] < in_doubt[one]) and behind[one] <= limits[one]
        }
        stay |= {one.config_id for one in kept}
        for one in members:
            if one.config_id not in stay:
                reason = self._reason(one, behind.get(one.config_id), limits.get(one.config_id, 0.0), stage)
                self.eliminated.setdefault(one.config_id, reason)
        return [one for one in order if one.config_id in stay] + [one for one in kept if one not in order]

    def _reason(self, one: Configuration, behind: float | None, limit: float, stage: int) -> str:
        if behind is None:
            return self.session.dropped.get(one.config_id, "failed in the screening")
        slower = f"{behind:.2f} times the best after stage {stage + 1}"
        if behind > limit:
            return f"killed: {slower}"
        part = "half" if self.rules.kept_share == 0.5 else f"{100 * self.rules.kept_share:.0f} %"
        return f"not in the better {part}: {slower}"

    def _places(self, count: int) -> int:
        """How many of so many a stage leaves in."""
        return ceil(count * self.rules.kept_share)

    def _standing(self, members: Sequence[Configuration]) -> Standing:
        """Of those with a result and no mark against them."""
        gone = self.eliminated.keys() | self.session.dropped.keys()
        good = [one.config_id for one in members if one.config_id in self._logs]
        return Standing({one: self._logs[one] for one in good if one not in gone})

    def _finalists(self, name: str, members: list[Configuration]) -> list[Configuration]:
        """At most `finalists`, those that must be kept among them; more may be in when time runs out."""
        kept = self._kept(members)
        others = [one for one in members if one not in kept and one.config_id not in self.session.dropped]
        places = max(self.rules.finalists - len(kept), 0)
        for one in others[places:]:
            self.eliminated.setdefault(one.config_id, "time for the screening was over")
        chosen = [*kept, *others[:places]]
        return [one for one in members if one in chosen]

    def _rounds_of(self, stage: int) -> int:
        return self.rules.stage_rounds[min(stage, len(self.rules.stage_rounds) - 1)]

    def _runs_ahead(self, alive: Mapping[str, list[Configuration]], stage: int) -> int:
        """How many runs are left if nobody is killed: an upper bound."""
        runs = 0
        for members in alive.values():
            count, later = len(members), stage
            while count > max(self.rules.finalists, len(self._kept(members))):
                runs += count * self._rounds_of(later)
                count = max(self.rules.finalists, len(self._kept(members)), self._places(count))
                later += 1
        return runs

    def _tell(self, one: Configuration) -> None:
        self._done += 1
        session = self.session
        ahead = max(self._total - self._done, 0)
        left = session.seconds / self._done * ahead
        session.progress.update(self._done, self._done + ahead, session.seconds, left, one.name)
