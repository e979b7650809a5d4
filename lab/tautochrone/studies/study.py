"""A study describes itself; what every study does stands here: request, states, plan, rows, analysis, page.

To add a study: a subclass of `Study` with its peers, its runs and its analysis, and a line in `STUDIES`.
"""

from __future__ import annotations

import math
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from tautochrone import report, text
from tautochrone.errors import TautoError, in_lines
from tautochrone.machine.advice import machine_advice
from tautochrone.machine.placements import Layout, layout
from tautochrone.machine.policy.held import under_each_policy
from tautochrone.machine.record import machine_of
from tautochrone.machine.runners import Peer
from tautochrone.measuring import measure
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor, RunResult
from tautochrone.measuring.identity import identity_of, started_files
from tautochrone.measuring.neighbours import warn_of_neighbours
from tautochrone.measuring.plan import Order, Plan
from tautochrone.measuring.session import CheckRows
from tautochrone.options import State, state_text
from tautochrone.report.analysis import Analysis
from tautochrone.results import USUAL_FOLDER
from tautochrone.results import context as contexts
from tautochrone.results.compare import CompareRequest
from tautochrone.results.context import NotMeasured, StudyContext
from tautochrone.results.row import MEASURED, Row
from tautochrone.results.store import Store
from tautochrone.studies.disturbance import decidable
from tautochrone.studies.peers import checked_cpus, described, peers_here, with_states
from tautochrone.studies.request import StudyRequest, Times, Turn
from tautochrone.studies.row_types import RowTypes
from tautochrone.studies.services import Services
from tautochrone.studies.setup import RunnerSetup
from tautochrone.studies.states import StateExecutor, machine_again, open_states
from tautochrone.terminal import Terminal

IDLE_DRIFT_NOTICED = 0.1
"""From this share of the largest on the spread of idle power before, between and after the runs is said."""

_LEAST_TIME_LIMIT_SECONDS = 30.0
_TURNS, _LEAST_ROUNDS_OF_TURN = 4, 2  # where a study under several policies comes back to each
_TIME_LIMIT_FACTOR = 100.0

Asked = TypeVar("Asked", bound=StudyRequest)
Known = TypeVar("Known", bound=StudyContext)
Found = TypeVar("Found", bound=Analysis)


@dataclass(frozen=True, slots=True)
class Run:
    """One way to run the work, as something to measure; ``seconds``: what one run takes, roughly."""

    setup: RunnerSetup
    configuration: Configuration
    seconds: float


class Study(ABC, Generic[Asked, Known, Found]):
    """One sitting of a study, from its checked request on. A subclass says what is its own.

    The docstring of a subclass is the help of its command. Constructing one checks the request against this
    machine and raises TautoError for the first thing that cannot be done; nothing has run until then.
    """

    NAME: ClassVar[str]
    REQUEST: ClassVar[type[StudyRequest]]
    CONTEXT: type[Known]
    PEERS: ClassVar[tuple[Peer, ...]]
    SETTINGS: ClassVar[str]
    """How all peers run: a line of the report."""
    ROWS: ClassVar[RowTypes] = RowTypes()
    """What is read of rows beside the fields that all have."""
    ANSWER: ClassVar[str]
    """The field of a row's ``check`` in which all must agree with the serial runner; empty for none."""
    QUICK: ClassVar[Times]
    FULL: ClassVar[Times]
    ORDER: ClassVar[Order] = "shuffled"
    MEASURES_MACHINE_AGAIN: ClassVar[bool] = False

    store: Store
    """From the first run on."""

    def __init__(self, request: Asked, services: Services | None = None) -> None:
        self.request = request
        self.services = services or Services()
        self.peers, absent = peers_here(self.PEERS, request, self.services)
        self.machine: Mapping[str, Any] = self.services.machine()
        self.cpus, self.all_cpus = checked_cpus(request, self.machine)
        self.left_out = list(absent)
        self.states: Sequence[State] = ()
        self.context = self.empty_context()
        self.prepare()

    # -- what a study says of itself --

    def prepare(self) -> None:
        """Check what is the study's own, and choose sizes. Raises TautoError."""

    def probe(self, executor: Executor) -> None:
        """Measure what sizes are chosen by, before the first run."""

    @property
    def times(self) -> Times:
        """The rounds that were asked for, or those of the kind of study."""
        kind = self.QUICK if self.request.quick else self.FULL
        return replace(kind, rounds=self.request.rounds or kind.rounds)

    @abstractmethod
    def runs(self) -> Sequence[Run]:
        """Everything that may run, in all states."""

    @property
    @abstractmethod
    def work(self) -> str:
        """What is measured, for the sentence before the first run."""

    def estimate(self, runs: Sequence[Run]) -> float:
        """About how many seconds the study takes."""
        return self.times.rounds * sum(run.seconds for run in runs)

    def parts(self, whole: Plan, runs: Sequence[Run], store: Store) -> Iterator[tuple[str, Plan]]:
        """The plans to run one after the other, with their titles; each sees the rows of those before it."""
        yield "measuring", whole

    def illustrate(self, executor: StateExecutor, limit_seconds: float) -> None:
        """Runs that only illustrate, after the last round; what they find goes into the context."""

    def afterwards(self) -> None:
        """What was asked for beside the study."""

    @property
    def check_rows(self) -> CheckRows:
        """What is wrong with which run of a group: by default an answer that differs from the reference's."""
        if not self.ANSWER:
            return lambda rows: {}
        return measure.equal_answers(self.is_reference, field_name=self.ANSWER, exempt=self.is_exempt)

    def complaint(self, configuration: Configuration, result: RunResult) -> str | None:
        """What a runner did that no right one does; None where nothing is wrong with what it printed."""
        wrong = self.ROWS.of_record(result.record)
        if wrong is not None:
            return f"printed a wrong field: {wrong}"
        if (
            self.has_answer(configuration.settings)
            and (result.record.get("check") or {}).get(self.ANSWER) is None
        ):
            return f"gave no {self.ANSWER} to compare with the right one"
        least = self.least_seconds(configuration.settings, result.record)
        if result.seconds is not None and result.seconds < least:
            return f"says {result.seconds:.3g} s: these CPUs need at least {least:.3g} s for as much work"
        return self.contradiction(result.record)

    def has_answer(self, settings: Mapping[str, Any]) -> bool:
        """Whether such a run gives an answer to compare; else its runner itself checks what it did."""
        return bool(self.ANSWER)

    def least_seconds(self, settings: Mapping[str, Any], record: Mapping[str, Any]) -> float:
        """Less than this cannot be, by the speeds that were measured of this machine; 0 where none tells.

        `record` is what the runner printed, its types already checked.
        """
        return 0.0

    def contradiction(self, record: Mapping[str, Any]) -> str | None:
        """What of a runner's figures cannot be true together."""
        return None

    def is_reference(self, row: Row) -> bool:
        """Whether the row's answer is the right one."""
        return bool(row.config["runtime"] == "serial")

    def is_exempt(self, row: Row) -> bool:
        """Whether the row's answer may rightly differ."""
        return False

    @classmethod
    @abstractmethod
    def analyse(cls, rows: Sequence[Row], machine: Mapping[str, Any], context: Known) -> Found:
        """The findings of rows, measured and screening. Linear in the number of rows."""

    @classmethod
    def conclude_policies(
        cls, folders: Sequence[Path], request: StudyRequest, services: Services | None = None
    ) -> None:
        """Say what only the same study under each policy tells."""

    # -- what every study does --

    @classmethod
    def measure(cls, request: Asked, services: Services | None = None) -> Found:
        """Measure what is missing in the output folder, analyse all, write the report, print the verdict.

        Raises TautoError for everything that cannot be done here, before the first run; KeyboardInterrupt
        after an interrupted study has been reported.
        """
        study = cls(request, services)
        store, interrupted = study._measured()
        analysis = cls.judged(store.rows(None), study.machine, study.context)
        if study._goes_on and not interrupted:
            return analysis
        study._conclude(store, analysis)
        if interrupted:
            raise KeyboardInterrupt
        study.afterwards()
        return analysis

    @classmethod
    def stored(cls, store: Store) -> Found:
        """The analysis of a folder's rows, as the study that measured them gave it."""
        return cls.judged(cls.rows_of(store), machine_of(store), cls.known_beside(store))

    @classmethod
    def judged(cls, rows: Sequence[Row], machine: Mapping[str, Any], context: Known) -> Found:
        """The findings of rows, with those claims open that they cannot decide."""
        return cls.decided(cls.analyse(rows, machine, context), rows, machine)

    @classmethod
    def decided(cls, found: Found, rows: Sequence[Row], machine: Mapping[str, Any]) -> Found:
        """The same findings; a claim is open where too few CPUs, or other programs, leave it so."""
        return msgspec.structs.replace(found, claims=decidable(found.claims, rows, machine))

    @classmethod
    def rows_of(cls, store: Store) -> list[Row]:
        """All rows of a store. TautoError, with its line, for one of another type than the study reads."""
        return store.checked(cls.ROWS.complaint)

    @classmethod
    def report_again(cls, folder: Path, path: Path | None = None, form: report.Format = "html") -> Path:
        """Write the report of a folder's rows, by default there. Raises TautoError where there are none."""
        with Store.read(folder) as store:
            return report.write_of(store, cls.stored(store), path, form=form)

    @classmethod
    def known_of(cls, folder: Path) -> Known:
        """What the study in that folder knows beside its rows."""
        return contexts.load(cls.empty_context(folder), folder)

    @classmethod
    def known_beside(cls, store: Store) -> Known:
        """What the study knows beside the rows of a store, and what a reader of these should know."""
        known = cls.known_of(store.folder)
        known.notices = tuple(dict.fromkeys((*known.notices, *store.notices)))
        return known

    @classmethod
    def empty_context(cls, folder: Path | None = None) -> Known:
        """What is known of a study that kept nothing beside its rows."""
        usual = USUAL_FOLDER / cls.NAME
        return cls.CONTEXT(
            schema=f"tautochrone.{cls.NAME}/1", command=f"tauto study {cls.NAME}", folder=str(folder or usual)
        )

    def layout(self, state: State | None = None) -> Layout:
        """The machine's CPUs in that state; no more of them than a container's quota pays for."""
        usable = self.machine.get("usable_members")
        return layout(self.cpus, state or {}, None if usable is None else int(usable))

    @property
    def all_states(self) -> list[State]:
        """The unmodified machine, which always comes first, and each state with slowed CPUs."""
        return [{}, *(state for state in self.states if state)]

    def contexts_to_share(self) -> Iterator[Known]:
        """The contexts of folders whose work is to be the same: where the study goes on, and `like`."""
        return contexts.load_all(self.empty_context(), self.request.probed_in)

    def plan(self, runs: Sequence[Run]) -> Plan:
        """Everything that may run, as one plan: it gives the study its identity."""
        longest = max(run.seconds for run in runs)
        usual = max(_LEAST_TIME_LIMIT_SECONDS, _TIME_LIMIT_FACTOR * longest)
        return Plan(
            self.NAME,
            [run.configuration for run in runs],
            rounds=self.times.rounds,
            seed=self.request.seed,
            time_limit_seconds=self.request.time_limit_seconds or usual,
            machine=self.machine,
            order=self.ORDER,
            identity=identity_of(started_files(run.configuration for run in runs)),
        )

    def _measured(self) -> tuple[Store, bool]:
        """The closed store, and whether the study was interrupted."""
        request, services = self.request, self.services
        with ExitStack() as stack:
            inner = stack.enter_context(services.executor(request.seed))
            self.probe(inner)
            executor, self.states, refused = open_states(stack, inner, request, services)
            executor.complaint = self.complaint
            self.machine = with_states(self.machine, self.states)
            runs = self.runs()
            if not runs:
                raise TautoError(
                    f"study {self.NAME} has nothing to measure here",
                    "; ".join(absent.remedy for absent in self.left_out) or "Ask for less special settings",
                )
            plan = self.plan(runs)
            store = stack.enter_context(
                Store.open(
                    request.output,
                    self.NAME,
                    plan.plan_id,
                    self.machine,
                    request.fresh,
                    services.clock.now(),
                    plan.identity.prints,
                )
            )
            self.store = store
            if request.turn is None or request.turn.number == 0:
                services.say(self._announcement(runs))
            self._know(runs, executor, refused)
            contexts.begin(self.context, store)
            interrupted = self._run_parts(plan, runs, store, executor)
            if not interrupted and services.illustrations and not self._goes_on:
                try:
                    self.illustrate(executor, plan.time_limit_seconds)
                except KeyboardInterrupt:
                    interrupted = True
            contexts.save(self.context, request.output)
        return store, interrupted

    @property
    def _goes_on(self) -> bool:
        """Whether further rounds come in a later turn."""
        return self.request.turn is not None and self.request.turn.until_round is not None

    def _know(self, runs: Sequence[Run], executor: StateExecutor, refused: Sequence[NotMeasured]) -> None:
        """What the context has of every study."""
        context = self.context
        started = sys.argv[1:2] == ["study"]
        context.command = shlex.join(["tauto", *sys.argv[1:]]) if started else f"tauto study {self.NAME}"
        context.folder = str(self.request.output)
        context.quick = self.request.quick
        context.peers = described(self.peers, [run.setup for run in runs], self.SETTINGS)
        context.not_measured = (*self.left_out, *refused)
        context.machine_advice = machine_advice(self.machine)
        context.measured_factors = executor.factors()
        context.measured_reading_factors = executor.reading_factors()
        context.measured_turns = executor.turns()

    def _announcement(self, runs: Sequence[Run]) -> str:
        """What will be measured, where, and how long that takes, roughly."""
        slowed = [state_text(state) for state in self.states if state]
        where = "the machine as it is" + (f", and with CPU:FACTOR {' and '.join(slowed)}" if slowed else "")
        return (
            f"study {self.NAME}: {self.work}; {where}; about {_duration(self.estimate(runs))}. Rows go to "
            f"{self.request.output}; interrupt it when you like: the same command goes on from there."
        )

    def _run_parts(self, plan: Plan, runs: Sequence[Run], store: Store, executor: StateExecutor) -> bool:
        """Run what the store lacks of each part. True when the study was interrupted."""
        enough_work = measure.enough_cpu_time(self.is_reference)
        again = machine_again(store, executor, self.services) if self.MEASURES_MACHINE_AGAIN else None
        turn = self.request.turn
        for title, part in self.parts(plan, runs, store):
            until_round = turn.until_round if turn is not None and part.source == MEASURED else None
            outcome = measure.run_plan(
                part,
                store,
                executor,
                self.services.clock,
                self.services.progress(title),
                check_rows=checks_of(enough_work, self.check_rows),
                before_round=again,
                until_round=until_round,
            )
            notices = [*outcome.notices, *self._idle_notices(executor, outcome.interrupted)]
            self.context.notices = tuple(dict.fromkeys((*self.context.notices, *notices)))
            if outcome.interrupted:
                return True
            contexts.save(self.context, store.folder)
        return False

    def _idle_notices(self, executor: StateExecutor, interrupted: bool) -> list[str]:
        """What to know of idle power, which is measured where there is a meter."""
        stretches = executor.idle_stretches(after_runs=not interrupted)
        self.context.idle_watts = (*self.context.idle_watts, *stretches)
        notices = []
        if interrupted and stretches:
            notices.append("the study was interrupted: idle power after its last run was not measured")
        return notices + idle_notices(self.context.idle_watts)

    def _conclude(self, store: Store, analysis: Found) -> None:
        """Write the report, print the verdict (or the analysis as JSON) and where everything is."""
        request, output = self.request, self.services.output
        if request.json:
            print(text.as_json(analysis), file=output, flush=True)
        path = None
        if request.report and store.rows(None):
            path = report.write_of(store, analysis, machine=self.machine)
        if not request.json:
            for sentence in analysis.verdict_sentences:
                print(in_lines(sentence, output), file=output)
            print(f"\nRows:   {store.path}", file=output)
            if path is not None:
                print(f"Report: {path}", file=output, flush=True)


def checks_of(*checks: CheckRows) -> CheckRows:
    """All of them as one; where two complain of a run, the first one's word counts."""

    def check(rows: Sequence[Row]) -> dict[str, str]:
        wrong: dict[str, str] = {}
        for one in checks:
            wrong = {**one(rows), **wrong}
        return wrong

    return check


def run(study: type[Study[Any, Any, Any]], request: StudyRequest) -> int:
    """``tauto study NAME``; with --policies the same work once under each policy. Returns 0."""
    warn_of_neighbours()
    if not request.policies:
        study.measure(request)
        return 0
    services = Services()
    machines: dict[Path, Mapping[str, Any]] = {}
    turns = turns_of(request.rounds or (study.QUICK if request.quick else study.FULL).rounds)

    def under_one(folder: Path, number: int) -> None:
        if folder not in machines:
            machines[folder] = services.machine()
        fresh = request.fresh and number == 0
        study.measure(
            replace(request, output=folder, like=next(iter(machines)), turn=turns[number], fresh=fresh),
            replace(services, machine=lambda: machines[folder]),
        )

    folders = under_each_policy(
        under_one, request.output, lambda sentence: services.say(f"tauto: {sentence}"), turns=len(turns)
    )
    compare_policies(folders, services)
    study.conclude_policies(folders, request)
    return 0


def turns_of(rounds: int) -> list[Turn]:
    """The turns in which studies of so many rounds come after each other: four, or of two rounds."""
    step = max(_LEAST_ROUNDS_OF_TURN, math.ceil(rounds / _TURNS))
    ends = range(step, rounds, step)
    return [Turn(number, end) for number, end in enumerate([*ends, None])]


def compare_policies(folders: Sequence[Path], services: Services) -> None:
    """Time and energy under each policy against the first one, which is the machine as it was."""
    first, *others = folders
    for folder in others:
        services.say(f"\nPolicy {folder.name} (B) against {first.name} (A):")
        CompareRequest(str(first), str(folder), across_states=True).run(Terminal(file=services.messages))


def idle_notices(watts: Sequence[float]) -> list[str]:
    """What to know of idle power that did not stay the same from before the runs until after them."""
    if not watts or max(watts) - min(watts) <= IDLE_DRIFT_NOTICED * max(watts):
        return []
    low, high = text.quantity(min(watts), "W"), text.quantity(max(watts), "W")
    return [f"the machine drew {low} to {high} when nothing ran: energy without idle power is that uncertain"]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
