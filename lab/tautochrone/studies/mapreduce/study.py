"""``tauto study mapreduce`` from the request to the report, one step after the other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from tautochrone import measure
from tautochrone.executor import Executor
from tautochrone.plan import Plan
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.report.mapreduce.analysis_types import MapReduceAnalysis
from tautochrone.runners import PeerState
from tautochrone.store import Store
from tautochrone.studies import context as contexts
from tautochrone.studies.concluding import conclude
from tautochrone.studies.mapreduce import traces
from tautochrone.studies.mapreduce.analysis import analyse
from tautochrone.studies.mapreduce.configurations import cpus_in_order
from tautochrone.studies.mapreduce.context import MapReduceContext
from tautochrone.studies.mapreduce.measuring import (
    StudyCell,
    configuration,
    estimated_run_seconds,
    probe_seconds_per_byte,
    study_cells,
    times_of,
)
from tautochrone.studies.mapreduce.request import MapReduceRequest, check_threads, thread_counts
from tautochrone.studies.mapreduce.workloads import SizedWorkload, sized_all
from tautochrone.studies.options import Times
from tautochrone.studies.placements import layout
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
from tautochrone.studies.states import open_states

STUDY = "mapreduce"
_ANSWER = "sum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Checked):
    """A request that was checked against this machine, ready to be measured."""

    request: MapReduceRequest
    order: tuple[int, ...]  # the CPUs' numbers in the order in which threads get them
    counts: tuple[int, ...]

    @property
    def times(self) -> Times:
        """Seconds and rounds of the runs."""
        return times_of(self.request)

    @property
    def serial(self) -> PeerState:
        """The runner that the others are compared with."""
        return next(state for state in self.states if state.peer.name == "serial")


def run_study(request: MapReduceRequest, services: Services | None = None) -> MapReduceAnalysis:
    """Measure what is missing in the output folder, analyse all, write the report, print the verdict.

    Raises TautoError for everything that cannot be done here, before the first run; KeyboardInterrupt after
    an interrupted study has been reported.
    """
    services = services or Services()
    prepared = prepare(request, services)
    with ExitStack() as stack:
        inner = stack.enter_context(services.executor(request.seed))
        seconds_per_byte = _seconds_per_byte(prepared, inner)
        executor, emulations, refused = open_states(stack, inner, request, services)
        prepared = replace(prepared, machine=with_emulations(prepared.machine, emulations))
        works = sized_all(request.wanted, seconds_per_byte)
        cells = study_cells(
            works,
            emulations,
            prepared.cpus,
            usable_members(prepared.machine),
            prepared.states,
            prepared.counts,
            quick=request.quick,
        )
        plan = plan_of(cells, works, prepared)
        store = stack.enter_context(
            Store.open(request.output, STUDY, plan.plan_id, prepared.machine, request.fresh, services.clock)
        )
        services.say(_announcement(cells, works, prepared))
        context = _context(prepared, cells, seconds_per_byte, refused)
        contexts.begin(context, store)
        check = measure.equal_answers(is_serial, field_name=_ANSWER)
        again = MachineAgain(store, executor, services)
        interrupted = run_part(plan, "measuring", store, executor, services, context, check, again)
        if not interrupted and services.illustrations:
            _trace(context, cells, prepared, executor, plan.time_limit_seconds)
        contexts.save(context, request.output)
    analysis = analyse(store.rows(None), prepared.machine, context)
    conclude(store, prepared.machine, request, analysis, services, interrupted)
    return analysis


def stored_analysis(store: Store) -> MapReduceAnalysis:
    """The analysis of a folder's rows, as the study that measured them gave it."""
    context = contexts.load(MapReduceContext(folder=str(store.folder)), store.folder)
    return analyse(store.rows(None), store.machine, context)


# -- before the first run --


def prepare(request: MapReduceRequest, services: Services) -> Prepared:
    """Check the request against this machine. Raises TautoError for the first thing that cannot be done."""
    states, absent = peers_here(request, services, STUDY)
    machine = services.machine()
    cpus, _ = checked_cpus(request, machine)
    order = cpus_in_order(layout(cpus, {}, usable_members(machine)))
    check_threads(request.threads or (), len(order))
    counts = request.threads or thread_counts(len(order), [work.tasks for work in request.wanted])
    return Prepared(
        request=request,
        machine=machine,
        states=states,
        cpus=cpus,
        left_out=tuple(absent),
        order=order,
        counts=counts,
    )


def _seconds_per_byte(prepared: Prepared, executor: Executor) -> float:
    """From a folder whose tasks these are to be, as where the study goes on; else from a probe."""
    for known in contexts.load_all(MapReduceContext(), prepared.request.probed_in):
        if known.seconds_per_byte is not None:
            return known.seconds_per_byte
    return probe_seconds_per_byte(prepared.serial, prepared.order[0], executor)


def plan_of(cells: Sequence[StudyCell], works: Sequence[SizedWorkload], prepared: Prepared) -> Plan:
    """Everything that runs, as one plan: it gives the study its identity."""
    times = prepared.times
    longest = max(estimated_run_seconds(work, times) for work in works)
    return Plan(
        STUDY,
        [configuration(cell, candidate, times) for cell in cells for candidate in cell.candidates],
        rounds=times.rounds,
        seed=prepared.request.seed,
        time_limit_seconds=time_limit_seconds(prepared.request, longest),
        machine=prepared.machine,
    )


def _announcement(cells: Sequence[StudyCell], works: Sequence[SizedWorkload], prepared: Prepared) -> str:
    times = prepared.times
    seconds = sum(
        times.rounds * len(cell.candidates) * estimated_run_seconds(cell.work, times) for cell in cells
    )
    emulations = list({cell.group.partition("emulated=")[2]: cell.emulation for cell in cells}.values())
    threads = ", ".join(map(str, prepared.counts))
    what = f"tasks {', '.join(work.name for work in works)}; threads {threads}"
    return announcement(STUDY, what, emulations, seconds, prepared.request)


def _context(
    prepared: Prepared,
    cells: Sequence[StudyCell],
    seconds_per_byte: float,
    refused: Sequence[NotMeasured],
) -> MapReduceContext:
    tried = [one for cell in cells for one in cell.candidates]
    settings = "threads pinned one to a CPU as long as there are any, kept and hot before they are timed"
    known = prepared.known(STUDY, tried, settings, refused)
    return MapReduceContext(**known, seconds_per_byte=seconds_per_byte)


# -- after the last round --


def _trace(
    context: MapReduceContext,
    cells: Sequence[StudyCell],
    prepared: Prepared,
    executor: Executor,
    limit: float,
) -> None:
    """Timelines beside the rows; one that fails is named and changes no result."""
    assert context.seconds_per_byte is not None
    found, failed = traces.record(cells, prepared.request.output, context.seconds_per_byte, executor, limit)
    context.traces = found
    context.not_measured = (*context.not_measured, *failed)
