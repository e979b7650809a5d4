"""B19 to B23: the gravity kernel, and the block-timestep N-body against itself, OpenMP and the MPIs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from statistics import median

from benchmarks.bodies.collectives import MPI
from benchmarks.bodies.launches import OPENMP, program
from benchmarks.context import Budget, Context
from benchmarks.measurement import Measurement
from benchmarks.rounds import Bench, Pairs
from benchmarks.rows import all_met, joined
from tautochrone.measuring.configuration import Configuration
from tautochrone.results.row import SCREENING, Row
from tautochrone.verdicts import compare

STUDY = "nbody"
PARTICLES = 1024
RIVALS = (*OPENMP, *MPI)
_ROUNDS = 31
_CHOOSING_SHARE = 0.45
_TIMES = ("--warmup-seconds", "0.05", "--min-seconds", "0.2")
_LEAST_BLOCKS = 8  # of a class, for its median to be one


def gravity(m: Measurement, particles: int, active: int) -> None:
    """B19."""
    size = ("--particles", str(particles), "--active", str(active))
    ours = program(m.context, "gravity", "gravity-rate", *size, *_TIMES)
    peer = "the best open code found, 1.9 ns"
    with m.bench() as bench:
        rows = bench.run([ours], _ROUNDS, min(30.0, m.budget.left))
        errors = bench.errors()
    if not rows:
        m.row("", None, peer, note=errors)
        return
    nanoseconds = [1e9 / float(row.detail["pairs_per_second"]) for row in rows]
    wrong = [float(row.detail["relative_force_error"]) for row in rows]
    rate = m.values("", nanoseconds, peer, _rate_note(rows[-1]))
    error = m.values("error", wrong, "a sum in long double")
    met = all_met((rate.met, error.met)) if None not in (rate.met, error.met) else None
    # The target is one of a CPU with AVX-512.
    m.own = replace(rate, met=met if rows[-1].detail["instructions"] == "avx512" else None)


def _rate_note(row: Row) -> str:
    detail = row.detail
    clock = detail.get("clock_hertz")
    at = f" at {clock / 1e9:.2f} GHz, {detail['cycles_per_pair']:.2f} cycles a pair" if clock else ""
    return (
        f"{detail['pairs_per_second']:.3g} pairs a second with {detail['instructions']}{at}; "
        f"relative force error {detail['relative_force_error']:.1e}"
    )


# -- whole blocks --


def _runner(
    context: Context, library: str, scheme: str, members: int = 2, wait: str = "default"
) -> Configuration:
    """A run of the nbody study's runner: 1024 particles, 4th order, a time unit; seconds are of a block."""
    path, environment = context.runner(library, STUDY)
    cpus = context.cpus[:members]
    words = ["--particles", str(PARTICLES), "--order", "4", "--scheme", scheme, "--wait", wait]
    words += ["--threads", str(len(cpus)), "--cpus", ",".join(map(str, cpus)), *_TIMES]
    name = f"{library} {scheme}, {members} member{'s' if members > 1 else ''}"
    name += f", {wait} wait" if wait != "default" else ""
    settings = {"library": library, "scheme": scheme, "cpus": list(cpus), "wait": wait}
    return Configuration(name, [path, *words], environment, settings)


def against_one(m: Measurement, beside_another: bool = False) -> None:
    """B20; B23: while another program keeps a core busy."""
    ours = _runner(m.context, "tautochrone", "auto")
    # It keeps its core to itself: the other program moves to the other one, where a member of ours is.
    alone = _runner(m.context, "serial", "serial", 1)
    with m.bench() as bench, busy_process(m.context.cpus) if beside_another else nullcontext():
        bench.run([ours, alone], _ROUNDS, m.budget.left)
        pairs = bench.pairs(ours, alone)
        note = ""
        if pairs and beside_another:
            note = f"slowest round {max(mine / theirs for mine, theirs in pairs):.2f}"
        elif pairs:
            note = f"{1 / (compare(pairs).ratio or 1):.2f} times as fast"
        m.compared("", bench, ours, alone, note=note)


@contextmanager
def busy_process(cpus: Sequence[int]) -> Iterator[None]:
    """Another program that wants a whole CPU, and may run on any of these."""
    code = f"import os\nos.sched_setaffinity(0, {list(cpus)!r})\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def against_fastest(m: Measurement) -> None:
    """B21."""
    context = m.context
    choosing = Budget(context.clock, m.budget.left * _CHOOSING_SHARE)
    ours, rivals = _runner(context, "tautochrone", "auto"), list(_rivals(context))
    missing = context.without(RIVALS, STUDY)
    with m.bench() as bench:
        best = bench.fastest(rivals, choosing.left)
        if best is None:
            m.row("", None, note=joined(missing, bench.errors()))
            return
        bench.run([ours, best], _ROUNDS, m.budget.left)
        m.compared("", bench, ours, best, note=joined(_screened(bench, rivals), missing))


def _rivals(context: Context) -> Iterator[Configuration]:
    """Every scheme of each of them, OpenMP with its two waits."""
    for state in context.present(OPENMP, STUDY):
        for scheme in state.description.schedules if state.description else ():
            for wait in ("default", "active"):
                yield _runner(context, state.peer.name, scheme, wait=wait)
    for state in context.present(MPI, STUDY):
        for scheme in ("i", "j", "auto"):
            yield _runner(context, state.peer.name, scheme)


def _screened(bench: Bench, rivals: Sequence[Configuration]) -> str:
    """The fastest of each library in the choosing rounds: how near they were."""
    seconds = bench.screened_seconds()
    of_library: dict[str, float] = {}
    for rival in bench.ranked(rivals):
        of_library.setdefault(str(rival.settings["library"]), seconds[rival.config_id])
    return "chosen from " + ", ".join(f"{name} {1e6 * best:.1f} µs" for name, best in of_library.items())


# -- B22 --

Classes = Mapping[int, float]
"""Median seconds of a block by the least active count of its class."""


def chosen_schemes(m: Measurement) -> None:
    """B22."""
    ours = _runner(m.context, "tautochrone", "auto")
    fixed = [_runner(m.context, "tautochrone", scheme) for scheme in ("serial", "i", "j")]
    with m.bench() as bench:
        bench.screen(fixed, 5, m.budget.left * 0.25)
        rows = bench.run([ours, *fixed], _ROUNDS, m.budget.left)
        best_of = best_fixed(bench.store.rows(SCREENING), fixed)
        errors = bench.errors()
    for low, best in best_of.items():
        pairs = class_pairs(rows, ours, best, low)
        m.row(str(low), compare(pairs), best.name, low=low, high=2 * low - 1)
    if not best_of:
        m.row("", None, note=errors)


def _classes(row: Row) -> Classes:
    return {
        int(found["active_from"]): float(found["median_seconds"])
        for found in row.detail["classes"]
        if found["blocks"] >= _LEAST_BLOCKS
    }


def best_fixed(rows: Sequence[Row], fixed: Sequence[Configuration]) -> dict[int, Configuration]:
    """The fixed scheme with the least median in each class that all of them have."""
    seconds: dict[int, dict[str, list[float]]] = {}
    for row in rows:
        if row.error is None:
            for low, of_block in _classes(row).items():
                seconds.setdefault(low, {}).setdefault(row.config_id, []).append(of_block)
    return {
        low: min(fixed, key=lambda scheme: median(of_scheme[scheme.config_id]))
        for low, of_scheme in sorted(seconds.items())
        if all(scheme.config_id in of_scheme for scheme in fixed)
    }


def class_pairs(rows: Sequence[Row], ours: Configuration, peer: Configuration, low: int) -> Pairs:
    """Our and the peer's seconds of each round in which both had blocks of that class."""
    mine, theirs = (
        {row.round: _classes(row).get(low) for row in rows if row.config_id == made.config_id}
        for made in (ours, peer)
    )
    return [
        (ours_of, peers_of)
        for number, ours_of in sorted(mine.items())
        if ours_of is not None and (peers_of := theirs.get(number)) is not None
    ]
