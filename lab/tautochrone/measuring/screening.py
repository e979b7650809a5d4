"""Choose from many configurations by runs that are never reported, so that few are measured anew.

Screening is cheap and biased: a configuration may survive by luck. So its rows only choose (they are stored
with source ``screening``); the chosen ones are measured in fresh rounds, and only those are compared.

`best_of_each` chooses from rounds that all configurations ran. `screen` runs them by successive halving
(K. Jamieson and A. Talwalkar, AISTATS 2016).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, hypot, inf, log, sqrt
from statistics import fmean, median, median_low

from tautochrone.measuring.clock import Clock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.progress import Progress
from tautochrone.measuring.session import CheckRows, Interrupt, Session
from tautochrone.results.row import SCREENING, Row, seconds_of
from tautochrone.results.store import Store

MOST_SCREENING_ROUNDS = 24
"""The limit where neither seconds nor runs end a screening in doubt."""

_STOPPED = "stopped after"
_USUAL = 3.0  # times the median: a larger deviation is a disturbance, and counts as one of this size
_OF_DEVIATIONS = 1.2533  # the standard deviation divided by the mean of absolute deviations
_OF_A_MEDIAN = 1.2533  # the standard error of a median divided by that of a mean


# -- choosing from rows --


def median_seconds(rows: Iterable[Row]) -> dict[str, float]:
    """The median seconds of each config_id's good rows; a configuration without one is left out."""
    seconds: dict[str, list[float]] = {}
    for row in rows:
        if row.error is None:
            seconds.setdefault(row.config_id, []).append(seconds_of(row))
    return {config_id: median(runs) for config_id, runs in seconds.items()}


def fastest_first(configurations: Iterable[Configuration], rows: Iterable[Row]) -> list[Configuration]:
    """Those that have a good row, by their median seconds."""
    seconds = median_seconds(rows)
    known = [configuration for configuration in configurations if configuration.config_id in seconds]
    return sorted(known, key=lambda configuration: seconds[configuration.config_id])


def best_of_each(kind_of: Mapping[str, str], rows: Iterable[Row], best_of_all: int) -> set[str]:
    """The fastest configuration of each kind, and the `best_of_all` fastest of all, as config_ids.

    `kind_of` maps each contender's config_id to its kind. A contender without a good row is not chosen.
    """
    seconds = median_seconds(rows)
    order = sorted(
        (seconds[config_id], kind, config_id) for config_id, kind in kind_of.items() if config_id in seconds
    )
    best: dict[str, str] = {}
    for _, kind, config_id in order:
        best.setdefault(kind, config_id)
    return {*(config_id for _, _, config_id in order[:best_of_all]), *best.values()}


class Standing:
    """How configurations compare after rounds that they ran together.

    Takes figures by config_id and round, as logarithms; smaller is better. A disturbance of a whole round
    (the clock fell, another program ran) is no difference between its runs, so each run is compared with
    the median of its round.
    """

    def __init__(self, logs: Mapping[str, Mapping[int, float]]) -> None:
        of_round: dict[int, list[float]] = {}
        for figures in logs.values():
            for number, figure in figures.items():
                of_round.setdefault(number, []).append(figure)
        middle = {number: median(figures) for number, figures in of_round.items()}
        self._rounds = len(of_round)
        self._deviations = {
            config_id: [figure - middle[number] for number, figure in figures.items()]
            for config_id, figures in logs.items()
        }
        self._scatter = {
            config_id: [deviation - median(deviations) for deviation in deviations]
            for config_id, deviations in self._deviations.items()
            if len(deviations) > 1
        }
        # Other programs only ever make a run longer, so of two runs the shorter one tells more.
        self._level = {config_id: median_low(them) for config_id, them in self._deviations.items()}

    def order(self) -> list[str]:
        """Best first."""
        return sorted(self._level, key=self._level.__getitem__)

    def times_the_best(self, config_id: str) -> float:
        """A configuration's figure divided by the best one's: 1 or more."""
        return exp(self._level[config_id] - min(self._level.values()))

    def times_in_doubt(self, config_id: str, errors: float) -> float:
        """How many times the best figure a configuration may have and still be the best.

        `errors` is the number of standard errors of a difference. A configuration whose runs scatter more
        than the others' gets the doubt of its own scatter, and never less than the common doubt. Infinite
        after one round.
        """
        scatter = [abs(deviation) for deviations in self._scatter.values() for deviation in deviations]
        if not scatter:
            return inf
        usual = _USUAL * median(scatter)
        common = fmean(min(deviation, usual) for deviation in scatter)
        own = max(common, fmean(map(abs, self._scatter.get(config_id) or [0.0])))
        of_a_median = _OF_A_MEDIAN if self._rounds > 2 else 1.0
        return exp(errors * of_a_median * _OF_DEVIATIONS * hypot(common, own) / sqrt(self._rounds - 1))


# -- successive halving --


@dataclass(frozen=True)
class Rules:
    """How `screen` works, for each group by itself.

    Stage k adds ``stage_rounds[k]`` rounds for the configurations that are left (the last number repeats).
    After each stage, those slower than `kill_factor` times the best are dropped, and `kept_share` of the
    others stays, until at most `finalists` are left. A group of no more than `finalists` is not run at all.
    `must_keep` names configurations that are never dropped (the default, an expert's rule); they count among
    the `finalists`. `figure` is what should be small in a good row.

    `cap_runs`: a run is stopped at `kill_factor` times the shortest median of its group, except those of
    `must_keep`. Right where the figure is the time of the whole process, wrong for runners that measure for a
    fixed time. `stops_forgiven`: a stopped run counts as a run of that length until a configuration has this
    many more stopped runs than good ones.

    `doubt`: with a value above 0, rank drops no configuration that lies within this many standard errors of
    the best. A stage may then keep more, and screening goes on until its time or its runs are used.
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
class Screened:
    """`finalists` of each group, best first; `eliminated` maps a config_id to when and why it was dropped."""

    finalists: Mapping[str, Sequence[Configuration]]
    eliminated: Mapping[str, str]
    interrupted: bool = False


def screen(
    plan: Plan,
    store: Store,
    executor: Executor,
    clock: Clock,
    progress: Progress,
    rules: Rules,
    *,
    check_rows: CheckRows | None = None,
    max_seconds: float | None = None,
    max_runs: int | None = None,
) -> Screened:
    """Choose the finalists of each group of `plan` by successive halving; about 3 runs a configuration.

    What the store holds is not run again, and the same rows lead to the same finalists. `max_seconds` and
    `max_runs` end the screening before a stage that would exceed them; the first stage is always run.
    """
    with Interrupt() as interrupt:
        session = Session(
            replace(plan, source=SCREENING),
            store,
            executor,
            clock,
            progress,
            interrupt,
            check_rows=check_rows,
        )
        screening = _Screening(session, rules, max_seconds, max_runs)
        try:
            return Screened(screening.run(), screening.eliminated)
        except KeyboardInterrupt:
            return Screened({}, screening.eliminated, interrupted=True)
        finally:
            progress.finish()


@dataclass
class _Screening:
    """All groups, stage by stage; the rounds of a stage go through all groups, as in a plan."""

    session: Session
    rules: Rules
    max_seconds: float | None
    max_runs: int | None
    eliminated: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._logs: dict[str, dict[int, float]] = {}  # of figures, by config_id and round
        self._elapsed: dict[str, dict[str, list[float]]] = {}  # seconds of good runs, by group and config_id
        self._stops: Counter[str] = Counter()
        self._stopped: dict[int, set[str]] = {}  # config_ids, by round
        self._stored = {
            (row.config_id, row.round): row
            for row in self.session.store.rows(SCREENING)
            if row.error is None or row.error.kind == "timeout"
        }
        self._done = 0
        self._total = 0

    def run(self) -> dict[str, list[Configuration]]:
        """The finalists of each group, best first."""
        alive = {name: list(members) for name, members in self.session.plan.groups().items()}
        number = 0
        stage = 0
        while any(map(self._too_many, alive.values())) and not self._over(alive, stage, number):
            self._total = self._done + self._runs_ahead(alive, stage)
            for _ in range(self._rounds_of(stage)):
                self._round(alive, number)
                number += 1
            alive = {name: self._halve(members, stage) for name, members in alive.items()}
            stage += 1
        return {name: self._finalists(members) for name, members in alive.items()}

    def _too_many(self, members: Sequence[Configuration]) -> bool:
        """Whether a group must be screened further; more than the finalists may have to be kept."""
        return len(members) > max(self.rules.finalists, len(self._kept(members)))

    def _kept(self, members: Sequence[Configuration]) -> list[Configuration]:
        return [member for member in self._running(members) if member.name in self.rules.must_keep]

    def _running(self, members: Iterable[Configuration]) -> list[Configuration]:
        """Those that have not failed too often."""
        return [member for member in members if member.config_id not in self.session.dropped]

    def _over(self, alive: Mapping[str, list[Configuration]], stage: int, rounds: int) -> bool:
        """Whether the time or the runs do not suffice for one more stage; the first one is always run."""
        if self.max_seconds is not None and self.session.seconds >= self.max_seconds:
            return True
        if stage == 0 or not self.rules.doubt:
            return False
        contested = sum(len(members) for members in alive.values() if self._too_many(members))
        runs = self._done + contested * self._rounds_of(stage)
        if self.max_runs is not None and runs > self.max_runs:
            return True
        return rounds >= MOST_SCREENING_ROUNDS

    def _round(self, alive: Mapping[str, list[Configuration]], number: int) -> None:
        session = self.session
        for members in session.plan.round_order(number):
            still_in = alive[members[0].group]
            if not self._too_many(still_in):
                continue
            session.expect(
                [
                    (member, self._cap(member))
                    for member in self._running(members)
                    if member in still_in and (member.config_id, number) not in self._stored
                ]
            )
            for position, member in enumerate(members):
                if member in still_in and member.config_id not in session.dropped:
                    self._note(member, number, self._row(member, number, position))
                    self._tell(member)
            refused = session.check([member for member in members if member in still_in])
            for config_id in refused:
                self.eliminated.setdefault(config_id, "gave a wrong answer")
            if refused:
                self._forget(members, refused, number)

    def _forget(self, members: Iterable[Configuration], refused: Collection[str], number: int) -> None:
        """A wrong answer may have come fast: others are not held against it, nor stopped by it."""
        for member in members:
            config_id = member.config_id
            if config_id in refused:
                self._elapsed.get(member.group, {}).pop(config_id, None)
            elif config_id in self._stopped.get(number, ()):
                self._stops[config_id] -= 1
                self._logs.get(config_id, {}).pop(number, None)
                if self.eliminated.get(config_id, "").startswith(_STOPPED):
                    del self.eliminated[config_id]

    def _row(self, member: Configuration, number: int, position: int) -> Row:
        stored = self._stored.get((member.config_id, number))
        if stored is not None:
            return stored
        return self.session.measure(member, number, position, self._cap(member))

    def _cap(self, member: Configuration) -> float | None:
        if not self.rules.cap_runs or member.name in self.rules.must_keep:
            return None
        others = self._elapsed.get(member.group)
        if not others:
            return None
        best = min(median(seconds) for seconds in others.values())
        return min(self.rules.kill_factor * best, self.session.plan.time_limit_seconds)

    def _note(self, member: Configuration, number: int, row: Row) -> None:
        if row.error is None:
            self._keep(member, number, self.rules.figure(row))
            group = self._elapsed.setdefault(member.group, {})
            group.setdefault(member.config_id, []).append(row.elapsed_seconds)
        elif row.error.kind == "timeout":
            self._stops[member.config_id] += 1
            self._stopped.setdefault(number, set()).add(member.config_id)
            if not self._is_forgiven(member):
                self.eliminated.setdefault(member.config_id, f"{_STOPPED} {row.elapsed_seconds:.3g} s")
            else:
                self._keep(member, number, row.elapsed_seconds)

    def _is_forgiven(self, member: Configuration) -> bool:
        """Whether other programs may have caused the stopped runs so far.

        Never where runs are not capped: a stopped run then hung, and its seconds are not the figure.
        """
        stops = self._stops[member.config_id]
        good = len(self._logs.get(member.config_id, ())) - (stops - 1)
        forgiven = self.rules.cap_runs and self.rules.stops_forgiven > 0
        return forgiven and stops <= good + self.rules.stops_forgiven

    def _keep(self, member: Configuration, number: int, figure: float) -> None:
        self._logs.setdefault(member.config_id, {})[number] = log(figure)

    def _halve(self, members: list[Configuration], stage: int) -> list[Configuration]:
        """Those that stay after a stage, best first; those that must be kept stay whatever their times."""
        if not self._too_many(members):
            return members
        standing = self._standing(members)
        kept = self._kept(members)
        places = max(
            self.rules.finalists - len(kept), ceil(len(members) * self.rules.kept_share) - len(kept), 0
        )
        by_id = {member.config_id: member for member in members}
        order = [by_id[config_id] for config_id in standing.order()]
        behind = {member.config_id: standing.times_the_best(member.config_id) for member in order}
        # Without a doubt rank alone decides: the best is 1 times the best.
        doubt = self.rules.doubt
        in_doubt = {each: standing.times_in_doubt(each, doubt) if doubt else 1.0 for each in behind}
        limits = {config_id: self.rules.kill_factor * times for config_id, times in in_doubt.items()}
        rivals = [member.config_id for member in order if member not in kept]
        stay = {
            config_id
            for place, config_id in enumerate(rivals)
            if (place < places or behind[config_id] < in_doubt[config_id])
            and behind[config_id] <= limits[config_id]
        }
        untold = [member for member in self._running(members) if self._is_untold(member)]
        stay |= {member.config_id for member in (*kept, *untold)}
        for config_id in by_id:
            if config_id not in stay:
                reason = self._reason(config_id, behind.get(config_id), limits.get(config_id, 0.0), stage)
                self.eliminated.setdefault(config_id, reason)
        without_result = [member for member in members if member in (*kept, *untold) and member not in order]
        return [member for member in order if member.config_id in stay] + without_result

    def _reason(self, config_id: str, behind: float | None, limit: float, stage: int) -> str:
        if behind is None:
            return self.session.dropped.get(config_id, "failed in the screening")
        slower = f"{behind:.2f} times the best after stage {stage + 1}"
        if behind > limit:
            return f"killed: {slower}"
        part = "half" if self.rules.kept_share == 0.5 else f"{100 * self.rules.kept_share:.0f} %"
        return f"not in the better {part}: {slower}"

    def _standing(self, members: Sequence[Configuration]) -> Standing:
        """Of those that have a result and have not been dropped."""
        gone = self.eliminated.keys() | self.session.dropped.keys()
        return Standing(
            {
                member.config_id: self._logs[member.config_id]
                for member in members
                if self._logs.get(member.config_id) and member.config_id not in gone
            }
        )

    def _is_untold(self, member: Configuration) -> bool:
        """Whether all of its runs were stopped by one that did not count."""
        config_id = member.config_id
        return self._logs.get(config_id) == {} and config_id not in self.eliminated

    def _finalists(self, members: list[Configuration]) -> list[Configuration]:
        """At most `finalists`, with those that must be kept; more may be left when time runs out."""
        kept = self._kept(members)
        others = [member for member in self._running(members) if member not in kept]
        places = max(self.rules.finalists - len(kept), 0)
        for member in others[places:]:
            self.eliminated.setdefault(member.config_id, "time for the screening was over")
        chosen = [*kept, *others[:places]]
        return [member for member in members if member in chosen]

    def _rounds_of(self, stage: int) -> int:
        return self.rules.stage_rounds[min(stage, len(self.rules.stage_rounds) - 1)]

    def _runs_ahead(self, alive: Mapping[str, list[Configuration]], stage: int) -> int:
        """How many runs are left if none is killed: an upper bound."""
        runs = 0
        for members in alive.values():
            count, later = len(members), stage
            least = max(self.rules.finalists, len(self._kept(members)))
            while count > least:
                runs += count * self._rounds_of(later)
                count = max(least, ceil(count * self.rules.kept_share))
                later += 1
        return runs

    def _tell(self, member: Configuration) -> None:
        self._done += 1
        session = self.session
        ahead = max(self._total - self._done, 0)
        left = session.seconds / self._done * ahead
        session.progress.update(self._done, self._done + ahead, session.seconds, left, member.name)
