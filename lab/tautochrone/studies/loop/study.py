"""``tauto study loop``: what is asked, what runs, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from tautochrone.errors import TautoError
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.screening import best_of_each
from tautochrone.options import Option, State, check_cpus, integers_of, parse_cpus, parse_names
from tautochrone.results import USUAL_FOLDER
from tautochrone.results.context import NotMeasured
from tautochrone.results.row import SCREENING, Row
from tautochrone.results.states import state_suffix
from tautochrone.results.store import Store
from tautochrone.simulator.requests import KERNELS, LOOP_SIZES, TUNED
from tautochrone.studies import models
from tautochrone.studies.loop.analysis import analyse, sample_loads
from tautochrone.studies.loop.cells import ROWS, CellRuns, collect
from tautochrone.studies.loop.configurations import (
    PEERS,
    Candidate,
    StudyCell,
    candidates,
    configuration,
    estimated_run_seconds,
)
from tautochrone.studies.loop.findings import LoopAnalysis, LoopContext
from tautochrone.studies.loop.sentences import verdict_sentences
from tautochrone.studies.request import OUTPUT, SlowingRequest, Times, peers_option
from tautochrone.studies.states import StateExecutor
from tautochrone.studies.study import Run, Study
from tautochrone.text import format_bytes

FULL_SIZES = LOOP_SIZES
QUICK_SIZES = (500, 1000, 2000, 4000)
FULL_CHUNKS = (1, 2, 4, 8, 16, 32, 64)
QUICK_CHUNKS = (1, 2, 16)
_BYTES_PER_ELEMENT = 4
_VECTORS = 16  # the solver's vectors and the check's, of one column each; generously
_MEMORY_PART = 0.8  # of what is available: the rest is for everyone else
_LARGEST_SIZE = 10**9  # beyond it nothing on earth could hold the matrix, and the number is surely a slip
_FINALISTS_GUESS = 12  # of each cell, for the estimate before anything was screened
BEST_OF_ALL = 2  # how many of the fastest contenders reach the final, whoever they belong to


def parse_sizes(text: str) -> tuple[int, ...]:
    """``"500,1000"`` → (500, 1000), in the order of size. Raises TautoError for what is no size."""
    return integers_of(
        text,
        "--sizes",
        1,
        _LARGEST_SIZE,
        lambda word: TautoError(
            f"{word!r} is not a size",
            "A size is the number of rows of a square matrix, 1 or more, such as 2000",
        ),
    )


def parse_kernel(text: str) -> str:
    """A kernel's name. Raises TautoError for another word."""
    if text not in KERNELS:
        raise TautoError(f"there is no kernel {text!r}", f"Choose from {', '.join(KERNELS)}")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRequest(SlowingRequest):
    """The options of ``tauto study loop``. None means "choose for me"."""

    output: Annotated[Path, OUTPUT] = USUAL_FOLDER / "loop"
    sizes: Annotated[
        tuple[int, ...] | None, Option("Rows of the matrix. Default: 500 … 16000.", "N,N,…", parse_sizes)
    ] = None
    threads: Annotated[int | None, Option("The largest number of threads. Default: all CPUs.", least=1)] = (
        None
    )
    placements: Annotated[
        tuple[str, ...] | None,
        Option(
            "Where threads run: all, cores (one thread a core), fast, fast-cores, slow, or CPUs (0-3).",
            "NAME,…",
            partial(parse_names, option="--placements"),
        ),
    ] = None
    peers: Annotated[
        tuple[str, ...] | None,
        peers_option("libgomp, libomp, tbb, stdpar, openblas; also openmpi, mpich; none."),
    ] = None
    kernel: Annotated[
        str,
        Option(
            "What computes a row: tuned, or published (one chain of additions, as the published study).",
            "NAME",
            parse_kernel,
        ),
    ] = TUNED
    all_settings: Annotated[
        bool,
        Option("Every setting in every round, not only what a first look leaves: several times longer."),
    ] = False

    @property
    def chunks(self) -> tuple[int, ...]:
        return QUICK_CHUNKS if self.quick else FULL_CHUNKS


def memory_bytes(size: int) -> int:
    """What a runner needs for a matrix of ``size`` rows: 4 bytes an element, and some vectors."""
    return size * size * _BYTES_PER_ELEMENT + _VECTORS * size * _BYTES_PER_ELEMENT


def choose_sizes(
    request: LoopRequest, available_bytes: int | None
) -> tuple[tuple[int, ...], list[NotMeasured]]:
    """The sizes that fit the memory, and those that do not, which is an error for sizes that were asked for.

    Raises TautoError, with the memory asked for and the memory there, for an asked size that does not fit.
    """
    wanted = request.sizes or (QUICK_SIZES if request.quick else FULL_SIZES)
    limit = None if available_bytes is None else int(available_bytes * _MEMORY_PART)
    chosen = tuple(size for size in wanted if limit is None or memory_bytes(size) <= limit)
    largest = max(1, int(((limit or 0) / _BYTES_PER_ELEMENT) ** 0.5) - _VECTORS)
    too_large = [size for size in wanted if size not in chosen]
    if too_large and (request.sizes or not chosen):
        raise TautoError(
            f"a matrix of size {too_large[0]} needs {format_bytes(memory_bytes(too_large[0]))} of memory, "
            f"and {format_bytes(limit or 0)} may be used here (80 % of what is available)",
            f"Ask for sizes up to {largest}, or free memory",
        )
    left_out = [
        NotMeasured(
            what="a size",
            why=f"size {size} was left out: it needs {format_bytes(memory_bytes(size))}, "
            f"and {format_bytes(limit or 0)} may be used here",
        )
        for size in too_large
    ]
    return chosen, left_out


class Loop(Study[LoopRequest, LoopContext, LoopAnalysis]):
    """Measure a parallel loop (conjugate gradients) on this machine, and say what to use.

    Compares plain and tuned OpenMP on libgomp and libomp, oneTBB, std::execution, OpenBLAS and tautochrone,
    in shuffled rounds, on all cores, on the fast and on the slow ones. Writes every run as it ends:
    interrupt it when you like, start it again, and it goes on.

    \b
    Examples:
      tauto study loop --quick
      tauto study loop --quick --emulate 1:2,1:4      also with CPU 1 two and four times slower
      tauto study loop --sizes 2000,4000 --peers libgomp,tbb --rounds 20
      tauto study loop --placements all,fast,0-3 --output results/night
    """  # noqa: D301

    NAME = "loop"
    REQUEST = LoopRequest
    CONTEXT = LoopContext
    PEERS = PEERS
    ROWS = ROWS
    SETTINGS = "one worker pinned to each CPU, hot before it is timed"
    ANSWER = "solution_fnv1a"
    QUICK = Times(0.03, 0.05, 12, screening=Times(0.01, 0.02, 1))
    FULL = Times(0.05, 0.1, 15, screening=Times(0.03, 0.06, 2))
    ORDER = "latin"
    MEASURES_MACHINE_AGAIN = True
    sizes: tuple[int, ...]
    cells: list[StudyCell]

    def prepare(self) -> None:
        request = self.request
        allowed = [cpu.number for cpu in self.cpus]
        for name in request.placements or ():
            if name[:1].isdigit():
                check_cpus(parse_cpus(name), allowed, self.all_cpus, "--placements")
        if request.threads is not None and request.threads > len(allowed):
            raise TautoError(
                f"--threads {request.threads} is more than the {len(allowed)} CPUs that may be used here",
                f"Ask for {len(allowed)} or fewer",
            )
        self.sizes, left_out = choose_sizes(request, _available_bytes(self.machine))
        self.left_out += left_out

    @property
    def work(self) -> str:
        kernel = "" if self.request.kernel == TUNED else f", the {self.request.kernel} kernel"
        return f"sizes {', '.join(map(str, self.sizes))}{kernel}"

    def runs(self) -> list[Run]:
        request, times = self.request, self.times
        self.cells = []
        for state in self.all_states:
            placed = self.layout(state)
            compared = candidates(
                self.peers,
                placed,
                request.chunks,
                placements=request.placements,
                threads=request.threads,
                quick=request.quick,
            )
            self.cells += [
                StudyCell(size, state, placed, tuple(compared), request.kernel) for size in self.sizes
            ]
        return [
            Run(candidate, configuration(cell, candidate, times), estimated_run_seconds(cell.size, times))
            for cell in self.cells
            for candidate in cell.candidates
        ]

    def estimate(self, runs: Sequence[Run]) -> float:
        """Screening and final, with a guess at how many reach the final."""
        if self.request.all_settings:
            return super().estimate(runs)
        times = self.times
        shorter = times.screening or times
        seconds = 0.0
        for cell in self.cells:
            first = sum(1 for candidate in cell.candidates if is_screened(candidate))
            last = min(_FINALISTS_GUESS, len(cell.candidates))
            seconds += shorter.rounds * first * estimated_run_seconds(cell.size, shorter)
            seconds += times.rounds * last * estimated_run_seconds(cell.size, times)
        return seconds

    def parts(self, whole: Plan, runs: Sequence[Run], store: Store) -> Iterator[tuple[str, Plan]]:
        """State after state, so that the machine as it is has its answer first.

        Only settings of one state are compared with each other. In each: screen in shorter runs and fewer
        rounds, then measure the finalists in fresh rounds.
        """
        for number, state in enumerate(self.all_states, 1):
            cells = [cell for cell in self.cells if cell.state == state]
            slowed = state_suffix(state)
            if self.request.all_settings:
                chosen = [configuration(cell, one, self.times) for cell in cells for one in cell.candidates]
            else:
                yield f"screening{slowed}", self._screening(whole, cells)
                screened = store.rows(SCREENING)
                chosen = [finalist for cell in cells for finalist in finalists(cell, self.times, screened)]
            yield f"measuring{slowed}", replace(whole, configurations=chosen)
            if number < len(self.all_states):
                for sentence in verdict_sentences(_measured_in(state, store)):
                    self.services.say(sentence)

    def _screening(self, whole: Plan, cells: Sequence[StudyCell]) -> Plan:
        shorter = self.times.screening or self.times
        screened = [
            configuration(cell, candidate, shorter)
            for cell in cells
            for candidate in cell.candidates
            if is_screened(candidate)
        ]
        return replace(
            whole, configurations=screened, rounds=shorter.rounds, source=SCREENING, order="shuffled"
        )

    def least_seconds(self, settings: Mapping[str, Any], record: Mapping[str, Any]) -> float:
        """To read the matrix once."""
        read = 4.0 * settings["size"] ** 2
        return models.least_seconds(read, self.machine, "cache_bytes_per_second", len(settings["cpus"]))

    def is_exempt(self, row: Row) -> bool:
        """OpenBLAS sums in another order: the runner checks its answer by norms, its bits differ rightly."""
        return bool(row.config["runtime"] == "openblas")

    def illustrate(self, executor: StateExecutor, limit_seconds: float) -> None:
        """The load of each CPU, after all rounds, so that it disturbs none of them."""
        self.services.say("Watching the load of each CPU in some longer runs (some seconds)")
        samples, cost = sample_loads(collect(self.store.rows()), self.cells, executor, self.times)
        self.context.cpu_load, self.context.sampler_cpu_seconds = tuple(samples), cost

    @classmethod
    def analyse(cls, rows: Sequence[Row], machine: Mapping[str, Any], context: LoopContext) -> LoopAnalysis:
        return analyse(rows, machine, context)


def _available_bytes(machine: Mapping[str, Any]) -> int | None:
    """What a process may allocate: what is free, and no more than the container's limit."""
    limits = [machine.get(name) for name in ("available_memory_bytes", "memory_limit_bytes")]
    return min((int(limit) for limit in limits if limit is not None), default=None)


def _measured_in(state: State, store: Store) -> list[CellRuns]:
    wanted = {str(cpu): factor for cpu, factor in state.items()}
    return [cell for cell in collect(store.rows(None)) if dict(cell.emulated) == wanted]


def is_screened(candidate: Candidate) -> bool:
    """Those whose place is not given; and the serial loop, whose answer the others must give."""
    return not candidate.always_measured or candidate.peer == "serial"


def finalists(cell: StudyCell, times: Times, screened: Iterable[Row]) -> list[Configuration]:
    """What is measured in the rounds that are reported, of one cell, in the order given.

    Always: references, defaults and ours. Of the others each peer's fastest, and the `BEST_OF_ALL` fastest of
    all. What failed in the screening has no time and stays out; its error rows say why.
    """
    made = [(candidate, configuration(cell, candidate, times)) for candidate in cell.candidates]
    contenders = {
        one.config_id: candidate.peer
        for candidate, one in made
        if not candidate.always_measured and candidate.peer != "tautochrone"
    }
    chosen = best_of_each(contenders, screened, BEST_OF_ALL)
    return [one for candidate, one in made if candidate.always_measured or one.config_id in chosen]
