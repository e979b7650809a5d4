"""``tauto study collective`` from the request to the report, one step after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.executor import Executor
from tautochrone.plan import Plan
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.report.collective.analysis_types import CollectiveAnalysis
from tautochrone.row import Row
from tautochrone.runners import PeerState
from tautochrone.store import Store
from tautochrone.studies import context as contexts
from tautochrone.studies.collective.analysis import analyse
from tautochrone.studies.collective.configurations import PAIRS, Candidate, candidates
from tautochrone.studies.collective.context import CollectiveContext
from tautochrone.studies.collective.curves import collect, default_runs
from tautochrone.studies.collective.findings import gaps
from tautochrone.studies.collective.lengths import refined
from tautochrone.studies.collective.measuring import (
    MOST_GAPS,
    configuration,
    estimated_run_seconds,
    part_name,
    passes_of,
    times_of,
)
from tautochrone.studies.collective.request import CollectiveRequest, check_ranks
from tautochrone.studies.concluding import conclude
from tautochrone.studies.options import Times
from tautochrone.studies.placements import layout
from tautochrone.studies.preparing import (
    announcement,
    checked_cpus,
    command_line,
    described_peers,
    machine_advice,
    peers_here,
    time_limit_seconds,
    usable_members,
)
from tautochrone.studies.running import run_part
from tautochrone.studies.services import Services

STUDY = "collective"
_SETTINGS = (
    "one rank pinned to a CPU; data written anew before each call; a common start; the last rank's end"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that was checked against this machine, ready to be measured."""

    request: CollectiveRequest
    machine: Mapping[str, Any]
    states: Sequence[PeerState]
    candidates: tuple[Candidate, ...]
    absent: tuple[NotMeasured, ...]

    @property
    def times(self) -> Times:
        """Seconds and rounds of the runs."""
        return times_of(self.request)


def run_study(request: CollectiveRequest, services: Services | None = None) -> CollectiveAnalysis:
    """Measure what is missing in the output folder, analyse all, write the report, print the verdict.

    Raises TautoError for everything that cannot be done here, before the first run; KeyboardInterrupt after
    an interrupted study has been reported.
    """
    services = services or Services()
    prepared = prepare(request, services)
    plan = plan_of(prepared, request.wanted, part_name(0))
    with ExitStack() as stack:
        executor = stack.enter_context(services.executor(request.seed))
        store = stack.enter_context(
            Store.open(request.output, STUDY, plan.plan_id, prepared.machine, request.fresh, services.clock)
        )
        services.say(_announcement(prepared))
        context = _context(prepared)
        contexts.begin(context, store)
        interrupted = _measure(plan, prepared, store, executor, services, context)
        contexts.save(context, request.output)
    analysis = analyse(store.rows(None), prepared.machine, context)
    conclude(store, prepared.machine, request, analysis, services, interrupted)
    return analysis


def stored_analysis(store: Store) -> CollectiveAnalysis:
    """The analysis of a folder's rows, as the study that measured them gave it."""
    context = contexts.load(CollectiveContext(folder=str(store.folder)), store.folder)
    return analyse(store.rows(None), store.machine, context)


# -- before the first run --


def prepare(request: CollectiveRequest, services: Services) -> Prepared:
    """Check the request against this machine. Raises TautoError for the first thing that cannot be done."""
    states, absent = peers_here(request, services, STUDY)
    if len(states) < 1:
        raise TautoError("no library can be measured here", "Build the runners (make)")
    machine = services.machine()
    cpus, _ = checked_cpus(request, machine)
    seen = layout(cpus, {}, usable_members(machine))
    everyone = seen.placement("all")
    ranks = check_ranks(request.ranks, len(everyone.cpus))
    placement = seen.placement("all", ranks) if ranks < len(everyone.cpus) else everyone
    found = tuple(candidates(states, placement, ranks, quick=request.quick))
    return Prepared(request, machine, states, found, tuple(absent))


def plan_of(prepared: Prepared, lengths: Sequence[int], part: str) -> Plan:
    """One part of the study, over so many lengths. The first part's plan gives the study its identity."""
    times, quick = prepared.times, prepared.request.quick
    longest = max(estimated_run_seconds(one, lengths, times, quick) for one in prepared.candidates)
    return Plan(
        STUDY,
        [configuration(one, part, lengths, times, quick) for one in prepared.candidates],
        rounds=times.rounds,
        seed=prepared.request.seed,
        time_limit_seconds=time_limit_seconds(prepared.request, longest),
        machine=prepared.machine,
    )


def _announcement(prepared: Prepared) -> str:
    request, times = prepared.request, prepared.times
    parts = 1 + passes_of(request)
    seconds = (
        parts
        * times.rounds
        * sum(estimated_run_seconds(one, request.wanted, times, request.quick) for one in prepared.candidates)
    )
    ranks = prepared.candidates[0].ranks
    lengths = request.wanted
    span = f"{len(lengths)} lengths from {lengths[0]} to {lengths[-1]} words"
    what = f"{span}, {ranks} ranks, {times.rounds} launches"
    return announcement(STUDY, what, (), seconds, request)


def _context(prepared: Prepared) -> CollectiveContext:
    return CollectiveContext(
        command=command_line(STUDY),
        folder=str(prepared.request.output),
        quick=prepared.request.quick,
        peers=described_peers(prepared.states, prepared.candidates, _SETTINGS),
        not_measured=prepared.absent,
        machine_advice=machine_advice(prepared.machine),
    )


# -- the runs --


def _checked_by_the_runners(rows: Sequence[Row]) -> Mapping[str, str]:
    """Every repetition's result is compared word by word where it was computed."""
    return {}


def _measure(
    plan: Plan,
    prepared: Prepared,
    store: Store,
    executor: Executor,
    services: Services,
    context: CollectiveContext,
) -> bool:
    """The lengths that were asked for, then those between which curves step. True when it was interrupted."""
    if run_part(plan, "measuring", store, executor, services, context, _checked_by_the_runners):
        return True
    for number in range(1, passes_of(prepared.request) + 1):
        lengths = lengths_of_part(number, prepared.request.wanted, store.rows())
        if not lengths:
            return False
        part = part_name(number)
        new = set(lengths) - set(prepared.request.wanted)
        context.refined = tuple(sorted({*context.refined, *new}))
        contexts.save(context, prepared.request.output)
        refining = replace(plan_of(prepared, lengths, part), time_limit_seconds=plan.time_limit_seconds)
        if run_part(
            refining,
            f"looking closer ({number})",
            store,
            executor,
            services,
            context,
            _checked_by_the_runners,
        ):
            return True
    return False


def lengths_of_part(number: int, wanted: Sequence[int], rows: Sequence[Row]) -> tuple[int, ...]:
    """The lengths of a refinement, from the rows of the parts before it: the same when a study goes on."""
    before = {part_name(earlier) for earlier in range(number)}
    runs = default_runs(collect(row for row in rows if row["config"].get("part") in before))
    curves = [curve for one in runs for operation in PAIRS if (curve := one.curve(operation)) is not None]
    known = sorted({*wanted, *(words for curve in curves for words in curve.words)})
    return refined((gap for curve in curves for gap in gaps([curve])), known, MOST_GAPS)
