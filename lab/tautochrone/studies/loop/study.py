"""``tauto study loop`` from the request to the report, one step after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from tautochrone import measure
from tautochrone.errors import TautoError
from tautochrone.plan import Plan
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.report.loop.analysis_types import LoopAnalysis
from tautochrone.row import SCREENING
from tautochrone.store import Store
from tautochrone.studies import context as contexts
from tautochrone.studies.concluding import conclude
from tautochrone.studies.loop import loads
from tautochrone.studies.loop.analysis import analyse
from tautochrone.studies.loop.cells import collect
from tautochrone.studies.loop.context import LoopContext
from tautochrone.studies.loop.measuring import (
    StudyCell,
    configuration,
    estimated_run_seconds,
    study_cells,
    sums_in_its_own_order,
    times_of,
)
from tautochrone.studies.loop.request import LoopRequest, choose_sizes
from tautochrone.studies.loop.screening import Entry, finalists, screened_at_all
from tautochrone.studies.options import Times, check_cpus, emulation_text, parse_cpus
from tautochrone.studies.preparing import (
    Checked,
    announcement,
    checked_cpus,
    peers_here,
    time_limit_seconds,
    usable_members,
    with_emulations,
)
from tautochrone.studies.remeasuring import MachineAgain
from tautochrone.studies.running import is_serial, run_part
from tautochrone.studies.services import Services
from tautochrone.studies.slowdowns import StateExecutor
from tautochrone.studies.states import open_states

STUDY = "loop"
_FINALISTS_GUESS = 12  # of each cell, for the estimate before anything was screened


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Checked):
    """A request that was checked against this machine, ready to be measured."""

    request: LoopRequest
    sizes: tuple[int, ...]

    @property
    def times(self) -> Times:
        """Seconds and rounds of the runs."""
        return times_of(self.request)


def run_study(request: LoopRequest, services: Services | None = None) -> LoopAnalysis:
    """Measure what is missing in the output folder, analyse all, write the report, print the verdict.

    Raises TautoError for everything that cannot be done here, before the first run; KeyboardInterrupt after
    an interrupted study has been reported.
    """
    services = services or Services()
    prepared = prepare(request, services)
    with ExitStack() as stack:
        inner = stack.enter_context(services.executor(request.seed))
        executor, emulations, refused = open_states(stack, inner, request, services)
        prepared = replace(prepared, machine=with_emulations(prepared.machine, emulations))
        cells = study_cells(
            request,
            prepared.sizes,
            emulations,
            prepared.cpus,
            usable_members(prepared.machine),
            prepared.states,
        )
        entries = entries_of(cells, prepared.times)
        plan = plan_of(entries, prepared)
        store = stack.enter_context(
            Store.open(request.output, STUDY, plan.plan_id, prepared.machine, request.fresh, services.clock)
        )
        services.say(_announcement(cells, prepared))
        context = _context(prepared, cells, executor, refused)
        contexts.begin(context, store)
        screening = None if request.all_settings else screening_of(cells, plan, prepared.times)
        interrupted = _measure(plan, screening, entries, store, executor, services, context)
        if not interrupted and services.illustrations:
            context.cpu_load, context.sampler_cpu_seconds = _sample(
                store, cells, prepared, executor, services
            )
        contexts.save(context, request.output)
    analysis = analyse(store.rows(None), prepared.machine, context)
    conclude(store, prepared.machine, request, analysis, services, interrupted)
    return analysis


# -- before the first run --


def prepare(request: LoopRequest, services: Services) -> Prepared:
    """Check the request against this machine. Raises TautoError for the first thing that cannot be done."""
    states, absent = peers_here(request, services, STUDY)
    machine = services.machine()
    cpus, all_cpus = checked_cpus(request, machine)
    allowed = [cpu.number for cpu in cpus]
    for name in request.placements or ():
        if name[:1].isdigit():
            check_cpus(parse_cpus(name), allowed, all_cpus, "--placements")
    if request.threads is not None and request.threads > len(cpus):
        raise TautoError(
            f"--threads {request.threads} is more than the {len(cpus)} CPUs that may be used here",
            f"Ask for {len(cpus)} or fewer",
        )
    sizes = choose_sizes(request, _available_bytes(machine))
    too_large = tuple(NotMeasured(what="a size", why=sentence) for sentence in sizes.left_out)
    return Prepared(
        request=request,
        machine=machine,
        states=states,
        cpus=cpus,
        left_out=(*absent, *too_large),
        sizes=sizes.chosen,
    )


def _available_bytes(machine: Mapping[str, Any]) -> int | None:
    """What a process may allocate: what is free, and no more than the container's limit."""
    limits = [machine.get(name) for name in ("available_memory_bytes", "memory_limit_bytes")]
    return min((int(limit) for limit in limits if limit is not None), default=None)


def entries_of(cells: Iterable[StudyCell], times: Times) -> dict[str, list[Entry]]:
    """Every candidate of each cell with its command."""
    return {
        cell.group: [(candidate, configuration(cell, candidate, times)) for candidate in cell.candidates]
        for cell in cells
    }


def plan_of(entries: Mapping[str, Sequence[Entry]], prepared: Prepared) -> Plan:
    """Everything that might run, as one plan: it gives the study its identity."""
    times = prepared.times
    slowest = max(estimated_run_seconds(size, times) for size in prepared.sizes)
    return Plan(
        STUDY,
        [one for of_cell in entries.values() for _, one in of_cell],
        rounds=times.rounds,
        seed=prepared.request.seed,
        time_limit_seconds=time_limit_seconds(prepared.request, slowest),
        machine=prepared.machine,
        order="latin",
    )


def screening_of(cells: Sequence[StudyCell], plan: Plan, times: Times) -> Plan:
    """The same configurations in shorter runs and fewer rounds, to choose who comes into the final."""
    shorter = times.screening or times
    first = [
        configuration(cell, candidate, shorter)
        for cell in cells
        for candidate in cell.candidates
        if screened_at_all(candidate)
    ]
    return replace(plan, configurations=first, rounds=shorter.rounds, source=SCREENING, order="shuffled")


def _announcement(cells: Sequence[StudyCell], prepared: Prepared) -> str:
    times = prepared.times
    shorter = times.screening or times
    all_settings = prepared.request.all_settings
    seconds = 0.0
    for cell in cells:
        first = 0 if all_settings else sum(1 for one in cell.candidates if screened_at_all(one))
        last = len(cell.candidates) if all_settings else min(_FINALISTS_GUESS, len(cell.candidates))
        seconds += shorter.rounds * first * estimated_run_seconds(cell.size, shorter)
        seconds += times.rounds * last * estimated_run_seconds(cell.size, times)
    states = list({emulation_text(cell.emulation): cell.emulation for cell in cells}.values())
    sizes = f"sizes {', '.join(map(str, prepared.sizes))}"
    return announcement(STUDY, sizes, states, seconds, prepared.request)


def _context(
    prepared: Prepared,
    cells: Sequence[StudyCell],
    executor: StateExecutor,
    refused: Sequence[NotMeasured],
) -> LoopContext:
    tried = [one for cell in cells for one in cell.candidates]
    settings = "one worker pinned to each CPU, hot before it is timed"
    known = prepared.known(STUDY, tried, settings, refused)
    return LoopContext(**known, measured_factors=executor.factors(), measured_turns=executor.turns())


# -- the runs --


def _measure(
    plan: Plan,
    screening: Plan | None,
    entries: Mapping[str, Sequence[Entry]],
    store: Store,
    executor: StateExecutor,
    services: Services,
    context: LoopContext,
) -> bool:
    """Screen, choose, measure the finalists in fresh rounds, or all at once. True when it was interrupted."""
    check = measure.equal_answers(is_serial, exempt=sums_in_its_own_order)
    again = MachineAgain(store, executor, services)
    if screening is None:
        return run_part(plan, "measuring", store, executor, services, context, check, again)
    if run_part(screening, "screening", store, executor, services, context, check, again):
        return True
    screened = store.rows(SCREENING)
    chosen = [one for of_cell in entries.values() for one in finalists(of_cell, screened)]
    final = replace(plan, configurations=chosen)
    return run_part(final, "measuring", store, executor, services, context, check, again)


def _sample(
    store: Store, cells: Sequence[StudyCell], prepared: Prepared, executor: StateExecutor, services: Services
) -> tuple[tuple[Any, ...], float]:
    """The load of each CPU, after all rounds, so that it disturbs none of them."""
    samples, cost = loads.sample_loads(collect(store.rows()), cells, executor, prepared.times)
    return tuple(samples), cost


# -- after the last run --


def stored_analysis(store: Store) -> LoopAnalysis:
    """The analysis of a folder's rows, as the study that measured them gave it."""
    context = contexts.load(LoopContext(folder=str(store.folder)), store.folder)
    return analyse(store.rows(None), store.machine, context)
