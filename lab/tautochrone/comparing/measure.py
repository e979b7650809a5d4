"""Measure commands together: rounds in balanced order, looks that are planned before the first run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tautochrone import text
from tautochrone.comparing import cpus, trying
from tautochrone.comparing.analysis import analyse, checked, known, objective_of
from tautochrone.comparing.entries import MOST_COMMANDS, check_program
from tautochrone.comparing.executor import SHORT_SECONDS, WINDOW_SECONDS, Answer, CommandExecutor, by_shell
from tautochrone.comparing.looks import claims_after, planned
from tautochrone.comparing.result import CompareContext, Compared
from tautochrone.comparing.settings import DEFAULT_BUDGET_SECONDS, Entry, Settings
from tautochrone.errors import TautoError
from tautochrone.machine.probe import read_machine
from tautochrone.machine.record import Machine
from tautochrone.measuring.clock import Clock, SystemClock
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor, RunResult
from tautochrone.measuring.identity import identity_of, started_files
from tautochrone.measuring.measure import run_plan
from tautochrone.measuring.objective import Objective
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.progress import Progress, SilentProgress
from tautochrone.measuring.temporary import temporary_folder
from tautochrone.results import context as contexts
from tautochrone.results.store import ROWS_FILE, Store

if TYPE_CHECKING:
    from tautochrone.energy.find import Found

STUDY = "compare"
_LIMIT_FACTOR, _LEAST_LIMIT_SECONDS = 10.0, 10.0
_GAP_SECONDS = 1e-3  # what the lab itself does between two runs


class Tries(Executor, Protocol):
    """An executor that can also try a command out."""

    short: set[str]

    def trial(self, configuration: Configuration, time_limit: float) -> tuple[RunResult, Answer]:
        """One run whose output is kept."""

    def close(self) -> None:
        """End what was started."""


def _found_meter() -> Found:
    from tautochrone.energy.find import find_meter

    return find_meter()


@dataclass(frozen=True)
class Services:
    """What a comparison needs from outside. Tests replace them."""

    machine: Callable[[], Machine] = read_machine
    executor: Callable[[Settings], Tries] = CommandExecutor
    meter: Callable[[], Found] = _found_meter
    files: Callable[[Iterable[Configuration]], Iterable[Path]] = started_files
    clock: Clock = field(default_factory=SystemClock)
    progress: Callable[[str], Progress] = lambda title: SilentProgress()
    say: Callable[[str], None] = lambda sentence: None


def measure(
    entries: Sequence[Entry], settings: Settings | None = None, services: Services | None = None
) -> Compared:
    """Compare 1 to 20 commands; the first is the reference.

    Raises TautoError for what cannot be compared; KeyboardInterrupt where it was interrupted: with
    `settings.output` the same call goes on.
    """
    settings, services = settings or Settings(), services or Services()
    if not 1 <= len(entries) <= MOST_COMMANDS:
        raise TautoError(f"{len(entries)} commands cannot be compared", f"Name 1 to {MOST_COMMANDS}")
    settings.check_them(len(entries))
    objective = objective_of(settings.objective)
    for entry in entries:
        check_program(entry)
    found = services.meter() if objective.needs_meter else None
    if found is not None:
        from tautochrone.energy.find import check_objective

        check_objective(objective.kind, found, services.say)
    machine = services.machine()
    configurations = _configurations(entries, settings, machine)
    with ExitStack() as stack:
        folder = settings.output or stack.enter_context(temporary_folder("tauto-compare-"))
        executor = stack.enter_context(closing(services.executor(settings)))
        plan = _plan(configurations, settings, machine, services.files(configurations))
        fresh = settings.fresh or _is_over(folder)
        context = CompareContext() if fresh else contexts.load(CompareContext(), folder)
        stack.enter_context(_around(configurations, settings, services.say))
        # What fails at its first run leaves no rows behind.
        _try_out(context, entries, configurations, executor, settings, services)
        store = stack.enter_context(
            Store.open(
                folder, STUDY, plan.plan_id, plan.machine, fresh, services.clock.now(), plan.identity.prints
            )
        )
        if settings.output is not None:
            context.folder = str(settings.output)
            contexts.save(context, folder)
        _run_rounds(context, plan, store, _metered(executor, found), settings, objective, services)
        context.notices = tuple(store.notices)
        if settings.output is not None:
            contexts.save(context, folder)
        return analyse(checked(store, context), context, plan.machine)


def _metered(executor: Tries, found: Found | None) -> Executor:
    if found is None:
        return executor
    from tautochrone.energy.recorder import MeteredExecutor

    return MeteredExecutor(executor, found)


def _configurations(entries: Sequence[Entry], settings: Settings, machine: Machine) -> list[Configuration]:
    given = cpus.chosen(settings.cpus, machine) if settings.cpus is not None else None
    found = []
    for place, entry in enumerate(entries):
        start: dict[str, object] = {
            "cpus": list(given) if given is not None else None,
            "folder": entry.asked.folder or None,
            "input": str(settings.input.absolute()) if settings.input is not None else None,
            "prepare": _own(settings.prepare, place),
            "conclude": _own(settings.conclude, place),
        }
        found.append(
            Configuration(
                name=entry.asked.name,
                command=entry.asked.words,
                environment=entry.environment,
                settings={"command": list(entry.asked.words), "place": place, "folder": entry.asked.folder},
                start=start,
            )
        )
    return found


def _own(lines: Sequence[str], place: int) -> str | None:
    return None if not lines else lines[place if len(lines) > 1 else 0]


def _plan(
    configurations: Sequence[Configuration], settings: Settings, machine: Machine, files: Iterable[Path]
) -> Plan:
    """What gives a comparison its identity; the rounds come later."""
    return Plan(
        STUDY,
        configurations,
        rounds=1,
        seed=settings.seed,
        time_limit_seconds=settings.time_limit_seconds or trying.FIRST_LIMIT_SECONDS,
        machine=machine.to_dict(),
        order="latin",
        judged=settings.judged,
        identity=identity_of(files),
    )


def _is_over(folder: Path) -> bool:
    """Whether a comparison there came to its end; another one is then begun."""
    return (folder / ROWS_FILE).exists() and bool(contexts.load(CompareContext(), folder).ended)


@contextmanager
def _around(
    configurations: Sequence[Configuration], settings: Settings, say: Callable[[str], None]
) -> Iterator[None]:
    """``--setup`` before the first run of each command, ``--cleanup`` after its last one.

    Each command that was begun is cleaned up, whatever failed; a failing ``--cleanup`` is said.
    """
    begun = []
    try:
        for configuration in configurations:
            begun.append(configuration)
            if settings.setup is not None and (failed := by_shell(settings.setup, "--setup", configuration)):
                raise TautoError(f"{failed.message}, for {configuration.name}", "Run it by hand to see why")
        yield
    finally:
        for configuration in begun:
            if settings.cleanup is not None and (
                failed := by_shell(settings.cleanup, "--cleanup", configuration)
            ):
                why = f"{failed.message}, for {configuration.name}"
                say(f"{why}; what was measured stays. Run it by hand to see why")


def _try_out(
    context: CompareContext,
    entries: Sequence[Entry],
    configurations: Sequence[Configuration],
    executor: Tries,
    settings: Settings,
    services: Services,
) -> None:
    """Run each command before the first round, and plan the looks; what was planned once stays."""
    tried = trying.try_out(configurations, executor, settings, services.clock)
    if not context.usual_seconds:
        context.usual_seconds = {one.name: tried.seconds[one.config_id] for one in configurations}
    executor.short |= {
        one.config_id
        for one in configurations
        if context.usual_seconds[one.name] < SHORT_SECONDS and not settings.prepare and not settings.conclude
    }
    context.remarks = tuple(dict.fromkeys((*context.remarks, *tried.remarks)))
    if context.looks:
        return
    rivals = len(entries) - 1
    budget = settings.budget_seconds or DEFAULT_BUDGET_SECONDS
    round_seconds = sum(
        max(seconds, WINDOW_SECONDS if name in executor.short else 0.0) + _GAP_SECONDS
        for name, seconds in tried.beside.items()
    )
    affordable = int(budget / round_seconds)
    context.looks = planned(rivals, settings.rounds, affordable)
    if (
        rivals
        and settings.budget_seconds is not None
        and settings.rounds is None
        and context.looks[-1] > affordable
    ):
        needed = context.looks[-1] * round_seconds
        raise TautoError(
            f"--budget {settings.budget_seconds:g} s holds {affordable} rounds of {round_seconds:.3g} s; "
            f"a verdict needs {context.looks[-1]}",
            f"Give it --budget {needed * 1.1:.0f}s or more, or leave it out",
        )
    if sys.argv[1:2] == [STUDY]:
        context.command = shlex.join(["tauto", *sys.argv[1:]])
    else:
        context.command = f"tauto {STUDY} -- " + " : ".join(shlex.join(one.asked.words) for one in entries)
    context.commands_compared = tuple(entry.asked for entry in entries)
    context.objective = settings.objective
    context.precision = settings.precision
    context.start_seconds = {name: one.start for name, one in tried.calibrated.items()}
    context.own_seconds = {name: one.own for name, one in tried.calibrated.items()}
    first, last = (look * round_seconds for look in (context.looks[0], context.looks[-1]))
    services.say(_forecast(len(entries), context, first, last, settings))


def _forecast(commands: int, context: CompareContext, first: float, last: float, settings: Settings) -> str:
    """How long it will take, before it starts."""
    looks, what = context.looks, text.count(commands, "command")
    if len(looks) == 1 or commands == 1:
        return f"{what}, {text.count(looks[-1], 'round')}, about {_words(last)}"
    return (
        f"{what}, {looks[0]} to {looks[-1]} rounds, {_words(first)} to {_words(last)}: it ends at one of "
        f"{len(looks)} looks, once the ratio is known within {100 * settings.precision:g} %"
    )


def _words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _run_rounds(
    context: CompareContext,
    plan: Plan,
    store: Store,
    executor: Executor,
    settings: Settings,
    objective: Objective,
    services: Services,
) -> None:
    """From look to look, until all rivals are known well enough."""
    progress = services.progress("comparing")
    longest = max((*(row.elapsed_seconds for row in store.rows()), *context.usual_seconds.values()))
    limit = settings.time_limit_seconds or max(_LEAST_LIMIT_SECONDS, _LIMIT_FACTOR * longest)
    going = list(plan.configurations)
    reference = going[0]
    for look in context.looks:
        outcome = run_plan(
            replace(plan, configurations=going, rounds=look, time_limit_seconds=limit),
            store,
            executor,
            services.clock,
            progress,
        )
        if outcome.interrupted:
            raise KeyboardInterrupt
        seen = [row for row in store.rows() if row.round < look]
        number = claims_after(len(plan.configurations) - 1, context.looks, look)
        going = [
            rival
            for rival in going[1:]
            if rival.config_id not in outcome.dropped
            and not known(seen, rival.config_id, reference.config_id, objective, number, settings.precision)
        ]
        if not going and len(plan.configurations) > 1:
            context.ended = "known"
            return
        if reference.config_id in outcome.dropped:
            context.ended = "failed"
            return
        going = [reference, *going]
    context.ended = "rounds"
