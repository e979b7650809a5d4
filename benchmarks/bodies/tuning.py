"""B27: a static OpenMP loop that GCC built, on unequal cores, with what `tauto tune` finds by itself.

The search runs in a process of its own under `tauto-emulate`. Then the program as it is, the program with the
answer, and the program alone on each of the two CPUs run in fresh rounds; W/Σs of a round is
1 / (1/t_fast + 1/t_slow).

A loop takes 6 ms on the fast CPU. In loops of 12 ms and more the fast CPU's thread gives up spinning and
sleeps (libgomp spins for about 5 ms), and Linux then moves the other thread off the emulated CPU, where it
waits for the thief. The program as it is would not be the static loop that waits for a slow core: on a core
that is slow by itself the thread runs, and stays.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.context import Context
from benchmarks.entry import Entry, farthest, joined, not_measured, of_comparison
from benchmarks.loops import bound_pairs
from tautochrone.configuration import Configuration
from tautochrone.emulate import available, emulated, wrap
from tautochrone.errors import TautoError
from tautochrone.statistics import compare
from tautochrone.subprocess_executor import SubprocessExecutor
from tautochrone.tune.applying import Applied, applied

BOUND_TARGET = 1 / 0.9
DEFAULT_TARGET = 1 / 1.8
FACTOR = 4.0
_ROUNDS = 32
_RUN_SECONDS = 0.125
_LOOPS = 20
_SOURCE = Path(__file__).resolve().parents[1] / "tests" / "python" / "programs" / "static_loop.c"
_WHAT = "a static OpenMP loop on libgomp, core 1 slowed by 4, with what tune finds"


@dataclass(frozen=True)
class Answer:
    """What the search found."""

    settings: Mapping[str, str]
    sentence: str


def unequal_cores(context: Context) -> list[Entry]:
    """B27."""
    budget = context.budget()
    possible, why = available()
    compiler = shutil.which("gcc")
    if not possible or compiler is None:
        return [context.add(not_measured("B27", _WHAT, "W/Σs", BOUND_TARGET, why or "gcc is not here"))]
    folder = context.folder / "B27-search"
    folder.mkdir(parents=True, exist_ok=True)
    command = built(compiler, folder)
    slow = {context.cpus[1]: FACTOR}
    answer = searched(command, slow, context.cpus, folder, 0.4 * budget.left)
    default, tuned, *alone = _configurations(command, answer, context.cpus, slow)
    with (
        emulated(slow),
        SubprocessExecutor(reads="elapsed", seed=context.seed) as executor,
        replace(context, executor=executor).bench("B27") as bench,
    ):
        rows = bench.run([default, tuned, *alone], _ROUNDS, budget.left)
        bound = compare(bound_pairs(rows, tuned, alone))
        by_default = compare(bench.pairs(tuned, default))
        note = joined(f"{answer.sentence} ({dict(answer.settings)})", *bench.errors())
    cells = [
        of_comparison("B27/bound", _WHAT, "W/Σs", bound, BOUND_TARGET, cell="bound", note=note),
        of_comparison(
            "B27/default", _WHAT, "as it is", by_default, DEFAULT_TARGET, cell="default", note=note
        ),
    ]
    return [context.add(one) for one in (farthest("B27", _WHAT, cells), *cells)]


def built(compiler: str, folder: Path) -> list[str]:
    """The program, and as many steps as make a run on one CPU last long enough for weighing."""
    program = folder / "static_loop"
    subprocess.run([compiler, "-O2", "-fopenmp", str(_SOURCE), "-o", str(program)], check=True)
    begun = time.perf_counter()
    subprocess.run(
        [str(program), "1", "20000"], env={"OMP_NUM_THREADS": "1"}, check=True, capture_output=True
    )
    steps = max(100, round(20000 * _RUN_SECONDS / _LOOPS / (time.perf_counter() - begun)))
    return [str(program), str(_LOOPS), str(steps)]


def searched(
    command: Sequence[str], slow: Mapping[int, float], cpus: Sequence[int], folder: Path, seconds: float
) -> Answer:
    """What `tauto tune` finds on these CPUs while some are slow. TautoError where it finds nothing out."""
    tauto = (
        f"import os; os.sched_setaffinity(0, {list(cpus)!r}); "
        "from tautochrone.start import main; raise SystemExit(main())"
    )
    words = [sys.executable, "-c", tauto, "tune", "--fresh", "--json", "--no-report"]
    words += ["--budget", f"{max(10, round(seconds))}s", "--output", str(folder / "tune"), "--", *command]
    done = subprocess.run(wrap(words, slow), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise TautoError(f"tauto tune failed: {said[-1] if said else ''}", f"Try it alone on {command[0]}")
    answer = json.loads(done.stdout)
    return Answer(answer["settings"], answer["verdict_sentences"][0])


def _configurations(
    command: Sequence[str], answer: Answer, cpus: Sequence[int], slow: Mapping[int, float]
) -> list[Configuration]:
    """As it is and tuned, both on all of these CPUs; then one thread on each CPU."""
    emulated_as = {str(cpu): factor for cpu, factor in slow.items()}

    def made(name: str, one: Applied) -> Configuration:
        settings = {"name": name, "emulated": emulated_as}
        return Configuration(name, one.command, one.environment, settings, "B27", start=one.start)

    words = tuple(command)
    everywhere = {"cpus": list(cpus)}
    tuned = applied(words, (), answer.settings)
    return [
        made("default", Applied(words, {}, everywhere)),
        made("tuned", replace(tuned, start={**everywhere, **tuned.start})),
        *(made(f"CPU {cpu}", Applied(words, {"OMP_NUM_THREADS": "1"}, {"cpus": [cpu]})) for cpu in cpus),
    ]
