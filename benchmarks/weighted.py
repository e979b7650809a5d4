"""B27: a static OpenMP loop that GCC built, on unequal cores, with what `tauto tune` finds by itself.

The search runs in a process of its own under `tauto-emulate`. Then the program as it is, the program with the
answer, and the program alone on each of the two CPUs run in fresh rounds; W/Σs of a round is
1 / (1/t_fast + 1/t_slow).
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.context import Context
from benchmarks.entry import Entry, not_measured, of_comparison, worst
from tautochrone.configuration import Configuration
from tautochrone.emulate import available, emulated, wrap
from tautochrone.statistics import compare
from tautochrone.subprocess_executor import SubprocessExecutor
from tautochrone.tune.applying import applied

BOUND_TARGET = 1 / 0.9
DEFAULT_TARGET = 1 / 1.8
FACTOR = 4.0
_ROUNDS = 16
_RUN_SECONDS = 0.25
_SOURCE = Path(__file__).resolve().parents[1] / "tests" / "python" / "programs" / "static_loop.c"
_WHAT = "a static OpenMP loop on libgomp, core 1 slowed by 4, with what tune finds"


@dataclass(frozen=True)
class _Found:
    """The search's answer."""

    settings: Mapping[str, str]
    sentence: str
    runs: int


def unequal_cores(context: Context) -> list[Entry]:
    """B27."""
    budget = context.budget()
    possible, why = available()
    compiler = shutil.which("gcc")
    if not possible or compiler is None:
        return [context.add(not_measured("B27", _WHAT, "W/Σs", BOUND_TARGET, why or "gcc is not here"))]
    folder = context.folder / "B27"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "static_loop"
    subprocess.run([compiler, "-O2", "-fopenmp", str(_SOURCE), "-o", str(program)], check=True)
    command = [str(program), "20", str(_work(program))]
    slow = {context.cpus[1]: FACTOR}
    found = _search(command, slow, folder, 0.6 * budget.left)
    rounds = _fresh_rounds(command, found, context, slow)
    bound = compare([(one["tuned"], 1 / (1 / one["fast"] + 1 / one["slow"])) for one in rounds])
    default = compare([(one["tuned"], one["default"]) for one in rounds])
    note = f"{found.sentence} ({found.settings})"
    cells = [
        context.add(of_comparison("B27/bound", _WHAT, "W/Σs", bound, BOUND_TARGET, cell="bound", note=note)),
        context.add(
            of_comparison(
                "B27/default", _WHAT, "as it is", default, DEFAULT_TARGET, cell="default", note=note
            )
        ),
    ]
    return [context.add(worst("B27", _WHAT, cells, BOUND_TARGET)), *cells]


def _work(program: Path) -> int:
    """Steps that make a run on one CPU last long enough for weighing."""
    begun = time.perf_counter()
    subprocess.run(
        [str(program), "1", "20000"], env={"OMP_NUM_THREADS": "1"}, check=True, capture_output=True
    )
    return max(100, round(20000 * _RUN_SECONDS / 20 / (time.perf_counter() - begun)))


def _search(command: list[str], slow: Mapping[int, float], folder: Path, seconds: float) -> _Found:
    words = [sys.executable, "-m", "tautochrone", "tune", "--fresh", "--json", "--no-report"]
    words += ["--budget", f"{max(10, round(seconds))}s", "--output", str(folder / "tune"), "--", *command]
    done = subprocess.run(wrap(words, slow), capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    return _Found(answer["settings"], answer["verdict_sentences"][0], answer["runs"])


def _fresh_rounds(
    command: list[str], found: _Found, context: Context, slow: Mapping[int, float]
) -> list[dict[str, float]]:
    fast_cpu, slow_cpu = context.cpus
    tuned = applied(command, (), found.settings)
    alone = {"OMP_NUM_THREADS": "1"}
    candidates = [
        Configuration("default", command, {}, {"name": "default"}),
        Configuration("tuned", tuned.command, tuned.environment, {"name": "tuned"}, start=tuned.start),
        Configuration("fast", command, alone, {"name": "fast"}, start={"cpus": [fast_cpu]}),
        Configuration("slow", command, alone, {"name": "slow"}, start={"cpus": [slow_cpu]}),
    ]
    chance = random.Random(context.seed)
    rounds = []
    with emulated(slow) as state, SubprocessExecutor(reads="elapsed") as executor:
        for _ in range(_ROUNDS):
            order = list(candidates)
            chance.shuffle(order)
            seconds = {one.name: executor.run(one, 60.0).seconds for one in order}
            good = {name: value for name, value in seconds.items() if value is not None}
            if len(good) == len(candidates):
                rounds.append(good)
        state.report()
    return rounds
