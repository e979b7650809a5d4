"""B26, B27: what `tauto run` adds to a command, and what `tauto tune` finds for a static OpenMP loop.

B27: the search runs in a process of its own under `tauto-emulate`. Then the program with no settings, the
program with the answer, and the program alone on each of the two CPUs run in fresh rounds; W/Σs of a round is
1 / (1/t_fast + 1/t_slow).

A loop takes 6 ms on the fast CPU. In loops of 12 ms and more the fast CPU's thread gives up spinning and
sleeps (libgomp spins for about 5 ms), and Linux then moves the other thread off the emulated CPU, where it
waits for the thread that makes that CPU slow. On a core that is slow by itself a thread stays and runs; the
program would no longer be a static loop that waits for a slow core.
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

from benchmarks.bodies.metering import ROUNDS, busy_command
from benchmarks.context import Context
from benchmarks.measurement import Measurement
from benchmarks.rounds import bound_pairs, work_over_speeds
from benchmarks.rows import joined
from tautochrone.errors import TautoError
from tautochrone.machine.emulate import available, emulated, wrap
from tautochrone.machine.runners import COMMAND, find
from tautochrone.measuring.configuration import Configuration
from tautochrone.measuring.subprocess_executor import ProgramExecutor
from tautochrone.tune.applying import PROFILE_SCHEMA, Applied, applied
from tautochrone.verdicts import compare

_START_ROUNDS = 40
_LONGEST_RUN_SECONDS = 3.0
_ROUNDS = 32
_RUN_SECONDS = 0.125
_LOOPS = 20
_SOURCE = Path(__file__).resolve().parents[2] / "tests" / "python" / "programs" / "static_loop.c"


# -- B26 --


def profile(m: Measurement) -> None:
    """B26."""
    under = [str(find(COMMAND)), "run", str(_profile(m.context)), "--"]
    alone, added = [], []
    for _ in range(_START_ROUNDS):
        alone.append(seconds_of(["/bin/true"]))
        added.append(1000.0 * (seconds_of([*under, "/bin/true"]) - alone[-1]))
    m.values("start", added, "true", f"true alone takes {1000.0 * min(alone):.1f} ms")
    plain = busy_command(max(0.3, min(_LONGEST_RUN_SECONDS, m.budget.left / (2 * ROUNDS + 1) - 0.5)))
    ours = Configuration("under tauto run", [*under, *plain], {}, {"label": "applied"})
    peer = Configuration("alone", plain, {}, {"label": "plain"})
    with m.bench() as bench:
        bench.run([ours, peer], ROUNDS, m.budget.left)
        pairs = bench.pairs(ours, peer)
        m.row("run", compare(pairs), peer.name, note="" if pairs else bench.errors())


def _profile(context: Context) -> Path:
    """A profile that sets everything that can be set: variables, CPUs, priority."""
    folder = context.folder / "B26-profile"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "profile.json"
    profile = {
        "schema": PROFILE_SCHEMA,
        "environment": {"OMP_NUM_THREADS": str(len(context.cpus)), "OMP_WAIT_POLICY": "passive"},
        "cpus": list(context.cpus),
        "nice": None,
        "command": [],
        "tuned_command": [],
    }
    path.write_text(json.dumps(profile))
    return path


def seconds_of(command: Sequence[str]) -> float:
    """The wall time of a command."""
    begun = time.perf_counter()
    subprocess.run(list(command), check=True)
    return time.perf_counter() - begun


# -- B27 --


@dataclass(frozen=True)
class Answer:
    """What the search found."""

    settings: Mapping[str, str]
    sentence: str


def unequal_cores(m: Measurement, factor: float) -> None:
    """B27."""
    context = m.context
    possible, why = available()
    compiler = shutil.which("gcc")
    if not possible or compiler is None:
        m.row("", None, "W/Σs", note=why or "gcc is not here")
        return
    folder = context.folder / "B27-search"
    folder.mkdir(parents=True, exist_ok=True)
    command = built(compiler, folder)
    slow = {context.cpus[1]: factor}
    answer = searched(command, slow, context.cpus, folder, 0.4 * m.budget.left)
    default, tuned, *alone = _configurations(command, answer, context.cpus, slow)
    with (
        emulated(slow),
        ProgramExecutor(seed=context.seed) as executor,
        m.bench(executor=executor) as bench,
    ):
        rows = bench.run([default, tuned, *alone], _ROUNDS, m.budget.left)
        bound = bound_pairs(rows, tuned, alone, work_over_speeds)
        note = joined(f"{answer.sentence} ({dict(answer.settings)})", bench.errors())
        m.row("bound", compare(bound), "W/Σs", note=note)
        m.row("default", compare(bench.pairs(tuned, default)), "as it is", note=note)


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
        "from tautochrone.__main__ import main; raise SystemExit(main())"
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

    def made(name: str, how: Applied) -> Configuration:
        settings = {"name": name, "emulated": emulated_as}
        return Configuration(name, how.command, how.environment, settings, start=how.start)

    words = tuple(command)
    everywhere = tuple(cpus)
    tuned = applied(words, (), answer.settings)
    return [
        made("default", Applied(words, {}, everywhere)),
        made("tuned", replace(tuned, cpus=tuned.cpus or everywhere)),
        *(made(f"CPU {cpu}", Applied(words, {"OMP_NUM_THREADS": "1"}, (cpu,))) for cpu in cpus),
    ]
