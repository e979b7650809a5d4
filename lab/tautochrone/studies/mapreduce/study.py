"""``tauto study mapreduce``: what is asked, what runs, in which order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from tautochrone.errors import TautoError
from tautochrone.machine.runners import PeerState
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.executor import Executor
from tautochrone.options import Option, integers_of
from tautochrone.results import USUAL_FOLDER
from tautochrone.results.context import NotMeasured
from tautochrone.results.row import Row
from tautochrone.studies import models
from tautochrone.studies.disturbance import others_share
from tautochrone.studies.mapreduce import configurations
from tautochrone.studies.mapreduce.cells import ROWS, SHARE_THAT_PAYS, collect, payoffs, report_cell
from tautochrone.studies.mapreduce.claims import claims
from tautochrone.studies.mapreduce.configurations import (
    PEERS,
    Candidate,
    StudyCell,
    Workload,
    candidates,
    configuration,
    cpus_in_order,
    estimated_run_seconds,
    parse_workloads,
    sized,
    sized_all,
)
from tautochrone.studies.mapreduce.findings import (
    MapReduceAnalysis,
    MapReduceContext,
    SleepingPlace,
    Trace,
)
from tautochrone.studies.mapreduce.first import first_screen
from tautochrone.studies.mapreduce.sentences import settings_to_paste, verdict_sentences
from tautochrone.studies.request import OUTPUT, SlowingRequest, Times, peers_option
from tautochrone.studies.states import StateExecutor
from tautochrone.studies.study import Run, Study

MOST_THREADS_A_CPU = 8
_EVERY_COUNT_UP_TO = 32
_STRIDE = 16
_PROBE_BYTES = 100_000  # long against a clock's reading and a call, short enough to be warm
_PROBE_TASKS = 50
_PROBE_RUNS = 3
_PROBE_LIMIT_SECONDS = 60.0


def parse_threads(text: str) -> tuple[int, ...]:
    """``"4,1,2"`` → (1, 2, 4). Raises TautoError for what is no number of threads."""
    return integers_of(
        text,
        "--threads",
        1,
        999_999,
        lambda word: TautoError(f"{word!r} is not a number of threads", "Write 1 or more, such as 1,2,4"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MapReduceRequest(SlowingRequest):
    """The options of ``tauto study mapreduce``. None means "choose for me"."""

    output: Annotated[Path, OUTPUT] = USUAL_FOLDER / "mapreduce"
    workloads: Annotated[
        tuple[Workload, ...] | None,
        Option(
            "The number of tasks and the length of each: 50x400kB, 500x10us. Default: 50 of 400, 1000 and "
            "3000 kB; 50 and 500 of 1, 10 and 100 µs.",
            "NxLENGTH,…",
            parse_workloads,
            "--tasks",
        ),
    ] = None
    threads: Annotated[
        tuple[int, ...] | None,
        Option("Thread counts. Default: 1 … all CPUs, and twice as many.", "N,N,…", parse_threads),
    ] = None
    peers: Annotated[
        tuple[str, ...] | None, peers_option("qt, tbb, libgomp, libomp, stdpar, async; none for only ours.")
    ] = None

    @property
    def wanted(self) -> tuple[Workload, ...]:
        usual = configurations.QUICK if self.quick else (*configurations.PUBLISHED, *configurations.SHORT)
        return self.workloads or usual


class MapReduce(Study[MapReduceRequest, MapReduceContext, MapReduceAnalysis]):
    """Measure map/reduce of short tasks (FNV-1a hashes) on this machine: from which length on it pays.

    Compares QtConcurrent::blockingMappedReduced, oneTBB's parallel_reduce, OpenMP on libgomp and libomp,
    std::transform_reduce, std::async and tautochrone with the serial loop, in shuffled rounds, from 1 thread
    to more than there are CPUs. Writes every run as it ends: interrupt it when you like, start it again, and
    it goes on.

    \b
    Examples:
      tauto study mapreduce --quick
      tauto study mapreduce --tasks 50x400kB,50x10us --peers qt,tbb --rounds 20
      tauto study mapreduce --threads 1,2,4,8 --output results/night
      tauto study mapreduce --quick --emulate 1:4     also with CPU 1 made four times slower
    """  # noqa: D301

    NAME = "mapreduce"
    REQUEST = MapReduceRequest
    CONTEXT = MapReduceContext
    PEERS = PEERS
    ROWS = ROWS
    SETTINGS = "threads pinned one to a CPU as long as there are any, kept and hot before they are timed"
    ANSWER = "sum"
    QUICK = Times(0.02, 0.04, 12)  # the fewest of which one may disagree: of 8 to 11 all must say the same
    FULL = Times(0.05, 0.15, 15)
    MEASURES_MACHINE_AGAIN = True
    order: tuple[int, ...]  # the CPUs' numbers in the order in which threads get them
    counts: tuple[int, ...]
    cells: Sequence[StudyCell]
    seconds_per_byte: float  # from the probe on

    def prepare(self) -> None:
        request = self.request
        self.order = cpus_in_order(self.layout())
        check_threads(request.threads or (), len(self.order))
        self.counts = request.threads or thread_counts(
            len(self.order), [work.tasks for work in request.wanted]
        )

    def probe(self, executor: Executor) -> None:
        """How long hashing a byte takes: from a folder whose tasks these are to be, else from runs."""
        known = (context.seconds_per_byte for context in self.contexts_to_share())
        found = next((seconds for seconds in known if seconds is not None), None)
        if found is None:
            serial = next(state for state in self.peers if state.peer.name == "serial")
            found = probe_seconds_per_byte(serial, self.order[0], executor)
        self.context.seconds_per_byte = self.seconds_per_byte = found

    @property
    def work(self) -> str:
        tasks = ", ".join(dict.fromkeys(cell.work.name for cell in self.cells))
        return f"tasks {tasks}; threads {', '.join(map(str, self.counts))}"

    def runs(self) -> list[Run]:
        works = sized_all(self.request.wanted, self.seconds_per_byte)
        self.cells = [
            StudyCell(
                work,
                state,
                placed,
                tuple(candidates(self.peers, placed, self.counts, quick=self.request.quick)),
            )
            for state in self.all_states
            for placed in [self.layout(state)]
            for work in works
        ]
        return [
            Run(
                candidate,
                configuration(cell, candidate, self.times),
                estimated_run_seconds(cell.work, self.times),
            )
            for cell in self.cells
            for candidate in cell.candidates
        ]

    def illustrate(self, executor: StateExecutor, limit_seconds: float) -> None:
        """Timelines beside the rows; one that fails is named and changes no result."""
        self.services.say("Recording the timelines of some runs (some seconds)")
        self.context.traces, failed = record_traces(
            self.cells, self.request.output, self.seconds_per_byte, executor, limit_seconds
        )
        self.context.not_measured = (*self.context.not_measured, *failed)

    def least_seconds(self, settings: Mapping[str, Any], record: Mapping[str, Any]) -> float:
        """To hash all bytes once."""
        read = float(settings["tasks"] * settings["bytes"])
        return models.least_seconds(read, self.machine, "hash_bytes_per_second", len(settings["cpus"]))

    @classmethod
    def analyse(
        cls, rows: Sequence[Row], machine: Mapping[str, Any], context: MapReduceContext
    ) -> MapReduceAnalysis:
        """The findings; the speeds of the machine's kinds of cores give the ideal."""
        cells = collect(rows, machine)
        reported = tuple(report_cell(cell) for cell in cells)
        paying = tuple(payoffs(reported))
        return MapReduceAnalysis(
            verdict_sentences=verdict_sentences(cells, paying, others_share(rows, machine)),
            cells=reported,
            payoffs=paying,
            share_that_pays=SHARE_THAT_PAYS,
            traces=context.traces,
            first=first_screen(cells, paying),
            settings_to_paste=settings_to_paste(cells),
            claims=claims(cells),
            **context.reported,
        )


def check_threads(counts: Sequence[int], cpus: int) -> None:
    """Raises TautoError for more threads than a few on each CPU: they would only wait for each other."""
    limit = MOST_THREADS_A_CPU * cpus
    if counts and max(counts) > limit:
        raise TautoError(
            f"--threads {max(counts)} is more than {MOST_THREADS_A_CPU} on each of the {cpus} CPUs that may "
            "be used here",
            f"Ask for {limit} or fewer",
        )


def thread_counts(cpus: int, tasks: Sequence[int]) -> tuple[int, ...]:
    """1 … all CPUs and twice as many; above 32 those where the law steps for one of ``tasks``, and some."""
    steps = {
        math.ceil(count / share)
        for count in tasks
        for share in range(1, math.ceil(count / _EVERY_COUNT_UP_TO) + 1)
    }
    wanted = {
        count
        for count in range(1, cpus + 1)
        if count <= _EVERY_COUNT_UP_TO or count % _STRIDE == 0 or count in steps
    }
    return tuple(sorted({*wanted, cpus, 2 * cpus}))


def probe_seconds_per_byte(serial: PeerState, cpu: int, executor: Executor) -> float:
    """How long hashing one byte takes on a CPU alone: the least of some runs of the serial runner.

    Raises TautoError where the runner fails: then nothing else could be measured either.
    """
    command = [str(serial.path), "--tasks", str(_PROBE_TASKS), "--bytes", str(_PROBE_BYTES)]
    command += ["--threads", "1", "--cpus", str(cpu), "--warmup-seconds", "0.05", "--min-seconds", "0.1"]
    settings: dict[str, object] = {"runtime": "serial", "probe": True, "emulated": {}}
    probe = Configuration("probe of one task's length", command, serial.environment, settings)
    per_byte: list[float] = []
    for _ in range(_PROBE_RUNS):
        result = executor.run(probe, _PROBE_LIMIT_SECONDS)
        seconds = result.record.get("task_seconds")
        if result.error is not None:
            raise TautoError(
                f"the serial runner failed before the study began: {result.error.message}",
                f"Start it by hand to see why: {' '.join(command)}",
            )
        if not isinstance(seconds, int | float) or not seconds > 0:
            raise TautoError(
                f"the serial runner said that a task takes {seconds!r} s; expected a positive number",
                "It may be of another version: build it again (make)",
            )
        per_byte.append(float(seconds) / _PROBE_BYTES)
    return min(per_byte)


# -- timelines: one run of each runtime with a recorder on, after all rounds, so that none is disturbed --

_TRACES = "traces"
_TRACED = configurations.PUBLISHED[0]  # 50 tasks of 400 kB
_TRACED_TIMES = Times(0.02, 0.04, 1)


def record_traces(
    cells: Sequence[StudyCell], folder: Path, seconds_per_byte: float, executor: Executor, limit: float
) -> tuple[tuple[Trace, ...], tuple[NotMeasured, ...]]:
    """A trace of each runtime with no settings on all CPUs, as files below ``folder``; what failed, and why.

    TautoError when the folder cannot be written.
    """
    try:
        (folder / _TRACES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TautoError(
            f"{folder / _TRACES} cannot be made: {error.strerror or error}",
            "Choose another folder with --output",
        ) from error
    traces: list[Trace] = []
    failed: list[NotMeasured] = []
    cell = replace(cells[0], work=sized(_TRACED, seconds_per_byte))
    for candidate in _traced(cell):
        file = f"{_TRACES}/{candidate.peer}.json"
        path = (folder / file).absolute()
        plain = configuration(cell, candidate, _TRACED_TIMES)
        result = executor.run(replace(plain, command=[*plain.command, "--trace", str(path)]), limit)
        if result.error is None and path.is_file():
            traces.append(
                Trace(runtime=candidate.peer, label=plain.name, file=file, sleeps=_sleeps(result.record))
            )
        else:
            why = result.error.message if result.error is not None else "the runner wrote no file"
            failed.append(NotMeasured(what=f"the timeline of {candidate.label}", why=why))
    return tuple(traces), tuple(failed)


def _sleeps(record: Mapping[str, Any]) -> tuple[SleepingPlace, ...]:
    """Where threads slept, as the runner told; nothing where it did not."""
    try:
        return msgspec.convert(record.get("sleeps") or [], tuple[SleepingPlace, ...])
    except msgspec.ValidationError:
        return ()


def _traced(cell: StudyCell) -> Iterator[Candidate]:
    """Each runtime with no settings on as many threads as there are CPUs."""
    cpus = len(cell.layout.fast) + len(cell.layout.slow)
    widest = max(candidate.threads for candidate in cell.candidates if candidate.threads <= cpus)
    for candidate in cell.candidates:
        default = candidate.schedule == candidate.state.peer.default_schedule and candidate.wait == "default"
        if default and candidate.peer != "serial" and candidate.threads == widest:
            yield candidate
