"""What a call costs from C, Fortran and Python over the same call in C++: ``python benchmarks/bridges.py``.

The language "ctypes" is Python with every argument made before: what is left is ctypes.

All run in this process, in turns whose order is drawn by lot. A figure is the median over the turns of the
difference to the C++ call of the same turn, with its 95 % interval. The works are so short that no member but
the caller takes part. The rows go to a file; the same command adds to it.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy

from tautochrone import parallel
from tautochrone.machine import runners
from tautochrone.parallel import shared
from tautochrone.parallel.library import library
from tautochrone.results.journal import Journal
from tautochrone.verdicts import median_interval

SCHEMA = "tautochrone.bridges/1"
ROOT = Path(__file__).resolve().parents[1]
WORKS = ("for", "sum", "scan", "sort")
LANGUAGES = ("cpp", "c", "fortran", "ctypes", "python")
TARGETS = {"c": 50, "fortran": 50, "python": 2000}  # nanoseconds over the call in C++
COUNT = 64
Timed = Callable[[int], float]  # nanoseconds of each of so many calls


def in_cpp(module: ctypes.CDLL, name: str) -> Timed:
    timed = getattr(module, f"{name}_nanoseconds")
    timed.argtypes, timed.restype = (ctypes.c_long,), ctypes.c_double
    return partial(timed)


def in_fortran(folder: Path) -> ctypes.CDLL | None:
    """Compiled here, against the module that users compile; None without gfortran."""
    if shutil.which("gfortran") is None:
        print("without Fortran: there is no gfortran here", file=sys.stderr)
        return None
    folder.mkdir(parents=True, exist_ok=True)
    sources = [ROOT / "bindings/fortran/tauto.f90", ROOT / "benchmarks/programs/bridges.f90"]
    built = folder / "bridges_fortran.so"
    flags = ("-O2", "-shared", "-fPIC", f"-J{folder}")
    subprocess.run(["gfortran", *flags, *sources, "-o", built, library()._name], check=True)
    module = ctypes.CDLL(str(built))
    module.fortran_nanoseconds.argtypes = (ctypes.c_int, ctypes.c_long)
    module.fortran_nanoseconds.restype = ctypes.c_double
    return module


def in_python(work: str, module: ctypes.CDLL) -> Timed:
    values = numpy.zeros(COUNT)
    results = numpy.zeros(COUNT)
    team = parallel.Team()
    body = module.add_one
    calls: dict[str, Callable[[], Any]] = {
        "for": lambda: team.parallel_for(0, COUNT, body, values),
        "sum": lambda: team.sum(values),
        "scan": lambda: team.inclusive_scan(values, results),
        "sort": lambda: team.sort(values),
    }
    return timed_in_python(calls[work])


def in_ctypes(work: str, module: ctypes.CDLL) -> Timed:
    team = shared.team()  # which lives on
    values, results = (ctypes.c_double * COUNT)(), (ctypes.c_double * COUNT)()
    count = ctypes.c_int64(COUNT)
    calls = library()
    prepared: dict[str, Callable[[], Any]] = {
        "for": partial(
            calls.tauto_parallel_for, team._team, ctypes.c_int64(0), count, module.add_one, values, None
        ),
        "sum": partial(calls.tauto_sum_double, team._team, values, count, results, None),
        "scan": partial(calls.tauto_inclusive_scan_double, team._team, values, count, results, None),
        "sort": partial(calls.tauto_sort_double, team._team, values, count, None),
    }
    return timed_in_python(prepared[work])


def timed_in_python(call: Callable[[], Any]) -> Timed:
    def timed(times: int) -> float:
        begun = time.perf_counter_ns()
        for _ in range(times):
            call()
        return (time.perf_counter_ns() - begun) / times

    return timed


def row_of(work: str, language: str, turns: Sequence[dict[str, float]]) -> dict[str, Any]:
    found = median_interval([times[language] - times["cpp"] for times in turns])
    ends = [None if one is None else round(one, 1) for one in (found.low, found.high)]
    return {
        "schema": SCHEMA,
        "work": work,
        "language": language,
        "nanoseconds": round(found.median, 1),
        "low": ends[0],
        "high": ends[1],
        "cpp_nanoseconds": round(statistics.median(times["cpp"] for times in turns), 1),
        "target": TARGETS.get(language),
        "turns": len(turns),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--works", default=",".join(WORKS), help="by commas")
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--calls", type=int, default=20_000, help="of each language in each turn")
    parser.add_argument("--output", type=Path, default=Path("build/bridges.jsonl"))
    asked = parser.parse_args(arguments)
    module = ctypes.CDLL(str(runners.find("tauto-bench-bridges.so")))
    fortran = in_fortran(asked.output.parent.resolve() / "bridges")
    with Journal.open(asked.output) as journal:
        for work in asked.works.split(","):
            timed = {one: in_cpp(module, f"{one}_{work}") for one in ("cpp", "c")}
            timed["python"] = in_python(work, module)
            timed["ctypes"] = in_ctypes(work, module)
            if fortran is not None:
                timed["fortran"] = partial(fortran.fortran_nanoseconds, WORKS.index(work) + 1)
            for one in timed.values():  # the loops are learned
                one(asked.calls)
            turns = [
                {one: timed[one](asked.calls) for one in random.sample(list(timed), len(timed))}
                for _ in range(asked.turns)
            ]
            for language in [one for one in LANGUAGES[1:] if one in timed]:
                row = row_of(work, language, turns)
                journal.append(row)
                print(
                    f"{work:5} {language:8} {row['nanoseconds']:7.1f} ns [{row['low']}, {row['high']}] over "
                    f"{row['cpp_nanoseconds']:.1f} ns in C++ (asked: {row['target'] or '-'})",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
