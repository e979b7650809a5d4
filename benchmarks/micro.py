"""B1, B2, B6, B7: what a launch, a loop too short to fork and too many members cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from benchmarks.context import Bench, Context
from benchmarks.entry import Entry, joined, not_measured, of_comparison, of_interval, worst
from tautochrone.configuration import Configuration
from tautochrone.row import Row
from tautochrone.statistics import VERDICT_CONFIDENCE, compare, median_interval

_SCREENING_ROUNDS = 5
_ROUNDS = 41
_MICRO_SECONDS = 40.0  # more would not make these intervals narrower

OPENMP = ("libgomp", "libomp")
SHORT = ("--warmup-seconds", "0.03", "--min-seconds", "0.06")
LOOPS = {"2,000 floats": 2_000, "10,000 floats": 10_000, "200,000 floats": 200_000}
IDLE_TARGET = 0.01  # of one CPU; waking up from the sleep that measures it takes 0.0005


def program_configuration(
    context: Context, name: str, program: str, *words: str, **settings: object
) -> Configuration:
    environment = dict(settings.pop("environment", {}))  # type: ignore[call-overload]
    cpus = ",".join(map(str, context.cpus))
    command = [context.program(program), "--cpus", cpus, *words]
    return Configuration(name, command, environment, {"program": program, **settings}, program.split("-")[0])


def _ours(context: Context) -> Configuration:
    return program_configuration(
        context, "tautochrone, static_", "fork-tautochrone", *SHORT, library="tautochrone", wait="default"
    )


def openmp_waits(context: Context, program: str) -> list[Configuration]:
    """A program of the suite with each OpenMP library that is here, in the default and the active wait."""
    found = []
    for library in OPENMP:
        state = context.peer(library)
        if not state.present:
            continue
        for wait in ("default", "active"):
            name = library if wait == "default" else f"{library}, active wait"
            found.append(
                program_configuration(
                    context, name, program, *SHORT, "--wait", wait,
                    library=library, wait=wait, environment=state.environment,
                )
            )  # fmt: skip
    return found


def round_trips(context: Context, group: str) -> list[Configuration]:
    """A cache line from core to core and back, in two ways of waiting for it."""
    ways = [
        program_configuration(context, "round trip", "round-trip", *SHORT, pause=False),
        program_configuration(context, "round trip with PAUSE", "round-trip", *SHORT, "--pause", pause=True),
    ]
    return [replace(one, group=group) for one in ways]


def against_fastest(
    bench: Bench, ours: Configuration, rivals: Sequence[Configuration], seconds: float
) -> Configuration:
    """Choose the fastest rival in rounds of its own, then measure ours against it. Returns the rival."""
    bench.screen([ours, *rivals], _SCREENING_ROUNDS, seconds / 2)
    ranked = bench.ranked(rivals)
    best = ranked[0] if ranked else rivals[0]
    bench.run([ours, best], _ROUNDS, seconds / 2)
    return best


def fork(context: Context) -> list[Entry]:
    """B1."""
    what, target = "empty parallel_for over 2 members, hot, forced to fork", 0.45
    ours, rivals = _ours(context), openmp_waits(context, "fork-openmp")
    if not rivals:
        return [context.add(not_measured("B1", what, "OpenMP", target, "; ".join(context.absent())))]
    with context.bench("B1") as bench:
        best = against_fastest(bench, ours, rivals, min(_MICRO_SECONDS, context.budget().left))
        found = compare(bench.pairs(ours, best))
        note = joined(times_note(bench, ours, best), context.without(OPENMP))
        return [
            context.add(of_comparison("B1", what, f"{best.name}, empty region", found, target, note=note))
        ]


def round_trip(context: Context) -> list[Entry]:
    """B2."""
    ours = _ours(context)
    rivals = round_trips(context, ours.group)
    with context.bench("B2") as bench:
        best = against_fastest(bench, ours, rivals, min(_MICRO_SECONDS, context.budget().left))
        found = compare(bench.pairs(ours, best))
        what = "the same against the core-to-core round trip"
        note = times_note(bench, ours, best)
        return [context.add(of_comparison("B2", what, best.name, found, 1.4, note=note))]


def too_short(context: Context) -> list[Entry]:
    """B6."""
    ours = program_configuration(context, "parallel_for", "short-loop", *SHORT, floats=64, plain=False)
    plain = program_configuration(
        context, "plain loop", "short-loop", *SHORT, "--plain", floats=64, plain=True
    )
    with context.bench("B6") as bench:
        bench.run([ours, plain], _ROUNDS, min(_MICRO_SECONDS, context.budget().left))
        differences = [1e9 * (a - b) for a, b in bench.pairs(ours, plain)]
        what = "sum of 64 floats through parallel_for less the plain loop"
        if not differences:
            return [
                context.add(not_measured("B6", what, plain.name, 40.0, "; ".join(bench.errors()), unit="ns"))
            ]
        found = median_interval(differences, confidence=VERDICT_CONFIDENCE)
        note = times_note(bench, ours, plain)
        return [context.add(of_interval("B6", what, plain.name, found, 40.0, "ns", note=note))]


def oversubscribed(context: Context) -> list[Entry]:
    """B7."""
    budget = context.budget()
    cells: list[Entry] = []
    idle: list[float] = []
    for place, (cell, floats) in enumerate(LOOPS.items()):
        words = ("--floats", str(floats))
        ours = program_configuration(
            context, f"8 members, {cell}", "oversubscribed", *words, floats=floats, serial=False
        )
        serial = program_configuration(
            context, f"serial, {cell}", "oversubscribed", *words, "--serial", floats=floats, serial=True
        )
        with context.bench(f"B7/{floats}") as bench:
            rows = bench.run([ours, serial], 15, min(_MICRO_SECONDS, budget.left / (len(LOOPS) - place)))
            found = compare(bench.pairs(ours, serial))
            idle += [_idle_share(row) for row in rows if row["config_id"] == ours.config_id]
            per_loop = _per_loop_microseconds(rows, serial)
            note = f"{per_loop:.2g} µs a loop" if per_loop else "; ".join(bench.errors())
            what = "8 members on 2 CPUs, 10,000 loops, learning included"
            cells.append(
                context.add(of_comparison(f"B7/{cell}", what, "one thread", found, 1.5, cell=cell, note=note))
            )
    own = worst("B7", "8 members on 2 CPUs, 10,000 small loops; no CPU time 5 ms after the last", cells, 1.5)
    if not idle:
        return [context.add(own), *cells]
    found_idle = median_interval(idle, confidence=VERDICT_CONFIDENCE)
    what = "CPU time used from 5 ms after the last loop, per second of one CPU"
    quiet = context.add(of_interval("B7/idle", what, "nothing", found_idle, IDLE_TARGET, "CPUs", cell="idle"))
    met = False if False in (own.met, quiet.met) else None if None in (own.met, quiet.met) else True
    note = f"{own.note}; idle use {found_idle.median:.2g} CPUs"
    fields = {**own.__dict__, "met": met, "note": note}
    return [context.add(Entry(**fields)), *cells, quiet]


def _idle_share(row: Row) -> float:
    detail = row["detail"]
    return float(detail["idle_cpu_seconds"]) / float(detail["idle_window_seconds"])


def _per_loop_microseconds(rows: Sequence[Row], serial: Configuration) -> float | None:
    found = [row["seconds"] / row["detail"]["loops"] for row in rows if row["config_id"] == serial.config_id]
    return 1e6 * median(found) if found else None


def times_note(bench: Bench, ours: Configuration, peer: Configuration) -> str:
    """``ours 310 ns, peer 830 ns``; what failed where there is no pair."""
    pairs = bench.pairs(ours, peer)
    if not pairs:
        return "; ".join(bench.errors())
    mine, theirs = (median(column) for column in zip(*pairs, strict=True))
    return f"ours {engineering(mine)}, peer {engineering(theirs)}"


def engineering(seconds: float) -> str:
    """``310 ns``, ``1.2 ms``."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
