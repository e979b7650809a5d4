"""`tauto balance` beside Linux alone, in turns: ``python -m benchmarks.balance --parts loops,threads``.

The parts, all but the last with the last CPU, or ``--slow`` of them, slower by ``--factor``:

- ``loops``: a static OpenMP loop, built by GCC and by clang, whose regions take so many milliseconds on one
  fast CPU, or on all fast ones. Beside Linux alone stand threads that sleep while they wait, threads pinned
  to a CPU each, more threads than CPUs, and the fast CPUs alone.
- ``threads``: the same work by 4, 8 and 16 threads with pthread barriers.
- ``meetings``: by a thread for each CPU, which meet every 30, 6 and 2 ms: at a pthread barrier, at C++20's
  ``std::barrier``, at a condition variable, or as threads that are started for each round and end with it.
- ``spins``: by a thread for each CPU, which wait by looking at memory.
- ``midway``: the CPU becomes slow in the middle of the run, of both compilers' loops.
- ``programs``: programs of other people; beside those of OpenBLAS stand as many threads as fast CPUs.
- ``equal``: the same programs and loops on equal CPUs.

Times of loops are their own, for each millisecond of work: the balanced one runs longer. Those of other
programs are of the whole process, and the table says whether all sides gave the same answer. Linux alone
has the waits that a runtime has by itself, as has `tauto balance`, which may set them; on the other sides
threads sleep. The emulator calibrates once a turn, and no side has a part of that.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # the package, in place of its own folder

from benchmarks.foreign import Program, programs
from tautochrone.machine import runners
from tautochrone.machine.emulate import emulated
from tautochrone.machine.probe import read_machine
from tautochrone.results.journal import Journal
from tautochrone.verdicts import median_interval

SCHEMA = "tautochrone.balance-benchmark/4"
REGIONS_MS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
BARRIER_MS = 30.0
MEETINGS_MS = (30.0, 6.0, 2.0)
MEETINGS = ("barrier", "std", "condition", "ends")
SOURCE = Path(__file__).parent / "programs" / "static_loop.cpp"

PASSIVE = {
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "KMP_BLOCKTIME": "0",
    "OPENBLAS_THREAD_TIMEOUT": "4",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
PINNED = {**PASSIVE, "OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}

# Work on one fast CPU of each side of a loop, in seconds.
SECONDS = {
    "fast": 0.6,
    "linux": 0.8,
    "linux, passive": 0.8,
    "pinned": 0.4,
    "balance": 5.0,
    "linux, more": 0.8,
}
BEST = ("fast", "linux", "linux, passive")
EQUAL_MS = (10.0, 0.3, 0.03)
EQUAL_SECONDS = 3.0  # of work on one CPU
MIDWAY_MS = (30.0, 3.0, 0.3)
MIDWAY_SECONDS = 10.0  # likewise

Line = dict[str, Any]


@dataclass(frozen=True)
class Side:
    words: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    cpus: frozenset[int] = frozenset()

    def run(self) -> tuple[str, float]:
        """What it printed, and the seconds of the whole process."""
        begun = time.perf_counter()
        done = subprocess.run(
            self.words,
            env={**os.environ, **self.variables},
            preexec_fn=(lambda: os.sched_setaffinity(0, self.cpus)) if self.cpus else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        took = time.perf_counter() - begun
        return done.stdout.decode(errors="replace"), took


def balanced(words: Sequence[str], variables: Mapping[str, str] | None = None) -> Side:
    return Side([str(runners.find("tauto-balance")), "--", *words], variables or {})


class Bench:
    """The machine, the loops that are built for it, and what a millisecond of work is."""

    def __init__(self, folder: Path, chance: random.Random, slow: int) -> None:
        self.folder = folder
        self.chance = chance
        self.cpus = sorted(os.sched_getaffinity(0))
        self.slow = self.cpus[-slow:]
        self.fast = frozenset(self.cpus[:-slow])
        self.loops = {"gcc": str(runners.find("tauto-bench-static-loop"))}
        libomp = runners.find_libomp()
        if libomp and shutil.which("clang++"):
            (folder / "libomp.so").symlink_to(libomp)
            self.loops["clang"] = str(folder / "static-loop")
            words = ["clang++", "-std=c++20", "-O3", "-fopenmp", str(SOURCE), f"-L{folder}"]
            subprocess.run([*words, "-o", self.loops["clang"]], check=True)
        self.each = {name: self._steps_of_a_millisecond(loop) for name, loop in self.loops.items()}

    @cached_property
    def calls(self) -> dict[str, Program]:
        return programs(self.folder)

    def _steps_of_a_millisecond(self, loop: str) -> float:
        side = Side([loop, "4800000", "10"], {"OMP_NUM_THREADS": "1"}, self.fast)
        return len(self.fast) * 48_000_000 / min(float(side.run()[0].split()[0]) for _ in range(5)) / 1e3

    def sides(self, sides: Mapping[str, tuple[Side, float]]) -> Line:
        """Seconds of each side for a second of work on one fast CPU, in an order drawn by lot."""
        line = {}
        for name in self.chance.sample(sorted(sides), len(sides)):
            side, work = sides[name]
            line[name] = float(side.run()[0].split()[0]) / work
        return line

    def loop(self, compiler: str, milliseconds: float, factor: float, phases: int) -> Line:
        """Regions of so many loops that take so long each."""
        steps = round(self.each[compiler] * milliseconds)

        def side(
            name: str, variables: Mapping[str, str], cpus: frozenset[int] = frozenset()
        ) -> tuple[Side, float]:
            regions = max(5, round(SECONDS[name] * 1e3 / milliseconds / phases))
            words = [self.loops[compiler], str(steps), str(regions), str(phases)]
            work = regions * phases * milliseconds / 1e3
            return balanced(words) if name == "balance" else Side(words, variables, cpus), work

        sides = {
            "fast": side("fast", {**PASSIVE, "OMP_NUM_THREADS": str(len(self.fast))}, self.fast),
            "linux": side("linux", {}),
            "linux, passive": side("linux, passive", PASSIVE),
            "pinned": side("pinned", PINNED),
            "balance": side("balance", {}),
        }
        if compiler == "gcc":
            threads = round(len(self.fast) * factor) + len(self.slow)
            sides["linux, more"] = side("linux, more", {**PASSIVE, "OMP_NUM_THREADS": str(threads)})
        kinds = {"fast_cpus": len(self.fast), "slow_cpus": len(self.slow)}
        kind = compiler if phases == 1 else f"{compiler}, {phases} loops a region"
        return {"compiler": kind, "region_ms": milliseconds, **kinds, **self.sides(sides)}

    def rounds(self, count: int, milliseconds: float, waits: str, *names: str) -> Line:
        """So many threads that meet whenever so much work is done."""
        steps = round(self.each["gcc"] * milliseconds)

        def side(name: str) -> tuple[Side, float]:
            rounds = round(SECONDS[name] * 1e3 / milliseconds)
            words = [str(runners.find("tauto-bench-barrier-loop")), *map(str, (steps, rounds, count)), waits]
            cpus = self.fast if name == "fast" else frozenset[int]()
            chosen = balanced(words) if name == "balance" else Side(words, {}, cpus)
            return chosen, rounds * milliseconds / 1e3

        return self.sides({name: side(name) for name in names})

    def threads(self, count: int) -> Line:
        return {"threads": count, **self.rounds(count, BARRIER_MS, "barrier", "linux", "balance")}

    def spins(self) -> Line:
        count = len(self.cpus)
        return {"spinning": count, **self.rounds(count, BARRIER_MS, "spins", "linux", "balance")}

    def meetings(self, waits: str, milliseconds: float) -> Line:
        line = self.rounds(len(self.cpus), milliseconds, waits, "fast", "linux", "balance")
        return {"meeting": waits, "meeting_ms": milliseconds, **line}

    def midway(self, compiler: str, milliseconds: float, factor: float) -> Line:
        """The CPU is fast for the first third of what the loop takes on equal CPUs."""
        seconds = MIDWAY_SECONDS
        regions = round(seconds * 1e3 / milliseconds)
        words = [self.loops[compiler], str(round(self.each[compiler] * milliseconds)), str(regions)]
        line: Line = {"midway": compiler, "midway_ms": milliseconds}
        sides = {"linux": Side(words), "linux, passive": Side(words, PASSIVE), "balance": balanced(words)}
        for name in self.chance.sample(sorted(sides), len(sides)):
            with emulated(dict.fromkeys(self.slow, factor)) as emulation:
                emulation.pause()
                later = threading.Timer(seconds / 6, emulation.resume)
                later.start()
                line[name] = float(sides[name].run()[0].split()[0])
                later.cancel()
                later.join()
        return line

    def equal_loop(self, compiler: str, milliseconds: float) -> Line:
        regions = round(EQUAL_SECONDS * 1e3 / milliseconds)
        words = [self.loops[compiler], str(round(self.each[compiler] * milliseconds)), str(regions)]
        sides = {"linux": (Side(words), EQUAL_SECONDS), "balance": (balanced(words), EQUAL_SECONDS)}
        return {"equal_loop": compiler, "equal_ms": milliseconds, **self.sides(sides)}

    def program(self, name: str, program: Program, place: str) -> Line:
        """All sides of a program, whose answers must be the same."""
        line: Line = {"program": name, "cpus": place}
        answers = set()
        sides = {
            "linux": Side(program.words, program.variables),
            "balance": balanced(program.words, program.variables),
        }
        passive = {**PASSIVE, **program.variables}
        if place == "unequal":
            sides["linux, passive"] = Side(program.words, passive)
        if program.threads and place == "unequal":
            fewer = {**passive, program.threads: str(len(self.fast))}
            sides["linux, fewer"] = Side(program.words, fewer)
        for side in self.chance.sample(sorted(sides), len(sides)):
            told, line[side] = sides[side].run()
            answer = program.answer.read_bytes() if program.answer else told.encode()
            answers.add(hashlib.sha256(answer).hexdigest())
        line["same_answer"] = len(answers) == 1
        return line


def lines_of_a_turn(bench: Bench, asked: argparse.Namespace) -> Iterator[Line]:
    parts = asked.parts.split(",")
    calls = bench.calls if {"programs", "equal"} & {*parts} else {}
    if unknown := {*(asked.program or calls)} - {*calls}:
        raise SystemExit(f"--program {min(unknown)}: of --parts {asked.parts} there are {list(calls)}")
    calls = {name: calls[name] for name in asked.program or calls}
    with emulated(dict.fromkeys(bench.slow, asked.factor)):
        if "loops" in parts:
            for region in map(float, asked.regions.split(",")):
                for compiler in bench.loops:
                    yield bench.loop(compiler, region, asked.factor, asked.phases)
        if "threads" in parts:
            for count in (4, 8, 16):
                yield bench.threads(count)
        if "meetings" in parts:
            for waits in MEETINGS:
                for milliseconds in MEETINGS_MS:
                    yield bench.meetings(waits, milliseconds)
        if "spins" in parts:
            yield bench.spins()
        if "programs" in parts:
            for name, call in calls.items():
                yield bench.program(name, call, "unequal")
    if "midway" in parts:
        for compiler in bench.loops:
            for region in MIDWAY_MS:
                yield bench.midway(compiler, region, asked.factor)
    if "equal" in parts:
        for name, call in calls.items():
            yield bench.program(name, call, "equal")
        for compiler in bench.loops:
            for region in EQUAL_MS:
                yield bench.equal_loop(compiler, region)


def _ratio(lines: Sequence[Line], of: Callable[[Line], float]) -> str:
    found = median_interval([of(one) for one in lines])
    ends = "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.median:.2f}{ends}"


def _over(side: str, other: str) -> Callable[[Line], float]:
    return lambda one: float(one[side] / one[other])


def _rows(lines: Sequence[Line], *names: str) -> Iterator[tuple[list[Any], list[Line]]]:
    """The lines that have these fields, by their values."""
    having = [one for one in lines if all(name in one for name in names)]
    for key in dict.fromkeys(tuple(one[name] for name in names) for one in having):
        yield list(key), [one for one in having if tuple(one[name] for name in names) == key]


def table(lines: Sequence[Line]) -> str:
    """Medians of the ratios of a turn, with 95 % intervals where there are turns enough, as Markdown."""
    out = [
        "Times over those of the fast CPUs alone.",
        "",
        "| slower by | loop | region | turns | Linux | Linux, passive | more threads | pinned "
        "| `tauto balance` | over the best of fast and Linux | over Linux | bound |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (factor, compiler, region), found in _rows(lines, "factor", "compiler", "region_ms"):
        cells = [
            _ratio(found, _over(side, "fast")) if side in found[0] else ""
            for side in ("linux", "linux, passive", "linux, more", "pinned", "balance")
        ]
        cells.append(_ratio(found, lambda one: one["balance"] / min(one[side] for side in BEST)))
        cells.append(_ratio(found, _over("balance", "linux")))
        fast, slow = found[0].get("fast_cpus", 1), found[0].get("slow_cpus", 1)
        bound = fast / (fast + slow / factor)
        title = f"| {factor:g} | {compiler} | {region:g} ms | {len(found)} |"
        out.append(f"{title} {' | '.join(cells)} | {bound:.2f} |")
    out += [
        "",
        "| | turns | `tauto balance` over Linux alone | over Linux, passive | over Linux, fewer threads "
        "| over the fast CPUs alone | the same answer |",
        "|---|---|---|---|---|---|---|",
    ]
    kinds: dict[tuple[str, ...], Callable[[list[Any]], str]] = {
        ("factor", "threads"): lambda key: f"{key[1]} threads with barriers, factor {key[0]:g}",
        ("factor", "spinning"): lambda key: f"{key[1]} threads that spin, factor {key[0]:g}",
        ("factor", "meeting", "meeting_ms"): lambda key: f"{key[1]} every {key[2]:g} ms, factor {key[0]:g}",
        ("factor", "midway", "midway_ms"): lambda key: (
            f"{key[1]}, {key[2]:g} ms, slower by {key[0]:g} in the middle of the run"
        ),
        ("factor", "cpus", "program"): lambda key: f"{key[2]}, {key[1]} CPUs",
        ("equal_loop", "equal_ms"): lambda key: f"static loop, {key[0]}, {key[1]:g} ms, equal CPUs",
    }
    for names, name_of in kinds.items():
        for key, found in _rows(lines, *names):
            ratio = _ratio(found, _over("balance", "linux"))
            others = []
            for side in ("linux, passive", "linux, fewer", "fast"):
                having = [one for one in found if side in one]
                others.append(_ratio(having, _over("balance", side)) if having else "")
            answers = [one["same_answer"] for one in found if "same_answer" in one]
            same = ("yes" if all(answers) else "no") if answers else "not compared"
            out.append(f"| {name_of(key)} | {len(found)} | {ratio} | {' | '.join(others)} | {same} |")
    return "\n".join(out)


def main() -> int:
    parser = argparse.ArgumentParser(description="tauto balance beside Linux alone.")
    parser.add_argument("--parts", default="loops,threads,meetings,spins,midway,programs,equal")
    parser.add_argument(
        "--regions", default=",".join(f"{one:g}" for one in REGIONS_MS), help="milliseconds of a loop"
    )
    parser.add_argument("--phases", type=int, default=1, help="loops of a region, with barriers between them")
    parser.add_argument("--program", action="append", help="this one alone; may be given more than once")
    parser.add_argument("--factor", type=float, default=4.0, help="how much slower the last CPU is")
    parser.add_argument("--slow", type=int, default=1, help="so many of the last CPUs are slow")
    parser.add_argument("--turns", type=int, default=6, help="turns of all that is asked")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--output", type=Path, default=Path("build/balance.jsonl"))
    asked = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    if not 1 <= asked.slow < cpus:
        parser.error(f"--slow {asked.slow}: of {cpus} CPUs 1 to {cpus - 1} may be slow")
    with Journal.open(asked.output) as journal, tempfile.TemporaryDirectory() as folder:
        if not journal.records:
            journal.append({"schema": SCHEMA, "machine": read_machine().to_dict()})
        bench = Bench(Path(folder), random.Random(asked.seed), asked.slow)
        for _ in range(asked.turns):
            for line in lines_of_a_turn(bench, asked):
                journal.append({"schema": SCHEMA, "factor": asked.factor, **line})
        lines = list(journal.records.values())
    print(table(lines))
    asked.output.with_suffix(".md").write_text(table(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
