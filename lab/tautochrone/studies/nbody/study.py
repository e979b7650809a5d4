"""``tauto study nbody`` from the request to the report, one step after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.plan import Plan
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.report.nbody.analysis_types import NbodyAnalysis
from tautochrone.runners import find
from tautochrone.store import Store
from tautochrone.studies import context as contexts
from tautochrone.studies.concluding import conclude
from tautochrone.studies.nbody import animation
from tautochrone.studies.nbody.analysis import analyse
from tautochrone.studies.nbody.configurations import (
    Candidate,
    candidates,
    with_hybrids,
    without_members,
)
from tautochrone.studies.nbody.context import NbodyContext
from tautochrone.studies.nbody.measuring import configuration, estimated_run_seconds, times_of
from tautochrone.studies.nbody.request import NbodyRequest, check_threads
from tautochrone.studies.nbody.runs import different_bits
from tautochrone.studies.nbody.simulated import RANKS, simulated
from tautochrone.studies.options import Times
from tautochrone.studies.placements import layout
from tautochrone.studies.preparing import (
    Checked,
    announcement,
    checked_cpus,
    peers_here,
    time_limit_seconds,
    usable_members,
)
from tautochrone.studies.running import run_whole
from tautochrone.studies.services import Services

STUDY = "nbody"
_FRAMES = "tauto-nbody-frames"
_SETTINGS = "one member pinned to a CPU; the same kernels, particles and order of steps in all engines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Checked):
    """A request that was checked against this machine, ready to be measured."""

    request: NbodyRequest
    candidates: tuple[Candidate, ...]
    refused: tuple[NotMeasured, ...]

    @property
    def times(self) -> Times:
        """Seconds and rounds of the runs."""
        return times_of(self.request)


def run_study(request: NbodyRequest, services: Services | None = None) -> NbodyAnalysis:
    """Measure what is missing in the output folder, analyse all, write the report, print the verdict.

    Raises TautoError for everything that cannot be done here, before the first run; KeyboardInterrupt after
    an interrupted study has been reported.
    """
    services = services or Services()
    prepared = prepare(request, services)
    plan = plan_of(prepared)
    context = NbodyContext(**prepared.known(STUDY, prepared.candidates, _SETTINGS, prepared.refused))
    with services.executor(request.seed) as executor:
        announced = _announcement(prepared)
        store, interrupted = run_whole(plan, executor, request, services, context, announced, different_bits)
    if services.illustrations and not interrupted:
        interrupted = not _simulate(store, context, services)
    analysis = analyse(store.rows(None), prepared.machine, context)
    conclude(store, prepared.machine, request, analysis, services, interrupted)
    if request.animation is not None:
        animation.write(request.animation, find(_FRAMES), request.seed)
        services.say(f"Animation: {request.animation}")
    return analysis


def _simulate(store: Store, context: NbodyContext, services: Services) -> bool:
    """Whether it came to its end: what was measured is reported all the same."""
    services.say(f"Simulating {RANKS} ranks of MPI (some seconds)")
    try:
        context.simulated, failed = simulated(store.rows(None))
    except KeyboardInterrupt:
        return False
    context.not_measured = (*context.not_measured, *failed)
    contexts.save(context, store.folder)
    return True


def stored_analysis(store: Store) -> NbodyAnalysis:
    """The analysis of a folder's rows, as the study that measured them gave it."""
    context = contexts.load(NbodyContext(folder=str(store.folder)), store.folder)
    return analyse(store.rows(None), store.machine, context)


def prepare(request: NbodyRequest, services: Services) -> Prepared:
    """Check the request against this machine. Raises TautoError for the first thing that cannot be done."""
    states, absent = peers_here(request, services, STUDY)
    machine: Mapping[str, Any] = services.machine()
    cpus, _ = checked_cpus(request, machine)
    seen = layout(cpus, {}, usable_members(machine))
    members = check_threads(request.threads, len(seen.placement("all").cpus))
    if min(request.wanted) < members:
        raise TautoError(
            f"{min(request.wanted)} particles are fewer than the {members} members that would share them",
            f"Ask for --particles of {members} or more, or for fewer --threads",
        )
    if request.animation is not None:
        animation.check(request.animation)
        find(_FRAMES)
    everyone, alone = seen.placement("all", members), seen.placement("all", 1)
    refused = tuple(without_members(states, members))
    states = with_hybrids(states, members)
    found = tuple(candidates(states, everyone, alone, request.wanted))
    return Prepared(
        request=request,
        machine=machine,
        states=states,
        cpus=cpus,
        left_out=tuple(absent),
        candidates=found,
        refused=refused,
    )


def plan_of(prepared: Prepared) -> Plan:
    """All runs of the study."""
    times, quick = prepared.times, prepared.request.quick
    longest = max(estimated_run_seconds(one, times, quick=quick) for one in prepared.candidates)
    return Plan(
        STUDY,
        [configuration(one, times, quick=quick) for one in prepared.candidates],
        rounds=times.rounds,
        seed=prepared.request.seed,
        time_limit_seconds=time_limit_seconds(prepared.request, longest),
        machine=prepared.machine,
    )


def _announcement(prepared: Prepared) -> str:
    request, times = prepared.request, prepared.times
    one_round = sum(estimated_run_seconds(one, times, quick=request.quick) for one in prepared.candidates)
    sizes = ", ".join(f"{one:,}" for one in request.wanted)
    what = f"{sizes} particles, {len(prepared.candidates)} configurations, {times.rounds} rounds"
    return announcement(STUDY, what, (), times.rounds * one_round, request)
