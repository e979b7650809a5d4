"""The algorithms beside those of other libraries, in turns: ``python benchmarks/algorithms.py``.

A turn is one process for each library that has the algorithm, in an order drawn by lot. The figure of a cell
is our time by that of the best peer, turn by turn; the best is chosen in the first turns and judged in the
others. ``--slow 4`` makes the last CPU four times slower; with ``--neighbour`` another program comes and goes
there. The rows go to a file; the same command adds turns.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks.race import neighbour
from tautochrone.machine import runners
from tautochrone.machine.emulate import emulated
from tautochrone.results.journal import Journal
from tautochrone.verdicts import median_interval

SCHEMA = "tautochrone.algorithms/1"
LIBRARIES = ("tauto", "tbb", "omp", "gnu", "par", "serial")
WORKS = (
    "scan-double",
    "scan-int64",
    "sort-double",
    "sort-int64",
    "sort-by",
    "sort-string",
    "sort-nearly",
    "sort-equal",
    "pack",
    "partition",
    "partition-string",
    "histogram-256",
    "histogram-1000000",
    "min",
    "min-event",
    "find",
    "stencil",
)
CHOOSING = 3  # turns
Line = dict[str, Any]


def seconds_of(library: str, work: str, size: int, seconds: float, least: bool) -> float | None:
    """A call's median, or its least, by the program's own clock; None where there is no such algorithm."""
    command = [str(runners.find("tauto-bench-algorithms")), library, work, str(size), str(seconds)]
    # libgomp pins its first thread as it is loaded, and then the others would see one CPU.
    pinned = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"} if library in ("omp", "gnu") else {}
    environment = {**os.environ, **pinned}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    told = done.stdout.split()
    return None if told[0] == "-" else float(told[1 if least else 0])


def turn(work: str, size: int, seconds: float, least: bool, without: set[str]) -> dict[str, float]:
    times = {}
    for library in random.sample(LIBRARIES, len(LIBRARIES)):
        if library in without:
            continue
        took = seconds_of(library, work, size, seconds, least)
        if took is None:
            without.add(library)
        else:
            times[library] = took
    return times


def row_of(work: str, size: int, factor: float, turns: Sequence[dict[str, float]]) -> Line:
    """Our time by the best peer's, with its 95 % interval."""
    choosing, judged = turns[:CHOOSING], turns[CHOOSING:] or turns
    peers = [one for one in choosing[0] if one != "tauto"]
    best = min(peers, key=lambda one: statistics.median(times[one] for times in choosing))
    ratio = median_interval([math.log(times["tauto"] / times[best]) for times in judged])
    ours = statistics.median(times["tauto"] for times in judged)
    ends = [None if one is None else round(math.exp(one), 3) for one in (ratio.low, ratio.high)]
    medians = {one: statistics.median(times[one] for times in turns) for one in choosing[0]}
    return {
        "schema": SCHEMA,
        "work": work,
        "size": size,
        "factor": factor,
        "seconds": ours,
        "peer": best,
        "ratio": round(math.exp(ratio.median), 3),
        "low": ends[0],
        "high": ends[1],
        "turns": len(judged),
        "medians": medians,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--works", default=",".join(WORKS), help="by commas")
    parser.add_argument("--sizes", default="100,10000,1000000,10000000", help="by commas")
    parser.add_argument("--slow", type=float, default=1.0, help="factor of the last CPU")
    parser.add_argument("--neighbour", action="store_true", help="another program comes and goes there")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.05, help="of each process's calls")
    parser.add_argument("--least", action="store_true", help="a process's fastest call, on a busy machine")
    parser.add_argument("--limit", type=float, default=280.0, help="seconds after which no cell is begun")
    parser.add_argument("--output", type=Path, default=Path("build/algorithms.jsonl"))
    asked = parser.parse_args(arguments)
    begun = time.monotonic()
    last = max(os.sched_getaffinity(0))
    slow = {last: asked.slow} if asked.slow != 1.0 else {}
    beside = neighbour(last) if asked.neighbour else nullcontext()
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    with emulated(slow), beside, Journal.open(asked.output) as journal:
        for size in map(int, asked.sizes.split(",")):
            for work in asked.works.split(","):
                if time.monotonic() - begun > asked.limit:
                    print("the time is up", file=sys.stderr)
                    return 1
                without: set[str] = set()
                turns = [turn(work, size, asked.seconds, asked.least, without) for _ in range(asked.turns)]
                told = {"least": asked.least, "neighbour": asked.neighbour}
                row = {**row_of(work, size, asked.slow, turns), **told}
                journal.append(row)
                others = " ".join(f"{one} {1e6 * took:.2f}" for one, took in sorted(row["medians"].items()))
                print(
                    f"{work:18} {size:>9} x{asked.slow:g} {row['ratio']:6.3f} [{row['low']}, {row['high']}] "
                    f"of {row['peer']}; µs: {others}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
