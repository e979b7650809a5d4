"""Measure a plan: one process per run, interleaved in rounds, each row stored as its run ends.

Never all of A and then all of B. With 1 % noise and 3 % drift over a session, blocked order calls identical
programs different in 6 of 10 sessions whatever the test; interleaved and paired by round it stays below 1
in 100 (``tests/python/test_statistics.py`` holds the simulation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tautochrone.measuring.clock import Clock, SystemClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.progress import Progress, SilentProgress
from tautochrone.measuring.session import CheckRows, Interrupt, Session
from tautochrone.results.row import Row, cpu_seconds_of
from tautochrone.results.store import Store

LEAST_CPU_SHARE_OF_SERIAL = 0.05
"""Many small caches are up to some ten times as fast as the memory that one thread reads."""


@dataclass(frozen=True)
class Outcome:
    """How a measurement ended. What it measured is in the store.

    `finished`: every round was run. Otherwise `interrupted` (Ctrl-C, SIGTERM) or the time budget ended it.
    `rounds` counts the rounds that are complete in the store. `measured` and `failed` count runs of this
    sitting. `dropped` maps the config_id of what was left out to the reason. `notices` are sentences for
    the user.
    """

    finished: bool
    interrupted: bool
    rounds: int
    measured: int
    failed: int
    seconds: float
    dropped: Mapping[str, str] = field(default_factory=dict)
    notices: Sequence[str] = ()


def run_plan(
    plan: Plan,
    store: Store,
    executor: Executor,
    clock: Clock | None = None,
    progress: Progress | None = None,
    on_row: Callable[[Row], None] | None = None,
    *,
    check_rows: CheckRows | None = None,
    max_seconds: float | None = None,
    before_round: Callable[[], None] | None = None,
    until_round: int | None = None,
) -> Outcome:
    """Run what the store does not hold yet, round by round.

    A failed run becomes an error row and the others go on; a configuration that fails twice is left out
    from then on. `on_row` sees each row once it is stored. `check_rows` sees all good rows of a group
    after the group's turn in a round and names the wrong ones (see `equal_answers`). With `max_seconds` no
    round is begun that is not likely to end in time; the first one always is. `before_round` is called
    before each round in which something runs. Rounds from `until_round` on are left to a later call. Ctrl-C
    and SIGTERM drop the run in flight and end cleanly.
    """
    progress = progress if progress is not None else SilentProgress()
    with Interrupt() as interrupt:
        session = Session(
            plan, store, executor, clock or SystemClock(), progress, interrupt, on_row, check_rows
        )
        try:
            ended = _run_rounds(session, max_seconds, before_round, until_round)
            interrupted = False
        except KeyboardInterrupt:
            ended, interrupted = False, True
        finally:
            progress.finish()
        # Once more: a break may have come between a group's last run and its check.
        for members in plan.groups().values():
            session.check(members)
    return Outcome(
        finished=ended,
        interrupted=interrupted,
        rounds=_complete_rounds(session),
        measured=session.measured,
        failed=session.failed,
        seconds=session.seconds,
        dropped=dict(session.dropped),
        notices=[*store.notices, *session.notices()],
    )


def equal_answers(
    is_reference: Callable[[Row], bool],
    *,
    field_name: str = "solution_fnv1a",
    exempt: Callable[[Row], bool] = lambda row: False,
) -> CheckRows:
    """A check for `run_plan`: ``row["check"][field_name]`` of a group's rows must equal the reference row's.

    Rows that are `exempt` (another summation order is no error) or say nothing are left alone. Without any
    reference row nobody can say who is wrong: rows that differ from each other are then all refused.
    """

    def answer(row: Row) -> str | None:
        value = (row.check or {}).get(field_name)
        return None if value is None else str(value)

    def check(rows: Sequence[Row]) -> dict[str, str]:
        judged = [row for row in rows if answer(row) is not None and not exempt(row)]
        expected = {answer(row) for row in judged if is_reference(row)}
        if not expected:
            answers = {answer(row) for row in judged}
            reason = f"no reference was measured, and {len(answers)} different answers were given"
            return {row.run: reason for row in judged} if len(answers) > 1 else {}
        if len(expected) > 1:
            reason = f"the reference itself gave {len(expected)} different answers"
            return {row.run: reason for row in judged}
        (right,) = expected
        return {
            row.run: f"{field_name} is {answer(row)}, the reference gives {right}"
            for row in judged
            if answer(row) != right
        }

    return check


def enough_cpu_time(is_reference: Callable[[Row], bool]) -> CheckRows:
    """A check for `run_plan`: no run did its repetitions in hardly any of the reference's time for them.

    The reference's `seconds` are those of one thread for one repetition: whoever shares the work needs as
    much CPU time, but for caches that hold a share and not the whole. Rows that do not say how many
    `iterations` they had, and groups without a reference, are left alone.
    """

    def check(rows: Sequence[Row]) -> dict[str, str]:
        alone = min((row.seconds or 0.0 for row in rows if is_reference(row)), default=0.0)
        wrong = {}
        for row in rows:
            iterations, used = row.detail.get("iterations"), cpu_seconds_of(row)
            if iterations is None or used is None:
                continue
            needed = alone * iterations
            if used < LEAST_CPU_SHARE_OF_SERIAL * needed:
                wrong[row.run] = (
                    f"says that it did {iterations} repetitions in {used:.3g} s of CPU time, of which one "
                    f"thread needs {needed:.3g} s"
                )
        return wrong

    return check


@dataclass
class _Agenda:
    """The rounds that each configuration still has to run, and how far that is."""

    session: Session
    left: dict[str, set[int]]
    done: int = 0

    def wants(self, configuration: Configuration, number: int) -> bool:
        return number in self.left[configuration.config_id]

    def strike(self, configuration: Configuration, number: int) -> None:
        """One run has ended; what was dropped meanwhile will not run any more."""
        self.left[configuration.config_id].discard(number)
        self.done += 1
        for config_id in self.session.dropped:
            self.left[config_id].clear()
        counts = {config_id: len(rounds) for config_id, rounds in self.left.items() if rounds}
        session = self.session
        session.progress.update(
            self.done,
            self.done + sum(counts.values()),
            session.seconds,
            session.seconds_left(counts),
            configuration.name,
        )


def _run_rounds(
    session: Session,
    max_seconds: float | None,
    before_round: Callable[[], None] | None,
    until_round: int | None,
) -> bool:
    """True when all rounds were run, False when the time budget or `until_round` ended them."""
    plan = session.plan
    completed = session.store.completed(plan.source)
    config_ids = [configuration.config_id for configuration in plan.configurations]
    rounds = range(plan.rounds)
    left = {each: {number for number in rounds if (each, number) not in completed} for each in config_ids}
    agenda = _Agenda(session, left)
    longest_round = 0.0
    for number in rounds:
        begun = session.seconds
        if until_round is not None and number >= until_round:
            return False
        if number > 0 and max_seconds is not None and begun + longest_round > max_seconds:
            return False
        if before_round is not None and any(number in rounds_left for rounds_left in left.values()):
            with session.interrupt.allowed():
                before_round()
        for members in plan.round_order(number):
            _run_group(session, agenda, members, number)
        longest_round = max(longest_round, session.seconds - begun)
    return True


def _run_group(session: Session, agenda: _Agenda, members: Sequence[Configuration], number: int) -> None:
    wanted = [(place, member) for place, member in enumerate(members) if agenda.wants(member, number)]
    session.expect([(member, None) for _, member in wanted if member.config_id not in session.dropped])
    for position, member in wanted:
        if member.config_id not in session.dropped:
            session.measure(member, number, position)
            agenda.strike(member, number)
    if wanted:
        session.check(members)


def _complete_rounds(session: Session) -> int:
    completed = session.store.completed(session.plan.source)
    wanted = {
        configuration.config_id for configuration in session.plan.configurations
    } - session.dropped.keys()
    if not wanted:
        return 0
    return sum(all((each, number) in completed for each in wanted) for number in range(session.plan.rounds))
