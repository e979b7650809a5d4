"""``tauto tune`` from the request to the answer, one step after the other."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tautochrone.clock import iso
from tautochrone.configuration import Configuration
from tautochrone.energy.find import Found
from tautochrone.energy.objective import check_objective
from tautochrone.errors import TautoError
from tautochrone.inspection.commands import behind
from tautochrone.inspection.findings import Findings, inspect
from tautochrone.inspection.watching import Watched
from tautochrone.machine_record import Machine
from tautochrone.measure import run_plan
from tautochrone.plan import Plan
from tautochrone.report.tune.analysis_types import Finding, TuneAnalysis
from tautochrone.store import ROWS_FILE, Store
from tautochrone.studies import context as contexts
from tautochrone.studies.preparing import machine_advice
from tautochrone.tune.analysis import analyse
from tautochrone.tune.applying import applied, configuration
from tautochrone.tune.context import TuneContext
from tautochrone.tune.effect_check import Effect, read_displayed, took_effect
from tautochrone.tune.judging import Judging
from tautochrone.tune.nodes import alike
from tautochrone.tune.objective import Objective, parse_objective
from tautochrone.tune.options import TuneRequest, check_numbers
from tautochrone.tune.paste import write_profile
from tautochrone.tune.recorded import MOST_RECORD_FACTOR, space_of, undisturbed, write_space
from tautochrone.tune.search import FinalPlan, Limits, search
from tautochrone.tune.services import Services
from tautochrone.tune.showing import announce, show
from tautochrone.tune.space import DEFAULT, Space, build_space, check_names, default_settings
from tautochrone.tune.spreading import check_spreading, runs_elsewhere
from tautochrone.tune.trial import check_budget, input_is_lost, summary, try_out
from tautochrone.tune.values import place_of

STUDY = "tune"
_LEAST_TIME_LIMIT_SECONDS = 10.0
_TIME_LIMIT_FACTOR = 10.0


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request that was checked against program and machine."""

    request: TuneRequest
    objective: Objective
    judging: Judging
    machine: Machine
    found: Findings
    space: Space
    watched: Watched
    meter: Found | None


def run_tune(request: TuneRequest, services: Services | None = None) -> TuneAnalysis | None:
    """Look, try out, search, answer. None where a space was only recorded.

    Raises TautoError for everything that cannot be tuned, before the search; KeyboardInterrupt where it was
    interrupted: the same command goes on.
    """
    services = services or Services()
    prepared = prepare(request, services)
    with ExitStack() as stack:
        executor = stack.enter_context(closing(services.executor(request, prepared.judging, prepared.meter)))
        plan = plan_of(prepared)
        record = prepared.machine.to_dict()
        store = stack.enter_context(
            Store.open(request.folder, STUDY, plan.plan_id, record, request.fresh, services.clock)
        )
        announce(prepared.space, summary(prepared.watched, request), services)
        if request.record is not None:
            _record(prepared, plan, store, executor, services)
            return None
        context = _context(prepared, store)
        contexts.save(context, request.folder)

        def keep(planned: FinalPlan) -> None:
            context.finalists, context.looks = tuple(planned.finalists), tuple(planned.looks)
            context.eliminated = dict(planned.eliminated)
            contexts.save(context, request.folder)

        decision = search(
            plan,
            store,
            executor,
            services.clock,
            services.progress("tuning"),
            Limits(
                request.budget_seconds,
                first_seconds=prepared.watched.seconds * request.repeat,
                at_once=request.nodes,
                beside_seconds=prepared.watched.beside_seconds,
            ),
            figure=prepared.objective.figure,
            cap_runs=prepared.objective.caps_time,
            check_rows=prepared.judging.check_rows,
            planned=_planned(context),
            on_planned=keep,
        )
        context.ended = decision.ended
        context.notices = tuple(store.notices)
        executor.close()  # its nodes may be all that there are
        if decision.winner.name != DEFAULT:
            effect = _effect(decision.winner, prepared, plan.time_limit_seconds, services)
            context.seen = effect.seen
            context.notices = (*context.notices, *effect.otherwise)
        contexts.save(context, request.folder)
        analysis = analyse(store.rows(None), record, context)
        profile = write_profile(request.folder, context, analysis.settings, analysis.verdict_sentences[0])
        show(analysis, store, record, profile, request, services)
    return analysis


def _effect(
    winner: Configuration, prepared: Prepared, time_limit_seconds: float, services: Services
) -> Effect:
    """What the kernel and the runtimes made of the settings, by a run like all others, but not metered."""
    with closing(services.executor(prepared.request, read_displayed, None)) as executor:
        return took_effect(winner, executor, time_limit_seconds)


def prepare(request: TuneRequest, services: Services) -> Prepared:
    """Everything before the first measured run. TautoError for the first thing that stands in the way."""
    if not request.command:
        raise TautoError("no command was given", "Write it behind two dashes: tauto tune -- ./solver case")
    check_numbers(request)
    objective = parse_objective(request.objective)
    check_spreading(request, objective)
    judging = Judging(objective, request.check, request.same_output)
    behind(request.command)  # what cannot be found is said before anything runs
    check_names(request)
    if input_is_lost():
        services.say(
            "tauto: warning: runs have no standard input, and what is given here is read by none. "
            "Let the command open it: tauto tune -- sh -c './solver < case.in'"
        )
    meter = _meter(request, objective, services)
    machine = _read_machine(request, "none", services)
    made = applied(request.command, request.arguments, default_settings(request))
    watched = try_out(made, request, judging)
    found = inspect(made.command, machine, watched)
    machine = _machine(request, found, machine, services)
    space = build_space(request, found, place_of(machine))
    if request.record is None:
        check_budget(request, watched, len(space.candidates))
    return Prepared(
        request=request,
        objective=objective,
        judging=judging,
        machine=machine,
        found=found,
        space=space,
        watched=watched,
        meter=meter,
    )


def _meter(request: TuneRequest, objective: Objective, services: Services) -> Found | None:
    """This machine's meter, or why there is none, which is an error where joules are the objective.

    None where the runs take place on other machines.
    """
    if runs_elsewhere(request):
        return None
    found = services.meter()
    kind = objective.kind if objective.needs_meter else "time"
    check_objective(kind, found, lambda sentence: services.say(f"tauto: warning: {sentence}"))
    return found


def _machine(request: TuneRequest, found: Findings, machine: Machine, services: Services) -> Machine:
    """With measured speeds where weights may be made of them; a search that goes on keeps the first ones."""
    if not request.fresh and (request.folder / ROWS_FILE).exists():
        with Store.read(request.folder) as store:
            before = msgspec.convert(store.machine, Machine)
            if before.machine == machine.machine or (runs_elsewhere(request) and alike(before, machine)):
                return before
    if found.has_openmp and found.schedules.has_static_loops is not False:
        return _read_machine(request, "quick", services)
    return machine


def _read_machine(request: TuneRequest, measure: str, services: Services) -> Machine:
    """The machine on which the runs take place."""
    return services.nodes(request, measure) if runs_elsewhere(request) else services.machine(measure)


def plan_of(prepared: Prepared) -> Plan:
    """All candidates as a plan; it gives the search its identity."""
    request = prepared.request
    longest = prepared.watched.seconds * request.repeat
    limit = request.time_limit_seconds or max(_LEAST_TIME_LIMIT_SECONDS, _TIME_LIMIT_FACTOR * longest)
    return Plan(
        STUDY,
        [
            configuration(
                one,
                request.command,
                request.arguments,
                has_openmp=prepared.found.has_openmp,
                repeat=request.repeat,
            )
            for one in prepared.space.candidates
        ],
        rounds=1,
        seed=request.seed,
        time_limit_seconds=limit,
        machine=prepared.machine.to_dict(),
        judged=request.judged,
    )


def _context(prepared: Prepared, store: Store) -> TuneContext:
    request, space = prepared.request, prepared.space
    before = contexts.load(TuneContext(), store.folder) if store.rows(None) else TuneContext()
    machine: Mapping[str, Any] = prepared.machine.to_dict()
    words = ["tauto", *sys.argv[1:]] if sys.argv[1:2] == [STUDY] else ["tauto", STUDY, "--", *request.command]
    return TuneContext(
        command=shlex.join(words),
        folder=str(request.folder),
        machine_advice=machine_advice(machine),
        program=request.command,
        arguments=request.arguments,
        has_openmp=prepared.found.has_openmp,
        working_folder=str(Path.cwd()),
        mpi_launcher=prepared.found.mpi_launcher,
        objective=request.objective,
        expert=space.expert,
        base=dict(space.default.settings),
        tried=tuple(
            Finding(knob=one.knob.name, values=one.values, because=one.because) for one in space.tried
        ),
        left_out=tuple(Finding(knob=name, values=(), because=why) for name, why in space.left_out),
        finalists=before.finalists,
        looks=before.looks,
        eliminated=before.eliminated,
    )


def _planned(context: TuneContext) -> FinalPlan | None:
    """The final of a search that goes on; None where it is still to be planned."""
    if not context.finalists:
        return None
    return FinalPlan(context.finalists, context.looks, context.eliminated)


def _record(prepared: Prepared, plan: Plan, store: Store, executor: Any, services: Services) -> None:
    """Run every candidate in every round, again what was disturbed, and write the space."""
    request = prepared.request
    assert request.record is not None
    lacking = list(plan.configurations)
    rounds = request.record_rounds
    while lacking and rounds <= MOST_RECORD_FACTOR * request.record_rounds:
        outcome = run_plan(
            replace(plan, configurations=lacking, rounds=rounds),
            store,
            executor,
            services.clock,
            services.progress("recording"),
            check_rows=prepared.judging.check_rows,
        )
        if outcome.interrupted:
            raise KeyboardInterrupt
        counts = Counter(row["config_id"] for row in undisturbed(store.rows()))
        lacking = [
            one
            for one in lacking
            if counts[one.config_id] < request.record_rounds and one.config_id not in outcome.dropped
        ]
        rounds += 1
    words = shlex.join([Path(request.command[0]).name, *request.command[1:]])
    when = iso(services.clock.now())[:10]
    space = space_of(words, plan.machine, when, undisturbed(store.rows()), request.record_rounds)
    write_space(space, request.record)
    services.say(f"{len(space.candidates)} candidates, {space.runs} runs: {request.record}")


def stored_analysis(store: Store) -> TuneAnalysis:
    """The answer of a folder's rows, as the search that measured them gave it."""
    context = contexts.load(TuneContext(folder=str(store.folder)), store.folder)
    return analyse(store.rows(None), store.machine, context)
