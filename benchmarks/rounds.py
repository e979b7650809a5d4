"""Rounds of configurations, and the choice of the fastest of many by rounds that are never reported."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from statistics import median

from benchmarks.context import Budget, Context
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.measure import run_plan
from tautochrone.measuring.plan import Order, Plan
from tautochrone.measuring.screening import Rules, fastest_first, median_seconds, screen
from tautochrone.measuring.session import CheckRows
from tautochrone.results.row import MEASURED, SCREENING, Row, pair_rows, seconds_of
from tautochrone.results.store import Store

RUN_LIMIT_SECONDS = 30.0
# The eight fastest of a first round are tried again until each has two rounds behind it, the best four until
# they have four, the best two until they have seven. One round alone would choose a lucky one.
LEADERS = 8
ROUNDS_BEHIND = (2, 4, 7)
REFINING_SHARE = 0.5  # of the time that the first round left, for the relatives of the best
HOPELESS = 1.15  # a schedule this much slower than the best gets no second look

Pairs = list[tuple[float, float]]
"""(our seconds, the peer's seconds) of each round."""


class Interrupted(Exception):
    """Ctrl-C: the rows so far are written, nothing more is measured."""


class Bench:
    """Rounds of configurations that are compared, stored in a folder of their own.

    The folder is ``<output folder>/bench/<name>``; what an earlier run left there is deleted. A context
    manager. Screening rows and measured rows are kept apart by their source, as in every study.
    """

    def __init__(self, context: Context, name: str, executor: Executor | None = None) -> None:
        self._context = context
        self._executor = executor or context.executor
        self._name = name
        folder = context.folder / name.replace("/", "-")
        shutil.rmtree(folder, ignore_errors=True)
        self.store = Store.open(folder, "benchmarks", name, context.machine, now=context.clock.now())

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *ended: object) -> None:
        self.store.close()

    def run(
        self,
        configurations: Sequence[Configuration],
        rounds: int,
        max_seconds: float,
        check_rows: CheckRows | None = None,
        on_row: Callable[[Row], None] | None = None,
    ) -> list[Row]:
        """The good rows of fresh, reported rounds."""
        plan = self._plan(configurations, rounds, MEASURED, "latin")
        self._run(plan, max_seconds, "measuring", check_rows, on_row)
        return [row for row in self.store.rows() if row.error is None]

    def screen(self, configurations: Sequence[Configuration], rounds: int, max_seconds: float) -> None:
        """Run rounds that only choose; rounds that a configuration has behind it are not run again."""
        if configurations:
            self._run(self._plan(configurations, rounds, SCREENING), max_seconds, "choosing")

    def fastest(self, rivals: Sequence[Configuration], max_seconds: float) -> Configuration | None:
        """Choose one: a round of all, whatever it takes, then more of the leaders, half as many each time.

        None where none of them has a good run.
        """
        context = self._context
        begun = context.clock.monotonic()
        self.screen(rivals, 1, max_seconds)
        leaders = self.ranked(rivals)[:LEADERS]
        if len(leaders) < 2:
            return leaders[0] if leaders else None
        behind = ROUNDS_BEHIND[-ceil(log2(len(leaders))) :]
        rounds = [now - before for before, now in zip((0, *behind), behind, strict=False)]
        screened = screen(
            self._plan(leaders, sum(rounds), SCREENING),
            self.store,
            self._executor,
            context.clock,
            context.progress(f"{self._name}: choosing"),
            Rules(finalists=1, stage_rounds=rounds),
            max_seconds=max(0.0, max_seconds - (context.clock.monotonic() - begun)),
        )
        if screened.interrupted:
            raise Interrupted
        (finalists,) = screened.finalists.values()
        chosen = {leader.config_id: leader for leader in leaders}
        return chosen[finalists[0].config_id] if finalists else leaders[0]

    def screened_seconds(self) -> dict[str, float]:
        """The median of each config_id's good screening rows."""
        return median_seconds(self.store.rows(SCREENING))

    def elapsed_seconds(self, configuration: Configuration) -> float:
        """How long the last run of a configuration took, from start to end; 0 before any."""
        rows = [row for row in self.store.rows(None) if row.config_id == configuration.config_id]
        return float(rows[-1].elapsed_seconds) if rows else 0.0

    def ranked(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Those that were screened, fastest first."""
        return fastest_first(configurations, self.store.rows(SCREENING))

    def pairs(self, ours: Configuration, peer: Configuration) -> Pairs:
        """(our seconds, the peer's seconds) of each reported round."""
        return pair_rows(self.store.rows(), ours.config_id, peer.config_id)

    def errors(self) -> str:
        """What failed, a sentence each, without repeats."""
        rows = self.store.rows(None)
        return "; ".join(dict.fromkeys(f"{row.name}: {row.error.message}" for row in rows if row.error))

    def times(self, ours: Configuration, peer: Configuration) -> str:
        """``ours 310 ns, peer 830 ns``; what failed where there is no pair."""
        pairs = self.pairs(ours, peer)
        if not pairs:
            return self.errors()
        mine, theirs = (median(column) for column in zip(*pairs, strict=True))
        return f"ours {engineering(mine)}, peer {engineering(theirs)}"

    def _plan(
        self, configurations: Sequence[Configuration], rounds: int, source: str, order: Order = "shuffled"
    ) -> Plan:
        return Plan(
            "benchmarks",
            [replace(configuration, group=self._name) for configuration in configurations],
            rounds,
            seed=self._context.seed,
            time_limit_seconds=RUN_LIMIT_SECONDS,
            machine=self._context.machine,
            order=order,
            source=source,
        )

    def _run(
        self,
        plan: Plan,
        max_seconds: float,
        doing: str,
        check_rows: CheckRows | None = None,
        on_row: Callable[[Row], None] | None = None,
    ) -> None:
        context = self._context
        outcome = run_plan(
            plan,
            self.store,
            self._executor,
            context.clock,
            context.progress(f"{self._name}: {doing}"),
            on_row,
            check_rows=check_rows,
            max_seconds=max_seconds,
        )
        if outcome.interrupted:
            raise Interrupted


@dataclass(frozen=True)
class Way:
    """One way in which a peer can do the work. `kin` is what it shares with its relatives, the peer first.

    `made` is the run that is reported, `quick` a shorter one of the same, to choose.
    """

    kin: tuple[str, ...]
    chunk: int | None
    wait: str
    made: Configuration
    quick: Configuration

    @property
    def peer(self) -> str:
        """The peer's name."""
        return self.kin[0]

    @property
    def key(self) -> tuple[object, ...]:
        """What it is in every cell."""
        return (*self.kin, self.chunk, self.wait)

    def is_coarse(self, chunks: Sequence[int]) -> bool:
        """Whether it is tried first: the default wait, and of the chunks a few."""
        return self.wait == "default" and (self.chunk is None or self.chunk in chunks)


def relatives(bench: Bench, ways: Sequence[Way], tried: Sequence[Way], most: int) -> list[Way]:
    """The other chunks and waits of the fastest schedules that were tried, of `most` schedules at most."""
    seconds = bench.screened_seconds()
    timed = [(seconds[way.quick.config_id], way) for way in tried if way.quick.config_id in seconds]
    timed.sort(key=lambda pair: pair[0])
    near = dict.fromkeys(way.kin for time, way in timed if time <= HOPELESS * timed[0][0])
    done = {way.key for way in tried}
    return [way for kin in list(near)[:most] for way in ways if way.kin == kin and way.key not in done]


def best_way(
    bench: Bench, every: Sequence[Way], tried: Sequence[Way], most: int, budget: Budget
) -> Configuration | None:
    """The fastest of `every`; None where none of them ran.

    First those `tried`, then the other chunks and waits of `most` kinds near the best, the fastest kind's
    first, as time allows; then more rounds of the leaders.
    """
    bench.screen([way.quick for way in tried], 1, budget.left)
    leader = next(iter(bench.ranked(way.quick for way in tried)), None)
    if leader is None:
        return None
    affordable = REFINING_SHARE * budget.left / max(1e-3, bench.elapsed_seconds(leader))
    tried = [*tried, *relatives(bench, every, tried, most)[: int(affordable)]]
    best = bench.fastest([way.quick for way in tried], budget.left)
    return next((way.made for way in tried if best and way.made.config_id == best.config_id), None)


def bound_pairs(
    rows: Iterable[Row],
    ours: Configuration,
    alone: Sequence[Configuration],
    bound: Callable[[Sequence[float]], float],
) -> Pairs:
    """(our seconds, the bound) of each round in which all ran; `bound` is of the seconds of `alone`."""
    rounds: dict[int, dict[str, float]] = {}
    for row in rows:
        rounds.setdefault(row.round, {})[row.config_id] = seconds_of(row)
    wanted = [ours.config_id, *(made.config_id for made in alone)]
    whole = [seconds for _, seconds in sorted(rounds.items()) if all(key in seconds for key in wanted)]
    return [(seconds[wanted[0]], bound([seconds[key] for key in wanted[1:]])) for seconds in whole]


def work_over_speeds(seconds: Sequence[float]) -> float:
    """The bound W/Σs: a core that needs t seconds alone has the speed W/t, so together they need 1/Σ(1/t)."""
    return 1.0 / sum(1.0 / each for each in seconds)


def engineering(seconds: float) -> str:
    """``310 ns``, ``1.2 ms``."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
