"""``tauto study power`` from the request to the report, one step after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tautochrone import measure
from tautochrone.errors import TautoError
from tautochrone.executor import Executor
from tautochrone.plan import Plan
from tautochrone.policy.knobs import Knobs
from tautochrone.report.analysis_types import NotMeasured
from tautochrone.report.power.analysis_types import PowerAnalysis
from tautochrone.runners import PeerState
from tautochrone.store import Store
from tautochrone.studies import context as contexts
from tautochrone.studies.concluding import conclude, report_again
from tautochrone.studies.options import StudyRequest
from tautochrone.studies.placements import Layout, layout
from tautochrone.studies.power.analysis import analyse
from tautochrone.studies.power.configurations import Candidate
from tautochrone.studies.power.context import PowerContext, Probe
from tautochrone.studies.power.measuring import (
    all_candidates,
    configuration,
    estimated_run_seconds,
    probe,
    times_of,
)
from tautochrone.studies.power.policies import stored
from tautochrone.studies.power.request import PowerRequest
from tautochrone.studies.power.works import TOGETHER, WEIGHTED
from tautochrone.studies.preparing import (
    Checked,
    announcement,
    checked_cpus,
    peers_here,
    time_limit_seconds,
    usable_members,
)
from tautochrone.studies.running import is_serial, run_whole
from tautochrone.studies.services import Services

STUDY = "power"
_ANSWER = "answer"
_SETTINGS = "threads pinned one to a CPU unless it is said; zstd’s own threads go where the system puts them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Checked):
    """A request that was checked against this machine, ready to be measured."""

    request: PowerRequest
    layout: Layout

    @property
    def jobs(self) -> Mapping[str, PeerState]:
        """Each runner that is here by its job."""
        return {state.peer.name: state for state in self.states}


def run_study(request: PowerRequest, services: Services | None = None) -> PowerAnalysis:
    """Measure what is missing in the output folder, analyse all, write the report, print the verdict.

    Raises TautoError for everything that cannot be done here, before the first run; KeyboardInterrupt after
    an interrupted study has been reported.
    """
    services = services or Services()
    prepared = prepare(request, services)
    with services.executor(request.seed) as executor:
        probed = _probe(prepared, executor)
        found = all_candidates(prepared.jobs, prepared.layout, probed, request)
        plan = plan_of(found, probed, prepared)
        context = _context(prepared, found, probed)
        check = measure.equal_answers(is_serial, field_name=_ANSWER)
        announced = _announcement(found, probed, prepared)
        store, interrupted = run_whole(plan, executor, request, services, context, announced, check)
    analysis = analyse(store.rows(None), prepared.machine, context)
    conclude(store, prepared.machine, request, analysis, services, interrupted)
    return analysis


def stored_analysis(store: Store) -> PowerAnalysis:
    """The analysis of a folder's rows, as the study that measured them gave it."""
    context = contexts.load(PowerContext(folder=str(store.folder)), store.folder)
    return analyse(store.rows(None), store.machine, context, stored(store.folder, context.policies))


def conclude_policies(
    folders: Sequence[Path], request: StudyRequest, services: Services | None = None
) -> None:
    """Say what the same study under each policy tells, and write it into the first one's report."""
    services = services or Services()
    first = folders[0]
    context = contexts.load(PowerContext(folder=str(first)), first)
    context.policies = tuple(folder.name for folder in folders)
    contexts.save(context, first)
    with Store.read(first) as store:
        analysis = stored_analysis(store)
    words = {True: "holds", False: "does not hold", None: "not told by these rows"}
    for claim in analysis.claims:
        if claim.id in ("P3", "P4"):
            services.say(f"{claim.id} {words[claim.holds]}: {claim.ours}. Published: {claim.published}.")
    if request.report:
        services.say(f"Report: {report_again(first)}")


# -- before the first run --


def prepare(request: PowerRequest, services: Services) -> Prepared:
    """Check the request against this machine. Raises TautoError for the first thing that cannot be done."""
    states, absent = peers_here(request, services, STUDY)
    if not any(state.peer.name != TOGETHER for state in states):
        raise TautoError("no job can be measured here", "Build the runners (make), or name a job with --jobs")
    machine = services.machine()
    cpus, _ = checked_cpus(request, machine)
    seen = layout(cpus, {}, usable_members(machine))
    left_out = (*absent, *_refused(states, len(seen.placement("all").cpus)))
    return Prepared(
        request=request, machine=machine, states=states, cpus=cpus, left_out=left_out, layout=seen
    )


def _refused(states: Sequence[PeerState], cpus: int) -> list[NotMeasured]:
    """What the machine does not let us do with two programs, or with one CPU."""
    found: list[NotMeasured] = []
    if cpus < 2:
        found.append(
            NotMeasured(
                what="threads that share a job, and two programs at once",
                why="only 1 CPU may be used here",
                remedy="Start without taskset, or widen the container's cpuset",
            )
        )
    for state in states:
        known = state.description.schedules if state.description is not None else ()
        if state.peer.name == TOGETHER and not set(WEIGHTED) <= set(known):
            found.append(
                NotMeasured(
                    what="two programs in control groups of different weight",
                    why="this process may make no control group with a share of the CPU time",
                    remedy="Start it under sudo systemd-run --scope -p Delegate=yes, or under systemd-run "
                    "--user --scope -p Delegate=yes where the user's manager may share out CPU time",
                )
            )
    return found


def _probe(prepared: Prepared, executor: Executor) -> Probe:
    """From a folder whose work this is to be, as where the study goes on; else from runs."""
    for known in contexts.load_all(PowerContext(), prepared.request.probed_in):
        if known.probe is not None and set(prepared.jobs) - {TOGETHER} <= set(known.probe.job_seconds):
            return known.probe
    return probe(prepared.jobs, prepared.layout, executor)


def plan_of(found: Sequence[Candidate], probed: Probe, prepared: Prepared) -> Plan:
    """Everything that runs, as one plan: it gives the study its identity."""
    times = times_of(prepared.request, probed)
    longest = max(estimated_run_seconds(one, probed, times) for one in found)
    return Plan(
        STUDY,
        [configuration(one, times) for one in found],
        rounds=times.rounds,
        seed=prepared.request.seed,
        time_limit_seconds=time_limit_seconds(prepared.request, longest),
        machine=prepared.machine,
    )


def _announcement(found: Sequence[Candidate], probed: Probe, prepared: Prepared) -> str:
    times = times_of(prepared.request, probed)
    seconds = times.rounds * sum(estimated_run_seconds(one, probed, times) for one in found)
    what = "; ".join(dict.fromkeys(one.work.title for one in found))
    return announcement(STUDY, what, (), seconds, prepared.request)


def _context(prepared: Prepared, found: Sequence[Candidate], probed: Probe) -> PowerContext:
    shown = {knob: value for knob, value in Knobs().now().items() if value is not None}
    return PowerContext(**prepared.known(STUDY, found, _SETTINGS, ()), probe=probed, knobs=shown)
