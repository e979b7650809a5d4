"""B19 to B23: the gravity kernel, and the block-timestep N-body against itself, OpenMP and the MPIs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from statistics import median

from benchmarks.choosing import fastest
from benchmarks.context import Bench, Budget, Context
from benchmarks.entry import Entry, joined, not_measured, of_comparison, of_interval, worst
from benchmarks.members import MPI
from benchmarks.micro import OPENMP, program_configuration, times_note
from tautochrone.configuration import Configuration
from tautochrone.errors import TautoError
from tautochrone.row import Row
from tautochrone.statistics import VERDICT_CONFIDENCE, Comparison, compare, median_interval

STUDY = "nbody"
PARTICLES = 1024
ACTIVE = 53
RATE_TARGET_NANOSECONDS = 1.0  # 1.0e9 pairs a second
ERROR_TARGET = 1e-14
SPEEDUP_TARGET = 1 / 1.85
RIVAL_TARGET = 0.9
AUTO_TARGET = 1.05
LOADED_TARGET = 1.15
RIVALS = (*OPENMP, *MPI)
_ROUNDS = 31
_CHOOSING_SHARE = 0.45
_TIMES = ("--warmup-seconds", "0.05", "--min-seconds", "0.2")
_LEAST_BLOCKS = 8  # of a class, for its median to be one


# -- B19 --


def gravity(context: Context) -> list[Entry]:
    """B19."""
    ours = program_configuration(
        context, "gravity", "gravity-rate", *("--particles", str(PARTICLES), "--active", str(ACTIVE)),
        *_TIMES,
    )  # fmt: skip
    what = f"acceleration and jerk of {ACTIVE} of {PARTICLES} particles, one core, double: time of a pair"
    peer = "the best open code found, 1.9 ns"
    with context.bench("B19") as bench:
        rows = bench.run([ours], _ROUNDS, min(30.0, context.budget().left))
        if not rows:
            why = "; ".join(bench.errors())
            return [context.add(not_measured("B19", what, peer, RATE_TARGET_NANOSECONDS, why, unit="ns"))]
    nanoseconds = [1e9 / float(row["detail"]["pairs_per_second"]) for row in rows]
    errors = [float(row["detail"]["relative_force_error"]) for row in rows]
    rate = of_interval(
        "B19", what, peer, median_interval(nanoseconds, confidence=VERDICT_CONFIDENCE),
        RATE_TARGET_NANOSECONDS, "ns", note=_rate_note(rows[-1]),
    )  # fmt: skip
    error = of_interval(
        "B19/error", "largest relative error of a force", "a sum in long double",
        median_interval(errors, confidence=VERDICT_CONFIDENCE), ERROR_TARGET, "", cell="error",
    )  # fmt: skip
    met = rate.met and error.met if None not in (rate.met, error.met) else None
    if rows[-1]["detail"]["instructions"] != "avx512":
        met = None  # the target is one of a CPU with AVX-512
    return [context.add(replace(rate, met=met)), context.add(error)]


def _rate_note(row: Row) -> str:
    detail = row["detail"]
    clock = detail.get("clock_hertz")
    at = f" at {clock / 1e9:.2f} GHz, {detail['cycles_per_pair']:.2f} cycles a pair" if clock else ""
    return (
        f"{detail['pairs_per_second']:.3g} pairs a second with {detail['instructions']}{at}; "
        f"relative force error {detail['relative_force_error']:.1e}"
    )


# -- B20 to B23: whole blocks --


def _runner(
    context: Context,
    library: str,
    scheme: str,
    cpus: Sequence[int],
    wait: str = "default",
) -> Configuration:
    """A run of the nbody study's runner: 1024 particles, 4th order, a time unit; seconds are of a block."""
    state = context.peer(library, STUDY)
    if state.path is None:
        raise TautoError(state.reason, state.remedy)
    words = ["--particles", str(PARTICLES), "--order", "4", "--scheme", scheme, "--wait", wait]
    words += ["--threads", str(len(cpus)), "--cpus", ",".join(map(str, cpus)), *_TIMES]
    members = f"{len(cpus)} members" if len(cpus) > 1 else "1 member"
    name = f"{library} {scheme}, {members}" + (f", {wait} wait" if wait != "default" else "")
    settings = {"library": library, "scheme": scheme, "cpus": list(cpus), "wait": wait}
    return Configuration(name, [str(state.path), *words], state.environment, settings, "blocks")


def _ours(context: Context, scheme: str = "auto") -> Configuration:
    return _runner(context, "tautochrone", scheme, context.cpus)


def speed_up(context: Context) -> list[Entry]:
    """B20."""
    ours = _ours(context)
    alone = _runner(context, "serial", "serial", context.cpus[:1])
    what = f"a block of {PARTICLES} particles, 4th order: 2 members against 1"
    with context.bench("B20") as bench:
        bench.run([ours, alone], _ROUNDS, context.budget().left)
        found = compare(bench.pairs(ours, alone))
        faster = f"{1 / found.ratio:.2f} times as fast" if found.ratio else ""
        note = joined(times_note(bench, ours, alone), faster)
        return [context.add(of_comparison("B20", what, alone.name, found, SPEEDUP_TARGET, note=note))]


def rivals(context: Context) -> list[Entry]:
    """B21."""
    budget = context.budget()
    choosing = Budget(context.clock, budget.left * _CHOOSING_SHARE)
    ours = _ours(context)
    others = list(_rivals(context))
    what = "the same block against OpenMP (loops, one region) and MPI with our kernel, 2 members"
    missing = context.without(RIVALS, STUDY)
    if not others:
        return [context.add(not_measured("B21", what, "", RIVAL_TARGET, missing))]
    with context.bench("B21") as bench:
        best = fastest(bench, others, choosing)
        if best is None:
            why = joined(missing, *bench.errors())
            return [context.add(not_measured("B21", what, "", RIVAL_TARGET, why))]
        bench.run([ours, best], _ROUNDS, budget.left)
        note = joined(times_note(bench, ours, best), _screened(bench, others), missing)
        found = compare(bench.pairs(ours, best))
        return [context.add(of_comparison("B21", what, best.name, found, RIVAL_TARGET, note=note))]


def _rivals(context: Context) -> Iterator[Configuration]:
    """Every scheme of each of them, OpenMP with its two waits."""
    for library in OPENMP:
        state = context.peer(library, STUDY)
        if state.description is None:
            continue
        for scheme in state.description.schedules:
            for wait in ("default", "active"):
                yield _runner(context, library, scheme, context.cpus, wait)
    for library in MPI:
        if context.peer(library, STUDY).present:
            for scheme in ("i", "j", "auto"):
                yield _runner(context, library, scheme, context.cpus)


def _screened(bench: Bench, others: Sequence[Configuration]) -> str:
    """The fastest of each library in the choosing rounds: who was near."""
    of_library: dict[str, float] = {}
    for one in others:
        seconds = bench.screened_seconds(one)
        library = str(one.settings["library"])
        if seconds is not None:
            of_library[library] = min(seconds, of_library.get(library, seconds))
    ranked = sorted(of_library.items(), key=lambda pair: pair[1])
    return "chosen from " + ", ".join(f"{name} {1e6 * seconds:.1f} µs" for name, seconds in ranked)


# -- B22 --

Classes = Mapping[int, float]
"""Median seconds of a block by the least active count of its class."""


def chosen_schemes(context: Context) -> list[Entry]:
    """B22."""
    budget = context.budget()
    ours = _ours(context)
    fixed = [_ours(context, scheme) for scheme in ("serial", "i", "j")]
    what = "auto against the best fixed scheme, in each class of active counts"
    with context.bench("B22") as bench:
        bench.screen(fixed, 5, budget.left * 0.25)
        rows = bench.run([ours, *fixed], _ROUNDS, budget.left)
        best_of = best_fixed(bench.store.rows("screening"), fixed)
        errors = "; ".join(bench.errors())
    by_round = classes_by_round(rows)
    cells = [
        context.add(
            of_comparison(
                f"B22/{low}", f"auto against {best.name} with {low} to {2 * low - 1} active", best.name,
                class_comparison(by_round, ours, best, low), AUTO_TARGET, cell=f"{low}",
            )
        )
        for low, best in best_of.items()
    ]  # fmt: skip
    if not cells:
        return [context.add(not_measured("B22", what, "", AUTO_TARGET, errors))]
    return [context.add(worst("B22", what, cells, AUTO_TARGET)), *cells]


def _classes(row: Row) -> Classes:
    return {
        int(one["active_from"]): float(one["median_seconds"])
        for one in row["detail"]["classes"]
        if one["blocks"] >= _LEAST_BLOCKS
    }


def classes_by_round(rows: Sequence[Row]) -> dict[int, dict[str, Classes]]:
    """Round → config_id → classes."""
    found: dict[int, dict[str, Classes]] = {}
    for row in rows:
        found.setdefault(row["round"], {})[row["config_id"]] = _classes(row)
    return found


def best_fixed(rows: Sequence[Row], fixed: Sequence[Configuration]) -> dict[int, Configuration]:
    """The fixed scheme with the least median in each class that all of them have."""
    seconds: dict[int, dict[str, list[float]]] = {}
    for row in rows:
        if row["error"] is None:
            for low, one in _classes(row).items():
                seconds.setdefault(low, {}).setdefault(row["config_id"], []).append(one)
    return {
        low: min(fixed, key=lambda one: median(of_scheme[one.config_id]))
        for low, of_scheme in sorted(seconds.items())
        if all(one.config_id in of_scheme for one in fixed)
    }


def class_comparison(
    by_round: Mapping[int, Mapping[str, Classes]], ours: Configuration, peer: Configuration, low: int
) -> Comparison:
    """Paired over the rounds in which both had blocks of that class."""
    pairs = [
        (found[ours.config_id][low], found[peer.config_id][low])
        for _, found in sorted(by_round.items())
        if low in found.get(ours.config_id, {}) and low in found.get(peer.config_id, {})
    ]
    return compare(pairs)


# -- B23 --


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


def beside_another(context: Context) -> list[Entry]:
    """B23."""
    ours = _ours(context)
    # It keeps its core to itself: the other program moves to the other one, where a member of ours is.
    alone = _runner(context, "serial", "serial", context.cpus[:1])
    what = "2 members against 1 while another program keeps a core busy"
    with context.bench("B23") as bench, busy_process(context.cpus):
        bench.run([ours, alone], _ROUNDS, context.budget().left)
        pairs = bench.pairs(ours, alone)
        slowest = f"slowest round {max(a / b for a, b in pairs):.2f}" if pairs else ""
        note = joined(times_note(bench, ours, alone), slowest)
    return [context.add(of_comparison("B23", what, alone.name, compare(pairs), LOADED_TARGET, note=note))]
