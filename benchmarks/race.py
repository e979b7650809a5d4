"""Loops drawn at random, ours with no settings against every peer's best: ``python benchmarks/race.py``.

A benchmark with fixed cells can be tuned to. Here kernel, iterations, their length, the pause before each
loop and what happened before the first one are drawn from wide ranges, from a seed that is printed.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated

import msgspec
from rich.console import Console
from rich.table import Table

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks.bodies.launches import WAITS, openmp_waits, program
from benchmarks.context import Budget, Context
from benchmarks.rounds import Bench, Interrupted, Way, best_way
from benchmarks.rows import Results
from benchmarks.run import context_of, main_of
from tautochrone import text
from tautochrone.errors import TautoError, explained
from tautochrone.machine.emulate import emulated
from tautochrone.measuring.configuration import Configuration, digest
from tautochrone.measuring.subprocess_executor import RunnerExecutor
from tautochrone.options import LARGEST_FACTOR, Option, parse_cpus
from tautochrone.results.row import seconds_of
from tautochrone.verdicts import compare

KERNELS = ("even", "triangle", "head", "random", "axpy", "rows", "mandelbrot", "dot", "tasks")
MEMORY_KERNELS = ("axpy", "dot")  # their iterations have no length to choose
CHUNKS = (1, 16, 256)
ROUNDS = 11
SECONDS_A_CELL = 8.0  # most cells; those with long pauses take up to two minutes
CHOOSING_SECONDS = 10.0  # the first round of all is run to its end, whatever it takes
MOST_SECONDS = 60.0  # of the judging rounds
REFINED = 4  # ways whose other waits are tried
TO_CHOOSE = ("--learn", "10")  # calls before the timed ones; 60 in the judging rounds
SPUN = 2000  # microseconds that ours spins at most
SURELY_SPUN = 100  # microseconds that every peer's default wait spins
LONG_PAUSE = 5000  # microseconds; a run is then as short as it can be
LOOP_SECONDS = (1e-6, 10e-3)  # of one loop, serially: from a launch to what every peer does well
QUICK = ("--warmup-seconds", "0.01", "--min-seconds", "0.02")
MOST_CELLS = 10_000


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One loop: `nanoseconds` of an iteration, in the mean; `gap` and `idle` in microseconds.

    A `neighbour` is another program that comes and goes on the last member's CPU.
    """

    kernel: str
    iterations: int
    nanoseconds: float
    gap: int = 0
    idle: int = 0
    other: bool = False
    neighbour: bool = False
    members: int = 2

    @property
    def text(self) -> str:
        """``kernel=even,iterations=32,nanoseconds=310,gap=0,idle=20000,other=0``: what ``--cell`` takes."""
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def words(self) -> list[str]:
        """As options of the programs."""
        ours = ("other", "neighbour", "members")
        words = [f"--{name}={value}" for name, value in self.values().items() if name not in ours]
        return [*words, *(["--other"] if self.other else [])]

    def values(self) -> dict[str, str]:
        fields = msgspec.structs.asdict(self) | {
            "other": int(self.other),
            "neighbour": int(self.neighbour),
        }
        return {name: value if isinstance(value, str) else f"{value:.10g}" for name, value in fields.items()}


class Outcome(msgspec.Struct, frozen=True):
    """A cell that was run: our time by the best peer's, and by the plain loop's."""

    made_with: str
    """The program, CPUs and machine that it was measured with: an outcome of others is not used again."""
    cell: Cell
    peer: str
    ratio: float
    low: float | None
    high: float | None
    to_plain: float
    plain_seconds: float
    first: float
    """Our very first call, by the learned one."""
    note: str
    twin: float | None = None
    """The same peer with the same setting once more, by itself: what the machine alone does to a ratio."""

    @property
    def sentence(self) -> str:
        """``0.970 [0.950, 0.990] of tbb, auto 1: ours 5.1 µs, peer 5.2 µs``."""
        bounds = f" [{self.low:.3f}, {self.high:.3f}]" if self.low and self.high else ""
        return f"{self.ratio:.3f}{bounds} of {self.peer}: {self.note}"


def drawn(seed: int, number: int, cpus: int = 2) -> Cell:
    """The cell of this number: the same for a seed and number of CPUs, whichever others are run."""
    draw = random.Random(f"{seed}/{number}")

    def log_uniform(least: float, most: float) -> float:
        return float(least * (most / least) ** draw.random())

    kernel = draw.choice(KERNELS)
    if kernel in MEMORY_KERNELS:
        return _around(draw, cpus, kernel, round(log_uniform(50, 4_000_000)), 1.0)
    loop = log_uniform(*LOOP_SECONDS)
    iterations = round(log_uniform(2, min(100_000, loop / 2e-9)))
    return _around(draw, cpus, kernel, iterations, float(f"{1e9 * loop / iterations:.3g}"))


def _around(draw: random.Random, cpus: int, kernel: str, iterations: int, nanoseconds: float) -> Cell:
    """A third after pauses or with another loop between, half after a silence, an eighth with a neighbour."""
    gap = round(10 ** draw.uniform(1, 5)) if draw.random() < 1 / 3 else 0
    idle = round(10 ** draw.uniform(3, 4.5)) if draw.random() < 1 / 2 else 0
    other, neighbour = draw.random() < 1 / 3, draw.random() < 1 / 8
    return Cell(kernel, iterations, nanoseconds, gap, idle, other, neighbour, draw.randint(2, cpus))


def parse_cell(text: str) -> Cell:
    """What `Cell.text` says. Raises TautoError for anything else."""
    given = dict(word.partition("=")[::2] for word in text.split(","))
    try:
        cell = msgspec.convert(given, Cell, strict=False)
    except msgspec.ValidationError:
        cell = None
    if (
        cell is None
        or cell.kernel not in KERNELS
        or cell.iterations < 1
        or min(cell.gap, cell.idle) < 0
        or cell.members < 2
        or not 0 < cell.nanoseconds < math.inf
    ):
        raise TautoError(f"{text!r} is not a cell", "Copy one from the table of an earlier race")
    return cell


def rivals(context: Context, cell: Cell, *more: str) -> list[Way]:
    """Every peer with each of its schedules, as far as it is here.

    After pauses that are longer than ours spins, the waits that spin longer than that are left out (libomp's
    default lasts 200 ms, libgomp's about 10): a core that is busy all the time is another price, which B14
    shows.
    """
    chunks = [chunk for chunk in CHUNKS if chunk == 1 or 2 * chunk <= cell.iterations]
    schedules = ("cyclic", "dynamic", "guided")
    ways = [("static", 1), *((schedule, chunk) for schedule in schedules for chunk in chunks)]
    words = [*cell.words(), *more]
    waits = WAITS if cell.gap <= SPUN else ("passive",)
    found = [
        replace(one, name=f"{one.name}, {schedule} {chunk}")
        for schedule, chunk in ways
        for one in openmp_waits(
            context,
            "race",
            *words,
            "--schedule",
            schedule,
            "--chunk",
            str(chunk),
            waits=waits,
            schedule=schedule,
            chunk=chunk,
        )
    ]
    if context.present(["tbb"]):
        partitioners = [("auto", 1), ("static", 1), ("affinity", 1), *(("simple", chunk) for chunk in chunks)]
        found += [
            program(
                context,
                f"tbb, {name} {chunk}",
                "tbb race",
                *words,
                "--schedule",
                name,
                "--chunk",
                str(chunk),
                library="tbb",
                schedule=name,
                chunk=chunk,
            )
            for name, chunk in partitioners
        ]
    if cell.gap <= SPUN and context.has_program("fork-union"):  # its threads never sleep
        found += [
            program(
                context,
                f"fork union, {schedule} {chunk}" + (", active wait" if wait == "active" else ""),
                "fork-union race",
                *words,
                "--schedule",
                schedule,
                "--chunk",
                str(chunk),
                "--wait",
                wait,
                library="fork-union",
                schedule=schedule,
                chunk=chunk,
                wait=wait,
            )
            for schedule, chunk in [("static", 1), *(("dynamic", chunk) for chunk in chunks)]
            for wait in WAITS
        ]
    return [_way(one) for one in found]


def _way(made: Configuration) -> Way:
    """Its relatives have another wait: the chunks are all tried at once."""
    said = made.settings
    kin = (str(said["library"]), str(said["schedule"]), str(said["chunk"]))
    wait = str(said.get("wait", "default"))
    return Way(kin, None, wait, made, replace(made, command=[*made.command, *TO_CHOOSE]))


def best_rival(bench: Bench, context: Context, cell: Cell, *more: str) -> Configuration | None:
    """The fastest of all: first one wait of each, then the other waits of those near the best.

    All waits at once where the default one may end within the pause.
    """
    every = rivals(context, cell, *more)
    one_each = {way.kin: way for way in reversed(every)}  # of its waits the first
    tried = list(one_each.values()) if cell.gap <= SURELY_SPUN else every
    return best_way(bench, every, tried, REFINED, Budget(context.clock, CHOOSING_SECONDS))


@contextmanager
def neighbour(cpu: int) -> Iterator[None]:
    """Another program that runs and rests on this CPU, 1 to 20 ms each, no longer than this process."""
    program = (
        "import os, random, sys, time\n"
        "parent = os.getppid()\n"
        "os.sched_setaffinity(0, {int(sys.argv[1])})\n"
        "while os.getppid() == parent:\n"
        "    end = time.monotonic() + random.uniform(1e-3, 20e-3)\n"
        "    while time.monotonic() < end: pass\n"
        "    time.sleep(random.uniform(1e-3, 20e-3))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(cpu)]) as beside:
        try:
            yield
        finally:
            beside.kill()


def raced(context: Context, cell: Cell, number: str, own: str) -> Outcome | str:
    """The outcome of a cell, or why there is none. `own` is `made_with(context)`."""
    words = cell.words()
    context = replace(context, cpus=context.cpus[: cell.members])
    times = QUICK if cell.gap < LONG_PAUSE else ("--warmup-seconds", "0", "--min-seconds", "0.01")
    ours = program(context, "tautochrone", "tautochrone race", *words, *times, library="tautochrone")
    plain = program(context, "plain loop", "tautochrone race --plain", *words, *times, library="none")
    with ExitStack() as held:
        bench = held.enter_context(Bench(context, number))
        if cell.neighbour:
            held.enter_context(neighbour(context.cpus[-1]))
        best = best_rival(bench, context, cell, *times)
        if best is None:
            return bench.errors() or "no peer is here"
        twin = replace(best, name=f"{best.name}, again", settings={**best.settings, "twin": True})
        rows = bench.run([ours, best, plain, twin], ROUNDS, MOST_SECONDS)
        against, alone = compare(bench.pairs(ours, best)), compare(bench.pairs(ours, plain))
        if against.ratio is None or alone.ratio is None:
            return bench.errors() or "no round ended"
        same = compare(bench.pairs(twin, best)).ratio
        first = median(row.detail["first_seconds"] / seconds_of(row) for row in rows if row.name == ours.name)
        note = bench.times(ours, best)
        bounds = (against.low, against.high)
        plain_seconds = median(seconds_of(row) for row in rows if row.name == plain.name)
        return Outcome(
            own, cell, best.name, against.ratio, *bounds, alone.ratio, plain_seconds, first, note, same
        )


def made_with(context: Context) -> str:
    """Twelve digits of the program of ours, the CPUs and the machine."""
    program = hashlib.sha256(Path(context.program("tautochrone")).read_bytes()).hexdigest()
    return digest([program, context.cpus_text, context.machine.get("cpu_model")])


def race_cpus(text: str) -> tuple[int, ...]:
    """Two CPUs or more that this process may use. Raises TautoError otherwise."""
    cpus, allowed = tuple(parse_cpus(text)), os.sched_getaffinity(0)
    if len(cpus) < 2 or not set(cpus) <= allowed:
        raise TautoError(
            f"--cpus {text} was asked for, and a race needs two CPUs or more that it may use "
            f"({', '.join(map(str, sorted(allowed)))})",
            "Name some of them, such as 0,1",
        )
    return cpus


# -- what is kept and printed --


def read(path: Path) -> list[Outcome]:
    """What an earlier race left; a line that a kill cut off is not there."""
    if not path.exists():
        return []
    outcomes = []
    with explained(f"{path} cannot be read", "Name another file with --output, or remove it"):
        for line in path.read_bytes().splitlines():
            try:
                outcomes.append(msgspec.json.decode(line, type=Outcome))
            except msgspec.DecodeError:
                continue
    return outcomes


def write(path: Path, outcome: Outcome) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(max(0, file.tell() - 1))
        cut_off = file.read() not in (b"", b"\n")  # by a kill
        file.write(b"\n" * cut_off + msgspec.json.encode(outcome) + b"\n")


def spread(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Median, 90th and 99th percentile, and the largest."""
    ordered = sorted(values)
    cuts = quantiles(ordered, n=100, method="inclusive") if len(ordered) > 1 else ordered * 99
    return median(ordered), cuts[89], cuts[98], ordered[-1]


def report(every: Sequence[Outcome], console: Console, settings: str = "") -> None:
    """The distribution of the ratios, and the ten worst with what repeats them.

    Cells with too few rounds for an interval are named by their number and left out.
    """
    outcomes = [one for one in every if one.low is not None]
    if len(outcomes) < len(every):
        left_out = text.count(len(every) - len(outcomes), "cell")
        console.print(f"Not counted, for fewer than 8 rounds: {left_out}")
    if not outcomes:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in (f"{text.count(len(outcomes), 'cell')}, our time by", "median", "90 %", "99 %", "worst"):
        table.add_column(heading, no_wrap=True)
    beside = [one for one in outcomes if one.cell.neighbour]
    paused = [one for one in outcomes if one.cell.gap and not one.cell.neighbour]
    hot = [one for one in outcomes if not one.cell.gap and not one.cell.neighbour]
    for name, values in (
        ("the best peer's, with its best setting", [one.ratio for one in outcomes]),
        *_split("in {} without pauses", hot),
        *_split("in {} after pauses", paused),
        *_split("in {} beside another program", beside),
        ("the plain loop's, on one core, without 40 ns", [_to_plain(one) for one in outcomes]),
        ("our own, for the very first call", [one.first for one in outcomes]),
    ):
        if values:
            table.add_row(name, *(f"{value:.3f}" for value in spread(values)))
    console.print(table)
    for against, figure in (("a peer", _to_peer), ("the plain loop", _to_plain)):
        console.print(f"\nThe ten worst against {against}:")
        for one in sorted(outcomes, key=figure, reverse=True)[:10]:
            console.print(f"  {figure(one):.3f}: {one.sentence}", highlight=False, markup=False)
            again = f"    make race {settings}CELL={one.cell.text}"
            console.print(again, highlight=False, markup=False, soft_wrap=True)


def _split(name: str, outcomes: Sequence[Outcome]) -> list[tuple[str, list[float]]]:
    """A row of these cells, and one of the peer by itself: what the machine alone does there."""
    cells = name.format(text.count(len(outcomes), "cell"))
    twins = [one.twin for one in outcomes if one.twin]
    return [
        (f"  {cells}", [one.ratio for one in outcomes]),
        ("    there the peer's by its own, again", twins),
    ]


def _to_peer(one: Outcome) -> float:
    return one.ratio


def _to_plain(one: Outcome) -> float:
    """Without the 40 ns that a call may take to find out that it should not fork."""
    return one.to_plain - 40e-9 / one.plain_seconds


@dataclass(frozen=True)
class RaceRequest:
    """Run loops drawn at random, ours with no settings against every peer with each of its settings."""

    seed: Annotated[
        int | None,
        Option("Which cells are drawn; the same goes on where it stopped. Default: others."),
    ] = None
    cells: Annotated[int, Option("How many; most take about 8 seconds.")] = 40
    cell: Annotated[str | None, Option("Only this one, as the table prints it.")] = None
    emulate: Annotated[float, Option("Make the second CPU this many times slower.")] = 1.0
    output: Annotated[
        Path | None, Option("Where finished cells are kept. Default: build/race-SEED.json.")
    ] = None
    cpus: Annotated[str, Option("The CPUs to pin to, two or more: a cell has 2 to all of them.")] = "0,1"

    def run(self) -> int:
        """Race, keep each cell, print the distribution; 0."""
        if not 1 <= self.cells <= MOST_CELLS:
            raise TautoError(f"{self.cells} cells were asked for", f"Ask for 1 to {MOST_CELLS}")
        if not 1 <= self.emulate <= LARGEST_FACTOR:
            raise TautoError(
                f"a CPU cannot be made {self.emulate:g} times slower", f"Ask for 1 to {LARGEST_FACTOR:g}"
            )
        seed = random.SystemRandom().randrange(1_000_000) if self.seed is None else self.seed
        only = parse_cell(self.cell) if self.cell else None
        cpus = race_cpus(self.cpus)
        cells = [only] if only else [drawn(seed, number, len(cpus)) for number in range(self.cells)]
        if only and only.members > len(cpus):
            raise TautoError(
                f"the cell has {only.members} members, and --cpus {self.cpus} has {len(cpus)} CPUs",
                "Name as many CPUs as members",
            )
        slow = "" if self.emulate == 1 else f"-{self.emulate:g}"
        output = self.output or Path(f"build/race-{seed}{slow}.json")
        with RunnerExecutor(seed=seed) as executor, ExitStack() as held:
            context = context_of(executor, Results(None), output.parent / "race", cpus, seed)
            own = made_with(context)
            known = {one.cell: one for one in ([] if only else read(output)) if one.made_with == own}
            todo = [cell for cell in cells if cell not in known]
            minutes = len(todo) * SECONDS_A_CELL / 60
            how_many = text.count(len(todo), "cell")
            context.say(f"seed {seed}: {how_many}, about {minutes:.0f} minutes, more with long pauses")
            if slow:
                held.enter_context(emulated({cpus[1]: self.emulate}))
            for number, cell in enumerate(todo, start=1):
                try:
                    outcome = raced(context, cell, "one" if only else str(cells.index(cell)), own)
                except Interrupted:
                    raise KeyboardInterrupt from None
                if isinstance(outcome, str):
                    context.say(f"{cell.text}: {outcome}")
                    continue
                context.say(f"{number} of {len(todo)}: {outcome.sentence}; {cell.text}")
                known[cell] = outcome
                if not only:
                    write(output, outcome)
        outcomes = [known[cell] for cell in cells if cell in known]
        if not outcomes:
            raise TautoError("no cell could be run", "See the reasons above")
        settings = f"EMULATE={self.emulate:g} " if slow else ""
        report(outcomes, Console(width=None if sys.stdout.isatty() else 150), settings)
        if not only:
            print(f"\nCells: {output}")
        return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    return main_of("race", RaceRequest, arguments)


if __name__ == "__main__":
    sys.exit(main())
