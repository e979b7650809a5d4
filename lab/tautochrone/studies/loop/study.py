"""``tauto study loop`` from the request to the report, one step after the other."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tautochrone import measure
from tautochrone.errors import TautoError
from tautochrone.plan import Plan
from tautochrone.report.analysis_types import LoopAnalysis, NotMeasured, Peer
from tautochrone.row import SCREENING
from tautochrone.runners import PeerState
from tautochrone.store import Store
from tautochrone.studies.loop import context as contexts
from tautochrone.studies.loop import loads
from tautochrone.studies.loop.analysis import analyse
from tautochrone.studies.loop.cells import collect
from tautochrone.studies.loop.context import StudyContext
from tautochrone.studies.loop.measuring import (
    StateExecutor,
    StudyCell,
    Times,
    configuration,
    estimated_run_seconds,
    is_serial,
    study_cells,
    sums_in_its_own_order,
    times_of,
)
from tautochrone.studies.loop.placements import Cpu, cpus_of
from tautochrone.studies.loop.request import (
    Emulation,
    LoopRequest,
    check_cpus,
    check_emulations,
    choose_sizes,
    emulation_text,
    parse_cpus,
)
from tautochrone.studies.loop.screening import Entry, finalists, screened_at_all
from tautochrone.studies.loop.services import Services
from tautochrone.studies.loop.states import open_states

STUDY = "loop"
_ALWAYS = ("serial", "tautochrone")
_FINALISTS_GUESS = 12  # of each cell, for the estimate before anything was screened
_LEAST_TIME_LIMIT_SECONDS = 30.0
_TIME_LIMIT_FACTOR = 100.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that was checked against this machine, ready to be measured."""

    request: LoopRequest
    machine: Mapping[str, Any]
    states: Sequence[PeerState]
    sizes: tuple[int, ...]
    cpus: tuple[Cpu, ...]
    left_out: tuple[NotMeasured, ...]

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
        prepared = replace(prepared, machine=_with_emulations(prepared.machine, emulations))
        cells = study_cells(
            request, prepared.sizes, emulations, prepared.cpus, _usable(prepared.machine), prepared.states
        )
        entries = entries_of(cells, prepared.times)
        plan = plan_of(entries, prepared)
        store = stack.enter_context(
            Store.open(request.output, STUDY, plan.plan_id, prepared.machine, request.fresh, services.clock)
        )
        services.say(announcement(cells, prepared))
        context = _context(prepared, executor, refused)
        contexts.save(context, request.output)
        screening = screening_of(cells, plan, prepared.times)
        interrupted = _measure(plan, screening, entries, store, executor, services, context)
        if not interrupted and services.sample_loads:
            context.cpu_load, context.sampler_cpu_seconds = _sample(
                store, cells, prepared, executor, services
            )
        contexts.save(context, request.output)
    analysis = _conclude(store, prepared, context, services)
    if interrupted:
        raise KeyboardInterrupt
    return analysis


# -- before the first run --


def prepare(request: LoopRequest, services: Services) -> Prepared:
    """Check the request against this machine. Raises TautoError for the first thing that cannot be done."""
    states, absent = _peers(request, services)
    machine = services.machine()
    _refuse_emulated(machine)
    cpus, all_cpus = cpus_of(machine)
    allowed = [cpu.number for cpu in cpus]
    if not request.emulate_if_possible:
        check_emulations(request.emulations, allowed, all_cpus)
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
    return Prepared(request, machine, states, sizes.chosen, cpus, (*absent, *too_large))


def _peers(request: LoopRequest, services: Services) -> tuple[list[PeerState], list[NotMeasured]]:
    """The peers that are here; one that was asked for by name has to be."""
    asked = None
    if request.peers is not None:
        named = [] if request.peers == ("none",) else list(request.peers)
        asked = [*dict.fromkeys([*_ALWAYS, *named])]
    states = services.peers(asked)
    for state in states:
        must = state.peer.name in _ALWAYS or request.peers is not None
        if must and not state.present:
            raise TautoError(f"{state.peer.title} cannot be measured: {state.reason}", state.remedy)
    absent = [
        NotMeasured(what=state.peer.title, why=state.reason, remedy=state.remedy)
        for state in states
        if not state.present
    ]
    return [state for state in states if state.present], absent


def _available_bytes(machine: Mapping[str, Any]) -> int | None:
    """What a process may allocate: what is free, and no more than the container's limit."""
    limits = [machine.get(name) for name in ("available_memory_bytes", "memory_limit_bytes")]
    return min((int(limit) for limit in limits if limit is not None), default=None)


def _refuse_emulated(machine: Mapping[str, Any]) -> None:
    """Slowed from outside, no state of the machine would be what its rows say."""
    if machine.get("emulated"):
        slowed = "+".join(f"{one['cpu']}:{one['factor']:g}" for one in machine["emulated"])
        raise TautoError(
            f"the study was started under tauto emulate ({slowed}), so it cannot switch the slow CPUs itself",
            f"Start it without, and give it --emulate {slowed}",
        )


def _with_emulations(machine: Mapping[str, Any], emulations: Sequence[Emulation]) -> Mapping[str, Any]:
    """The machine's record, saying which CPUs the study slows, and to what."""
    slowed = {(cpu, factor) for emulation in emulations for cpu, factor in emulation.items()}
    entries = [{"cpu": cpu, "factor": factor} for cpu, factor in sorted(slowed)]
    return {**machine, "emulated": entries or None}


def _usable(machine: Mapping[str, Any]) -> int | None:
    usable = machine.get("usable_members")
    return None if usable is None else int(usable)


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
    limit = max(_LEAST_TIME_LIMIT_SECONDS, _TIME_LIMIT_FACTOR * slowest)
    return Plan(
        STUDY,
        [one for of_cell in entries.values() for _, one in of_cell],
        rounds=times.rounds,
        seed=prepared.request.seed,
        time_limit_seconds=prepared.request.time_limit_seconds or limit,
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


def announcement(cells: Sequence[StudyCell], prepared: Prepared) -> str:
    """What will be measured and how long that takes, roughly."""
    times = prepared.times
    shorter = times.screening or times
    seconds = 0.0
    for cell in cells:
        first = sum(1 for one in cell.candidates if screened_at_all(one))
        last = min(_FINALISTS_GUESS, len(cell.candidates))
        seconds += shorter.rounds * first * estimated_run_seconds(cell.size, shorter)
        seconds += times.rounds * last * estimated_run_seconds(cell.size, times)
    states = list(dict.fromkeys(emulation_text(cell.emulation) for cell in cells))
    sizes = ", ".join(map(str, prepared.sizes))
    emulated = [state for state in states if state != "none"]
    where = "the machine as it is" + (f", and with CPU:FACTOR {' and '.join(emulated)}" if emulated else "")
    return (
        f"study {STUDY}: sizes {sizes}; {where}; about {_minutes(seconds)}. Rows go to "
        f"{prepared.request.output}; interrupt it when you like: the same command goes on from there."
    )


def _minutes(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _context(prepared: Prepared, executor: StateExecutor, refused: Sequence[NotMeasured]) -> StudyContext:
    return StudyContext(
        command=shlex.join(["tauto", *sys.argv[1:]]) if sys.argv[1:2] == ["study"] else "tauto study loop",
        folder=str(prepared.request.output),
        quick=prepared.request.quick,
        peers=tuple(_peer(state) for state in prepared.states if state.peer.name != "serial"),
        not_measured=(*prepared.left_out, *refused),
        machine_advice=_machine_advice(prepared.machine),
        measured_factors=executor.factors(),
    )


def _machine_advice(machine: Mapping[str, Any]) -> tuple[str, ...]:
    """What `tauto machine` would advise; nothing for a record that is not complete."""
    from tautochrone.advice import advise
    from tautochrone.machine_record import Machine

    try:
        as_it_is = msgspec.convert({**machine, "emulated": None}, Machine)  # what we slow is no surprise
        return tuple(str(advice) for advice in advise(as_it_is))
    except msgspec.ValidationError:
        return ()


def _peer(state: PeerState) -> Peer:
    description = state.description
    assert description is not None
    waits = ", ".join(description.wait_policies) or "its own"
    return Peer(
        runtime=state.peer.name,
        name=state.peer.title,
        version=description.version or "",
        wait_policies=description.wait_policies,
        schedules=description.schedules,
        settings=f"one worker pinned to each CPU, hot before it is timed; wait policies tried: {waits}",
    )


# -- the runs --


def _measure(
    plan: Plan,
    screening: Plan,
    entries: Mapping[str, Sequence[Entry]],
    store: Store,
    executor: StateExecutor,
    services: Services,
    context: StudyContext,
) -> bool:
    """Screen, choose, measure the finalists in fresh rounds. True when it was interrupted."""

    def run(part: Plan, title: str) -> bool:
        progress = services.progress(title)
        outcome = measure.run_plan(part, store, executor, services.clock, progress, check_rows=check)
        context.notices = tuple(dict.fromkeys((*context.notices, *outcome.notices)))
        return outcome.interrupted

    check = measure.equal_answers(is_serial, exempt=sums_in_its_own_order)
    if run(screening, "screening"):
        return True
    screened = store.rows(SCREENING)
    chosen = [one for of_cell in entries.values() for one in finalists(of_cell, screened)]
    return run(replace(plan, configurations=chosen), "measuring")


def _sample(
    store: Store, cells: Sequence[StudyCell], prepared: Prepared, executor: StateExecutor, services: Services
) -> tuple[tuple[Any, ...], float]:
    """The load of each CPU, after all rounds, so that it disturbs none of them."""
    samples, cost = loads.sample_loads(collect(store.rows()), cells, executor, prepared.times)
    return tuple(samples), cost


# -- after the last run --


def _conclude(store: Store, prepared: Prepared, context: StudyContext, services: Services) -> LoopAnalysis:
    """Analyse, write the report, print the verdict and where everything is."""
    request = prepared.request
    rows = store.rows(None)
    analysis = analyse(rows, prepared.machine, context)
    if request.json:
        print(msgspec.json.encode(analysis).decode(), file=services.output, flush=True)
    path = (
        _write_report(rows, prepared.machine, request.output, analysis) if request.report and rows else None
    )
    if not request.json:
        for sentence in analysis.verdict_sentences:
            print(sentence, file=services.output)
        print(f"\nRows:   {store.path}", file=services.output)
        if path is not None:
            print(f"Report: {path}", file=services.output, flush=True)
    return analysis


def _write_report(
    rows: Sequence[Mapping[str, Any]], machine: Mapping[str, Any], folder: Path, analysis: LoopAnalysis
) -> Path:
    from tautochrone import report

    return report.write(rows, machine, folder / "report.html", study=STUDY, extra=analysis)


def report_again(folder: Path, path: Path | None = None) -> Path:
    """Write the report of a folder's rows. Raises TautoError where there are none, or of another study."""
    from tautochrone import report

    with Store.read(folder) as store:
        if store.study != STUDY:
            raise TautoError(
                f"{store.path} holds the study {store.study!r}, and only loop has a report",
                "Name the folder of a loop study",
            )
        rows = store.rows(None)
        analysis = analyse(rows, store.machine, contexts.load(folder))
        return report.write(rows, store.machine, path or folder / "report.html", study=STUDY, extra=analysis)
