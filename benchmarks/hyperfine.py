"""`tauto compare` beside hyperfine on the same programs in turns: ``python benchmarks/hyperfine.py``.

Words are counted, not times alone: how often an identical program is called faster while the machine drifts
and another program comes and goes, and how often a true difference is found with the same number of runs, and
by hyperfine with twice as many.
What hyperfine says is read as its users read it, "A ran 1.03 ± 0.01 times faster than B": a word where the
quotient less its error is above 1. `welch`: the word of Welch's test at 99 % on the times that it exports, as
its own script advises.

Each part of the work is a line in a file; the same command adds trials to those that are there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks.honesty import neighbour
from tautochrone.machine import runners
from tautochrone.machine.probe import read_machine
from tautochrone.results.journal import Journal
from tautochrone.verdicts import median_interval

SCHEMA = "tautochrone.hyperfine/1"
RUNS = 40
DRIFT, PERIOD_SECONDS = 0.03, 7.0
MILLISECONDS = 5.0
STEP = 1.02
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what the program writes is in its time
_LAB = Path(__file__).resolve().parents[1] / "lab"

Line = dict[str, Any]


def spin(steps: int, drift: float = DRIFT, file: str = "") -> list[str]:
    words = [str(runners.find("tauto-bench-spin")), str(steps), str(drift), str(PERIOD_SECONDS)]
    return [*words, file] if file else words


def steps_for(milliseconds: float) -> int:
    """How many steps take so long here."""
    command = spin(10_000_000, 0.0)
    best = math.inf
    for _ in range(5):
        begun = time.perf_counter()
        subprocess.run(command, check=True)
        best = min(best, time.perf_counter() - begun)
    return round(10_000_000 * milliseconds / 1e3 / best)


def ours(commands: Sequence[Sequence[str]], runs: int, *options: str) -> dict[str, Any]:
    """The typed answer, by the command line that users type."""
    words: list[str] = []
    for command in commands:
        words += [":", *command] if words else command
    call = [
        sys.executable,
        "-m",
        "tautochrone",
        "compare",
        "--rounds",
        str(runs),
        "--json",
        *options,
        "--",
        *words,
    ]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            call, cwd=folder, env=_environment(), capture_output=True, text=True, check=False
        )
    if not done.stdout:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _environment() -> dict[str, str]:
    """This checkout's laboratory, whose files Python keeps compiled, as those of an installed package."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(_LAB)}


def theirs(commands: Sequence[Sequence[str]], runs: int) -> list[dict[str, Any]]:
    """The results that hyperfine exports, started as it is fastest."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out.json"
        call = ["hyperfine", "-N", "--style", "none", "-r", str(runs), "--export-json", str(file)]
        subprocess.run([*call, *(" ".join(command) for command in commands)], check=True, capture_output=True)
        results: list[dict[str, Any]] = json.loads(file.read_text())["results"]
    return results


def sentence(results: Sequence[dict[str, Any]]) -> int:
    """-1, 0, 1: which of two is called faster by "1.03 ± 0.01 times faster"; 0 for neither."""
    (a, b) = results
    low, high = sorted((a, b), key=lambda one: one["mean"])
    ratio = high["mean"] / low["mean"]
    error = ratio * math.hypot(high["stddev"] / high["mean"], low["stddev"] / low["mean"])
    return 0 if ratio - error <= 1.0 else (-1 if low is a else 1)


def welch(results: Sequence[dict[str, Any]]) -> int:
    from scipy.stats import ttest_ind

    a, b = (one["times"] for one in results)
    found = ttest_ind(a, b, equal_var=False)
    return 0 if found.pvalue >= 0.01 else (-1 if found.statistic < 0 else 1)


def our_word(found: dict[str, Any]) -> int:
    """-1: the first is faster."""
    return {"slower": -1, "faster": 1}.get(found["sides"][1]["ratio"]["verdict"], 0)


def pair(chance: random.Random, steps: int, factor: float, runs: int, *, beside: bool) -> Line:
    """One trial of both tools, the first drawn by lot."""
    commands = [spin(steps), spin(round(steps * factor))]
    line: Line = {"factor": factor, "beside": beside, "runs": runs}
    with neighbour(beside, chance.randrange(1 << 30)):
        for tool in chance.sample(("ours", "theirs"), 2):
            if tool == "ours":
                # With one seed for all, the trials would share one draw of orders and of stacks.
                seed = str(chance.randrange(1 << 30))
                line["ours"] = our_word(ours(commands, runs, "--seed", seed))
            else:
                results = theirs(commands, runs)
                line["sentence"], line["welch"] = sentence(results), welch(results)
                if factor != 1.0:
                    line["twice"] = welch(theirs(commands, 2 * runs))
    return line


def rate(chance: random.Random, runs: int = 1000) -> Line:
    """Runs a second of `true`, from the first to the last, and what a run takes."""
    line: Line = {}
    for tool in chance.sample(("ours", "theirs"), 2):
        if tool == "ours":
            words = ["compare", "--json", "--rounds", "60", "--output", "out", "--", "true"]
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, "-m", "tautochrone", *words],
                    cwd=folder,
                    env=_environment(),
                    capture_output=True,
                    text=True,
                    check=True,
                )
                found = json.loads(done.stdout)
                lines = (Path(folder) / "out" / "rows.jsonl").read_text().splitlines()
            rows = [row for row in map(json.loads, lines) if row.get("seconds") is not None]
            stamps = [datetime.fromisoformat(row["started"]).timestamp() for row in rows]
            counted = sum(row["detail"]["runs"] for row in rows[:-1])
            line["our_rate"] = counted / (stamps[-1] - stamps[0])
            line["our_seconds"] = found["sides"][0]["figure"]
        else:
            begun = time.perf_counter()
            (several,) = theirs([["true"]], runs)
            middle = time.perf_counter()
            theirs([["true"]], 10)
            ended = time.perf_counter()
            line["their_rate"] = (runs - 10) / ((middle - begun) - (ended - middle))
            line["their_seconds"] = several["median"]
    return line


def bias(chance: random.Random, steps: int) -> Line:
    """What is told of a program beside what it tells itself in the same runs, and when the first began."""
    line: Line = {}
    for tool in chance.sample(("ours", "theirs"), 2):
        with tempfile.TemporaryDirectory(dir=_MEMORY) as folder:
            file = str(Path(folder) / "own")
            command = spin(steps, 0.0, file)
            begun = time.monotonic_ns()
            if tool == "ours":
                found = ours([command], RUNS, "--calibrate")["sides"][0]
                told, behind = found["own_seconds"], RUNS  # it is told of runs before the rounds
                line["less_start"] = found["figure"] - found["start_seconds"]
            else:
                (result,) = theirs([command], RUNS)
                told, behind = result["median"], 0
            own = [list(map(int, words.split())) for words in Path(file).read_text().splitlines()]
        seconds = [(end - start) / 1e9 for start, end in own]
        line[f"{tool}_bias"] = told - statistics.median(seconds[: len(seconds) - behind][-RUNS:])
        if tool == "ours":
            line["less_start"] -= statistics.median(seconds[-RUNS:])
        line[f"{tool}_first"] = (own[0][0] - begun) / 1e9
    return line


def bound(wrong: int, trials: int) -> float:
    """The largest rate that the trials leave possible, at 95 % (Clopper and Pearson)."""
    from scipy.special import betaincinv

    return 1.0 if wrong >= trials else float(betaincinv(wrong + 1, trials - wrong, 0.95))


def kind_of(line: Line) -> tuple[float, bool, int]:
    """The factor between the two, whether a neighbour was there, and the runs of each."""
    return line["factor"], line["beside"], line.get("runs", RUNS)


def table(lines: Sequence[Line]) -> str:
    """What the trials say, as Markdown."""
    out = [
        "| what | tauto compare | hyperfine: its sentence | Welch's test | Welch's, twice the runs |",
        "|---|---|---|---|---|",
    ]
    pairs = [one for one in lines if "factor" in one]
    for kind in dict.fromkeys(map(kind_of, pairs)):
        several = [one for one in pairs if kind_of(one) == kind]
        factor, beside, runs = kind
        where = "a neighbour that comes and goes" if beside else "no neighbour"
        cells = []
        for tool in ("ours", "sentence", "welch", "twice"):
            words = [one[tool] for one in several if tool in one]
            if not words:
                cells.append("")
                continue
            right = sum(word == (-1 if factor > 1 else 0) for word in words)
            if factor == 1.0:
                wrong = len(words) - right
                cells.append(f"{wrong} of {len(words)} (at most {100 * bound(wrong, len(words)):.1f} %)")
            else:
                cells.append(f"{right} of {len(words)}, {sum(word == 1 for word in words)} the wrong way")
        what = "identical: a word was said" if factor == 1.0 else f"{100 * (factor - 1):.0f} % slower: found"
        out.append(f"| {what}; {100 * DRIFT:.0f} % drift, {where}, {runs} runs each | {' | '.join(cells)} |")
    for label, mine, yours, write in (
        ("runs a second of `true`", "our_rate", "their_rate", lambda value: f"{value:.0f}"),
        ("a run of `true`", "our_seconds", "their_seconds", lambda value: f"{1e6 * value:.0f} µs"),
        (
            f"{MILLISECONDS:g} ms by its own clock: bias",
            "ours_bias",
            "theirs_bias",
            lambda value: f"{1e6 * value:.0f} µs",
        ),
        (
            "the same, less the start of an empty program",
            "less_start",
            "theirs_bias",
            lambda value: f"{1e6 * value:.0f} µs",
        ),
        ("start until the first run", "ours_first", "theirs_first", lambda value: f"{1e3 * value:.0f} ms"),
    ):
        several = [one for one in lines if mine in one]
        if several:
            cells = [_interval([one[name] for one in several], write) for name in (mine, yours)]
            ratio = _interval([one[mine] / one[yours] for one in several], lambda value: f"{value:.3f}")
            out.append(
                f"| {label} ({len(several)} turns) | {cells[0]} | {cells[1]} | ours / theirs: {ratio} | |"
            )
    return "\n".join(out)


def _interval(values: Sequence[float], write: Callable[[float], str]) -> str:
    found = median_interval(values)
    ends = "" if found.low is None or found.high is None else f" [{write(found.low)}, {write(found.high)}]"
    return write(found.median) + ends


def jobs(
    asked: argparse.Namespace, lines: Sequence[Line], chance: random.Random
) -> Iterator[Callable[[], Line]]:
    """What is left to do, the kinds in turns."""
    steps = steps_for(MILLISECONDS)

    def count(test: Callable[[Line], bool]) -> int:
        return sum(map(test, lines))

    def pairs(factor: float, *, beside: bool) -> Callable[[Line], bool]:
        return lambda one: "factor" in one and kind_of(one) == (factor, beside, asked.runs)

    kinds: list[tuple[int, Callable[[], Line]]] = [
        (asked.same - count(pairs(1.0, beside=True)),
         lambda: pair(chance, steps, 1.0, asked.runs, beside=True)),
        (asked.step - count(pairs(STEP, beside=True)),
         lambda: pair(chance, steps, STEP, asked.runs, beside=True)),
        (asked.step - count(pairs(STEP, beside=False)),
         lambda: pair(chance, steps, STEP, asked.runs, beside=False)),
        (asked.turns - count(lambda one: "our_rate" in one), lambda: rate(chance)),
        (asked.turns - count(lambda one: "ours_bias" in one), lambda: bias(chance, steps)),
    ]  # fmt: skip
    left = [job for wanted, job in kinds for _ in range(wanted)]
    chance.shuffle(left)
    yield from left


def main() -> int:
    parser = argparse.ArgumentParser(description="tauto compare beside hyperfine.")
    parser.add_argument("--same", type=int, default=500, help="trials of identical programs")
    parser.add_argument("--step", type=int, default=100, help="trials of a true difference of 2 %%, twice")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each program in a trial")
    parser.add_argument("--turns", type=int, default=20, help="turns of what each tool costs")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end after this time")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--output", type=Path, default=Path("build/hyperfine.jsonl"))
    asked = parser.parse_args()
    if shutil.which("hyperfine") is None:
        print("hyperfine is not here: apt-get install hyperfine", file=sys.stderr)
        return 2
    begun = time.monotonic()
    with Journal.open(asked.output) as journal:
        if not journal.records:
            journal.append({"schema": SCHEMA, "machine": read_machine().to_dict()})
        for job in jobs(asked, list(journal.records.values()), random.Random(asked.seed)):
            if time.monotonic() - begun > asked.seconds:
                break
            journal.append({"schema": SCHEMA, **job()})
        lines = list(journal.records.values())
    print(table(lines))
    asked.output.with_suffix(".md").write_text(table(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
