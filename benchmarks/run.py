"""The benchmark suite, from any folder: ``python benchmarks/run.py --only B1,B4``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec
from rich.console import Console

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks import suite
from benchmarks.bodies import collectives, launches, loops, metering, nbody, tasks, tuning
from benchmarks.context import Context
from benchmarks.load import LoadWatch, sentence
from benchmarks.measurement import Measurement
from benchmarks.rounds import Interrupted
from benchmarks.rows import Entry, Results, benchmark_of, joined, render
from benchmarks.suite import Benchmark
from tautochrone.cli.commands import command
from tautochrone.errors import TautoError
from tautochrone.machine.probe import read_machine
from tautochrone.measuring.clock import SystemClock
from tautochrone.measuring.executor import Executor
from tautochrone.measuring.progress import SilentProgress, TerminalProgress
from tautochrone.measuring.subprocess_executor import RunnerExecutor
from tautochrone.options import Option, parse_cpus

BAD_INPUT, INTERRUPTED = 2, 130
SECONDS_PER_ID = 116.0  # two minutes with what comes before and after
BODIES = {
    "collectives": collectives,
    "launches": launches,
    "loops": loops,
    "metering": metering,
    "nbody": nbody,
    "tasks": tasks,
    "tuning": tuning,
}


def body_of(benchmark: Benchmark) -> Callable[..., None]:
    """The function that measures it."""
    module, _, name = benchmark.body.partition(".")
    body: Callable[..., None] = getattr(BODIES[module], name)
    return body


def measured(benchmark: Benchmark, context: Context) -> list[Entry]:
    """The rows of one benchmark, its own first. What cannot be measured is a row with the reason."""
    measurement = Measurement(context, benchmark)
    try:
        body_of(benchmark)(measurement, **benchmark.parameters)
    except TautoError as error:
        measurement = Measurement(context, benchmark)
        measurement.row("", None, note=str(error))
    return measurement.concluded()


def measure(benchmarks: Sequence[Benchmark], context: Context, close_runs: Callable[[], None]) -> bool:
    """Measure one benchmark after the other; False when it was interrupted.

    `close_runs` ends the executor's helper process, so that its CPU time is known as ours.
    """
    for number, benchmark in enumerate(benchmarks, start=1):
        title = f"{benchmark.id} ({number} of {len(benchmarks)}): {benchmark.title}"
        context.say(f"{title}; target {benchmark.target_text}")
        context.results.begin(benchmark.id)
        begun = context.clock.monotonic()
        watch = LoadWatch(begun)
        try:
            rows = measured(benchmark, context)
        except (Interrupted, KeyboardInterrupt):
            context.results.write()
            return False
        finally:
            close_runs()
        load = watch.end(context.clock.monotonic())
        loaded = sentence(load)
        own, *cells = (replace(row, load=load) for row in rows)
        own = replace(own, note=joined(own.note, loaded))
        context.results.replace(benchmark.id, [own, *cells])
        verdict = {True: "met", False: "NOT met", None: "not judged"}[own.met]
        seconds = context.clock.monotonic() - begun
        context.say(joined(f"{benchmark.id}: {verdict} in {seconds:.0f} s", loaded))
    return True


@dataclass(frozen=True)
class BenchRequest:
    """Hold the runtime against its peers: print the table, write it as JSON."""

    only: Annotated[str | None, Option("Ids, such as B1,B4. Default: all.")] = None
    output: Annotated[Path, Option("The JSON to write; other ids' rows in it stay.")] = Path(
        "build/bench.json"
    )
    listed: Annotated[bool, Option("List the benchmarks, and exit.", flag="--list")] = False
    seconds_per_id: Annotated[float, Option("Time for one id, in whole rounds.")] = SECONDS_PER_ID
    cells: Annotated[str | None, Option("Only these of B3 (500,1000), B4 and B5 (1000:4).")] = None
    copy_to: Annotated[Path | None, Option("Also a dated copy with the machine's record in this folder.")] = (
        None
    )
    cpus: Annotated[str, Option("The two CPUs to pin to.")] = "0,1"
    seed: Annotated[int, Option("Of the order within rounds.")] = 1
    verbose: Annotated[bool, Option("Show every configuration of a cell, by time.")] = False

    def run(self) -> int:
        """Measure what was asked for, print the table, write it as JSON; 0."""
        if self.listed:
            for benchmark in suite.chosen(None):
                print(f"{benchmark.id}  {benchmark.title}; target {benchmark.target_text}")
            return 0
        chosen = suite.chosen(self.only)
        if self.seconds_per_id <= 0:
            raise TautoError(
                f"--seconds-per-id {self.seconds_per_id:g} leaves no time", "Give seconds above 0"
            )
        results = Results(self.output)
        with RunnerExecutor(seed=self.seed) as executor:
            context = replace(
                context_of(executor, results, self.output.parent / "bench", two_cpus(self.cpus), self.seed),
                seconds_per_id=self.seconds_per_id,
                cells=None if self.cells is None else parse_cells(self.cells),
                verbose=self.verbose,
            )
            finished = measure(chosen, context, executor.close)
        ids = {benchmark.id for benchmark in chosen}
        rows = [row for row in results.rows() if benchmark_of(row["id"]) in ids]
        width = None if sys.stdout.isatty() else 150
        Console(width=width).print(render(rows, cells=self.verbose or self.cells is not None))
        print(f"\nRows: {self.output}")
        if self.copy_to is not None:
            print(f"Copy: {results.copy(self.copy_to, context.machine, context.clock.now())}")
        if not finished:
            raise KeyboardInterrupt
        return 0


def context_of(
    executor: Executor, results: Results, folder: Path, cpus: tuple[int, ...], seed: int
) -> Context:
    """This machine, its peers, and a terminal that is told of progress."""
    console = Console(stderr=True)
    # Where no bar can be drawn, a line for each row is enough.
    draws = console.is_terminal and not console.is_dumb_terminal
    return Context(
        clock=SystemClock(),
        executor=executor,
        results=results,
        folder=folder,
        machine=msgspec.to_builtins(read_machine()),
        seconds_per_id=SECONDS_PER_ID,
        cpus=cpus,
        seed=seed,
        say=lambda text: print(text, file=sys.stderr, flush=True),
        progress=lambda title: TerminalProgress(title, console) if draws else SilentProgress(),
    )


def parse_cells(text: str) -> list[tuple[int, float]]:
    """``"1000:4,500"`` → [(1000, 4.0), (500, 1.0)]. Raises TautoError for what is no cell."""
    found = []
    for word in text.split(","):
        size, _, factor = word.strip().partition(":")
        try:
            cell = (int(size), float(factor or 1))
        except ValueError:
            cell = (0, 0.0)
        if cell[0] < 1 or not 1 <= cell[1] <= 32:
            raise TautoError(f"{word!r} is not a cell", "Write SIZE or SIZE:FACTOR, such as 1000:4")
        found.append(cell)
    return found


def two_cpus(text: str) -> tuple[int, int]:
    cpus = parse_cpus(text)
    allowed = os.sched_getaffinity(0)
    if len(cpus) != 2 or not set(cpus) <= allowed:
        raise TautoError(
            f"--cpus {text} was asked for, and the suite needs two CPUs that it may use "
            f"({', '.join(map(str, sorted(allowed)))})",
            "Name two of them, such as 0,1",
        )
    return cpus[0], cpus[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    return main_of("bench", BenchRequest, arguments)


def main_of(name: str, request: type[Any], arguments: Sequence[str] | None) -> int:
    """The exit status of a command of this folder; without arguments those of the process."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = command(name, request).main(words, name, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (TautoError, click.ClickException) as error:
        said = error.format_message() if isinstance(error, click.ClickException) else str(error)
        print(f"tauto: error: {said}", file=sys.stderr)
        return BAD_INPUT
    except (KeyboardInterrupt, click.Abort):
        print("interrupted: what was measured is written", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
