"""``tauto tune`` from the request to the printed answer, one step after the other."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.table import Table

from tautochrone import report, text, verdicts
from tautochrone.machine.advice import machine_advice
from tautochrone.machine.record import machine_of
from tautochrone.measuring.identity import identity_of, started_files
from tautochrone.measuring.neighbours import warn_of_neighbours
from tautochrone.measuring.objective import parse_objective
from tautochrone.measuring.plan import Plan
from tautochrone.results import context as contexts
from tautochrone.results.store import Store
from tautochrone.terminal import Terminal
from tautochrone.tune.analysis import analyse
from tautochrone.tune.answer import CandidateResult, TuneAnalysis, TuneContext
from tautochrone.tune.applying import configuration, write_profile
from tautochrone.tune.effect_check import read_displayed, took_effect
from tautochrone.tune.judging import complaint
from tautochrone.tune.knobs import explain
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.preparing import Prepared, prepare
from tautochrone.tune.search import FinalPlan, Limits, Setup, search
from tautochrone.tune.services import Services
from tautochrone.tune.space import DEFAULT, Space

STUDY = "tune"
_LEAST_TIME_LIMIT_SECONDS = 10.0
_TIME_LIMIT_FACTOR = 10.0
_SHOWN_EFFECTS = 8
_SHOWN_VALUES = 6


def run_tune(request: TuneRequest, services: Services | None = None) -> TuneAnalysis:
    """Prepare, search, answer.

    Raises TautoError for everything that cannot be tuned, before the search; KeyboardInterrupt where it was
    interrupted: the same command continues it.
    """
    services = services or Services()
    prepared = prepare(request, services)
    objective = prepared.judging.objective
    plan = plan_of(prepared)
    with ExitStack() as stack:
        executor = stack.enter_context(closing(services.executor(request, prepared.judging, prepared.meter)))
        store = stack.enter_context(
            Store.open(
                request.folder,
                STUDY,
                plan.plan_id,
                plan.machine,
                request.fresh,
                services.clock.now(),
                plan.identity.prints,
            )
        )
        store.checked(partial(complaint, objective))
        is_cut = prepared.request.most_candidates < request.most_candidates
        announce(prepared.space, prepared.summary, services, is_cut)
        context = _context(prepared, store)
        contexts.save(context, request.folder)

        def keep(planned: FinalPlan) -> None:
            context.finalists, context.looks = tuple(planned.finalists), tuple(planned.looks)
            context.eliminated = dict(planned.eliminated)
            contexts.save(context, request.folder)

        setup = Setup(
            plan=plan,
            store=store,
            executor=executor,
            clock=services.clock,
            progress=services.progress("tuning"),
            limits=Limits(
                request.budget_seconds,
                first_seconds=prepared.longest_seconds,
                at_once=request.nodes,
                beside_seconds=prepared.watched.beside_seconds,
            ),
            figure=objective.figure,
            cap_runs=objective.caps_time,
            check_rows=prepared.judging.check_rows,
        )
        # The final of a search that is continued is planned already.
        planned = (context.finalists, context.looks, context.eliminated)
        decision = search(setup, FinalPlan(*planned) if context.finalists else None, keep)
        context.ended = decision.ended
        context.notices = tuple(store.notices)
        executor.close()  # the run below may need one of its nodes
        if decision.winner.name != DEFAULT:
            # By a run like all others, but not metered.
            with closing(services.executor(request, read_displayed, None)) as unmetered:
                effect = took_effect(decision.winner, unmetered, plan.time_limit_seconds)
            context.seen = effect.seen
            context.notices = (*context.notices, *effect.otherwise)
        contexts.save(context, request.folder)
        analysis = analyse(store.rows(None), plan.machine, context)
        profile = write_profile(request.folder, context, analysis.settings, analysis.verdict_sentences[0])
        _show(analysis, store, profile, request, services)
    return analysis


def plan_of(prepared: Prepared) -> Plan:
    """All candidates as a plan; it gives the search its identity."""
    request = prepared.request
    usual = max(_LEAST_TIME_LIMIT_SECONDS, _TIME_LIMIT_FACTOR * prepared.longest_seconds)
    configurations = [
        configuration(
            candidate,
            request.command,
            request.arguments,
            has_openmp=prepared.findings.has_openmp,
            repeat=request.repeat,
        )
        for candidate in prepared.space.candidates
    ]
    return Plan(
        STUDY,
        configurations,
        rounds=1,
        seed=request.seed,
        time_limit_seconds=request.time_limit_seconds or usual,
        machine=prepared.machine.to_dict(),
        judged=request.judged,
        identity=identity_of((*prepared.files, *started_files(configurations))),
    )


def _context(prepared: Prepared, store: Store) -> TuneContext:
    request, space = prepared.request, prepared.space
    before = contexts.load(TuneContext(), store.folder) if store.rows(None) else TuneContext()
    words = ["tauto", *sys.argv[1:]] if sys.argv[1:2] == [STUDY] else ["tauto", STUDY, "--", *request.command]
    return TuneContext(
        command=shlex.join(words),
        folder=str(request.folder),
        machine_advice=machine_advice(prepared.machine.to_dict()),
        program=request.command,
        arguments=request.arguments,
        has_openmp=prepared.findings.has_openmp,
        working_folder=str(Path.cwd()),
        mpi_launcher=prepared.findings.mpi_launcher,
        objective=request.objective,
        expert=space.expert,
        base=dict(space.default.settings),
        tried=space.tried,
        left_out=space.left_out,
        finalists=before.finalists,
        looks=before.looks,
        eliminated=before.eliminated,
        most_candidates=request.most_candidates,
    )


def report_again(folder: Path, path: Path | None = None, form: report.Format = "html") -> Path:
    """Write the report of a search's rows, by default into its folder; returns its path."""
    with Store.read(folder) as store:
        context = contexts.load(TuneContext(folder=str(store.folder)), store.folder)
        context.notices = tuple(dict.fromkeys((*context.notices, *store.notices)))
        rows = store.checked(partial(complaint, parse_objective(context.objective)))
        return report.write_of(store, analyse(rows, machine_of(store), context), path, form=form)


# -- what is printed --


def announce(space: Space, summary: str, services: Services, is_cut: bool = False) -> None:
    """What will be tried and why, before the first measured run."""
    services.say(f"{summary}.")
    for tried in space.tried:
        values = ", ".join(tried.values[:_SHOWN_VALUES])
        more = " …" if len(tried.values) > _SHOWN_VALUES else ""
        services.say(f"  {tried.knob}: {values}{more}  ({tried.because})")
    if space.left_out:
        settings = text.count(len(space.left_out), "setting")
        services.say(f"  {settings} cannot matter here; the report says which, and why")
    if space.expert is None:
        services.say("  the expert rule leaves this program as it is")
    part = f" of {space.combinations + 1}" if space.combinations + 1 > len(space.candidates) else ""
    services.say(f"{len(space.candidates)}{part} candidates, the program as it is among them.")
    if is_cut:
        services.say("  the budget holds no more: a longer --budget tries more")


def _show(
    analysis: TuneAnalysis, store: Store, profile: Path, request: TuneRequest, services: Services
) -> None:
    """The answer: sentences, tables, lines to paste, and where the files are."""
    page = None
    if request.report:
        page = report.write_of(store, analysis, request.folder / "report.html")
    if request.json:
        print(text.as_json(analysis), file=services.output, flush=True)
        return
    console = Terminal(file=services.output)
    for sentence in analysis.verdict_sentences:
        console.print(sentence, highlight=False, soft_wrap=True)
    console.print()
    console.print(_candidates(analysis))
    if analysis.of_role("winner") is not None:
        console.print("* the answer", highlight=False)
    if any(effect.resolved for effect in analysis.effects):
        console.print()
        console.print(_effects(analysis))
    for setting in analysis.settings_to_paste:
        console.print(f"\n{setting.label}:", highlight=False)
        console.print(setting.text, highlight=False, soft_wrap=True)
    console.print(f"\nRows:    {store.path}", highlight=False, soft_wrap=True)
    console.print(f"Profile: {profile}", highlight=False, soft_wrap=True)
    if page is not None:
        console.print(f"Report:  {page}", highlight=False, soft_wrap=True)


def _candidates(analysis: TuneAnalysis) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("in the final", overflow="fold")
    for heading in (analysis.unit, "by now", "interval", "rounds"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("it is")
    better, worse = analysis.better, "worse" if analysis.better != "faster" else "slower"
    words = {"faster": better, "slower": worse}
    for candidate in analysis.candidates:
        if not candidate.rounds and candidate.role != "default":
            continue
        ratio = candidate.ratio
        mark = " *" if candidate.role == "winner" else ""
        table.add_row(
            f"{candidate.name}{mark}",
            candidate.written,
            "" if ratio is None or ratio.value is None else f"{ratio.value:.3f}",
            "" if ratio is None or ratio.low is None else f"{ratio.low:.3f} … {ratio.high:.3f}",
            str(candidate.rounds),
            _verdict(candidate, words),
        )
    return table


def _verdict(candidate: CandidateResult, words: Mapping[str, str]) -> str:
    """A finalist that was measured, but not often enough for a verdict, is not called unmeasured."""
    if candidate.ratio is None:
        return ""
    if candidate.ratio.verdict == verdicts.NOT_MEASURED and candidate.rounds:
        return "too few rounds"
    return words.get(candidate.ratio.verdict, candidate.ratio.verdict)


def _effects(analysis: TuneAnalysis) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("knob", overflow="fold")
    table.add_column("value", overflow="fold")
    table.add_column(f"× {analysis.unit}", justify="right")
    table.add_column("±", justify="right")
    for effect in [one for one in analysis.effects if one.resolved][:_SHOWN_EFFECTS]:
        error = f"{100 * effect.error:.1f} %"
        table.add_row(effect.knob, effect.value, f"{effect.factor:.3f}", error)
    return table


@dataclass(frozen=True, kw_only=True)
class TuneCommand(TuneRequest):
    """Find the best settings for a program as it is.

    Threads, places, schedules, binding and waiting are tried; nothing is compiled again.

    Finds what the program links, tries what can matter, and answers in words: what to set and how much it
    gains, or to leave it as it is. Nothing is compiled, and no setting of the system is changed.

    \b
    Examples:
      tauto tune -- ./solver case.in
      tauto tune --budget 20m --objective memory -- ./solver case.in
      tauto tune --threads 1..16 -- xz -k -c -T{threads} file
      tauto tune --env MALLOC_ARENA_MAX=1,2 --fix OMP_PROC_BIND=close -- ./solver case.in
      tauto tune --objective 'regex-max:Performance: +([0-9.]+)' -- gmx mdrun -s case.tpr
      tauto tune --explain OMP_PLACES
    """  # noqa: D301

    def run(self) -> int:
        if self.explain is not None:
            print(explain(self.explain))
        else:
            warn_of_neighbours()
            run_tune(self)
        return 0
