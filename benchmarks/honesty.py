"""How often identical programs are called different: ``python benchmarks/honesty.py``, or ``make honesty``.

Each trial measures one program against itself, as `tauto tune` (a variable that nothing reads), as a study
(two configurations in the rounds of one store) and as `tauto compare` (two stores, one after the other). Any
verdict word is false. Half of the trials run beside another program that comes and goes. Each trial is kept
in a file as it ends: a call goes on where an earlier one with the same file ended, until all are there.
"""

from __future__ import annotations

import io
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal

import msgspec

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks.run import main_of
from tautochrone.files import write_whole
from tautochrone.machine.probe import read_machine
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.measure import run_plan
from tautochrone.measuring.plan import Plan
from tautochrone.measuring.progress import SilentProgress
from tautochrone.measuring.subprocess_executor import ProgramExecutor
from tautochrone.options import Option
from tautochrone.results.compare import compare_results
from tautochrone.results.row import pair_rows
from tautochrone.results.store import Store
from tautochrone.tune.options import TuneRequest
from tautochrone.tune.services import Services
from tautochrone.tune.tuning import run_tune
from tautochrone.verdicts import (
    FASTER,
    NO_DIFFERENCE,
    NOT_MEASURED,
    SLOWER,
    VERDICT_CONFIDENCE,
    Comparison,
    compare,
)

WORDS = (FASTER, SLOWER)
SURROUNDINGS = ("alone", "beside")  # a program that comes and goes
LEAST_ROUNDS, MOST_ROUNDS = 8, 25
STEPS = (2_000, 20_000)  # of the shell's loop: 1 to 10 ms
TUNED_STEPS = 20_000  # tune wants 5 ms
TUNE_BUDGET_SECONDS = 1.5  # 10 to 20 rounds of four
LONGEST_PAUSE_SECONDS = 1.0  # between two sittings
NEIGHBOUR_SECONDS = 0.5  # mean length of its work and of its rests
_COUNTING = "i=0; while [ $i -lt {steps} ]; do i=$((i+1)); done"
_NEIGHBOUR = (
    "import os, random, time\n"
    "chance = random.Random({seed})\n"
    "parent = os.getppid()\n"
    "while os.getppid() == parent:\n"
    "    until = time.monotonic() + chance.expovariate(1 / {seconds})\n"
    "    while time.monotonic() < until: pass\n"
    "    time.sleep(chance.expovariate(1 / {seconds}))\n"
)


class Trials(msgspec.Struct, frozen=True):
    """Trials of one command in one surrounding; `untold`: without any verdict.

    `resolved`: the smallest difference that each of the others could have resolved (0.01 = 1 %). A command
    that resolves nothing is never wrong.
    """

    command: str
    beside: bool
    trials: int = 0
    false: int = 0
    untold: int = 0
    resolved: tuple[float, ...] = ()

    @property
    def upper_bound(self) -> float:
        """The largest rate that these trials leave possible, at 95 % (Clopper and Pearson)."""
        from scipy.special import betaincinv

        if self.false >= self.trials:
            return 1.0
        return float(betaincinv(self.false + 1, self.trials - self.false, 0.95))


@contextmanager
def neighbour(wanted: bool, seed: int) -> Iterator[None]:
    """Another program that computes now and then."""
    if not wanted:
        yield
        return
    script = _NEIGHBOUR.format(seed=seed, seconds=NEIGHBOUR_SECONDS)
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def counting(steps: int) -> list[str]:
    """A program that computes for a while and prints nothing."""
    return ["/bin/sh", "-c", _COUNTING.format(steps=steps)]


@dataclass
class Bench:
    """What all trials share. `machine`: the record that stores want."""

    folder: Path
    machine: dict[str, Any]
    chance: random.Random

    def measured(self, name: str, configurations: Sequence[Configuration], rounds: int, seed: int) -> Path:
        plan = Plan("honesty", configurations, rounds, seed=seed, machine=self.machine)
        folder = self.folder / name
        with (
            Store.open(folder, plan.study, plan.plan_id, plan.machine) as store,
            closing(ProgramExecutor(seed=seed)) as executor,
        ):
            run_plan(plan, store, executor)
        return folder

    def draw(self) -> tuple[int, int, int]:
        """Steps, rounds and seed of a trial."""
        steps = round(STEPS[0] * (STEPS[1] / STEPS[0]) ** self.chance.random())
        return steps, self.chance.randint(LEAST_ROUNDS, MOST_ROUNDS), self.chance.randrange(1 << 30)


def compare_trial(bench: Bench) -> Comparison:
    """Two sittings of one program."""
    steps, rounds, seed = bench.draw()
    one = Configuration("counting", counting(steps), settings={"steps": steps})
    folders = []
    for number, name in enumerate("ab"):
        if number:
            time.sleep(bench.chance.uniform(0.0, LONGEST_PAUSE_SECONDS))
        folders.append(bench.measured(name, [one], rounds, seed + number))
    (line,) = compare_results(*map(str, folders)).lines
    return line.comparison


def study_trial(bench: Bench) -> Comparison:
    """One program twice in each round of a store."""
    steps, rounds, seed = bench.draw()
    twins = [
        Configuration(name, counting(steps), settings={"name": name, "steps": steps})
        for name in ("one", "other")
    ]
    with Store.read(bench.measured("twins", twins, rounds, seed)) as store:
        pairs = pair_rows(store.rows(), twins[1].config_id, twins[0].config_id)
    return compare(pairs)


def tune_trial(bench: Bench) -> Comparison:
    """A search over a variable that nothing reads."""
    _, _, seed = bench.draw()
    request = TuneRequest(
        command=tuple(counting(TUNED_STEPS)),
        budget_seconds=TUNE_BUDGET_SECONDS,
        environment={"TAUTO_READ_BY_NOBODY": ("a", "b", "c")},
        excluded=("cpus",),
        output=bench.folder / "tune",
        seed=seed,
        report=False,
    )
    silent = Services(output=io.StringIO(), messages=io.StringIO(), progress=lambda _: SilentProgress())
    answer = run_tune(request, silent)
    ratios = [one.ratio for one in answer.candidates if one.ratio is not None and one.ratio.low is not None]
    if not ratios:
        return Comparison(None, None, None, VERDICT_CONFIDENCE, 0, NOT_MEASURED)
    nearest = min(ratios, key=lambda ratio: ratio.value or math.inf)
    verdict = FASTER if answer.settings else NO_DIFFERENCE
    return Comparison(
        nearest.value,
        nearest.low,
        nearest.high,
        VERDICT_CONFIDENCE,
        nearest.rounds,
        verdict,
        nearest.confidence,
    )


Trial = Callable[[Bench], Comparison]
TRIALS: dict[str, Trial] = {
    "tune": tune_trial,
    "study": study_trial,
    "compare": compare_trial,
}


def counted(before: Trials, found: Comparison) -> Trials:
    """The trials with one more."""
    resolution = found.resolution()
    return msgspec.structs.replace(
        before,
        trials=before.trials + 1,
        false=before.false + (found.verdict in WORDS),
        untold=before.untold + (resolution is None),
        resolved=before.resolved if resolution is None else (*before.resolved, round(resolution, 4)),
    )


def table(trials: Sequence[Trials]) -> str:
    """As Markdown."""
    lines = [
        "| command | beside it | trials | false words | no verdict | rate below (95 %) | median resolution |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for one in trials:
        beside = "a program that comes and goes" if one.beside else "nothing of ours"
        bound = f"{100 * one.upper_bound:.1f} %"
        resolution = f"{100 * median(one.resolved):.2g} %" if one.resolved else ""
        cells = (f"`{one.command}`", beside, one.trials, one.false, one.untold, bound, resolution)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, kw_only=True)
class HonestyRequest:
    """Measure identical programs against each other and count the words that call them different."""

    tune: Annotated[int, Option("Searches in each surrounding.")] = 500
    study: Annotated[int, Option("Comparisons in one store, each.")] = 500
    compare: Annotated[int, Option("Pairs of sittings, each.")] = 200
    only: Annotated[Literal["beside", "alone"] | None, Option("One surrounding in place of both.")] = None
    seconds: Annotated[float, Option("End after so long; the same call goes on from there.")] = math.inf
    seed: Annotated[int | None, Option("Of programs, rounds and pauses. Default: the time.")] = None
    output: Annotated[Path, Option("Where trials are kept and added to.", "FILE")] = Path(
        "build/honesty.json"
    )

    def run(self) -> int:
        ends = time.monotonic() + self.seconds
        seed = self.seed if self.seed is not None else time.time_ns() % 1_000_000
        known = {}
        if self.output.exists():
            known = {
                (one.command, one.beside): one
                for one in msgspec.json.decode(self.output.read_bytes(), type=list[Trials])
            }
        self.output.parent.mkdir(parents=True, exist_ok=True)
        machine = read_machine("none").to_dict()
        print(f"seed {seed}", flush=True)
        while time.monotonic() < ends and (left := self._left(known)):
            command, beside = left
            before = known.get((command, beside), Trials(command, beside))
            own = f"{seed} {command} {before.trials} {SURROUNDINGS[beside]}"
            with tempfile.TemporaryDirectory(prefix="tauto-honesty-") as folder:
                bench = Bench(Path(folder), machine, random.Random(own))
                with neighbour(beside, before.trials):
                    found = TRIALS[command](bench)
            known[command, beside] = counted(before, found)
            if found.verdict in WORDS:
                print(f"{own}: {found.verdict}, {found.low} to {found.high}", flush=True)
            write_whole(self.output, msgspec.json.encode(list(known.values())).decode() + "\n")
        made = table(list(known.values()))
        write_whole(self.output.with_suffix(".md"), made)
        print(made)
        return 0

    def _left(self, known: Mapping[tuple[str, bool], Trials]) -> tuple[str, bool] | None:
        """The command and the surrounding of the next trial: those that lack the largest part."""
        lacking = {}
        for command in TRIALS:
            for beside in (False, True):
                wanted = getattr(self, command) if self.only in (None, SURROUNDINGS[beside]) else 0
                made = known[command, beside].trials if (command, beside) in known else 0
                if made < wanted:
                    lacking[command, beside] = 1 - made / wanted
        return max(lacking, key=lacking.__getitem__, default=None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    return main_of("honesty", HonestyRequest, arguments)


if __name__ == "__main__":
    sys.exit(main())
