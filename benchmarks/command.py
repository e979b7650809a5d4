"""The command line of the suite: ``python benchmarks/run.py --only B1,B4``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from benchmarks import suite
from benchmarks.context import Context
from benchmarks.entry import Results, benchmark_of
from benchmarks.table import render
from tautochrone.clock import SystemClock
from tautochrone.errors import TautoError
from tautochrone.machine import read_machine
from tautochrone.progress import SilentProgress, TerminalProgress
from tautochrone.studies.options import parse_cpus
from tautochrone.subprocess_executor import SubprocessExecutor

BAD_INPUT, INTERRUPTED = 2, 130
SECONDS_PER_ID = 116.0  # two minutes with what comes before and after

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def bench(
    only: Annotated[str | None, typer.Option(help="Ids, such as B1,B4. Default: all.")] = None,
    output: Annotated[Path, typer.Option(help="The JSON to write; other ids' rows in it stay.")] = Path(
        "build/bench.json"
    ),
    listed: Annotated[bool, typer.Option("--list", help="Say what there is, and exit.")] = False,
    seconds_per_id: Annotated[float, typer.Option(help="Time for one id, in whole rounds.")] = SECONDS_PER_ID,
    cells: Annotated[
        str | None, typer.Option(help="Only these of B3 (500,1000), B4 and B5 (1000:4).")
    ] = None,
    copy_to: Annotated[
        Path | None, typer.Option(help="Also a dated copy with the machine's record in this folder.")
    ] = None,
    cpus: Annotated[str, typer.Option(help="The two CPUs to pin to.")] = "0,1",
    seed: Annotated[int, typer.Option(help="Of the order within rounds.")] = 1,
    verbose: Annotated[bool, typer.Option(help="Show every configuration of a cell, by time.")] = False,
) -> None:
    """Hold the runtime against its peers: print the table, write it as JSON."""
    if listed:
        for one in suite.BENCHMARKS:
            print(f"{one.id}  {one.what}; target {one.target_text}")
        return
    chosen = suite.chosen(only)
    if seconds_per_id <= 0:
        raise TautoError(f"--seconds-per-id {seconds_per_id:g} leaves no time", "Give seconds above 0")
    console = Console(stderr=True)
    draws = console.is_terminal and not console.is_dumb_terminal  # elsewhere a line for each row will do
    results = Results(output)
    with SubprocessExecutor(seed=seed) as executor:
        context = Context(
            clock=SystemClock(),
            executor=executor,
            results=results,
            folder=output.parent / "bench",
            machine=msgspec.to_builtins(read_machine()),
            seconds_per_id=seconds_per_id,
            cpus=_two_cpus(cpus),
            cells=None if cells is None else parse_cells(cells),
            verbose=verbose,
            seed=seed,
            say=lambda text: print(text, file=sys.stderr, flush=True),
            progress=lambda title: TerminalProgress(title, console) if draws else SilentProgress(),
        )
        finished = suite.run(chosen, context, executor.close)
    ids = {one.id for one in chosen}
    rows = [row for row in results.rows() if benchmark_of(row["id"]) in ids]
    width = None if sys.stdout.isatty() else 150
    Console(width=width).print(render(rows, cells=verbose or cells is not None))
    print(f"\nRows: {output}")
    if copy_to is not None:
        print(f"Copy: {results.copy(copy_to, context.machine, context.clock.now())}")
    if not finished:
        raise KeyboardInterrupt


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


def _two_cpus(text: str) -> tuple[int, int]:
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
    try:
        app(args=list(sys.argv[1:] if arguments is None else arguments), standalone_mode=True)
    except TautoError as error:
        print(f"tauto: error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted: what was measured is written", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
